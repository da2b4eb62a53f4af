"""Examples to look at: objects that stand where their class usually does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd


def in_own(table: pd.DataFrame, context_of: Mapping[str, str]) -> np.ndarray:
    """Which images show their class's own context, bool (N,); all of them where none is known to.

    Parameters
    ----------
    table : DataFrame
        Of the images: class, context.
    context_of : dict from class to context name
    """
    own = (table["context"] == table["class"].map(context_of)).to_numpy()
    return own if own.any() else np.ones(len(table), dtype=bool)


def one_each(
    design: pd.DataFrame, table: pd.DataFrame, context_of: Mapping[str, str]
) -> pd.DataFrame:
    """One row of each object class and partner, of an object in its own context where there is one.

    Parameters
    ----------
    design : DataFrame
        From `mosaics.design`.
    table : DataFrame
        Of the object images: class, context.
    context_of : dict from class to context name

    Returns
    -------
    DataFrame
        Rows of `design`: by object class first contexts of other classes, then its own, then the
        neutral partner.
    """
    elsewhere = ~in_own(table, context_of)[design["object"]]
    first = design.assign(elsewhere=elsewhere).sort_values("elsewhere", kind="stable")
    first = first.drop_duplicates(["object_class", "context_class"])
    order = {name: i for i, name in enumerate(("context", "own", "neutral"))}
    place = {name: i for i, name in enumerate(design["object_class"].unique())}
    rank = first["object_class"].map(place) * 3 + first["kind"].map(order)
    return first.loc[rank.sort_values(kind="stable").index].drop(columns="elsewhere")
