"""Tables are counted as pandas counts them, or refused with a sentence."""

import unicodedata

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from helpers import audits
from helpers.audit.table_counts import count_table
from helpers.blocks import counts

N = 600
ROLES = {"y_true": "repaid", "y_pred": "decision"}
POSITIVE = {"repaid": "yes", "decision": "approve"}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "race": rng.choice(list("abc"), N),
            "sex": rng.choice(["f", "m"], N),
            "repaid": rng.choice(["yes", "no"], N),
            "decision": rng.choice(["approve", "deny"], N),
            "score": rng.random(N).round(2),
        }
    )


@pytest.fixture
def count(tmp_path):
    """Write a table into a file and count it."""

    def write_and_count(table, groups=("sex",), name="t.csv", **options):
        path = tmp_path / name
        if isinstance(table, bytes):
            path.write_bytes(table)
        elif path.suffix == ".parquet":
            table.to_parquet(path, index=False)
        else:
            table.to_csv(path, index=False)
        options = {"columns": ROLES, "positive": POSITIVE, **options}
        return count_table(path, options.pop("columns"), groups, **options)

    return write_and_count


def labels(rows):
    return {
        "y_true": (rows["repaid"] == "yes").astype(int),
        "y_pred": (rows["decision"] == "approve").astype(int),
    }


def sizes(counted, name):
    """Return the number of rows of each group of a column."""
    return counted.rows.groupby(counted.groups[name]).sum().to_dict()


def test_files_and_folders_count_as_pandas_does(rows, count, tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    rows[:200].to_parquet(folder / "1.parquet")
    rows[200:][rows.columns[::-1]].to_parquet(folder / "2.parquet")
    by = ["race", "sex"]
    counted = [count(rows, by), count(rows, by, name="it's [1] *.parquet")]
    for source in (folder, rows):
        counted.append(count_table(source, ROLES, by, positive=POSITIVE))
    expected = counts.count(rows[by], labels(rows), intersect=True).frame()
    for one in counted:
        assert one.rows.sum() == N
        pd.testing.assert_frame_equal(one.table(by, intersect=True).frame(), expected)


def test_scores_are_rounded_to_three_decimals(rows, count):
    roles = ROLES | {"score": "score"}
    exact = counts.count(rows["sex"], {**labels(rows), "score": rows["score"]})
    counted = count(rows, columns=roles).table(["sex"])
    for measure in ("auc", "score", "calibration"):
        np.testing.assert_array_equal(counted.values(measure), exact.values(measure))
    finer = np.random.default_rng(1).random(N) / 1000
    rows["score"] = 0.99 * rows["score"] + finer
    exact = counts.count(rows["sex"], {**labels(rows), "score": rows["score"]})
    counted = count(rows, columns=roles).table(["sex"])
    for measure in ("auc", "score"):
        np.testing.assert_allclose(
            counted.values(measure), exact.values(measure), atol=1e-3
        )


def test_small_scores_are_not_taken_for_predictions_without_a_hint(rows, count):
    rows["score"] /= 10_000
    with pytest.raises(ValueError, match="with 3 decimals, are 0 or 1"):
        count(rows, columns=ROLES | {"score": "score"})


def test_unused_columns_are_not_read(rows, count):
    table = rows.assign(a=1, b=2)
    data = table.to_csv(index=False).replace("a,b", "age,age", 1).encode()
    expected = count(rows).table(["sex"]).frame()
    pd.testing.assert_frame_equal(count(data).table(["sex"]).frame(), expected)
    lists = rows.assign(tags=[["a", "b"]] * N, when=pd.Timestamp("2026-01-01"))
    for counted in (
        count(lists, name="t.parquet"),
        count_table(lists, ROLES, ["sex"], positive=POSITIVE),
    ):
        pd.testing.assert_frame_equal(counted.table(["sex"]).frame(), expected)


def test_bands_of_pandas_and_nullable_columns_are_the_same_in_csv_and_parquet(count):
    band = pd.cut(np.arange(N) % 60 + 18, [17, 30, 45, 60, 80, 120])
    table = pd.DataFrame({"band": band.astype(str)}).astype("category")
    table["band"] = table["band"].cat.add_categories("closed")
    table["p"] = pd.array(np.arange(N) % 2 == 0, dtype="boolean")
    table.loc[:4, "p"] = None
    for name in ("t.csv", "t.parquet"):
        counted = count(table, ["band"], name, columns={"y_pred": "p"}, positive=None)
        assert counted.rows.sum() == N - 5
        assert (
            "5 rows have no value in p. They are left out of all rates."
            in counted.notes
        )
        expected = table.dropna()["band"].astype(str).value_counts()
        assert sizes(counted, "band") == expected.to_dict()


def test_only_empty_fields_are_missing(rows, count):
    country = np.array(["NA", "None", "null", "nan", ""])[np.arange(N) % 5]
    counted = count(rows.assign(country=country), ["country"])
    names = ["NA", "None", "null", "nan", "(missing)"]
    assert sizes(counted, "country") == dict.fromkeys(names, N // 5)


def test_group_names_in_two_unicode_forms_are_one_group(rows, count):
    decomposed = unicodedata.normalize("NFD", "Málaga")
    city = np.array(["Málaga", decomposed, "Cádiz"])[np.arange(N) % 3]
    counted = count(rows.assign(city=city), ["city"])
    assert sizes(counted, "city") == {"Málaga": 2 * N // 3, "Cádiz": N // 3}


def test_several_values_can_count_as_1(rows, count):
    risk = rows["decision"].map({"deny": "Low", "approve": "High"})
    medium = risk.replace("High", "Medium")
    table = rows.assign(risk=risk.where(np.arange(N) % 2 > 0, medium))
    positive = {"risk": ["Medium", "High"]}
    counted = count(table, columns={"y_pred": "risk"}, positive=positive)
    expected = counts.count(rows["sex"], {"y_pred": labels(rows)["y_pred"]})
    ours = counted.table(["sex"]).values("pr")
    np.testing.assert_allclose(ours, expected.values("pr"))
    note = "In risk, these values count as 1: Medium, High. All others count as 0."
    assert note in counted.notes


def test_a_single_name_is_a_list_of_one(rows, count):
    counted = count(rows, "sex", strata="race")
    assert [*counted.groups] == ["sex"] and [*counted.strata] == ["race"]


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_spaces_at_the_ends_of_a_column_name_do_not_count(rows, tmp_path, form):
    def source(table):
        path = tmp_path / f"t.{form}"
        if form == "csv":
            table.to_csv(path, index=False)
        elif form == "parquet":
            table.to_parquet(path)
        return table if form == "frame" else path

    spaced = rows.rename(columns={"sex": " sex", "decision": " decision "})
    positive = {" decision": "approve", "repaid": "yes"}
    roles = ROLES | {"y_pred": "decision "}
    for name in ("sex", " sex"):
        counted = count_table(source(spaced), roles, [name], positive=positive)
        assert sizes(counted, "sex") == rows["sex"].value_counts().to_dict()
    both = source(rows.assign(**{" sex": "x"}))
    for name in ("sex", " sex"):
        with pytest.raises(ValueError, match=r"several columns 'sex'\. Spaces"):
            count_table(both, ROLES, [name], positive=POSITIVE)


def test_a_threshold_makes_predictions_or_a_second_one(rows, count):
    above = rows["score"] >= 0.5
    first = count(rows, columns={"score": "score"}, positive=None, threshold=0.5)
    rates = first.table(["sex"]).values("pr")[:2]
    assert rates == pytest.approx(above.groupby(rows["sex"]).mean().tolist())
    second = count(rows, columns=ROLES | {"score": "score"}, threshold=0.5)
    assert second.columns["second"] == "score >= 0.5"
    assert second.rows[second.values["second"] == 1].sum() == above.sum()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {},
            {"columns": {}},
            "No column of predictions.* columns are race, sex, ",
        ),
        (
            {},
            {"groups": []},
            "No column of groups is named. Name some of race, sex, ",
        ),
        (
            {},
            {"groups": ["age"]},
            "The table has no column 'age'. It has race, sex, ",
        ),
        (
            {},
            {"groups": ["repaid"]},
            "repaid is named for two uses",
        ),
        (
            {},
            {"positive": None},
            "such as positive={'decision': 'deny'} .* POSITIVE=decision=deny after",
        ),
        (
            {},
            {"positive": {"sex": "f", **POSITIVE}},
            "positive names sex",
        ),
        (
            {},
            {"positive": "yes"},
            "positive is 'yes'. Give a dictionary",
        ),
        (
            {},
            {"positive": {**POSITIVE, "decision": "yes"}},
            "yes count as 1 .*deny",
        ),
        (
            {},
            {"positive": {**POSITIVE, "repaid": ["yes", "no"]}},
            "and not all",
        ),
        (
            {},
            {"threshold": 0.5},
            "needs a column of scores",
        ),
        (
            {"age": range(N)},
            {"groups": ["age"]},
            "600 different values.*bins",
        ),
        (
            {"s": 50},
            {"columns": {"score": "s"}, "positive": None},
            "'50', which are not scores",
        ),
        (
            {"s": "0,9"},
            {"columns": {"score": "s"}, "positive": None},
            "'0,9'.* Decimals have a point",
        ),
        (
            {"s": [0, 1] * (N // 2)},
            {"columns": {"score": "s"}, "positive": None},
            "Are they predict",
        ),
        (
            {"repaid": None},
            {},
            "No row has a value in all of repaid, decision",
        ),
    ],
)
def test_what_cannot_be_right_has_a_sentence(rows, count, change, options, message):
    with pytest.raises(ValueError, match=message):
        count(rows.assign(**change), **options)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"repaid,decision,sex\nyes,deny,f\nno\n", "cannot be read"),
        (b'repaid,decision,sex\nyes,deny,"f\nno,deny,f\n', "cannot be read"),
        ("repaid,decision,sex\nyes,deny,é\n".encode("latin-1"), "not utf-8"),
        (b"repaid;decision;sex\nyes;deny;f\n", "It has repaid;decision;sex"),
        (b"repaid,decision,sex\n", "has no rows"),
        (b"", "is empty"),
    ],
)
def test_a_damaged_file_has_a_sentence(count, data, message):
    with pytest.raises(ValueError, match=message):
        count(data)


def test_a_file_that_lacks_a_column_is_refused(rows, tmp_path):
    for form in ("csv", "parquet"):
        folder = tmp_path / form
        folder.mkdir()
        for day, table in enumerate((rows, rows.drop(columns="sex"))):
            write = table.to_csv if form == "csv" else table.to_parquet
            write(folder / f"{day}.{form}", index=False)
        with pytest.raises(ValueError, match=r"sex[\s\S]*same columns"):
            count_table(folder, ROLES, ["sex"], positive=POSITIVE)


# --- outcomes that are known for some rows ---


def audit_of_known_outcomes(rows, known):
    table = rows.assign(repaid=rows["repaid"].where(known))
    names = {"y_true": "repaid", "y_pred": "decision", "groups": ["sex"]}
    return audits.table(table, **names, positive=POSITIVE, draws=99)


def test_rates_that_need_an_outcome_are_those_of_the_rows_that_have_one(rows):
    known = np.random.default_rng(2).random(N) < 0.6
    audit = audit_of_known_outcomes(rows, known)
    approved = rows["decision"] == "approve"
    for measure, counted in (
        ("pr", rows["sex"] != ""),
        ("tpr", known & (rows["repaid"] == "yes")),
    ):
        by_sex = approved[counted].groupby(rows["sex"])
        rates = audit.tables["rates"]
        ours = rates[rates["measure"] == measure]
        assert ours["value"].tolist() == pytest.approx(by_sex.mean().tolist())
        assert ours["n"].tolist() == by_sex.size().tolist()
    note = f"repaid is known for {known.sum()} of {N} rows"
    assert note in " ".join(audit.notes)


def test_outcomes_of_approved_rows_alone_leave_out_what_cannot_be_known(rows):
    audit = audit_of_known_outcomes(rows, rows["decision"] == "approve")
    assert {*audit.tables["rates"]["measure"]} == {"pr", "ppv"}
    needed = "true positive rate: it needs outcomes of rows predicted 0."
    assert needed in audit.limits


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_two_columns_of_one_name_are_not_guessed_between(rows, tmp_path, form):
    source = tmp_path / f"t.{form}"
    table = pa.Table.from_pandas(rows[["sex", "repaid", "decision", "race"]])
    table = table.rename_columns(["sex", "repaid", "decision", "sex"])
    if form == "csv":
        csv.write_csv(table, source)
    elif form == "parquet":
        parquet.write_table(table, source)
    else:
        source = table.to_pandas()
    with pytest.raises(ValueError, match="several columns 'sex'"):
        count_table(source, ROLES, ["sex"], positive=POSITIVE)
