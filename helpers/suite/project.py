"""A notebook's run: the state it starts from, where its results go, and what made it."""

import json
import os
import platform
import random
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
from IPython.display import display

import helpers
from helpers import models, store
from helpers.figures import style
from helpers.suite import claims, edits, parameters, words

RUN = "demo"  # the folder of `make run`
FEWEST = 5  # trainings of a model from which intervals can be trusted to be of use
#: Parameters that name files of the reader.
FILES = [*parameters.NEEDS, "labels", "frames", "table", "masks", "photographs"]
#: Names below ``outputs/`` that belong to no run: never, and not when a workflow names its run.
KEPT = {"models", "home", "predictions"}
SINGLE = "single-runs"  # of notebooks that are run by themselves
TAKEN = {
    "lab",
    "class",
    "test",
    "seeds",
    "sweep",
    "example.png",
    "none",
    "true",
    "false",
    SINGLE,
}
OF_EACH_RUN = {"figures", "findings", "logs", "notebooks", "pages", "tables"}
DESCRIBE = "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"  # a commit
OURS = "not the authors': the splits, if no folders name them, the training, and the contexts, \
which are yours or cut out of C's validation and test images; the paper generated its own"
STORED_ELSEWHERE = (
    "This notebook was run by itself: verdicts of other lessons are those stored in \
their notebooks. `make run` judges all of them in one run."
)
CHANGED = "You changed {}: the sentences below tell of the stored run. \
For yours, read the numbers, figures and findings."


def seed_everything(seed: int, threads: int = 1) -> None:
    """Seed Python, NumPy and torch; with one thread a seed gives one model on any machine. On a
    GPU torch computes in full float32, so that its results are near those of a CPU."""
    pd.set_option("mode.string_storage", "python")  # with Arrow some operations differ
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  libraries that draw from the global state
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    os.environ.setdefault(
        "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
    )  # else cuBLAS is not deterministic
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.allow_tf32 = (
        False  # rounds so much that LRP would not conserve relevance
    )


@dataclass(frozen=True)
class Run:
    """One notebook's run: what it was asked and where its results go."""

    notebook: str
    settings: SimpleNamespace
    folder: Path
    changed: tuple[str, ...] = ()  # parameters that are not as the notebook is stored
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)  # by name

    @property
    def by_itself(self) -> bool:
        """Whether the notebook writes into a folder of its own, for no run named another one."""
        return self.settings.output == own_output(self.notebook)

    @property
    def named(self) -> bool:
        """Whether the user named the folder of results."""
        return not self.by_itself and self.settings.output != RUN

    def show(self, figure, name: str, alt: str) -> None:
        """Save a matplotlib figure as PNG and SVG under ``figures/<notebook>/`` and display it."""
        style.show(figure, name, alt, folder=self.folder / "figures" / self.notebook)

    def table(self, table, name: str):
        """Save a pandas table as ``tables/<notebook>/<name>.csv`` and hand it back."""
        path = self.folder / "tables" / self.notebook / f"{name}.csv"
        numbered = type(table.index).__name__ == "RangeIndex"  # which says nothing
        store.write_text(path, table.to_csv(index=not numbered))
        self.tables[name] = table
        return table

    def findings(self, estimates: Iterable, reference: Iterable = ()) -> None:
        """Judge the notebook's claims, save them as ``findings/<notebook>.json`` and display them.
        `reference` are the estimates of networks that cannot know (:func:`claims.judge`)."""
        has = vars(self.settings)
        data = ["printed", *(["labels"] if has.get("labels") else [])]
        data += [has["images"].source] if has.get("images") else []
        ours = OURS if "visual-contexts" in data else ""
        how = {"reference": reference, "data": data, "ours": ours}
        judged = claims.judge(self.notebook, estimates, self.tables, **how)
        edited = edits.in_kernel(stored(self.notebook))
        as_recorded = not edited and {*self.changed} <= {"seed"}
        if (
            as_recorded
        ):  # the verdicts of other seeds were recorded with all else as stored
            judged["seeds"] = claims.in_seeds(judged, self.notebook)
        rows = judged.astype(object).where(judged.notna(), None).to_dict("records")
        record = {"notebook": self.notebook, "settings": has, "findings": rows}
        text = json.dumps(record, indent=1, default=vars)
        store.write_text(self._findings_file(), text)
        forms = {"text/html": words.page(judged), "text/plain": words.text(judged)}
        display(forms, raw=True, metadata={"findings": rows})
        if ours:
            print(f"The images are the authors'; {ours}.")
        methods = [f"the method {name}" for name in edited]
        if self.changed or methods:
            print(CHANGED.format(", ".join([*self.changed, *methods])))
        self.say_where()

    def say_where(self, folder: Path | None = None) -> None:
        """Print where results are, by the place in outputs/, which is alike on all machines."""
        folder = folder or self.folder
        if folder.is_relative_to(store.outputs()):
            print(
                f"The results are in {folder.relative_to(store.outputs())}, below outputs/."
            )
        else:
            print(f"The results are in {folder}.")

    def _findings_file(self) -> Path:
        return self.folder / "findings" / f"{self.notebook}.json"

    def judged(self) -> pd.DataFrame:
        """What the lessons of this run have judged so far, of the same images and seed.

        A notebook that is run by itself shows what the stored notebooks have judged instead."""
        if self.by_itself and not {"images", "seed"} & {*self.changed}:
            return self._judged_elsewhere()
        own = {
            name: has
            for name, has in vars(self.settings).items()
            if name in ("images", "seed")
        }
        own, rows = json.loads(json.dumps(own, default=vars)), []
        for path in sorted((self.folder / "findings").glob("*.json")):
            record = json.loads(path.read_text())
            if own | record["settings"] == record["settings"] | own:
                rows += record["findings"]
        return pd.DataFrame(rows, columns=claims.COLUMNS)

    def _judged_elsewhere(self) -> pd.DataFrame:
        """Collect what this notebook judged last, and what all others are stored with."""
        print(STORED_ELSEWHERE)
        lessons = sorted((store.root() / "notebooks").glob("[0-9]*_*.ipynb"))
        table = claims.collected(
            (path.stem, json.loads(path.read_text())) for path in lessons
        )
        table = table[~table["notebook"].str.startswith("00")]
        if self._findings_file().is_file():
            record = json.loads(self._findings_file().read_text())
            own = pd.DataFrame(record["findings"], columns=claims.COLUMNS)
            table = pd.concat([table[table["notebook"] != self.notebook], own])
        return table[[*claims.COLUMNS]].reset_index(drop=True)


def stored(notebook: str) -> Path:
    """Return the file of a notebook, by its name."""
    return store.root() / "notebooks" / f"{notebook}.ipynb"


def own_output(notebook: str) -> str:
    """Return the default of `output`: the folder of a notebook that is run by itself."""
    return f"{SINGLE}/{notebook}"


def start(notebook: str, settings: SimpleNamespace) -> Run:
    """Begin a notebook's run: seeds, threads, figure style, and its folder under ``outputs/``.
    `notebook` is the file's name without ending, `settings` what :func:`parameters.check` gave."""
    images = getattr(settings, "images", None)
    networks = [one.weights for one in getattr(settings, "models", [])]
    embedded = not any([*networks, *(getattr(settings, name, None) for name in FILES)])
    synthetic = embedded and (images is None or images.source == "world")
    seed_everything(settings.seed, models.threads(synthetic=synthetic))
    style.set_style()
    pd.set_option("display.max_colwidth", None)  # claims are sentences
    if changed := tuple(parameters.changed(notebook, settings)):
        print(CHANGED.format(", ".join(changed)))
    few = getattr(settings, "trainings", FEWEST)
    if few < FEWEST:
        print(f"A model is {few} trainings here: below {FEWEST}, intervals are wide.")
    folder = store.outputs() / output_name(settings.output)
    return Run(notebook, settings, folder, changed)


def output_name(name: Any) -> str:
    """The name of a run's folder, such as ``photos`` or ``sweep/seed-1``; refused if it is none."""
    first, *below = str(name).split("/")
    taken = (
        first in KEPT
        or OF_EACH_RUN & {*below}
        or (store.outputs() / str(name)).is_file()
    )
    if taken or not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)*", str(name)):
        raise ValueError(
            f"output: {name!r} cannot be the folder of a run: use letters, digits, '.', '_', '-', "
            f"and '/' between folders, but not {', '.join(sorted(KEPT))}, nor what is in a run"
        )
    return str(name)


def run_name(config: Mapping[str, Any], default: str) -> str:
    """The key `run` of a workflow's configuration, which must not be a name that others use."""
    name = config.get("run", default)
    if (
        name != default and str(name).casefold() in TAKEN
    ):  # some disks see small letters alone
        raise ValueError(
            f"run: {name!r} is what `make` writes, or YAML's word for no; take another"
        )
    return output_name(name)


def record(folder: Path, notebooks: Mapping) -> dict:
    """Write what made a run, whose executed notebooks are by name, as ``run.json``; hand it back.
    The commit has a "+" where files were changed since, and is empty without git."""
    lock = store.root() / "requirements.lock"
    timed = {name: one.metadata.get("papermill", {}) for name, one in notebooks.items()}
    made = {
        "version": version("visual-bias-notebooks"),
        "commit": _told("git", "-C", str(store.root()), *DESCRIBE),
        "lock": store.file_digest(lock)[:16] if lock.is_file() else "",
        "python": platform.python_version(),
        "torch": version("torch"),
        "processor": (
            _told("grep", "-m1", "^model name", "/proc/cpuinfo").partition(": ")[2]
        )
        or platform.processor()
        or platform.machine(),
        "pinned": helpers.unpinned or True,
        "seconds": {
            name: round(of.get("duration") or 0, 1) for name, of in timed.items()
        },
    }
    store.write_text(folder / "run.json", json.dumps(made, indent=1) + "\n")
    return made


def _told(*command: str) -> str:
    """What a command prints; "" where it fails or is not there."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
