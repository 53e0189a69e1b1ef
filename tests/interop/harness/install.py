"""Installs the packages at their pinned versions, once for each state of the manifests."""

import hashlib
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .places import Places

# Registries answer 429 and time out under load; what their own clients retry is often not enough.
PAUSES_S = (5, 20, 60)


def everything(places: Places) -> None:
    for tool in ("npm", "git"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is needed and not on PATH")
    environments = sorted(file.stem for file in (places.interop / "requirements").glob("*.txt"))
    with ThreadPoolExecutor(2) as pool:
        installing = [pool.submit(npm, places), *(pool.submit(python, places, name) for name in environments)]
        for done in installing:
            done.result()


def npm(places: Places) -> None:
    manifests = [places.interop / name for name in ("package.json", "package-lock.json", ".npmrc")]

    def install(folder: Path) -> None:
        for manifest in manifests:
            shutil.copy(manifest, folder)
        # Not `npm ci`, which refuses a lock file without the optional packages of other systems. The packages' own
        # scripts build what comes built: none is needed here.
        line = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        persistently([*line, "--loglevel=error", "--fetch-retries=5"], folder)

    once(places.installed / "npm", manifests, install)


def python(places: Places, name: str) -> None:
    manifest = places.interop / "requirements" / f"{name}.txt"

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        line = [places.python(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        persistently([*line, "--retries=10", "--timeout=60", "--requirement", str(manifest)], folder)

    once(places.installed / "python" / name, [manifest], install)


def once(folder: Path, manifests: list[Path], install) -> None:
    """Leaves a stamp behind; a folder whose stamp is another one, or missing, is made anew."""
    wanted = hashlib.sha256(b"".join(manifest.read_bytes() for manifest in manifests)).hexdigest()
    stamp = folder / ".stamp"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"installing {folder.name} ({', '.join(manifest.name for manifest in manifests)})", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    install(folder)
    stamp.write_text(wanted)


def persistently(line: list[str], folder: Path) -> None:
    for pause in (*PAUSES_S, None):
        done = subprocess.run(line, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0:
            return
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        if pause is None:
            sys.exit(f"{line[0]} could not install into {folder.name}:\n{tail}")
        print(f"{line[0]} failed in {folder.name}, again in {pause} s:\n{tail}", flush=True)
        time.sleep(pause)
