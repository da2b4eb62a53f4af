"""Browse explanations: a plain function that draws one choice, and widgets over it."""

import ipywidgets
from matplotlib.figure import Figure

from helpers import explain
from helpers.contexts import background
from helpers.data import ImageSet
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

    `context` is the name of the context it shows ("any" for whichever). `number` counts these
    images from 0 and begins again beyond the last. `method` is one of
    :data:`helpers.explain.METHODS`. A ValueError says that there is no such image.
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


def controls(model, images: ImageSet) -> ipywidgets.Widget:
    """Widgets to choose class, context, image and method; a button has :func:`look` draw it."""

    def draw(label: str, context: str, number: int, method: str) -> None:
        try:
            figure = look(model, images, label, context, number, method)
        except ValueError as reason:
            print(reason)
        else:
            figures.show(figure, "browser", f"{method} of image {number} of {label} in {context}")

    contexts = [name for name in images.table["context"].unique() if name]
    return ipywidgets.interactive(
        draw,
        {"manual": True, "manual_name": "show"},  # draws nothing where nobody can choose
        label=list(images.classes),
        context=[ANY, *contexts],
        number=ipywidgets.IntSlider(0, 0, len(images) // len(images.classes) - 1),
        method=list(explain.METHODS),
    )
