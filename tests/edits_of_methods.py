"""Run a lesson with every method of its own edited, and say which cells still call the package's.

An edit that decides nothing is made in each function of the cells marked for export. The package's
copies note each call. A later cell that calls one computes with a function that the reader did not
edit."""

import ast
import json
import os

import nbformat
from nbclient import NotebookClient
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from helpers import store

MARK = "#| export "
SPIES = """
import builtins, importlib, inspect, types

CALLS = []


def _spy(module, name):
    function = getattr(importlib.import_module(module), name)
    if not inspect.isfunction(function):
        return
    original = types.FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    code = function.__code__

    def noted(args, kwargs):
        CALLS.append((len(In) - 1, name))
        return original(*args, **kwargs)

    setattr(builtins, f"_noted_{name}", noted)
    space = {}
    exec(f"def {name}(*args, **kwargs): return _noted_{name}(args, kwargs)", space)
    place = {"co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno}
    function.__code__ = space[name].__code__.replace(**place)
    function.__defaults__ = function.__kwdefaults__ = None


for module, name in METHODS:
    _spy(module, name)
"""


def exported(notebook):
    """The functions of a notebook's marked cells, each with its module, in order."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.startswith(MARK):
            room = cell.source.splitlines()[0].removeprefix(MARK)
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.FunctionDef):
                    yield f"helpers.{room}", node.name


def edited(source):
    """A cell in which every function assigns a name that nothing reads, first of all."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            after_docstring = 1 if ast.get_docstring(node) else 0
            node.body.insert(
                after_docstring, ast.parse("edited_by_a_reader = 1").body[0]
            )
    return source.splitlines()[0] + "\n" + ast.unparse(tree)


def checks_itself(cell):
    """Whether a cell compares with the package, or belongs to an exercise."""
    return "exercises.compare(" in cell.source or "nbgrader" in cell.metadata


def calls_of_the_package(path, values, outputs):
    """Run a lesson with its methods edited: the lesson, and pairs of a cell and what it calls."""
    lesson = parameterize_notebook(load_notebook_node(str(path)), values)
    methods = [*exported(lesson)]
    for cell in lesson.cells:
        if cell.cell_type == "code" and cell.source.startswith(MARK):
            cell.source = edited(cell.source)
    begins = next(
        number
        for number, cell in enumerate(lesson.cells)
        if cell.cell_type == "code" and "lesson.start(" in cell.source
    )
    spies = nbformat.v4.new_code_cell(f"METHODS = {methods!r}\n{SPIES}")
    last = nbformat.v4.new_code_cell("import json\nprint(json.dumps(CALLS))")
    lesson.cells = [
        *lesson.cells[: begins + 1],
        spies,
        *lesson.cells[begins + 1 :],
        last,
    ]
    own = {
        "PYTHONPATH": str(store.root()),
        "SUITE_OUTPUTS": str(outputs),
        "TQDM_DISABLE": "1",
    }
    client = NotebookClient(
        lesson, kernel_name="python3", timeout=None, coalesce_streams=True
    )
    client.execute(env=os.environ | own, cwd=str(path.parent))
    by_count = {c.execution_count: c for c in lesson.cells if c.cell_type == "code"}
    calls = {tuple(call) for call in json.loads(lesson.cells[-1].outputs[-1]["text"])}
    last_definition = {}
    for cell in lesson.cells:
        if cell.cell_type == "code" and cell.source.startswith(MARK):
            for node in ast.parse(cell.source).body:
                last_definition[getattr(node, "name", None)] = cell.execution_count
    later = [
        (by_count[count].get("id", ""), name)
        for count, name in sorted(calls)
        if count > last_definition[name] and not checks_itself(by_count[count])
    ]
    return lesson, later
