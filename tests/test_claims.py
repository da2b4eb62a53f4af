"""Claims are judged by their own side and bound, and every one of the table can be."""

import math

import pandas as pd
import pytest

from helpers.stats import Estimate
from helpers.suite import claims
from helpers.suite.claims import judge

PAPERS = {"contexts", "focus", "icon2", "blocks", "suite"}


@pytest.fixture
def table(monkeypatch):
    """Claims of a made-up notebook: of a paper, of this suite, about two things, not measurable."""
    columns = ["notebook", "by", "section", "claim", "quantity", "side", "bound", "printed", "n"]
    rows = {
        "more": ("00", "focus", "4", "More is better", "points", "above", 0.5, "0.7", "20"),
        "less": ("00", "suite", "", "{who} needs less", "s of {who}", "below", 2, "", ""),
        "same": ("00", "icon2", "1", "All nine fit", "rows", "equal", 9, "", ""),
        "people": ("00", "focus", "5", "People can see it", "", "", math.nan, "", ""),
        "other": ("99", "focus", "5", "Not of this notebook", "", "above", 0, "", ""),
    }
    made = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("id")
    made = made.assign(same="yes", otherwise=["", "", "", "needs people", ""])
    monkeypatch.setattr(claims, "read", lambda: made)
    return made


@pytest.mark.parametrize(
    ("interval", "p", "verdict"),
    [
        ((0.7, 0.6, 0.8), None, claims.AGREES),
        ((0.4, 0.3, 0.5), None, claims.CONTRADICTS),
        ((0.6, 0.4, 0.8), None, claims.UNDECIDED),
        ((0.6, 0.4, 0.8), 0.05, claims.AGREES),
        ((0.4, 0.3, 0.45), 0.06, claims.UNDECIDED),
        ((0.4, 0.3, 0.8), 0.01, claims.CONTRADICTS),
        ((math.nan, 0, 1), None, claims.NO_COUNTERPART),
        (None, None, claims.NO_COUNTERPART),
    ],
)
def test_the_interval_or_the_p_value_decides(table, interval, p, verdict):
    found = judge("00_any", [Estimate("more", interval, p=p)])
    assert found["verdict"][0] == verdict and "less" not in set(found["id"]), "it is not measured"
    by = "above 0.5" + (f", p = {p:g}" if p else "")
    assert claims.shown(found)["judged by"][0] == by or verdict == claims.NO_COUNTERPART


def test_a_claim_of_the_suite_has_its_own_words_and_may_be_about_several_things(table):
    two = [Estimate("less", (1, 0.5, 1.5), {"who": w}) for w in ("Ann", "Bob")]
    found = judge("00_any", [*two, Estimate("same", (9, 9, 9))])
    assert found["claim"].tolist()[1:3] == ["Ann needs less", "Bob needs less"]
    assert found["of"].tolist()[1:3] == ["Ann", "Bob"] and found["unit"][1] == "s of Ann"
    assert found["verdict"].tolist() == [
        claims.NO_COUNTERPART, claims.HOLDS, claims.HOLDS, claims.AGREES, claims.NO_COUNTERPART,
    ]  # fmt: skip
    shown = claims.shown(found)
    assert shown["judged by"].tolist() == ["", "below 2", "below 2", "equal to 9", "needs people"]
    assert shown["measured here"][1].replace("\xa0", " ") == "1.00 [0.50, 1.50] s of Ann"
    assert shown["paper"][0] == "0.7 (of 20)"


def test_many_claims_without_a_counterpart_for_one_reason_share_a_line():
    judged = judge("03_any", [])
    shown = claims.shown(judged)
    assert len(judged) == 12 and len(shown) == 2, "without contexts, and with other classes"
    assert shown["claim"][1].startswith("11 claims of the paper, such as: By flips")


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
    assert (table.loc[~measured, "otherwise"] != "").all(), "a claim nobody can measure says why"
    assert (table["claim"] != "").all() and (table.loc[measured, "quantity"] != "").all()
