"""The client of the Python SDK v1 (mcp 1)."""

from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

import steps


def transport(endpoint):
    match endpoint["kind"]:
        case "http":
            return streamable_http_client(endpoint["url"])
        case "sse":
            return sse_client(endpoint["url"])
        case _:
            return stdio_client(
                StdioServerParameters(command=endpoint["command"], args=endpoint["args"], env=endpoint["env"])
            )


class Session:
    def __init__(self, client, welcome, logs):
        self.client, self.welcome, self.logs = client, welcome, logs

    def agreed(self):
        return {"revision": self.welcome.protocolVersion, "server": steps.plain(self.welcome.serverInfo)}

    async def ping(self):
        await self.client.send_ping()

    async def set_level(self, level):
        await self.client.set_logging_level(level)

    async def list_tools(self):
        return (await self.client.list_tools()).tools

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool(name, arguments, progress_callback=on_progress)


@asynccontextmanager
async def connect(endpoint, mode):
    logs = []

    async def log(params):
        logs.append(steps.plain(params))

    async with transport(endpoint) as streams, ClientSession(*streams[:2], logging_callback=log) as client:
        welcome = await client.initialize()
        yield Session(client, welcome, logs)


steps.run(connect)
