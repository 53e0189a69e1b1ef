"""Programs that run for the length of the tests, and free ports for them."""

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from .report import Failed

START_S = 60


class Started:
    """Ends what it started, last first, when the tests are over."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen] = []

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_) -> None:
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def start(self, line: list[str], log: Path, env: dict[str, str] | None = None) -> subprocess.Popen:
        with log.open("wb") as out:
            process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def listening(self, line: list[str], log: Path, env: dict[str, str] | None = None) -> str:
        """Starts a program that says `listening on URL`; the URL."""
        process = self.start(line, log, env)
        return until(lambda: re.search(r"listening on (http\S+)", log.read_text()), process, log)[1]

    def on_port(self, line: list[str], log: Path, env: dict[str, str] | None = None) -> int:
        """Starts a program that takes its port from PORT; the port, once somebody listens there."""
        port = free_port()
        process = self.start(line, log, {**(env or {}), "PORT": str(port)})
        until(lambda: is_open(port), process, log)
        return port


def until(is_up, process: subprocess.Popen, log: Path):
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        if up := is_up():
            return up
        time.sleep(0.05)
    raise Failed(f"{process.args[0]} did not start", log)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def is_open(port: int) -> bool:
    with socket.socket() as knock:
        return knock.connect_ex(("127.0.0.1", port)) == 0
