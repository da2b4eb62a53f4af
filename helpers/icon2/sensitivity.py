"""How much each choice that the paper leaves open moves its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from helpers.icon2.analysis import Analysis, analyse
from helpers.icon2.attributes import Attribute
from helpers.icon2.matching import match
from helpers.icon2.options import CHOICES, Options
from helpers.icon2.reading import GroundTruth


def change_each_choice(
    truth: GroundTruth,
    detections: pd.DataFrame,
    sensitive: Attribute,
    explanatory: Sequence[Attribute],
    category: str,
    options: Options,
) -> pd.DataFrame:
    """Change one choice of `options` at a time, and compare the numbers of one class.

    Returns
    -------
    DataFrame
        ``choice instead cells delta sign``: the largest move of any AP (AP points), the largest
        move of any Delta, and how many Deltas change their sign.
    """
    matches = match(truth, detections)
    asked = {"classes": [category], "standardise": False}
    start = analyse(matches, sensitive, explanatory, options=options, **asked)
    rows = []
    for choice, allowed in CHOICES.items():
        for value in allowed:
            if value != getattr(options, choice):
                changed = replace(options, **{choice: value})
                other = analyse(matches, sensitive, explanatory, options=changed, **asked)
                rows.append({"choice": choice, "instead": value} | _moved(start, other))
    wider = match(truth, detections, box_width="plus one")
    other = analyse(wider, sensitive, explanatory, options=options, **asked)
    rows.append({"choice": "box_width", "instead": "plus one"} | _moved(start, other))
    return pd.DataFrame(rows)


def _moved(start: Analysis, other: Analysis) -> dict[str, float]:
    tables = ("groups", "values", "cells")
    cells = [(getattr(other, t)().AP - getattr(start, t)().AP).abs().max() for t in tables]
    before, after = start.control().delta, other.control().delta
    return {
        "cells": max(cells),
        "delta": (after - before).abs().max(),
        "sign": int((before * after < 0).sum()),
    }
