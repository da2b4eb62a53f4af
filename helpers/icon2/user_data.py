"""Read labels and detections with any classes, and attributes from a CSV."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from helpers.icon2.attributes import (
    CORNERS,
    SIDES,
    DetectionDataError,
    Frames,
    extent,
)
from helpers.icon2.formats import (
    FORMATS,
    OF_DETECTIONS,
    OWN,
    Tables,
    read_file,
    read_table,
)
from helpers.icon2.matching import MAX_DETECTIONS
from helpers.suggest import listed

IGNORED = (
    "boxes are crowds (iscrowd) or regions to ignore ('ignore', which pycocotools does "
    "not read). A detection there is neither right nor wrong"
)
PLAUSIBLE = (0.01, 1.05)  # area of an object, as a share of its box
WRONG_AREA = (
    "boxes have an 'area' that does not fit them, so width times height replaces it. "
    "Write the area of the object or of its box into 'area'"
)
CROWDED = (
    f"images have more than {MAX_DETECTIONS} boxes of one class. All detections count, "
    "so AP may differ from pycocotools with its default"
)
ATTRIBUTES = "a CSV with one row per image, and its unique name in the column 'image'"
# a condition, what it says about boxes, and the share of boxes that is tolerated
IMPOSSIBLE = [
    ("missing", "have no class, or no number", 0),
    ("x2 < x1 or y2 < y1", "have a negative width or height", 0),
    ("score > 1.001", "have a score above 1 (divide percents by 100)", 0),
    ("x2 <= 2 and y2 <= 2", "are shares of the image (multiply by its size)", 0.9),
    ("x2 > 1.02 * width or y2 > 1.02 * height", "end outside of their image", 0.2),
]


def read(
    labels: str | Path,
    detections: str | Path,
    attributes: str | Path | None = None,
    classes: Sequence[str] | None = None,
    sides: Sequence[float] = SIDES,
) -> Frames:
    """Read labels and detections, and check them.

    Parameters
    ----------
    labels, detections : path
        COCO's JSON, BDD100K's (Scalabel's) JSON, a CSV of boxes, or a folder of YOLO's
        text files; they may differ.
    attributes : path, optional
        A CSV with a column ``image`` (names), and attributes.
    classes : sequence of str, optional
        Which classes to keep. The default is all labelled classes, the class with the
        most boxes first.
    sides : sequence of float
        See `Frames`.

    Returns
    -------
    Frames
        With a report of what was left out or looks wrong.

    Raises
    ------
    DetectionDataError
        If a file cannot be used.
    """
    if detections is None:
        raise DetectionDataError(
            "There is no file of detections. Name it by 'detections' (in lesson 08 by "
            "'predictions')."
        )
    counts = {}  # how much is left out, by a text for the report
    images, boxes, ids, kept = _read_boxes(Path(labels), counts, classes)
    counts[IGNORED] = boxes["ignore"].sum()
    is_wrong = ~(boxes["area"] / boxes["extent"]).between(*PLAUSIBLE)
    counts[WRONG_AREA] = is_wrong.sum()
    boxes["area"] = boxes["area"].mask(is_wrong, boxes["extent"])
    boxes["crowd"] = boxes["ignore"]
    per_image = boxes.groupby(["image", "category"]).size()
    counts[CROWDED] = (per_image > MAX_DETECTIONS).sum()
    if attributes is not None:
        images = _with_attributes(Path(attributes), images, counts)

    labelled = images, boxes, ids
    _, found, *_ = _read_boxes(Path(detections), counts, kept, labelled)
    found = found[OF_DETECTIONS]
    n_without = len(images) - found["image"].nunique()
    counts["labelled images have no detection"] = n_without

    report = [
        f"{len(images):,} images, {(~boxes['ignore']).sum():,} boxes, "
        f"{len(found):,} detections of {len(kept)} classes"
    ]
    report += [f"{number:,} {text}" for text, number in counts.items() if number]
    if boxes.empty or found.empty:
        raise DetectionDataError(f"Nothing can be compared. {'. '.join(report)}.")
    return Frames(images, boxes, found, tuple(kept), tuple(report), sides)


@contextmanager
def refusing(path: str | Path, expected: str) -> Iterator[None]:
    """Say why a file cannot be used, and what to provide."""
    try:
        yield
    except KeyError as error:
        problem = f"it has no column or field {error}"
    except Exception as error:  # every reader has errors of its own
        problem = " ".join(str(error).split()).rstrip(".")
    else:
        return
    raise DetectionDataError(
        f"{Path(path).name} cannot be used: {problem}. Provide {expected}."
    )


def _read_boxes(
    path: Path,
    counts: dict[str, int],
    classes: Sequence[str] | None,
    labelled: Tables | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, dict, list[str]]:
    """Read the images, the boxes of classes in them, ids of classes, and the classes.

    With the tables of the labels, the boxes are detections in their images.
    """
    with refusing(path, FORMATS):
        tables = read_file(path, labelled)
        boxes = tables[1]
        images, _, ids = labelled or tables
        if boxes.empty:
            raise DetectionDataError("there are no boxes.")
        if images.empty:
            raise DetectionDataError(
                "it has no images. A file of results has none, so labels and "
                "detections may be exchanged"
            )
        images = images.sort_values("id", ignore_index=True)
        names = images["name"].drop_duplicates(keep=False)
        # ids and names of images by their numbers; where both are the same, one remains
        keys = pd.concat([images["id"].astype(str), names]).drop_duplicates()
        boxes = _labelled(boxes, keys, path, counts)
        numbers = [*CORNERS, "score"] if labelled else CORNERS
        for name in numbers:
            boxes[name] = boxes[name].astype(float)
        boxes["extent"] = extent(boxes)
        boxes["area"] = boxes.get("area", boxes["extent"]).fillna(boxes["extent"])
        flags = boxes.reindex(columns=["iscrowd", "ignore"]).astype(float)
        boxes["ignore"] = flags.any(axis=1)
        boxes["category"] = boxes["category"].replace(ids)
        has_box = boxes[CORNERS].notna().any(axis=1)
        # a row of a CSV without a class stands for an image without boxes
        without_box = boxes["category"][~has_box]
        counts[f"entries of {path.name} have no box"] = without_box.count()
        boxes = boxes[has_box]
        _refuse_impossible(boxes, images, numbers)
    if labelled is None:
        sizes = boxes["category"][~boxes["ignore"]].sort_values().value_counts()
        classes = [name for name in classes or sizes.index if name in sizes]
    number = pd.Index(classes).get_indexer(boxes["category"])
    others = boxes["category"][number < 0]
    text = (
        f"entries of {path.name} left out, because no box of their class is labelled "
    )
    text += f"({listed(others.unique())})"
    if ids:
        numbered = [f"{number} {name}" for number, name in ids.items()]
        text += f". The labels have the classes {listed(numbered)}"
    counts[text] = len(others)
    boxes = boxes.assign(category=number)[number >= 0].reset_index(drop=True)
    return images, boxes, ids, classes


def _labelled(
    table: pd.DataFrame, keys: pd.Series, path: Path, counts: dict[str, int]
) -> pd.DataFrame:
    """Return the rows about labelled images, with the number of their ``image``."""
    number = table["image"].astype(str).map(pd.Series(keys.index, keys))
    is_known = number.notna()
    if not is_known.any():
        raise DetectionDataError(
            "none of its entries is about a labelled image. They name "
            f"{table['image'][:2].tolist()}, and the labels name "
            f"{keys[-2:].tolist()}. Ids or names must agree and be unique."
        )
    text = f"entries of {path.name} left out, because their image has no labels"
    counts[text] = (~is_known).sum()
    return table[is_known].assign(image=number[is_known].astype(int))


def _refuse_impossible(
    boxes: pd.DataFrame, images: pd.DataFrame, numbers: list[str]
) -> None:
    """Refuse boxes without class or numbers, or outside of their image."""
    about = images.reindex(columns=["name", "width", "height"])
    table = boxes.reindex(columns=OF_DETECTIONS).join(about, on="image")
    table["missing"] = table[["category", *numbers]].isna().any(axis=1)
    for condition, reason, tolerated in IMPOSSIBLE:
        rows = table[table.eval(condition)]
        if len(rows) > tolerated * len(table):
            raise DetectionDataError(
                f"{len(rows):,} of {len(table):,} boxes {reason}. The first is "
                f"{rows.iloc[0].to_dict()}."
            )


def _with_attributes(
    path: Path, images: pd.DataFrame, counts: dict[str, int]
) -> pd.DataFrame:
    """Join the columns of a CSV to images by their names."""
    with refusing(path, ATTRIBUTES):
        names = images["name"].drop_duplicates(keep=False)
        table = _labelled(read_table(path), names, path, counts).set_index("image")
        table = table.drop(columns=OWN, errors="ignore")
        counts[f"images have no row in {path.name}"] = len(images) - len(table)
        return images.assign(**table.reindex(images.index))
