"""Style, colours and marks of all figures, grids of pictures, and their display."""

import base64
import html
import io
import itertools
import math
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import seaborn.objects as so
import torch
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image

from helpers import store

Table = pd.DataFrame
Looks = Mapping[str, Mapping]  # of marks, by what they stand for

INK = "#222222"
FAINT = "#8a8a8a"
BLUE, RED = "#0072B2", "#C8553D"  # the default, and the highlight
SET_COLOURS = {
    "NC": "#F3D54E",
    "C": "#9A9A9A",
    "WB": "#1F6F43",
}  # yellow, grey, green: Figure 2
# The first four are the paper's. All eight stay apart for readers who miss red, green
# or blue: two of them differ by 11.7 at least in CAM02-UCS, and by 5 in lightness.
COLOURS = (
    "#009E73",
    "#0072B2",
    "#F5A623",
    "#4A4A4A",
    "#9F4000",
    "#40DF80",
    "#9F9FBF",
    "#600060",
)
PAPER_COLOURS = dict(
    zip(("bench", "plane", "mug", "fire hydrant"), COLOURS, strict=False)
)
PAPER_COLOURS |= dict(zip(("park", "sky", "wood", "road"), COLOURS, strict=False))
ZERO = {"color": INK, "ls": "--", "lw": 1}
CHANCE = {"color": INK, "ls": ":", "lw": 1}
MAP = "magma"
SHEET_GREY = 228  # between the images of a grid
SERIES = (  # the model, the control model, and further ones
    {"marker": "o", "ms": 8, "color": RED},
    {"marker": "s", "ms": 6, "color": FAINT},
    {"marker": "D", "ms": 6, "color": INK},
    {"marker": "^", "ms": 7, "color": BLUE},
)


def set_style() -> None:
    """Set seaborn's and matplotlib's defaults for figures of 8 to 10 inches width.

    A user's matplotlibrc is ignored except for the backend, because some of its
    settings, such as ``text.usetex``, need programs that may not be installed.
    """
    plt.rcdefaults()
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
    so.Plot.config.theme.update(plt.rcParams)
    # seaborn's grids set a layout of their own
    warnings.filterwarnings("ignore", "The figure layout has changed")


def palette(
    classes: Sequence[str], context_of: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Assign a colour, "#RRGGBB", to each class and its context.

    The paper's classes have the paper's colours (section 3). Others get the rest of
    eight colours, and then hues.
    """
    context_of = context_of or {}
    papers = {}
    for name in classes:
        colour = PAPER_COLOURS.get(name) or PAPER_COLOURS.get(context_of.get(name))
        if colour and colour not in papers.values():
            papers[name] = colour
    others = [*COLOURS, *sns.color_palette("husl", len(classes)).as_hex()]
    others = iter([colour for colour in others if colour not in papers.values()])
    return {name: papers.get(name) or next(others) for name in classes}


def whiskers(value, low, high) -> np.ndarray:
    """Return lengths of error bars, (2, N), below and above; 0 without an interval."""
    value, low, high = (
        np.atleast_1d(np.asarray(v, dtype=float)) for v in (value, low, high)
    )
    return np.nan_to_num([value - low, high - value]).clip(0)


def readable_on(colour) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    red, green, blue = to_rgb(colour)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def headed(
    fig: Figure, title: str, looks: Looks | None = None, note: str = ""
) -> Figure:
    """Add a title (one sentence), a legend and a note to a figure.

    `looks` are the marks of the legend by their labels, grey by default. The `note`
    below the figure explains other marks.
    """
    if note:
        fig.supxlabel(note, x=0.01, ha="left", fontsize=8.5, color="#555555")
    if not looks:
        fig.suptitle(title, x=0.01, ha="left", fontsize=11)
        return fig
    grey = {"color": "#777777", "ms": 8}
    dot = grey | {"ls": "", "marker": "o"}  # unless it is a line
    handles = [
        Line2D([], [], label=label, **(grey if "ls" in look else dot) | look)
        for label, look in looks.items()
    ]
    written = sum(len(label) + 8 for label in looks) / (14 * fig.get_figwidth())
    lines = max(math.ceil(len(looks) / 5), math.ceil(written))
    look = {
        "ncols": math.ceil(len(looks) / lines),
        "columnspacing": 1.4,
        "handletextpad": 0.4,
    }
    place = {"loc": "outside upper left", "alignment": "left", "title_fontsize": 11}
    fig.legend(handles=handles, title=title, **place, **look)
    return fig


def series(names: Sequence[str]) -> dict[str, dict]:
    """Return the mark of each of several series that are compared."""
    return dict(zip(dict.fromkeys(names), itertools.cycle(SERIES)))


def ends(rows, value: str) -> list:
    """Return the ends of a value's interval, of a row or a table, or None without them.

    They are the columns ``<value>_low`` and ``<value>_high``, or low and high.
    """
    return [rows.get(f"{value}_{end}", rows.get(end)) for end in ("low", "high")]


def estimates(
    ax: Axes, rows, value: str, at, *, vertical: bool = False, **look
) -> None:
    """Draw values with whiskers (:func:`ends`), of a row or a table.

    `at` holds their places on the other axis, and `look` arguments of the marks.
    """
    lengths = whiskers(rows[value], *ends(rows, value))
    place = {"x": at, "y": rows[value], "yerr": lengths}
    if not vertical:
        place = {"x": rows[value], "y": at, "xerr": lengths}
    ax.errorbar(
        **place, **({"marker": "o", "ls": "", "ms": 8, "elinewidth": 1.5} | look)
    )


def stacked(table: Table, values: Mapping[str, str], column: str) -> Table:
    """Stack a table's estimates as value, low and high; `column` has their texts."""
    parts = []
    for name, text in values.items():
        low, high = ends(table, name)
        parts.append(
            table.assign(value=table[name], low=low, high=high, **{column: text})
        )
    return pd.concat(parts, ignore_index=True)


def compared(
    ax: Axes,
    table: Table,
    value: str,
    rows: str,
    looks: Looks,
    by: str | None = None,
    names: Sequence[str] | None = None,
    apart: float = 0.2,
) -> None:
    """Draw one panel of a :func:`forest`; `names` are its lines, from the top."""
    names = list(dict.fromkeys(table[rows] if names is None else names))
    nudges = np.linspace(-apart, apart, len(looks)) if len(looks) > 1 else [0]
    for nudge, (entry, look) in zip(nudges, looks.items(), strict=True):
        part = table if by is None else table[table[by] == entry]
        places = [names.index(name) + nudge for name in part[rows]]
        estimates(ax, part, value, places, **look)
    name_rows(ax, names)


def forest(
    table: Table,
    value: str,
    rows: str,
    looks: Looks,
    by: str | None = None,
    panel: str | None = None,
    *,
    across: int = 3,
    width: float = 9.5,
    names: Sequence[str] | None = None,
    apart: float = 0.2,
    at: float | None = None,
    line: Mapping = ZERO,
    sharex: bool | str = "col",
) -> Figure:
    """Draw rows of points with whiskers.

    There is one line per entry of the column `rows`, one mark per entry of `by` (with
    its `looks`), and one panel per entry of `panel`, at most `across` per row of
    panels. Panels below each other have lines of their own. A vertical `line` is drawn
    at `at`.
    """
    parts = [("", table)] if panel is None else list(table.groupby(panel, sort=False))
    down = math.ceil(len(parts) / across)
    columns = math.ceil(len(parts) / down)
    names = list(dict.fromkeys(table[rows] if names is None else names))
    lines = [
        names if columns > 1 else [n for n in names if n in set(p[rows])]
        for _, p in parts
    ]
    sizes = [
        0.5 + min(0.24 + 0.09 * len(looks), 0.5) * len(some)
        for some in lines[::columns]
    ]
    share = {
        "sharex": sharex,
        "sharey": columns > 1,
        "squeeze": False,
        "height_ratios": sizes,
    }
    fig, axes = plt.subplots(down, columns, figsize=(width, 1.1 + sum(sizes)), **share)
    for ax, (name, part), some in zip(axes.flat, parts, lines, strict=False):
        compared(ax, part, value, rows, looks, by, some, apart)
        ax.set_title(textwrap.fill(str(name), 90 // columns), fontsize=10)
        if at is not None:
            ax.axvline(at, **line)
    for ax in axes.flat[len(parts) :]:
        ax.set_axis_off()
    return fig


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name the lines of a figure from top to bottom."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color="#eeeeee")
    ax.set_axisbelow(True)


def cells(ax: Axes, shades: np.ndarray, texts, rows, columns, font: float = 9) -> None:
    """Draw a table of cells with colours (rows, columns, 3) and a text in each."""
    ax.imshow(shades, aspect="auto")
    for (y, x), text in np.ndenumerate(np.asarray(texts)):
        look = {"ha": "center", "va": "center", "color": readable_on(shades[y, x])}
        if text:
            ax.text(x, y, text, fontsize=font, **look)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    for number, line in ((len(rows), ax.axhline), (len(columns), ax.axvline)):
        for edge in np.arange(1, number) - 0.5:
            line(edge, color="white", lw=2)
    ax.spines[:].set_visible(False)


def shades(shares, colours: str = "Greys") -> np.ndarray:
    """Return the colours of numbers from 0 to 1; NaN counts as 0."""
    return plt.colormaps[colours](np.nan_to_num(np.asarray(shares, float)))[..., :3]


def heat(ax: Axes, image, most: float = 1, **look) -> None:
    """Draw a picture (3, H, W), or a map of relevance (H, W).

    Positive relevance of a map is drawn as a share of its maximum.
    """
    if image.ndim == 3:
        ax.imshow(image.permute(1, 2, 0).numpy(), interpolation="antialiased")
        return
    positive = image.clamp(min=0).double().numpy()
    top = max(np.quantile(positive, most), 1e-30)
    ax.imshow(positive / top, **({"cmap": MAP, "vmin": 0, "vmax": 1} | look))


def image_grid(
    rows: Mapping, colours: Mapping[str, str] | None = None, *, title=""
) -> Figure | None:
    """Draw images in named rows, or return None without rows.

    `rows` has uint8 tensors (N, 3, H, W) by row, or by row and column heading:
    {"bench": {"C": ..., "NC": ...}, ...}. `colours` are for a bar next to a row's name.
    """
    if not rows:
        return None
    nested = {
        name: row if isinstance(row, Mapping) else {"": row}
        for name, row in rows.items()
    }
    groups = list(dict.fromkeys(group for row in nested.values() for group in row))
    columns = [
        max(len(row.get(group, ())) for row in nested.values()) for group in groups
    ]
    sample = next(images for row in nested.values() for images in row.values())
    cell = min((9.5 - 1.1) / sum(columns), 1.5)  # inches
    height = cell * sample.shape[-2] / sample.shape[-1] * len(rows) + 0.3
    size = (cell * sum(columns) + 1.1, height)
    fig, axes = plt.subplots(
        1, len(groups), figsize=size, width_ratios=columns, squeeze=False
    )
    for ax, group, across in zip(axes[0], groups, columns, strict=True):
        sheet = _sheet([row.get(group, sample[:0]) for row in nested.values()], across)
        ax.imshow(sheet, interpolation="antialiased")
        ax.set(xticks=[], yticks=[])
        ax.set_title(group)
        sns.despine(ax=ax, left=True, bottom=True)
    headed(fig, title)
    ax, height = axes[0, 0], sheet.shape[0] / len(rows)
    ax.set_yticks([(row + 0.5) * height for row in range(len(rows))], list(rows))
    ax.tick_params(length=0, pad=72 * 0.08 * cell + 3 if colours else 4)
    for row, name in enumerate(rows if colours else ()):
        place, size = (
            (-0.08 * height, (row + 0.02) * height),
            (0.05 * height, 0.96 * height),
        )
        ax.add_patch(
            Rectangle(place, *size, color=colours.get(name, INK), clip_on=False)
        )
    return fig


def framed(
    images: Sequence,
    captions: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
    *,
    cols: int = 3,
    title: str = "",
    most: float = 1,
    shade: str = MAP,
) -> Figure:
    """Draw images, uint8 (3, H, W), and maps, float (H, W), in coloured frames.

    A row has `cols` pictures. For maps, `most` is the quantile with the brightest
    colour and `shade` the colour map.
    """
    rows = -(-len(images) // cols)
    shapes = [image.shape[-1] / image.shape[-2] for image in images]
    widths = [max(shapes[col::cols], default=1) for col in range(cols)]
    tall = min(9.5 / sum(widths), 2.2)
    size = (tall * sum(widths), rows * (tall + 0.3))
    fig, axes = plt.subplots(
        rows, cols, figsize=size, squeeze=False, width_ratios=widths
    )
    headed(fig, title)
    for ax in axes.flat:
        ax.set_axis_off()
    for number, (ax, image) in enumerate(zip(axes.flat, images, strict=False)):
        heat(ax, image, most, cmap=shade)
        if captions is not None:
            ax.set_title(captions[number], loc="center", fontsize=9)
        if colours is not None:
            ax.set_axis_on()
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set(visible=True, color=colours[number], linewidth=4)
    return fig


def show(
    fig: Figure | so.Plot | None,
    name: str,
    caption: str,
    *,
    alt: str = "",
    title: str = "",
    folder: Path | str | None = None,
) -> None:
    """Display a figure with its caption, save it, and close it.

    The figure is shown as HTML in at most 150 kB, because JupyterLab gives images no
    alternative text, and saved as `name`.png and `name`.svg.

    Parameters
    ----------
    fig : matplotlib Figure, seaborn.objects.Plot or None
        None, for a figure without data, shows nothing.
    name : str
    caption : str
    alt : str, optional
        The alternative text; the caption by default.
    title : str, optional
        A sentence above the figure.
    folder : Path or str, optional
        Where to save the figure.
    """
    if fig is None:
        return
    if not caption.strip():
        raise ValueError(f"Figure {name!r} has no caption. Say what it shows.")
    alt = alt or caption
    if isinstance(fig, so.Plot):
        fig.plot(pyplot=True)  # a figure of the size that `layout` gives
        fig = plt.gcf()
        for legend in fig.legends:
            legend.set_loc("center left")
            legend.set_bbox_to_anchor((1, 0.5))
    if title:
        fig.suptitle(title, x=0.01, y=1.01, ha="left", va="bottom", fontsize=12)
    png = _saved(fig, "png", Software=None)
    if folder is not None:
        store.write_bytes(Path(folder) / f"{name}.png", png)
        with plt.rc_context({"svg.hashsalt": name}):  # ids that depend on the name only
            svg = _saved(fig, "svg", Date=None, Title=name, Description=alt)
        store.write_bytes(Path(folder) / f"{name}.svg", svg)
    plt.close(fig)
    picture = base64.b64encode(_small(png)).decode()
    look = "max-width: 46em; font-size: 0.9em; opacity: 0.8"
    markup = (
        f'<figure style="margin: 0"><img src="data:image/png;base64,{picture}" '
        f'alt="{html.escape(alt)}">'
        f'<figcaption style="{look}">{html.escape(caption)}</figcaption></figure>'
    )
    display({"text/html": markup, "text/plain": f"Figure {name}: {alt}"}, raw=True)


def _saved(fig: Figure, kind: str, **metadata) -> bytes:
    """Return a figure as a file of a kind, without a date or a version."""
    file = io.BytesIO()
    fig.savefig(
        file, format=kind, metadata=metadata, bbox_inches="tight", pad_inches=0.08
    )
    return file.getvalue()


def _small(png: bytes) -> bytes:
    """Reduce a large picture to 256 colours, and then to fewer pixels."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for scale in (1, 0.85, 0.7, 0.55, 0.4):
        if len(png) <= 150_000:
            break
        size = [round(side * scale) for side in picture.size]
        file = io.BytesIO()
        fewer = picture.resize(size, Image.Resampling.LANCZOS) if scale < 1 else picture
        # kmeans stops when fewer pixels than that change colour: 2% of them
        palette_image = fewer.quantize(
            256, kmeans=math.prod(size) // 50, dither=Image.Dither.NONE
        )
        palette_image.save(file, "PNG", optimize=True)
        png = file.getvalue()
    return png


def _sheet(rows: Sequence, across: int) -> np.ndarray:
    """Arrange rows of images, uint8 (n, 3, H, W), on a sheet, uint8 (H', W', 3)."""
    from torchvision.utils import make_grid  # takes seconds

    cells = []
    for images in rows:
        blank = torch.full((across - len(images), *images.shape[1:]), SHEET_GREY)
        cells.append(torch.cat([images, blank.to(images.dtype)]))
    sheet = make_grid(torch.cat(cells), nrow=across, padding=4, pad_value=SHEET_GREY)
    return sheet.permute(1, 2, 0).numpy()
