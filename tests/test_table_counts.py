"""Tables are counted as pandas counts them, or refused with a sentence."""

import unicodedata

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from helpers.audit import page
from helpers.audit.table_counts import LARGE, count_table
from helpers.blocks import blocks, counts

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
        options = {"roles": ROLES, "positive": POSITIVE, **options}
        return count_table(path, options.pop("roles"), groups, **options)

    return write_and_count


def labels(rows):
    return {
        "y_true": rows["repaid"] == "yes",
        "y_pred": rows["decision"] == "approve",
    }


def test_files_folders_and_patterns_count_as_pandas_does(rows, count, tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    rows[:200].to_parquet(folder / "1.parquet")
    rows[200:][rows.columns[::-1]].to_parquet(folder / "2.parquet")
    by = ["race", "sex"]
    counted = [count(rows, by), count(rows, by, name="it's [1] *.parquet")]
    for source in (folder, folder / "*.parquet"):
        counted.append(count_table(source, ROLES, by, positive=POSITIVE))
    expected = counts.table(rows[by], **labels(rows), intersect="all").frame()
    for one in counted:
        assert len(one) == N
        pd.testing.assert_frame_equal(one.table(by, "all").frame(), expected)


def test_scores_are_exact_in_small_tables_and_in_steps_in_large_ones(rows, count):
    roles = ROLES | {"y_score": "score"}
    exact = counts.table(rows["sex"], **labels(rows), y_score=rows["score"])
    small = count(rows, roles=roles)
    assert small.steps is None
    assert blocks.bias(small.table(), "auc") == pytest.approx(blocks.bias(exact, "auc"))
    copies = LARGE // N + 1
    large = count(pd.concat([rows] * copies), roles=roles)
    error = blocks.auc_error(large.table()).max()
    assert large.steps == 1000 and error < 0.01
    difference = blocks.bias(large.table(), "auc") - blocks.bias(exact, "auc")
    assert abs(difference) <= 2 * error


def test_unused_columns_are_not_read(rows, count):
    table = rows.assign(a=1, b=2)
    data = table.to_csv(index=False).replace("a,b", "age,age", 1).encode()
    expected = count(rows).table().frame()
    pd.testing.assert_frame_equal(count(data).table().frame(), expected)
    with pytest.raises(ValueError, match="no column 'age' of which the table has"):
        count(data, ["age"])
    lists = rows.assign(tags=[["a", "b"]] * N, when=pd.Timestamp("2026-01-01"))
    counted = count(lists, name="t.parquet")
    pd.testing.assert_frame_equal(counted.table().frame(), expected)


def test_bands_of_pandas_and_nullable_columns_are_the_same_in_csv_and_parquet(count):
    band = pd.cut(np.arange(N) % 60 + 18, [17, 30, 45, 60, 80, 120])
    table = pd.DataFrame({"band": band.astype(str)}).astype("category")
    table["band"] = table["band"].cat.add_categories("closed")
    table["p"] = pd.array(np.arange(N) % 2 == 0, dtype="boolean")
    table.loc[:4, "p"] = None
    for name in ("t.csv", "t.parquet"):
        counted = count(table, ["band"], name, roles={"y_pred": "p"}, positive=None)
        assert len(counted) == N - 5
        assert "5 rows without a p are left out." in counted.notes
        expected = table.dropna()["band"].astype(str).value_counts()
        assert counted.sizes("band").to_dict() == expected.to_dict()


def test_only_empty_fields_are_missing(rows, count):
    country = np.array(["NA", "None", "null", "nan", ""])[np.arange(N) % 5]
    counted = count(rows.assign(country=country), ["country"])
    names = ["NA", "None", "null", "nan", "(missing)"]
    assert counted.sizes("country").to_dict() == dict.fromkeys(names, N // 5)


def test_group_names_in_two_unicode_forms_are_one_group(rows, count):
    decomposed = unicodedata.normalize("NFD", "Málaga")
    city = np.array(["Málaga", decomposed, "Cádiz"])[np.arange(N) % 3]
    counted = count(rows.assign(city=city), ["city"])
    sizes = {"Málaga": 2 * N // 3, "Cádiz": N // 3}
    assert counted.sizes("city").to_dict() == sizes


@pytest.mark.parametrize(
    "positive",
    [{"risk": ["Medium", "High"]}, "risk=Medium,High", ["risk=Medium", "High"]],
)
def test_several_values_can_count_as_1(rows, count, positive):
    risk = rows["decision"].map({"deny": "Low", "approve": "High"})
    table = rows.assign(
        risk=risk.where(np.arange(N) % 2 > 0, risk.replace("High", "Medium"))
    )
    counted = count(table, roles={"y_pred": "risk"}, positive=positive)
    expected = counts.table(rows["sex"], y_pred=labels(rows)["y_pred"]).frame()
    pd.testing.assert_frame_equal(counted.table().frame(), expected)


def test_a_threshold_makes_predictions_or_a_second_one(rows, count):
    at = (rows["score"] >= 0.5).groupby(rows["sex"]).mean()
    first = count(rows, roles={"y_score": "score"}, positive=None, threshold=0.5)
    assert blocks.bias(first.table(), "pr") == pytest.approx(at.max() - at.min())
    second = count(rows, roles=ROLES | {"y_score": "score"}, threshold=0.5)
    assert second.roles["y_beside"] == "score from 0.5"
    share = second.rows[second.rows["__y_beside"] == 1]["__times"].sum() / N
    assert share == (rows["score"] >= 0.5).mean()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"roles": {}}, "No column of predictions.* The columns are race, sex, "),
        ({}, {"groups": []}, "No column of groups .* The columns are race, sex, "),
        ({}, {"groups": ["age"]}, "no column 'age' .* The columns are race, sex, "),
        ({}, {"groups": ["repaid"]}, "repaid cannot be y_true and a group at once"),
        ({}, {"positive": None}, "repaid has 2 values: no, yes. Say .*repaid=yes"),
        ({}, {"positive": "yes"}, "Write COLUMN=VALUE"),
        ({}, {"positive": "repaid=yes,decision=yes"}, "has no 'yes'. .* approve, deny"),
        ({}, {"positive": "repaid=yes,no"}, "would count as 1 in all rows"),
        ({}, {"threshold": 0.5}, "threshold needs scores"),
        ({"age": range(N)}, {"groups": ["age"]}, "600 different values.*bins"),
        ({"s": 50}, {"roles": {"y_score": "s"}}, "'50', which are no scores"),
        ({"s": "0,9"}, {"roles": {"y_score": "s"}}, "'0,9'.* Decimals have a point"),
        ({"w": -1}, {"roles": ROLES | {"sample_weight": "w"}}, "no weights of 0"),
        ({"repaid": None}, {}, "No row has a value in all of repaid, decision"),
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
        (b"repaid;decision;sex\nyes;deny;f\n", "columns are repaid;decision;sex"),
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


def audit_of_known_outcomes(rows, known, tmp_path):
    table = rows.assign(repaid=rows["repaid"].where(known))
    table.to_csv(tmp_path / "t.csv", index=False)
    return page.made(
        tmp_path / "t.csv",
        ["y_true=repaid", "y_pred=decision"],
        ["sex"],
        positive=POSITIVE,
        draws=99,
    )


def test_rates_that_need_an_outcome_are_those_of_the_rows_that_have_one(rows, tmp_path):
    known = np.random.default_rng(2).random(N) < 0.6
    audit = audit_of_known_outcomes(rows, known, tmp_path)
    approved = rows["decision"] == "approve"
    for measure, counted in (("pr", rows["sex"] != ""), ("tpr", known)):
        if measure == "tpr":
            counted = known & (rows["repaid"] == "yes")
        by_sex = approved[counted].groupby(rows["sex"])
        ours = audit.rates[audit.rates["measure"] == measure]
        assert ours["value"].tolist() == pytest.approx(by_sex.mean().tolist())
        assert ours["n"].tolist() == by_sex.size().tolist()
    assert f"repaid is known for {known.sum()} of {N} rows" in " ".join(
        audit.counted.notes
    )


def test_outcomes_of_approved_rows_alone_leave_out_what_cannot_be_known(rows, tmp_path):
    audit = audit_of_known_outcomes(rows, rows["decision"] == "approve", tmp_path)
    assert {*audit.rates["measure"]} == {"pr", "ppv"}
    needed = "true positive rate: it needs outcomes of rows that were predicted 0."
    assert needed in audit.unsaid
    assert "predicted 0 were predicted right, no number" in " ".join(
        audit.counted.notes
    )


@pytest.mark.parametrize(
    "form",
    [
        "csv",
        pytest.param(
            "parquet",
            marks=pytest.mark.xfail(
                strict=True, reason="the first of the two columns is counted"
            ),
        ),
    ],
)
def test_two_columns_of_one_name_are_not_guessed_between(rows, tmp_path, form):
    path = tmp_path / f"t.{form}"
    table = pa.Table.from_pandas(rows[["sex", "repaid", "decision", "race"]])
    table = table.rename_columns(["sex", "repaid", "decision", "sex"])
    if form == "csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)
    with pytest.raises(ValueError, match=r"no column 'sex' of which .* exactly one"):
        count_table(path, ROLES, ["sex"], positive=POSITIVE)
