"""Compare a detector on the same street scenes in two appearances (an intervention)."""

import numpy as np
import pandas as pd

from helpers.icon2.analysis import analyse
from helpers.icon2.attributes import Frames, from_column
from helpers.icon2.matching import match

# whose layouts, in whose appearances
CELLS = ("low, own", "high, own", "low, other", "high, other")


def ap_by_appearance(
    own: Frames, other: Frames, resamples: int = 200
) -> dict[str, np.ndarray]:
    """Compute the AP of low and high income in the appearances of both groups.

    Parameters
    ----------
    own, other : Frames
        The same layouts in the appearances of their own group and of the opposite
        group.
    resamples : int
        A layout is resampled together with both of its renderings.

    Returns
    -------
    dict of str to ndarray of shape (1 + resamples, 4)
        By class, the AP (points) of each of the `CELLS`.
    """
    count = len(own.images)
    appearance = np.repeat(["own", "other"], count)
    images = pd.concat([own.images, other.images], ignore_index=True)
    cells = images["income"].astype(str) + ", " + appearance
    cells = cells.where(cells.isin(CELLS))  # the middle group is in none
    images["cell"] = pd.Categorical(cells, CELLS)
    tables = []
    for name in ("boxes", "detections"):
        first = getattr(own, name)
        second = getattr(other, name)
        second = second.assign(image=second["image"] + count)
        tables.append(pd.concat([first, second], ignore_index=True))
    frames = Frames(images, *tables, own.classes)
    analysis = analyse(
        match(frames),
        from_column(frames, "cell"),
        [],
        resamples=resamples,
        clusters=np.tile(np.arange(count), 2),
    )
    return {name: analysis.group_ap[name] for name in own.classes}
