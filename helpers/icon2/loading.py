"""What notebook 08 analyses: BDD100K where the reader has it, a planted world otherwise."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from helpers import driving_world, income
from helpers.detection import (
    DetectionDataError,
    Detections,
    GroundTruth,
    read_bdd,
    read_predictions,
)
from helpers.icon2 import attributes, own, pixels
from helpers.icon2.attributes import Attribute

PLANTED_IMAGES = {"demo": 1500, "paper": 10_000}
WITHOUT_GPS = 0.1  # share of planted frames


@dataclass(frozen=True)
class Loaded:
    """Frames, detections, what was joined, and what is known to be planted (None: real data)."""

    truth: GroundTruth
    detections: Detections
    joined: dict[str, int] | None
    planted: driving_world.Law | None
    further: tuple[str, ...] = ()  # attributes besides the paper's five
    own: tuple[str, ...] = ()  # columns of the reader's CSV, among them
    pictures: Path | None = None  # folder of the frames' image files

    def report(self) -> list[str]:
        """Sentences about what was read, joined and left out."""
        boxes = int((~self.truth.boxes.ignore).sum())
        said = [
            f"{len(self.truth.images):,} frames, {boxes:,} boxes, "
            f"{len(self.detections.boxes):,} detections of {len(self.truth.classes)} classes"
        ]
        said += [*self.truth.report, *self.detections.report]
        if self.joined:
            said.append(", ".join(f"{n:,} {name}" for name, n in self.joined.items()))
        return said

    def attribute(self, name: str) -> Attribute:
        """A sensitive attribute by the name of its column; income in its order."""
        if name in self.own:
            return own.attribute(self.truth, name)
        values = income.BINS if name == "income" else None
        return attributes.from_column(self.truth, name, values=values)

    def law(self, sensitive: str) -> driving_world.Law | None:
        """What is planted about the sensitive attribute: the law speaks of income only."""
        return self.planted if sensitive == "income" else None

    def clusters(self, name: str | None) -> np.ndarray | None:
        """A column of frames that belong together, such as ``video``; None for none.

        Raises
        ------
        DetectionDataError
            When there is no such column.
        """
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
        found += [self._one(name) for name in self.further]
        same = {"occluded": "occlusion", "timeofday": "time"}.get(sensitive, sensitive)
        return [a for a in found if a.name != same]

    def _one(self, name: str) -> Attribute:
        if name == "aspect":
            return attributes.aspect(self.truth, self.detections)
        if name in ("truncation", "crowding"):
            return getattr(attributes, name)(self.truth)
        return own.attribute(self.truth, name)

    def light(self, seed: int = 0) -> list[Attribute]:
        """Illumination of the frame and contrast of the box, in thirds, from the pictures.

        Without a folder of pictures, little ones of planted frames are painted for the purpose
        (`seed` is theirs), and real data have neither attribute.
        """
        if self.pictures is not None:
            images, boxes = pixels.measured(self.truth, self.pictures)
        elif self.planted is None:
            return []
        else:
            with tempfile.TemporaryDirectory() as painted:
                driving_world.pictures.paint(self.truth, Path(painted), seed)
                size = (driving_world.drive.WIDTH, driving_world.drive.HEIGHT)
                images, boxes = pixels.measured(self.truth, painted, size)
        return [
            pixels.thirds("illumination", images.illumination, "image"),
            pixels.thirds("contrast", boxes.contrast, "box"),
        ]


def load(settings: SimpleNamespace) -> Loaded:
    """Read or draw the data that a notebook's settings ask for, the reader's columns joined.

    Parameters
    ----------
    settings
        ``labels`` and ``predictions`` (paths; None: the planted world), ``gps``, ``areas``,
        ``incomes``, ``edges`` for the join, ``confounding``, ``confounder``, ``inequity``,
        ``seed``, ``preset`` and, where there is one, ``planted_images``. ``further`` lists
        attributes besides the paper's five: ``truncation``, ``aspect``, ``crowding``, columns of
        frames or boxes, CSVs of one's own (:mod:`helpers.icon2.own`), at most one folder of
        pictures.

    Raises
    ------
    DetectionDataError
        When some but not all of the files are named, or one of them is unusable.
    """
    together(settings, "labels", "predictions")
    together(settings, "gps", "areas", "incomes")
    loaded = planted(settings) if settings.labels is None else _read(settings)
    for one in settings.further or ():
        loaded = _with(loaded, one)
    return loaded


def _with(loaded: Loaded, one: str) -> Loaded:
    """With one more attribute, or those of a CSV, or a folder of pictures."""
    if str(one).lower().endswith(".csv"):
        truth, columns = own.join(loaded.truth, one)
        mine = {"further": (*loaded.further, *columns), "own": (*loaded.own, *columns)}
        return replace(loaded, truth=truth, **mine)
    if Path(one).is_dir():
        return replace(loaded, pictures=Path(one))
    if Path(one).name != str(one):
        raise DetectionDataError(f"parameter 'further': there is no folder {str(one)!r}")
    return replace(loaded, further=(*loaded.further, one))


def _read(settings: SimpleNamespace) -> Loaded:
    truth = read_bdd(settings.labels)
    detections = read_predictions(settings.predictions, truth)
    if settings.gps is None:
        return Loaded(truth, detections, None, None)
    joined = income.join(
        truth.images.video, settings.gps, settings.areas, settings.incomes, edges=settings.edges
    )
    truth = truth.with_images(income=joined.table["bin"].astype(object))
    return Loaded(truth, detections, joined.report, None)


def planted(settings: SimpleNamespace) -> Loaded:
    """A planted world whose income comes by GPS, areas and a table, as BDD100K's would."""
    law = driving_world.Law(settings.confounding, settings.confounder, settings.inequity)
    number = getattr(settings, "planted_images", None) or PLANTED_IMAGES[settings.preset]
    world = driving_world.make(number, settings.seed, law)
    group = np.asarray(world.truth.images.income.cat.codes)
    city = driving_world.city.make(seed=settings.seed)
    videos = world.truth.images.video.tolist()
    tracks, _ = driving_world.city.drives(city, videos, WITHOUT_GPS, settings.seed, group)
    with tempfile.TemporaryDirectory() as folder:
        gps = driving_world.city.write_tracks(tracks, Path(folder))
        joined = income.join(videos, gps, city.areas, city.incomes, edges=city.edges())
    truth = world.truth.with_images(income=joined.table["bin"].astype(object))
    return Loaded(truth, world.detections, joined.report, law)


def together(settings: SimpleNamespace, *names: str) -> None:
    """Refuse settings of which some but not all are given."""
    absent = [name for name in names if getattr(settings, name) is None]
    if absent and len(absent) < len(names):
        raise DetectionDataError(
            f"parameter {absent[0]!r} is missing: {', '.join(names)} belong together"
        )
