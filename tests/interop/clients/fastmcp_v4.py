"""The client of fastmcp 4."""

from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

import steps


def transport(endpoint):
    match endpoint["kind"]:
        case "http":
            return StreamableHttpTransport(endpoint["url"])
        case "sse":
            return SSETransport(endpoint["url"])
        case _:
            return StdioTransport(command=endpoint["command"], args=endpoint["args"], env=endpoint["env"])


class Session:
    def __init__(self, client, logs):
        self.client, self.logs = client, logs

    def agreed(self):
        return {"revision": self.client.protocol_version, "server": steps.plain(self.client.server_info)}

    async def ping(self):
        await self.client.ping()

    async def set_level(self, level):
        await self.client.set_logging_level(level)

    async def list_tools(self):
        return await self.client.list_tools()

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool_mcp(name, arguments, progress_handler=on_progress)


@asynccontextmanager
async def connect(endpoint, mode):
    logs = []

    async def log(message):
        logs.append(steps.plain(message))

    async with Client(transport(endpoint), mode=mode, log_handler=log) as client:
        yield Session(client, logs)


steps.run(connect)
