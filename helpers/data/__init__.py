"""Load synthetic images, or photographs in class folders, with one call.

`load` returns a `Collection` of `ImageSet`, which the module `collection` defines.
"""

from helpers.data import photographs, world
from helpers.data.collection import Collection, ImageSet
from helpers.data.images import Images

__all__ = ["Collection", "ImageSet", "load"]


def load(images: Images, seed: int = 0) -> Collection:
    """Load images in image sets and splits, with the contexts of their classes.

    A class of 150 images has 100 for training, 25 for validation and 25 for the test.
    Other numbers are split 4 : 1 : 1. Remarks on the files are printed.

    Parameters
    ----------
    images : Images
    seed : int
        Decides what is drawn, and the splits.

    Returns
    -------
    Collection

    Raises
    ------
    ValueError
        The folders do not fit together, a class has too few images, or files cannot be
        read.

    References
    ----------
    *Assessing Biases through Visual Contexts*, section 2.1.
    """
    if images.source == "world":
        return world.load(images, seed)
    return photographs.load(images, seed)
