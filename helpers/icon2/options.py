"""The choices that the paper leaves open or that move its numbers, in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields

CHOICES = {
    "precision": ("normalised", "raw", "per image"),
    "number": ("compared", "all cells"),
    "false_positives": ("hoiem", "coco"),
    "images": ("with the value", "with the class", "all"),
    "interpolation": ("101 points", "all points"),
    "deviation": ("sample", "population"),
}


@dataclass(frozen=True)
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
        of size and aspect ratio only; other attributes stay with Hoiem's rule.
    images
        Images whose false positives count: those ``with the value`` (a box of the class with that
        value; section 3.1 of the paper), ``with the class``, or ``all``.
    interpolation
        ``101 points`` (COCO; detectron2's, which the paper used) or ``all points``.
    deviation
        ``sample`` (divides by n - 1: what the paper's tables show) or ``population`` (Eq. 5).
    min_boxes
        Boxes below which a cell is not estimable. The paper has no such rule, and leaves out by
        eye the classes whose "counts are too low".
    """

    precision: str = "normalised"
    number: str = "compared"
    false_positives: str = "hoiem"
    images: str = "with the value"
    interpolation: str = "101 points"
    deviation: str = "sample"
    min_boxes: int = 30

    def __post_init__(self) -> None:
        for field in fields(self):
            value, allowed = getattr(self, field.name), CHOICES.get(field.name)
            if allowed and value not in allowed:
                raise ValueError(
                    f"{field.name}={value!r} is not known; allowed: {', '.join(allowed)}"
                )
        if self.min_boxes < 1:
            raise ValueError(f"min_boxes={self.min_boxes} must be 1 or more")

    @property
    def ddof(self) -> int:
        """What the standard deviation subtracts from n."""
        return int(self.deviation == "sample")


PAPER = Options()
SOUND = Options(precision="per image", images="with the class")
