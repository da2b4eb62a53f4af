"""Findings: what the paper says, what was measured here, and whether it holds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "does not hold", "undecided", "not tested here"


@dataclass(frozen=True)
class Finding:
    """One claim and its verdict.

    Attributes
    ----------
    claim : str
        One sentence, true or false.
    where : str
        Paper and section, or ``this suite`` for what the paper does not say.
    paper : str
        The value the paper prints, empty where it prints none.
    measured, low, high : float
        Our value and its interval, in the unit of `unit`; NaN where there is none.
    unit : str
        Such as ``accuracy`` or ``share of mosaics``.
    verdict : str
        ``holds``, ``does not hold``, ``undecided`` (the interval covers the threshold) or
        ``not tested here`` (with the reason in `note`).
    note : str
        What was compared with what.
    """

    claim: str
    where: str
    paper: str
    measured: float
    low: float
    high: float
    unit: str
    verdict: str
    note: str = ""


def judge(
    claim: str,
    where: str,
    estimate: tuple[float, float, float],
    *,
    above: float | None = None,
    below: float | None = None,
    paper: str = "",
    unit: str = "",
) -> Finding:
    """Judge a claim that a quantity lies above, or below, a threshold.

    Parameters
    ----------
    claim, where, paper, unit
        As in :class:`Finding`.
    estimate
        Value, lower and upper end of its interval.
    above, below
        The threshold; exactly one is given. The claim holds when the whole interval lies on that
        side, does not hold when the whole interval lies on the other, and is undecided between.

    Raises
    ------
    ValueError
        When not exactly one threshold is given, or the ends are the wrong way round.
    """
    if (above is None) == (below is None):
        raise ValueError(f"{claim!r}: give exactly one of above and below")
    value, low, high = map(float, estimate)
    if low > high:
        raise ValueError(f"{claim!r}: the interval's lower end {low} is above its upper end {high}")
    side, threshold = ("above", above) if below is None else ("below", below)
    if math.isnan(value) or math.isnan(low) or math.isnan(high):
        verdict = UNTESTED
    elif (low > threshold) if below is None else (high < threshold):
        verdict = HOLDS
    elif (high <= threshold) if below is None else (low >= threshold):
        verdict = FAILS
    else:
        verdict = UNDECIDED
    return Finding(claim, where, paper, value, low, high, unit, verdict, f"{side} {threshold:g}")


def equal(
    claim: str, where: str, measured: float, expected: float, *, paper: str = "", unit: str = ""
) -> Finding:
    """Judge a claim that a count or a share is exactly what it should be."""
    measured, expected = float(measured), float(expected)  # numpy's numbers are no JSON
    verdict = HOLDS if measured == expected else FAILS
    note = f"equal to {expected:g}"
    return Finding(claim, where, paper, measured, measured, measured, unit, verdict, note)


def untested(claim: str, where: str, reason: str, paper: str = "") -> Finding:
    """A claim of the paper that this run cannot test, with the reason."""
    nan = math.nan
    return Finding(claim, where, paper, nan, nan, nan, "", UNTESTED, reason)


def table(findings: Iterable[Finding]) -> pd.DataFrame:
    """Findings as people read them: claim, paper, measured [interval], verdict."""
    rows = [
        {
            "claim": f.claim,
            "paper": f.paper or "–",
            "measured here": _interval(f),
            "judged by": f.note,
            "verdict": f.verdict,
        }
        for f in findings
    ]
    return pd.DataFrame(rows, columns=["claim", "paper", "measured here", "judged by", "verdict"])


def _interval(f: Finding) -> str:
    if math.isnan(f.measured):
        return "–"
    if f.low == f.high:
        return f"{f.measured:g} {f.unit}".strip()
    value, low, high = (_rounded(x) for x in (f.measured, f.low, f.high))
    return f"{value} [{low}, {high}] {f.unit}".strip()


def _rounded(value: float) -> str:
    """Two digits, and three where two would hide on which side of zero it lies."""
    return f"{value:.3f}" if value and abs(value) < 0.005 else f"{value:.2f}"


def scorecard(folder: Path) -> pd.DataFrame:
    """All findings of a run, gathered from its ``findings/*.json``.

    Parameters
    ----------
    folder
        A run's output folder, such as ``outputs/demo``.

    Returns
    -------
    pandas.DataFrame
        One row a finding: notebook and the fields of :class:`Finding`. Empty when there is none.
    """
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("findings/*.json"))]
    rows = [{"notebook": r["notebook"], **f} for r in records for f in r["findings"]]
    return pd.DataFrame(rows, columns=["notebook", *Finding.__dataclass_fields__])
