"""What a cell says in place of being run: that one before it failed, which JupyterLab leaves out
without a word, or that it is an exercise, which on a reader's data is not run."""

import os
import time
import traceback

from IPython import get_ipython
from IPython.core.interactiveshell import ExecutionResult

CHECKS = "assert ", "exercises.check("  # one of these stands in the check of an exercise
SOLUTION = "### BEGIN SOLUTION"  # nbgrader's mark; a class's copy has none, and its checks run
LEFT_OUT = "Not run: this exercise and its check are made for the embedded data."
IMAGES = "helpers/data/", "helpers/models/experiment.py", "helpers/contexts/mosaics.py"
WAITED = 1.0  # seconds: a cell that comes later after the last one was not waiting in the queue


class Plain(Exception):
    """An error of which Jupyter shows the sentence, and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def in_lab() -> str:
    """The path of the notebook where JupyterLab runs it; "" where something else does."""
    return os.environ.get("JPY_SESSION_NAME", "")


class Watch:
    """Remembers the failed cell for as long as cells wait behind it, and the cell before."""

    def __init__(self, queued: bool):
        self.queued, self.exercises = queued, True  # whether cells wait, and exercises are run
        self.failure, self.ended, self.before = "", 0.0, ""

    def finished(self, result: ExecutionResult) -> None:
        """After each cell: note whether it failed, and when it ended."""
        error = result.error_before_exec or result.error_in_exec
        if error is not None and self.queued:
            first_line = f"{type(error).__name__}: {error}".splitlines()[0]
            self.failure = f"Not run, for cell [{result.execution_count}] failed: {first_line}"
        self.ended, self.before = time.monotonic(), result.info.raw_cell

    def instead(self, lines: list[str]) -> list[str]:
        """The lines of a cell, or one that says why they are not run."""
        if self.failure and time.monotonic() - self.ended < WAITED:
            return [f"print({self.failure!r})\n"]
        self.failure, text = "", "".join(lines)
        checks = SOLUTION in self.before and any(one in text for one in CHECKS)
        if not self.exercises and (checks or SOLUTION in text):
            return [f"print({LEFT_OUT!r})\n"]
        return lines


def watch() -> None:
    """Begin. Only JupyterLab has cells that wait: other runners stop at a failure and say so."""
    shell = get_ipython()
    if shell is None or hasattr(shell, "watch_of_failures"):
        return
    queued = bool(in_lab())
    shell.watch_of_failures = watched = Watch(queued)
    shell.events.register("post_run_cell", watched.finished)
    shell.input_transformers_cleanup.append(watched.instead)
    shell.set_custom_exc((ValueError, OSError), plainly)
    if queued:
        shell.kernel._abort_queues = lambda *_: None  # the kernel then runs the cells that wait


def plainly(shell, kind: type, error: Exception, trace, tb_offset: int | None = None) -> None:
    """Show an error; where the package refuses the reader's images, its sentence alone."""
    last = traceback.extract_tb(trace)[-1]
    if last.line.startswith("raise ") and any(place in last.filename for place in IMAGES):
        error._render_traceback_ = lambda: [str(error)]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def exercises(run: bool) -> None:
    """Whether solutions and their checks are run from now on."""
    if watched := getattr(get_ipython(), "watch_of_failures", None):
        watched.exercises = run
