"""The ten real servers behind the gateway, what stands around them, and a call of each with what must come back."""

import http.server
import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

from .places import Places
from .processes import Started

PAGE = "The lighthouse of Alexandria was one of the seven wonders."


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: dict
    answer: str
    """Must be somewhere in the text of the result."""


@dataclass(frozen=True)
class Neighbour:
    name: str
    entry: dict
    """As in a servers file."""
    tools: int
    calls: list[Call] = field(default_factory=list)


class Neighbourhood:
    """What the servers need in the world: files, a repository, a web page, and those that listen on ports."""

    def __init__(self, places: Places, started: Started) -> None:
        self.places = places
        self.files = places.scratch / "files"
        self.files.mkdir()
        (self.files / "chart.txt").write_text("here be dragons\n")
        self.repository = repository(places.scratch / "repository")
        self.page = web_page()
        everything = [places.node, places.npm_program("mcp-server-everything")]
        self.http = started.on_port([*everything, "streamableHttp"], places.logs / "everything-http.log")
        self.sse = started.on_port([*everything, "sse"], places.logs / "everything-sse.log")

    def servers(self, folder: Path) -> list[Neighbour]:
        """The servers of one gateway; what they keep, they keep in `folder`."""
        node = lambda program, *args: {"command": self.places.node, "args": [self.places.npm_program(program), *args]}
        python = lambda module, *args: {"command": self.places.python("python_v2"), "args": ["-m", module, *args]}
        everything = {"tools": 13, "calls": [Call("echo", {"message": "ahoy"}, "Echo: ahoy")]}
        memory = node("mcp-server-memory") | {"env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}}
        # The page is on this machine, whatever proxy the machine uses for others.
        fetch = python("mcp_server_fetch", "--allow-private-ips") | {"env": {"NO_PROXY": "127.0.0.1"}}
        fixture = {
            "command": self.places.program("portolan-fixture"),
            "args": ["--faults", "--only", "slow,test_tool_with_logging", "--journal", str(folder / "fixture.jsonl")],
        }
        return [
            Neighbour("everything", node("mcp-server-everything", "stdio"), **everything),
            Neighbour("everything-http", {"type": "http", "url": f"http://127.0.0.1:{self.http}/mcp"}, **everything),
            Neighbour("everything-sse", {"type": "sse", "url": f"http://127.0.0.1:{self.sse}/sse"}, **everything),
            Neighbour("filesystem", node("mcp-server-filesystem", str(self.files)), 14, self.of_filesystem()),
            Neighbour("memory", memory, 9, OF_MEMORY),
            Neighbour("thinking", node("mcp-server-sequential-thinking"), 1, OF_THINKING),
            Neighbour("time", python("mcp_server_time", "--local-timezone", "UTC"), 2, OF_TIME),
            Neighbour("git", python("mcp_server_git"), 12, self.of_git()),
            Neighbour("fetch", fetch, 1, self.of_fetch()),
            Neighbour("notes", {"command": self.places.program("portolan-example-notes")}, 4, OF_NOTES),
            # Not one of the ten: it shows what reached a server.
            Neighbour("fixture", fixture, 2),
        ]

    def of_filesystem(self) -> list[Call]:
        return [Call("read_text_file", {"path": str(self.files / "chart.txt")}, "here be dragons")]

    def of_git(self) -> list[Call]:
        return [Call("git_log", {"repo_path": str(self.repository), "max_count": 1}, "Chart the harbour")]

    def of_fetch(self) -> list[Call]:
        return [Call("fetch", {"url": self.page, "raw": True}, PAGE)]


OF_MEMORY = [
    Call(
        "create_entities",
        {"entities": [{"name": "Pharos", "entityType": "lighthouse", "observations": ["280 BC"]}]},
        "",
    ),
    Call("search_nodes", {"query": "Pharos"}, "280 BC"),
]
OF_THINKING = [
    Call(
        "sequentialthinking",
        {"thought": "Sail west.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
        '"thoughtNumber": 1',
    )
]
OF_TIME = [
    Call(
        "convert_time",
        {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        "T21:00:00+09:00",
    )
]
OF_NOTES = [Call("add_note", {"text": "buy tar"}, "buy tar")]


def servers_file(neighbours: list[Neighbour], folder: Path) -> str:
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": {each.name: each.entry for each in neighbours}}, indent=2))
    return str(path)


def repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "harbour.txt").write_text("two fathoms\n")
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=Interop", "-c", "user.email=interop@example.invalid"]
    for line in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "Chart the harbour"]):
        subprocess.run(["git", *line], cwd=folder, env={**os.environ, **plain}, check=True)
    return folder


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_robots = self.path == "/robots.txt"
        self.send_response(404 if is_robots else 200)
        self.send_header("content-type", "text/plain")
        self.end_headers()
        self.wfile.write(b"" if is_robots else PAGE.encode())

    def log_message(self, *_) -> None:
        pass


def web_page() -> str:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/page.txt"
