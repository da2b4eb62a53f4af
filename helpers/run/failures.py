"""Show a failure at the end of a notebook whose cells were all run at once.

JupyterLab drops the cells that wait behind a failed one without a word. Here they are run, and each
of them only says which cell failed, and why.
"""

import os
import time

from IPython import get_ipython
from IPython.core.interactiveshell import ExecutionResult

WAITED = 1.0  # seconds: a cell that comes later after the last one was not waiting in the queue


class Watch:
    """Remembers the failed cell for as long as cells wait behind it."""

    def __init__(self):
        self.failure, self.ended = "", 0.0

    def finished(self, result: ExecutionResult) -> None:
        """After each cell: note whether it failed, and when it ended."""
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            said = f"{type(error).__name__}: {error}".splitlines()[0]
            self.failure = f"Not run, for cell [{result.execution_count}] failed: {said}"
        self.ended = time.monotonic()

    def instead(self, lines: list[str]) -> list[str]:
        """The lines of a cell, or those that tell of the failure that it waited behind."""
        if self.failure and time.monotonic() - self.ended < WAITED:
            return [f"print({self.failure!r})\n"]
        self.failure = ""
        return lines


def watch() -> None:
    """Begin, in JupyterLab only: other runners stop at a failure and say so themselves."""
    shell = get_ipython()
    if "JPY_SESSION_NAME" not in os.environ or hasattr(shell, "watch_of_failures"):
        return
    shell.watch_of_failures = found = Watch()
    shell.events.register("post_run_cell", found.finished)
    shell.input_transformers_cleanup.append(found.instead)
    shell.kernel._abort_queues = lambda *_: None  # the kernel then runs the cells that wait
