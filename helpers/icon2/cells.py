"""Which boxes, images and false positives make up the cells of one attribute, or of two crossed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.icon2.attributes import Attribute
from helpers.icon2.matching import ClassMatches
from helpers.icon2.options import Options


@dataclass(frozen=True)
class Cells:
    """Which boxes and which false positives belong to which cell, for one class.

    `of_box` (n boxes of the class,) is the cell of each box, -1 for none; `images` (n images, C)
    and `counted` (n detections of the class, C) say which images, and which detections that take no
    box, count for a cell.
    """

    of_box: np.ndarray
    images: np.ndarray
    counted: np.ndarray

    def alone(self, cell: int) -> "Cells":
        """One cell by itself."""
        of_box = np.where(self.of_box == cell, 0, -1)
        return Cells(of_box, self.images[:, [cell]], self.counted[:, [cell]])


def whole(of_class: ClassMatches) -> Cells:
    """One cell: all boxes of a class in all images."""
    of_box = np.zeros(len(of_class.box_row), int)
    images = np.ones((of_class.n_images, 1), bool)
    return Cells(of_box, images, images[of_class.detection_image])


def cells(of_class: ClassMatches, attributes: Sequence[Attribute], options: Options) -> Cells:
    """Cells of all combinations of the attributes' values for one class, the last running fastest.

    Of the options, ``false_positives`` and ``images`` are used here.
    """
    sizes = [len(a.values) for a in attributes]
    places = np.indices(sizes).reshape(len(sizes), -1)  # code of each attribute in each cell
    codes = np.array([of_class.codes(a) for a in attributes])
    of_box = np.ravel_multi_index(tuple(np.maximum(codes, 0)), sizes)
    of_box = np.where((codes >= 0).all(0), of_box, -1)
    images = np.zeros((of_class.n_images, places.shape[1]), bool)
    labelled = ~of_class.box_ignored
    if options.images == "with the value":
        inside = labelled & (of_box >= 0)
        images[of_class.box_image[inside], of_box[inside]] = True
    elif options.images == "with the class":
        images[of_class.box_image[labelled]] = True
    else:
        images[:] = True
    for attribute, place in zip(attributes, places, strict=True):
        if attribute.level == "image":
            images &= attribute.codes[:, None] == place
    counted = images[of_class.detection_image]
    for attribute, place in zip(attributes, places, strict=True):
        if options.false_positives == "coco" and attribute.of_detection is not None:
            counted &= attribute.of_detection[of_class.detection_row][:, None] == place
    return Cells(of_box, images, counted)
