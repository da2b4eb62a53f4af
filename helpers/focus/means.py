"""Mean Focus over training runs and mosaics, with intervals that allow for shared images, and the
class pairs that a model confuses (section I-C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from helpers import stats
from helpers.focus.mosaics import IMAGES, TARGETS
from helpers.stats import Mean

SHOWN = ["set", "mosaic"]  # which mosaic a row is of
BY = ["architecture", "run"]  # which network explained it
CHANCE = "chance"
PAIR = ["target", "outer"]


def mean(rated: pd.DataFrame) -> Mean:
    """Return the mean Focus of ratings by one method.

    Training runs are a random sample and architectures are fixed. Images with the same number in
    two image sets may show the same object, so they count as one."""
    known = rated.dropna(subset=["focus"])
    if known.empty:
        return Mean(np.nan, np.nan, 1.0)
    count = known.drop_duplicates(SHOWN).groupby("target").size()
    cells = (
        ["target"] if count.min() > 1 else ["all"]
    )  # one mosaic of a class has no spread
    size = known.assign(all="all").groupby(cells).size()
    return Means.of(known, cells).contrast(size / len(known))


def summary(rated: pd.DataFrame, by: Sequence[str] = ("method",)) -> pd.DataFrame:
    """Summarize the Focus of each method, with its interval over training runs and source images.

    There is one row per combination of the columns `by`. Undefined values are counted, and left
    out of the mean."""
    rows = []
    for names, part in rated.groupby(list(by), sort=False):
        interval = mean(part).interval()
        low, high = np.clip(interval[1:], 0, 1).tolist()
        row = dict(zip(by, names, strict=True)) | {"runs": part["run"].nunique()}
        row |= {"mosaics": len(part.drop_duplicates(SHOWN))}
        row |= {"undefined": part["focus"].isna().sum(), "mean": interval.estimate}
        rows.append(
            row
            | {"mean_low": low, "mean_high": high, "seconds": part["seconds"].mean()}
        )
    return pd.DataFrame(rows)


def contrast(
    rated: pd.DataFrame, weights: Mapping[str, float], of: str = "method"
) -> Mean:
    """Return a weighted sum of Focus by the values of a column; `CHANCE` counts as 0.5."""
    keys = [*BY, *SHOWN]
    wide = rated.pivot(index=keys, columns=of, values="focus").assign(**{CHANCE: 0.5})
    value = (wide[list(weights)] * pd.Series(weights)).sum(axis=1, skipna=False)
    rows = rated.drop_duplicates(keys).set_index(keys)
    return mean(rows.assign(focus=value).reset_index())


@dataclass(frozen=True)
class Means:
    """Hold the mean Focus of cells (class pairs, or classes), and how the means covary over mosaics
    that share an image (Aronow, Samii and Assenova, *Political Analysis* 23, 2015)."""

    focus: pd.Series  # means, by cell
    images: np.ndarray  # their covariance over images, cells by cells
    rest: np.ndarray  # the part of it that a mosaic has in one run and not in another
    least: (
        np.ndarray
    )  # variances if no two mosaics shared an image: no contrast is given less
    units: (
        np.ndarray
    )  # what a variance is estimated from: mosaics, or images if these are fewer
    runs: list[np.ndarray]  # of each architecture: the means, runs by cells

    @classmethod
    def of(cls, rated: pd.DataFrame, cells: Sequence[str]) -> Means:
        """Compute the means of rated mosaics without undefined rows; the column "all" has one cell."""
        rated = rated.assign(all="all").reset_index(drop=True)
        rated["at"] = rated.groupby(SHOWN, sort=False).ngroup()
        wide = rated.pivot(index=BY, columns="at", values="focus")
        mosaics = rated.drop_duplicates("at")
        groups = rated.groupby(list(cells))
        focus, number = (
            groups["focus"].mean(),
            groups.ngroup()[mosaics.index].to_numpy(),
        )
        units = np.array(
            [_units(part) for _, part in mosaics.groupby(number)], dtype=float
        )
        units[units == 1] = np.nan  # one has no spread
        widened = np.sqrt(units / (units - 1)) / np.bincount(number)

        apart = (wide.mean() - wide.mean().groupby(number).transform("mean")).to_numpy()
        rest = wide - wide.groupby(level=0).transform("mean")
        rest = (rest.T - rest.T.groupby(number).transform("mean")).T.fillna(0)
        drawn = wide.groupby(level=0)[0].transform("size").to_numpy()[:, None]
        architectures = wide.index.get_level_values(0).nunique()
        rest = rest / np.sqrt(drawn * np.maximum(drawn - 1, 1)) / architectures
        apart, *rests = np.vstack([apart, rest]) * widened[number]
        place = np.unique(mosaics[IMAGES].to_numpy(), return_inverse=True)[1]
        rows = np.repeat(np.arange(len(mosaics)), len(IMAGES))
        shows = sparse.csr_array((np.ones(len(rows)), (rows, place.ravel())))
        shared = (shows @ shows.T).astype(bool)  # which mosaics share an image
        images, *rests = (_over_shared(one, number, shared) for one in (apart, *rests))
        cell_means = wide.T.groupby(number).mean().T
        cell_means = cell_means.fillna(cell_means.groupby(level=0).transform("mean"))
        runs = [part.to_numpy() for _, part in cell_means.groupby(level=0)]
        return cls(
            focus, images, sum(rests), np.bincount(number, apart**2), units, runs
        )

    def contrast(self, weights: pd.Series) -> Mean:
        """Return a weighted sum of cells' means, with its error over training runs and images."""
        at, w = self.focus.index.get_indexer(weights.index), weights.to_numpy()
        covariance, least = self.images[np.ix_(at, at)], self.least[at]
        of_images = max(float(w @ covariance @ w), float(w**2 @ least))
        each = w**2 * np.maximum(np.diag(covariance), least)
        share = each / each.sum() if each.any() else each
        doubt = of_images**2 * float((share**2 / (self.units[at] - 1)).sum())
        rest = float(w @ self.rest[np.ix_(at, at)] @ w)
        of_runs = 0.0
        for part in (part for part in self.runs if len(part) > 1):
            own = float((part[:, at] @ w).var(ddof=1)) / len(part) / len(self.runs) ** 2
            of_runs, doubt = of_runs + own, doubt + own**2 / (len(part) - 1)
        variance = max(of_runs + of_images - rest, of_runs, of_images)
        freedom = variance**2 / doubt if doubt else 1.0
        estimate = float(w @ self.focus.iloc[at].to_numpy())
        return Mean(estimate, float(np.sqrt(variance)), float(freedom))


def _units(mosaics: pd.DataFrame) -> int:
    """Count the different mosaics of one cell, or the different images in a role if these are fewer."""
    images, inner = mosaics[IMAGES].to_numpy(), mosaics[TARGETS].to_numpy(dtype=bool)
    images_of = (
        np.unique(images, axis=0),
        np.unique(images[inner]),
        np.unique(images[~inner]),
    )
    return min(map(len, images_of))


def _over_shared(
    apart: np.ndarray, number: np.ndarray, shared: sparse.csr_array
) -> np.ndarray:
    """Sum the products of deviations over pairs of mosaics that share an image, by cells."""
    deviations = sparse.csr_array((apart, (np.arange(len(apart)), number)))
    return (deviations.T @ (shared @ deviations)).toarray()


def ranked(rated: pd.DataFrame) -> pd.DataFrame:
    """Rank every ordered pair by mean Focus, the lowest first, from ratings by one method.

    The p value is one-sided: is the Focus lower than for the `others` of the same target? It is
    adjusted by Holm's method over all pairs."""
    if (
        rated["method"].nunique() > 1
        or rated["outer"].str.contains(" + ", regex=False).any()
    ):
        raise ValueError(
            "Rank pairs by one method and mosaics of two classes, not by several."
        )
    counted = rated.assign(undefined=rated["focus"].isna()).groupby(PAIR, sort=False)
    table = counted.agg(mosaics=("mosaic", "nunique"), undefined=("undefined", "sum"))
    known = Means.of(rated.dropna(subset=["focus"]), PAIR)
    rows = []
    for pair in known.focus.index:
        focus, low, high = np.clip(
            known.contrast(pd.Series({pair: 1.0})).interval(), 0, 1
        )
        rows.append(
            dict(zip(PAIR, pair, strict=True))
            | {"focus": focus, "low": low, "high": high}
        )
        others = [
            name for name in known.focus.index if name[0] == pair[0] and name != pair
        ]
        if others:
            gap = known.contrast(
                pd.Series({pair: 1.0} | dict.fromkeys(others, -1 / len(others)))
            )
            p = gap.p / 2 if gap.estimate < 0 else 1 - gap.p / 2
            rows[-1] |= {"others": focus - gap.estimate, "p": p}
    tested = pd.DataFrame(rows, columns=[*PAIR, "focus", "low", "high", "others", "p"])
    table = table.reset_index().merge(tested, how="left", on=PAIR)
    table["p_adjusted"] = stats.adjust(table["p"])
    table["rank"] = table["focus"].rank(method="min")
    return table.sort_values("focus", kind="stable", ignore_index=True)


def of_pair(table: pd.DataFrame, target: str, outer: str) -> pd.DataFrame:
    """Select the rows of one ordered pair."""
    return table[(table["target"] == target) & (table["outer"] == outer)]
