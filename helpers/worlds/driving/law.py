"""The stated law of the planted driving world: what is drawn, and what changes detection.

Every number that decides a draw stands here. Income acts through two knobs: `confounding` changes
what the scenes of an income group look like (how large its boxes are, say), and `inequity` changes
how well the detector does on boxes that look the same. The verdict that ICON2 should reach is
therefore known: the first is explained by the confounder, the second is not.
"""

from dataclasses import dataclass

GROUPS = ("low", "middle", "high")

# Share of the boxes of each class, close to BDD100K's validation set, and width over height.
SHARES = {
    "car": 0.555,
    "pedestrian": 0.072,
    "truck": 0.023,
    "traffic sign": 0.189,
    "traffic light": 0.145,
    "bus": 0.0086,
    "motorcycle": 0.0024,
    "bicycle": 0.0054,
}
ASPECT = {"car": 1.3, "pedestrian": 0.4, "truck": 1.2, "traffic sign": 1.2, "traffic light": 0.5}
BOXES = 18.0  # boxes an image on average, all classes
SPREAD = 2.0  # shape of the gamma that an image's expected number of boxes is drawn from

WEATHER = {"clear": 0.55, "overcast": 0.2, "rainy": 0.15, "snowy": 0.1}
SCENE = {"city street": 0.6, "highway": 0.25, "residential": 0.15}
TIME = {"daytime": 0.55, "dawn/dusk": 0.1, "night": 0.35}

# Side (square root of the area, pixels) of small, medium and large boxes: COCO's bounds.
SIDES = {"small": (12.0, 32.0), "medium": (32.0, 96.0), "large": (96.0, 280.0)}
SIZE_SHARES = {"small": 0.45, "medium": 0.4, "large": 0.15}
OCCLUDED = 0.45  # share of boxes occluded
TRUNCATED = 0.08

# Logit of being detected, and what changes it.
DETECTED = 1.9
BY_SIZE = {"small": -1.6, "medium": 0.0, "large": 0.8}
BY_OCCLUSION = -1.1
BY_TIME = {"daytime": 0.0, "dawn/dusk": -0.2, "night": -0.6}
BY_WEATHER = {"clear": 0.0, "overcast": 0.0, "rainy": -0.3, "snowy": -0.3}
BY_IMAGE = 0.4  # standard deviation of what the boxes of one image share

# Detections: error of a corner as a share of the side plus pixels; scores; false positives.
CORNER = 0.035
CORNER_PIXELS = 0.7
SCORE = (1.0, 0.7, 1.0)  # logit of the score: intercept, slope on the logit of being detected, sd
FALSE_SCORE = (-1.4, 1.1)  # mean and sd of the logit of a false positive's score
FALSE = 0.9  # false positives for each box expected in an image
FALSE_AT_NIGHT = 1.3  # times as many at night
FALSE_IN_BAD_WEATHER = 1.15  # and in rain or snow
DUPLICATES = 0.12  # share of detected boxes that are detected twice

CLASSES = tuple(SHARES)
CONFOUNDERS = ("size", "occlusion", "time", "weather")


@dataclass(frozen=True)
class Law:
    """The knobs. All zero: income has nothing to do with anything.

    Attributes
    ----------
    confounding : float
        How far the confounder's log-odds move between neighbouring income groups: at 0.5 the
        low-income group's odds of a small box are e times those of the high-income group.
    confounder : str
        ``size``, ``occlusion``, ``time`` or ``weather``.
    inequity : float
        How far the logit of being detected (and the score with it) moves between neighbouring
        groups, on boxes that look the same. Positive: worse in low-income scenes.
    """

    confounding: float = 0.0
    confounder: str = "size"
    inequity: float = 0.0

    def __post_init__(self) -> None:
        if self.confounder not in CONFOUNDERS:
            raise ValueError(
                f"confounder={self.confounder!r} is not known; allowed: {', '.join(CONFOUNDERS)}"
            )

    def tilt(self, attribute: str) -> float:
        """Strength with which income moves an attribute."""
        return self.confounding if attribute == self.confounder else 0.0
