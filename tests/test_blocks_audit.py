"""From files to counts and to a page: DuckDB against pandas, weights, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from helpers.blocks import audit, blocks, counts, report, tally

N = 600


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    said = {"race": rng.choice(list("abc"), N), "sex": rng.choice(["f", "m"], N)}
    columns = {"label": rng.choice(["yes", "no"], N), "score": rng.random(N).round(2)}
    columns |= {"place": rng.integers(0, 40, N), "id": np.arange(N)}
    found = pd.DataFrame(said | columns)
    better = (found["race"] == "a") & (rng.random(N) < 0.5)
    return found.assign(y_pred=((found["score"] > 0.6) | better).map({True: "yes", False: "no"}))


def page(path, **options):
    return audit.Audit(tally.of_file(path, **options), draws=99)


def test_files_folders_and_shards_count_as_pandas_does(rows, tmp_path):
    rows.to_csv(tmp_path / "all.csv", index=False)
    whole = tally.of_file(tmp_path / "all.csv")
    assert whole.sensitive_features == ["race", "sex", "place"]
    assert "column id holds 600 different values" in whole.notes[0]
    shards = tmp_path / "days"
    shards.mkdir()
    rows[:200].to_parquet(shards / "1.parquet")
    rows[200:][rows.columns[::-1]].to_parquet(shards / "2.parquet")  # columns in another order
    given = {"sensitive_features": ["race", "sex", "place"]}
    again = tally.of_file(shards, **given), tally.of_file(shards / "*.parquet")
    columns = {"y_pred": rows["y_pred"] == "yes", "y_true": rows["label"] == "yes"}
    expected = counts.table(rows[["race", "sex"]], **columns, intersect="all").frame()
    for found in (whole, *again):
        assert len(found) == N
        pd.testing.assert_frame_equal(found.table(["race", "sex"], "all").frame(), expected)
    for name in ("auc", "score", "calibration"):
        columns["y_score"] = rows["score"]
        assert blocks.bias(whole.table(["race"]), name) == pytest.approx(
            blocks.bias(counts.table(rows["race"], **columns), name)
        )


def test_every_gap_that_the_headline_counts_is_on_the_page():
    """Seven rates differ by group, and all are more than chance: more than the five widest."""
    cells = pd.DataFrame({"y_true": [1, 1, 0, 0] * 2, "y_pred": [1, 0, 1, 0] * 2})
    cells["group"] = np.repeat(["a", "b"], 4)
    said = cells.loc[cells.index.repeat([500, 100, 250, 700, 300, 300, 100, 1600])]
    found = audit.Audit(tally.of_file(said, sensitive_features=["group"]), draws=999)
    sure = found.gaps[found.gaps["told"] == "yes"]
    assert len(sure) > 5 and f"{len(sure)} of {len(found.gaps)} gaps" in found.html
    listed = found.html.split("The widest gaps</h2>")[1].split("</table>")[0]
    for row in sure.itertuples():
        assert f"<td>{audit.WORDS[row.measure]}</td>" in listed


def test_the_page_says_what_the_columns_give(rows, tmp_path):
    for columns, missing in (
        (["label"], "positive rate: it needs y_pred"),
        (["score"], "positive rate: it needs y_pred"),
        (["y_pred"], "accuracy: it needs y_pred and y_true|accuracy: it needs y_true"),
    ):
        rows[[*columns, "race", "sex"]].to_csv(tmp_path / "part.csv", index=False)
        found = page(tmp_path / "part.csv")
        assert len(found.gaps) == 2 and len(found.who) == 5
        assert any(sentence.startswith(missing.split("|")[-1]) for sentence in found.unsaid)
    rows.to_csv(tmp_path / "all.csv", index=False)
    found = page(tmp_path / "all.csv", strata=["place"], sensitive_features=["race", "sex"])
    top = found.gaps.iloc[0]
    assert (top["attribute"], top["p_holm"] <= 0.2) == ("race", True)
    assert found.fixed["measure"].tolist() == found.gaps["measure"].tolist()  # the same rows
    assert found.fixed.set_index("measure").loc["auc", "value"].isna().all()
    rates = rows.groupby("race")["y_pred"].apply(lambda said: (said == "yes").mean())
    assert found.ratios.loc[0, "value"] == pytest.approx(rates.min() / rates.max())
    assert found.ratios.loc[0, "verdict"] == "fails"
    text = found.html
    for heading in ("Who is in the table", "place held fixed", "cannot be said"):
        assert heading in text
    assert "<svg" in text and "http-equiv" not in text and "<script" not in text


@pytest.mark.parametrize(
    "given, message",
    [
        ({"sensitive_features": ["many"]}, "many has .* different values.* too many for groups"),
        ({"y_score": "logit"}, "logit: 3,000 values .* '3' in row 1; divide percentages by 100"),
        ({"sample_weight": "less"}, "less: 1 values are negative, the first is '-1' in row 6"),
        ({"sample_weight": "none"}, "none: all weights are 0"),
        ({"cluster": "none"}, "clusters has one value"),
    ],
)
def test_a_column_that_would_mislead_is_refused(given, message):
    n = 3000
    made = pd.DataFrame({"race": np.arange(n) % 2, "many": np.arange(n), "less": 1.0, "none": 0.0})
    made = made.assign(logit=3.0 * (-1) ** made["race"], y_pred=1 - made["race"])
    made.loc[5, "less"] = -1
    with pytest.raises(ValueError, match=message):
        tally.of_file(made, **({"sensitive_features": ["race"]} | given)).table()


@pytest.mark.parametrize(
    "texts, message",
    [
        ([""], "the file is empty"),
        (["y_pred,g\n"], "the table has no rows"),
        (
            ["y_pred,repaid,g\n0,1,a\n1,0,b\n"],
            "repaid holds 0, 1: is it y_true.*--map y_true=repaid",
        ),
        (["y_pred,g\n0,a\n", "y_pred,h\n1,b\n"], "2 files .*: 0.csv lacks h; 1.csv lacks g"),
    ],
)
def test_files_that_are_no_table_or_in_doubt_are_refused(texts, message, tmp_path):
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        tally.of_file(tmp_path)


def test_a_wide_gap_among_many_is_told_and_never_said_to_be_none(rows, monkeypatch):
    """With fewer shuffles than the correction needs, the page says so; else there are enough."""
    rng = np.random.default_rng(0)
    many = rows[["y_pred", "label"]].assign(**{n: rng.integers(0, 2, N) for n in "abcdef"})
    many["y_pred"] = np.where((many["a"] == 1) & (rng.random(N) < 0.6), "yes", many["y_pred"])
    counted = tally.of_file(many, sensitive_features=list("abcdef"))
    found = audit.Audit(counted, draws=99)
    assert found.gaps.loc[0, "told"] == "yes"
    assert len(found.gaps) / (found.gaps["shuffles"].min() + 1) < audit.LEVEL
    monkeypatch.setattr(audit, "A_GAP", 0)
    found = audit.Audit(counted, draws=99)
    assert found.gaps.loc[0, "told"] == "cannot"
    assert "cannot be told with 99 shuffles" in found.html and "none of" not in found.html


def test_several_classes_and_rows_without_values(tmp_path):
    said = pd.DataFrame({"y_pred": ["cat", "dog", "cow", None], "g": ["x", "x", "y", None]})
    pd.concat([said] * 10).to_csv(tmp_path / "c.csv", index=False)
    found = tally.of_file(tmp_path / "c.csv", positive="dog")
    assert found.table().frame()["fp"].tolist() == [10, 0, 10]
    assert found.notes[0] == "10 rows without a y_pred are left out."
    assert "Accuracy over all classes is not on this page" in found.notes[1]


@pytest.mark.parametrize(
    "write",
    [
        lambda rows: rows.replace({"yes": -1, "no": 1}),
        lambda rows: rows.replace({"yes": " YES", "no": "No "}),
        lambda rows: rows.replace({"yes": "f", "no": "t"}),
        lambda rows: rows.assign(**{"it's [1]": 1}),
    ],
)
def test_usual_ways_to_write_a_table_count_the_same(rows, write, tmp_path):
    """Labels in any of the usual pairs, odd names of files, an index, blanks and empty columns."""
    swapped = "f" in write(rows)["label"].unique() or -1 in write(rows)["label"].unique()
    expected = rows.replace({"yes": "no", "no": "yes"}) if swapped else rows
    by = {"sensitive_features": ["race"]}
    expected = tally.of_file(expected, **by).table().frame()
    path = tmp_path / "it's [1] *?.csv"
    for text in (write(rows).to_csv(), write(rows).to_csv(index=False).replace("\n", ",\n")):
        for comma in (",", " , "):
            path.write_text(text.replace(",", comma))
            pd.testing.assert_frame_equal(tally.of_file(path, **by).table().frame(), expected)


def test_a_value_that_fits_both_columns_needs_no_names(rows):
    kinds = np.array(["cat", "dog", "cow"])[rows["id"] % 3]
    table = rows.assign(label=kinds, y_pred=np.roll(kinds, 1))
    with pytest.raises(ValueError, match=r"such as --positive cat$"):
        tally.of_file(table)
    found = tally.of_file(table.rename(columns={"label": "outcome"}), positive="cat")
    assert found.roles["y_true"] == "outcome"
    assert "In outcome and y_pred, cat counts as 1 and all other values as 0." in found.notes[-1]


def test_weights_are_weights_and_copies_are_rows():
    rng = np.random.default_rng(1)
    by, p, y = rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    w = rng.choice([0.5, 1, 2], 300)
    plain, threes, weighted = (
        counts.table(by, y_pred=p, y_true=y, sample_weight=x) for x in (None, np.full(300, 3.0), w)
    )
    bare, same, found = (report.rates(data, "tpr") for data in (plain, threes, weighted))
    pd.testing.assert_frame_equal(bare, same)
    positive = y == 1
    means = [
        np.average(p[here], weights=w[here]) for here in (positive & (by == g) for g in range(3))
    ]
    assert found["value"].tolist() == pytest.approx(means)
    assert found["n"].tolist() == np.bincount(by[positive]).tolist()
    wider = (found["high"] - found["low"]) / (bare["high"] - bare["low"])
    assert wider.between(1, 1.5).all()
    five = {"y_pred": np.repeat(p, 5), "clusters": np.repeat(np.arange(300), 5)}
    copied = report.rates(counts.table(np.repeat(by, 5), **five))
    pd.testing.assert_frame_equal(copied.drop(columns="n"), report.rates(plain).drop(columns="n"))


def test_a_tally_counts_as_its_rows():
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"by": rng.integers(0, 2, 400), "y_true": rng.integers(0, 2, 400)})
    rows = rows.assign(y_score=rng.integers(0, 9, 400) / 10, clusters=rng.integers(0, 5, 400))
    held = rows.value_counts(sort=False).rename("times").reset_index()
    one, other = (counts.table(t["by"], **t.drop(columns="by")) for t in (rows, held))
    assert (one.counts == other.counts).all() and one.kinds.equals(other.kinds)
    assert other.rows["times"].sum() == len(one.rows)


def test_scores_in_steps_miss_auc_by_no_more_than_is_said(rows, monkeypatch):
    exact = tally.of_file(rows, sensitive_features=["race"]).table()
    monkeypatch.setattr(tally, "LARGE", 0)
    for steps in (3, 10, 50):
        monkeypatch.setattr(tally, "STEPS", steps)
        rough = tally.of_file(rows, sensitive_features=["race"]).table()
        true, found = (blocks.auc(data.kinds, data.mass()) for data in (exact, rough))
        bound = blocks.auc_error(rough)
        assert (np.abs(true - found) <= bound + 1e-12).all()
        assert bound.max() < 1 / steps
