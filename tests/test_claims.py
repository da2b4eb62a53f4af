"""Claims: how an estimate becomes a verdict, and how judged claims are shown."""

import math
import re

import pandas as pd
import pytest

from helpers import claims, store
from helpers.claims import judge
from helpers.stats import Estimate

RIGHT, WRONG, UNCLEAR = (0.7, 0.6, 0.8), (0.4, 0.3, 0.5), (0.6, 0.4, 0.8)
UNKNOWN = (math.nan, 0, 1)


@pytest.fixture
def table(monkeypatch):
    """Replace the claims by one of a paper, one of this suite, and two others."""
    columns = ["id", "notebook", "by", "claim", "quantity", "side", "bound", "own_data"]
    rows = [
        ("more", "00", "focus", "More is better", "points", "above", 0.5, "focus"),
        ("less", "00", "suite", "{who} needs less", "s of {who}", "below", 2, ""),
        ("same", "00", "icon2", "All nine fit", "rows", "equal", 9, "printed"),
        ("people", "00", "focus", "People see it", "", "", math.nan, ""),
        ("other", "99", "focus", "Another lesson", "", "above", 0, ""),
    ]
    table = pd.DataFrame(rows, columns=columns).set_index("id")
    empty = ("section", "printed", "n", "same", "cannot_fail", "otherwise", "main")
    for column in empty:
        table[column] = ""
    table.loc["more", ["section", "printed", "n"]] = ["4", "12", "20"]
    table.loc["people", "otherwise"] = "needs people"
    monkeypatch.setattr(claims, "read", lambda: table)
    return table


def verdict_of_more(interval, **options):
    """Judge the claim `more` by an interval."""
    p = options.pop("p", None)
    estimate = Estimate("more", interval, p=p)
    judged = judge("00_any", [estimate], **options)
    return judged.set_index("id").loc["more", "verdict"]


@pytest.mark.parametrize(
    ("interval", "p", "verdict"),
    [
        (RIGHT, None, claims.REPLICATED),
        (WRONG, None, claims.NOT_REPLICATED),
        (UNCLEAR, None, claims.INCONCLUSIVE),
        (UNCLEAR, 0.05, claims.REPLICATED),
        (WRONG, 0.06, claims.INCONCLUSIVE),
        (UNKNOWN, None, claims.NOT_TESTABLE),
        (None, None, claims.NOT_TESTABLE),
    ],
)
def test_the_interval_or_an_adjusted_p_value_decides(table, interval, p, verdict):
    assert verdict_of_more(interval, p=p) == verdict


@pytest.mark.parametrize(
    ("control", "verdict"),
    [
        (RIGHT, claims.NOT_SPECIFIC),
        (UNCLEAR, claims.REPLICATED),
        (UNKNOWN, claims.REPLICATED),
    ],
)
def test_what_the_control_model_shows_as_well_is_not_specific(table, control, verdict):
    assert verdict_of_more(RIGHT, control=[Estimate("more", control)]) == verdict


def test_a_paper_is_contradicted_only_on_its_own_data(table):
    assert verdict_of_more(WRONG, data=["focus"]) == claims.CONTRADICTS
    assert verdict_of_more(WRONG, data=["printed"]) == claims.NOT_REPLICATED
    assert verdict_of_more(RIGHT, data=["focus"]) == claims.REPLICATED


@pytest.mark.parametrize(
    ("column", "value"), [("same", "no"), ("cannot_fail", "it is a theorem")]
)
def test_another_quantity_and_a_claim_that_cannot_fail_are_only_reported(
    table, column, value
):
    table.loc["more", column] = value
    assert verdict_of_more(RIGHT) == claims.REPORTED_ONLY
    assert verdict_of_more(WRONG) == claims.REPORTED_ONLY
    assert verdict_of_more(None) == claims.NOT_TESTABLE


def test_claims_of_this_suite_have_their_own_verdicts_and_may_have_subjects(table):
    estimates = [
        Estimate("less", (1, 0.5, 1.5), {"who": "Ann"}),
        Estimate("less", (3, 2.5, 3.5), {"who": "Bob"}),
    ]
    judged = judge("00_any", estimates).query("id == 'less'")
    assert judged["subject"].tolist() == ["Ann", "Bob"]
    assert judged["claim"].tolist() == ["Ann needs less", "Bob needs less"]
    assert judged["unit"].tolist() == ["s of Ann", "s of Bob"]
    assert judged["source"].unique().tolist() == ["this suite"]
    verdicts = [claims.SUPPORTED, claims.NOT_SUPPORTED]
    assert judged["verdict"].tolist() == verdicts


def test_claims_without_an_estimate_are_listed_if_a_paper_makes_them(table):
    judged = judge("00_any", []).set_index("id")
    assert list(judged.index) == ["more", "same", "people"]
    assert judged.loc["people", "note"] == "needs people"


def test_an_estimate_can_be_a_row_of_a_table(table, tmp_path, monkeypatch):
    places = "id,table,only,value,of\nmore,shown,size == 3,gap,\nless,shown,,gap,who\n"
    (tmp_path / "rows.csv").write_text(places)
    monkeypatch.setattr(claims, "ROWS", tmp_path / "rows.csv")
    shown = pd.DataFrame({"who": ["Ann", "Bob"], "size": [1, 3], "gap": [1.0, 2.0]})
    shown = shown.assign(gap_low=0.5, high=4.0, p_holm=[0.1, 0.2])
    judged = judge("00_any", [], {"shown": shown, "shown-reference": shown})
    numbers = judged[["subject", "estimate", "ci_low", "ci_high", "p"]]
    assert numbers.iloc[:3].to_numpy().tolist() == [
        ["", 2.0, 0.5, 4.0, 0.2],
        ["Ann", 1.0, 0.5, 4.0, 0.1],
        ["Bob", 2.0, 0.5, 4.0, 0.2],
    ]
    assert judged["control"].iloc[1] == "1.00\xa0[0.50,\xa04.00]"


def test_an_unknown_claim_and_a_reversed_interval_are_refused(table):
    with pytest.raises(KeyError, match="no claim 'other' of notebook 00"):
        judge("00_any", [Estimate("other", (1, 1, 1))])
    with pytest.raises(ValueError, match="the lower end 2"):
        judge("00_any", [Estimate("more", (1, 2, 0))])


def test_the_text_has_the_verdict_the_claim_and_both_numbers(table):
    more = Estimate("more", RIGHT)
    same = Estimate("same", (9, 9, 9))
    judged = judge("00_any", [more, same])
    judged["seeds"] = ["7 of 8 seeds", "", ""]
    assert claims.as_text(judged).replace("\xa0", " ").splitlines() == [
        "replicated: More is better: 0.70 [0.60, 0.80] points; the paper: 12 of 20; "
        "7 of 8 seeds.",
        "replicated: All nine fit: 9 rows.",
        "not testable here: People see it (needs people).",
    ]


def test_the_html_escapes_texts_and_shows_no_missing_numbers(table):
    table.loc["more", "quantity"] = "points, the least of <all>"
    page = claims.as_html(judge("00_any", [Estimate("more", RIGHT, p=0.01)]))
    assert "here: <strong>0.70\xa0[0.60,\xa00.80]</strong> points</div>" in page
    assert "in the paper: 12 of 20" in page
    assert "estimated quantity: points, the least of &lt;all&gt;" in page
    assert "the claim is true if it is: above 0.5 (adjusted p = 0.01)" in page
    assert not {"nan", "None"} & set(re.findall(r"\w+", page))
    assert set(claims.LOOKS) == set(claims.VERDICTS)


def test_the_html_shows_main_claims_first_and_folds_the_others(table):
    table.loc["same", "main"] = "yes"
    page = claims.as_html(
        judge("00_any", [Estimate("more", RIGHT), Estimate("same", (9, 9, 9))])
    )
    in_view, _, folded = page.partition("<details><summary>2 more claims</summary>")
    assert "All nine fit" in in_view
    assert "All nine fit" not in folded
    assert "More is better" not in in_view
    assert "More is better" in folded
    assert "People see it" in folded
    assert page.count("<details>") == page.count("</details>")


@pytest.mark.parametrize("main", [[], ["people"], ["more", "same", "people"]], ids=len)
def test_the_html_folds_nothing_without_a_tested_main_claim_or_another_claim(
    table, main
):
    table.loc[main, "main"] = "yes"
    page = claims.as_html(judge("00_any", [Estimate("more", RIGHT)]))
    assert "more claim" not in page
    for text in ("More is better", "All nine fit", "People see it"):
        assert text in page


def test_many_claims_that_are_not_testable_for_one_reason_share_a_line():
    judged = judge("03_any", [])
    lines = claims.as_text(judged).splitlines()
    assert len(judged) == 13
    assert len(lines) == 3
    assert "11 claims of the paper, such as: By flips" in lines[1]


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((0.5, 0.25, 0.75), "0.50 [0.25, 0.75]"),
        ((0.004, -0.004, 0.008), "0.004 [-0.004, 0.01]"),
        ((9, 9, 9), "9"),
        ((0.5, math.nan, math.nan), "0.50"),
        ((math.nan,) * 3, "–"),
    ],
)
def test_intervals_are_written_so_that_their_sign_shows(interval, text):
    assert claims.format_interval(*interval).replace("\xa0", " ") == text


@pytest.fixture
def recorded_seeds(tmp_path, monkeypatch):
    """Record the verdicts of three seeds."""
    rows = ["lesson,id,of,seed,verdict"]
    for seed, verdict in enumerate(["replicated", "replicated", "inconclusive"]):
        rows.append(f"00_any,more,,{seed},{verdict}")
        rows.append(f"00_any,people,,{seed},not testable here")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "seeds.csv").write_text("\n".join(rows))
    monkeypatch.setattr(store, "root", lambda: tmp_path)


def test_seeds_with_the_same_verdict_are_counted(table, recorded_seeds):
    more = Estimate("more", RIGHT)
    same = Estimate("same", (9, 9, 9))
    judged = judge("00_any", [more, same])
    assert claims.count_seeds(judged, "00_any") == ["2 of 3 seeds", "", ""]
    assert claims.count_seeds(judged, "02_other") == ["", "", ""]


def test_every_claim_of_the_table_can_be_judged():
    table = claims.read()
    measured = table["side"] != ""
    assert table.index.is_unique
    assert set(table["by"]) == {"contexts", "focus", "icon2", "blocks", "suite"}
    assert set(table["side"]) <= {"above", "below", "equal", ""}
    assert (table["bound"].notna() == measured).all()
    assert set(table["same"]) <= {"yes", "no", ""}
    assert set(table["main"]) <= {"yes", ""}
    main_claims = table[table["main"] == "yes"]
    assert main_claims.groupby("notebook").size().max() <= 5
    assert (main_claims["side"] != "").all()
    assert (table.loc[~measured, "otherwise"] != "").all()
    assert (table.loc[measured, "quantity"] != "").all()
    own_data = {"", "printed", "labels", "visual-contexts", "focus"}
    assert set(table["own_data"]) <= own_data
    assert not table.query("by == 'suite'")["own_data"].any()


def test_claims_that_are_rows_name_a_table_that_their_lesson_shows():
    for row in pd.read_csv(claims.ROWS).itertuples():
        chapter = claims.read().loc[row.id, "notebook"]
        [path] = store.root().glob(f"notebooks/{chapter}_*.ipynb")
        shown = rf'run\.table\([^#]*\\"{row.table}[^#]*\\"\)'
        assert re.search(shown, path.read_text()), row
