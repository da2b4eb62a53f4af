"""Claims and their verdicts: what a paper says, what was measured here, and how the two compare.
A claim is a row of ``data/paper/claims.csv``; its estimate is computed by the paper's room, or is a
row of a table that the notebook shows (``claim_rows.csv`` says which)."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from helpers import store
from helpers.figures import style
from helpers.stats import Estimate

TABLE = store.root() / "data" / "paper" / "claims.csv"
ROWS = TABLE.with_name("claim_rows.csv")
AGREES, DIFFERS = "as in the paper", "not as in the paper"
CONTRADICTS = "contradicts the paper"  # in place of DIFFERS, on the paper's own data
HOLDS, FAILS = "holds", "does not hold"  # the same of a claim that this suite makes
UNDECIDED, NO_COUNTERPART = "undecided", "no counterpart"
BLIND = "so does a network that cannot know"  # it is right, and says nothing of a bias
TOLD = "told"  # a number without a verdict
VERDICTS = (
    AGREES,
    DIFFERS,
    CONTRADICTS,
    HOLDS,
    FAILS,
    UNDECIDED,
    BLIND,
    TOLD,
    NO_COUNTERPART,
)
REFERENCE = (
    "-reference"  # ends the name of a table whose rows are of the reference network
)
SUITE, OURS = "suite", "this suite"  # in the table, and as people read it
LEVEL = 0.05  # of the p values
NONE: Mapping = {}


@cache
def read(path: Path = TABLE) -> pd.DataFrame:
    """The claims, indexed by `id`; ``data/paper/README.md`` says what the columns hold."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False).set_index("id")
    return table.assign(bound=pd.to_numeric(table["bound"]))


def judge(
    notebook: str,
    estimates: Iterable[Estimate],
    tables: Mapping = NONE,
    *,
    reference: Iterable[Estimate] = (),
    data: Iterable[str] = ("printed",),
    ours: str = "",
) -> pd.DataFrame:
    """Judge a notebook's claims by its estimates and its tables, by name: `COLUMNS`, a row a claim.
    `reference` estimates, and tables named x-reference, are of networks that cannot know what is
    claimed; `data` are the papers' own data that there are, `ours` what else is not the paper's."""
    # Right (wrong) is a claim where the whole interval lies on its side (the other side) of the
    # bound. Without an estimate a paper's claim has no counterpart, and one of the suite no row.
    chapter, rows = notebook.split("_")[0], []
    known = read().query("notebook == @chapter")
    blind = {
        k.removesuffix(REFERENCE): t for k, t in tables.items() if k.endswith(REFERENCE)
    }
    reference = [*reference, *_of_rows(known.index, blind)]
    blind = {(one.claim, *one.of.values()): one.interval for one in reference}
    every = [*estimates, *_of_rows(known.index, tables)]
    estimates = [
        replace(e, reference=blind.get((e.claim, *e.of.values()))) for e in every
    ]
    for unknown in {estimate.claim for estimate in estimates} - set(known.index):
        raise KeyError(f"{TABLE.name} has no claim {unknown!r} of notebook {chapter}")
    for name, claim in known.iterrows():
        missing = (
            [] if claim["by"] == SUITE else [Estimate(name, note=claim["otherwise"])]
        )
        own = [estimate for estimate in estimates if estimate.claim == name]
        rows += [_judged(claim, estimate, data, ours) for estimate in own or missing]
    return pd.DataFrame(rows, columns=COLUMNS)


def _of_rows(ids: Iterable[str], tables: Mapping[str, pd.DataFrame]) -> list[Estimate]:
    """Estimates that are rows of tables, by ``claim_rows.csv``; p_holm decides, if there."""
    estimates, rows_of = [], pd.read_csv(ROWS, dtype=str, keep_default_na=False)
    known = rows_of["id"].isin(ids) & rows_of["table"].isin(list(tables))
    for claim in rows_of[known].itertuples():
        rows = tables[claim.table]
        rows = rows.query(claim.only) if claim.only else rows
        for row in rows.to_dict("records"):
            about = {name: row[name] for name in claim.of.split()}
            ends = row[claim.value], *style.ends(row, claim.value)
            estimates.append(Estimate(claim.id, ends, about, p=row.get("p_holm")))
    return estimates


NUMBERS = "measured", "low", "high", "bound", "p"
COLUMNS = (
    "id", "of", "claim", "where", "paper", "cases", "measured", "low", "high", "unit", "side",
    "bound", "p", "reference", "verdict", "seeds", "note",
)  # fmt: skip


def _judged(
    claim: pd.Series, estimate: Estimate, data: Iterable[str], ours: str
) -> dict:
    measured, low, high = ends = tuple(map(float, estimate.interval or (math.nan,) * 3))
    if low > high:
        raise ValueError(
            f"{claim.name}: the interval's lower end {low} is above its upper {high}"
        )
    mine, about = claim["by"] == SUITE, defaultdict(lambda: "…", estimate.of)
    rule, blind = (claim["side"], claim["bound"]), estimate.reference
    wrong = CONTRADICTS if claim["own_data"] in data else DIFFERS
    words = {True: HOLDS, False: FAILS} if mine else {True: AGREES, False: wrong}
    right = _right(*rule, ends, estimate.p)
    verdict = words.get(right, UNDECIDED)
    if right and blind and _right(*rule, blind, None):
        verdict = BLIND
    other = "another quantity than the paper's" * (claim["same"] == "no")
    reasons = [reason for reason in (claim["cannot_fail"], other) if reason]
    if any(map(math.isnan, ends)):
        verdict, reasons = NO_COUNTERPART, []
    elif reasons:
        verdict = TOLD
    elif ours and claim["own_data"] in data:
        reasons = [ours]
    of_all = claim["printed"].isdigit() and claim["n"].isdigit()
    return {
        "id": claim.name,
        "of": ", ".join(map(str, estimate.of.values())),
        "claim": claim["claim"].format_map(about),
        "where": OURS if mine else f"{claim['by']}, {claim['section']}",
        "paper": f"{claim['printed']} of {claim['n']}" if of_all else claim["printed"],
        "cases": "" if of_all else claim["n"],
        "measured": measured,
        "low": low,
        "high": high,
        "unit": claim["quantity"].format_map(about),
        "side": claim["side"],
        "bound": claim["bound"],
        "p": math.nan if estimate.p is None else float(estimate.p),
        "reference": interval(*blind) if blind else "",
        "verdict": verdict,
        "seeds": "",
        "note": "; ".join([*reasons, *([estimate.note] if estimate.note else [])]),
    }


def _right(side: str, bound: float, interval: tuple, p: float | None) -> bool | None:
    """Whether the quantity lies on its side of the bound; None where that is undecided."""
    value, low, high = interval
    if side == "equal":
        return value == bound
    if p is not None:
        low, high = (value, value) if p <= LEVEL else (-math.inf, math.inf)
    above = True if low > bound else False if high <= bound else None
    below = True if high < bound else False if low >= bound else None
    return above if side == "above" else below


def in_seeds(judged: pd.DataFrame, notebook: str) -> list[str]:
    """In how many of the recorded seeds each verdict came out so, in words; "" where in none."""
    kept = pd.read_csv(
        store.root() / "data" / "seeds.csv", dtype=str, keep_default_na=False
    )
    kept = kept[
        (kept["lesson"] == notebook) & ~kept["verdict"].isin([TOLD, NO_COUNTERPART])
    ]
    several, texts = kept["seed"].nunique(), []
    for row in judged.itertuples():
        known = kept.loc[
            (kept["id"] == row.id) & (kept["of"] == row.of), "verdict"
        ].tolist()
        there = known and row.verdict not in (TOLD, NO_COUNTERPART)
        texts.append(f"{known.count(row.verdict)} of {several} seeds" if there else "")
    return texts


def collected(notebooks: Iterable[tuple[str, Mapping]]) -> pd.DataFrame:
    """Return the claims that executed notebooks judged: `notebook` and `COLUMNS`.

    Each notebook is given as its name and its content, as nbformat or JSON has it."""
    texts = dict.fromkeys({*COLUMNS} - {*NUMBERS}, "")  # an older run has fewer
    rows = [
        {"notebook": name} | texts | row
        for name, notebook in notebooks
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        for row in output.get("metadata", {}).get("findings", [])
    ]
    table = pd.DataFrame(rows, columns=["notebook", *COLUMNS])
    return table.astype(dict.fromkeys(NUMBERS, float))


def steady(judged: pd.DataFrame) -> pd.DataFrame:
    """Return judged claims as the front page shows them.

    A verdict that fewer than half of the recorded seeds gave is shown as undecided, and `seeds`
    says which verdict it was. Where no seed is recorded, the verdict stays."""
    counts = (
        judged["seeds"].fillna("").str.extract(r"^(\d+) of (\d+) seeds$").astype(float)
    )
    few = (counts[0] < counts[1] / 2) & (judged["verdict"] != UNDECIDED)
    shown = judged.copy()
    shown.loc[few, "seeds"] = judged["verdict"] + " in " + judged["seeds"]
    shown.loc[few, "verdict"] = UNDECIDED
    return shown


def interval(value: float, low: float, high: float) -> str:
    """A value with its interval, in two digits, and in three where two would hide on which side of
    zero an end lies; alone where the interval is not known, and in full where it has none."""
    if math.isnan(value):
        return "–"
    if low == high:
        return f"{value:g}"
    three = (value, low, high)
    value, lowest, highest = (f"{one:.{2 + (0 < abs(one) < 0.005)}f}" for one in three)
    space = "\N{NO-BREAK SPACE}"
    return value if math.isnan(low) else f"{value}{space}[{lowest},{space}{highest}]"
