"""Imports run one way through the rooms of the house; papers never import each other."""

import ast

import pytest

from helpers import store

GROUND = ["store", "source", "recorded"]
ROOMS = ["stats", "worlds", "data", "models", "explain"]
PAPERS = ["contexts", "focus", "icon2", "blocks"]
BELOW = {"store": set(), "source": {"store"}, "recorded": {"store", "source"}}
BELOW |= {room: {*GROUND, *ROOMS[:place]} for place, room in enumerate(ROOMS)}
BELOW |= {"worlds": set(GROUND), "figures": {*GROUND, "stats"}}
BELOW |= {paper: {*GROUND, *ROOMS, "figures"} for paper in PAPERS}
BELOW |= {"suite": set(BELOW), "__main__": set(BELOW), "__init__": set()}
FILES = sorted((store.root() / "helpers").rglob("*.py"))


def rooms(node: ast.AST) -> set[str]:
    """The rooms that a statement imports from, by any of the ways of writing it."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return set()
    return {name.split(".")[1] for name in names if name.startswith("helpers.")}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(store.root())))
def test_imports_run_one_way_and_stand_at_the_top(path):
    place, tree = path.relative_to(store.root() / "helpers"), ast.parse(path.read_text())
    room = place.parts[0].removesuffix(".py")
    reached = set().union(*map(rooms, ast.walk(tree))) - {room, "unpinned"}
    assert reached <= BELOW[room], f"{place} reaches into {reached - BELOW[room]}"
    hidden = set().union(*map(rooms, ast.walk(tree))) - set().union(*map(rooms, tree.body))
    assert not hidden, f"{place} hides its arrow to {hidden} in a function"


def test_no_file_of_a_room_is_in_a_circle():
    """Between the modules of one room, too: none imports one that imports it."""
    package = store.root() / "helpers"
    after = {}
    for path in FILES:
        name = path.relative_to(package).with_suffix("").as_posix()
        nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
        found = {f"{n.module}.{a.name}" for n in nodes for a in n.names} | {n.module for n in nodes}
        paths = {str(one).removeprefix("helpers.").replace(".", "/") for one in found}
        after[name] = {one for one in paths if (package / f"{one}.py").is_file()} - {name}
    while free := [name for name, others in after.items() if not others & after.keys()]:
        for name in free:
            del after[name]
    assert not after, f"these import each other: {sorted(after)}"


def test_no_function_of_torch_is_called_whose_last_digits_depend_on_the_processor():
    calls = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = getattr(node.func.value, "id", "")
                if node.func.attr in ("sqrt", "atan", "acos") and owner not in ("np", "math"):
                    calls[f"{path.name}:{node.lineno}"] = node.func.attr
    assert not calls
