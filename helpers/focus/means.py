"""Mean Focus with its interval over training runs and images.

Mosaics that share an image are not independent, which `helpers.stats.mean_ci` takes
into account. Architectures and image sets of a run are averaged first.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers import stats
from helpers.focus.mosaics import IMAGES
from helpers.stats import CONFIDENCE, Interval

MAP_OF = ["architecture", "set", "run", "mosaic"]  # which map was rated
UNITS = ["run", IMAGES]
CHANCE = "chance"
PAIR = ["target", "outer"]


def mean(rated: pd.DataFrame, confidence: float = CONFIDENCE) -> Interval:
    """Compute the mean Focus of one method, with NaN if all are undefined."""
    rows = stats.mean_ci(rated, "focus", units=UNITS, confidence=confidence)
    estimate_and_ends = rows.iloc[:, :3]  # one row, or none
    return Interval(*estimate_and_ends.mean())


def summary(rated: pd.DataFrame, by: Sequence[str] = ("method",)) -> pd.DataFrame:
    """Summarize ratings by groups.

    Parameters
    ----------
    rated : pandas.DataFrame
    by : sequence of str, default=("method",)
        The columns whose combinations have a row each.

    Returns
    -------
    pandas.DataFrame
        The columns `by`, ``runs``, ``mosaics``, ``undefined`` (maps without a Focus,
        which are left out), and ``mean`` with its interval ``low`` to ``high``.
    """
    rows = []
    for key, part in rated.groupby(list(by), sort=False):
        n_runs = part["run"].nunique()
        n_mosaics = len(part.drop_duplicates(["set", "mosaic"]))
        n_undefined = part["focus"].isna().sum()
        rows.append((*key, n_runs, n_mosaics, n_undefined, *mean(part)))
    columns = [*by, "runs", "mosaics", "undefined", "mean", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def contrast(
    rated: pd.DataFrame,
    weights: Mapping[str, float],
    of: str = "method",
    value: str = "focus",
) -> Interval:
    """Compute a weighted sum of Focus by the values of a column, paired by mosaic.

    A mosaic counts where all values are defined. `CHANCE` counts as 0.5.
    """
    wide = rated.groupby([*MAP_OF, of])[value].mean().unstack()
    wide[CHANCE] = 0.5
    weights = pd.Series(weights)
    rows = rated.drop_duplicates(MAP_OF)
    rows = rows.set_index(MAP_OF)
    rows["focus"] = wide[weights.index] @ weights
    return mean(rows.reset_index())
