"""Which boxes, images and false positives make up the cells of one or more attributes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Cells
from helpers.icon2.matching import ClassMatches
from helpers.icon2.options import Options

Factor = tuple[Attribute, ...]  # one attribute, or several taken together


def factor(given: Attribute | Sequence[Attribute]) -> Factor:
    """One attribute or a pair of them, as the tuple that the functions here take."""
    return (given,) if isinstance(given, Attribute) else tuple(given)


def name_of(attributes: Factor) -> str:
    """Name of a factor, such as ``size`` or ``size x weather``."""
    return " x ".join(a.name for a in attributes)


def values_of(attributes: Factor) -> list[str]:
    """Values of a factor in the order of its cells, the last attribute running fastest."""
    return [", ".join(values) for values in product(*(a.values for a in attributes))]


def cells(of_class: ClassMatches, attributes: Factor, options: Options) -> Cells:
    """Cells of all combinations of the attributes' values for one class, the last running fastest.

    Of the options, ``false_positives`` and ``images`` are used here.
    """
    rows, image = of_class.box_row, of_class.box_image
    sizes = [len(a.values) for a in attributes]
    of_box = joint(
        [a.codes[image] if a.level == "image" else a.codes[rows] for a in attributes], sizes
    )
    counted = ~of_class.box_ignored
    images = _images(of_class.n_images, attributes, sizes)
    if options.images == "with the class":
        images &= (np.bincount(image[counted], minlength=of_class.n_images) > 0)[:, None]
    elif options.images == "with the value":
        present = np.zeros_like(images)
        inside = counted & (of_box >= 0)
        present[image[inside], of_box[inside]] = True
        images &= present
    own = [a.of_detection is not None for a in attributes]
    if options.false_positives == "hoiem" or not any(own):
        return Cells(of_box, images)
    return Cells(of_box, images, *_buckets(of_class, attributes, sizes, own))


def joint(codes: list[np.ndarray], sizes: list[int]) -> np.ndarray:
    """One code for several, -1 where any is absent."""
    joint, known = np.zeros(len(codes[0]), int), np.ones(len(codes[0]), bool)
    for code, size in zip(codes, sizes, strict=True):
        joint, known = joint * size + code, known & (code >= 0)
    return np.where(known, joint, -1)


def _places(sizes: list[int]) -> np.ndarray:
    """Code of each attribute in each cell, int (number of attributes, C)."""
    return np.array(np.unravel_index(np.arange(prod(sizes)), sizes))


def _images(n: int, attributes: Factor, sizes: list[int]) -> np.ndarray:
    images = np.ones((n, prod(sizes)), bool)
    for a, place in zip(attributes, _places(sizes), strict=True):
        if a.level == "image":
            images &= a.codes[:, None] == place
    return images


def _buckets(of_class, attributes, sizes, own) -> tuple[np.ndarray, np.ndarray]:
    """For COCO's rule: the bucket of each detection and of each cell."""
    row = of_class.detection_row
    kept = [i for i, has in enumerate(own) if has]
    some = [sizes[i] for i in kept]
    of_detection = joint([attributes[i].of_detection[row] for i in kept], some)
    place = _places(sizes)
    return of_detection, joint([place[i] for i in kept], some)
