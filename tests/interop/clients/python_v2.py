"""The client of the Python SDK v2 (mcp 2)."""

import warnings
from contextlib import asynccontextmanager

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

import steps

# It warns of what 2026-07-28 has no more, and is made to use it with older revisions.
warnings.simplefilter("ignore")


def server(endpoint):
    match endpoint["kind"]:
        case "http":
            return endpoint["url"]
        case "sse":
            return sse_client(endpoint["url"])
        case _:
            return StdioServerParameters(command=endpoint["command"], args=endpoint["args"], env=endpoint["env"])


@asynccontextmanager
async def connect(endpoint, mode, heard):
    async with Client(
        server(endpoint),
        mode=mode,
        logging_callback=heard.log,
        message_handler=heard.message,
        sampling_callback=heard.thinking(types),
        sampling_capabilities=heard.capability(types),
        elicitation_callback=heard.answering("elicitation/create", types.ElicitResult),
        list_roots_callback=heard.answering("roots/list", types.ListRootsResult),
    ) as client:
        yield steps.Session(client, heard, types, client.protocol_version, client.server_info)


steps.run(connect)
