"""Tables of a reader's own (CSV), and one of real frames: predictions with their groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from helpers import project, stats
from helpers.fairness import literature, readings
from helpers.fairness.counts import Table, table
from helpers.fairness.reporting import report

ROLES = ("predictions", "labels", "scores", "targets")
BDD100K = "shared/real/bdd100k/scene_predictions_cnn.npz"
RECORDED = ("data/toolkits/blocks_bdd100k.csv", "data/toolkits/blocks_bdd100k_contrasts.csv")
PANELS = ("time", "weather")
ATTRIBUTES = {
    "scene": ("city street", "highway", "residential"),
    "time": ("dawn or dusk", "daytime", "night"),
    "weather": ("clear", "overcast", "partly cloudy", "rainy", "snowy"),
}


def read(
    path: str | Path, by: list[str] | None = None, cluster: str | None = None, **options
) -> Table:
    """A table from a CSV with columns `predictions`, `labels`, `scores`, `targets` and groups.

    Parameters
    ----------
    path : str or Path
    by : list of str, optional
        Columns that are groups; by default all that have no role.
    cluster : str, optional
        Column whose rows are drawn and exchanged together, such as an image's name.
    **options
        Passed to `table`: intersect, min_size.

    Raises
    ------
    ValueError
        When there is no such CSV, it has none of the role columns, or lacks a group column.
    """
    rows = _read(Path(path))
    given = {role: rows[role] for role in ROLES if role in rows}
    by = [c for c in rows if c not in (*ROLES, cluster)] if by is None else by
    missing = [c for c in (*by, cluster) if c is not None and c not in rows]
    if not given or missing or not by:
        lack = f"no column {missing[0]!r}" if missing else "no groups, or nothing measured"
        raise ValueError(
            f"{Path(path).name}: {lack}; it has {', '.join(rows)}. Needed are one of "
            f"{', '.join(ROLES)}, and at least one group column"
        )
    clusters = None if cluster is None else rows[cluster]
    return table(rows[by], **given, clusters=clusters, **options)


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise ValueError(f"{path.name}: there is no such file")
    try:
        return pd.read_csv(path)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name}: is not a CSV table ({error})") from None


def scenes(path: str | Path) -> pd.DataFrame:
    """Real BDD100K frames with what a classifier said of them.

    Parameters
    ----------
    path
        ``scene_predictions_cnn.npz``: y_true, y_pred_bin, y_pred_proba, each (n, 11): three scenes,
        three times of day, five kinds of weather.

    Returns
    -------
    DataFrame, one row a frame: scene, time, weather (true), and right: 1 where exactly the true
    scene was said, else 0
    """
    with np.load(path) as held:
        true, said = held["y_true"] > 0, held["y_pred_bin"] > 0
    found, start = {}, 0
    for name, values in ATTRIBUTES.items():
        part = true[:, start : start + len(values)]
        if not (part.sum(1) == 1).all():
            raise ValueError(f"{Path(path).name}: a frame has not exactly one {name}")
        found[name] = np.array(values)[part.argmax(1)]
        start += len(values)
    scene = slice(0, len(ATTRIBUTES["scene"]))
    right = (true[:, scene] == said[:, scene]).all(1)
    return pd.DataFrame(found).assign(right=right.astype(int))


def served(rows: pd.DataFrame, draws: int = 999, seed: int = 0) -> pd.DataFrame:
    """Share of frames whose scene is said right, by time of day and by weather.

    Parameters
    ----------
    rows
        From `scenes`.

    Returns
    -------
    DataFrame: panel (time or weather), group, n, value, low, high (Wilson), adjusted (with
    everyone's mix of scenes), adjusted_low, adjusted_high (bootstrap over frames)
    """
    found = []
    for by in PANELS:
        data = table(rows[by], predictions=rows["right"], strata=rows["scene"])
        part = readings.rates(data, strata=True)
        part.insert(0, "panel", by)
        ends = [_adjusted_ends(data, group, draws, seed) for group in part["group"]]
        part[["adjusted_low", "adjusted_high"]] = ends
        found.append(part)
    return pd.concat(found, ignore_index=True)


def _adjusted_ends(data: Table, group: str, draws: int, seed: int) -> tuple[float, float]:
    alone = ["pr"], ["compl"], ["none"], [group_alone]  # no null is asked for
    held = {"adjust": "standardised", "bootstrap": draws, "seed": seed}
    found = report(literature.only(data, group), *alone, **held).cells
    return tuple(found[["low", "high"]].iloc[0])


def contrasts(rows: pd.DataFrame, draws: int = 999, seed: int = 0) -> pd.DataFrame:
    """How much worse each time and weather is served than the other frames, as is and adjusted.

    Returns
    -------
    DataFrame: group, fixed (nothing or scene), worse (share right of the others less that of the
    group), low, high, p (two-sided; groups shuffled, within scenes where they are fixed), p_holm
    (over all rows); the groups served worst with scenes fixed first
    """
    found, block = [], {"gap": ("pr", "compl", "sabs", rest_less_group)}
    for by in PANELS:
        whole = table(rows[by], predictions=rows["right"], strata=rows["scene"])
        for group in whole.groups.names:
            data = literature.only(whole, group)
            for fixed, adjust in (("nothing", None), ("scene", "standardised")):
                cell = readings.readings(data, block, adjust=adjust, draws=draws, seed=seed).iloc[0]
                found.append([group, fixed, *cell[["value", "low", "high", "p"]]])
    every = pd.DataFrame(found, columns=["group", "fixed", "worse", "low", "high", "p"])
    every["p_holm"] = stats.adjust(every["p"])
    held = every[every["fixed"] == "scene"].sort_values("worse", ascending=False)["group"].tolist()
    order = every["group"].map(held.index)
    return every.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def rest_less_group(compared: np.ndarray, weights: np.ndarray) -> float:
    """A reduction: of a group and its complement, the difference the complement is ahead by."""
    return float(compared[1])


def group_alone(compared: np.ndarray, weights: np.ndarray) -> float:
    """A reduction: of a group and its complement, what the group has."""
    return float(compared[0])


def here_or_recorded(path: str | None = None, seed: int = 0):
    """`served` and `contrasts` of the real frames where they are, else as recorded.

    Parameters
    ----------
    path : str, optional
        The file, absolute or relative to the project; by default looked for beside the checkout.

    Returns
    -------
    DataFrame, DataFrame, str : the two tables, and a sentence that says which they are

    Raises
    ------
    FileNotFoundError
        When `path` is given and there is no such file.
    """
    place = project.root().parent / BDD100K if path is None else project.root() / path
    if path is not None and not place.is_file():
        raise FileNotFoundError(f"there is no file {path!r}; leave it None for the recorded tables")
    if place.is_file():
        rows = scenes(place)
        said = f"computed from the {len(rows):,} frames of {place.name}"
        return served(rows, seed=seed), contrasts(rows, seed=seed), said
    said = f"recorded from a run with the frames: {Path(BDD100K).name} is not beside the checkout"
    return *(pd.read_csv(project.root() / name) for name in RECORDED), said
