"""The audit of a table: gaps, intervals and findings against truths, and its report."""

import json
import os
import subprocess
import sys

import loans
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.figure import Figure

from helpers import audits, store
from helpers.audit import form, table_gaps, table_rates
from helpers.blocks import counts

N = 600
ROLES = {"y_true": "label", "y_pred": "y_pred", "score": "score"}


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


def audit(rows, groups=("race", "sex"), roles=ROLES, draws=99, **options):
    return audits.table(
        rows,
        **roles,
        groups=groups,
        draws=draws,
        **options,
    )


def table_of(groups, **options):
    """Count groups of which so many rows of so many are predicted positive."""
    names = []
    y_pred = []
    for place, (positive, n) in enumerate(groups):
        names += [f"g{place}"] * n
        y_pred += [1] * positive + [0] * (n - positive)
    group = pd.Series(names, name="g")
    return counts.count(group, {"y_pred": y_pred}, **options)


def gap_of_two_groups(table, measure):
    first = np.array([0])
    second = np.array([1])
    return table_rates.compare(table, measure, first, second).iloc[0]


# --- agreement with other libraries ---


def test_rates_are_fairlearns(rows):
    metrics = pytest.importorskip("fairlearn.metrics")
    functions = {
        "pr": metrics.selection_rate,
        "tpr": metrics.true_positive_rate,
        "fpr": metrics.false_positive_rate,
    }
    ours = audit(rows).tables["rates"]
    for name in ("race", "sex"):
        frame = metrics.MetricFrame(
            metrics=functions,
            y_true=rows["label"],
            y_pred=rows["y_pred"],
            sensitive_features=rows[name],
        )
        mine = ours[ours["attribute"] == name].pivot(
            index="group",
            columns="measure",
            values="value",
        )
        np.testing.assert_allclose(
            mine[[*functions]],
            frame.by_group,
            rtol=0,
            atol=1e-12,
        )


def test_calibration_and_thresholds_are_those_of_pandas(rows):
    tables = audit(rows, ["race"]).tables
    bins = (rows["score"] * 10).clip(upper=9.999).astype(int)
    groups = rows.groupby(["race", bins])
    table = tables["calibration"]
    share = groups["label"].mean()
    score = groups["score"].mean()
    assert table["share"].tolist() == pytest.approx(share.tolist())
    assert table["score"].tolist() == pytest.approx(score.tolist())
    at = tables["thresholds"].query("threshold == 0.6")
    above = (rows["score"] >= 0.6).groupby(rows["race"]).mean()
    assert at["positive_rate"].tolist() == pytest.approx(above.tolist())


def test_differences_to_the_rest_are_statsmodels(rows):
    from statsmodels.stats.proportion import confint_proportions_2indep

    table = audit(rows, ["race"], reference="rest").tables["reference"]
    for row in table[table["measure"] == "pr"].itertuples():
        mine = rows.loc[rows["race"] == row.group, "y_pred"]
        rest = rows.loc[rows["race"] != row.group, "y_pred"]
        ends = confint_proportions_2indep(
            mine.sum(),
            len(mine),
            rest.sum(),
            len(rest),
            compare="diff",
            method="newcomb",
        )
        assert (row.ci_low, row.ci_high) == pytest.approx(ends)
        assert row.ratio == pytest.approx(mine.mean() / rest.mean())
        assert row.ratio_low < row.ratio < row.ratio_high


def test_the_change_to_a_second_prediction_is_that_of_paired_rows(rows):
    """Its interval is about as wide as that of McNemar's table."""
    rows["model_b"] = np.where(rows.index % 7 == 0, 1, rows["y_pred"])
    tables = audit(rows, ["race"], second="model_b").tables
    changes = tables["changes"].query("measure == 'pr'").set_index("group")
    added = rows["model_b"] - rows["y_pred"]
    for race, of_race in added.groupby(rows["race"]):
        row = changes.loc[race]
        assert row["change"] == pytest.approx(of_race.mean())
        error = 1.96 * of_race.std(ddof=0) / np.sqrt(len(of_race))
        width = (row["ci_high"] - row["ci_low"]) / 2
        assert width == pytest.approx(error, rel=0.2)
    gap = tables["changed_gaps"].query("measure == 'pr'").iloc[0]
    first, second = changes.loc[gap["group"].split(" minus "), "change"]
    assert gap["change"] == pytest.approx(first - second)


# --- intervals at rates of 0 and 1, and in small groups ---


def test_all_against_none_has_newcombes_interval_in_tables_and_headline():
    rows = pd.DataFrame({"team": np.repeat(["A", "B"], 40)})
    rows["y_pred"] = (rows["team"] == "A").astype(int)
    result = audit(rows, ["team"], {"y_pred": "y_pred"}, reference="B")
    gap = result.tables["gaps"].iloc[0]
    assert gap["difference"] == 1
    assert gap["ci_high"] == 1
    assert gap["ci_low"] == pytest.approx(0.876, abs=5e-4)
    against = result.tables["reference"].iloc[0]
    assert against["ci_low"] == gap["ci_low"]
    assert against["ratio"] == np.inf
    assert "a difference of 1.000 (95% CI 0.876 to 1.000)" in result.headline
    assert "(95% CI 0.876 to 1.000)" in result.to_html()


@pytest.mark.parametrize("strata", [1, 2, 4])
def test_rates_of_0_and_1_in_every_stratum_have_a_width(strata):
    of_rows = pd.DataFrame({"s": np.arange(80) % strata})
    table = table_of([(40, 40), (0, 40)], strata=of_rows)
    gap = gap_of_two_groups(table, "pr")
    assert gap["ci_low"] == pytest.approx(0.876, abs=5e-4)
    assert gap["ci_high"] == 1


@pytest.mark.slow
def test_intervals_with_strata_held_fixed_cover():
    """Rates of 0.02 to 0.9 over four strata, of which the groups have other mixes."""
    rng = np.random.default_rng(0)
    rates = np.array([0.02, 0.1, 0.5, 0.9])
    contains = []
    for _ in range(300):
        group = pd.Series(rng.integers(0, 2, 300), name="g")
        stratum = np.where(
            group == 1, rng.choice(4, 300), rng.choice(4, 300, p=[0.4, 0.3, 0.2, 0.1])
        )
        y_pred = (rng.random(300) < rates[stratum]).astype(int)
        strata = pd.DataFrame({"s": stratum})
        table = counts.count(group, {"y_pred": y_pred}, strata=strata)
        gap = gap_of_two_groups(table, "pr")
        contains.append(gap["ci_low"] <= 0 <= gap["ci_high"])
    assert 0.93 <= np.mean(contains) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    "rates", [(0.98, 0.02, 0.1), (0.03, 0.03, 0.03), (1, 1, 1), (0.5, 0.6)]
)
@pytest.mark.parametrize("n", [20, 40])
def test_the_smallest_ratio_covers_although_its_groups_are_chosen(rates, n):
    rng = np.random.default_rng(0)
    truth = min(rates) / max(rates)
    contains = []
    for _ in range(200):
        table = table_of([(rng.binomial(n, rate), n) for rate in rates])
        result = table_gaps.smallest_ratio(table, 0.8).iloc[0]
        known = not np.isnan(result["ratio"])
        inside = result["ci_low"] <= truth + 1e-9 <= result["ci_high"] + 2e-9
        contains.append(inside or not known)
    assert np.mean(contains) >= 0.94


@pytest.mark.slow
def test_bootstrap_intervals_of_auc_cover():
    rng = np.random.default_rng(0)
    contains = []
    for _ in range(60):
        label = rng.integers(0, 2, 300)
        group = pd.Series(rng.integers(0, 2, 300), name="g")
        score = scipy.stats.norm.cdf(rng.normal(label)).round(2)
        table = counts.count(group, {"y_true": label, "score": score})
        gap = gap_of_two_groups(table, "auc")
        contains.append(gap["ci_low"] <= 0 <= gap["ci_high"])
    assert np.mean(contains) >= 0.9


# --- tests ---


@pytest.mark.slow
def test_without_gaps_there_is_rarely_a_significant_one():
    rng = np.random.default_rng(0)
    false_positives = 0
    for trial in range(100):
        group = pd.Series(rng.choice([*"aaabc"], 200), name="g")
        values = pd.DataFrame(
            rng.integers(0, 2, (200, 2)),
            columns=["y_pred", "y_true"],
        )
        table = counts.count(group, values)
        gaps = table_gaps.gaps({"g": table}, 199, trial)
        false_positives += gaps["significant"].any()
    assert false_positives <= 11  # 5 expected; 11 or more in 1% of cases


def test_a_small_group_hides_no_gap():
    rng = np.random.default_rng(0)
    group = pd.Series(np.repeat(["a", "b", "small"], [3000, 1000, 25]), name="g")
    rates = group.map({"a": 0.64, "b": 0.55, "small": 0.6})
    y_pred = rng.random(len(group)) < rates
    table = counts.count(group, {"y_pred": y_pred.astype(int)})
    gap = table_gaps.gaps({"g": table}, 999, 0).iloc[0]
    assert gap["group"] == "a"
    assert gap["other"] == "b"
    assert gap["significant"]
    assert gap["ci_low"] > 0


def test_confounded_groups_have_no_gap_with_the_confounder_held_fixed():
    rng = np.random.default_rng(9)
    easy = rng.integers(0, 2, 2000)
    is_a = rng.random(2000) < np.where(easy, 0.8, 0.2)
    is_positive = rng.random(2000) < np.where(easy, 0.8, 0.3)
    columns = {
        "easy": easy,
        "g": np.where(is_a, "a", "b"),
        "p": is_positive.astype(int),
    }
    rows = pd.DataFrame(columns)
    result = audit(rows, ["g"], {"y_pred": "p"}, strata=["easy"])
    assert result.tables["gaps"]["significant"].all()
    assert not result.tables["fixed"]["significant"].any()
    assert "no gap in the positive rate by g is significant" in result.headline


def test_a_gap_of_an_intersection_is_in_the_headline():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"sex": rng.choice(["f", "m"], 4000)})
    rows["age"] = rng.choice(["o", "y"], 4000)
    # half of each sex and of each age
    hidden = (rows["sex"] == "f") != (rows["age"] == "o")
    rows["p"] = (rng.random(4000) < np.where(hidden, 0.4, 0.6)).astype(int)
    result = audit(rows, ["sex", "age"], {"y_pred": "p"}, draws=999)
    assert not len(result.significant)
    crossed = result.tables["intersections"]
    assert crossed["significant"].all()
    first = crossed.iloc[0]
    group = rows["sex"] + " & " + rows["age"]
    inside = rows.loc[group == first["group"], "p"]
    outside = rows.loc[group != first["group"], "p"]
    difference = inside.mean() - outside.mean()
    assert first["difference"] == pytest.approx(difference)
    assert f"{first['group']} (n = {len(inside):,})" in result.headline


def test_too_many_intersections_are_left_out_with_a_sentence():
    rng = np.random.default_rng(0)
    columns = ["a", "b", "c"]
    rows = pd.DataFrame(rng.integers(0, 10, (500, 3)), columns=columns)
    rows["p"] = rows.index % 2
    result = audit(rows, columns, {"y_pred": "p"})
    assert "intersections" not in result.tables
    assert "There are more than 1,000 intersections" in " ".join(result.limits)


def test_power_is_how_often_a_z_test_detects_the_gap():
    rng = np.random.default_rng(0)
    a = rng.binomial(400, 0.3, 40_000) / 400
    b = rng.binomial(900, 0.4, 40_000) / 900
    error = np.sqrt(a * (1 - a) / 400 + b * (1 - b) / 900)
    for n_tests, critical in ((1, 1.95996), (20, 3.02334)):
        power = table_gaps.power(400, 900, 0.3, 0.1, n_tests)
        detected = (b - a) / error > critical
        assert power == pytest.approx(detected.mean(), abs=0.02)


def test_the_power_allows_for_the_choice_of_the_widest_gap_of_ten_groups():
    """Tukey's range is the exact distribution of the largest of all differences."""
    n, groups = 1000, 10
    rows = pd.DataFrame({"g": np.repeat([*"abcdefghij"], n)})
    rows["p"] = rows.index % 2
    rows.loc[0, "p"] = 1
    result = audit(rows, "g", {"y_pred": "p"})
    power = result.tables["power"]["10 points"].item()
    largest = scipy.stats.studentized_range(groups, np.inf)
    critical = largest.isf(0.05) / np.sqrt(2)
    error = np.sqrt((0.5 * 0.5 + 0.6 * 0.4) / n)
    exact = scipy.stats.norm.sf(critical - 0.1 / error)
    assert exact - 0.06 < power < exact


def test_a_table_without_variation_has_no_gap_and_no_power(rows, tmp_path):
    rows["y_pred"] = 1
    roles = {
        "y_pred": "y_pred",
        "second": "label",
    }
    result = audit(rows, roles=roles, strata="place")
    sentence = "No measure varies between rows, so no gap can be tested."
    assert result.headline == sentence
    for name in ("gaps", "fixed"):
        gaps = result.tables[name]
        assert gaps.empty
        assert [*gaps] == table_gaps.COLUMNS_OF_GAPS
    assert result.significant.empty
    assert result.tables["power"].empty
    result.save(tmp_path)
    page = tmp_path / "page.html"
    assert sentence in page.read_text()


LOANS = {
    "y_true": "repaid",
    "y_pred": "decision",
    "score": "score",
    "positive": {"decision": "approve", "repaid": "yes"},
    "groups": ["sex", "age"],
}


def test_what_is_injected_in_the_sample_is_found_and_an_unbiased_one_is_silent(
    tmp_path,
):
    stored = store.root() / "data/audit/loans.csv"
    loans.loans().to_csv(tmp_path / "loans.csv", index=False)
    assert (tmp_path / "loans.csv").read_bytes() == stored.read_bytes()
    found = audits.table(stored, **LOANS).significant
    assert set(found["attribute"]) == {"sex"}
    assert found["measure"].iloc[0] == "tpr"
    # with the branches' part: a fifth more of the women are in the north
    assert found["ci_low"].iloc[0] < 0.15 + 0.1 * 0.2 < found["ci_high"].iloc[0]
    silent = audits.table(loans.loans(planted=False), **LOANS)
    assert not len(silent.significant)
    assert not silent.tables["intersections"]["significant"].any()
    assert silent.headline.startswith("0 of 20 gaps between groups are significant.")


@pytest.mark.parametrize(
    ("roles", "missing"),
    [
        (
            {"y_true": "label"},
            "positive rate: it needs y_pred.",
        ),
        (
            {"score": "score"},
            "positive rate: it needs y_pred.",
        ),
        (
            {"y_pred": "y_pred"},
            "accuracy: it needs y_pred and y_true.",
        ),
    ],
)
def test_the_audit_says_what_the_columns_cannot_give(rows, roles, missing):
    result = audit(rows, roles=roles)
    assert len(result.tables["gaps"]) == 2
    expected = missing.replace("y_pred and ", "") if "accuracy" in missing else missing
    assert expected in result.limits


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"reference": "d"},
            "The reference is d, which is no group. The groups are a, b, c",
        ),
        (
            {"limit": 1.5},
            "The limit is 1.5. Give a number above 0",
        ),
        (
            {"groups": ["one"]},
            "groups are x. Name a column with two groups",
        ),
        (
            {"strata": ["number"]},
            f"The strata have {N:,} combinations",
        ),
    ],
)
def test_what_cannot_be_audited_has_a_sentence(rows, options, message):
    with pytest.raises(ValueError, match=message):
        audit(rows.assign(one="x", number=range(N)), **options)


def test_scores_in_the_wrong_direction_are_named(rows):
    table = rows.assign(score=rows["label"] * -0.3 + 0.4)
    limits = audit(table).limits
    assert any("audit a column of 1 minus the score" in limit for limit in limits)


def test_the_smallest_ratio_is_that_of_named_groups(rows):
    table = rows.assign(race=rows["race"].mask(rows["y_pred"] == 0, None))
    ratios = audit(table, groups=["race"]).tables["ratios"]
    assert ratios[["smallest", "largest"]].isin(list("abc")).all(axis=None)


# --- the report ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run the lesson on a table with hostile values."""
    place = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"y_true": rng.integers(0, 2, N)})
    rows["ticket"] = np.arange(N) + 70_000_000
    names = np.array(["<script>alert(1)</script>", "=HYPERLINK(0)", "$x$"])
    rows["g"] = names[np.arange(N) % 3]
    worse = (rows["g"] == "$x$") & (rng.random(N) < 0.5)
    rows["y_pred"] = np.where(worse, 0, rows["y_true"])
    rows.to_csv(place / "t.csv", index=False)
    arguments = ["-p", "data", str(place / "t.csv"), "-p", "groups", "g"]
    arguments += ["-p", "y_true", "y_true", "-p", "y_pred", "y_pred"]
    arguments += ["-p", "output", "audit"]
    notebook = store.root() / "notebooks/13_audit_your_table.ipynb"
    command = [sys.executable, "-m", "helpers.run_lesson", *arguments, str(notebook)]
    subprocess.run(
        [*command, str(place / "ran.ipynb")],
        env=os.environ | {"SUITE_OUTPUTS": str(place)},
        cwd=store.root(),
        check=True,
        capture_output=True,
    )
    return place / "audit"


@pytest.mark.slow
def test_values_are_escaped_and_no_row_is_copied(folder):
    page = (folder / "page.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<svg" in page
    names = {path.stem for path in folder.glob("*.csv")}
    assert {"gaps", "rates", "power", "reference"} <= names
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not any(b"70000123" in path.read_bytes() for path in files)


COLUMNS = ["finding", "name", "measure", "by", "value", "low", "high", "p", "verdict"]
COLUMNS.append("sentence")


@pytest.mark.slow
def test_findings_have_their_columns(folder):
    record = json.loads((folder / "findings.json").read_text())
    assert record["table"] == "t.csv"
    assert {"python", *form.LIBRARIES} == record["versions"].keys()
    assert "Y_PRED=y_pred" in record["command"]
    assert record["headline"][:20] in (folder / "page.html").read_text()
    for row in record["findings"]:
        assert [*row] == COLUMNS
        assert row["low"] <= row["value"] <= row["high"]
    gaps = pd.read_csv(folder / "gaps.csv")
    values = [finding["value"] for finding in record["findings"]]
    assert gaps["difference"].tolist() == pytest.approx(values)


def test_a_result_shows_itself_and_its_page_escapes_names(rows):
    rows["race"] = rows["race"].replace("a", "<b>")
    result = audit(rows)
    page = result.to_html()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "gaps between groups" in result._repr_html_()


def test_a_page_has_texts_lists_tables_and_pictures_but_no_empty_parts():
    parts = [
        ("First", "a < b", ["one", "<two>"], pd.DataFrame({"x": ["long " * 20, None]})),
        ("Second", (Figure(), 'the "caption"')),
        ("Third", None, [], pd.DataFrame()),
    ]
    page = form.page("title", "head & line", parts)
    for text in (
        "<title>title</title>",
        "<h1>head &amp; line</h1>",
        "<p>a &lt; b</p>",
        "<li>one</li><li>&lt;two&gt;</li>",
        "long " * 19,
        "<td>–</td>",
        'aria-label="the &#34;caption&#34;"',
        "<svg",
    ):
        assert text in page
    assert "Third" not in page


def test_the_command_of_an_audit_is_a_make_target():
    values = {"labels": "a b.json", "groups": ["x", "y"], "seed": 3, "output": "mine"}
    made = form.command(values, "detector")
    assert made == "make audit-detector 'LABELS=a b.json' GROUPS=x,y SEED=3"
    values = {"positive": {"risk": ["Medium", "High"], "paid": ["yes"]}}
    made = form.command(values, "table")
    assert made == "make audit-table POSITIVE=risk=Medium,risk=High,paid=yes"
    assert form.command({}, "model") == "make audit-model"


def test_a_report_rounds_numbers_and_says_when_p_is_very_small():
    assert form._number(0.02) == "0.02"
    assert form._number(6e-64) == "< 0.001"


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (
            ["audit-table", "DATA=a b.csv", "SEED=3"],
            "-r data 'a b.csv' -p seed '3'",
        ),
        (
            ["audit-table", "Y_PRED=p"],
            "-r y_pred 'p'",
        ),
        (
            ["audit-model", "OUTPUT=audit/mine"],
            "-r output audit/mine",
        ),
        (
            ["audit-model", "CORES=1"],
            "-r output audit/model notebooks/11_audit_your_model.ipynb",
        ),
        (
            ["audit-table", "GROUP=sex"],
            "Unknown: GROUP. The variables are DATA Y_PRED",
        ),
    ],
)
def test_an_audit_by_make_is_its_lesson_run_by_papermill(words, arguments):
    printed = subprocess.run(
        ["make", "-n", *words],
        capture_output=True,
        text=True,
        cwd=store.root(),
    )
    commands = printed.stdout.replace("\\\n", "")
    assert arguments in " ".join(commands.split())
