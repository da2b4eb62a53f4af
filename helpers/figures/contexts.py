"""The causal graphs of *Assessing Biases through Visual Contexts*."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from helpers.figures.style import INK

ORANGE = "#D55E00"


def causal_graphs() -> Figure:
    """Draw the causal graphs of object, context and prediction (Figure 3)."""
    graphs = {
        "(a) desired": ["OC", "OY"],
        "(b) suspected": ["OC", "OY", "CY"],
        "(c) after the intervention": ["OY", "CY"],
    }
    places = {"O": (0, 0), "C": (1, 1.5), "Y": (2, 0)}
    names = {"O": "object O", "C": "context C", "Y": "prediction Y"}
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
    for ax, (title, arrows) in zip(axes, graphs.items(), strict=True):
        ax.set_title(title, loc="center")
        for start, end in arrows:
            arrow = {"arrowstyle": "-|>", "mutation_scale": 18}
            arrow["color"] = ORANGE if start == "C" else INK
            arrow["linewidth"] = 3 if start == "C" else 1.6
            arrow["shrinkA"] = arrow["shrinkB"] = 19
            ax.annotate("", places[end], places[start], arrowprops=arrow)
        for node, (x, y) in places.items():
            is_set = node == "C" and "intervention" in title
            circle = {"boxstyle": "circle", "ec": INK, "lw": 1.8}
            circle["fc"] = "#dddddd" if is_set else "white"
            middle = {"ha": "center", "va": "center"}
            ax.text(x, y, "c" if is_set else node, bbox=circle, fontsize=13, **middle)
            name = "do(C = c)" if is_set else names[node]
            ax.text(x, y + (0.6 if y else -0.6), name, fontsize=10, **middle)
        ax.set(xlim=(-0.7, 2.7), ylim=(-0.85, 2.3), aspect="equal")
        ax.set_axis_off()
    return figure
