"""The suite's scenarios for clients, with Portolan as the client: how it speaks to the servers behind it."""

import os
import re
import shlex
import sys
from dataclasses import dataclass

from .bench import LEGACY, MODERN
from .conformance import ran, suite
from .places import Places
from .report import Case, Failed


@dataclass(frozen=True)
class Driven:
    scenario: str
    revision: str
    """Of the suite's server."""
    front: str = MODERN
    """What the client before the gateway speaks."""

    @property
    def name(self) -> str:
        return f"{self.scenario}/{self.revision}" + ("" if self.front == MODERN else f"/from-{self.front}")


DRIVEN = [
    Driven("initialize", LEGACY),
    Driven("tools_call", LEGACY),
    Driven("tools_call", MODERN),
    Driven("sse-retry", LEGACY),
    Driven("elicitation-sep1034-client-defaults", LEGACY),
    Driven("elicitation-sep1034-client-defaults", LEGACY, front=LEGACY),
    Driven("request-metadata", MODERN),
    Driven("http-standard-headers", MODERN),
    Driven("http-custom-headers", MODERN),
    Driven("http-invalid-tool-headers", MODERN),
    Driven("sep-2322-client-request-state", MODERN),
    Driven("sep-2322-client-request-state", MODERN, front=LEGACY),
    Driven("json-schema-ref-no-deref", MODERN),
    Driven("json-schema-2020-12-preservation", LEGACY),
    Driven("json-schema-2020-12-preservation", MODERN),
]

Driving = set[str]
"""The names of those that passed."""


def cases(places: Places, driving: Driving) -> list[Case]:
    return [Case(f"conformance-client/{each.name}", lambda each=each: drive(places, each, driving)) for each in DRIVEN]


def drive(places: Places, driven: Driven, driving: Driving) -> str:
    name = f"conformance-client-{driven.name.replace('/', '-')}"
    folder = places.scratch / name
    folder.mkdir()
    command = [sys.executable, "-m", "harness.driver", places.program("portolan"), str(folder), driven.front]
    line = [*suite(places), "client", "--command", shlex.join(command)]
    line += ["--scenario", driven.scenario, "--spec-version", driven.revision]
    log = places.logs / f"{name}.log"
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "localhost,127.0.0.1"}
    code, out = ran(line, log, cwd=places.interop, env=env)
    counted = re.search(r"^Passed: (\d+)/\d+, \d+ failed, \d+ warnings$", out, re.MULTILINE)
    if code != 0 or not counted or counted[1] == "0":
        raise Failed(f"exit code {code}, {counted[0] if counted else 'nothing was counted'}", log)
    driving.add(driven.name)
    return counted[0]
