"""Claims are judged by their own side and bound, and every one of the table can be."""

import json
import math
import re

import pandas as pd
import pytest
from helpers.suite.claims import judge

from helpers import recorded, store
from helpers.stats import Estimate
from helpers.suite import claims, notebooks, words
from sweeps import seeds

PAPERS = {"contexts", "focus", "icon2", "blocks", "suite"}


@pytest.fixture
def table(monkeypatch):
    """Claims of a made-up notebook: of a paper, of this suite, about two things, not measurable."""
    columns = [
        "notebook",
        "by",
        "section",
        "claim",
        "quantity",
        "side",
        "bound",
        "printed",
        "n",
    ]
    rows = {
        "more": (
            "00",
            "focus",
            "4",
            "More is better",
            "points",
            "above",
            0.5,
            "0.7",
            "20",
        ),
        "less": (
            "00",
            "suite",
            "",
            "{who} needs less",
            "s of {who}",
            "below",
            2,
            "",
            "",
        ),
        "same": ("00", "icon2", "1", "All nine fit", "rows", "equal", 9, "", ""),
        "people": ("00", "focus", "5", "People can see it", "", "", math.nan, "", ""),
        "other": ("99", "focus", "5", "Not of this notebook", "", "above", 0, "", ""),
    }
    made = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(
        "id"
    )
    made = made.assign(same="yes", otherwise=["", "", "", "needs people", ""])
    made = made.assign(cannot_fail="", own_data=["focus", "", "printed", "", ""])
    monkeypatch.setattr(claims, "read", lambda: made)
    return made


@pytest.mark.parametrize(
    ("interval", "p", "verdict"),
    [
        ((0.7, 0.6, 0.8), None, claims.AGREES),
        ((0.4, 0.3, 0.5), None, claims.DIFFERS),
        ((0.6, 0.4, 0.8), None, claims.UNDECIDED),
        ((0.6, 0.4, 0.8), 0.05, claims.AGREES),
        ((0.4, 0.3, 0.45), 0.06, claims.UNDECIDED),
        ((0.4, 0.3, 0.8), 0.01, claims.DIFFERS),
        ((math.nan, 0, 1), None, claims.NO_COUNTERPART),
        (None, None, claims.NO_COUNTERPART),
    ],
)
def test_the_interval_or_the_p_value_decides(table, interval, p, verdict):
    rows = judge("00_any", [Estimate("more", interval, p=p)])
    assert rows["verdict"][0] == verdict and "less" not in set(rows["id"]), (
        "it is not measured"
    )
    by = "right where it is: above 0.5" + (f", p = {p:g}" if p else "")
    assert (by in words.page(rows)) == (verdict != claims.NO_COUNTERPART)


@pytest.mark.parametrize(
    ("name", "value", "data", "verdict"),
    [
        ("more", 0.4, ["printed", "world"], claims.DIFFERS),
        ("more", 0.4, ["printed", "focus"], claims.CONTRADICTS),
        ("more", 0.6, ["printed", "focus"], claims.AGREES),
        ("same", 8, ["printed", "world"], claims.CONTRADICTS),
        ("less", 3, ["printed", "focus"], claims.FAILS),
    ],
)
def test_a_paper_is_contradicted_on_its_own_data_only(
    table, name, value, data, verdict
):
    rows = judge("00_any", [Estimate(name, (value,) * 3)], data=data).set_index("id")
    assert rows.loc[name, "verdict"] == verdict


@pytest.mark.parametrize(
    ("column", "value", "note"),
    [
        ("same", "no", "another quantity than the paper's; why"),
        ("cannot_fail", "it is a theorem", "it is a theorem; why"),
    ],
)
def test_what_is_another_quantity_or_cannot_fail_is_told(table, column, value, note):
    table[column] = table[column].mask(table.index == "more", value)
    for measured in (0.4, 0.6):
        rows = judge("00_any", [Estimate("more", (measured,) * 3, note="why")])
        assert rows["verdict"][0] == claims.TOLD and rows["note"][0] == note
        assert f"here: <strong>{measured}</strong>" in words.page(rows)
    assert judge("00_any", [])["verdict"][0] == claims.NO_COUNTERPART, (
        "nothing is there to tell"
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ((0.7, 0.6, 0.8), (0.9, 0.6, 1.0), claims.BLIND),
        ((0.7, 0.6, 0.8), (0.6, 0.4, 0.8), claims.AGREES),
        ((0.7, 0.6, 0.8), (math.nan,) * 3, claims.AGREES),
        ((0.6, 0.4, 0.8), (0.9, 0.6, 1.0), claims.UNDECIDED),
        ((0.4, 0.3, 0.5), (0.9, 0.6, 1.0), claims.DIFFERS),
    ],
)
def test_what_a_network_that_cannot_know_does_as_well_is_not_counted(
    table, ours, theirs, verdict
):
    rows = judge(
        "00_any", [Estimate("more", ours)], reference=[Estimate("more", theirs)]
    )
    assert rows["verdict"][0] == verdict and rows["reference"][0] == claims.interval(
        *theirs
    )
    who = [Estimate("less", (1, 0.5, 1.5), {"who": w}) for w in ("Ann", "Bob")]
    two = judge("00_any", who, reference=who[:1])["verdict"].tolist()
    assert two[1:3] == [claims.BLIND, claims.HOLDS], "a claim about somebody else"


def test_a_claim_of_the_suite_has_its_own_words_and_may_be_about_several_things(table):
    two = [Estimate("less", (1, 0.5, 1.5), {"who": w}) for w in ("Ann", "Bob")]
    rows = judge("00_any", [*two, Estimate("same", (9, 9, 9))])
    assert rows["claim"].tolist()[1:3] == ["Ann needs less", "Bob needs less"]
    assert rows["of"].tolist()[1:3] == ["Ann", "Bob"] and rows["unit"][1] == "s of Ann"
    assert rows["verdict"].tolist() == [
        claims.NO_COUNTERPART, claims.HOLDS, claims.HOLDS, claims.AGREES, claims.NO_COUNTERPART,
    ]  # fmt: skip
    lines = words.text(rows).replace("\xa0", " ").splitlines()
    assert lines[1] == "holds: Ann needs less: 1.00 [0.50, 1.50] s of Ann."
    assert lines[3:] == [
        "as in the paper: All nine fit: 9 rows.",
        "no counterpart: People can see it (needs people).",
    ]
    assert rows["paper"][0] == "0.7" and rows["cases"][0] == "20"
    assert claims.interval(0.004, -0.004, 0.008) == "0.004\xa0[-0.004,\xa00.01]"


def test_the_form_of_findings_has_no_code_names_and_no_numbers_that_are_none(table):
    table.loc["more", ["printed", "quantity"]] = "12", "points, the least of <all>"
    rows = judge("00_any", [Estimate("more", (0.75, 0.625, 0.875), p=0.01)])
    rows["seeds"] = ["7 of 8 seeds", "", ""]
    page = words.page(rows)
    assert "here: <strong>0.75\xa0[0.62,\xa00.88]</strong> points</div>" in page
    assert "in the paper: 12 of 20</div>" in page and "7 of 8 seeds" in page
    assert "measured: points, the least of &lt;all&gt;" in page.split("<details>")[1]
    assert page.index("as in the paper") < page.index("More is better")
    assert (
        not {"nan", "None", "NaN"} & {*re.findall(r"\w+", page)}
        and "<table" not in page
    )
    line = "as in the paper: More is better: 0.75 [0.62, 0.88] points; the paper: 12 of 20; 7 of 8"
    assert words.text(rows).replace("\xa0", " ").splitlines()[0] == f"{line} seeds."
    assert {*words.LOOKS} == {*claims.VERDICTS}


def test_a_verdict_is_counted_among_the_recorded_seeds(table, tmp_path, monkeypatch):
    rows = [
        f"00_any,{name},{who},{seed},{verdict},x"
        for name, who, verdicts in (
            ("more", "", ["as in the paper"] * 2 + ["undecided"]),
            ("less", "Ann", ["holds"] * 3),
            ("people", "", ["no counterpart"] * 3),
        )
        for seed, verdict in enumerate(verdicts)
    ]
    text = "\n".join(
        ["lesson,id,of,seed,verdict,made_by", *rows, "01_b,same,,9,undecided,x"]
    )
    (tmp_path / "seeds.csv").write_text(text)
    monkeypatch.setattr(recorded, "SEEDS", tmp_path / "seeds.csv")
    two = [Estimate("less", (1, 0.5, 1.5), {"who": w}) for w in ("Ann", "Bob")]
    made = judge(
        "00_any",
        [Estimate("more", (0.6, 0.55, 0.7)), *two, Estimate("same", (9, 9, 9))],
    )
    assert claims.in_seeds(made, "00_any") == [
        "2 of 3 seeds",
        "3 of 3 seeds",
        "",
        "",
        "",
    ]
    assert claims.in_seeds(made, "02_c") == [""] * 5


def test_a_claim_that_is_a_row_is_read_from_its_table(table, tmp_path, monkeypatch):
    rows = [
        "id,table,only,value,of",
        "more,shown,size == 3,gap,",
        "less,shown,,gap,who",
        "same,elsewhere,,gap,",
        "other,shown,,gap,",
    ]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    monkeypatch.setattr(claims, "ROWS", tmp_path / "rows.csv")
    people = pd.DataFrame({"who": ["Ann", "Bob", "Cy"], "size": [1, 2, 3]})
    people = people.assign(
        gap=[1.0, 3.0, 2.0], gap_low=0.5, high=4.0, p_holm=[0.1, 0.2, 0.3]
    )
    judged = judge(
        "00_any", [Estimate("same", (9, 9, 9))], {"shown": people, "more": people}
    )
    assert judged["id"].tolist() == ["more", *["less"] * 3, "same", "people"]
    ends = judged[["measured", "low", "high", "p"]].to_numpy().tolist()
    assert ends[:3] == [[2, 0.5, 4, 0.3], [1, 0.5, 4, 0.1], [3, 0.5, 4, 0.2]]
    assert judged["of"].tolist()[:4] == ["", "Ann", "Bob", "Cy"]


def test_rows_are_of_claims_and_of_tables_that_their_notebooks_show():
    for row in pd.read_csv(claims.ROWS).itertuples():
        [path] = store.root().glob(
            f"notebooks/{claims.read().loc[row.id, 'notebook']}_*.ipynb"
        )
        assert re.search(
            rf'run\.table\([^#]*\\"{row.table}[^#]*\\"\)', path.read_text()
        ), row


def test_many_claims_without_a_counterpart_for_one_reason_share_a_line():
    judged = judge("03_any", [])
    rows = words.folded(judged)
    assert len(judged) == 13 and len(rows) == 3, (
        "without contexts, other classes, not drawn"
    )
    assert rows[1]["claim"].startswith("11 claims of the paper, such as: By flips")


def test_an_unknown_claim_and_a_reversed_interval_are_refused(table):
    with pytest.raises(KeyError, match="no claim 'other' of notebook 00"):
        judge("00_any", [Estimate("other", (1, 1, 1))])
    with pytest.raises(ValueError, match="lower end 2"):
        judge("00_any", [Estimate("more", (1, 2, 0))])


def test_every_claim_of_the_table_can_be_judged():
    table = claims.read()
    assert table.index.is_unique and set(table["by"]) <= PAPERS
    assert set(table["side"]) <= {"above", "below", "equal", ""}
    measured = table["side"] != ""
    assert (table["bound"].notna() == measured).all() and table["same"].isin(
        ["yes", "no", ""]
    ).all()
    assert (table.loc[~measured, "otherwise"] != "").all(), (
        "a claim nobody can measure says why"
    )
    known = {"", "printed", "labels", "visual-contexts", "focus"}
    assert (
        set(table["own_data"]) <= known
        and not table.query("by == 'suite'")["own_data"].any()
    )
    assert (table["claim"] != "").all() and (
        table.loc[measured, "quantity"] != ""
    ).all()


@pytest.mark.parametrize(
    "table", sorted((store.root() / "data/exhibits").glob("*.csv"))
)
def test_every_exhibit_names_the_cell_that_computes_ours(table):
    """And each that the lesson lists is there."""
    rows = pd.read_csv(table, keep_default_na=False)
    words = "signed|differs here|not as in the paper|objection|no counterpart"
    assert rows["author"].str.match(words).all() and (rows != "").all(axis=None)
    for name, cells in rows.groupby("notebook")["cell"]:
        notebook = json.loads((store.root() / f"notebooks/{name}.ipynb").read_text())
        assert set(cells) <= {cell["id"] for cell in notebook["cells"]}, name
    listed = store.root() / f"data/paper/{table.stem}_counterparts.csv"
    wanted = set(pd.read_csv(listed)["exhibit"]) if listed.is_file() else set()
    assert {
        of for of in wanted if not rows["exhibit"].str.contains(rf"{of}\b").any()
    } == set()


def test_a_stored_lesson_that_judges_as_recorded_confirms_its_seeds(
    tmp_path, monkeypatch
):
    name, path = "01_datasets", tmp_path / "seeds.csv"
    stored = notebooks.findings([store.root() / f"notebooks/{name}.ipynb"])
    rows = pd.DataFrame({"lesson": name, "id": stored["id"], "of": stored["of"]})
    both = [
        rows.assign(seed=n, verdict=stored["verdict"], made_by="old") for n in (0, 1)
    ]
    table = pd.concat(both, ignore_index=True)
    monkeypatch.setattr(seeds, "SEEDS", path)
    table.assign(verdict=table["verdict"].mask(table.index == 0, "other")).to_csv(
        path, index=False
    )
    assert seeds.confirm([name], 0) == [] and set(seeds.read()["made_by"]) == {"old"}
    table.to_csv(path, index=False)
    assert seeds.missing([name], 1) == [name] == seeds.confirm([name], 0)
    assert seeds.missing([name], 1) == [] and seeds.read()["verdict"].equals(
        table["verdict"]
    )


def judged(verdict, seeds, **more):
    row = {
        "id": "sky",
        "of": "",
        "claim": "Sky is strong",
        "verdict": verdict,
        "seeds": seeds,
    }
    return pd.DataFrame([row | {"measured": 0.5, "low": 0.25, "high": 0.75} | more])


@pytest.mark.parametrize(
    ("verdict", "seeds", "shown", "said"),
    [
        (claims.HOLDS, "3 of 8 seeds", claims.UNDECIDED, "holds in 3 of 8 seeds"),
        (
            claims.AGREES,
            "1 of 8 seeds",
            claims.UNDECIDED,
            "as in the paper in 1 of 8 seeds",
        ),
        (
            claims.FAILS,
            "2 of 8 seeds",
            claims.UNDECIDED,
            "does not hold in 2 of 8 seeds",
        ),
        (claims.HOLDS, "4 of 8 seeds", claims.HOLDS, "4 of 8 seeds"),
        (claims.UNDECIDED, "1 of 8 seeds", claims.UNDECIDED, "1 of 8 seeds"),
        (claims.HOLDS, "", claims.HOLDS, ""),
    ],
)
def test_a_verdict_of_fewer_than_half_of_the_seeds_is_shown_as_undecided(
    verdict, seeds, shown, said
):
    row = claims.steady(judged(verdict, seeds)).iloc[0]
    assert (row["verdict"], row["seeds"]) == (shown, said)
