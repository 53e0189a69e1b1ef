"""The official conformance suite, both requirement sets, through the gateway to each form of server: twelve runs."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .bench import FORMS, LEGACY, MODERN, Bench, Form
from .places import Places
from .report import Case, Failed

LIMIT_S = 600
REVISIONS = [LEGACY, MODERN]


@dataclass(frozen=True)
class Scenario:
    """What came of one scenario of the suite."""

    name: str
    passed: int
    failed: int
    warned: int
    """What a revision only recommends."""
    unscored: str | None
    """Why the suite does not count it, if it does not."""
    complaints: tuple[str, ...] = ()

    @property
    def checks(self) -> int:
        return self.passed + self.failed + self.warned


Runs = dict[tuple[str, str], list[Scenario]]
"""By the names of the form and of the revision."""


def cases(bench: Bench, runs: Runs) -> list[Case]:
    case = lambda *run: Case(f"conformance/{run[0].name}/{run[1]}", lambda: judge(bench, *run, runs))
    # By revision first: the two cases that run at a time are at different servers.
    return [case(form, revision) for revision in REVISIONS for form in FORMS]


def judge(bench: Bench, form: Form, revision: str, runs: Runs) -> str:
    name = f"conformance-{form.name}-{revision}"
    results = bench.places.scratch / name
    log = bench.places.logs / f"{name}.log"
    line = [*suite(bench.places), "server", "--url", bench.url(form), "--requirements", revision]
    code, out = ran([*line, "--output-dir", str(results)], log)
    scenarios = read(results, out)
    runs[form.name, revision] = scenarios
    log.write_text("\n".join([out, "=== COMPLAINTS ===", *complaints(scenarios), ""]))
    if code != 0:
        scored = complaints([each for each in scenarios if each.failed and not each.unscored])
        raise Failed("\n    ".join([f"exit code {code}", *scored]), None if scored else log)
    return counted(scenarios)


def complaints(scenarios: list[Scenario]) -> list[str]:
    return [f"{each.name}: {complaint}" for each in scenarios for complaint in each.complaints]


def counted(scenarios: list[Scenario]) -> str:
    scored = [each for each in scenarios if not each.unscored]
    others = [each for each in scenarios if each.unscored]
    failing = sum(1 for each in others if each.failed)
    passed, failed = sum(each.passed for each in scored), sum(each.failed for each in scored)
    warned = sum(each.warned for each in scored)
    checks = f"{passed} checks passed, {failed} failed, {warned} warnings in {len(scored)} scenarios"
    return f"{checks}; not scored: {len(others)}, of which {failing} do not pass"


def suite(places: Places) -> list[str]:
    return [places.node, str(places.node_modules / "@modelcontextprotocol/conformance/dist/index.js")]


def ran(line: list[str], log: Path, **options) -> tuple[int, str]:
    """The exit code and all that the suite wrote, which is in the log too."""
    with log.open("wb") as out:
        try:
            done = subprocess.run(
                line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=LIMIT_S, **options
            )
        except subprocess.TimeoutExpired as late:
            raise Failed(f"no end within {LIMIT_S} s", log) from late
    return done.returncode, log.read_text(errors="replace")


def read(results: Path, out: str) -> list[Scenario]:
    """What the suite saved in a folder for each scenario, in the order in which it ran them."""
    order = re.findall(r"^=== Running scenario: (\S+) ===$", out, re.MULTILINE)
    unscored = dict(re.findall(r"^  [✓✗] (\S+) \((.+)\)$", out, re.MULTILINE))
    saved = {}
    for file in results.glob("server-*/checks.json"):
        name = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", file.parent.name)[1]
        saved[name] = json.loads(file.read_text())
    return [scenario(name, saved.get(name, []), unscored.get(name)) for name in order]


def scenario(name: str, checks: list[dict], unscored: str | None) -> Scenario:
    count = lambda status: sum(1 for check in checks if check["status"] == status)
    complaints = [
        f"{check['status']} {check['id']}: {check.get('errorMessage') or check['description']}"
        for check in checks
        if check["status"] in ("FAILURE", "WARNING")
    ]
    return Scenario(name, count("SUCCESS"), count("FAILURE"), count("WARNING"), unscored, tuple(complaints))
