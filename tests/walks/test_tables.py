"""Tables as people have them, through what notebook 13 asks of them: right, or a sentence."""

import csv
import gzip
import re
import shlex
import unicodedata

import numpy as np
import pandas as pd
import pytest

from helpers.audit import form, largest_gaps, page
from helpers.audit import groups as tables

rng = np.random.default_rng(0)
N = 400
SEX = np.where(np.arange(N) % 2, "m", "f")
TRUE = rng.integers(0, 2, N)
FAIR = np.where(rng.random(N) < 0.1, 1 - TRUE, TRUE)
UNFAIR = np.where((SEX == "f") & (rng.random(N) < 0.5), 1 - TRUE, TRUE)
SCORE = (0.25 + 0.5 * FAIR).round(2)
BASE = pd.DataFrame({"y_true": TRUE, "y_pred": FAIR, "sex": SEX})
SCORED = BASE.assign(y_score=SCORE)
MANY = pd.DataFrame({"n": np.arange(3000), "y_pred": np.arange(3000) % 2})


@pytest.fixture
def walk(tmp_path, monkeypatch):
    """Audit a table with options: its page, or the sentence that refuses it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(largest_gaps, "A_GAP", 25)

    def to(table, *, name="t.csv", encoding="utf-8", **options):
        if isinstance(table, bytes):
            (tmp_path / name).write_bytes(table)
        elif name.endswith("parquet"):
            table.to_parquet(name, index=False)
        elif table is not None:
            table.to_csv(name, index=False, encoding=encoding)
        for parameter in {"roles", "groups", "strata"} & options.keys():
            [options[parameter]] = csv.reader([options[parameter]])
        try:
            made = page.made(name, **{"draws": 99, **options})
        except ValueError as error:
            return f"refused: {error}"
        parts = [
            ("What was read", made.counted.taken, made.counted.notes),
            ("Who is in the table", made.who),
            ("Rates", made.rates),
            ("Gaps", page.worded(made.gaps)),
            ("Is the smallest at least", made.ratios),
            ("Not said", made.unsaid),
        ]
        if made.counted.strata:
            parts.insert(4, ("The same, with strata", made.fixed))
        return form.page("t.csv", "", parts)

    return to


def numbers(page):
    """All of a page below what was taken for what."""
    assert "Who is in the table" in page, page
    return page.split("Who is in the table")[1]


def cells(page):
    """Its numbers."""
    return re.findall(r"\d\.\d{3}", numbers(page))


def groups(page):
    """{column: {group: rows}} of a page's first table."""
    sizes, row = {}, r"<tr>\s*<td>(.*?)</td>\s*<td>(.*?)</td>\s*<td>(\d+)</td>"
    for column, group, rows in re.findall(row, numbers(page).split("</table>")[0]):
        sizes.setdefault(column, {})[group] = int(rows)
    return sizes


# --- A1, A3, A8: which column is what ---


@pytest.mark.parametrize("new", ["y_pred_new", "Model B"])
@pytest.mark.parametrize("judged", ["old", "new"])
def test_of_two_predictions_the_named_one_is_judged(walk, new, judged):
    """What the refusal prescribes is accepted, for names with blanks and commas, too."""
    both = BASE.rename(columns={"sex": "sex, stated"}).assign(**{new: UNFAIR})
    name, spare = (new, "y_pred") if judged == "new" else ("y_pred", new)
    refused = walk(both, roles=f"y_pred={name}")
    assert f"refused: {spare} holds 0, 1: is it another model's y_pred?" in refused
    pattern = r"such as groups (.*?) \(and to judge .*?: roles (.*?)\)"
    prescribed = [shlex.split(text)[0] for text in re.search(pattern, refused).groups()]
    assert groups(walk(both, groups=prescribed[0], roles=prescribed[1]))
    page = walk(both, groups=prescribed[0], roles=f"y_pred={name}")
    alone = walk(both.drop(columns=spare).rename(columns={name: "y_pred"}))
    assert numbers(page) == numbers(alone)


ROLES = {"y_true": "good", "y_pred": "pred", "y_score": "p", "sample_weight": "w"}


@pytest.mark.parametrize("name", [*ROLES, "times", "cluster"])
def test_a_group_column_may_have_any_name(walk, name):
    """A3: also `cluster` and `times`, and each role where another column was named for it."""
    table = BASE.assign(w=1, p=SCORE).rename(
        columns={"y_true": "good", "y_pred": "pred"}
    )
    maps = ",".join(f"{role}={column}" for role, column in ROLES.items())
    by_sex = walk(table, roles=maps, groups="sex")
    other = walk(table.rename(columns={"sex": name}), roles=maps, groups=name)
    assert groups(other) == {name: groups(by_sex)["sex"]}
    assert cells(other) == cells(by_sex) and "is cluster" not in other


def test_a_column_called_weight_weights_nothing_unless_asked(walk):
    table = BASE.assign(weight=np.arange(N) % 50 + 50)
    plain, free = walk(BASE), walk(table)
    assert "weight was not taken for sample_weight: weight weight does so." in free
    assert numbers(walk(table, groups="sex")) == numbers(plain)
    weighted = walk(table, weight="weight")
    assert "weight is sample_weight" in weighted.split("<h1>")[1].split("Who is in")[0]
    assert numbers(weighted) != numbers(plain)
    named = walk(table.rename(columns={"weight": "sample_weight"}))
    assert numbers(named) == numbers(weighted)


# --- A2: all rows are looked at ---


def long(rows=120_000):
    table = pd.DataFrame({"y_true": np.arange(rows) % 3 % 2, "sex": "f"})
    table.loc[110_000:, "sex"] = "m"
    return table.assign(
        y_pred=np.where(table["sex"] == "m", 1 - table["y_true"], table["y_true"])
    )


@pytest.mark.parametrize(
    "name, options",
    [("t.csv", {}), ("t.parquet", {}), ("t.csv", {"groups": "sex"})],
)
def test_sorted_exports_are_looked_at_to_the_end(walk, name, options):
    page = walk(long(), **options, name=name)
    assert groups(page) == {"sex": {"f": 110_000, "m": 10_000}}
    assert "significant" in page


# --- A5, A9, A12: values are what is written ---


@pytest.mark.parametrize(
    "values, odd",
    [((-1, 0, 1), "-1"), ((1, 0, "yes", "no"), "yes"), (("True", "False", "1"), "1")],
)
def test_labels_are_written_in_one_way(walk, values, odd):
    labels = [values[i % 2] for i in range(N)]
    table = BASE.assign(y_true=[*labels[:-1], odd])
    refused = walk(table)
    assert "more than one way to write 0 and 1" in refused
    if odd != "-1":
        assert f"is {odd!r} in row {N}" in refused


@pytest.mark.parametrize(
    "kinds",
    [
        ["9007199254740992", "9007199254740993", "9007199254740995", ""],
        ["1.10", "1.1", "2", "10"],
        ["2020-01-01", "2020-01-02", "2021-03-04", "2022-05-06"],
    ],
)
def test_codes_stay_what_they_are(walk, kinds):
    table = BASE.assign(code=[kinds[i % 4] for i in range(N)])
    expected = {kind or "(missing)": N // 4 for kind in kinds}
    assert groups(walk(table, groups="code"))["code"] == expected


def test_typed_columns_are_written_as_people_do(walk):
    two = np.arange(N) % 2
    table = BASE.assign(
        flag=two == 1,
        day=pd.to_datetime(np.where(two, "2020-01-01", "2020-01-02")),
        id=pd.array([9007199254740993 + i for i in two[:-1]] + [None], dtype="Int64"),
        whole=[1.0 + i for i in two[:-1]] + [np.nan],
    )
    kinds = groups(walk(table, groups="flag,day,id,whole", name="t.parquet"))
    assert set(kinds["flag"]) == {"true", "false"}
    assert set(kinds["day"]) == {"2020-01-01", "2020-01-02"}
    assert set(kinds["id"]) == {"9007199254740993", "9007199254740994", "(missing)"}
    assert set(kinds["whole"]) == {"1", "2", "(missing)"}


def test_groups_that_differ_in_capitals_and_blanks_are_one_with_a_note(walk):
    table = BASE.assign(
        sex=np.where(np.arange(N) % 8, SEX, "F "), smoker=np.where(TRUE, "Yes", "no")
    )
    page = walk(table, groups="sex,smoker")
    assert groups(page)["sex"] == {"f": N // 2, "m": N // 2}
    assert "In sex, &#x27;F &#x27; was counted as &#x27;f&#x27;." in page
    assert set(groups(page)["smoker"]) == {"Yes", "no"}


# --- B2, B3: files as programs write them ---


def german(table):
    return table.to_csv(index=False, sep=";", decimal=",")


@pytest.mark.parametrize(
    "name, data",
    [
        ("t.csv", german(SCORED).encode()),
        ("t.tsv", SCORED.to_csv(index=False, sep="\t").encode()),
        ("t.txt", SCORED.to_csv(index=False, sep="\t").encode("utf-16")),
        ("t.csv.gz", gzip.compress(SCORED.to_csv(index=False).encode())),
        (
            "t.csv",
            SCORED.assign(y_score=[f"{100 * s:g}%" for s in SCORE])
            .to_csv(index=False)
            .encode(),
        ),
        ("t.csv", ("sep=;\n" + german(SCORED)).encode("utf-8-sig")),
        ("it's [1] *?.csv", SCORED.to_csv(index=False).replace(",", " , ").encode()),
        ("t.csv", SCORED.to_csv(index=False).replace("\n", ",\n").encode()),
    ],
)
def test_a_file_as_a_program_writes_it(walk, name, data):
    assert cells(walk(SCORED)) == cells(walk(data, name=name))


@pytest.mark.parametrize("no, yes", [("No ", " YES"), (-1, 1)])
def test_labels_in_any_usual_pair_count_the_same(walk, no, yes):
    table = BASE.astype({"y_true": object, "y_pred": object})
    table[["y_true", "y_pred"]] = table[["y_true", "y_pred"]].replace({0: no, 1: yes})
    page = walk(table)
    assert cells(page) == cells(walk(BASE))
    told = "In y_true and y_pred, 1 counts as 1 and all other values as 0."
    assert (told in page) == (no == -1), (
        "an outlier detector writes -1 for what it reports"
    )


def test_latin_1_is_read_and_told(walk):
    table = BASE.replace({"sex": {"f": "Männer"}})
    page = walk(table, encoding="latin-1")
    assert set(groups(page)["sex"]) == {"Männer", "m"} and "t.csv is no UTF-8" in page


def change(row, column, value, table=SCORED):
    table = table.astype({column: object})
    table.loc[row - 1, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            change(7, "y_score", "0.9x"),
            {},
            "1 values are no numbers, the first is '0.9x",
        ),
        (change(7, "y_score", "0,9"), {}, "'0,9' in row 7; .*decimals have a point"),
        (change(9, "y_true", "maybe"), {}, "y_true has 3 values .* positive y_true="),
        (SCORED.assign(y_score=TRUE * 3), {}, r"'3' in row \d+; divide percentages"),
        (
            BASE.assign(w=np.where(TRUE, 1, -1)),
            {"weight": "w"},
            "are negative, the first",
        ),
        (BASE.assign(w=0), {"weight": "w"}, "all weights are 0"),
        (BASE.assign(c=1), {"cluster": "c"}, "clusters has one value"),
        (MANY, {"groups": "n"}, "n has .* different values.* too many for groups"),
        (BASE.assign(sex=None), {}, "sex .no value"),
        (BASE.assign(y_pred=None), {}, "none of y_true, y_pred is missing"),
        (BASE, {"groups": "y_true"}, "y_true cannot be y_true and a group"),
        (
            BASE,
            {"groups": "sex", "strata": "sex"},
            "sex cannot be a group .* held fixed",
        ),
        (BASE, {"limit": 80}, "limit 80: a ratio lies between 0 and 1"),
        (BASE, {"draws": 0}, "draws 0: an interval"),
        (BASE, {"roles": "y_pred=sex,y_pred=y_true"}, "sex and y_true were both given"),
        (BASE.rename(columns={"sex": "__y_pred"}), {}, "rename the column __y_pred"),
    ],
)
def test_what_cannot_be_right_has_a_sentence(walk, table, options, message):
    refused = walk(table, **options)
    assert refused.startswith("refused: ") and re.search(message, refused), refused


@pytest.mark.parametrize(
    "data, message",
    [
        ("y_true,y_pred,sex\n1,0,f\n0,1\n", "t.csv, row 3: Expected 3 columns, got 2"),
        (
            "y_true,y_pred,sex\n1,0,f\n0,1,f,m\n",
            "t.csv, row 3: Expected 3 columns, got 4",
        ),
        ('y_true,y_pred,sex\n1,0,f\n0,1,"f\n', "t.csv, line 3: a quotation mark"),
        (
            'y_true,y_pred,sex\n1,0,"f\n0,1,m\n0,0,"f\n1,1,m\n',
            "t.csv, line 4: a quotation mark",
        ),
        ("1,0,f\n0,1,m\n", "is its first line the header"),
        ("PK\x03\x04\0\0\0", "no table in the form"),
        ("y_true,y_pred,sex,sex\n1,0,f,f\n0,1,m,f\n", "have the same name"),
        ("y_true,y_pred,Sex,sex\n1,0,f,f\n0,1,m,f\n", "have the same name"),
        ("", "the file is empty"),
        ("y_pred,g\n", "the table has no rows"),
        ("y_pred,repaid,g\n0,1,a\n1,0,b\n", "repaid holds 0, 1: is it y_true"),
    ],
)
def test_a_damaged_file_names_the_line(walk, data, message):
    assert message in walk(data.encode())


def test_of_several_files_the_row_and_file_are_named(walk, tmp_path):
    (tmp_path / "days").mkdir()
    for day, word in enumerate(("no yes", "0 1")):
        no, yes = word.split()
        mine = BASE.assign(y_true=np.where(TRUE, yes, no))
        mine.iloc[: N - 10 * day].to_csv(tmp_path / f"days/{day}.csv", index=False)
    first = f"the first that is not no or yes is '{'01'[TRUE[0]]}' in row 1 of 1.csv"
    assert first in walk(None, name="days")
    BASE.drop(columns="sex").to_csv(tmp_path / "days/1.csv", index=False)
    assert "2 files" in walk(None, name="days") and "1.csv lacks sex" in walk(
        None, name="days"
    )


# --- a positive value a column ---


@pytest.mark.parametrize("repaid", [("no", "yes"), ("late", "on time, or before")])
def test_each_column_has_its_own_positive(walk, repaid):
    """The answer that a refusal prescribes is accepted."""
    no, yes = repaid
    table = pd.DataFrame({"decision": np.where(FAIR, "approve", "deny"), "sex": SEX})
    table["repaid"] = np.where(TRUE, yes, no)
    roles = "y_true=repaid"
    page = walk(table, roles=roles, positive=f"decision=approve,repaid={yes}")
    assert f"In repaid, {yes} counts as 1 and all other values as 0." in page
    assert cells(page) == cells(walk(BASE))
    for positive in (None, "approve", yes, "oui"):
        refused = walk(table, roles=roles, positive=positive)
        answer = re.search(r"such as positive ([^(\n]*?)$", refused, re.M)[1]
        [answer] = shlex.split(answer)
        assert "Who is in the table" in walk(table, roles=roles, positive=answer)


def test_several_values_are_given_as_a_mapping_in_python(tmp_path):
    risk = np.where(FAIR, np.where(np.arange(N) % 3, "Medium", "High"), "Low")
    BASE.drop(columns="y_pred").assign(risk=risk).to_csv(
        tmp_path / "t.csv", index=False
    )
    BASE.to_csv(tmp_path / "plain.csv", index=False)
    made = page.made(
        tmp_path / "t.csv",
        ["y_pred=risk"],
        positive={"risk": ["Medium", "High"]},
        draws=99,
    )
    plain = page.made(tmp_path / "plain.csv", draws=99)
    pd.testing.assert_frame_equal(made.rates, plain.rates)


@pytest.mark.parametrize(
    "positive, message",
    [
        ("risk=Medium,Hgh", "risk holds high, low, medium, and no hgh"),
        ("risk=Low,Medium,High", "these are all values of risk"),
    ],
)
def test_positive_values_that_cannot_be_meant_are_refused(walk, positive, message):
    risk = np.where(FAIR, np.where(np.arange(N) % 3, "Medium", "High"), "Low")
    table = BASE.drop(columns="y_pred").assign(risk=risk)
    refused = walk(table, roles="y_pred=risk", positive=positive)
    assert refused.startswith("refused: ") and message in refused


# --- the same name in two Unicode forms ---


def test_a_group_in_two_unicode_forms_is_one_group_and_the_page_says_so(walk):
    city = np.where(np.arange(N) % 3, "Málaga", unicodedata.normalize("NFD", "Málaga"))
    city = np.where(SEX == "f", city, "Cádiz")
    page = walk(BASE.assign(city=city), groups="city")
    assert groups(page)["city"] == {"Málaga": N // 2, "Cádiz": N // 2}
    rows = min((city == "Málaga").sum(), (SEX == "f").sum() - (city == "Málaga").sum())
    assert f"{rows} rows write &#x27;Málaga&#x27; in another Unicode form" in page
    assert "Spellings of city that were joined with others: 1 of 3." in page


# --- columns that nobody asked for ---

TWICE = BASE.rename(columns={"y_true": "good", "y_pred": "said"}).assign(
    a=1, b=2, Sex="x"
)
MAPS = "y_true=good,y_pred=said"


def test_unused_columns_of_one_name_are_not_looked_at(walk):
    data = TWICE.to_csv(index=False).replace("a,b,Sex", "age,age,Sex").encode()
    page = walk(data, roles=MAPS, groups="sex")
    assert cells(page) == cells(walk(BASE, groups="sex"))
    refused = walk(data, roles=MAPS, groups="age")
    assert "t.csv: the columns age, age have the same name" in refused


def test_parquet_columns_of_lists_and_structs_are_not_looked_at(walk):
    table = BASE.assign(
        tags=[["a", "b"]] * N, where={"x": 1}, raw=b"\0", pixels=[np.zeros(3)] * N
    )
    table["where"] = [{"x": place} for place in range(N)]
    page = walk(table, name="t.parquet")
    assert numbers(page) == numbers(walk(BASE))
    for name in ("tags", "where", "raw", "pixels"):
        assert re.search(rf"Not looked at: .*{name} \(its values are of the type", page)
    assert numbers(walk(table, groups="sex", name="t.parquet")) == numbers(walk(BASE))
    refused = walk(table, groups="tags", name="t.parquet")
    assert "the column tags holds values of the type VARCHAR[]" in refused


def test_bands_of_pandas_cut_are_the_same_in_csv_and_parquet(walk):
    ages = np.random.default_rng(1).integers(18, 80, N)
    band = pd.cut(ages, [17, 30, 45, 60, 80, 120])  # nobody is above 80
    table = BASE.assign(age_band=band.astype(str).astype("category"))
    table["age_band"] = table["age_band"].cat.add_categories("closed")
    table["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(
        np.arange(N) % 200, "D"
    )
    flags = table.astype({"y_true": "boolean", "y_pred": "boolean"})
    flags.loc[:4, "y_pred"] = None
    page, typed = walk(flags), walk(flags, name="t.parquet")
    bands = {
        str(one).replace(">", "&gt;"): n
        for one, n in pd.Series(band).value_counts().items()
    }
    assert groups(page)["age_band"].keys() == {name for name, n in bands.items() if n}
    assert numbers(typed) == numbers(page) and "5 rows without a y_pred" in typed


# --- what is missing, and what is a value ---


def test_na_and_none_are_groups_like_others(walk):
    country = np.array(["NA", "None", "null", "ZA", "nan"])[np.arange(N) % 5]
    page = walk(BASE.assign(country=country), groups="country")
    assert groups(page)["country"] == dict.fromkeys(
        ["NA", "None", "null", "ZA", "nan"], N // 5
    )


def test_na_is_a_class_among_words_and_missing_among_0_and_1(walk):
    words = BASE.assign(
        y_pred=np.where(FAIR, "NA", np.where(np.arange(N) % 2, "BW", "ZA"))
    )
    assert cells(walk(words, positive="y_pred=NA")) == cells(walk(BASE))
    gaps = BASE.astype({"y_pred": object})
    gaps.loc[:9, "y_pred"] = "NA"
    page = walk(gaps)
    assert "In y_pred, NA counts as missing." in page
    assert "10 rows without a y_pred are left out." in page


# --- outcomes that are known for some rows ---

KNOWN = np.random.default_rng(2).random(N) < 0.6


def values(audit, of):
    rates = audit.rates[audit.rates["measure"] == of].set_index("group")
    return rates["value"].to_dict(), rates["n"].to_dict()


def partly(tmp_path, known, **more):
    table = BASE.assign(y_score=SCORE, **more)
    table["y_true"] = table["y_true"].where(known)
    table.to_csv(tmp_path / "t.csv", index=False)
    return table, page.made(tmp_path / "t.csv", groups=["sex"], draws=99)


def test_rates_that_need_an_outcome_are_those_of_the_rows_that_have_one(tmp_path):
    table, audit = partly(tmp_path, KNOWN)
    by = table.groupby("sex")
    assert values(audit, "pr") == (by["y_pred"].mean().to_dict(), by.size().to_dict())
    good = table[table["y_true"] == 1].groupby("sex")
    assert values(audit, "tpr") == (
        good["y_pred"].mean().to_dict(),
        good.size().to_dict(),
    )
    known = table[table["y_true"].notna()]
    right = (known["y_true"] == known["y_pred"]).groupby(known["sex"])
    assert values(audit, "acc") == (right.mean().to_dict(), right.size().to_dict())
    assert values(audit, "auc")[1] == right.size().to_dict()
    assert values(audit, "score")[1] == by.size().to_dict()
    assert f"y_true is known for {KNOWN.sum()} of {N} rows" in audit.counted.notes[0]


@pytest.mark.parametrize("decision, kept", [(1, {"pr", "ppv"}), (0, {"pr", "npv"})])
def test_outcomes_of_one_decision_alone_leave_out_what_cannot_be_known(
    tmp_path, decision, kept
):
    """Of refused loans nobody knows whether they would have been repaid."""
    _, audit = partly(tmp_path, decision == FAIR)
    assert {*audit.rates["measure"]} - {"score", "calibration", "auc"} == kept
    reason = f"true positive rate: it needs outcomes of rows that were predicted {1 - decision}."
    assert reason in audit.unsaid
    assert (
        f"predicted {1 - decision} were predicted right, no number"
        in audit.counted.notes[-1]
    )


# --- columns that are asked about, or taken with a sentence ---


def test_single_ages_become_no_groups_and_the_page_says_how_to_make_bands(walk):
    age = np.random.default_rng(3).integers(18, 61, N)
    table = BASE.assign(age=age, y_pred=UNFAIR)
    page = walk(table)
    assert groups(page) == {"sex": {"f": N // 2, "m": N // 2}}
    assert "significant" in page
    assert f"age ({len({*age})} whole numbers)" in page
    line = re.search(r"table\[&#x27;age&#x27;\], (\[.*?\])\)", page)[1]
    edges = [int(edge) for edge in re.findall(r"\d+", line)]
    sizes = pd.cut(age, edges).value_counts()
    assert sizes.sum() == N and sizes.min() > N / 8
    asked = walk(table, groups="sex,age")
    assert (
        len(groups(asked)["age"]) == len({*age}) and "each a group of few rows" in asked
    )


def test_a_score_of_0_and_1_is_taken_for_decisions_and_label_value_for_outcomes(walk):
    """A table in the form that aequitas reads."""
    table = BASE.rename(columns={"y_true": "label_value", "y_pred": "score"})
    page = walk(table.assign(entity_id=np.arange(N)))
    assert "label_value is y_true, score is y_pred; groups are those of sex." in page
    assert "score holds 0 and 1 alone, so it was taken for decisions (y_pred)" in page
    assert cells(page) == cells(walk(BASE))
    asked = walk(table, roles="y_score=score")
    assert "score is y_score" in asked and "mean score" in asked


# --- all or none ---


def test_a_gap_between_all_and_none_has_newcombes_interval_in_table_and_headline(
    tmp_path,
):
    team = np.repeat(["A", "B"], 40)
    outcome = np.arange(80) % 2
    table = pd.DataFrame(
        {"team": team, "y_true": outcome, "y_pred": (team == "A").astype(int)}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    audit = page.made(tmp_path / "t.csv", draws=99)
    gap = audit.gaps.set_index("measure").loc["pr"]
    assert (gap["value"], gap["high"]) == (1, 1) and gap["low"] == pytest.approx(
        0.876, abs=5e-4
    )
    assert "a gap of 1.000 (95% interval 0.876 to 1.000)" in tables.headline(
        audit, pd.DataFrame()
    )
    ratio = audit.ratios.iloc[0]
    assert ratio["value"] == 0 and 0.08 < ratio["high"] < 0.13
    against = tables.against(audit).set_index("measure").loc["pr"]
    assert against["high"] == pytest.approx(-0.876, abs=5e-4)
    against = tables.against(audit, "B").set_index("measure").loc["pr"]
    assert (against["ratio"], against["ratio_high"]) == (np.inf, np.inf)
    assert 5 < against["ratio_low"] < 20
