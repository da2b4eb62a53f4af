"""Exercises that answer: right, not answered yet, or the hint that fits. And what a cell says in
place of being run: that one before it failed, which JupyterLab leaves out without a word, or that
it is an exercise, which on a reader's data is not run."""

import math
import os
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import pandas as pd
from IPython import get_ipython
from IPython.core.interactiveshell import ExecutionResult

RIGHT: set[int] = set()  # numbers of the exercises that are right in this kernel
DIGITS = 3  # to which an answer may be rounded
CLOSE = (
    "close, but not to three digits: was it rounded to fewer, or is it something else?"
)
CHECKS = (
    "assert ",
    "exercises.check(",
)  # one of these stands in the check of an exercise
SOLUTION = (
    "### BEGIN SOLUTION"  # nbgrader's mark; a class's copy has none, and its checks run
)
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


class Wrong(Plain, AssertionError):
    """An answer is not there or not right; the message says what to look at."""


@contextmanager
def check(number: int, of: int, *answers) -> Iterator[None]:
    """``with check(2, 3, share):`` judges exercise 2 of 3 by the assertions that stand below.
    The message of the first that fails is the hint: printed in JupyterLab, raised elsewhere."""
    there, sentence = sum(one is not None for one in answers), ""
    try:
        yield
    except AssertionError as error:
        sentence = f"not right yet: {error}"
    except NameError as error:
        sentence = f"not right yet: run the cells above first ({error})"
    except Exception as error:  # whatever an answer of another kind makes of the check
        what = f"({type(error).__name__}: {error})"
        sentence = f"not right yet: it is not what the exercise asks for {what}"
    if there < len(answers):
        parts = f" ({there} of {len(answers)} parts are there)" if there else ""
        sentence = f"not answered yet{parts}"
    RIGHT.discard(number)
    if not sentence:
        RIGHT.add(number)
        print(f"right ({len(RIGHT)} of {of} exercises)")
        return
    if not in_lab() or "NBGRADER_EXECUTION" in os.environ:
        raise Wrong(sentence)
    print(sentence)


def same(
    value, wanted: float, what: str, hints: Mapping[str, float] | None = None
) -> None:
    """Refuse, by an AssertionError, what is not the number `wanted`; it may be rounded. `hints` are
    sentences, each with the wrong number that it is for; `what` is for all others."""
    known = {"": wanted, **(hints or {}), "its sign is the other way round": -wanted}
    known["this is in percent: a share lies between 0 and 1"] = 100 * wanted
    off = {hint: abs(_number(value) - one) for hint, one in known.items()}
    near = [hint for hint, one in known.items() if off[hint] <= _rounded(one)]
    close = off[""] <= 10 * _rounded(wanted)
    hint = min(near, key=off.get, default=CLOSE if close else what)
    assert not hint, hint


def _rounded(wanted: float) -> float:
    """How far a number may be off by rounding: to three decimals, or to three digits."""
    digits = DIGITS - 1 - math.floor(math.log10(abs(wanted))) if wanted else DIGITS
    return 0.5 * 10.0 ** -min(DIGITS, digits) * (1 + 1e-6)


def _number(value) -> float:
    """One number in any of its forms."""
    value = value.detach() if hasattr(value, "detach") else value
    try:
        number = np.asarray(value, float)
    except (TypeError, ValueError):
        number = np.empty(0)
    assert number.size == 1, (
        f"one number is asked for, and this is a {type(value).__name__}"
    )
    return number.item()


def compare(what: str, own, package, *, within: float = 1e-6, places: int = 2) -> None:
    """Print how a result of the lesson's own code differs from the package's, if it does.

    The notebook goes on, because whoever edits a method wants to see what becomes of it.

    Parameters
    ----------
    what : str
        What is compared, as the beginning of a sentence, such as ``"Focus"``.
    own, package : number, text, array or tensor
        The result of the cells of this notebook, and that of the package.
    within : float
        The largest difference that counts as none, as a share of the package's largest number.
    """
    difference = _difference(own, package, within)
    if difference:
        print(f"Your version differs from the package: {what} {difference}.")


def _difference(own, package, within: float) -> str:
    """Say how two results differ, as the end of a sentence; empty if they do not."""
    if isinstance(own, str) or isinstance(package, str):
        return "" if own == package else f"is {own} here and {package} there"
    own = np.asarray(own, dtype=float)
    package = np.asarray(package, dtype=float)
    if own.shape != package.shape:
        return f"has the shape {own.shape} here and {package.shape} there"
    largest = np.max(np.abs(package), initial=0, where=np.isfinite(package))
    if np.isclose(own, package, rtol=0, atol=within * largest, equal_nan=True).all():
        return ""
    if own.size > 1:
        return f"differs by up to {np.nanmax(np.abs(own - package)):.2g}"
    here, there = f"{own.item():.2f}", f"{package.item():.2f}"
    if here == there:
        here, there = f"{own.item():.6g}", f"{package.item():.6g}"
    return f"is {here} here and {there} there"


def rows(value, table: pd.DataFrame, keys: list[str]) -> set[tuple]:
    """The `keys` of the rows of a table that an answer is, or names by labels or true and false."""
    value = value if isinstance(value, pd.DataFrame) else table.loc[value]
    return {*value.reset_index()[keys].itertuples(index=False, name=None)}


class Watch:
    """Remembers the failed cell for as long as cells wait behind it, and the cell before."""

    def __init__(self, queued: bool):
        self.queued, self.exercises = (
            queued,
            True,
        )  # whether cells wait, and exercises are run
        self.failure, self.ended, self.before = "", 0.0, ""

    def finished(self, result: ExecutionResult) -> None:
        """After each cell: note whether it failed, and when it ended."""
        error = result.error_before_exec or result.error_in_exec
        if error is not None and self.queued:
            first_line = f"{type(error).__name__}: {error}".splitlines()[0]
            self.failure = (
                f"Not run, for cell [{result.execution_count}] failed: {first_line}"
            )
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
        shell.kernel._abort_queues = lambda *_: (
            None
        )  # the kernel then runs the cells that wait


def plainly(
    shell, kind: type, error: Exception, trace, tb_offset: int | None = None
) -> None:
    """Show an error; where the package refuses the reader's images, its sentence alone."""
    last = traceback.extract_tb(trace)[-1]
    if last.line.startswith("raise ") and any(
        place in last.filename for place in IMAGES
    ):
        error._render_traceback_ = lambda: [str(error)]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def are_run(run: bool) -> None:
    """Whether solutions and their checks are run from now on."""
    if watched := getattr(get_ipython(), "watch_of_failures", None):
        watched.exercises = run
