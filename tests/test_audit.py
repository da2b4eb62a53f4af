"""The audit of a table: gaps, intervals and findings against truths, and its report."""

import json
import os
import subprocess
import sys
import tempfile

import loans
import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.audit import form, groups, largest_gaps, page
from helpers.audit.table_counts import count_table
from helpers.blocks import counts, report

N = 600


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    columns = {
        "race": rng.choice(list("abc"), N),
        "sex": rng.choice(["f", "m"], N),
        "label": rng.integers(0, 2, N),
        "score": rng.random(N).round(2),
        "place": rng.integers(0, 20, N),
    }
    table = pd.DataFrame(columns)
    better = (table["race"] == "a") & (rng.random(N) < 0.5)
    return table.assign(y_pred=((table["score"] > 0.6) | better).astype(int))


ROLES = {"y_true": "label", "y_pred": "y_pred", "y_score": "score"}


def of_rows(rows, groups=("race", "sex"), roles=ROLES, **options):
    """Count a table that lies in a file."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        rows.to_parquet(file.name, index=False)
        return count_table(file.name, roles, groups, **options)


def audited(rows, *arguments, draws=99, **options):
    return page.Audit(of_rows(rows, *arguments, **options), draws=draws)


@pytest.mark.parametrize(
    ("role", "missing"),
    [
        ("y_true", "positive rate: it needs y_pred."),
        ("y_score", "positive rate: it needs y_pred."),
        ("y_pred", "accuracy: it needs y_true."),
    ],
)
def test_the_report_says_what_the_columns_cannot_give(rows, role, missing):
    audit = audited(rows, roles={role: ROLES[role]})
    assert len(audit.gaps) == 2 and len(audit.who) == 5
    assert missing in audit.unsaid


def test_gaps_with_strata_held_fixed_and_ratios_are_of_the_same_groups(rows):
    audit = audited(rows, strata=["place"])
    rates = rows.groupby("race")["y_pred"].mean()
    assert audit.gaps["attribute"].iloc[0] == "race"
    assert audit.fixed["measure"].tolist() == audit.gaps["measure"].tolist()
    assert audit.fixed.set_index("measure").loc["auc", "value"].isna().all()
    assert audit.ratios.loc[0, "value"] == pytest.approx(rates.min() / rates.max())
    assert audit.ratios.loc[0, "verdict"] == "fails"
    row = audit.fixed.set_index(["measure", "attribute"]).loc[("pr", "race")]
    before = abs(rates[row["group_i"]] - rates[row["group_j"]])
    assert row["before"] == pytest.approx(before)


@pytest.mark.parametrize(
    ("every", "words"),
    [
        (20, "share strata of 60 of 1,200 rows"),
        (2400, "no two groups share a stratum"),
    ],
)
def test_strata_that_groups_do_not_share_are_reported(every, words):
    place = np.arange(1200)
    sex = np.repeat(["f", "m"], 600)
    site = np.where((place + 1) % every == 0, "both", sex)
    table = pd.DataFrame({"sex": sex, "site": site, "p": place % 3 % 2})
    audit = audited(table, ["sex"], {"y_pred": "p"}, strata=["site"])
    assert words in " ".join(audit.unsaid)


def test_a_wide_gap_among_many_is_significant_or_not_testable(rows, monkeypatch):
    rng = np.random.default_rng(0)
    many = rows[["y_pred", "label"]].copy()
    for name in "abcdef":
        many[name] = rng.integers(0, 2, N)
    many.loc[(many["a"] == 1) & (rng.random(N) < 0.6), "y_pred"] = 1
    roles = {"y_true": "label", "y_pred": "y_pred"}
    audit = audited(many, list("abcdef"), roles)
    assert audit.gaps.loc[0, "significant"] == "yes"
    assert audit.shuffles >= 40 * len(audit.gaps)
    monkeypatch.setattr(largest_gaps, "A_GAP", 0)
    audit = audited(many, list("abcdef"), roles)
    assert audit.gaps.loc[0, "significant"] == "cannot"
    assert "99 permutations" in " ".join(audit.unsaid)


def test_all_against_none_has_newcombes_interval_in_table_and_headline():
    team = np.repeat(["A", "B"], 40)
    table = pd.DataFrame({"team": team, "label": np.arange(80) % 2})
    table["y_pred"] = (team == "A").astype(int)
    audit = audited(table, ["team"], {"y_true": "label", "y_pred": "y_pred"})
    gap = audit.gaps.set_index("measure").loc["pr"]
    assert (gap["value"], gap["high"]) == (1, 1)
    assert gap["low"] == pytest.approx(0.876, abs=5e-4)
    headline = groups.headline(audit, pd.DataFrame())
    assert "a gap of 1.000 (95% CI 0.876 to 1.000)" in headline
    against = groups.against(audit, "B").set_index("measure").loc["pr"]
    assert (against["ratio"], against["ratio_high"]) == (np.inf, np.inf)


def test_a_role_that_is_given_twice_or_not_named_is_refused():
    for roles in (["y_pred=a", "y_pred=b"], ["label"], ["cluster=a"]):
        with pytest.raises(ValueError, match="Give each of y_true, y_pred and y_score"):
            page.made("t.csv", roles, ["sex"])


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


# --- what the folder gets, and what notebook 13 computes ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The audit of a table with hostile values."""
    place = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
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
    arguments = ["-p", "table", str(place / "t.csv"), "-p", "groups", "g"]
    arguments += ["-p", "roles", "y_true=y_true,y_pred=y_pred", "-p", "output", "audit"]
    notebook = store.root() / "notebooks/13_audit_your_table.ipynb"
    command = [sys.executable, "-m", "helpers.run_lesson", *arguments, str(notebook)]
    subprocess.run(
        [*command, str(place / "ran.ipynb")],
        env=os.environ | {"SUITE_OUTPUTS": str(place)},
        cwd=store.root(),
        check=True,
        capture_output=True,
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
    assert record["command"].endswith("ROLES=y_true=y_true,y_pred=y_pred GROUPS=g")
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
    table = groups.by_group(audited(rows))
    of = {
        "pr": metrics.selection_rate,
        "tpr": metrics.true_positive_rate,
        "n": metrics.count,
    }
    of |= {"fpr": metrics.false_positive_rate}
    values = {"y_true": rows["label"], "y_pred": rows["y_pred"]}
    for name, mine in table.groupby("attribute"):
        by = rows[name].astype(str)
        frame = metrics.MetricFrame(metrics=of, sensitive_features=by, **values)
        ours = mine.set_index("group")[[*of]].astype(float)
        theirs = frame.by_group.loc[ours.index].astype(float)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    data = of_rows(rows, ["race"]).table()
    table = groups.calibration(data).set_index(["group", "bin"])
    bins = (rows["score"] * 10).clip(upper=9.999).astype(int)
    yes = rows["label"].groupby([rows["race"], bins]).mean()
    assert table["share"].to_numpy() == pytest.approx(yes.to_numpy())
    assert table["score"].to_numpy() == pytest.approx(
        rows["score"].groupby([rows["race"], bins]).mean().to_numpy()
    )


LOANS = {
    "roles": ["y_true=repaid", "y_pred=decision", "y_score=score"],
    "positive": "decision=approve,repaid=yes",
    "groups": ["sex", "age"],
}


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
    audit = audited(rows, ["sex", "age"], {"y_pred": "y_pred"}, draws=999)
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
    rows = rows.astype({"y_pred": int})
    gap = audited(rows, ["g"], {"y_pred": "y_pred"}, draws=999).gaps.iloc[0]
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

    table = groups.against(audited(rows, ["race"]), "rest")
    for row in table[table["measure"] == "pr"].itertuples():
        yes, mine = rows["y_pred"] == 1, rows["race"] == row.group
        parts = [of for part in (mine, ~mine) for of in (yes[part].sum(), part.sum())]
        ends = confint_proportions_2indep(*parts, compare="diff", method="newcomb")
        assert (row.low, row.high) == pytest.approx(ends)
        assert row.ratio == pytest.approx(yes[mine].mean() / yes[~mine].mean())
        assert row.ratio_low < row.ratio < row.ratio_high and row.reference == "rest"


def test_the_change_to_a_second_prediction_is_that_of_paired_rows(rows):
    """Its interval is about as wide as that of McNemar's table."""
    second = np.where(rows.index % 7 == 0, 1, rows["y_pred"])
    roles = ROLES | {"y_beside": "model_b"}
    audit = audited(rows.assign(model_b=second), ["race"], roles)
    table, gaps = groups.changes(audit)
    change = table[table["measure"] == "pr"].set_index("group")
    for race, more in (second - rows["y_pred"]).groupby(rows["race"]):
        assert change.loc[race, "change"] == pytest.approx(more.mean())
        error = 1.96 * more.std(ddof=0) / np.sqrt(len(more))
        width = (change.loc[race, "high"] - change.loc[race, "low"]) / 2
        assert width == pytest.approx(error, rel=0.2)
    pr = gaps[gaps["measure"] == "pr"].iloc[0]
    i, j = pr["group"].split(" minus ")
    apart = change.loc[i, "change"] - change.loc[j, "change"]
    assert pr["change"] == pytest.approx(apart)


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
        (["audit-model", "OUTPUT=audit/mine"], "-r output audit/mine"),
    ],
)
def test_an_audit_by_make_is_its_lesson_run_by_papermill(words, arguments):
    told = subprocess.run(
        ["make", "-n", *words], capture_output=True, text=True, cwd=store.root()
    )
    assert arguments in " ".join(told.stdout.replace("\\\n", "").split())
