"""Load the frames of lesson 08: recorded streets, other streets, or your own files."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

from helpers import store
from helpers.icon2 import detector, frames
from helpers.icon2.attributes import Frames
from helpers.icon2.recorded_streets import Streets


def load(settings: SimpleNamespace) -> tuple[Frames, Callable, Streets | None]:
    """Load labelled frames with detections.

    Parameters
    ----------
    settings : SimpleNamespace
        The parameters of lesson 08.

    Returns
    -------
    data : Frames
    picture : callable
        Returns the picture of a frame, given its number.
    streets : Streets or None
        None for your own frames.
    """
    files = frames.files(settings)
    if not files:
        streets = Streets(
            settings.planted_frames, settings.seed, settings.harder, settings.rare
        )
        return streets.observe(), streets.picture, streets
    folder = files.pop("images")
    if not files["predictions"]:
        network = detector.coco(settings.weights, settings.device)
        names, classes = frames.labelled(files["labels"])
        stored = store.outputs() / "predictions"
        files["predictions"], notes = detector.predict(
            network, folder, names, classes, stored
        )
        print(*notes)
    data = frames.read(**files, edges=settings.edges)
    return data, partial(frames.picture, data, folder), None
