"""Verdicts under several seeds are matched by claim, and counted right."""

from contextlib import nullcontext

import nbformat
import pytest

from helpers import store
from helpers.suite import claims
from sweeps import seeds

HOLDS, FAILS, UNDECIDED = claims.HOLDS, claims.FAILS, claims.UNDECIDED


def written(folder, **executed):
    """Executed notebooks of a run: name to pairs of id (and what it is about) and verdict."""
    for name, pairs in executed.items():
        judged = []
        for claim, verdict in pairs:
            claim, _, of = claim.partition(": ")
            judged.append({"id": claim, "of": of, "verdict": verdict})
        metadata = {"findings": judged}
        output = nbformat.v4.new_output("display_data", {"text/plain": "-"}, metadata=metadata)
        cell = nbformat.v4.new_code_cell("run.findings(rows)", outputs=[output])
        text = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
        store.write_text(folder / "notebooks" / f"{name}.ipynb", text)
    return folder


@pytest.fixture
def folders(tmp_path):
    """Seed 1 turns a claim over and leaves one undecided; seed 2 says the same in another order."""
    same = [(f"claim {i}", HOLDS) for i in range(6)]
    first = [*same, ("sky", HOLDS), ("road", FAILS), ("twice: a", HOLDS), ("twice: b", FAILS)]
    other = [("road", HOLDS), ("sky", UNDECIDED), *same, ("twice: a", HOLDS), ("twice: b", FAILS)]
    return {
        0: written(tmp_path / "0", a=first, b=[("sky", FAILS)]),
        1: written(tmp_path / "1", a=other, b=[("sky", FAILS)]),
        2: written(tmp_path / "2", b=[("sky", FAILS)], a=first[:6] + first[:5:-1][2:] + first[8:]),
    }


def test_claims_are_matched_and_differences_counted(folders):
    table = seeds.verdicts(folders)
    assert table.loc[("a", "road", "")].tolist() == [FAILS, HOLDS, FAILS]
    assert table.loc[("b", "sky", "")].tolist() == [FAILS] * 3
    assert [table.loc[("a", "twice", of)].tolist() for of in "ab"] == [[HOLDS] * 3, [FAILS] * 3]
    comparison = seeds.compared(table).set_index("seed")
    assert comparison.loc[1, ["claims", "contradictions", "differ"]].tolist() == [11, 1, 2]
    assert comparison.loc[1, "share"] == pytest.approx(2 / 11)
    assert comparison.loc[2, ["contradictions", "differ"]].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("verdict", "claims", "fine"),
    [(UNDECIDED, 20, True), (UNDECIDED, 19, False), (FAILS, 40, False), (None, 20, True)],
)
def test_one_in_twenty_may_differ_and_none_may_turn(
    tmp_path, monkeypatch, capsys, verdict, claims, fine
):
    same = [(f"claim {i}", HOLDS) for i in range(claims - 1)]
    changed = [("sky", verdict)] if verdict else []
    runs = {
        0: written(tmp_path / "0", a=[*same, ("sky", HOLDS)]),
        1: written(tmp_path / "1", a=same + changed),
    }
    comparison = seeds.compared(seeds.verdicts(runs))
    assert comparison["differ"].item() == 1, "a claim that is not made differs as well"
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setattr(seeds, "run", lambda seed, cores: runs[seed])
    monkeypatch.setattr("sys.argv", ["seeds", "--seeds", "0", "1"])
    with nullcontext() if fine else pytest.raises(SystemExit, match="do not survive another seed"):
        seeds.main()
    lines = (tmp_path / "outputs" / "seeds" / "verdicts.csv").read_text().splitlines()
    assert lines[0] == "notebook,id,of,0,1" and len(lines) == 2
    assert "sky" in capsys.readouterr().out


def test_a_run_without_findings_is_named(folders, tmp_path):
    with pytest.raises(
        FileNotFoundError, match="none holds no findings: run the suite with seed 3"
    ):
        seeds.verdicts({**folders, 3: tmp_path / "none"})
