"""Browse mosaics: a plain function that draws one choice, and widgets over it."""

from collections.abc import Callable, Mapping, Sequence

import ipywidgets
from matplotlib.figure import Figure

from helpers import models
from helpers.data import ImageSet
from helpers.data.grids import grid
from helpers.figures import contexts as figures


def mosaic(
    networks: Sequence,
    images: ImageSet,
    contexts: Mapping,
    colours: Mapping,
    label: str,
    context: str,
    number: int = 0,
    context_number: int = 0,
    side: str = "left",
    own: Mapping[str, Callable] | None = None,
) -> Figure:
    """One image of the class `label` beside one of the `contexts` (by name), and all its logits.

    `number` and `context_number` count images from 0; `side` is the object's. `own`
    holds functions to squeeze and join with.
    """
    chosen, bank = images.of(label).images, contexts[context]
    parts = [chosen[number % len(chosen)][None], bank[context_number][None]]
    picture = grid(parts if side == "left" else parts[::-1], 1, 2, **(own or {}))
    logits = models.logits(networks, picture)[:, 0]
    of_object = logits[:, images.classes.index(label), None]
    higher = (logits > of_object).sum(0)
    above = {name: int(k) for name, k in zip(images.classes, higher, strict=True) if k}
    said = ", ".join(f"{name} in {count}" for name, count in above.items()) or "no class in any"
    title = f"{label} + {context}: outscored by {said} of {len(logits)} trainings"
    return figures.mosaic_logits(picture[0], logits, images.classes, colours, title)


def mosaic_controls(
    networks: Sequence, images: ImageSet, contexts: Mapping, colours: Mapping, own=None
) -> ipywidgets.Widget:
    """Widgets to choose object, context and side of a mosaic; a button has :func:`mosaic` draw."""

    def draw(**choice) -> None:
        said = ", ".join(f"{name} {value}" for name, value in choice.items())
        figures.show(
            mosaic(networks, images, contexts, colours, **choice, own=own), "browser", said
        )

    return ipywidgets.interactive(
        draw,
        {"manual": True, "manual_name": "show"},  # draws nothing where nobody can choose
        label=list(images.classes),
        context=list(contexts),
        number=ipywidgets.IntSlider(0, 0, len(images) // len(images.classes) - 1),
        context_number=ipywidgets.IntSlider(0, 0, min(map(len, contexts.values())) - 1),
        side=["left", "right"],
    )
