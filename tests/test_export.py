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
        assert not differ, (
            f"{path} is not what these cells say: {differ}. Run `make export`"
        )


@pytest.fixture
def tree(tmp_path):
    """A room with a module written by hand and another that no cell makes any more."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "helpers" / "room").mkdir(parents=True)
    (tmp_path / "helpers/room/old.py").write_text(f"{export.GENERATED}! DO NOT EDIT!\n")
    (tmp_path / "helpers/room/other.py").write_text("x = 1\n")
    return tmp_path


def written(tree, name, mark="#| export room.method"):
    """A notebook with a marked cell and another."""
    sources = [f"{mark}\nimport math\n\n\ndef f(x):\n    return math.sqrt(x)", "f(4)"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(
        nbformat.v4.new_notebook(cells=cells), tree / "notebooks" / f"{name}.ipynb"
    )


def test_a_module_has_one_notebook_and_what_no_cell_makes_goes(tree):
    written(tree, "10_one")
    before = (tree / "notebooks" / "10_one.ipynb").read_bytes()
    [module] = export.export(tree)
    text = module.read_text()
    assert "def f(x):\n    return math.sqrt(x)" in text and "f(4)" not in text
    assert (tree / "notebooks" / "10_one.ipynb").read_bytes() == before
    assert {path.name for path in module.parent.glob("*.py")} == {
        "method.py",
        "other.py",
    }
    written(tree, "11_two")
    with pytest.raises(
        ValueError, match=r"room.method is exported by 10_one.*and 11_two"
    ):
        export.export(tree)


@pytest.mark.parametrize(
    "mark",
    [
        "#|export room.a",
        "#| export room.a ",
        "#| exports room.a",
        "# x\n#| export room.a",
    ]
    + [f"#| export {name}" for name in ("room.other", "room", "nowhere.a")],
)
def test_a_wrong_mark_is_refused_before_anything_is_written(mark, tree):
    written(tree, "10_one", mark)
    before = {path: path.read_bytes() for path in tree.rglob("*.py")}
    with pytest.raises(ValueError, match=r"10_one|by hand"):
        export.export(tree)
    assert before == {path: path.read_bytes() for path in tree.rglob("*.py")}


def test_generated_modules_are_exempt_from_the_formatter_and_need_no_other_cell():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    assert settings["extend-exclude"] == [
        str(path.relative_to(ROOT)) for path in GENERATED
    ]
    checked = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select=F821",
        *GENERATED,
    ]
    done = subprocess.run(checked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_defines_functions_in_marked_cells_and_uses_them_below(path):
    """What a lesson teaches; drawing and stores live in the package. Solutions may define, too.
    Whoever edits a marked cell, or a line called the method, sees what follows change."""
    cells = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    trees = [ast.parse(source) for source in cells]
    names_of = [
        [n for n in ast.walk(tree) if isinstance(n, ast.Name)] for tree in trees
    ]
    used = [{n.id for n in names if isinstance(n.ctx, ast.Load)} for names in names_of]
    for place, (source, tree) in enumerate(zip(cells, trees, strict=True)):
        defined = [
            n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)
        ]
        names = {node.name for node in defined}
        method = {*re.findall(r"^(\w+) = .*# the method", source, re.M)}
        assert method <= set().union(*used[place:]), (
            f"{path.stem} does not use all of {method}"
        )
        if not source.startswith(export.MARK):
            assert "### BEGIN SOLUTION" in source or names <= UNMARKED, source
            continue
        assert names <= set().union(*used[place + 1 :]), (
            f"{path.stem} does not use all of {names}"
        )
        for node in defined:
            assert ast.get_docstring(node), f"{path.stem}: {node.name} has no docstring"
            typed = isinstance(node, ast.ClassDef) or node.returns is not None
            assert typed, f"{path.stem}: {node.name} has no type of its result"
