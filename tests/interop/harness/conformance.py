"""The official conformance suite against one server by itself, and its payloads against the direct path."""

import json
import os
import threading
from functools import cached_property

from .clients import CLIENTS, play, run
from .places import Places
from .processes import Started
from .report import Case, Failed, expect

REVISION = "2025-11-25"

# What the gateway carries so far. Of the suite's other scenarios for 2025-11-25, these come with the bridge:
# completion-complete, resources-*, prompts-*, tools-call-sampling, tools-call-elicitation,
# elicitation-sep1034-defaults, elicitation-sep1330-enums, server-sse-polling.
SCENARIOS = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-error",
    "tools-call-with-progress",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    # Not scored by the suite.
    "server-session-lifecycle",
    "json-schema-2020-12",
]

# How the fixture is reached from the gateway.
BEHIND = {
    "stdio": [],
    "http": ["--transport", "http"],
    "http-stateless": ["--transport", "http", "--stateless", "--json"],
    "sse": ["--transport", "sse"],
}

CALLED = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "json_schema_2020_12_tool",
]


class Bench:
    """One gateway with the fixture behind it in every way."""

    def __init__(self, places: Places, started: Started) -> None:
        self.places, self.started = places, started
        self.lock = threading.Lock()

    @cached_property
    def direct(self) -> dict[str, dict]:
        """The fixture's own endpoints."""
        fixture = self.places.program("portolan-fixture")
        endpoints = {"stdio": {"kind": "stdio", "command": fixture, "args": [], "env": {}}}
        for name, flags in BEHIND.items():
            if flags:
                url = self.started.listening([fixture, *flags], self.places.logs / f"fixture-{name}.log")
                endpoints[name] = {"kind": "sse" if name == "sse" else "http", "url": url}
        return endpoints

    @cached_property
    def url(self) -> str:
        folder = self.places.scratch / "conformance"
        folder.mkdir()
        entries = {name: entry(endpoint) for name, endpoint in self.direct.items()}
        servers = folder / "servers.json"
        servers.write_text(json.dumps({"mcpServers": entries}))
        line = [self.places.program("portolan"), "serve", "--config", str(servers), "--listen", "127.0.0.1:0"]
        line += ["--data", str(folder / "data")]
        env = {"XDG_CONFIG_HOME": str(folder)}
        return self.started.listening(line, self.places.logs / "conformance-gateway.log", env)

    def server(self, name: str) -> str:
        with self.lock:
            return f"{self.url}/servers/{name}"


def entry(endpoint: dict) -> dict:
    if endpoint["kind"] == "stdio":
        return {"command": endpoint["command"], "args": endpoint["args"]}
    return {"type": endpoint["kind"], "url": endpoint["url"]}


def cases(places: Places, started: Started) -> list[Case]:
    bench = Bench(places, started)
    suite = [
        Case(f"conformance/{name}/{scenario}", lambda name=name, scenario=scenario: judge(bench, name, scenario))
        for name in BEHIND
        for scenario in SCENARIOS
    ]
    payloads = [Case(f"payloads/{name}", lambda name=name: compare(bench, name)) for name in BEHIND]
    return [*payloads, *suite]


def judge(bench: Bench, name: str, scenario: str) -> str:
    places = bench.places
    suite = places.node_modules / "@modelcontextprotocol/conformance/dist/index.js"
    url = f"{bench.server(name)}/mcp"
    line = [places.node, str(suite), "server", "--url", url, "--scenario", scenario, "--spec-version", REVISION]
    log = places.logs / f"conformance-{name}-{scenario}.log"
    out = run([*line, "--verbose"], log, dict(os.environ))
    log.write_text(out)
    return out.strip().splitlines()[-1][:100]


def compare(bench: Bench, name: str) -> str:
    """The list, every result, its progress and its log messages are deeply equal to those of the direct path."""
    through = bench.server(name)
    ways = [
        bench.direct[name],
        {"kind": "http", "url": f"{through}/mcp"},
        {"kind": "sse", "url": f"{through}/sse"},
    ]
    calls = [{"do": "call", "name": tool, "arguments": {"a": 1}, "progress": True} for tool in CALLED]
    for call in calls:
        call["logs"] = 3 if call["name"] == "test_tool_with_logging" else 0
    steps = [{"do": "level", "level": "info"}, {"do": "list"}, *calls]
    direct, *others = play(bench.places, CLIENTS[0], f"payloads-{name}", [(way, steps) for way in ways])
    for line in direct[1:]:
        if "error" in line:
            raise Failed(f"{line} on the direct path")
    for front, lines in zip(("/mcp", "/sse"), others, strict=True):
        for mine, its in zip(lines[1:], direct[1:], strict=True):
            expect(mine == its, f"{front}: {its['did']} {its.get('name') or ''} differs", {"direct": its, "here": mine})
    return f"the list and {len(calls)} calls, twice, equal to the direct path"
