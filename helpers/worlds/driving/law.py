"""The stated law of the planted driving world: what its scenes hold, and what income changes.
How well a detector finds what is in them was measured (``data/detection_law.csv``)."""

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

CLASSES = tuple(SHARES)
CONFOUNDERS = ("size", "occlusion", "time", "weather", "scene")  # the last changes no detection


@dataclass(frozen=True)
class Law:
    """What income changes: the scenes of its groups, or how well their boxes are found, or nothing.

    `confounding` is how far the confounder's log-odds (size, occlusion, time, weather or scene)
    move between neighbouring income groups: at 0.5 the low-income group's odds of a small box are e
    times those of the high-income group. `inequity` is how far the logit of being detected moves
    between them, on boxes that look the same; positive: worse in low-income scenes."""

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
