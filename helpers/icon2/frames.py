"""What notebook 08 analyses: the reader's BDD100K, or the planted streets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import attributes, income
from helpers.icon2.attributes import Attribute
from helpers.icon2.reading import (
    DetectionDataError,
    GroundTruth,
    read_detections,
    read_labels,
)
from helpers.worlds import driving
from helpers.worlds.driving.city import drives

WITHOUT_GPS = 0.1  # share of planted frames


@dataclass(frozen=True)
class Frames:
    """Labelled frames, detections, what was joined, and what is planted (None: real data)."""

    truth: GroundTruth
    detections: pd.DataFrame
    read: tuple[str, ...] = ()  # sentences about the detections' file
    joined: dict[str, int] | None = None
    law: driving.Law | None = None
    seed: int = 0
    further: tuple[str, ...] = ()  # attributes besides the paper's five
    pictures: Path | None = None  # folder of the frames' image files

    def report(self) -> list[str]:
        """Sentences about what was read, joined and left out."""
        boxes = int((~self.truth.boxes.ignore).sum())
        said = [
            f"{len(self.truth.images):,} frames, {boxes:,} boxes, "
            f"{len(self.detections):,} detections of {len(self.truth.classes)} classes"
        ]
        said += [*self.truth.report, *self.read]
        if self.joined:
            said.append(", ".join(f"{n:,} {name}" for name, n in self.joined.items()))
        return said

    def attribute(self, name: str) -> Attribute:
        """A sensitive attribute by the name of its column; income in its order."""
        if name == "income" and name not in self.truth.images:
            columns = [c for c in self.truth.images if c not in ("name", "video")]
            raise DetectionDataError(
                "parameter 'sensitive' is 'income', and no income is known of these frames: give "
                "'gps', 'areas' and 'incomes', or a CSV with a column 'income' in 'further'; or "
                f"make 'sensitive' another column: {', '.join(columns) or 'there is none'}"
            )
        return attributes.from_column(
            self.truth, name, values=income.BINS if name == "income" and self.joined else None
        )

    def law_of(self, sensitive: str) -> driving.Law | None:
        """What is planted about the sensitive attribute: the law speaks of income only."""
        return self.law if sensitive == "income" else None

    def clusters(self, name: str | None) -> np.ndarray | None:
        """A column of frames that belong together, such as ``video``; None for none."""
        if name is None:
            return None
        if name not in self.truth.images:
            raise DetectionDataError(
                f"parameter 'cluster': the frames have no column {name!r}; "
                f"there are: {', '.join(self.truth.images.columns)}"
            )
        return self.truth.images[name].astype(str).to_numpy()

    def explanatory(self, sensitive: str) -> list[Attribute]:
        """The paper's five and those asked for besides; not the sensitive one."""
        found = attributes.standard(self.truth, self.detections)
        found += [self._further(name) for name in self.further]
        same = {"occluded": "occlusion", "timeofday": "time"}.get(sensitive, sensitive)
        return [a for a in found if a.name != same]

    def _further(self, name: str) -> Attribute:
        if name == "aspect":
            return attributes.aspect(self.truth, self.detections)
        if name in ("truncation", "crowding"):
            return getattr(attributes, name)(self.truth)
        return attributes.from_column(self.truth, name)

    def light(self) -> list[Attribute]:
        """Illumination of the frame and contrast of the box, in thirds, where they are known.

        They are measured in the reader's pictures; planted frames have those that were drawn for
        them.
        """
        if self.pictures is not None:
            illumination, contrast = attributes.measured_light(self.truth, self.pictures)
        elif self.law is not None:
            illumination, contrast = driving.light(self.truth.images, self.truth.boxes, self.seed)
        else:
            return []
        return [
            attributes.thirds("illumination", illumination, "image"),
            attributes.thirds("contrast", contrast, "box"),
        ]

    def with_further(self, names: Sequence[str] | None) -> Frames:
        """The same with further attributes, or what they are made from.

        `names` are ``truncation``, ``aspect``, ``crowding``; columns of frames or boxes; CSVs to
        join (see :func:`helpers.icon2.attributes.join_csv`); a folder of the frames' pictures.
        """
        frames = self
        for name in map(str, names or ()):
            if name.lower().endswith(".csv"):
                truth, columns = attributes.join_csv(frames.truth, name)
                frames = replace(frames, truth=truth, further=(*frames.further, *columns))
            elif Path(name).is_dir():
                frames = replace(frames, pictures=Path(name))
            elif Path(name).name != name:
                raise DetectionDataError(f"parameter 'further': there is no folder {name!r}")
            else:
                frames = replace(frames, further=(*frames.further, name))
        return frames


def read(
    labels: str | Path | None,
    predictions: str | Path | None,
    *,
    gps: str | Path | None = None,
    areas: str | Path | None = None,
    incomes: str | Path | None = None,
    edges: str = "equal",
) -> Frames | None:
    """Read the reader's frames and detections, with their incomes where these are given.

    Parameters
    ----------
    labels, predictions
        As for :func:`helpers.icon2.read_labels` and :func:`helpers.icon2.read_detections`.
    gps, areas, incomes, edges
        As for :func:`helpers.icon2.income.join`.

    Returns
    -------
    Frames, or None where no file is named.

    Raises
    ------
    DetectionDataError
        When some but not all of the files are named, or one of them is unusable.
    """
    place = {"gps": gps, "areas": areas, "incomes": incomes}
    _together(labels=labels, predictions=predictions)
    _together(**place)
    if labels is None:
        if gps is not None:
            raise DetectionDataError(
                "parameter 'labels' is missing: incomes are joined to its frames"
            )
        return None
    truth = read_labels(labels)
    detections, report = read_detections(predictions, truth)
    if gps is None:
        return Frames(truth, detections, report)
    table, joined = income.join(truth.images.video, **place, edges=edges)
    truth = truth.with_images(income=table["bin"].astype(object))
    return Frames(truth, detections, report, joined)


def planted(n_images: int, seed: int, law: driving.Law) -> Frames:
    """Planted streets; as of BDD100K's, the income of a tenth of the frames is not known."""
    world = driving.make(n_images, seed, law)
    group = world.images.income
    tracks, _ = drives(world.images.video.tolist(), group.cat.codes.to_numpy(), WITHOUT_GPS, seed)
    known = world.images.video.isin(tracks)
    truth = GroundTruth.of(world).with_images(income=group.astype(object).where(known))
    joined = {"frames": n_images, income.JOINED: len(tracks), income.NO_GPS: n_images - len(tracks)}
    return Frames(truth, world.detections, (), joined, law, seed)


def _together(**given) -> None:
    """Refuse parameters of which some but not all are given."""
    absent = [name for name, value in given.items() if value is None]
    if absent and len(absent) < len(given):
        raise DetectionDataError(
            f"parameter {absent[0]!r} is missing: {', '.join(given)} belong together"
        )
