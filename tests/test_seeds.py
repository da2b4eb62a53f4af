"""Verdicts under several seeds are recorded once, matched by claim, and counted right."""

from contextlib import nullcontext

import nbformat
import pytest

from helpers import claims, recorded, store
from sweeps import seeds

SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE = (
    claims.SUPPORTED,
    claims.NOT_SUPPORTED,
    claims.INCONCLUSIVE,
)
LESSONS = ["03_contextualized_mosaics", "09_bias_building_blocks"]


@pytest.fixture(autouse=True)
def _recorded_elsewhere(tmp_path, monkeypatch):
    text = (recorded.DATA / "seeds.csv").read_text().splitlines()[0]
    monkeypatch.setattr(
        seeds, "SEEDS", store.write_text(tmp_path / "seeds.csv", f"{text}\n")
    )
    monkeypatch.setattr(recorded, "of_lesson", lambda name: f"maker of {name}")


def written(folder, **executed):
    """Executed notebooks of a run: name to pairs of id (and what it is about) and verdict."""
    for name, pairs in executed.items():
        judged = []
        for claim, verdict in pairs:
            claim, _, of = claim.partition(": ")
            judged.append({"id": claim, "subject": of, "verdict": verdict})
        metadata = {"findings": judged}
        output = nbformat.v4.new_output(
            "display_data", {"text/plain": "-"}, metadata=metadata
        )
        cell = nbformat.v4.new_code_cell("run.findings(rows)", outputs=[output])
        text = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
        store.write_text(folder / "notebooks" / f"{name}.ipynb", text)
    return folder


@pytest.fixture
def folders(tmp_path):
    """Seed 1 turns a claim over and leaves one undecided; seed 2 says the same in another order."""
    same = [(f"claim {i}", SUPPORTED) for i in range(6)]
    first = [
        *same,
        ("sky", SUPPORTED),
        ("road", NOT_SUPPORTED),
        ("twice: a", SUPPORTED),
        ("twice: b", NOT_SUPPORTED),
    ]
    other = [
        ("road", SUPPORTED),
        ("sky", INCONCLUSIVE),
        *same,
        ("twice: a", SUPPORTED),
        ("twice: b", NOT_SUPPORTED),
    ]
    return {
        0: written(tmp_path / "0", a=first, b=[("sky", NOT_SUPPORTED)]),
        1: written(tmp_path / "1", a=other, b=[("sky", NOT_SUPPORTED)]),
        2: written(
            tmp_path / "2",
            b=[("sky", NOT_SUPPORTED)],
            a=first[:6] + first[:5:-1][2:] + first[8:],
        ),
    }


def test_claims_are_matched_and_differences_counted(folders):
    for seed, folder in folders.items():
        seeds.record(folder, ["a", "b"], seed)
    table = seeds.verdicts(["a", "b"], [0, 1, 2])
    assert table.loc[("a", "road", "")].tolist() == [
        NOT_SUPPORTED,
        SUPPORTED,
        NOT_SUPPORTED,
    ]
    assert table.loc[("b", "sky", "")].tolist() == [NOT_SUPPORTED] * 3
    assert [table.loc[("a", "twice", of)].tolist() for of in "ab"] == [
        [SUPPORTED] * 3,
        [NOT_SUPPORTED] * 3,
    ]
    counts = seeds.summary(table)
    assert counts.loc["a"].tolist() == [10, 8, 2, 1], (
        "road is turned over, sky is left open"
    )
    assert counts.loc["all"].tolist() == [11, 9, 2, 1]
    assert seeds.summary(table[[0, 2]]).loc["all"].tolist() == [11, 11, 0, 0]


@pytest.mark.parametrize(
    ("verdict", "number", "fine"),
    [
        (INCONCLUSIVE, 20, True),
        (INCONCLUSIVE, 2, True),
        (NOT_SUPPORTED, 40, False),
        (None, 20, True),
    ],
)
def test_verdicts_may_differ_and_none_may_turn(
    tmp_path, monkeypatch, capsys, verdict, number, fine
):
    [lesson, other], asked = LESSONS, []
    same = [(f"claim {i}", SUPPORTED) for i in range(number - 1)]
    changed = [("sky", verdict)] if verdict else []
    runs = {
        0: written(tmp_path / "0", **{lesson: [*same, ("sky", SUPPORTED)]}),
        1: written(tmp_path / "1", **{lesson: same + changed}),
    }
    monkeypatch.setattr(
        seeds, "run", lambda names, seed, _: asked.append((names, seed)) or runs[seed]
    )
    monkeypatch.setattr("sys.argv", ["seeds", "--lessons", "03", "--seeds", "0", "1"])
    for _ in range(2):  # what is recorded is not run again
        with (
            nullcontext()
            if fine
            else pytest.raises(SystemExit, match="turned over by another")
        ):
            seeds.main()
        assert asked == [([lesson], 0), ([lesson], 1)]
        assert "sky" in capsys.readouterr().out
    counts = seeds.summary(seeds.verdicts([lesson], [0, 1]))
    assert counts.loc["all", "differ"] == 1, "a claim that is not made differs as well"
    assert seeds.missing([lesson, other], 1) == [other]


def test_a_new_seed_is_set_beside_the_recorded_ones_and_not_judged(
    folders, monkeypatch, capsys
):
    lesson = LESSONS[0]
    renamed = {seed: f / "notebooks/a.ipynb" for seed, f in folders.items()}
    for file in renamed.values():
        file.rename(file.with_stem(lesson))
    for seed in (0, 2):
        seeds.record(folders[seed], [lesson], seed)
    before, places = seeds.SEEDS.read_text(), []
    monkeypatch.setattr(store, "outputs", lambda: folders[0] / "outputs")
    monkeypatch.setattr(seeds, "RECORDED", [0, 2])
    monkeypatch.setattr(
        seeds, "run", lambda names, seed, _: places.append(seed) or folders[1]
    )
    monkeypatch.setattr("sys.argv", ["seeds", "--lessons", "03", "--seeds", "0", "9"])
    seeds.main()
    seeds.main()  # what is there is not run again
    text = capsys.readouterr().out
    assert places == [9] and seeds.SEEDS.read_text() == before
    assert text.split("seed 9, beside")[-1].split()[-5:] == ["all", "10", "8", "2", "1"]


def test_what_was_recorded_by_other_code_is_run_again_and_replaced(
    folders, monkeypatch
):
    seeds.record(folders[0], ["a", "b"], 0)
    changed = lambda name: f"maker of {name}" + " now" * (name == "a")  # noqa: E731
    monkeypatch.setattr(recorded, "of_lesson", changed)
    assert seeds.missing(["a", "b"], 0) == ["a"] and seeds.missing(["a", "b"], 1) == [
        "a",
        "b",
    ]
    seeds.record(folders[1], ["a"], 0)
    assert seeds.missing(["a", "b"], 0) == []
    assert seeds.verdicts(["a"], [0]).loc[("a", "road", "")].item() == SUPPORTED
    assert len(seeds.read()) == 11, "each claim has one row a seed"


def test_a_run_without_findings_is_named(folders):
    written(folders[0], c=[])
    with pytest.raises(FileNotFoundError, match="0: c holds no findings"):
        seeds.record(folders[0], ["a", "c"], 3)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lessons_digest_holds_its_cells_its_modules_and_its_claims(
    lesson, tmp_path, monkeypatch
):
    monkeypatch.undo()
    before = recorded.of_lesson(lesson)
    (tmp_path / "notebooks").mkdir()
    notebook = nbformat.read(store.root() / f"notebooks/{lesson}.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell("more text"))
    exercise = next(c for c in notebook.cells if c.metadata.get("nbgrader"))
    exercise.source += "\nmore = 1"
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    nbformat.write(notebook, tmp_path / "notebooks" / f"{lesson}.ipynb")
    assert recorded.of_lesson(lesson) == before, "text and exercises decide nothing"
    notebook.cells.append(
        nbformat.v4.new_code_cell("from helpers.focus import painting")
    )
    nbformat.write(notebook, tmp_path / "notebooks" / f"{lesson}.ipynb")
    assert recorded.of_lesson(lesson) != before
    monkeypatch.undo()
    monkeypatch.setattr(recorded, "JUDGING", ["id"])
    assert recorded.of_lesson(lesson) != before
