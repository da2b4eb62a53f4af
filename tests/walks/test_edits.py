"""An edit of what decides a stored thing makes it anew; an edit of a comment does not."""

import ast
import shutil
import sys
from functools import partial

import pandas as pd
import pytest
import torch

from helpers import explain, focus, models, recorded, source
from helpers.data import world
from helpers.focus import rating
from helpers.focus.networks import Model
from helpers.models import detector
from helpers.models.recipe import Recipe
from helpers.models.reduced import REDUCED
from helpers.worlds import street

PACKAGE = source.PACKAGE
# what says where files are, names them, and shows that work goes on
DECIDES_NOTHING = {"store.py", "source.py", "data/images.py", "models/recipe.py"}


def called(work) -> set[tuple[str, int]]:
    """File below the package and first line of every function of the package that `work` calls."""
    seen = set()

    def profile(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{PACKAGE}/"):
            seen.add((code.co_filename.removeprefix(f"{PACKAGE}/"), code.co_firstlineno))

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {one for one in seen if one[0] not in DECIDES_NOTHING}


def edits(file: str, lines: set[int]):
    """The source of a module once for each of its functions that begin at `lines`, edited there."""
    text = (PACKAGE / file).read_text()
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    for number, node in enumerate(ast.walk(ast.parse(text))):
        if not isinstance(node, kinds):
            continue
        if min([node.lineno, *(d.lineno for d in node.decorator_list)]) in lines:
            tree = ast.parse(text)
            [*ast.walk(tree)][number].body.append(ast.parse("edited = 1").body[0])
            yield node.name, ast.unparse(tree).encode()


def train(folder, collection):
    classes, drawn = collection.classes, partial(collection.to_train, "C")
    how = {"seed": 0, "epochs": 1, "folder": folder}
    wider = models.pretrained("resnet10-eighth", len(classes), drawn(0), **how)
    for name in REDUCED:
        models.trainings(2, name, classes, drawn, **how)
    how |= {"weights": wider, "tune": "last"}
    models.trainings(1, "resnet10-eighth", classes, drawn, **how)


def rate(_, images):
    logit = {name: place for place, name in enumerate(images.classes)}
    table = focus.design(images.table, images.classes, per_class=1)
    for name in REDUCED:
        model = Model(Recipe(name), "C", [models.build(name, 4).eval()], logit)
        for method in explain.METHODS if name == "resnet10-eighth" else ("gradcam", "lrp"):
            rating.rate(model, images, table, method, effort="quick")


def detect(folder, drawn):
    frames, images, boxes = drawn
    data = torch.from_numpy(images), boxes, street.KINDS
    trained = detector.trained(*data, seed=0, folder=folder)
    for name, image in zip(frames["name"], images, strict=True):
        detector.Image.fromarray(image.transpose(1, 2, 0)).save(folder / name)
    detector.predict(trained, folder, frames["name"].tolist(), street.KINDS, folder)


def streets():
    frames, things = street.scenes(4, 8)
    return frames, *street.render(frames, street.dressed(frames, things, 0.5))


WORK = {  # inputs that are in the key themselves; what is stored; what decides it besides them
    "training": (lambda: world.load(64, 0, 6, None), train, [models.TRAINING, world.DRAWING]),
    "rating": (lambda: world.image_set("C", 64, 0, 12).split("test"), rate, [rating.SCORING]),
    "detection": (streets, detect, [detector.DETECTING]),
}


@pytest.mark.parametrize("kind", WORK)
def test_an_edit_of_any_function_that_decides_a_stored_thing_changes_its_key(
    kind, tmp_path, monkeypatch
):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    inputs, work, sources = WORK[kind]
    drawn = inputs()
    functions = called(lambda: work(tmp_path, drawn))
    copy = shutil.copytree(PACKAGE, tmp_path / "package")
    monkeypatch.setattr(source, "PACKAGE", copy)
    names = [[str(p.relative_to(PACKAGE).with_suffix("")) for p in s.loaded] for s in sources]

    def keys():
        return [source.Source(*modules).digest() for modules in names]

    before, edited = keys(), 0
    for file in {file for file, _ in functions}:
        own = (copy / file).read_bytes()
        for name, text in edits(file, {line for of, line in functions if of == file}):
            (copy / file).write_bytes(text)
            assert keys() != before, f"{kind}: an edit of {name} in {file} is not felt"
            edited += 1
        (copy / file).write_bytes(own)
    assert keys() == before and edited >= 8


def test_a_comment_is_no_edit_and_one_after_a_kernel_began_asks_to_restart(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PACKAGE", tmp_path)
    written = {
        "one": b'"""A."""\ndef f(a, b=None):\n    """B."""\n    return a + b * 2\n',
        "same": b"# no\ndef f(\n    a,\n    b=None,\n):\n    return (a + b*2)  # three\n",
        "other": b"def f(a, b=None):\n    return a + b * 3\n",
        "none": b"def f(a, b):\n    return a + b * 2\n",
    }
    digests = {}
    for name, text in written.items():
        (tmp_path / "module.py").write_bytes(text)
        digests[name] = source.Source("module").digest()
    assert digests["one"] == digests["same"] and len(set(digests.values())) == 3
    with pytest.raises(FileNotFoundError, match="no module 'nothing'"):
        source.Source("nothing")
    monkeypatch.setattr(source, "PACKAGE", tmp_path / "helpers")
    module = tmp_path / "helpers" / "cam.py"
    module.parent.mkdir()
    module.write_text("def cam(x):\n    return x\n")
    cam = source.Source("cam")
    before = cam.digest()
    module.write_text("# a comment\ndef cam(x):\n    return x\n")
    assert cam.digest() == before
    module.write_text("def cam(x):\n    return -x\n")
    with pytest.raises(source.ChangedSource, match=r"helpers/cam\.py was edited.*Restart"):
        cam.digest()


def test_a_recorded_table_is_made_by_all_that_its_driver_imports():
    closure = set(source.imported("sweeps/context_worlds", without=recorded.BESIDE))
    assert {
        "contexts/pasting",
        "data/mosaic",
        "models/training",
        "stats/__init__",
    } <= closure
    assert {"worlds/pictures/paint", "models/reduced", "__init__"} <= closure
    assert not [name for name in closure if name.startswith(("run", "figures", "icon2", "focus"))]


def test_every_recorded_table_is_what_the_code_of_today_gives():
    by_hand = {"street_looks.csv", "recorded.csv", "seeds.csv"}  # seeds have a maker a row
    by_hand |= {"audit_summary.csv", "audit_heads_summary.csv"}  # of trials: test_audit_model.py
    by_hand |= {"way_seconds.csv"}  # seconds, which no other run gives again
    tables = {path.name for path in recorded.DATA.glob("*.csv")} - by_hand
    ledger = pd.read_csv(recorded.LEDGER, index_col="file")
    assert tables <= set(ledger.index)
    stale = {name: recorded.stale(name) for name in ledger.index}
    assert not any(stale.values()), stale


def test_a_stale_table_is_told_by_its_lesson_and_kept_if_unchanged(tmp_path, monkeypatch, capsys):
    shutil.copytree(recorded.DATA, tmp_path / "data")
    monkeypatch.setattr(recorded, "DATA", tmp_path / "data")
    monkeypatch.setattr(recorded, "LEDGER", tmp_path / "data" / "recorded.csv")
    recorded.read("context_worlds.csv")
    assert capsys.readouterr().out == ""
    ledger = pd.read_csv(recorded.LEDGER, index_col="file")
    ledger.loc["context_worlds.csv", "made_by"] = "another"
    ledger.to_csv(recorded.LEDGER)
    assert len(recorded.read("context_worlds.csv")) == 960
    assert "context_worlds.csv is stale: the code that made it" in capsys.readouterr().out
    rows = (recorded.DATA / "context_worlds.csv").read_text().splitlines()
    part, other = "\n".join(rows[:9]), "\n".join([*rows[:8], rows[8] + "1"])
    with pytest.raises(ValueError, match="1 of 8 rows come out differently"):
        recorded.same(f"printf '{other}' > $FOLDER/context_worlds.csv")
    recorded.note(*recorded.same(f"printf '{part}' > $FOLDER/context_worlds.csv"))
    assert recorded.stale("context_worlds.csv") == ""
    recorded.write(recorded.DATA / "streets.csv", "a\n1\n")
    assert recorded.stale("streets.csv") == ""
    (recorded.DATA / "streets.csv").write_text("a\n2\n")
    assert "was changed after" in recorded.stale("streets.csv")
