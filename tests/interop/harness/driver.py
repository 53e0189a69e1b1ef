"""The client that the conformance suite puts to the test: Portolan before the suite's server, and someone who uses it.

    python3 -m harness.driver PORTOLAN FOLDER REVISION URL

The suite appends the URL of its server and names the scenario in the environment. Who uses Portolan here speaks
REVISION to it over stdio; what Portolan speaks to the suite's server is for the two of them to find out.
"""

import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path

from .bench import LEGACY, MODERN

SERVER = "suite"
META = "io.modelcontextprotocol/"
CAPABILITIES = {"sampling": {}, "elicitation": {}, "roots": {}}
ME = {"name": "conformance-driver", "version": "1.0.0"}
# More than any scenario needs.
ROUNDS = 5


class Client:
    """One request at a time, and an answer for whatever the server asks meanwhile."""

    def __init__(self, line: list[str], env: dict[str, str], revision: str) -> None:
        self.ids, self.revision = count(1), revision
        self.gateway = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **env}
        )
        if revision == LEGACY:
            self.ask("initialize", protocolVersion=LEGACY, capabilities=CAPABILITIES, clientInfo=ME)
            self.send(method="notifications/initialized")

    def close(self) -> None:
        self.gateway.stdin.close()
        self.gateway.wait()

    def send(self, **message) -> None:
        self.gateway.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.gateway.stdin.flush()

    def ask(self, method: str, **params) -> dict:
        """The complete result, after as many rounds of questions as the server has."""
        for _ in range(ROUNDS):
            result = self.request(method, params)
            if result.get("resultType") != "input_required":
                return result
            asked = result["inputRequests"]
            params["inputResponses"] = {key: answer(each["method"], each["params"]) for key, each in asked.items()}
            # Only if there was one, and as it was.
            params.pop("requestState", None)
            params |= {"requestState": result["requestState"]} if "requestState" in result else {}
        sys.exit(f"{method} has no end of questions")

    def request(self, method: str, params: dict) -> dict:
        me = next(self.ids)
        self.send(id=me, method=method, params=params if self.revision == LEGACY else {**params, "_meta": meta()})
        for line in self.gateway.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.send(id=message["id"], result=answer(message["method"], message.get("params", {})))
            elif message.get("id") == me and "result" in message:
                return message["result"]
            elif message.get("id") == me:
                sys.exit(f"{method} {params} failed: {message}")
        sys.exit(f"the gateway ended before it answered {method}")

    def tools(self) -> list[dict]:
        """As the suite's server named them."""
        return [{**tool, "name": own(tool["name"])} for tool in self.ask("tools/list")["tools"]]

    def call(self, tool: str, arguments: dict) -> dict:
        return self.ask("tools/call", name=f"{SERVER}:{tool}", arguments=arguments)


def meta() -> dict:
    return {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": CAPABILITIES, f"{META}clientInfo": ME}


def own(name: str) -> str:
    return name.removeprefix(f"{SERVER}:")


def answer(method: str, params: dict) -> dict:
    """A user who accepts everything and leaves every field at its default."""
    match method:
        case "elicitation/create":
            fields = params["requestedSchema"]["properties"].items()
            given = {name: schema.get("default", schema.get("type") == "boolean") for name, schema in fields}
            return {"action": "accept", "content": given}
        case "sampling/createMessage":
            return {"role": "assistant", "content": {"type": "text", "text": "ahoy"}, "model": "none"}
        case "roots/list":
            return {"roots": [{"uri": "file:///harbour"}]}
        case _:
            return {}


def sample(schema: dict) -> object:
    """Something of the type that a parameter wants."""
    of_type = {"string": "text", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return of_type.get(schema.get("type"))


def play(client: Client, scenario: str, context: dict) -> None:
    match scenario:
        case "tools_call":
            client.tools()
            client.call("add_numbers", {"a": 5, "b": 3})
        case "http-standard-headers":
            for tool in client.tools():
                client.call(tool["name"], {})
            for resource in client.ask("resources/list")["resources"]:
                client.ask("resources/read", uri=resource["uri"])
            for prompt in client.ask("prompts/list")["prompts"]:
                client.ask("prompts/get", name=prompt["name"])
        case "http-custom-headers":
            client.tools()
            for call in context["toolCalls"]:
                client.call(call["name"], call["arguments"])
        case "json-schema-2020-12-preservation":
            seen = {tool["name"]: tool["inputSchema"] for tool in client.tools()}
            client.call("json_schema_echo", {"schema": seen["json_schema_2020_12_tool"]})
        case "json-schema-ref-no-deref":
            client.tools()
        case _:
            # Whatever is listed is called: what must not be called must not be listed.
            for tool in client.tools():
                properties = tool["inputSchema"].get("properties", {})
                client.call(tool["name"], {name: sample(schema) for name, schema in properties.items()})


def main(portolan: str, folder: Path, revision: str, url: str) -> None:
    servers = folder / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {SERVER: {"type": "http", "url": url}}}))
    env = {"XDG_CONFIG_HOME": str(folder), "PORTOLAN_LIST_WAIT": "20s"}
    client = Client([portolan, "--config", str(servers)], env, revision)
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    play(client, os.environ["MCP_CONFORMANCE_SCENARIO"], context)
    client.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
