"""One gateway with the test fixture behind it in each of the six forms that a server can have."""

import json
import threading
from dataclasses import dataclass
from functools import cached_property

from .places import Places
from .processes import Started

LEGACY, MODERN = "2025-11-25", "2026-07-28"


@dataclass(frozen=True)
class Form:
    name: str
    kind: str
    """The transport: stdio, http or sse."""
    revision: str
    """The newest revision that it speaks, and the only one of the two."""
    title: str
    flags: tuple[str, ...] = ()


FORMS = [
    Form("stdio-legacy", "stdio", LEGACY, "stdio"),
    Form("stdio-modern", "stdio", MODERN, "stdio"),
    Form("http-legacy", "http", LEGACY, "HTTP, sessions"),
    Form("http-legacy-stateless", "http", LEGACY, "HTTP, stateless", ("--stateless", "--json")),
    Form("http-modern", "http", MODERN, "HTTP"),
    Form("sse", "sse", LEGACY, "HTTP+SSE"),
]


class Bench:
    """Started when the first case needs it; the cases run side by side."""

    def __init__(self, places: Places, started: Started, name: str) -> None:
        self.places, self.started, self.name = places, started, name
        self.lock = threading.Lock()

    @cached_property
    def fixtures(self) -> dict[str, dict]:
        """The fixture's own endpoints."""
        return {form.name: self.fixture(form) for form in FORMS}

    def fixture(self, form: Form) -> dict:
        era = "legacy" if form.revision == LEGACY else "modern"
        line = [self.places.program("portolan-fixture"), "--transport", form.kind, "--era", era, *form.flags]
        if form.kind == "stdio":
            return {"kind": "stdio", "command": line[0], "args": line[1:], "env": {}}
        url = self.started.listening(line, self.places.logs / f"{self.name}-fixture-{form.name}.log")
        return {"kind": form.kind, "url": url}

    @cached_property
    def gateway(self) -> str:
        folder = self.places.scratch / self.name
        folder.mkdir()
        servers = folder / "servers.json"
        entries = {name: entry(endpoint) for name, endpoint in self.fixtures.items()}
        servers.write_text(json.dumps({"mcpServers": entries}))
        line = [self.places.program("portolan"), "serve", "--config", str(servers), "--listen", "127.0.0.1:0"]
        line += ["--data", str(folder / "data")]
        env = {"XDG_CONFIG_HOME": str(folder)}
        return self.started.listening(line, self.places.logs / f"{self.name}-gateway.log", env)

    def direct(self, form: Form) -> dict:
        with self.lock:
            return self.fixtures[form.name]

    def url(self, form: Form, front: str = "mcp") -> str:
        """Where the gateway shows that server by itself."""
        with self.lock:
            return f"{self.gateway}/servers/{form.name}/{front}"


def entry(endpoint: dict) -> dict:
    if endpoint["kind"] == "stdio":
        return {"command": endpoint["command"], "args": endpoint["args"]}
    return {"type": endpoint["kind"], "url": endpoint["url"]}
