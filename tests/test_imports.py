"""Imports run one way through the layers of the package."""

import ast
import re
import runpy
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

from helpers import store

CORE = {"store", "suggest", "synthetic_data"}
LAYERS = ["stats", "data", "models", "explain"]  # each may use those before it
SHARED = {*CORE, *LAYERS, "figures"}
PAPERS = ["contexts", "focus", "icon2", "blocks"]
BELOW = {
    "__init__": set(),
    "exercises": set(),
    "run_lesson": set(),
    "store": set(),
    "suggest": set(),
    "synthetic_data": set(),
    "figures": {*CORE, "stats"},
    "audit": {*SHARED, *PAPERS},
    "audits": {"audit"},
    "workflow": {"store", "suggest"},
    "execute": {"store", "overview"},
    "settings": {"suggest", "data", "models", "explain"},
    "claims": {"store", "stats", "figures"},
    "overview": {"store", "claims", "workflow"},
    "site": {"store", "overview", "claims"},
}
for _place, _layer in enumerate(LAYERS):
    BELOW[_layer] = {*CORE, *LAYERS[:_place]}
for _paper in PAPERS:
    BELOW[_paper] = SHARED
BELOW["lesson"] = {*BELOW} - {"__init__"}
FILES = sorted((store.root() / "helpers").rglob("*.py"))


def imported(path: Path, nodes) -> set[str]:
    """What statements of a module import from the package, in any form;
    generated modules write `from ..package import name`."""
    package = ".".join(path.relative_to(store.root()).parts[:-1])
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return {
        name.removeprefix("helpers.") for name in names if name.startswith("helpers.")
    }


def parts(path: Path, nodes) -> set[str]:
    return {name.split(".")[0] for name in imported(path, nodes)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(store.root())))
def test_imports_run_one_way_and_stand_at_the_top(path):
    place = path.relative_to(store.root() / "helpers")
    tree = ast.parse(path.read_text())
    package = place.parts[0].removesuffix(".py")
    assert package in BELOW, f"name {package!r} here, and what it may import"
    reached = parts(path, ast.walk(tree)) - {package, "pinned"}
    assert reached <= BELOW[package], f"{place} reaches into other parts"
    hidden = parts(path, ast.walk(tree)) - parts(path, tree.body)
    assert not hidden, f"{place} imports {hidden} in a function"


def test_contributing_shows_the_imports():
    tools = runpy.run_path(str(store.root() / "tools" / "imports.py"))
    [shown] = tools["GRAPH"].findall((store.root() / "CONTRIBUTING.md").read_text())
    assert shown == tools["graph"](), "`python tools/imports.py` draws them again"


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
    calls = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            owner, _, name = ast.unparse(node.func).rpartition(".")
            if name in ("sqrt", "atan", "acos") and owner not in ("np", "math"):
                calls.add(f"{path.name}:{node.lineno}")
    assert not calls


@pytest.mark.slow
def test_lessons_start_without_torchvision_and_torchs_compiler():
    """Each takes seconds to import, in every lesson of a run."""
    imports = (
        "from helpers import lesson, settings; from helpers.models import experiment; "
        "from helpers.contexts import methods; from helpers.focus import rating"
    )
    code = f"{imports}; lesson.seed_everything(0); import sys; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=store.root(), check=True
    )
    slow = {"torchvision", "torch._dynamo", "sympy", "nbformat"}
    assert not slow & set(done.stdout.split())
