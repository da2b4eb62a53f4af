"""A notebook's run: the state it starts from, where its results go, and what made it.
With one thread a seed gives the same model whatever the number of cores."""

import json
import platform
import random
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
from IPython.display import display

import helpers
from helpers import figures, store
from helpers.suite import claims, failures

FEWEST = 5  # trainings of a model from which intervals can be trusted to be of use
#: Parameters that name files of the reader's.
FILES = "labels", "predictions", "frames", "weights", "gps", "areas", "incomes", "table", "masks"
#: Names below ``outputs/`` that belong to no run: never, and not when a workflow names its run.
KEPT = {"models": "trained models", "home": "settings", "predictions": "detections"}
TAKEN = {
    "lab": "the copies of `make lab`",
    "class": "the copies of `make class`",
    "test": "what `make test` writes",
    "seeds": "what `make seeds` writes",
    "sweep": "what `make sweep` writes",
    "eyespot": "what sweeps/eyespot.smk writes",
    "audit.html": "the page of `make audit`",
    "README.md": "a file",
    "example.png": "a picture",
}
PARTS = {"figures", "findings", "logs", "notebooks", "pages", "tables"}  # of each run


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch, and give torch one thread."""
    pd.set_option("mode.string_storage", "python")  # with Arrow some operations differ
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  libraries that draw from the global state
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)


@dataclass(frozen=True)
class Run:
    """One notebook's run: what it was asked and where its results go."""

    notebook: str
    settings: SimpleNamespace
    folder: Path

    def show(self, figure, name: str, alt: str) -> None:
        """Save a matplotlib figure as PNG and SVG under ``figures/<notebook>/`` and display it."""
        figures.show(figure, name, alt, folder=self.folder / "figures" / self.notebook)

    def table(self, table, name: str):
        """Save a pandas table as ``tables/<notebook>/<name>.csv`` and hand it back."""
        path = self.folder / "tables" / self.notebook / f"{name}.csv"
        numbered = type(table.index).__name__ == "RangeIndex"  # which says nothing
        store.write_text(path, table.to_csv(index=not numbered))
        return table

    def findings(self, estimates: Iterable) -> None:
        """Judge the notebook's claims, save them as ``findings/<notebook>.json`` and display them.
        `estimates` are by the ids of ``claims.csv`` (:func:`claims.judge`)."""
        judged = claims.judge(self.notebook, estimates)
        findings = judged.astype(object).where(judged.notna(), None).to_dict("records")
        record = {"notebook": self.notebook, "settings": vars(self.settings), "findings": findings}
        text = json.dumps(record, indent=1, default=vars)
        store.write_text(self.folder / "findings" / f"{self.notebook}.json", text)
        display(claims.shown(judged), metadata={"findings": findings})


def start(notebook: str, settings: SimpleNamespace) -> Run:
    """Begin a notebook's run: seeds, one thread, figure style, and its output folder.

    `notebook` is the file's name without its ending, `settings` what :func:`parameters.check`
    returned. Its `output` names the folder under ``outputs/``, such as ``photos`` or
    ``sweep/seed-1``; a ValueError where it is no name of a folder."""
    seed_everything(settings.seed)
    figures.set_style()
    pd.set_option("display.max_colwidth", None)  # claims are sentences
    images = getattr(settings, "images", None)
    networks = [one.weights for one in getattr(settings, "models", [])]
    embedded = not any([*networks, *(getattr(settings, name, None) for name in FILES)])
    failures.exercises(run=embedded and (images is None or images.source == "world"))
    if images and images.source != "world":
        place = f", folder {images.folder!r}" if images.folder else ""
        print(
            f"The images are those of source {images.source!r}{place}.\n"
            "The text between the cells tells what the stored run on the drawn world showed.\n"
            "For these images, read the numbers, figures and findings."
        )
    few = getattr(settings, "trainings", FEWEST)
    if few < FEWEST:
        print(f"A model is {few} trainings here: below {FEWEST}, intervals are wide.")
    return Run(notebook, settings, store.outputs() / output_name(settings.output))


def output_name(name: Any) -> str:
    """The name of a run's folder, such as ``photos`` or ``sweep/seed-1``; refused if it is none."""
    first, *below = str(name).split("/")
    if first in KEPT:
        raise ValueError(f"output: {first!r} is the folder of {KEPT[first]}; take another name")
    if inside := PARTS.intersection(below):
        raise ValueError(f"output: {name!r} would lie in the {inside.pop()} of another run")
    if (store.outputs() / str(name)).is_file():
        raise ValueError(f"output: {store.outputs() / str(name)} is a file; take another name")
    if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", str(name)):
        allowed = "letters, digits, '.', '_', '-', and '/' between folders"
        raise ValueError(f"output: {name!r} is not a folder name; use {allowed}")
    return str(name)


def run_name(config: Mapping[str, Any], default: str) -> str:
    """The key `run` of a workflow's configuration, which must not be a name that others use."""
    name = str(config.get("run") or default)
    if name != default and name.casefold() in {other.casefold() for other in TAKEN}:
        [taken] = [what for other, what in TAKEN.items() if other.casefold() == name.casefold()]
        raise ValueError(f"run: {name!r} is the name of {taken}; take another name")
    return output_name(name)


def record(folder: Path, notebooks: Mapping) -> dict:
    """Write what made a run, whose executed notebooks are by name, as ``run.json``; hand it back.

    Its commit has a "+" where files were changed since, and is empty without git; lock is the
    digest of the locked requirements; pinned is true, or why not."""
    lock = store.root() / "requirements.lock"
    timed = {name: one.metadata.get("papermill", {}) for name, one in notebooks.items()}
    made = {
        "version": version("visual-bias-notebooks"),
        "commit": _commit(),
        "lock": store.file_digest(lock)[:16] if lock.is_file() else "",
        "python": platform.python_version(),
        "torch": version("torch"),
        "processor": _processor(),
        "pinned": helpers.unpinned or True,
        "seconds": {name: round(of.get("duration") or 0, 1) for name, of in timed.items()},
    }
    store.write_text(folder / "run.json", json.dumps(made, indent=1) + "\n")
    return made


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
