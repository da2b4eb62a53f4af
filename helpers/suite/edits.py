"""Find the methods of a lesson that were edited in the running kernel.

The code that ran last is compared with the stored notebook, so that findings show no counts of
recorded seeds for a method that the seeds were not recorded with.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from IPython import get_ipython

EXPORTED = "#| export "
METHOD = re.compile(r"^(\w+) = .*# the method", re.MULTILINE)


def in_kernel(notebook: Path) -> list[str]:
    """Return the edited methods of a notebook that runs in this kernel."""
    shell = get_ipython()
    return [] if shell is None else edited(notebook, shell.user_ns.get("In", []))


def edited(notebook: Path, executed: Iterable[str]) -> list[str]:
    """Return the names of methods whose last executed code is not the stored code.

    Methods are what cells marked for export define, and names assigned on a line with the comment
    ``# the method``. Comments, docstrings and formatting do not count.

    Parameters
    ----------
    notebook : Path
        The stored notebook.
    executed : iterable of str
        The code of all cells that were executed, in order.

    Returns
    -------
    list of str
        In the order of the notebook; empty if there is no such file.
    """
    if not notebook.is_file():
        return []
    cells = nbformat.read(notebook, as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    methods: dict[str, None] = {}
    for source in sources:
        if source.startswith(EXPORTED):
            methods |= dict.fromkeys(name for name, _ in _bindings(source))
        else:
            methods |= dict.fromkeys(METHOD.findall(source))
    stored: dict[str, set[str]] = {}
    for source in sources:
        for name, code in _bindings(source):
            stored.setdefault(name, set()).add(code)
    last = {name: code for source in executed for name, code in _bindings(source)}
    return [name for name in methods if name in last and last[name] not in stored[name]]


def _bindings(source: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a cell defines or assigns at its top level, each with its code."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # a broken cell has defined nothing
        return
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name, ast.dump(_without_docstring(statement))
        elif isinstance(statement, ast.Assign):
            code = ast.dump(statement.value)
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, code


def _without_docstring(definition: ast.FunctionDef | ast.ClassDef) -> ast.AST:
    """Drop the docstring of a function or class, in place."""
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    return definition
