"""Lay out synthetic street scenes whose income groups differ in one injected cause.

Low income has most of the cause and high income none of the shift. All groups have the
same scenes if the strength is 0 or the cause is "none".
"""

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from synthetic import street

# strength of each cause that makes scenes harder, chosen on seed 100 alone
STRENGTHS = {"size": 0.2, "occlusion": 3.0, "time": 2.5, "weather": 3.0}
SHARES = {"time": 0.4, "weather": 0.3, "scene": 0.5, "occlusion": 0.3}


def scenes(
    n: int, seed: int, cause: str, strength: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw scenes as tables of frames and things, with one cause injected.

    Parameters
    ----------
    n : int
        The number of frames.
    seed : int
        Scenes of one seed are the same except for what the cause changes.
    cause : str
        ``time`` (night), ``weather`` (rain or snow), ``scene`` (city streets, which are
        not harder), ``size`` (distant things), ``occlusion`` (pedestrians behind cars),
        or ``none``.
    strength : float
        The change from one income group to the next, in log-odds of the frames or
        pedestrians that have the cause. For the size it is the change of the
        logarithm of the distance.

    Returns
    -------
    frames, things : pandas.DataFrame
        As `street.scenes` returns them.
    """
    frames, things = street.scenes(n, 7000 + seed)
    rng = np.random.default_rng(seed)
    shift = strength * (1 - frames["income"].cat.codes.to_numpy())

    def draw() -> np.ndarray:
        """Draw which frames have the cause."""
        return rng.random(n) < expit(logit(SHARES[cause]) + shift)

    if cause == "time":
        frames["timeofday"] = np.where(draw(), "night", "daytime")
    elif cause == "weather":
        wet = np.where(rng.random(n) < 0.2, "rainy", "snowy")
        frames["weather"] = np.where(draw(), wet, "clear")
    elif cause == "scene":
        frames["scene"] = np.where(draw(), "city street", "residential")
    elif cause == "size":
        things["distance"] *= np.exp(shift)[things["frame"]]
    elif cause == "occlusion":
        share = expit(logit(SHARES[cause]) + shift)
        things["aside"] = _hide_pedestrians(things, share, rng)
    return frames, things


def _hide_pedestrians(
    things: pd.DataFrame, share: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Move a share of the pedestrians of each frame half behind the nearest car.

    Only pedestrians with a nearer car can be moved. Returns all positions in metres.
    """
    positions = things["aside"].to_numpy().copy()
    chance = rng.random(len(things))
    covered = rng.uniform(0.45, 0.7, len(things))
    side = rng.choice([-1, 1], len(things))
    half_car = street.METRES["car"][0] / 2
    half_pedestrian = street.METRES["pedestrian"][0] / 2
    for frame, part in things.groupby("frame"):
        cars = part[part["kind"] == "car"]
        pedestrians = part[part["kind"] == "pedestrian"]
        for row, distance in pedestrians["distance"].items():
            nearer = cars[cars["distance"] < distance]
            if chance[row] >= share[frame] or nearer.empty:
                continue
            car = nearer.iloc[0]
            edge = (car["aside"] + side[row] * half_car) / car["distance"] * distance
            beyond = half_pedestrian * (1 - 2 * covered[row])
            positions[row] = edge + side[row] * beyond
    return positions
