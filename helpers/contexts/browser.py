"""Browse mosaics and explanations: plain functions that draw one choice, and widgets over them."""

from collections.abc import Callable, Mapping, Sequence

import ipywidgets
import torch
from matplotlib.figure import Figure

from helpers import explain, models
from helpers.contexts import background
from helpers.data import ImageSet
from helpers.data.mosaics import grid
from helpers.figures import contexts as figures

ANY = "any"


def look(
    model,
    images: ImageSet,
    label: str,
    context: str = ANY,
    number: int = 0,
    method: str = "gradcam",
) -> Figure:
    """One image of the class `label`, its explanation for that class, and both together.

    `number` counts the images of that class in that context from 0 and begins again beyond the
    last. `method` is one of :data:`helpers.explain.METHODS`.
    """
    chosen = images.of(label)
    if context != ANY:
        chosen = chosen.where(chosen.table["context"] == context)
    if not len(chosen):
        raise ValueError(f"no image of {label!r} in context {context!r}")
    at = slice(number % len(chosen), number % len(chosen) + 1)
    layer = {"layer": background.layer_for(model, images.images)} if method == "gradcam" else {}
    maps = explain.explain(model, chosen.images[at], chosen.labels[at], method, **layer)
    seen = chosen.table["context"].iloc[number % len(chosen)]
    return figures.explained(chosen.images[at], maps.maps, [f"{label}, {seen}" if seen else label])


def mosaic(
    networks: Sequence,
    images: ImageSet,
    contexts: Mapping[str, torch.Tensor],
    colours: Mapping[str, str],
    label: str,
    context: str,
    number: int = 0,
    context_number: int = 0,
    side: str = "left",
) -> Figure:
    """One image of the class `label` beside one of the contexts, and all logits of the mosaic.

    `contexts` are by name. `number` and `context_number` count from 0 and begin again beyond the
    last; `side` is the object's. `colours` is the palette. The title says which classes outscore
    the object's, and in how many trainings.
    """
    chosen, bank = images.of(label).images, contexts[context]
    parts = [chosen[number % len(chosen)][None], bank[context_number % len(bank)][None]]
    picture = grid(parts if side == "left" else parts[::-1], 1, 2)
    logits = models.logits(networks, picture)[:, 0]
    own = logits[:, images.classes.index(label), None]
    above = {n: int(k) for n, k in zip(images.classes, (logits > own).sum(0), strict=True) if k}
    said = ", ".join(f"{name} in {count}" for name, count in above.items()) or "no class in any"
    title = f"{label} + {context}: outscored by {said} of {len(logits)} trainings"
    return figures.mosaic_logits(picture[0], logits, images.classes, colours, title)


def mosaic_controls(
    networks: Sequence,
    images: ImageSet,
    contexts: Mapping[str, torch.Tensor],
    colours: Mapping[str, str],
) -> ipywidgets.Widget:
    """Widgets to choose object, context and side of a mosaic; a button has :func:`mosaic` draw."""
    return _chooser(
        lambda **choice: mosaic(networks, images, contexts, colours, **choice),
        label=list(images.classes),
        context=list(contexts),
        number=ipywidgets.IntSlider(0, 0, len(images) // len(images.classes) - 1),
        context_number=ipywidgets.IntSlider(0, 0, min(map(len, contexts.values())) - 1),
        side=["left", "right"],
    )


def controls(model, images: ImageSet) -> ipywidgets.Widget:
    """Widgets to choose class, context, image and method; a button has :func:`look` draw it."""
    contexts = [name for name in images.table["context"].unique() if name]
    return _chooser(
        lambda **choice: look(model, images, **choice),
        label=list(images.classes),
        context=[ANY, *contexts],
        number=ipywidgets.IntSlider(0, 0, len(images) // len(images.classes) - 1),
        method=list(explain.METHODS),
    )


def _chooser(drawn: Callable[..., Figure], **choices) -> ipywidgets.Widget:
    """Widgets for the keywords of a function, whose figure a button shows."""

    def draw(**choice) -> None:
        try:
            figure = drawn(**choice)
        except ValueError as reason:
            print(reason)
        else:
            said = ", ".join(f"{name} {value}" for name, value in choice.items())
            figures.show(figure, "browser", said)

    manual = {"manual": True, "manual_name": "show"}  # draws nothing where nobody can choose
    return ipywidgets.interactive(draw, manual, **choices)
