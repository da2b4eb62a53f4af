"""Calibrations of the model audit, kept for other networks that begin alike."""

import torch

import helpers
from helpers import store
from helpers.audit import planting


def calibrated(
    suspects, fit, seed: int, counts: dict[str, int]
) -> planting.Calibration:
    """Calibrate as `planting.calibrate` does, or take what was kept.

    Another network of the same start, with the same photographs and contexts, finds it there.

    Parameters
    ----------
    suspects : planting.Contexts
        The photographs' features in each context.
    fit : planting.Linear or retraining.Retraining
        How classifiers are trained.
    seed : int
        Seed of all that is drawn.
    counts : dict of str to int
        How many classifiers of each kind are trained, as `planting.calibrate` takes them.
    """

    def make():
        return vars(planting.calibrate(suspects, fit, seed, **counts)), {}

    decides = {"suspects": suspects, "fit": fit, "seed": seed, "counts": counts}
    decides |= {"torch": torch.__version__, "pinned": helpers.pinned}
    folder = store.networks() / "audits"
    return planting.Calibration(
        **store.arrays("calibration", folder, make, **decides)[1]
    )
