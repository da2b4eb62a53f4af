"""Start a lesson, and store its figures, tables and findings."""

import ast
import json
import os
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from IPython import get_ipython
from IPython.display import display

from helpers import claims, models, store, workflow
from helpers.data.images import Images
from helpers.figures import style
from helpers.stats import Estimate

SINGLE_RUNS = "single-runs"  # folder of notebooks that are run by themselves
FEW_RUNS = 5  # intervals over fewer training runs are wide
USER_FILES = ("data", "frames", "labels", "network", "weights")
METHOD_COMMENT = "# the method"  # on a line that assigns a method of a lesson
CAVEAT = (
    "not the authors': the splits, the training, and the contexts, which are yours; "
    "the paper generated its own"
)


def seed_everything(seed: int, threads: int = 1) -> None:
    """Seed Python, NumPy and torch, and make torch deterministic.

    Parameters
    ----------
    seed : int
        The random seed.
    threads : int
        Number of threads of torch. If it is 1, a seed gives the same model on any
        machine.
    """
    pd.set_option("mode.string_storage", "python")  # with Arrow some operations differ
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  libraries draw from the global state
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    # without this variable cuBLAS is not deterministic
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # as torch.use_deterministic_algorithms, which imports torch's compiler (1.5 s)
    torch.set_deterministic_debug_mode("warn")
    # TF32 rounds so much that LRP would not conserve relevance
    torch.backends.cudnn.allow_tf32 = False


@dataclass(frozen=True)
class Run:
    """Show and save what a run of a lesson finds.

    Attributes
    ----------
    notebook : str
        Name of the notebook's file without its ending.
    settings : Settings
        The checked parameters.
    folder : Path
        Folder of the results.
    changed : list of str
        Parameters whose values differ from the stored notebook.
    tables : dict of str to DataFrame
        The tables that were shown so far, by name.
    """

    notebook: str
    settings: Any
    folder: Path
    changed: list[str] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def named(self) -> bool:
        """Return whether the user named the folder of the results."""
        unnamed = (own_output(self.notebook), workflow.DEFAULT_RUN)
        return self.settings.output not in unnamed

    def show(
        self, figure, name: str, caption: str, alt: str = "", title: str = ""
    ) -> None:
        """Show a figure, and save it in ``figures/<notebook>/`` as PNG and SVG.

        Parameters
        ----------
        figure : matplotlib Figure, seaborn.objects.Plot or None
            None, for a figure without data, shows nothing.
        name : str
            Name of the files.
        caption : str
            What is plotted, with what markers and whiskers mean.
        alt : str, optional
            What the figure looks like in the stored notebook, for someone who cannot
            see it. The caption is used by default and with other parameters.
        title : str, optional
            One sentence with the result, above the figure.
        """
        if figure is None:
            return
        if self.changed:
            alt = ""  # what the text says need not be true of this run
        folder = self.folder / "figures" / self.notebook
        style.show(figure, name, caption, alt=alt, title=title, folder=folder)

    def table(self, table: pd.DataFrame, name: str) -> pd.DataFrame:
        """Save a table as ``tables/<notebook>/<name>.csv``, and return it."""
        path = self.folder / "tables" / self.notebook / f"{name}.csv"
        numbered = isinstance(table.index, pd.RangeIndex)
        store.write_text(path, table.to_csv(index=not numbered))
        self.tables[name] = table
        return table

    def findings(
        self, estimates: Iterable[Estimate], control: Iterable[Estimate] = ()
    ) -> None:
        """Judge the claims of the lesson, show them and save them.

        They are saved as ``findings/<notebook>.json``, and in the notebook as metadata
        of the output. Recorded seeds are counted only if no method and no parameter but
        the seed was changed.

        Parameters
        ----------
        estimates : iterable of Estimate
            What was measured.
        control : iterable of Estimate
            The same quantities of the control model.
        """
        edited = edited_methods(self.notebook)
        papers_data = self._papers_data()
        caveat = CAVEAT if "visual-contexts" in papers_data else ""
        judged = claims.judge(
            self.notebook,
            estimates,
            self.tables,
            control=control,
            data=papers_data,
            caveat=caveat,
        )
        if not edited and set(self.changed) <= {"seed"}:
            judged["seeds"] = claims.count_seeds(judged, self.notebook)
        rows = judged.astype(object).where(judged.notna(), None).to_dict("records")
        record = {
            "notebook": self.notebook,
            "settings": vars(self.settings),
            "findings": rows,
        }
        store.write_text(self._findings_path, json.dumps(record, default=vars))
        display(
            {"text/html": claims.as_html(judged), "text/plain": claims.as_text(judged)},
            raw=True,
            metadata={"findings": rows},
        )
        if caveat:
            print(f"The images are the authors'; {caveat}.")
        _say_what_changed([*self.changed, *(f"the method {name}" for name in edited)])
        self.say_where()

    def _papers_data(self) -> list[str]:
        """Name the papers' own data that the run uses."""
        data = ["printed"]
        if getattr(self.settings, "labels", None):
            data.append("labels")
        images = getattr(self.settings, "images", None)
        if isinstance(images, Images):
            data.append(images.source)
        return data

    @property
    def _findings_path(self) -> Path:
        """Return the file of this lesson's findings."""
        return self.folder / "findings" / f"{self.notebook}.json"

    def say_where(self, folder: Path | None = None) -> None:
        """Print the folder of the results, relative to outputs/ if it is inside."""
        folder = folder or self.folder
        if folder.is_relative_to(store.outputs()):
            place = folder.relative_to(store.outputs())
            print(f"The results are in {place}, below outputs/.")
        else:
            print(f"The results are in {folder}.")


def own_output(notebook: str) -> str:
    """Return the default of the parameter `output`."""
    return f"{SINGLE_RUNS}/{notebook}"


def start(notebook: str, settings: Any) -> Run:
    """Set the seeds, the threads and the style of figures for a lesson.

    Parameters
    ----------
    notebook : str
        Name of the notebook's file without its ending.
    settings : Settings
        The checked parameters (:func:`helpers.settings.check`).

    Returns
    -------
    Run
    """
    synthetic = _is_synthetic(settings)
    # the stored numbers of the synthetic datasets assume one thread
    seed_everything(settings.seed, 1 if synthetic else models.threads())
    style.set_style()
    pd.set_option("display.max_colwidth", None)  # claims are sentences
    changed = _changed_parameters(notebook, settings.given)
    _say_what_changed(changed)
    runs = getattr(settings, "trainings", FEW_RUNS)
    if runs < FEW_RUNS:
        print(f"Each model has {runs} training runs: with so few, intervals are wide.")
    return Run(notebook, settings, store.outputs() / settings.output, changed)


def _is_synthetic(settings: Any) -> bool:
    """Return whether a lesson uses only images, weights and tables of this suite."""
    if any(getattr(settings, name, None) for name in USER_FILES):
        return False
    recipes = getattr(settings, "model", [])
    if not isinstance(recipes, list):
        recipes = [recipes]
    if any(recipe.weights for recipe in recipes):
        return False
    images = getattr(settings, "images", None)
    return not isinstance(images, Images) or images.source == "world"


def _stored_path(notebook: str) -> Path:
    """Return the file of a stored notebook."""
    return store.root() / "notebooks" / f"{notebook}.ipynb"


def _changed_parameters(notebook: str, given: Mapping[str, Any]) -> list[str]:
    """Name the parameters whose values differ from the stored notebook."""
    stored = workflow.defaults(_stored_path(notebook))
    names = [name for name in given if name in stored and name != "output"]
    return [name for name in names if given[name] != stored[name]]


def _say_what_changed(names: list[str]) -> None:
    """Say that the sentences of the lesson do not describe this run."""
    if names:
        print(
            f"You changed {', '.join(names)}: the text of this lesson, with any figure "
            "in its first cell, describes the stored run. For yours, read the numbers, "
            "figures and findings."
        )


def edited_methods(notebook: str) -> list[str]:
    """Name the methods of a lesson whose code in this kernel is not the stored code.

    Methods are what cells marked for export define, and what is assigned on a line with
    the comment ``# the method``. Comments, docstrings and formatting do not count.

    Parameters
    ----------
    notebook : str
        Name of the notebook.

    Returns
    -------
    list of str
        Names in the order of the notebook; empty outside of Jupyter.
    """
    shell = get_ipython()
    if shell is None or not _stored_path(notebook).is_file():
        return []
    executed = {}
    for source in shell.user_ns.get("In", []):
        for definition in _definitions(source):
            executed[definition.name] = definition.code
    stored: dict[str, set[str]] = {}
    methods = []
    for cell in workflow.read_cells(_stored_path(notebook)):
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        exported = source.startswith("#| export ")
        for definition in _definitions(source):
            stored.setdefault(definition.name, set()).add(definition.code)
            if exported or definition.is_method:
                methods.append(definition.name)
    return [
        name
        for name in dict.fromkeys(methods)
        if name in executed and executed[name] not in stored[name]
    ]


class _Definition(NamedTuple):
    """Hold a name that a cell defines or assigns."""

    name: str
    code: str
    is_method: bool  # whether its line has METHOD_COMMENT


def _definitions(source: str) -> list[_Definition]:
    """List what a cell defines or assigns."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return []
    lines = source.splitlines()
    found = []
    for statement in statements:
        first_line = lines[statement.lineno - 1]
        last_line = lines[statement.end_lineno - 1]
        is_method = METHOD_COMMENT in first_line or METHOD_COMMENT in last_line
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            if ast.get_docstring(statement) is not None:
                del statement.body[0]
            found.append(_Definition(statement.name, ast.dump(statement), is_method))
        elif isinstance(statement, ast.Assign):
            code = ast.dump(statement.value)
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    found.append(_Definition(target.id, code, is_method))
    return found
