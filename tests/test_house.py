"""Imports run one way through the rooms of the house; papers never import each other."""

import ast

import pytest

from helpers.run import project

ROOMS = ["run", "stats", "worlds", "data", "models", "explain"]
PAPERS = ["contexts", "focus", "icon2", "blocks"]
MAY = {room: set(ROOMS[: place + 1]) for place, room in enumerate(ROOMS)}
MAY |= {paper: {*ROOMS, "figures", paper} for paper in PAPERS}
MAY |= {"figures": {"run", "figures"}}
BESIDE = {  # what else a module imports, and why
    ("run/parameters.py", "models"): "a network is tried out before a run",
    ("run/parameters.py", "data"): "a folder is scanned before a run",
    ("run/parameters.py", "icon2"): "labels are read before a run",
    ("run/preflight.py", "data"): "a folder is read before a run",
    ("run/project.py", "figures"): "a run shows its figures in the suite's style",
}
FILES = sorted((project.root() / "helpers").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(project.root())))
def test_imports_run_one_way(path):
    place = path.relative_to(project.root() / "helpers")
    if len(place.parts) == 1:
        return
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    rooms = set()
    for node in nodes:
        if node.module == "helpers":
            rooms |= {alias.name for alias in node.names}
        elif str(node.module).startswith("helpers."):
            rooms.add(node.module.split(".")[1])
    beside = {room for file, room in BESIDE if file == str(place)}
    assert rooms <= MAY[place.parts[0]] | beside, (
        f"{place} reaches into {rooms - MAY[place.parts[0]]}"
    )


def test_no_function_of_torch_is_called_whose_last_digits_depend_on_the_processor():
    calls = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = getattr(node.func.value, "id", "")
                if node.func.attr in ("sqrt", "atan", "acos") and owner not in ("np", "math"):
                    calls[f"{path.name}:{node.lineno}"] = node.func.attr
    assert not calls
