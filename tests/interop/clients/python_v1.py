"""The client of the Python SDK v1 (mcp 1)."""

from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, stdio_client, types
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


@asynccontextmanager
async def connect(endpoint, mode, heard):
    async with (
        transport(endpoint) as streams,
        ClientSession(
            *streams[:2],
            logging_callback=heard.log,
            message_handler=heard.message,
            sampling_callback=heard.thinking(types),
            sampling_capabilities=heard.capability(types),
            elicitation_callback=heard.answering("elicitation/create", types.ElicitResult),
            list_roots_callback=heard.answering("roots/list", types.ListRootsResult),
        ) as client,
    ):
        welcome = await client.initialize()
        yield steps.Session(client, heard, types, welcome.protocolVersion, welcome.serverInfo)


steps.run(connect)
