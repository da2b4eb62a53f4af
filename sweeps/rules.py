"""Apply ICON2's rules to synthetic street scenes in which the right verdict is known.

The groups of income differ in one injected cause, and a trained detector may be worse
for one of them. Run ``python -m sweeps.rules data/rules.csv``.
"""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import attributes, formulas, streets, verdicts
from helpers.icon2.analysis import analyse
from helpers.icon2.average_precision import PAPER, PER_IMAGE
from helpers.icon2.formulas import EXPLAINS, FLAGGED, IN_PART, NO_GAP, NOT, NOT_FLAGGED
from helpers.icon2.matching import match
from sweeps.resume import collect
from synthetic import street_causes

SEEDS = range(8)
FRAMES, CATEGORY, RESAMPLES = 900, "pedestrian", 40
SHARE_OF_B = 0.12  # share of appearance B in the images that the detector is trained on
SAME_FOR_ALL = 0.5  # share of B in the test images where the detector is not worse
HARMLESS = (0.25, 0.5, 0.75, 1.0, 1.5)  # strengths of "scene", which is not harder
READINGS = {"Eq. 3": PAPER, "N and F per image": PER_IMAGE}

trained_detector = cache(streets.train_detector)


def list_cases() -> Iterator[tuple[int, str, str, float, bool]]:
    """Yield seed, scenario, cause, its strength, and if the detector is worse."""
    for seed in SEEDS:
        yield seed, verdicts.NEITHER, "scene", HARMLESS[-1], False
        yield seed, verdicts.WORSE, "none", 0.0, True
        for strength in HARMLESS:
            yield seed, verdicts.BESIDE, "scene", strength, True
        for cause, strength in street_causes.STRENGTHS.items():
            yield seed, verdicts.HARDER, cause, strength, False
            yield seed, verdicts.BOTH, cause, strength, True


def measure_scenario(
    seed: int, scenario: str, cause: str, strength: float, is_worse: bool
) -> pd.DataFrame:
    """Return the verdicts of all rules, one row per attribute and reading of Eq. 3.

    The column `proxy_within` is sigma of ProxyAP with effects within the groups. The
    rule within groups flags the attribute for which it is largest, if it exceeds 1.
    """
    detector = trained_detector(SHARE_OF_B, seed % 2)
    scenes = street_causes.scenes(FRAMES, seed, cause, strength)
    share_of_b = streets.SHARES_OF_B if is_worse else SAME_FOR_ALL
    frames = streets.observe(detector, *scenes, share_of_b)
    matches = match(frames)
    tables = []
    for reading, options in READINGS.items():
        analysis = analyse(
            matches,
            attributes.from_column(frames, "income"),
            [attributes.made(frames, name) for name in attributes.OF_PAPER],
            classes=[CATEGORY],
            options=options,
            resamples=RESAMPLES,
            seed=seed,
        )
        table = verdicts.table(analysis).drop(columns="class")
        spread = {}
        for name, cells in analysis.cells().groupby("attribute"):
            boxes = cells.pivot(index="value", columns="group", values="boxes")
            expected = formulas.proxy(effects_within_groups(cells), boxes.to_numpy())
            spread[name] = formulas.sigma(expected)
        within = table["attribute"].map(spread)
        is_flagged = (within == within.max()) & (within > 1)
        table["proxy_within"] = within
        table[verdicts.WITHIN_RULE] = np.where(is_flagged, FLAGGED, NOT_FLAGGED)
        table["reading"] = reading
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    table["seed"] = seed
    table["scenario"] = scenario
    table["confounder"] = "none" if scenario in verdicts.NO_CAUSE else cause
    table["strength"] = strength
    of_cause = IN_PART if scenario == verdicts.BOTH else EXPLAINS
    of_others = NO_GAP if scenario == verdicts.NEITHER else NOT
    is_cause = table["attribute"] == table["confounder"]
    table["truth"] = np.where(is_cause, of_cause, of_others)
    return table.round(4)


def effects_within_groups(cells: pd.DataFrame) -> np.ndarray:
    """Fit the effect of each value on AP within the groups, up to a constant (E,).

    It is a least squares fit of the AP of `cells` by value and group, weighted by the
    number of boxes. Values are sorted.
    """
    known = cells.dropna(subset="AP")
    dummies = pd.get_dummies(known[["value", "group"]]).to_numpy(float)
    weight = np.sqrt(known["boxes"].to_numpy())
    ap = known["AP"].to_numpy()
    fitted = np.linalg.lstsq(dummies * weight[:, None], ap * weight, rcond=None)[0]
    values = np.unique(known["value"])
    effects = pd.Series(fitted[: len(values)], values)
    return effects.reindex(np.unique(cells["value"])).to_numpy()


def main() -> None:
    """Measure all scenarios, and write their table."""
    collect(Path(sys.argv[1]), measure_scenario, list_cases())


if __name__ == "__main__":
    main()
