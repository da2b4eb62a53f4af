"""Tables as people have them, through what notebook 13 asks of them: right, or a sentence."""

import gzip
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from helpers.audit import command, form, largest_gaps, page

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

    def to(table, *options, name="t.csv", **written):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if isinstance(table, bytes):
            (tmp_path / name).write_bytes(table)
        elif name.endswith(("parquet", "pq")):
            table.to_parquet(name, index=False)
        elif table is not None:
            table.to_csv(name, **({"index": False} | written))
        try:
            words = ["--table", str(written.get("of", name)), "--draws", "99", *options]
            made = page.made(**command.given_by("table", words))
        except ValueError as error:
            return f"audit: {error}"
        except SystemExit as error:
            return str(error)
        parts = [("What was read", made.counted.taken, made.counted.notes)]
        parts += [("Who is in the table", made.who), ("Rates", made.rates)]
        parts += [("Gaps", page.worded(made.gaps))]
        parts += [("The same, with strata", made.fixed)] * bool(made.counted.strata)
        parts += [("Is the smallest at least", made.ratios), ("Not told", made.unsaid)]
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
    refused = walk(both, "--map", f"y_pred={name}")
    assert f"audit: {spare} holds 0, 1: is it another model's y_pred?" in refused
    pattern = r"such as (--sensitive .*?) \(and to judge .*?: (--map .*?)\)"
    options, judge = map(shlex.split, re.search(pattern, refused).groups())
    assert groups(walk(both, *options, *judge))
    page = walk(both, "--map", f"y_pred={name}", *options)
    assert f">y_true is y_true, {name} is y_pred; groups are those of sex, stated.<" in page
    alone = numbers(walk(both.drop(columns=spare).rename(columns={name: "y_pred"})))
    assert numbers(page) == alone
    by = walk(both, "--map", f"y_pred={name}", *options, "--strata", spare)
    assert groups(by) == groups(page)
    before = alone.split("<h2>Is the smallest")[0]  # as a stratum the other overwrites nothing
    assert numbers(by).split("<h2>The same, with")[0] == before


ROLES = {"y_true": "good", "y_pred": "pred", "y_score": "p", "sample_weight": "w"}


@pytest.mark.parametrize("name", [*ROLES, "times", "cluster"])
def test_a_group_column_may_have_any_name(walk, name):
    """A3: also `cluster` and `times`, and each role where another column was named for it."""
    table = BASE.assign(w=1, p=SCORE).rename(columns={"y_true": "good", "y_pred": "pred"})
    maps = [f"--map={role}={column}" for role, column in ROLES.items()]
    by_sex = walk(table, *maps, "--sensitive", "sex")
    other = walk(table.rename(columns={"sex": name}), *maps, "--sensitive", name)
    assert groups(other) == {name: groups(by_sex)["sex"]}
    assert cells(other) == cells(by_sex) and "is cluster" not in other


def test_a_column_called_weight_weights_nothing_unless_asked(walk):
    table = BASE.assign(weight=np.arange(N) % 50 + 50)
    plain, free = walk(BASE), walk(table)
    assert "weight was not taken for sample_weight: --weight weight does so." in free
    assert numbers(walk(table, "--sensitive", "sex")) == numbers(plain)
    weighted = walk(table, "--weight", "weight")
    assert "weight is sample_weight" in weighted.split("<h1>")[1].split("Who is in")[0]
    assert numbers(weighted) != numbers(plain)
    named = walk(table.rename(columns={"weight": "sample_weight"}))
    assert numbers(named) == numbers(weighted)


# --- A2: all rows are looked at ---


def long(rows=120_000):
    table = pd.DataFrame({"y_true": np.arange(rows) % 3 % 2, "sex": "f"})
    table.loc[110_000:, "sex"] = "m"
    return table.assign(y_pred=np.where(table["sex"] == "m", 1 - table["y_true"], table["y_true"]))


@pytest.mark.parametrize(
    "name, options", [("t.csv", []), ("t.parquet", []), ("t.csv", ["--sensitive", "sex"])]
)
def test_sorted_exports_are_looked_at_to_the_end(walk, name, options):
    page = walk(long(), *options, name=name)
    assert groups(page) == {"sex": {"f": 110_000, "m": 10_000}}
    assert "more than chance gives" in page


def test_one_file_a_site(walk, tmp_path):
    for site in "abc":
        (tmp_path / "shards").mkdir(exist_ok=True)
        BASE.assign(site=site).to_parquet(tmp_path / f"shards/{site}.parquet")
    (tmp_path / "shards/.ipynb_checkpoints").mkdir()
    BASE.assign(site="z").to_parquet(tmp_path / "shards/.ipynb_checkpoints/a.parquet")
    assert groups(walk(None, name="shards"))["site"] == {"a": N, "b": N, "c": N}


# --- A5, A9, A12: values are what is written ---


@pytest.mark.parametrize(
    "values, odd", [((-1, 0, 1), "-1"), ((1, 0, "yes", "no"), "yes"), (("True", "False", "1"), "1")]
)
def test_labels_are_written_in_one_way(walk, values, odd):
    labels = [values[i % 2] for i in range(N)]
    table = BASE.assign(y_true=[*labels[:-1], odd])
    refused = walk(table)
    assert "more than one way to write 0 and 1" in refused
    if odd != "-1":
        assert f"is {odd!r} in row {N}" in refused


def test_one_number_is_a_positive_however_it_is_written(walk):
    table = BASE.astype({"y_true": float, "y_pred": float})
    for value in ("1", "1.0"):
        assert cells(walk(table, "--positive", value)) == cells(walk(BASE))


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
    assert groups(walk(table, "--sensitive", "code"))["code"] == expected


def test_typed_columns_are_written_as_people_do(walk):
    two = np.arange(N) % 2
    table = BASE.assign(
        flag=two == 1,
        day=pd.to_datetime(np.where(two, "2020-01-01", "2020-01-02")),
        id=pd.array([9007199254740993 + i for i in two[:-1]] + [None], dtype="Int64"),
        whole=[1.0 + i for i in two[:-1]] + [np.nan],
    )
    kinds = groups(walk(table, "--sensitive", "flag,day,id,whole", name="t.parquet"))
    assert set(kinds["flag"]) == {"true", "false"}
    assert set(kinds["day"]) == {"2020-01-01", "2020-01-02"}
    assert set(kinds["id"]) == {"9007199254740993", "9007199254740994", "(missing)"}
    assert set(kinds["whole"]) == {"1", "2", "(missing)"}


def test_groups_that_differ_in_capitals_and_blanks_are_one_with_a_note(walk):
    table = BASE.assign(
        sex=np.where(np.arange(N) % 8, SEX, "F "), smoker=np.where(TRUE, "Yes", "no")
    )
    page = walk(table, "--sensitive", "sex,smoker")
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
        ("t.csv", german(SCORED).replace("\n", "\r\n").encode("utf-8-sig")),
        ("t.tsv", SCORED.to_csv(index=False, sep="\t").encode()),
        ("t.txt", SCORED.to_csv(index=False, sep="\t").encode("utf-16")),
        ("t.csv", SCORED.to_csv(index=False).encode("utf-16")),
        ("t.csv", b"\xfe\xff" + SCORED.to_csv(index=False).encode("utf-16-be")),
        ("t.CSV", SCORED.to_csv(index=False).encode("utf-8-sig")),
        ("t.csv.gz", gzip.compress(SCORED.to_csv(index=False).encode())),
        ("T.CSV.GZ", gzip.compress(german(SCORED).encode("utf-16"))),
        (
            "t.csv",
            SCORED.assign(y_score=[f"{100 * s:g}%" for s in SCORE]).to_csv(index=False).encode(),
        ),
        ("t.csv", ("sep=;\n" + german(SCORED)).encode("utf-8-sig")),
        ("t.csv", ("\n" + SCORED.to_csv(index=False) + "\n\n").encode()),
        ("it's [1] *?.csv", SCORED.to_csv(index=False).replace(",", " , ").encode()),
        ("t.csv", SCORED.to_csv(index=False).replace("\n", ",\n").encode()),
    ],
)
def test_a_file_as_a_program_writes_it(walk, name, data):
    assert cells(walk(SCORED)) == cells(walk(data, name=name))


@pytest.mark.parametrize(
    "no, yes", [("No ", " YES"), ("f", "t"), (-1, 1), ("negative", "positive")]
)
def test_labels_in_any_usual_pair_count_the_same(walk, no, yes):
    table = BASE.astype({"y_true": object, "y_pred": object})
    table[["y_true", "y_pred"]] = table[["y_true", "y_pred"]].replace({0: no, 1: yes})
    page = walk(table)
    assert cells(page) == cells(walk(BASE))
    told = "In y_true and y_pred, 1 counts as 1 and all other values as 0."
    assert (told in page) == (no == -1), "an outlier detector writes -1 for what it reports"


def test_pq_is_parquet_a_cut_file_is_refused_and_two_rows_have_a_page(walk):
    assert numbers(walk(SCORED, name="it's [1] *?.pq")) == numbers(walk(SCORED))
    cut = gzip.compress(BASE.to_csv().encode())[:-30]
    assert "no table in the form its ending says" in walk(cut, name="t.csv.gz")
    assert groups(walk(SCORED.iloc[[0, 1]])) == {"sex": {"f": 1, "m": 1}}


def test_latin_1_is_read_and_told(walk):
    table = BASE.replace({"sex": {"f": "Männer"}})
    page = walk(table, encoding="latin-1")
    assert set(groups(page)["sex"]) == {"Männer", "m"} and "t.csv is no UTF-8" in page


def change(row, column, value, table=SCORED):
    table = table.astype({column: object})
    table.loc[row - 1, column] = value
    return table


@pytest.mark.parametrize(
    "table, options, message",
    [
        (change(7, "y_score", "0.9x"), [], "y_score: 1 values are no numbers, the first is '0.9x"),
        (change(7, "y_score", "0,9"), [], "'0,9' in row 7; .*decimals have a point"),
        (change(9, "y_true", "maybe"), [], "y_true has 3 values .* --positive y_true="),
        (BASE.assign(age=["old"] * N), ["--weight", "age"], "age: 400 values are no numbers, the"),
        (
            SCORED.rename(columns={"y_score": "prediction"}).drop(columns="y_pred"),
            [],
            "is it y_score. Say --map y_score=prediction",
        ),
        (
            SCORED.assign(y_score=TRUE * 3),
            [],
            r"y_score: .* '3' in row \d+; divide percentages by 100",
        ),
        (BASE.assign(w=np.where(TRUE, 1, -1)), ["--weight", "w"], "w: .* are negative, the first"),
        (BASE.assign(w=0), ["--weight", "w"], "all weights are 0"),
        (BASE.assign(c=1), ["--cluster", "c"], "clusters has one value"),
        (MANY, ["--sensitive", "n"], "n has .* different values.* too many for groups"),
        (BASE.assign(sex=None), [], "sex .no value"),
        (BASE.assign(y_pred=None), [], "none of y_true, y_pred is missing"),
        (BASE, ["--sensitive", "y_true"], "y_true cannot be y_true and a group"),
        (
            BASE,
            ["--sensitive", "sex", "--strata", "sex"],
            "sex cannot be a group .* and held fixed",
        ),
        (BASE, ["--ratio", "80"], "--ratio 80: a ratio lies between 0 and 1"),
        (BASE, ["--ratio", "nan"], "--ratio nan: a ratio"),
        (BASE, ["--draws", "0"], "--draws 0: an interval"),
        (BASE, ["--draws", "-5"], "--draws -5"),
        (BASE, ["--map", "y_pred=sex", "--map", "y_pred=y_true"], "sex and y_true were both given"),
        (BASE.rename(columns={"sex": "__y_pred"}), [], "rename the column __y_pred"),
    ],
)
def test_what_cannot_be_right_has_a_sentence(walk, table, options, message):
    refused = walk(table, *options)
    assert refused.startswith("audit: ") and re.search(message, refused), refused


@pytest.mark.parametrize(
    "data, message",
    [
        ("y_true,y_pred,sex\n1,0,f\n0,1\n", "t.csv, row 3: Expected 3 columns, got 2"),
        ("y_true,y_pred,sex\n1,0,f\n0,1,f,m\n", "t.csv, row 3: Expected 3 columns, got 4"),
        ('y_true,y_pred,sex\n1,0,f\n0,1,"f\n', "t.csv, line 3: a quotation mark"),
        ('y_true,y_pred,sex\n1,0,"f\n0,1,m\n0,0,"f\n1,1,m\n', "t.csv, line 4: a quotation mark"),
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
    assert "2 files" in walk(None, name="days") and "1.csv lacks sex" in walk(None, name="days")


def test_an_option_twice_joins_and_blanks_and_copies_do_not_matter(walk):
    table = BASE.rename(columns={"y_true": "paid", "y_pred": "says"}).assign(age=np.arange(N) % 3)
    one = walk(table, "--map", "y_true=paid", "y_pred=says", "--sensitive", "sex,age")
    maps = ["--map", "y_true=paid", "--map", "y_pred=says"]
    for groups in (["--sensitive", " sex, age,sex"], ["--sensitive", "sex", "--sensitive", "age"]):
        assert numbers(walk(table, *maps, *groups)) == numbers(one)


# --- a positive value a column ---


@pytest.mark.parametrize("repaid", [("no", "yes"), ("late", "on time, or before")])
def test_each_column_has_its_own_positive(walk, repaid):
    no, yes = repaid
    table = pd.DataFrame({"decision": np.where(FAIR, "approve", "deny"), "sex": SEX})
    table["repaid"] = np.where(TRUE, yes, no)
    maps = ["--map", "y_true=repaid"]
    page = walk(table, *maps, "--positive", f"decision=approve,repaid={yes}")
    assert f"In repaid, {yes} counts as 1 and all other values as 0." in page
    assert cells(page) == cells(walk(BASE))
    for options in ([], ["--positive", "approve"], ["--positive", yes], ["--positive", "oui"]):
        refused = walk(table, *maps, *options)  # asks, with a command that is then accepted
        answer = shlex.split(re.search(r"(?:such as|say) (--positive [^(\n]*?)$", refused, re.M)[1])
        assert "Who is in the table" in walk(table, *maps, *answer), (refused, answer)
