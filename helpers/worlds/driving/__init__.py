"""Planted streets that are drawn: :mod:`helpers.worlds.driving.street`."""

GROUPS = ("low", "middle", "high")  # of income
CLASSES = (  # BDD100K's that the paper evaluates
    "car", "pedestrian", "truck", "traffic sign", "traffic light", "bus", "motorcycle", "bicycle",
)  # fmt: skip
