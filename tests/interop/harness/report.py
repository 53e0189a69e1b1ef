"""Runs the cases two at a time and says what came of each in one line."""

import json
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .places import Places

# Clients, gateways and servers are processes of their own: two cases keep two cores busy.
AT_ONCE = 2
TAIL_LINES = 25


class Failed(Exception):
    """What was wrong, and the log that may say why."""

    def __init__(self, what: str, log: Path | None = None) -> None:
        super().__init__(what)
        self.log = log


def expect(is_so: bool, what: str, seen: object = None) -> None:
    if not is_so:
        shown = "" if seen is None else f": {seen if isinstance(seen, str) else json.dumps(seen)}"
        raise Failed((what + shown)[:2000])


@dataclass(frozen=True)
class Case:
    name: str
    check: Callable[[], str]
    """Raises what went wrong, or says in a few words what was seen."""


def run(cases: list[Case], last: list[Case], places: Places) -> int:
    """The `last` are about what came of the others."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = [outcome for outcome in pool.map(lambda case: attempt(case, places), cases)]
    outcomes += [attempt(case, places) for case in last]
    failed = outcomes.count(False)
    print(f"{len(outcomes) - failed} passed, {failed} failed", flush=True)
    return 1 if failed or not outcomes else 0


def attempt(case: Case, places: Places) -> bool:
    began = time.monotonic()
    try:
        seen = case.check()
    except Exception as error:
        print(f"FAILED {case.name}: {told(error, case, places)}", flush=True)
        return False
    print(f"ok     {case.name} ({time.monotonic() - began:.1f} s): {seen}", flush=True)
    return True


def told(error: Exception, case: Case, places: Places) -> str:
    """The details go to a file of their own, their end to the screen."""
    what = str(error) if isinstance(error, Failed) else traceback.format_exc()
    log = error.log if isinstance(error, Failed) else None
    tail = log.read_text(errors="replace").splitlines()[-TAIL_LINES:] if log and log.is_file() else []
    text = "\n".join([what, *(f"    {line}" for line in tail)])
    file = places.logs / f"failed-{case.name.replace('/', '-')}.log"
    file.write_text(text + "\n")
    return text
