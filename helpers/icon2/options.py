"""The choices that the paper leaves open or that move its numbers, in one place."""

from typing import Literal, get_args, get_type_hints

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, config={"extra": "forbid"})
class Options:
    """How ICON2 is computed; the defaults are the paper's reading.

    Attributes
    ----------
    precision
        ``normalised`` (Eq. 3): R N / (R N + F), N the same for all values compared; the paper's.
        ``raw`` (Eq. 2): N is each value's own number of boxes.
        ``per image``: as Eq. 3, but with N and F both counted per image. Eq. 3 fixes N and not F:
        where the values compared are *different images*, a value with few images has few false
        positives and is flattered. With the same images for all values the two are equal.
    number
        N in Eq. 3: the mean over the values ``compared`` (for controlled cells, the sensitive
        values within one value of the confounder; as the text has it), or over ``all cells``.
    false_positives
        Who gets the false positives of an attribute of boxes: ``hoiem``, every value all of them
        (the paper takes its precision from Hoiem et al., and a false positive has no
        occlusion); or ``coco``, only detections that have the value themselves, which can be said
        of size only; other attributes stay with Hoiem's rule.
    images
        Images whose false positives count: those ``with the value`` (a box of the class with that
        value; section 3.1 of the paper), ``with the class``, or ``all``.
    averaged
        What is averaged over the values of a confounder: ``sigma`` (the paper's Table 2), or
        ``variance`` (its section 3.2.2), of which the root is then taken.
    min_boxes
        Boxes below which a cell is not estimable. The paper has no such rule, and leaves out by
        eye the classes whose "counts are too low".
    """

    precision: Literal["normalised", "raw", "per image"] = "normalised"
    number: Literal["compared", "all cells"] = "compared"
    false_positives: Literal["hoiem", "coco"] = "hoiem"
    images: Literal["with the value", "with the class", "all"] = "with the value"
    averaged: Literal["sigma", "variance"] = "sigma"
    min_boxes: PositiveInt = 30


CHOICES = {name: get_args(kind) for name, kind in get_type_hints(Options).items() if get_args(kind)}
PAPER = Options()
PER_IMAGE = Options(precision="per image")
