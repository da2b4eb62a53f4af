"""How often is each method right about a context's bias? By worlds of sweeps/context_worlds.py."""

from pathlib import Path

import numpy as np
import pandas as pd

from helpers import recorded as records
from helpers import stats
from helpers.contexts import methods

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
NOTHING = 0.25  # of four contexts: class and context are independent
ASKED = [*methods.MEASURE, "trainings"]


def recorded(path: Path | None = None) -> pd.DataFrame:
    """The worlds made beforehand, or those of a file; a ValueError where there is no such file."""
    if path is None:
        return records.read("context_worlds.csv")
    if not path.is_file():
        raise ValueError(f"There is no file {path.name!r}; sweeps/context_bias.smk makes one.")
    return pd.read_csv(path)


def rates(worlds: pd.DataFrame) -> pd.DataFrame:
    """How often each measure answers yes at each dose; raw readings answer nothing.
    Worlds are the units of the intervals, for the contexts of a world share its models."""
    asked = worlds[worlds["reading"] != methods.RAW]
    keys = ["dose", *ASKED]
    yes = asked.assign(yes=asked["low"] > 0).groupby([*keys, "seed"])["yes"].mean()
    rows = [(*key, len(part), *stats.share(part.to_numpy())) for key, part in yes.groupby(keys)]
    return pd.DataFrame(rows, columns=[*keys, "worlds", "yes", "low", "high"])


def told_apart(worlds: pd.DataFrame) -> pd.DataFrame:
    """The AUC of each effect: of contexts at dose 1 against those where nothing is planted."""
    rows = []
    for key, part in worlds.groupby(ASKED, sort=False):
        values = by_world(part)
        rows.append((*key, len(values), *stats.bootstrap(lambda parts: auc(*parts), [values])))
    return pd.DataFrame(rows, columns=[*ASKED, "worlds", "auc", "low", "high"])


def by_world(part: pd.DataFrame) -> np.ndarray:
    """One measure's effects, (worlds, 1, 2, contexts): at dose 1, and where nothing is planted."""
    wide = part.pivot(index="seed", columns=["dose", "context_class"], values="effect").dropna()
    return np.stack([wide[1.0], wide[NOTHING]], 1)[:, None]


def auc(values: np.ndarray) -> float:
    """Area under the ROC curve for effects of :func:`by_world`: planted ones are larger."""
    more = np.subtract.outer(values[:, 0, 0].ravel(), values[:, 0, 1].ravel())
    return float(np.sign(more).mean() / 2 + 0.5)  # a tie is a half
