"""The Inspector's command line: a process for each request, and `--strict` about the schemas of a whole list."""

import json
import os

from . import relay
from .clients import run
from .report import Case, expect


def cases(gateways: relay.Gateways) -> list[Case]:
    every = [Case(f"relay/{kind}/inspector", lambda kind=kind: through(gateways, kind)) for kind in relay.SEPARATORS]
    return [*every, Case("relay/names/inspector", lambda: safe(gateways))]


def through(gateways: relay.Gateways, kind: str) -> str:
    truth = gateways.get("truth")
    front = gateways.front(kind, f"{kind}-inspector")
    separator = relay.SEPARATORS[kind]
    inspect = Inspector(gateways.places, front.endpoint(kind), f"{kind}-inspector")
    listed = inspect("tools/list", "--strict")["tools"]
    relay.check_list(for_all(listed), truth, front.servers, separator, is_whole=False)
    calls = [(server, call) for server in front.servers for call in server.calls]
    for server, call in calls:
        name = f"{server.name}{separator}{call.tool}"
        arguments = json.dumps(call.arguments)
        result = inspect("tools/call", "--tool-name", name, "--tool-args-json", arguments)
        relay.check_result(result, call.answer, name)
    return f"{len(listed)} tools listed with --strict, {len(calls)} calls"


def safe(gateways: relay.Gateways) -> str:
    """With safe names the strict list passes too."""
    front = gateways.get("serving_safe")
    inspect = Inspector(gateways.places, front.endpoint("http"), "safe-inspector")
    listed = inspect("tools/list", "--strict", "--protocol-era", "auto")["tools"]
    relay.check_list(for_all(listed), gateways.get("truth"), front.servers, relay.STYLES["safe"], is_whole=False)
    return f"{len(listed)} tools listed with --strict, protocol era auto"


def for_all(listed: list[dict]) -> list[dict]:
    """The Inspector can be asked for roots, and server-everything has a tool for those who can.

    Portolan finds that out when the first of them lists, and shows it to the next.
    """
    return [tool for tool in listed if not tool["name"].endswith("get-roots-list")]


class Inspector:
    def __init__(self, places, endpoint: dict, name: str) -> None:
        self.places, self.endpoint, self.name = places, endpoint, name

    def __call__(self, method: str, *options: str) -> dict:
        line = [self.places.node, self.places.npm_program("mcp-inspector"), "--cli"]
        line += ["--method", method, "--format", "json", *options]
        if self.endpoint["kind"] == "stdio":
            for name, value in self.endpoint["env"].items():
                line += ["-e", f"{name}={value}"]
            line += ["--transport", "stdio", "--", self.endpoint["command"], *self.endpoint["args"]]
        else:
            line += ["--transport", self.endpoint["kind"], "--server-url", self.endpoint["url"]]
        # Whatever a user's own Inspector remembers stays out of it.
        env = {**os.environ, "HOME": str(self.places.scratch)}
        out = run(line, self.places.logs / f"{self.name}.log", env)
        expect(out.strip().startswith("{"), "the Inspector printed no JSON", out)
        return json.loads(out)["result"]
