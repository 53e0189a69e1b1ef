"""Runs the client programs of tests/interop/clients on a job and gives back what they printed."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .bench import LEGACY, MODERN
from .places import Places
from .report import Failed

LIMIT_S = 240


@dataclass(frozen=True)
class Client:
    name: str
    program: str
    mode: str
    """`legacy`, `auto` for one that asks for 2026-07-28 first, or the revision that it insists on."""
    cancels: bool = True
    """Whether it tells the server when its user gives a call up."""
    subscribes: bool = True
    """Whether it can be made to ask for news of a resource."""
    asks_over: tuple[str, ...] = ("stdio", "http", "sse")
    """Where `auto` asks; elsewhere it begins with the handshake."""

    def revision(self, kind: str) -> str:
        """What it and a server that speaks every revision agree on."""
        return MODERN if self.mode == MODERN or self.mode == "auto" and kind in self.asks_over else LEGACY


CLIENTS = [
    Client("typescript-v1", "typescript_v1.cjs", "legacy"),
    Client("typescript-v2-legacy", "typescript_v2.cjs", "legacy"),
    Client("typescript-v2-auto", "typescript_v2.cjs", "auto"),
    Client("python-v2-legacy", "python_v2.py", "legacy"),
    Client("python-v2-auto", "python_v2.py", "auto"),
    Client("python-v1", "python_v1.py", "legacy", cancels=False),
    Client("fastmcp-v4", "fastmcp_v4.py", "auto", subscribes=False, asks_over=("stdio", "http")),
]


@dataclass(frozen=True)
class Visit:
    """One session: where, what is done there, and what is said to a server that asks, by the method."""

    endpoint: dict
    steps: list[dict]
    answers: dict[str, dict] = field(default_factory=dict)
    sampling: dict | None = None
    """The capability of a client that plays a model: each step says what it wishes for."""


def play(places: Places, client: Client, name: str, visits: list[Visit]) -> list[list[dict]]:
    """The lines of each session: `connect`, then one for each step."""
    job = places.scratch / f"{name}.job.json"
    log = places.logs / f"{name}.log"
    sessions = [{**vars(visit), "mode": client.mode} for visit in visits]
    job.write_text(json.dumps({"sessions": sessions}, indent=2))
    program = places.interop / "clients" / client.program
    runtime = places.node if program.suffix == ".cjs" else places.python(program.stem)
    env = {
        **os.environ,
        "NODE_PATH": str(places.node_modules),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_PROXY": "127.0.0.1",
    }
    out = run([runtime, str(program), str(job)], log, env)
    try:
        lines = [json.loads(line) for line in out.splitlines()]
    except json.JSONDecodeError as error:
        raise Failed(f"{client.name} printed no JSON ({error}): {out[:500]}", log) from error
    return split(lines)


def split(lines: list[dict]) -> list[list[dict]]:
    sessions: list[list[dict]] = []
    for line in lines:
        if line["did"] == "connect":
            sessions.append([])
        sessions[-1].append(line)
    return sessions


def run(line: list[str], log: Path, env: dict[str, str]) -> str:
    """What the program wrote to stdout, if it ended well; the rest of what it wrote goes to the log."""
    with log.open("ab") as err:
        try:
            done = subprocess.run(
                line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, env=env, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired as late:
            raise Failed(f"no end within {LIMIT_S} s; so far: {(late.stdout or b'')[-500:]!r}", log) from late
    out = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        with log.open("a") as end:
            end.write(out)
        raise Failed(f"exit code {done.returncode}", log)
    return out
