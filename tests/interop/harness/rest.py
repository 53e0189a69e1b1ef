"""The REST surface held against its own description: schemathesis sends what fits it and what does not."""

import json
import subprocess
from pathlib import Path

from .places import Places
from .processes import Started
from .report import Case, Failed

LIMIT_S = 600
# The same requests in every run: what is found today is found tomorrow.
SEED = "20261116"
EXAMPLES = "25"
# Registered addresses lead nowhere but to this closed port: nothing leaves the machine.
NOWHERE = "http://127.0.0.1:9"


def cases(places: Places, started: Started) -> list[Case]:
    return [Case("rest/schemathesis", lambda: hold(places, started))]


def hold(places: Places, started: Started) -> str:
    folder = places.scratch / "rest"
    folder.mkdir()
    url = started.listening(*gateway(places, folder))
    log = places.logs / "schemathesis.log"
    config = places.interop / "schemathesis.toml"
    line = [places.python("schemathesis"), "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    line += [f"{url}/openapi.json", "--phases", "examples,coverage,fuzzing,stateful"]
    line += ["--max-examples", EXAMPLES, "--seed", SEED, "--no-color"]
    with log.open("wb") as out:
        code = subprocess.run(line, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=LIMIT_S)
    if code.returncode != 0:
        raise Failed("schemathesis has found something", log)
    generated = [text for text in log.read_text().splitlines() if "generated" in text]
    return generated[-1].strip() if generated else "nothing found"


def gateway(places: Places, folder: Path) -> tuple[list[str], Path, dict[str, str]]:
    servers = folder / "servers.json"
    fixture = {"command": places.program("portolan-fixture"), "args": []}
    servers.write_text(json.dumps({"mcpServers": {"fixture": fixture}}))
    line = [places.program("portolan"), "serve", "--config", str(servers), "--listen", "127.0.0.1:0"]
    line += ["--data", str(folder / "data")]
    env = {"XDG_CONFIG_HOME": str(folder), "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE}
    # What it registers at random is not to be run.
    env |= {"PORTOLAN_STDIO_REGISTER": "off"}
    return line, places.logs / "rest-gateway.log", env
