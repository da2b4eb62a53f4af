"""The look of all figures: style, colours, and how a figure is saved and displayed."""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from IPython.display import display
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from helpers.run import artifacts

TIGHT = {"bbox_inches": "tight", "pad_inches": 0.08}
INK = "#222222"
FAINT = "#8a8a8a"
SET_COLOURS = {"NC": "#F3D54E", "C": "#9A9A9A", "WB": "#1F6F43"}
"""Figure 2's colours of the three sets: yellow, grey, green."""

PAPER_COLOURS = {
    "bench": "#009E73",
    "park": "#009E73",
    "mug": "#F5A623",
    "wood": "#F5A623",
    "plane": "#0072B2",
    "sky": "#0072B2",
    "fire hydrant": "#4A4A4A",
    "road": "#4A4A4A",
}
# Ordered so that the first four differ most; every pair differs in lightness (CIE L* of 21 to 89).
COLOURS = (
    "#009E73",
    "#0072B2",
    "#F5A623",
    "#4A4A4A",
    "#C8553D",
    "#F0E442",
    "#E08BB4",
    "#5B0F2E",
)


def style() -> None:
    """Set seaborn's and matplotlib's defaults for figures of 8 to 10 inches width."""
    sns.set_theme(
        context="notebook",
        style="ticks",
        rc={
            "axes.edgecolor": INK,
            "axes.labelsize": 10,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titlesize": 11,
            "figure.constrained_layout.use": True,
            "figure.dpi": 110,
            "font.size": 10,
            "legend.fontsize": 9,
            "legend.frameon": False,
            "savefig.dpi": 110,
            "text.color": INK,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
        },
    )


def palette(classes: Sequence[str], context_of: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give every class one colour; its context shares it.

    The paper's colours (section 3: bench and park green, mug and wood orange, plane and sky blue,
    fire hydrant and road grey) go to classes of these names or with these contexts; the others
    take what is left of eight colours that differ in lightness too, and beyond eight, hues.

    Parameters
    ----------
    classes : sequence of str
    context_of : dict from class to context name, optional

    Returns
    -------
    dict from class to "#RRGGBB", in the order of `classes`
    """
    context_of = context_of or {}
    found = {}
    for name in classes:
        colour = PAPER_COLOURS.get(name) or PAPER_COLOURS.get(context_of.get(name))
        if colour and colour not in found.values():
            found[name] = colour
    spare = [colour for colour in COLOURS if colour not in found.values()]
    spare += sns.color_palette("husl", len(classes)).as_hex()
    missing = [name for name in classes if name not in found]
    found |= dict(zip(missing, spare, strict=False))
    return {name: found[name] for name in classes}


def context_name(name: str, context_of: Mapping[str, str] | None) -> str:
    """What to call the context of a class: its own name, or "mug's context"."""
    return (context_of or {}).get(name, f"{name}'s context")


def whiskers(value, low, high) -> np.ndarray:
    """Lengths below and above values for error bars, (2, N); 0 where there is no interval."""
    value, low, high = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (value, low, high))
    return np.nan_to_num([value - low, high - value]).clip(0)


def readable_on(colour) -> str:
    """Black or white, whichever reads better on a colour (matplotlib's, shares from 0 to 1)."""
    red, green, blue = to_rgb(colour)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def show(fig: Figure, name: str, alt: str, folder: Path | str | None = None) -> None:
    """Display a figure with its alternative text, save it if there is a folder, and close it.

    Parameters
    ----------
    fig : Figure
    name : str
        File name without ending, "figure-07-logits" for example.
    alt : str
        What somebody who cannot see the figure should know. Not empty.
    folder : Path, optional
        Gets `name`.png and `name`.svg, whole or not at all, the same bytes for the same figure.
        The notebook keeps the PNG in 150 kB, with fewer colours or pixels where it must.

    Raises
    ------
    ValueError
        Without an alternative text.
    """
    if not alt.strip():
        raise ValueError(
            f"figure {name!r} has no alternative text; say in a sentence what it shows"
        )
    png = _png(fig)
    if folder is not None:
        artifacts.write_bytes(Path(folder) / f"{name}.png", png)
        artifacts.write_bytes(Path(folder) / f"{name}.svg", _svg(fig, name, alt))
    png = _small(png)
    plt.close(fig)
    display(
        {"image/png": base64.b64encode(png).decode(), "text/plain": f"Figure: {name}"},
        metadata={"image/png": {"alt": alt}},
        raw=True,
    )


def _png(fig: Figure) -> bytes:
    """PNG without a date or a version."""
    file = io.BytesIO()
    fig.savefig(file, format="png", metadata={"Software": None}, **TIGHT)
    return file.getvalue()


def _small(png: bytes, largest: int = 150_000) -> bytes:
    """The same picture in 256 colours, and then in fewer pixels, where it would be large."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for scale in (1, 0.85, 0.7, 0.55, 0.4):
        if len(png) <= largest:
            break
        size = [round(side * scale) for side in picture.size]
        file = io.BytesIO()
        fewer = picture.resize(size, Image.Resampling.LANCZOS) if scale < 1 else picture
        # kmeans stops when fewer pixels than that change colour: 2% of them
        palette_image = fewer.quantize(256, kmeans=math.prod(size) // 50, dither=Image.Dither.NONE)
        palette_image.save(file, "PNG", optimize=True)
        png = file.getvalue()
    return png


def _svg(fig: Figure, name: str, alt: str) -> bytes:
    """SVG with ids that depend on the name only, and no date."""
    file = io.BytesIO()
    metadata = {"Date": None, "Title": name, "Description": alt}
    with plt.rc_context({"svg.hashsalt": name}):
        fig.savefig(file, format="svg", metadata=metadata, **TIGHT)
    return file.getvalue()
