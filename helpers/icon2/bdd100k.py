"""Convert BDD100K's labels and detections (Scalabel's format) to COCO's structures."""

from pathlib import Path
from typing import Any

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
# Classes whose boxes are regions to ignore of another class.
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
SIZE = {"width": 1280, "height": 720}  # of a frame that does not say its own


def frames_of(content: Any) -> list | None:
    """Return the frames of a file's content, or None if it is not from BDD100K."""
    if isinstance(content, dict):
        return content.get("frames")
    if not isinstance(content, list) or not content:
        return None
    is_frame = isinstance(content[0], dict) and "name" in content[0]
    return content if is_frame else None


def labels_to_coco(frames: list[dict]) -> dict:
    """Convert labelled frames to COCO's labels; ids are names."""
    images = []
    annotations = []
    for frame in frames:
        name, size = frame["name"], frame.get("size") or SIZE
        image = {
            "id": name,
            "file_name": name,
            "width": int(size["width"]),
            "height": int(size["height"]),
            "video": frame.get("videoName") or Path(name).stem,
            "attributes": frame.get("attributes"),
        }
        images.append(image)
        for label in _labels_with_box(frame):
            attributes = label.get("attributes") or {}
            annotation = _annotation(frame, label)
            category = annotation["category_id"]
            annotation["category_id"] = IGNORED.get(category, category)
            annotation["iscrowd"] = category in IGNORED or attributes.get("crowd")
            annotation["id"] = label.get("id")
            annotation["attributes"] = attributes
            annotations.append(annotation)
    classes = sorted({one["category_id"] for one in annotations})
    categories = [{"id": name, "name": name} for name in classes]
    return {"images": images, "annotations": annotations, "categories": categories}


def results_to_coco(frames: list[dict]) -> list[dict]:
    """Convert the detections of frames to COCO's results."""
    results = []
    for frame in frames:
        for label in _labels_with_box(frame):
            results.append(_annotation(frame, label) | {"score": label["score"]})
    return results


def _labels_with_box(frame: dict) -> list[dict]:
    """Return a frame's labels without lanes and drivable areas."""
    return [one for one in frame.get("labels") or [] if one.get("box2d") is not None]


def _annotation(frame: dict, label: dict) -> dict:
    x1, y1, x2, y2 = (float(label["box2d"][name]) for name in CORNERS)
    return {
        "image_id": frame["name"],
        "category_id": RENAMED.get(label["category"], label["category"]),
        "bbox": [x1, y1, x2 - x1, y2 - y1],
    }
