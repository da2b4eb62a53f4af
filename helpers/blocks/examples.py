"""The tables that notebook 09 reads: small counts, other toolkits' answers, and real frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.blocks import blocks, report
from helpers.blocks.counts import CELLS, Table, only, table
from helpers.run import project

FOLDER = "data/toolkits"
REASONS = {
    "no positives": "a group without positive labels: its tpr is 0/0, which they count as 0",
    "nobody predicted": "a group without positive predictions: its ppv is 0/0, counted as 0",
    "tied scores": "the area between curves is sampled, and tied scores make steps",
}
"""Why the toolkits answer differently on an example."""
TEN = {
    "1 - prule: ratio of positive rates": ("pr", "compl", "srel", "max"),
    "wcb of fnr: ratio of false negative rates": ("fnr", "pairs", "srel", "max"),
    "cv: difference of positive rates": ("pr", "compl", "abs", "max"),
    "spsf as printed, both directions": ("pr", "vsany", "abs", "wmean"),
    "|dfpr|: false positive rates": ("fpr", "compl", "abs", "max"),
    "|dfnr|: false negative rates": ("fnr", "compl", "abs", "max"),
    "gini of the groups' positive rates": ("pr", "pairs", "none", "gini"),
    "spsf normalised": ("pr", "vsany", "abs", "wmean_normalised"),
    "difference of precision": ("ppv", "compl", "abs", "max"),
    "difference of accuracy": ("acc", "compl", "abs", "max"),
}
"""Ten questions to one table, by the blocks they are made of."""
BDD100K = "shared/real/bdd100k/scene_predictions_cnn.npz"
RECORDED = (f"{FOLDER}/blocks_bdd100k.csv", f"{FOLDER}/blocks_bdd100k_contrasts.csv")
PANELS = ("time", "weather")
ATTRIBUTES = {
    "scene": ("city street", "highway", "residential"),
    "time": ("dawn or dusk", "daytime", "night"),
    "weather": ("clear", "overcast", "partly cloudy", "rainy", "snowy"),
}


def tables() -> dict[str, pd.DataFrame]:
    """Rows of every example in `data/toolkits`: group, y_true, and y_pred or y_score."""
    counts = pd.read_csv(project.root() / FOLDER / "blocks_examples.csv")
    found = {name: rows(part) for name, part in counts.groupby("example", sort=False)}
    scores = pd.read_csv(project.root() / FOLDER / "blocks_scores.csv")
    repeated = scores.loc[scores.index.repeat(scores["rows"])].reset_index(drop=True)
    tied = repeated.rename(columns={"label": "y_true", "score": "y_score"})
    return found | {"tied scores": tied[["group", "y_true", "y_score"]]}


def rows(counts: pd.DataFrame) -> pd.DataFrame:
    """Rows (group, y_pred, y_true) from counts (group, tn, fn, fp, tp)."""
    cells = counts[list(CELLS)].to_numpy()
    group, outcome = np.indices(cells.shape).reshape(2, -1).repeat(cells.ravel(), axis=1)
    names = counts["group"].to_numpy()
    return pd.DataFrame({"group": names[group], "y_pred": outcome // 2, "y_true": outcome % 2})


def counted(example: pd.DataFrame) -> Table:
    """The table of counts of an example's rows."""
    return table(example["group"], **example.drop(columns="group"))


def answers() -> pd.DataFrame:
    """Recorded answers of the toolkits, theirs, with ours beside them, and whether they agree."""
    found = pd.read_csv(project.root() / FOLDER / "blocks_answers.csv")
    data = {name: counted(example) for name, example in tables().items()}
    cells = zip(found["example"], found[report.KEYS].to_numpy(), strict=True)
    found["ours"] = [blocks.bias(data[example], *cell) for example, cell in cells]
    same = np.isclose(found["theirs"], found["ours"], rtol=0, atol=1e-9, equal_nan=True)
    return found.assign(agree=same)


def same_area() -> pd.DataFrame:
    """Scores (group, y_true, y_score) of two groups whose roc curves cross and have one area.

    Negatives are standard normal; positives are normal with deviation 1 or 2.5, and the mean at
    which the area is Φ(1/√2). Scores are 300 quantiles, rounded to a tenth: some are tied.
    """
    places, found = scipy.stats.norm.ppf((np.arange(300) + 0.5) / 300), []
    for group, deviation in (("narrow", 1.0), ("wide", 2.5)):
        mean = np.sqrt((1 + deviation**2) / 2)
        for label, scores in enumerate((places, mean + deviation * places)):
            of_one = {"group": group, "y_true": label, "y_score": scores.round(1)}
            found.append(pd.DataFrame(of_one))
    return pd.concat(found, ignore_index=True)


def frames(path: str | Path) -> pd.DataFrame:
    """Real BDD100K frames: scene, time, weather (true), and right: 1 where a classifier said it.

    `path` holds y_true and y_pred_bin, each (n, 11), in the order of `ATTRIBUTES`.
    """
    with np.load(path) as held:
        true, said = held["y_true"] > 0, held["y_pred_bin"] > 0
    found, start = {"right": (true[:, :3] == said[:, :3]).all(1).astype(int)}, 0
    for name, values in ATTRIBUTES.items():
        part = true[:, start : start + len(values)]
        if not (part.sum(1) == 1).all():
            raise ValueError(f"{Path(path).name}: a frame has not exactly one {name}")
        found[name] = np.array(values)[part.argmax(1)]
        start += len(values)
    return pd.DataFrame(found)


def served(rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Share of `frames` whose scene is said right, by time of day and by weather.

    DataFrame: panel (time or weather), group, n, value, low, high (Wilson), adjusted (with
    everyone's mix of scenes), adjusted_low, adjusted_high (bootstrap over frames).
    """
    found = []
    for by in PANELS:
        data = table(rows[by], y_pred=rows["right"], strata=rows["scene"])
        part = report.rates(data)
        part.insert(0, "panel", by)
        ends = [_compared(data, g, "none", 0, seed)[1:] for g in part["group"]]
        part[["adjusted_low", "adjusted_high"]] = ends
        found.append(part)
    return pd.concat(found, ignore_index=True)


def contrasts(rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """How much worse each time and weather is served than the other frames, the worst first.

    DataFrame: group, fixed (nothing or scene), worse (share right of the others less that of the
    group), low, high (bootstrap), p (two-sided), p_holm (over all rows).
    """
    found = []
    for by in PANELS:
        for fixed, strata in (("nothing", None), ("scene", rows["scene"])):
            data = table(rows[by], y_pred=rows["right"], strata=strata)
            for group in data.groups.names:
                ends = _compared(data, group, "sabs", 1, seed)
                within = pd.Series(0, rows.index) if strata is None else strata
                p = _exchange_p(ends[0], rows[by] == group, rows["right"], within)
                found.append([group, fixed, *ends, p])
    every = pd.DataFrame(found, columns=["group", "fixed", "worse", "low", "high", "p"])
    every["p_holm"] = stats.adjust(every["p"])
    held = every[every["fixed"] == "scene"].set_index("group")["worse"].rank(ascending=False)
    return every.sort_values("group", key=lambda g: g.map(held), kind="stable", ignore_index=True)


def _compared(data: Table, group: str, how: str, place: int, seed: int) -> list:
    """A group with all others (place 0), or they with it (1): the comparison, low and high."""

    def nth(compared, weights):
        return float(compared[place])

    cell = ["pr"], ["compl"], [how], [nth]
    made = report.make(only(data, group), *cell, bootstrap=999, seed=seed)
    return made.cells.loc[0, ["value", "low", "high"]].tolist()


def _exchange_p(gap: float, inside: pd.Series, right: pd.Series, strata: pd.Series) -> float:
    """p of a gap, were the group drawn by lot within each stratum: normal, its variance exact."""
    frames = pd.DataFrame({"inside": inside, "right": right}).groupby(strata)
    n, k, spread = frames.size(), frames["inside"].sum(), frames["right"].var(ddof=1)
    variance = ((n / n.sum()) ** 2 * spread * (1 / k + 1 / (n - k))).sum()
    return float(2 * scipy.stats.norm.sf(abs(gap) / np.sqrt(variance)))


def here_or_recorded(path: str | None = None, seed: int = 0):
    """`served` and `contrasts` of the real frames where they are, else as recorded; says which.

    `path` is absolute or relative to the project; by default looked for beside the checkout.
    """
    place = project.root().parent / BDD100K if path is None else project.root() / path
    if path is not None and not place.is_file():
        raise FileNotFoundError(f"there is no file {path!r}; leave it None for the recorded tables")
    if place.is_file():
        rows = frames(place)
        text = f"computed from the {len(rows):,} frames of {place.name}"
        return served(rows, seed=seed), contrasts(rows, seed=seed), text
    text = f"recorded from a run with the frames: {Path(BDD100K).name} is not beside the checkout"
    return *(pd.read_csv(project.root() / name) for name in RECORDED), text
