"""Objects pasted into other contexts.

*Assessing Biases through Visual Contexts*, "Results Checks" and Figures 11 to 14. The
objects come from the image set WB (white background), where they can be cut out.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import torch

from helpers.contexts import compositing, mosaics
from helpers.data import Collection, ImageSet

NOTHING = "nothing"  # object class of a background image without an object


def objects(collection: Collection) -> ImageSet | None:
    """Return the test images of WB that show an object.

    Returns
    -------
    ImageSet or None
        None if the collection has no image set WB, or WB has no masks.
    """
    white = collection.sets.get("WB")
    if white is None or white.masks is None:
        return None
    test = white.split("test")
    shows_object = test.masks.flatten(1).any(1).numpy()
    return test.where(shows_object)


def require_objects(collection: Collection) -> ImageSet:
    """Return the test images of WB that show an object, or say what is missing.

    Raises
    ------
    ValueError
        If the collection has no image set WB, or WB has no masks.
    """
    found = objects(collection)
    if found is None:
        raise ValueError(
            "There is no set WB (objects on white) with masks, so no object can be cut "
            "out. Lesson 04 needs one. Add a folder WB with objects on a white "
            "background, or go on with lesson 05."
        )
    return found


def composites(
    design: pd.DataFrame,
    cutouts: np.ndarray,
    contexts: Mapping[str, torch.Tensor],
    *,
    neutral: torch.Tensor | None = None,
    paste: Callable = compositing.paste,
) -> torch.Tensor:
    """Paste objects on background images.

    Parameters
    ----------
    design : pandas.DataFrame
        Rows of :func:`mosaics.design`, with one background per context.
    cutouts : numpy.ndarray, shape (N, 4, H, W)
        The objects, from :func:`helpers.contexts.cutting.cut`.
    contexts : mapping of str to torch.Tensor
        Background images by the context's class, uint8 (M, 3, H, W).
    neutral : torch.Tensor, optional
        A neutral background, if the design has such rows.
    paste : callable
        Takes a cut-out and a background and returns their composite.

    Returns
    -------
    torch.Tensor of uint8, shape (rows of the design, 3, H, W)
    """
    backgrounds, background_of = mosaics.partners(design, contexts, neutral)
    images = backgrounds.numpy()[background_of]
    for image, number in zip(images, design["object"], strict=True):
        image[:] = paste(cutouts[number], image)
    return torch.from_numpy(images)


def alone(
    contexts: Mapping[str, torch.Tensor],
) -> tuple[torch.Tensor, pd.DataFrame]:
    """List background images without an object.

    Parameters
    ----------
    contexts : mapping of str to torch.Tensor
        Background images by the context's class, uint8 (M, 3, H, W).

    Returns
    -------
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    table : pandas.DataFrame
        One row per image: ``object`` (its number in `images`), ``object_class``, which
        is `NOTHING`, and ``context_class``.
    """
    lengths = [len(images) for images in contexts.values()]
    table = pd.DataFrame({"context_class": np.repeat(list(contexts), lengths)})
    table = table.assign(object_class=NOTHING, object=table.index)
    return torch.cat(list(contexts.values())), table
