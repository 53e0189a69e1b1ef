"""docs/matrix.md: what the conformance suite counted in this run, as a page; CI holds the committed one against it."""

import difflib
import json
from pathlib import Path

from .bench import FORMS, LEGACY, MODERN
from .conformance import REVISIONS, Runs, Scenario
from .places import Places
from .report import Case, Failed, expect
from .upstream import DRIVEN, Driving

# The rows of a table, each with how the names of its scenarios begin; the first that fits takes a scenario.
CAPABILITIES = {
    "lifecycle": ("server-initialize", "server-stateless", "server-session-lifecycle", "ping"),
    "transport": ("server-sse-", "dns-rebinding-protection", "http-"),
    "logging": ("logging-", "tools-call-with-logging"),
    "progress": ("tools-call-with-progress",),
    "sampling": ("tools-call-sampling", "input-required-result-basic-sampling"),
    "elicitation": ("tools-call-elicitation", "elicitation-", "input-required-result-basic-elicitation"),
    "roots": ("input-required-result-basic-list-roots",),
    "multi-round-trip results": ("input-required-result-",),
    "tools": ("tools-", "json-schema-"),
    "subscriptions": ("resources-subscribe", "resources-unsubscribe"),
    "resources": ("resources-", "sep-2164-resource-not-found"),
    "prompts": ("prompts-",),
    "completion": ("completion-",),
    "caching": ("caching",),
    "tasks": ("tasks-",),
}

# Why a scenario that the suite does not score does not pass, by how its name begins.
REASONS = {
    "tasks-mrtr-composition": "it passes by itself. The scenarios before it leave questions open that nobody will answer; "
    "with a server whose transport does not tell calls apart, eight of them are as many sessions as it may have, and until "
    "they are given up, after five minutes, others use the one on which nothing is asked.",
    "tasks-": "in 2025-11-25 it is the client that decides whether a call becomes a task, in the extension of "
    "2026-07-28 the server. With a server of the older kind Portolan makes a task only of tools that run in no other "
    "way, and answers a client that knows no tasks without one, where the extension would have it refused.",
}

# What a revision only recommends and a run has warned of, by the check's own name, and why. Without a reason it is not
# told: it says something of the run and nothing of Portolan.
RECOMMENDED = {
    "sep-2322-ignore-unexpected-params": "the answers come with a request that has no `requestState`. A server of "
    "2025-11-25 asks while it works, and only the state says which of its calls waits for them: the tool is called "
    "anew, and asks again.",
    # The fixture's list is changed by another scenario meanwhile.
    "tools-list-deterministic-order": None,
}

HEAD = """\
# Conformance matrix

Written by `tests/interop/run --matrix`, and compared in every full run: CI fails when this page is not what it saw.

`@modelcontextprotocol/conformance` {version} asks Portolan, at `/servers/{{name}}/mcp`, for everything that a revision
requires of a server. Behind Portolan is the test fixture in six forms: over each transport, speaking either only the
revisions with a handshake (up to {legacy}) or only {modern}. Where client and server speak different revisions,
Portolan translates. A cell has the checks that did not fail and the checks that were made; what is only recommended, and
not done, is named at the end.
"""


def held(places: Places, runs: Runs, driving: Driving) -> Case:
    return Case("matrix/page", lambda: compare(render(places, runs, driving), places.page))


def written(places: Places, runs: Runs, driving: Driving) -> Case:
    return Case("matrix/page", lambda: f"{places.page.write_text(render(places, runs, driving))} characters written")


def compare(text: str, page: Path) -> str:
    committed = page.read_text() if page.is_file() else ""
    changes = difflib.unified_diff(committed.splitlines(), text.splitlines(), "committed", "this run", lineterm="", n=0)
    expect(text == committed, "stale; tests/interop/run --matrix writes it anew", "\n".join(changes))
    return "as it is committed"


def render(places: Places, runs: Runs, driving: Driving) -> str:
    wanted = [(form.name, revision) for revision in REVISIONS for form in FORMS]
    missing = ["/".join(run) for run in wanted if run not in runs]
    missing += [driven.name for driven in DRIVEN if driven.name not in driving]
    expect(not missing, "there is no page without a result of", missing)
    manifest = json.loads((places.interop / "package.json").read_text())
    version = manifest["dependencies"]["@modelcontextprotocol/conformance"]
    parts = [HEAD.format(version=version, legacy=LEGACY, modern=MODERN)]
    parts += [required(revision, runs) for revision in REVISIONS]
    parts += [rows(runs), driven_section(), unscored(runs), failing(runs), recommended(runs)]
    return "\n".join(parts)


def required(revision: str, runs: Runs) -> str:
    columns = {form.name: [each for each in runs[form.name, revision] if not each.unscored] for form in FORMS}
    known = {each.name for column in columns.values() for each in column}
    lines = []
    for capability in CAPABILITIES:
        names = {name for name in known if capability_of(name) == capability}
        cells = [count([each for each in column if each.name in names]) for column in columns.values()]
        lines += [row([capability, *cells])] if names else []
    lines.append(row(["**all**", *(f"**{count(column)}**" for column in columns.values())]))
    return "\n".join([f"## A client of {revision}", "", *head("capability"), *lines, ""])


def rows(runs: Runs) -> str:
    """Which scenarios a row stands for."""
    lines = ["## What is in a row", "", "| capability | scenarios |", "|---|---|"]
    names = list(dict.fromkeys(each.name for each in every(runs) if not each.unscored))
    for capability in CAPABILITIES:
        own = [f"`{name}`" for name in names if capability_of(name) == capability]
        lines += [row([capability, ", ".join(own)])] if own else []
    return "\n".join([*lines, ""])


def driven_section() -> str:
    intro = """\
## Portolan as the client of a server

The suite's own servers, with Portolan before them and a client that speaks to Portolan over stdio. How many checks one
of them makes depends on how many sessions Portolan opens. `auth/*` is not run: Portolan sends the credentials that a
server's entry gives it, and obtains none.
"""
    lines = ["| scenario | server | client | |", "|---|---|---|---|"]
    for driven in DRIVEN:
        lines.append(row([f"`{driven.scenario}`", driven.revision, driven.front, "pass"]))
    return "\n".join([intro, *lines, ""])


def unscored(runs: Runs) -> str:
    parts = ["## Not scored", "", "Scenarios that the suite runs and does not count.", ""]
    for revision in REVISIONS:
        columns = [{each.name: each for each in runs[form.name, revision] if each.unscored} for form in FORMS]
        lines = []
        for name, scenario in columns[0].items():
            cells = ["does not pass" if column[name].failed else count([column[name]]) for column in columns]
            lines.append(row([f"`{name}` ({scenario.unscored})", *cells]))
        parts += [f"A client of {revision}:", "", *head("scenario"), *lines, ""]
    return "\n".join(parts)


def failing(runs: Runs) -> str:
    lines = {}
    for name in dict.fromkeys(each.name for each in every(runs) if each.unscored and each.failed):
        reason = next((reason for start, reason in REASONS.items() if name.startswith(start)), None)
        expect(reason is not None, f"{name} does not pass, and the page has no reason for it")
        lines.setdefault(reason, []).append(f"`{name}`")
    told = [f"- {', '.join(names)}: {reason}" for reason, names in lines.items()]
    return "\n".join(["## What does not pass, and why", "", *(told or ["Nothing."]), ""])


def recommended(runs: Runs) -> str:
    lines = {}
    for form in FORMS:
        for scenario in [each for revision in REVISIONS for each in runs[form.name, revision] if not each.unscored]:
            for complaint in scenario.complaints:
                check = complaint.split()[1].rstrip(":")
                expect(check in RECOMMENDED, f"{scenario.name}: the page knows nothing of {check}")
                if reason := RECOMMENDED[check]:
                    forms = lines.setdefault((check, reason), {})
                    forms[f"{form.title}, {form.revision}"] = True
    told = [f"- `{check}` ({'; '.join(forms)}): {reason}" for (check, reason), forms in lines.items()]
    return "\n".join(["## What is recommended and not done, and why", "", *(told or ["Nothing."]), ""])


def every(runs: Runs) -> list[Scenario]:
    """All that was run, in an order that does not depend on which run ended first."""
    return [scenario for revision in REVISIONS for form in FORMS for scenario in runs[form.name, revision]]


def capability_of(name: str) -> str:
    for capability, starts in CAPABILITIES.items():
        if name.startswith(starts):
            return capability
    raise Failed(f"no row of the matrix has a place for {name}")


def count(scenarios: list[Scenario]) -> str:
    failed, checks = sum(each.failed for each in scenarios), sum(each.checks for each in scenarios)
    return f"{checks - failed}/{checks}" if checks else "–"


def head(first: str) -> list[str]:
    return [row([first, *(f"{form.title}, {form.revision}" for form in FORMS)]), "|---" * (len(FORMS) + 1) + "|"]


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
