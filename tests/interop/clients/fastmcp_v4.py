"""The client of fastmcp 4."""

from contextlib import asynccontextmanager

import mcp_types as types
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


class Session(steps.Session):
    async def ping(self):
        await self.client.ping()

    async def tools(self):
        return await self.client.list_tools()

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool_mcp(name, arguments, progress_handler=on_progress, meta=self.meta)

    async def prompts(self):
        return await self.client.list_prompts_mcp()

    async def prompt(self, name, arguments):
        return await self.client.get_prompt_mcp(name, arguments)

    async def resources(self):
        return await self.client.list_resources_mcp()

    async def read(self, uri):
        return await self.client.read_resource_mcp(uri)

    async def templates(self):
        return await self.client.list_resource_templates_mcp()

    async def complete(self, ref, argument):
        return await self.client.complete_mcp(ref, argument)


def handlers(heard):
    """Its handlers get the same as the SDK's, in another order."""
    sampling = heard.thinking(types)
    elicitation = heard.answering("elicitation/create", types.ElicitResult)
    roots = heard.answers.get("roots/list", {}).get("roots")
    return {
        "sampling_handler": sampling and (lambda messages, params, context: sampling(context, params)),
        "sampling_capabilities": heard.capability(types),
        "elicitation_handler": elicitation and (lambda message, kind, params, context: elicitation(context, params)),
        "roots": roots and [root["uri"] for root in roots],
    }


@asynccontextmanager
async def connect(endpoint, mode, heard):
    handled = {name: handler for name, handler in handlers(heard).items() if handler}
    way = transport(endpoint)
    async with Client(way, mode=mode, log_handler=heard.log, message_handler=heard.message, **handled) as client:
        yield Session(client, heard, types, client.protocol_version, client.server_info)


steps.run(connect)
