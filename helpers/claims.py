"""Read claims, judge them, and show judged claims.

A claim is a row of ``data/paper/claims.csv``. It is judged by an estimate that a lesson
hands over, or by a row of a table that the lesson shows (``claim_rows.csv``).
"""

import html
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import store
from helpers.figures import style
from helpers.stats import Estimate

TABLE = store.root() / "data" / "paper" / "claims.csv"
ROWS = TABLE.with_name("claim_rows.csv")

REPLICATED = "replicated"
NOT_REPLICATED = "not replicated"
CONTRADICTS = "contradicts the paper"  # not replicated on the paper's own data
SUPPORTED = "supported"  # a claim that this suite makes
NOT_SUPPORTED = "not supported"
INCONCLUSIVE = "inconclusive"
NOT_SPECIFIC = "not specific to the bias"  # the control model shows the same
REPORTED_ONLY = "reported only"  # a number without a verdict
NOT_TESTABLE = "not testable here"
SUITE = "suite"  # in the column `by` of claims that this suite makes
THIS_SUITE = "this suite"  # the source of these claims
CONTROL_SUFFIX = "-reference"  # ends the name of a table of the control model
LEVEL = 0.05  # of adjusted p-values
NUMBERS = ("estimate", "ci_low", "ci_high", "bound", "p")
COLUMNS = (
    "id",
    "subject",
    "claim",
    "source",
    "paper",
    "cases",
    "estimate",
    "ci_low",
    "ci_high",
    "unit",
    "side",
    "bound",
    "p",
    "control",
    "verdict",
    "seeds",
    "note",
)

# sign and background of a verdict; readers who are colour-blind tell blue from orange
YES = ("✓", "#005b8f")
NO = ("✗", "#a34400")
NOT_COUNTED = ("–", "#5c5c5c")
LOOKS = {
    REPLICATED: YES,
    NOT_REPLICATED: NO,
    CONTRADICTS: NO,
    SUPPORTED: YES,
    NOT_SUPPORTED: NO,
    INCONCLUSIVE: ("?", "#5c5c5c"),
    NOT_SPECIFIC: ("=", "#7a3b69"),
    REPORTED_ONLY: NOT_COUNTED,
    NOT_TESTABLE: NOT_COUNTED,
}
VERDICTS = tuple(LOOKS)
# if more claims than this are not testable for the same reason, they share a line
MOST_SEPARATE_LINES = 3


@cache
def read(path: Path = TABLE) -> pd.DataFrame:
    """Read the claims, indexed by id; ``data/paper/README.md`` explains the columns."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False).set_index("id")
    table["bound"] = pd.to_numeric(table["bound"])
    return table


def judge(
    notebook: str,
    estimates: Iterable[Estimate],
    tables: Mapping[str, pd.DataFrame] | None = None,
    *,
    control: Iterable[Estimate] = (),
    data: Sequence[str] = ("printed",),
    caveat: str = "",
) -> pd.DataFrame:
    """Judge the claims of a notebook.

    A claim is right if the whole interval is on its side of the bound, and wrong if the
    whole interval is on the other side. An adjusted p-value decides in place of the
    interval. A claim that is right for the control model as well is not specific.

    Parameters
    ----------
    notebook : str
        Name of the notebook, which begins with its number.
    estimates : iterable of Estimate
        What was measured.
    tables : mapping of str to DataFrame, optional
        The tables that the notebook shows, by name. Those whose name ends with
        ``-reference`` are of the control model.
    control : iterable of Estimate
        The same quantities of the control model.
    data : sequence of str
        The papers' own data that were used, as in the column `own_data` of the claims.
    caveat : str
        What else differs from the paper where its own data were used.

    Returns
    -------
    DataFrame
        One row per claim, or per claim and subject, with the columns `COLUMNS`:
        `subject` (what the claim is about, if there are several), `claim`, `source`
        (paper and section), `paper` and `cases` (the printed value and number of
        cases), `estimate` with its 95% interval `ci_low` to `ci_high` in `unit`, `side`
        and `bound` (where the claim is right), `p` (adjusted), `control` (the control
        model's estimate as text), `verdict`, `seeds` (empty) and `note`.

    Raises
    ------
    KeyError
        An estimate belongs to no claim of this notebook.
    ValueError
        The lower end of an interval is above its upper end.
    """
    chapter = notebook.split("_")[0]
    claims_of_lesson = read().query("notebook == @chapter")
    tables = dict(tables or {})
    control_tables = {
        name.removesuffix(CONTROL_SUFFIX): table
        for name, table in tables.items()
        if name.endswith(CONTROL_SUFFIX)
    }
    estimates = [*estimates, *_from_tables(claims_of_lesson.index, tables)]
    control = [*control, *_from_tables(claims_of_lesson.index, control_tables)]
    control_intervals = {_identity(item): item.interval for item in control}
    for estimate in estimates:
        if estimate.claim not in claims_of_lesson.index:
            raise KeyError(
                f"{TABLE.name} has no claim {estimate.claim!r} of notebook {chapter}."
            )
    rows = []
    for name, claim in claims_of_lesson.iterrows():
        measured = [estimate for estimate in estimates if estimate.claim == name]
        if not measured and claim["by"] != SUITE:
            measured = [Estimate(name, note=claim["otherwise"])]
        for estimate in measured:
            control_interval = control_intervals.get(_identity(estimate))
            rows.append(_row(claim, estimate, control_interval, data, caveat))
    return pd.DataFrame(rows, columns=COLUMNS)


def _identity(estimate: Estimate) -> tuple:
    """Return the claim and the subject, which identify an estimate."""
    return (estimate.claim, *estimate.subject.values())


def _from_tables(
    ids: Iterable[str], tables: Mapping[str, pd.DataFrame]
) -> list[Estimate]:
    """Read the estimates that are rows of tables.

    A column p_holm holds adjusted p-values.
    """
    places = pd.read_csv(ROWS, dtype=str, keep_default_na=False)
    places = places[places["id"].isin(ids) & places["table"].isin(list(tables))]
    estimates = []
    for place in places.itertuples():
        rows = tables[place.table]
        if place.only:
            rows = rows.query(place.only)
        for row in rows.to_dict("records"):
            low, high = style.ends(row, place.value)
            subject = {column: row[column] for column in place.of.split()}
            interval = (row[place.value], low, high)
            estimates.append(Estimate(place.id, interval, subject, p=row.get("p_holm")))
    return estimates


def _row(
    claim: pd.Series,
    estimate: Estimate,
    control: tuple[float, float, float] | None,
    data: Sequence[str],
    caveat: str,
) -> dict[str, Any]:
    """Judge one claim by one estimate."""
    not_measured = (math.nan, math.nan, math.nan)
    value, low, high = map(float, estimate.interval or not_measured)
    if low > high:
        raise ValueError(
            f"{claim.name}: the lower end {low} is above the upper {high}."
        )
    verdict = _verdict(claim, (value, low, high), estimate.p, control, data)
    notes = []
    if verdict == REPORTED_ONLY:
        if claim["cannot_fail"]:
            notes.append(claim["cannot_fail"])
        if claim["same"] == "no":
            notes.append("another quantity than the paper's")
    elif verdict != NOT_TESTABLE and caveat and claim["own_data"] in data:
        notes.append(caveat)
    if estimate.note:
        notes.append(estimate.note)
    paper, cases = claim["printed"], claim["n"]
    if paper.isdigit() and cases.isdigit():
        paper, cases = f"{paper} of {cases}", ""
    subject = defaultdict(lambda: "…", estimate.subject)
    source = f"{claim['by']}, {claim['section']}"
    return {
        "id": claim.name,
        "subject": ", ".join(map(str, estimate.subject.values())),
        "claim": claim["claim"].format_map(subject),
        "source": THIS_SUITE if claim["by"] == SUITE else source,
        "paper": paper,
        "cases": cases,
        "estimate": value,
        "ci_low": low,
        "ci_high": high,
        "unit": claim["quantity"].format_map(subject),
        "side": claim["side"],
        "bound": claim["bound"],
        "p": math.nan if estimate.p is None else float(estimate.p),
        "control": format_interval(*control) if control else "",
        "verdict": verdict,
        "seeds": "",
        "note": "; ".join(notes),
    }


def _verdict(
    claim: pd.Series,
    interval: tuple[float, float, float],
    p: float | None,
    control: tuple[float, float, float] | None,
    data: Sequence[str],
) -> str:
    """Decide the verdict on a claim."""
    if any(map(math.isnan, interval)):
        return NOT_TESTABLE
    if claim["cannot_fail"] or claim["same"] == "no":
        return REPORTED_ONLY
    right = _is_right(claim["side"], claim["bound"], interval, p)
    if right is None:
        return INCONCLUSIVE
    if right and control and _is_right(claim["side"], claim["bound"], control, None):
        return NOT_SPECIFIC
    if claim["by"] == SUITE:
        return SUPPORTED if right else NOT_SUPPORTED
    if right:
        return REPLICATED
    return CONTRADICTS if claim["own_data"] in data else NOT_REPLICATED


def _is_right(
    side: str, bound: float, interval: tuple[float, float, float], p: float | None
) -> bool | None:
    """Return whether a quantity is on its side of the bound; None if unclear."""
    value, low, high = interval
    if side == "equal":
        return value == bound
    if p is not None:
        if p > LEVEL:
            return None
        low = high = value
    if side == "above":
        is_right = low > bound
        is_wrong = high <= bound
    else:
        is_right = high < bound
        is_wrong = low >= bound
    if is_right or is_wrong:
        return is_right
    return None


def count_seeds(judged: pd.DataFrame, notebook: str) -> list[str]:
    """Count the recorded seeds that gave the same verdict.

    Parameters
    ----------
    judged : DataFrame
        Judged claims.
    notebook : str
        Name of the notebook.

    Returns
    -------
    list of str
        One text per claim, such as "7 of 8 seeds"; empty where no seed is recorded.
    """
    not_counted = [REPORTED_ONLY, NOT_TESTABLE]
    recorded = pd.read_csv(
        store.root() / "data" / "seeds.csv", dtype=str, keep_default_na=False
    )
    recorded = recorded[recorded["lesson"] == notebook]
    recorded = recorded[~recorded["verdict"].isin(not_counted)]
    n_seeds = recorded["seed"].nunique()
    verdicts = recorded.groupby(["id", "of"])["verdict"].agg(list)
    texts = []
    for row in judged.itertuples():
        by_seed = verdicts.get((row.id, row.subject))
        if by_seed is None or row.verdict in not_counted:
            texts.append("")
        else:
            texts.append(f"{by_seed.count(row.verdict)} of {n_seeds} seeds")
    return texts


def collect(notebooks: Iterable[tuple[str, Mapping]]) -> pd.DataFrame:
    """Collect the judged claims that executed notebooks hold.

    Parameters
    ----------
    notebooks : iterable of (str, mapping)
        Names and contents of notebooks, as nbformat or JSON has them.

    Returns
    -------
    DataFrame
        The column `notebook` and `COLUMNS`.
    """
    rows = []
    for name, notebook in notebooks:
        for cell in notebook["cells"]:
            for output in cell.get("outputs", []):
                for row in output.get("metadata", {}).get("findings", []):
                    rows.append({"notebook": name, **row})
    table = pd.DataFrame(rows, columns=["notebook", *COLUMNS])
    texts = [column for column in table if column not in NUMBERS]
    table[texts] = table[texts].astype(object).fillna("")
    return table.astype(dict.fromkeys(NUMBERS, float))


def format_interval(value: float, low: float, high: float) -> str:
    """Write a value with its interval.

    Numbers have two decimals, and three where two would hide the sign. A value without
    an interval, such as a count, is written alone.
    """
    if math.isnan(value):
        return "–"
    if low == high:
        return f"{value:g}"
    texts = []
    for number in (value, low, high):
        decimals = 3 if 0 < abs(number) < 0.005 else 2
        texts.append(f"{number:.{decimals}f}")
    if math.isnan(low):
        return texts[0]
    space = "\N{NO-BREAK SPACE}"
    return f"{texts[0]}{space}[{texts[1]},{space}{texts[2]}]"


def format_estimate(row: Mapping[str, Any]) -> str:
    """Write the estimate of a judged claim with its interval."""
    return format_interval(row["estimate"], row["ci_low"], row["ci_high"])


def short_unit(row: Mapping[str, Any]) -> str:
    """Return the unit of a judged claim without the details after a comma."""
    return row["unit"].replace(";", ",").split(", ")[0]


def sentence(row: Mapping[str, Any]) -> str:
    """Write a judged claim with our number, the paper's number and the seeds."""
    if math.isnan(row["estimate"]):
        return f"{row['claim']} ({row['note']})" if row["note"] else row["claim"]
    parts = [f"{row['claim']}: {format_estimate(row)} {short_unit(row)}"]
    if row["paper"]:
        parts.append(f"the paper: {row['paper']}")
    if row["seeds"]:
        parts.append(row["seeds"])
    return "; ".join(parts)


def as_text(judged: pd.DataFrame) -> str:
    """Write judged claims as plain text, one line per claim."""
    rows = fold_not_testable(judged).to_dict("records")
    return "\n".join(f"{row['verdict']}: {sentence(row)}." for row in rows)


def as_html(judged: pd.DataFrame) -> str:
    """Write judged claims as HTML.

    The main claims of the lesson come first, and the others are folded. All claims are
    in view if no main claim could be tested, or if the lesson has none.
    """
    main_ids = read().query("main == 'yes'").index
    is_main = judged["id"].isin(main_ids)
    is_tested = judged["verdict"] != NOT_TESTABLE
    others = judged[~is_main]
    if others.empty or not (is_main & is_tested).any():
        return _list(judged)
    noun = "claim" if len(others) == 1 else "claims"
    return (
        f"{_list(judged[is_main])}\n"
        f"<details><summary>{len(others)} more {noun}</summary>\n"
        f"{_list(others)}\n</details>"
    )


def _list(judged: pd.DataFrame) -> str:
    """Write judged claims as an HTML list that wraps on small screens."""
    rows = fold_not_testable(judged).to_dict("records")
    style_of_list = "list-style:none;padding:0;margin:0;text-align:left"
    items = "\n".join(_item(row) for row in rows)
    return f'<ul class="findings" style="{style_of_list}">\n{items}\n</ul>'


def fold_not_testable(judged: pd.DataFrame) -> pd.DataFrame:
    """Merge the claims that are not testable for the same reason, if there are many."""
    not_testable = judged["verdict"] == NOT_TESTABLE
    same_reason = judged.groupby(["verdict", "note"])["id"].transform("size")
    many = not_testable & (same_reason > MOST_SEPARATE_LINES)
    folded = judged.copy()
    beginning = same_reason.astype(str) + " claims of the paper, such as: "
    folded.loc[many, "claim"] = beginning + judged["claim"]
    return folded[~(many & judged.duplicated(["verdict", "note"]))]


def _item(row: Mapping[str, Any]) -> str:
    """Write a judged claim as an item of the HTML list."""
    sign, background = LOOKS[row["verdict"]]
    badge = (
        '<span style="display:inline-block;border-radius:.3em;padding:.1em .5em;'
        f'color:#fff;background:{background}"><span aria-hidden="true">{sign}</span> '
        f"{row['verdict']}</span>"
    )
    claim = html.escape(row["claim"])
    numbers = []
    if not math.isnan(row["estimate"]):
        estimate = f"<strong>{format_estimate(row)}</strong>"
        unit = html.escape(short_unit(row))
        numbers.append(f'<div style="flex:1 1 15em">here: {estimate} {unit}</div>')
    elif row["note"]:
        numbers.append(f'<div style="flex:1 1 15em">{html.escape(row["note"])}</div>')
    if row["paper"]:
        paper = html.escape(row["paper"])
        numbers.append(f'<div style="flex:1 1 10em">in the paper: {paper}</div>')
    if row["seeds"]:
        numbers.append(f"<div>{row['seeds']}</div>")
    details = "".join(
        f"<div>{name}: {html.escape(text)}</div>" for name, text in _details(row)
    )
    return (
        '<li style="display:flex;flex-wrap:wrap;gap:.2em 1em;margin:0;padding:.5em 0;'
        f'border-top:1px solid #8888">\n<div style="flex:0 0 11em">{badge}</div>\n'
        f'<div style="flex:1 1 16em;max-width:46em"><div>{claim}</div>\n'
        '<div style="display:flex;flex-wrap:wrap;gap:0 1.5em">'
        f"{''.join(numbers)}</div>\n"
        f'<details><summary aria-label="details: {claim}">details</summary>{details}'
        "</details></div></li>"
    )


def _details(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the names and texts of the details of a verdict."""
    details = [("claimed by", row["source"]), ("cases in the paper", row["cases"])]
    if not math.isnan(row["estimate"]):
        side = "equal to" if row["side"] == "equal" else row["side"]
        rule = f"{side} {row['bound']:g}"
        if not math.isnan(row["p"]):
            rule += f" (adjusted p = {row['p']:.2g})"
        details.append(("estimated quantity", row["unit"]))
        details.append(("the claim is true if it is", rule))
        details.append(("control model", row["control"]))
        details.append(("note", row["note"]))
    return [(name, text) for name, text in details if text]
