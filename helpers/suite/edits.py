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
from IPython.core.inputtransformer2 import TransformerManager

EXPORTED = "#| export "
METHOD = re.compile(r"^(\w+)(?:\s*:[^=\n]+)? = .*# the method", re.MULTILINE)
PYTHON_MAGICS = {"time", "capture"}  # whose text is Python code
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def in_kernel(notebook: Path) -> list[str]:
    """Return the edited methods of a notebook that runs in this kernel."""
    shell = get_ipython()
    return [] if shell is None else edited(notebook, shell.user_ns.get("In", []))


def edited(notebook: Path, executed: Iterable[str]) -> list[str]:
    """Return the names of methods whose last executed code is not the stored code.

    Methods are what cells marked for export define, and names assigned on a line with the comment
    ``# the method``. Comments, docstrings and formatting do not count. Nothing is said of a method
    whose stored cell is no valid code.

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
    compared = [name for name in methods if name in last and name in stored]
    return [name for name in compared if last[name] not in stored[name]]


def _bindings(source: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a cell defines or assigns at its top level, each with its code."""
    try:
        statements = ast.parse(TransformerManager().transform_cell(source)).body
    except SyntaxError:  # a broken cell has defined nothing
        return
    for statement in statements:
        if isinstance(statement, DEFINITIONS):
            yield statement.name, ast.dump(_without_docstring(statement))
        elif (
            isinstance(statement, ast.Assign | ast.AnnAssign)
            and statement.value is not None
        ):
            code = ast.dump(statement.value)
            annotated = isinstance(statement, ast.AnnAssign)
            for target in [statement.target] if annotated else statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, code
        elif isinstance(statement, ast.Expr):
            yield from _bindings(_code_of_magic(statement.value))


def _code_of_magic(call: ast.expr) -> str:
    """Return the Python code that a transformed magic such as ``%time`` runs, or ""."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="run_line_magic" | "run_cell_magic"),
            args=[ast.Constant(value=name), *_, ast.Constant(value=code)],
        ) if name in PYTHON_MAGICS:
            return code
    return ""


def _without_docstring(definition: DEFINITIONS) -> ast.AST:
    """Drop the docstring of a function or class, in place."""
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    return definition
