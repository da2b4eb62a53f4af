"""Convert BDD100K's labels and detections (Scalabel's format) to COCO's structures."""

from pathlib import Path

from helpers.icon2.file_checks import CORNERS

# The classes that the paper evaluates.
CLASSES = (
    "car",
    "pedestrian",
    "truck",
    "traffic sign",
    "traffic light",
    "bus",
    "motorcycle",
    "bicycle",
)
RENAMED = {"bike": "bicycle", "motor": "motorcycle", "person": "pedestrian"}
# Classes whose labels are regions to ignore of another class.
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
SIZE = {"width": 1280, "height": 720}  # of a frame that does not say its own


def to_coco(frames: list[dict]) -> dict:
    """Convert the labels or detections of frames to COCO's structures.

    Lanes and drivable areas are left out. Ids of images and categories are names.
    Detections have a ``score``.
    """
    images = []
    annotations = []
    for frame in frames:
        name = frame["name"]
        image = {
            "id": name,
            "video": frame.get("videoName") or Path(name).stem,
            "attributes": frame.get("attributes"),
        }
        images.append(image | (frame.get("size") or SIZE))
        for label in frame.get("labels") or []:
            if label.get("box2d"):
                annotations.append(_annotation(name, label))
    names = {one["category_id"] for one in annotations}
    categories = [{"id": name, "name": name} for name in sorted(names)]
    return {"images": images, "annotations": annotations, "categories": categories}


def _annotation(name: str, label: dict) -> dict:
    """Return a label with a box, or a detection, as COCO has it."""
    x1, y1, x2, y2 = [float(label["box2d"][corner]) for corner in CORNERS]
    category = RENAMED.get(label["category"], label["category"])
    attributes = label.get("attributes") or {}
    score = label.get("score")
    is_region = category in IGNORED and score is None
    return {
        "id": label.get("id"),
        "image_id": name,
        "category_id": IGNORED[category] if is_region else category,
        "bbox": [x1, y1, x2 - x1, y2 - y1],
        "iscrowd": is_region or attributes.get("crowd"),
        "score": score,
        "attributes": attributes,
    }
