"""Record what notebook 09 shows of real frames; run as a script to write it to data/toolkits.

python tests/blocks_frames.py scene_predictions_cnn.npz data/toolkits
"""

import sys
from pathlib import Path

import helpers  # noqa: F401  before numpy: it pins the kernels

# ruff: isort: split
import numpy as np
import pandas as pd
import scipy.stats

from helpers import recorded, stats
from helpers.blocks import report
from helpers.blocks.counts import Table, table

PANELS = ("time", "weather")
ATTRIBUTES = {
    "scene": ("city street", "highway", "residential"),
    "time": ("dawn or dusk", "daytime", "night"),
    "weather": ("clear", "overcast", "partly cloudy", "rainy", "snowy"),
}


def frames(path) -> pd.DataFrame:
    """Scene, time and weather (true) of each frame, and right: 1 where its scene was predicted.

    The file holds y_true and y_pred_bin, each (n, 11), in the order of `ATTRIBUTES`.
    """
    with np.load(path) as held:
        true, said = held["y_true"] > 0, held["y_pred_bin"] > 0
    found, start = {"right": (true[:, :3] == said[:, :3]).all(1).astype(int)}, 0
    for name, values in ATTRIBUTES.items():
        part = true[:, start : start + len(values)]
        if not (part.sum(1) == 1).all():
            raise ValueError(f"a frame has not exactly one {name}")
        found[name] = np.array(values)[part.argmax(1)]
        start += len(values)
    return pd.DataFrame(found)


def served(rows: pd.DataFrame, draws: int = 999) -> pd.DataFrame:
    """Share of frames whose scene is predicted right, by time of day and by weather."""
    found = []
    for by in PANELS:
        data = table(rows[by], y_pred=rows["right"], strata=rows["scene"])
        part = report.rates(data)
        part.insert(0, "panel", by)
        part[["adjusted_low", "adjusted_high"]] = [
            ends(data, g, "none", draws)[1:] for g in part["group"]
        ]
        found.append(part)
    return pd.concat(found, ignore_index=True)


def contrasts(rows: pd.DataFrame, draws: int = 999) -> pd.DataFrame:
    """How much worse each group is served than the other frames, the worst first."""
    found = []
    for by in PANELS:
        for fixed, strata in (("nothing", None), ("scene", rows["scene"])):
            data = table(rows[by], y_pred=rows["right"], strata=strata)
            within = pd.Series(0, rows.index) if strata is None else strata
            for group in data.groups.names:
                worse = ends(data, group, "sabs", draws)
                p = exchange_p(worse[0], rows[by] == group, rows["right"], within)
                found.append([group, fixed, *worse, p])
    every = pd.DataFrame(found, columns=["group", "fixed", "worse", "low", "high", "p"])
    every["p_holm"] = stats.adjust(every["p"])
    held = every[every["fixed"] == "scene"].set_index("group")["worse"].rank(ascending=False)
    return every.sort_values("group", key=lambda g: g.map(held), kind="stable", ignore_index=True)


def ends(data: Table, group: str, how: str, draws: int = 999) -> list:
    """A group's own rate ("none"), or the others' less its rate ("sabs"): value, low, high.

    Without draws the ends are NaN.
    """
    at = data.groups.names.index(group)
    own, rest = np.array([at]), np.array([len(data.groups) + 1 + at])

    def sides(_):
        return (own, rest) if how == "none" else (rest, own)

    def only(compared, weights):
        return float(compared[0])

    made = report.make(data, ["pr"], [sides], [how], [only], bootstrap=draws, permutations=0)
    return made.cells.loc[0].reindex(["value", "low", "high"]).tolist()


def exchange_p(gap: float, inside: pd.Series, right: pd.Series, strata: pd.Series) -> float:
    """p of a gap, were the group drawn by lot within each stratum: normal, its variance exact."""
    within = pd.DataFrame({"inside": inside, "right": right}).groupby(strata)
    n, k, spread = within.size(), within["inside"].sum(), within["right"].var(ddof=1)
    variance = ((n / n.sum()) ** 2 * spread * (1 / k + 1 / (n - k))).sum()
    return float(2 * scipy.stats.norm.sf(abs(gap) / np.sqrt(variance)))


if __name__ == "__main__":
    rows = frames(sys.argv[1])
    for made, name in ((served, "blocks_bdd100k.csv"), (contrasts, "blocks_bdd100k_contrasts.csv")):
        recorded.write(Path(sys.argv[2]) / name, made(rows).to_csv(index=False))
