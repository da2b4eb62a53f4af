"""The whole of ICON2 for some classes in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from helpers.detection import Matches
from helpers.icon2 import resampling
from helpers.icon2.attributes import Attribute
from helpers.icon2.estimates import estimate
from helpers.icon2.options import Options
from helpers.icon2.tables import Analysis


def analyse(
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute | Sequence[Attribute]],
    *,
    classes: Iterable[str] | None = None,
    options: Options | None = None,
    resamples: int = 0,
    seed: int = 0,
    clusters: np.ndarray | None = None,
    level: float = 0.95,
    workers: int = 1,
    standardise: bool = True,
) -> Analysis:
    """Run ICON2 (section 3) for some classes.

    Parameters
    ----------
    matches
        From :func:`helpers.detection.match`.
    sensitive
        Any attribute of images or boxes, with any number of values.
    explanatory
        Possible confounders; a pair of attributes is one confounder.
    classes
        Names (default: all).
    options
        Default: the paper's reading.
    resamples
        Bootstrap resamples of images for the intervals; 0 for none.
    seed
    clusters : array (n images,), optional
        Images that belong together are drawn together (frames of one video).
    level
        Of the intervals.
    workers
        Threads; the numbers do not depend on it.
    standardise
        False leaves out the standardised APs (NaN), to be quick.

    Returns
    -------
    Analysis

    Raises
    ------
    ValueError
        For a class that the matches do not have.
    """
    options, names = options or Options(), list(classes or matches.classes)
    unknown = [name for name in names if name not in matches.classes]
    if unknown:
        raise ValueError(
            f"class {unknown[0]!r} is not known; there are: {', '.join(matches.classes)}"
        )
    weights = resampling.weights(matches.n_images, resamples, seed, clusters)

    by_class = (matches.of(matches.classes.index(name)) for name in names)
    asked = (sensitive, explanatory, weights, options)
    if workers == 1:
        found = [estimate(one, *asked, standardise=standardise) for one in by_class]
    else:
        with ThreadPoolExecutor(workers) as pool:
            each = {"map": pool.map, "standardise": standardise}
            found = [estimate(one, *asked, **each) for one in by_class]
    return Analysis(sensitive, dict(zip(names, found, strict=True)), options, level)
