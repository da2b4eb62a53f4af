"""Pictures of mosaics and of their relevance, for lessons 06 and 07."""

from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures import style

FRAME = "#00B8D4"  # seen on photographs and on dark and bright maps


def mosaics_and_maps(
    pictures: Sequence[torch.Tensor],
    captions: Sequence[str],
    layouts: Sequence[torch.Tensor],
    outlines: Sequence[torch.Tensor | None] = (),
) -> Figure:
    """Draw mosaics, uint8 (3, H, W), and maps, float (H, W), four in a row.

    The target cells of the `layouts`, bool (2, 2), are framed. Maps are cut off at
    their 99th percentile. `outlines`, bool (H, W) or None, mark known features.
    """
    figure = style.framed(pictures, captions, cols=4, most=0.99)
    for ax, picture, layout in zip(figure.axes, pictures, layouts, strict=False):
        height, width = picture.shape[-2] / 2, picture.shape[-1] / 2
        ax.axhline(height - 0.5, color="white", lw=1)
        ax.axvline(width - 0.5, color="white", lw=1)
        for row, column in layout.nonzero().tolist():
            corner = (column * width + 1, row * height + 1)
            frame = Rectangle(
                corner,
                width - 3,
                height - 3,
                fill=False,
                edgecolor=FRAME,
                linewidth=3,
            )
            ax.add_patch(frame)
    for ax, outline in zip(figure.axes, outlines, strict=False):
        if outline is not None:
            ax.contour(outline, [0.5], colors=FRAME, linewidths=1.2)
    return figure
