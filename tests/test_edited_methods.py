"""An edited method: it is noticed, compared with the package, and used by package functions."""

import ast
from functools import partial
from types import SimpleNamespace

import drawn
import nbformat
import numpy as np
import pandas as pd
import pytest
import torch

from helpers import focus, icon2, models, overview, stats
from helpers.contexts import cutting, pasting
from helpers.data import world
from helpers.explain import cam
from helpers.focus import deletion, equation, faithfulness, rating
from helpers.focus.networks import Model
from helpers.icon2 import formulas
from helpers.icon2.attributes import from_column, made
from helpers.models.recipe import Recipe
from helpers.stats import interval

MARK = "#| export "


def half(*arguments, of):
    """Half of what a function gives."""
    return of(*arguments) / 2


def gradcam_plus_plus(model, images, targets, *, layer="last map"):
    """A version that a reader has edited: the maps are mirrored."""
    maps = cam.gradcam_plus_plus(model, images, targets, layer=layer)
    return maps.flip(-1)


@pytest.fixture(scope="module")
def network():
    images = world.image_set("C", 64, 0, 20).split("test")
    built = models.build("alexnet-quarter", len(images.classes)).eval()
    places = {name: place for place, name in enumerate(images.classes)}
    table = focus.design(images.table, images.classes, per_class=1)
    return Model(Recipe("alexnet-quarter"), "C", [built], places), images, table


def test_ratings_follow_an_edited_method_and_an_edited_score(network):
    model, images, table = network
    rate = partial(rating.rate, model, images, table, effort="quick")
    package = rate("gradcam++")["focus"]
    exported = rate(cam.gradcam_plus_plus)
    exported_focus = exported["focus"]
    assert exported_focus.equals(package)
    edited = rate(gradcam_plus_plus)
    assert set(edited["method"]) == {"GradCAM++"}
    assert not edited["focus"].equals(package)
    halves = partial(half, of=equation.focus_of)
    halved = rate("gradcam++", focus_of=halves)
    expected = package / 2
    np.testing.assert_allclose(halved["focus"], expected)


def test_deletion_follows_an_edited_deletion(network):
    model, images, table = network
    rate = partial(faithfulness.rate, model, images, table, "gradcam")
    package = rate()["deletion"]
    halves = partial(half, of=deletion.mean_logit)
    edited = rate(mean_logit=halves)["deletion"]
    expected = package / 2
    np.testing.assert_allclose(edited, expected, rtol=1e-4)


@pytest.fixture(scope="module")
def street():
    """Matches of a drawn street, income, and two attributes."""
    frames = icon2.Frames(*drawn.make(60, 3, 0.4, ("car", "pedestrian")))
    attributes = [made(frames, name) for name in ("size", "time")]
    return icon2.match(frames, (0.5, 0.75)), from_column(frames, "income"), attributes


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("average_precision", "groups"),
        ("sigma", "sigmas"),
        ("shares", "cells"),
        ("proxy", "control"),
        ("controlled", "control"),
        ("standard_weights", "control"),
    ],
)
def test_an_analysis_of_icon2_follows_each_edited_formula(street, name, table):
    matches, group, attributes = street
    how = {"resamples": 3, "options": icon2.Options(min_boxes=5)}
    package = icon2.analyse(matches, group, attributes, **how)

    def other(first, *more, **named):
        value = getattr(formulas, name)(first, *more, **named)
        return value**2 / 100 if name == "average_precision" else value**2

    own = SimpleNamespace(**vars(formulas))
    setattr(own, name, other)
    edited = icon2.analyse(matches, group, attributes, formulas=own, **how)
    assert not getattr(package, table)().equals(getattr(edited, table)())


def test_means_and_shares_follow_an_edited_standard_error():
    values = np.random.default_rng(0).integers(0, 2, (5, 40))

    def doubled_error(*parts):
        error, freedom = interval.crossed_error(*parts)
        return 2 * error, freedom

    assert stats.mean(values, error=doubled_error).error == pytest.approx(
        2 * stats.mean(values).error
    )
    edited = stats.share(values, doubled_error)
    package = stats.share(values)
    assert edited.high - edited.low > 1.5 * (package.high - package.low)


def test_composites_follow_an_edited_paste():
    image = torch.full((1, 3, 24, 24), 255, dtype=torch.uint8)
    mask = torch.zeros((1, 24, 24), dtype=torch.bool)
    mask[:, 8:16, 8:16] = True
    image[0, :, mask[0]] = 0
    design = pd.DataFrame({"object": [0], "context_class": "b", "background": 0})
    design["kind"] = "context"
    cutouts = cutting.cut(image, mask)
    grounds = {"b": torch.full((1, 3, 24, 24), 100, dtype=torch.uint8)}

    def paste_nothing(cutout, background):
        return background

    package = pasting.composites(design, cutouts, grounds)
    edited = pasting.composites(design, cutouts, grounds, paste=paste_nothing)
    assert (package != 100).any()
    assert (edited == 100).all()


@pytest.mark.parametrize("path", overview.lessons(), ids=lambda path: path.stem)
def test_no_later_cell_imports_the_packages_copy_of_a_method(path):
    methods = set()
    for source, tree in code_cells(path):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = {alias.asname or alias.name for alias in node.names}
                assert not names & methods, "the user's own method is lost here"
        if source.startswith(MARK):
            methods |= {getattr(node, "name", None) for node in tree.body}


NOT_IN_A_LATER_CELL = {"ratio"}  # the report of lesson 13 calls the package's copy


def code_cells(path):
    """Return the source and the syntax tree of each code cell."""
    cells = nbformat.read(path, 4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    return [(source, ast.parse(source)) for source in sources]


def methods_of(cells):
    """Return the functions that a lesson exports, with the number of their cell."""
    methods = {}
    for number, (source, tree) in enumerate(cells):
        if source.startswith(MARK):
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    methods[node.name] = number
    return methods


@pytest.mark.parametrize("path", overview.lessons(), ids=lambda path: path.stem)
def test_a_later_cell_uses_each_method_so_an_edit_has_an_effect(path):
    cells = code_cells(path)
    for method, number in methods_of(cells).items():
        used_names = set()
        for _, tree in cells[number:]:
            for node in ast.walk(tree):
                if isinstance(node, ast.Name):
                    used_names.add(node.id)
        assert method in used_names | NOT_IN_A_LATER_CELL
