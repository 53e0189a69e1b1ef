"""The client of the Python SDK v2 (mcp 2)."""

import warnings
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

import steps

# Pings and log levels are of the past in 2026-07-28, and what we speak here is older than that.
warnings.simplefilter("ignore")


def server(endpoint):
    match endpoint["kind"]:
        case "http":
            return endpoint["url"]
        case "sse":
            return sse_client(endpoint["url"])
        case _:
            return StdioServerParameters(command=endpoint["command"], args=endpoint["args"], env=endpoint["env"])


class Session:
    def __init__(self, client, logs):
        self.client, self.logs = client, logs

    def agreed(self):
        return {"revision": self.client.protocol_version, "server": steps.plain(self.client.server_info)}

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

    async with Client(server(endpoint), mode=mode, logging_callback=log) as client:
        yield Session(client, logs)


steps.run(connect)
