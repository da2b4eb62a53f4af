"""From files to counts and to a page: counts against pandas, weights, and what is refused."""

import json
import subprocess
import tempfile

import loans
import numpy as np
import pandas as pd
import papermill
import pytest

from helpers import store
from helpers.audit import form, groups, largest_gaps, page, tally
from helpers.blocks import blocks, counts, curves, report

N = 600


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    by = {"race": rng.choice(list("abc"), N), "sex": rng.choice(["f", "m"], N)}
    columns = {"label": rng.choice(["yes", "no"], N), "score": rng.random(N).round(2)}
    columns |= {"place": rng.integers(0, 20, N), "id": np.arange(N)}
    table = pd.DataFrame(by | columns)
    better = (table["race"] == "a") & (rng.random(N) < 0.5)
    return table.assign(
        y_pred=((table["score"] > 0.6) | better).map({True: "yes", False: "no"})
    )


def of_rows(rows, **options):
    """What is counted of a table that lies in a file."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        rows.to_parquet(file.name, index=False)
        return tally.of_file(file.name, **options)


def audited(path, **options):
    return page.Audit(tally.of_file(path, **options), draws=99)


def test_files_folders_and_shards_count_as_pandas_does(rows, tmp_path):
    rows.to_csv(tmp_path / "all.csv", index=False)
    whole = tally.of_file(tmp_path / "all.csv")
    assert whole.sensitive_features == ["race", "sex", "place"]
    assert "id (about" in whole.notes[0]
    shards = tmp_path / "days"
    shards.mkdir()
    rows[:200].to_parquet(shards / "1.parquet")
    rows[200:][rows.columns[::-1]].to_parquet(
        shards / "2.parquet"
    )  # columns in another order
    by = {"sensitive_features": ["race", "sex", "place"]}
    again = tally.of_file(shards, **by), tally.of_file(shards / "*.parquet")
    columns = {"y_pred": rows["y_pred"] == "yes", "y_true": rows["label"] == "yes"}
    expected = counts.table(rows[["race", "sex"]], **columns, intersect="all").frame()
    for one in (whole, *again):
        assert len(one) == N
        pd.testing.assert_frame_equal(
            one.table(["race", "sex"], "all").frame(), expected
        )
    for name in ("auc", "score", "calibration"):
        columns["y_score"] = rows["score"]
        assert blocks.bias(whole.table(["race"]), name) == pytest.approx(
            blocks.bias(counts.table(rows["race"], **columns), name)
        )


def test_the_page_says_what_the_columns_give(rows, tmp_path):
    for columns, missing in (
        (["label"], "positive rate: it needs y_pred"),
        (["score"], "positive rate: it needs y_pred"),
        (["y_pred"], "accuracy: it needs y_pred and y_true|accuracy: it needs y_true"),
    ):
        rows[[*columns, "race", "sex"]].to_csv(tmp_path / "part.csv", index=False)
        audit = audited(tmp_path / "part.csv")
        assert len(audit.gaps) == 2 and len(audit.who) == 5
        assert any(
            sentence.startswith(missing.split("|")[-1]) for sentence in audit.unsaid
        )
    rows.to_csv(tmp_path / "all.csv", index=False)
    audit = audited(
        tmp_path / "all.csv", strata=["place"], sensitive_features=["race", "sex"]
    )
    top = audit.gaps.iloc[0]
    assert (top["attribute"], top["p"] <= 0.2) == ("race", True)
    assert (
        audit.fixed["measure"].tolist() == audit.gaps["measure"].tolist()
    )  # the same rows
    assert audit.fixed.set_index("measure").loc["auc", "value"].isna().all()
    rates = rows.groupby("race")["y_pred"].apply(lambda y: (y == "yes").mean())
    assert audit.ratios.loc[0, "value"] == pytest.approx(rates.min() / rates.max())
    assert audit.ratios.loc[0, "verdict"] == "fails"
    row = audit.fixed.set_index(["measure", "attribute"]).loc[("pr", "race")]
    assert row["before"] == pytest.approx(
        abs(rates[row["group_i"]] - rates[row["group_j"]])
    )
    assert "aequitas" in " ".join(audit.unsaid)


def test_a_wide_gap_among_many_is_told_and_never_said_to_be_none(rows, monkeypatch):
    """With fewer permutations than the adjustment needs, the report says so; else there are enough."""
    rng = np.random.default_rng(0)
    many = rows[["y_pred", "label"]].assign(
        **{n: rng.integers(0, 2, N) for n in "abcdef"}
    )
    many["y_pred"] = np.where(
        (many["a"] == 1) & (rng.random(N) < 0.6), "yes", many["y_pred"]
    )
    counted = of_rows(many, sensitive_features=list("abcdef"))
    audit = page.Audit(counted, draws=99)
    assert audit.gaps.loc[0, "significant"] == "yes"
    assert audit.gaps.loc[0, "p"] < largest_gaps.LEVEL and audit.shuffles >= 40 * len(
        audit.gaps
    )
    monkeypatch.setattr(largest_gaps, "A_GAP", 0)
    audit = page.Audit(counted, draws=99)
    assert audit.gaps.loc[0, "significant"] == "cannot"
    assert "99 permutations" in " ".join(audit.unsaid)


def test_several_classes_and_rows_without_values(tmp_path):
    four = pd.DataFrame(
        {"y_pred": ["cat", "dog", "cow", None], "g": ["x", "x", "y", None]}
    )
    pd.concat([four] * 10).to_csv(tmp_path / "c.csv", index=False)
    count = tally.of_file(tmp_path / "c.csv", positive="dog")
    assert count.table().frame()["fp"].tolist() == [10, 0, 10]
    assert count.notes[0] == "10 rows without a y_pred are left out."
    assert "Accuracy over all classes is not on this page" in count.notes[1]


def test_a_value_that_fits_both_columns_needs_no_names(rows):
    kinds = np.array(["cat", "dog", "cow"])[rows["id"] % 3]
    table = rows.assign(label=kinds, y_pred=np.roll(kinds, 1))
    with pytest.raises(ValueError, match=r"such as positive cat$"):
        of_rows(table)
    count = of_rows(table.rename(columns={"label": "outcome"}), positive="cat")
    assert count.roles["y_true"] == "outcome"
    told = (
        "In outcome and y_pred, cat counts as 1 and all other values (cow, dog) as 0."
    )
    assert told in count.notes[-1]


def test_weights_are_weights_copies_are_rows_and_tallies_count_as_their_rows():
    rng = np.random.default_rng(1)
    by, p, y = rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    w = rng.choice([0.5, 1, 2], 300)
    plain, threes, weighted = (
        counts.table(by, y_pred=p, y_true=y, sample_weight=x)
        for x in (None, np.full(300, 3.0), w)
    )
    bare, same, heavy = (
        report.rates(data, "tpr") for data in (plain, threes, weighted)
    )
    pd.testing.assert_frame_equal(bare, same)
    positive = y == 1
    means = [
        np.average(p[here], weights=w[here])
        for here in (positive & (by == g) for g in range(3))
    ]
    assert heavy["value"].tolist() == pytest.approx(means)
    assert heavy["n"].tolist() == np.bincount(by[positive]).tolist()
    wider = (heavy["high"] - heavy["low"]) / (bare["high"] - bare["low"])
    assert wider.between(1, 1.5).all()
    five = {"y_pred": np.repeat(p, 5), "clusters": np.repeat(np.arange(300), 5)}
    copied = report.rates(counts.table(np.repeat(by, 5), **five))
    pd.testing.assert_frame_equal(
        copied.drop(columns="n"), report.rates(plain).drop(columns="n")
    )
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        {"by": rng.integers(0, 2, 400), "y_true": rng.integers(0, 2, 400)}
    )
    rows = rows.assign(
        y_score=rng.integers(0, 9, 400) / 10, clusters=rng.integers(0, 5, 400)
    )
    held = rows.value_counts(sort=False).rename("times").reset_index()
    one, other = (counts.table(t["by"], **t.drop(columns="by")) for t in (rows, held))
    assert (one.counts == other.counts).all() and one.kinds.equals(other.kinds)
    assert other.rows["times"].sum() == len(one.rows)


def test_scores_in_steps_miss_auc_by_no_more_than_is_said(rows, monkeypatch):
    exact = of_rows(rows, sensitive_features=["race"]).table()
    monkeypatch.setattr(tally, "LARGE", 0)
    for steps in (3, 10, 50):
        monkeypatch.setattr(tally, "STEPS", steps)
        rough = of_rows(rows, sensitive_features=["race"]).table()
        true, ours = (curves.auc(data.kinds, data.mass()) for data in (exact, rough))
        bound = blocks.auc_error(rough)
        assert (np.abs(true - ours) <= bound + 1e-12).all()
        assert bound.max() < 1 / steps


# --- what the folder gets, and what notebook 13 computes ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The audit of a table with hostile values."""
    place = tmp_path_factory.mktemp("audit")
    rng, patch = np.random.default_rng(0), pytest.MonkeyPatch()
    rows = pd.DataFrame(
        {"y_true": rng.integers(0, 2, N), "ticket": np.arange(N) + 70_000_000}
    )
    rows["g"] = np.array(["<script>alert(1)</script>", "=HYPERLINK(0)", "$x$"])[
        np.arange(N) % 3
    ]
    rows["y_pred"] = np.where(
        (rows["g"] == "$x$") & (rng.random(N) < 0.5), 0, rows["y_true"]
    )
    rows.to_csv(place / "t.csv", index=False)
    values = {"table": str(place / "t.csv"), "output": "audit"}
    notebook = store.root() / "notebooks/13_audit_your_table.ipynb"
    with patch.context() as here:
        here.setenv("SUITE_OUTPUTS", str(place))
        papermill.execute_notebook(
            notebook, place / "ran.ipynb", values, progress_bar=False
        )
    return place / "audit", (place / "audit/page.html").read_text()


@pytest.mark.slow
def test_values_are_escaped_defused_and_no_row_is_copied(folder):
    place, text = folder
    assert "<script" not in text and "&lt;script&gt;alert(1)" in text and "<svg" in text
    csvs = {path.name: path.read_text() for path in place.glob("*.csv")}
    assert {"gaps.csv", "by-group.csv", "power.csv", "against.csv"} <= csvs.keys()
    for name, its in csvs.items():
        cells = pd.read_csv(place / name, dtype=str).to_numpy().ravel()
        texts = [one for one in cells if isinstance(one, str) and one.startswith("=")]
        assert not texts and ("'=HYPERLINK" in its) == ("HYPERLINK" in its), name
    every = [p for p in place.rglob("*") if p.is_file()]
    assert len(every) > 9 and not any(
        b"70000123" in path.read_bytes() for path in every
    )


@pytest.mark.slow
def test_findings_have_their_schema(folder):
    place, text = folder
    record = json.loads((place / "findings.json").read_text())
    assert record["schema"] == form.SCHEMA and record["table"] == "t.csv"
    assert {"python", *form.LIBRARIES} == record["versions"].keys()
    assert record["command"] == f"make audit-table TABLE={place.parent / 't.csv'}"
    assert record["headline"][:20] in text
    for row in record["findings"]:
        assert [*row] == [*form.COLUMNS] and row[
            "verdict"
        ] in page.SIGNIFICANCE.values()
        assert row["low"] <= row["value"] <= row["high"]
        assert 0 < (row["p"] or 1) <= 1  # None where all shuffles are alike
    gaps = pd.read_csv(place / "gaps.csv")
    assert gaps["value"].tolist() == pytest.approx(
        [of["value"] for of in record["findings"]]
    )


def test_each_groups_numbers_are_fairlearns_and_its_calibration_is_pandas(rows):
    metrics = pytest.importorskip("fairlearn.metrics")
    table = groups.by_group(page.Audit(of_rows(rows), draws=99))
    of = {
        "pr": metrics.selection_rate,
        "tpr": metrics.true_positive_rate,
        "n": metrics.count,
    }
    of |= {"fpr": metrics.false_positive_rate}
    values = {"y_true": rows["label"] == "yes", "y_pred": rows["y_pred"] == "yes"}
    for name, mine in table.groupby("attribute"):
        by = rows[name].astype(str)
        frame = metrics.MetricFrame(metrics=of, sensitive_features=by, **values)
        ours = mine.set_index("group")[[*of]].astype(float)
        theirs = frame.by_group.loc[ours.index].astype(float)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    data = of_rows(rows, sensitive_features=["race"]).table()
    table = groups.calibration(data).set_index(["group", "bin"])
    bins = (rows["score"] * 10).clip(upper=9.999).astype(int)
    yes = (rows["label"] == "yes").groupby([rows["race"], bins]).mean()
    assert table["share"].to_numpy() == pytest.approx(yes.to_numpy())
    assert table["score"].to_numpy() == pytest.approx(
        rows["score"].groupby([rows["race"], bins]).mean().to_numpy()
    )


LOANS = {"roles": ["y_true=repaid"], "positive": "decision=approve,repaid=yes"}
LOANS |= {"groups": ["sex", "age"]}


def test_what_is_planted_in_the_sample_is_found_and_a_clean_one_is_silent(tmp_path):
    planted, clean = loans.loans(), loans.loans(planted=False)
    for name, rows in (("planted", planted), ("clean", clean)):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    stored = store.root() / "data/audit/loans.csv"
    assert (tmp_path / "planted.csv").read_bytes() == stored.read_bytes()
    audit = page.made(stored, **LOANS)
    sure = audit.gaps[audit.gaps["significant"] == "yes"]
    assert set(sure["attribute"]) == {"sex"} and sure["measure"].iloc[0] == "tpr"
    low, high = sure[["low", "high"]].iloc[0]
    assert (
        low < 0.15 + 0.1 * 0.2 < high
    )  # with the branches' part: a fifth more of women in north
    none = page.made(tmp_path / "clean.csv", **LOANS)
    assert (none.gaps["significant"] == "no").all()
    crossed = groups.intersections(none)
    assert (crossed["p"] > 0.05).all()
    told = groups.headline(none, crossed)
    assert (
        told.startswith("0 of 20 gaps between groups are significant.")
        and "gap of 5 points is" in told
    )


def test_a_gap_of_an_intersection_is_the_headline_and_a_small_group_hides_none():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 4000), "age": rng.choice(["o", "y"], 4000)}
    )
    hidden = (rows["sex"] == "f") != (
        rows["age"] == "o"
    )  # half of each sex and of each age
    rows["y_pred"] = (rng.random(4000) < np.where(hidden, 0.4, 0.6)).astype(int)
    audit = page.Audit(of_rows(rows))
    crossed = groups.intersections(audit)
    assert (audit.gaps["significant"] == "no").all() and (crossed["p"] < 0.05).all()
    first, told = crossed.iloc[0], groups.headline(audit, crossed)
    inside = (rows["sex"] + " & " + rows["age"]) == first["group"]
    apart = rows["y_pred"][inside].mean() - rows["y_pred"][~inside].mean()
    assert (
        first["difference"] == pytest.approx(apart)
        and first["low"] < apart < first["high"]
    )
    assert (
        first["group"] in told
        and f"{apart:.3f}" in told
        and f"n = {inside.sum():,}" in told
    )
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"g": np.repeat(["a", "b", "small"], [3000, 1000, 25])})
    rows["y_pred"] = rng.random(len(rows)) < rows["g"].map(
        {"a": 0.64, "b": 0.55, "small": 0.6}
    )
    gap = page.Audit(of_rows(rows.astype({"y_pred": int}))).gaps.iloc[0]
    assert {gap["group_i"], gap["group_j"]} == {"a", "b"} and gap[
        "significant"
    ] == "yes"
    assert gap["low"] > 0


def test_the_chance_of_any_false_finding_is_five_in_a_hundred():
    """Five measures of three pairs, noise of very different sizes, and one real gap."""
    rng, false, real = np.random.default_rng(0), 0, 0
    sizes = np.array([1, 0.1, 30])
    for _ in range(400):
        drawn = [rng.normal(size=(200, 3)) * sizes for _ in range(5)]
        drawn[0][0, 0] += 6
        p = largest_gaps.corrected(
            [largest_gaps.standard(one[0], one[1:]) for one in drawn]
        )
        false += min(p[0]["p"][1:].min(), *(one["p"].min() for one in p[1:])) <= 0.05
        real += p[0]["p"][0] <= 0.05
    assert 5 < false < 33 and real > 390  # 20 expected at most


def test_the_rest_is_all_other_rows_and_mover_is_newcombes(rows):
    from statsmodels.stats.proportion import confint_proportions_2indep

    table = groups.against(
        page.Audit(of_rows(rows, sensitive_features=["race"])), "rest"
    )
    for row in table[table["measure"] == "pr"].itertuples():
        yes, mine = rows["y_pred"] == "yes", rows["race"] == row.group
        parts = [of for part in (mine, ~mine) for of in (yes[part].sum(), part.sum())]
        ends = confint_proportions_2indep(*parts, compare="diff", method="newcomb")
        assert (row.low, row.high) == pytest.approx(ends)
        assert row.ratio == pytest.approx(yes[mine].mean() / yes[~mine].mean())
        assert row.ratio_low < row.ratio < row.ratio_high and row.reference == "rest"


def test_a_second_prediction_is_set_beside_the_first(rows):
    """The interval of a change beside that of McNemar's table: both judge the same rows."""
    second = np.where(rows["id"] % 7 == 0, "yes", rows["y_pred"])
    both = rows.assign(model_b=second)
    how = {"sensitive_features": ["race"], "y_beside": "model_b"}
    table, gaps = groups.changes(page.Audit(of_rows(both, **how)))
    change = table[(table["measure"] == "pr")].set_index("group")
    for race, part in both.groupby("race"):
        more = (part["model_b"] == "yes").astype(int) - (part["y_pred"] == "yes")
        assert change.loc[race, "change"] == pytest.approx(more.mean())
        error = 1.96 * more.std(ddof=0) / np.sqrt(len(part))
        width = (change.loc[race, "high"] - change.loc[race, "low"]) / 2
        assert width == pytest.approx(error, rel=0.2)
    pr = gaps[gaps["measure"] == "pr"].iloc[0]
    i, j = pr["group"].split(" minus ")
    assert pr["first"] == pytest.approx(change.loc[i, "first"] - change.loc[j, "first"])
    assert pr["change"] == pytest.approx(
        change.loc[i, "change"] - change.loc[j, "change"]
    )


def test_a_threshold_decides_or_stands_beside_decisions(rows):
    how = {"sensitive_features": ["race"], "threshold": 0.5}
    at = (rows["score"] >= 0.5).groupby(rows["race"]).mean()
    counted = of_rows(rows.drop(columns="y_pred"), **how)
    swept = groups.sweep(counted.table(), [0.5]).set_index("group")
    assert blocks.bias(counted.table(), "pr") == pytest.approx(at.max() - at.min())
    assert swept["pr"].tolist() == pytest.approx(at.tolist())
    assert "score from 0.5 is y_pred" in counted.taken
    beside = groups.changes(page.Audit(of_rows(rows, **how)))[0]
    assert beside[beside["measure"] == "pr"]["second"].tolist() == pytest.approx(
        at.tolist()
    )
    for wrong, message in (
        ({"threshold": 50}, "between 0 and 1"),
        ({"y_beside": "label"}, "one of them"),
    ):
        with pytest.raises(ValueError, match=message):
            of_rows(rows, **(how | wrong))


def test_power_is_how_often_a_z_test_sees_the_gap():
    rng = np.random.default_rng(0)
    a, b = rng.binomial(400, 0.3, 40_000) / 400, rng.binomial(900, 0.4, 40_000) / 900
    error = np.sqrt(a * (1 - a) / 400 + b * (1 - b) / 900)
    for tests, reach in ((1, 1.95996), (20, 3.02334)):  # quantiles of .975 and .99875
        assert groups.power(400, 900, 0.3, 0.1, tests) == pytest.approx(
            ((b - a) / error > reach).mean(), abs=0.02
        )


def test_the_command_of_an_audit_is_a_make_target():
    values = {"labels": "a b.json", "groups": ["x", "y"], "seed": 3, "output": "mine"}
    made = form.command(values, "detector")
    assert made == "make audit-detector 'LABELS=a b.json' GROUPS=x,y SEED=3"
    values = {"positive": {"risk": ["Medium", "High"], "paid": "yes"}}
    made = form.command(values, "table")
    assert made == "make audit-table POSITIVE=risk=Medium,High,paid=yes"
    assert form.command({}, "model") == "make audit-model"


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["audit-table", "TABLE=a b.csv", "SEED=3"], "-r table 'a b.csv' -p seed '3'"),
        (["audit-model", "OUTPUT=audit/mine"], "-r output audit/mine &&"),
    ],
)
def test_an_audit_by_make_is_its_lesson_run_by_papermill(words, arguments):
    told = subprocess.run(
        ["make", "-n", *words], capture_output=True, text=True, cwd=store.root()
    )
    assert arguments in " ".join(told.stdout.replace("\\\n", "").split())
