"""Figures show what their tables say, for any classes, without warnings."""

import itertools
import json
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from colorspacious import cspace_convert
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib.colors import to_rgb

from helpers.figures import style
from helpers.figures.contexts import causal_graphs


@pytest.fixture(autouse=True)
def clean():
    """Figures draw without warnings, in the suite's style, and are closed again."""
    with warnings.catch_warnings(), plt.rc_context({"backend": "agg"}):
        warnings.simplefilter("error")
        style.set_style()
        yield
    plt.close("all")


@pytest.fixture
def shell():
    """Provide a shell to display in."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("missing", ["", "protanomaly", "deuteranomaly", "tritanomaly"])
def test_eight_colours_differ_for_every_kind_of_colour_vision(missing):
    """By the simulation of Machado et al. (2009), in steps of CAM02-UCS."""
    space = (
        {"name": "sRGB1+CVD", "cvd_type": missing, "severity": 100}
        if missing
        else "sRGB1"
    )
    rgb = [to_rgb(colour) for colour in style.palette("abcdefgh").values()]
    seen = cspace_convert(
        np.clip(cspace_convert(rgb, space, "sRGB1"), 0, 1), "sRGB1", "CAM02-UCS"
    )
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(apart) > 11.5


def test_a_figure_without_data_is_not_shown(tmp_path, shell):
    with capture_output() as cell:
        style.show(style.image_grid({}), "empty", "No pictures", folder=tmp_path)
    assert not cell.outputs
    assert not list(tmp_path.iterdir())


def test_show_displays_once_with_alternative_text_and_saves_the_same_bytes(
    tmp_path, shell
):
    kept = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        with capture_output() as cell:
            style.show(causal_graphs(), "figure-03", "Three <graphs>", folder=folder)
        kept.append(
            [(folder / f"figure-03.{end}").read_bytes() for end in ("png", "svg")]
        )
        assert not plt.get_fignums()
    (output,) = cell.outputs
    assert output.data["text/plain"] == "Figure figure-03: Three <graphs>"
    assert 'alt="Three &lt;graphs&gt;"' in output.data["text/html"]
    assert ">Three &lt;graphs&gt;</figcaption>" in output.data["text/html"]
    assert kept[0] == kept[1]
    assert b"Date" not in kept[0][0]
    assert b"<dc:date>" not in kept[0][1]
    assert json.dumps(output.data)
