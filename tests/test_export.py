"""A method is written once: in a marked cell of its lesson, from which its module is generated."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib

import nbformat
import pytest

from helpers import store
from helpers.suite import export

ROOT = store.root()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
GENERATED = [
    path
    for path in sorted((ROOT / "helpers").rglob("*.py"))
    if path.read_text().startswith(export.GENERATED)
]
UNMARKED = {"focus_by_hand", "average_precision"}  # of 07 and 08, which are rebuilt


def blocks(module) -> dict[str, str]:
    """The parts of a generated module by notebook and cell."""
    parts = re.split(r"^# %% (.*)$", module.read_text(), flags=re.M)
    return {"header": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def test_modules_are_what_the_marked_cells_say(tmp_path):
    """`make export` writes them; where one differs, its notebook and cell are named."""
    for folder in ("notebooks", "helpers"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    made = export.export(tmp_path)
    here = {path.relative_to(ROOT) for path in GENERATED}
    assert here == {path.relative_to(tmp_path) for path in made}, "run `make export`"
    for path in here:
        old, new = blocks(ROOT / path), blocks(tmp_path / path)
        differ = [cell for cell in old.keys() | new if old.get(cell) != new.get(cell)]
        assert not differ, f"{path} is not what these cells say: {differ}. Run `make export`"


def test_a_module_has_one_notebook_and_what_no_cell_makes_goes(tmp_path):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "helpers" / "room").mkdir(parents=True)
    left = tmp_path / "helpers" / "room" / "old.py"
    left.write_text(f"{export.GENERATED}! DO NOT EDIT!\n")
    by_hand = tmp_path / "helpers" / "room" / "other.py"
    by_hand.write_text("x = 1\n")
    cells = ["#| export room.method\nimport math\n\n\ndef f(x):\n    return math.sqrt(x)", "f(4)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(notebook, tmp_path / "notebooks" / "10_one.ipynb")
    before = (tmp_path / "notebooks" / "10_one.ipynb").read_bytes()
    [module] = export.export(tmp_path)
    assert (
        "def f(x):\n    return math.sqrt(x)" in module.read_text()
        and "f(4)" not in module.read_text()
    )
    assert (tmp_path / "notebooks" / "10_one.ipynb").read_bytes() == before
    assert by_hand.exists() and not left.exists()
    nbformat.write(notebook, tmp_path / "notebooks" / "11_two.ipynb")
    with pytest.raises(ValueError, match=r"room.method is exported by 10_one.*and 11_two"):
        export.export(tmp_path)


def test_generated_modules_are_few_exempt_from_the_formatter_and_need_no_other_cell():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    assert settings["extend-exclude"] == [str(path.relative_to(ROOT)) for path in GENERATED]
    assert sum(len(path.read_text().splitlines()) for path in GENERATED) <= 2_970
    checked = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", *GENERATED]
    done = subprocess.run(checked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_defines_functions_in_marked_cells_and_uses_them_below(path):
    """What a lesson teaches; drawing and stores live in the package. Solutions may define, too.
    Whoever edits a marked cell sees what follows change."""
    cells = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    trees = [ast.parse(source) for source in cells]
    used = [{n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} for tree in trees]
    for place, (source, tree) in enumerate(zip(cells, trees, strict=True)):
        defined = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        names = {node.name for node in defined}
        if not source.startswith(export.MARK):
            assert "### BEGIN SOLUTION" in source or names <= UNMARKED, source
            continue
        assert names <= set().union(*used[place + 1 :]), f"{path.stem} does not use all of {names}"
        for node in defined:
            lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
            doc = (ast.get_docstring(node) or "").splitlines()
            assert 1 <= len(doc) <= 8 and len(lines) <= 25, f"{path.stem}: {node.name}"
            typed = isinstance(node, ast.ClassDef) or node.returns is not None
            assert typed, f"{path.stem}: {node.name} has no type of its result"
