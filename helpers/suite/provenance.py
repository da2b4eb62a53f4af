"""What made a run: ``outputs/<run>/run.json``, which also stands at the foot of its pages."""

import json
import platform
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import helpers
from helpers import store

SUITE = "visual-bias-notebooks"


def write(folder: Path, notebooks: Mapping) -> dict:
    """Write the record of a run, whose executed notebooks are by name, and hand it back.

    version, commit ("+" where files were changed since; empty without git), lock (digest of the
    locked requirements), python, torch, processor, pinned (true, or why not), seconds by notebook.
    """
    lock = store.root() / "requirements.lock"
    told = {name: one.metadata.get("papermill", {}) for name, one in notebooks.items()}
    record = {
        "version": version(SUITE),
        "commit": _commit(),
        "lock": store.file_digest(lock)[:16] if lock.is_file() else "",
        "python": platform.python_version(),
        "torch": version("torch"),
        "processor": _processor(),
        "pinned": helpers.unpinned or True,
        "seconds": {name: round(of.get("duration") or 0, 1) for name, of in told.items()},
    }
    store.write_text(folder / "run.json", json.dumps(record, indent=1) + "\n")
    return record


def _commit() -> str:
    git = ["git", "-C", str(store.root())]
    ways = ["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]
    try:
        head, changed = (
            subprocess.run([*git, *way], capture_output=True, text=True, check=True).stdout.strip()
            for way in ways
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + "+" * bool(changed)


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", file.read_text(), re.M) if file.is_file() else []
    return names[0] if names else platform.processor() or platform.machine()
