"""Draw the causal graphs of *Assessing Biases through Visual Contexts*."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from helpers.figures.style import INK

ORANGE = "#D55E00"
PLACES = {"object": (0, 0), "context": (1, 1.5), "prediction": (2, 0)}


def causal_graphs() -> Figure:
    """Draw the causal graphs of object, context and prediction (Figure 3)."""
    from_object = [("object", "prediction")]
    desired = [*from_object, ("object", "context")]
    from_context = ("context", "prediction")
    graphs = {
        "(a) desired": desired,
        "(b) suspected": [*desired, from_context],
        "(c) after setting the context": [*from_object, from_context],
    }
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 3))
    for ax, (title, arrows) in zip(axes, graphs.items(), strict=True):
        ax.set_title(title, loc="center")
        ax.set(xlim=(-0.7, 2.7), ylim=(-0.5, 2))
        ax.set_axis_off()
        for name, place in PLACES.items():
            ax.text(*place, name, ha="center", va="center")
        for start, end in arrows:
            arrow = {
                "arrowstyle": "-|>",
                "color": ORANGE if start == "context" else INK,
                "linewidth": 2,
                "shrinkA": 34,  # points between an arrow and a name
                "shrinkB": 34,
            }
            ax.annotate("", PLACES[end], PLACES[start], arrowprops=arrow)
    return figure
