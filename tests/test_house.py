"""Imports run one way through the rooms of the house; papers never import each other."""

import ast
import re
from importlib.util import resolve_name
from pathlib import Path

import pytest

from helpers import store

GROUND = ["store", "suggest", "synthetic_data"]
ROOMS = ["stats", "data", "models", "explain"]
PAPERS = ["contexts", "focus", "icon2", "blocks"]
BELOW = {"store": set(), "suggest": set(), "synthetic_data": set()}
BELOW |= {room: {*GROUND, *ROOMS[:place]} for place, room in enumerate(ROOMS)}
BELOW |= {"figures": {*GROUND, "stats"}}
BELOW |= {paper: {*GROUND, *ROOMS, "figures"} for paper in PAPERS}
BELOW |= {"audit": {*GROUND, *ROOMS, "figures", *PAPERS}}
BELOW |= {"exercises": set(), "run_lesson": set()}
BELOW |= {"workflow": {"store", "suggest"}, "execute": {"store", "overview"}}
BELOW |= {"settings": {"suggest", "data", "models", "explain"}}
BELOW |= {"claims": {"store", "stats", "figures"}}
BELOW |= {
    "overview": {"store", "claims"},
    "site": {"store", "overview", "claims"},
    "__init__": set(),
}
BELOW |= {"lesson": {*BELOW} - {"__init__"}}
FILES = sorted((store.root() / "helpers").rglob("*.py"))


def imported(path: Path, nodes) -> set[str]:
    """What statements of a module import from the package, by any of the ways of writing it;
    generated modules write `from ..room import name`."""
    package, names = ".".join(path.relative_to(store.root()).parts[:-1]), set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return {
        name.removeprefix("helpers.") for name in names if name.startswith("helpers.")
    }


def rooms(path: Path, nodes) -> set[str]:
    return {name.split(".")[0] for name in imported(path, nodes)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(store.root())))
def test_imports_run_one_way_and_stand_at_the_top(path):
    place, tree = (
        path.relative_to(store.root() / "helpers"),
        ast.parse(path.read_text()),
    )
    room = place.parts[0].removesuffix(".py")
    assert room in BELOW, f"name the room {room!r} here, and what it may import"
    reached = rooms(path, ast.walk(tree)) - {room, "pinned"}
    assert reached <= BELOW[room], f"{place} reaches into {reached - BELOW[room]}"
    hidden = rooms(path, ast.walk(tree)) - rooms(path, tree.body)
    assert not hidden, f"{place} hides its arrow to {hidden} in a function"


def test_only_one_module_of_the_package_imports_the_synthetic_datasets():
    users = [
        path.name
        for path in FILES
        if re.search(r"^from synthetic|^import synthetic", path.read_text(), re.M)
    ]
    assert users == ["synthetic_data.py"]


def test_the_synthetic_datasets_do_not_import_the_package():
    for path in (store.root() / "synthetic").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) helpers", path.read_text(), re.M), path


def test_no_function_of_torch_is_called_whose_last_digits_depend_on_the_processor():
    calls = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = getattr(node.func.value, "id", "")
                if node.func.attr in ("sqrt", "atan", "acos") and owner not in (
                    "np",
                    "math",
                ):
                    calls[f"{path.name}:{node.lineno}"] = node.func.attr
    assert not calls
