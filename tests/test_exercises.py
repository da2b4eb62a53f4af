"""Exercises: right answers in all their forms are right, wrong ones get the hint that fits."""

from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
import torch
from torchvision.transforms.functional import center_crop

from helpers import store
from helpers.blocks import blocks
from helpers.blocks import paper as of_blocks
from helpers.blocks.chance import without_bias
from helpers.contexts import effects
from helpers.data.grids import grid
from helpers.data.mosaic import join, squeeze
from helpers.suite import exercises

HINTS = {"of all mosaics": 0.25, "singles, too": 0.4}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(exercises, "RIGHT", set())
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


@pytest.fixture
def lab(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "/class/03_any.ipynb")


def answer(value, wanted=0.43216, number=1):
    with exercises.check(number, 3, value):
        exercises.same(value, wanted, "the share of flips", HINTS)


@pytest.mark.parametrize(
    "value",
    [0.43216, 0.432, np.float32(0.43216), torch.tensor(0.43216, requires_grad=True), [0.432],
     np.array([[0.4322]]), pd.Series([0.432])],
)  # fmt: skip
def test_a_right_number_may_be_rounded_and_of_any_kind(value, capsys):
    answer(value)
    assert capsys.readouterr().out == "right (1 of 3 exercises)\n"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (0.25, "of all mosaics"),
        (0.4, "singles, too"),
        (0.43, "close, but not to three digits"),
        (0.41, "the share of flips"),
        (-0.432, "its sign is the other way round"),
        (43.2, "in percent"),
        (float("nan"), "the share of flips"),
        ("much", "one number is asked for, and this is a str"),
        ([0.4, 0.5], "one number is asked for, and this is a list"),
    ],
)
def test_a_wrong_number_gets_the_hint_that_fits(lab, capsys, value, hint):
    answer(value)
    assert capsys.readouterr().out.startswith("not right yet: ") and not exercises.RIGHT
    with pytest.MonkeyPatch.context() as graded:
        graded.setenv("NBGRADER_EXECUTION", "autograde")
        with pytest.raises(exercises.Wrong, match=hint) as refusal:
            answer(value)
    assert refusal.value._render_traceback_() == [str(refusal.value)]


def test_numbers_are_rounded_to_three_digits_and_right_before_they_are_wrong(capsys):
    answer(4.71, 4.7123)
    answer(-12.3, -12.27)
    answer(0.012, 0.01234)
    answer(0, 0.0)
    for value, wanted in ((4.6, 4.7123), (12.3, 12.4), (0.4, 0.0)):
        with pytest.raises(AssertionError):
            answer(value, wanted)
    answer(0.25, 0.25)
    assert "not right" not in capsys.readouterr().out, (
        "also where it equals a known wrong one"
    )


def test_answers_that_are_missing_or_in_part_are_said_to_be_and_right_ones_are_counted(
    lab, capsys
):
    answer(None, number=1)
    answer(0.432, number=2)
    answer(0.432, number=3)
    answer(0.1, number=3)
    answer(0.432, number=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "not answered yet",
        "right (1 of 3 exercises)",
        "right (2 of 3 exercises)",
    ]
    assert (
        lines[3].startswith("not right yet") and lines[4] == "right (2 of 3 exercises)"
    )
    for parts in ((POINTS, None), (0.1, None), (None, None)):
        with exercises.check(1, 3, *parts):
            exercises.same(parts[1], 0.3, "a share")
    told = capsys.readouterr().out.splitlines()
    assert told == 2 * ["not answered yet (1 of 2 parts are there)"] + [
        "not answered yet"
    ]


def test_a_check_whose_lesson_was_not_run_says_so(lab, capsys):
    with exercises.check(1, 3, 0.5):
        nowhere  # noqa: B018, F821
    with exercises.check(1, 3, 0.5):
        (0.5).columns  # noqa: B018
    told = capsys.readouterr().out.splitlines()
    assert "run the cells above first (name 'nowhere' is not defined)" in told[0]
    assert "it is not what the exercise asks for (AttributeError" in told[1]


POINTS = pd.DataFrame(
    {
        "training": [0, 0, 1, 1],
        "mosaic": [-1, 3, 3, 4],
        "kind": list("smmm"),
        "flipped": True,
    },
    index=[10, 11, 12, 13],
)
KEYS = ["training", "mosaic"]


@pytest.mark.parametrize(
    "value",
    [
        POINTS.iloc[1:3],
        POINTS.iloc[1:3][["training", "mosaic"]].reset_index(),
        POINTS.iloc[1:].set_index(KEYS).iloc[:2],
        [11, 12],
        POINTS["training"].eq(0) & POINTS["mosaic"].eq(3) | POINTS.index.isin([12]),
    ],
)
def test_rows_are_named_in_many_ways(value):
    assert exercises.rows(value, POINTS, KEYS) == {(0, 3), (1, 3)}


@pytest.mark.parametrize("value", ["third", 3, [99], POINTS[["kind"]]])
def test_what_names_no_rows_is_refused_with_a_sentence(value):
    with pytest.raises(exercises.Wrong, match="not what the exercise asks for"):  # noqa: SIM117
        with exercises.check(1, 1, value):
            exercises.rows(value, POINTS, KEYS)


def checks(lesson):
    """The checks of a lesson, in order."""
    cells = nbformat.read(store.root() / "notebooks" / f"{lesson}.ipynb", 4).cells
    return [c.source for c in cells if c.metadata.get("nbgrader", {}).get("grade")]


def as_torchvision(images, height, width):
    return center_crop(images, [height, width])


@pytest.fixture(scope="module")
def lesson_03():
    """What the second check of 03 needs, with a network that adds up the colours of each half."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (4, 3, 8, 8), generator=generator, dtype=torch.uint8)

    def logits(trained, images):
        halves = [half.double().sum((1, 2, 3)) for half in images.split(4, -1)]
        return torch.stack([torch.stack(halves, 1) * times for times in (1.0, 1.5)])

    space = {
        "torch": torch,
        "grid": grid,
        "exercises": exercises,
        "trained": [],
        "width": 8,
    }
    space |= {
        "squeeze": squeeze,
        "join": join,
        "own": {"squeeze": squeeze, "join": join},
    }
    space |= {"classes": ["bench", "plane"], "label": "bench", "other": "plane"}
    space["objects"] = SimpleNamespace(of=lambda label: SimpleNamespace(images=images))
    space["effects"] = effects
    space["pairs"] = pd.DataFrame(
        [["plane", "bench", 1.0]], columns=[*effects.PAIR, "drop"]
    )
    space["context_of"] = {"plane": "sky"}
    return space | {"models": SimpleNamespace(logits=logits)}, images


GREY = {
    "a batch": lambda made: made,
    "a list of batches of one": lambda made: [*made.split(1)],
    "a list of mosaics": lambda made: [*made],
    "an array": lambda made: made.numpy(),
    "floats": lambda made: made.float(),
}


@pytest.mark.parametrize("form", GREY)
@pytest.mark.parametrize("own", [squeeze, as_torchvision])
def test_grey_mosaics_are_right_in_any_form_and_after_the_method_was_changed(
    lesson_03, form, own
):
    space, images = lesson_03
    half = squeeze(images, 8, 4)
    made = join([half, torch.full_like(half, 128)], 1, 2)
    two = [space["models"].logits([], one) for one in (images, made)]
    apart = [((of[..., 0] - of[..., 1]) / 2**0.5).mean() for of in two]
    answers = {"grey": GREY[form](made), "grey_drop": apart[0] - apart[1]}
    answers["own"] = {"squeeze": own, "join": join}
    exec(checks("03_contextualized_mosaics")[1], space | answers)
    assert {2} == exercises.RIGHT


def test_grey_mosaics_of_another_shape_are_told_theirs(lesson_03):
    space, images = lesson_03
    for made, told in (
        (images.permute(0, 2, 3, 1), r"these are \(4, 8, 8, 3\)"),
        (images[0], "8"),
    ):
        with pytest.raises(AssertionError, match=told):
            exec(
                checks("03_contextualized_mosaics")[1],
                space | {"grey": made, "grey_drop": 1},
            )


@pytest.mark.parametrize(
    ("crop", "hint"),
    [
        (torch.zeros(3), "`crop` is a function of images"),
        (
            lambda images, height, width: None,
            "as many images, of that height and width",
        ),
        (
            lambda images, height, width: images,
            "as many images, of that height and width",
        ),
        (lambda images, height, width: images[..., :width], "the pixels of the middle"),
    ],
)
def test_what_is_no_crop_is_told_why(crop, hint):
    images = SimpleNamespace(
        images=torch.arange(384, dtype=torch.uint8).reshape(2, 3, 8, 8)
    )
    space = {
        "objects": images,
        "height": 8,
        "width": 8,
        "exercises": exercises,
        "torch": torch,
    }
    with pytest.raises(AssertionError, match=hint):
        exec(
            checks("03_contextualized_mosaics")[2],
            space | {"crop": crop, "crop_drop": 1.0},
        )


@pytest.fixture(scope="module")
def lesson_09():
    tables = of_blocks.tables()
    compas, six = (of_blocks.counted(tables[name]) for name in ("compas", "six groups"))
    space = {
        "np": np,
        "blocks": blocks,
        "without_bias": without_bias,
        "exercises": exercises,
    }
    return space | {"compas": compas, "six": six}


def log_ratio(f_i, f_j):
    return np.log(f_i / f_j)


@pytest.mark.parametrize(
    ("number", "answers", "hint"),
    [
        (0, {"opportunity": 0.227}, ""),
        (0, {"opportunity": -0.227}, "sign"),
        (0, {"opportunity": 22.7}, "percent"),
        (0, {"opportunity": 0.228}, "not charged again"),
        (0, {"opportunity": 0.2633}, "of all rows"),
        (1, {"log_ratio": log_ratio, "largest": 0.947}, "largest over all"),
        (
            1,
            {"log_ratio": lambda i, j: log_ratio(j, i), "largest": 1.0},
            "other way round",
        ),
        (1, {"log_ratio": None, "largest": None}, "not answered yet"),
        (2, {"enough": 1_000_000.0}, ""),
        (2, {"enough": 100_000}, "take more rows"),
        (2, {"enough": 10_000_000}, "fewer rows"),
        (2, {"enough": 50_000}, "a power of ten"),
    ],
)
def test_exercises_of_09_take_right_answers_and_say_what_is_wrong(
    lesson_09, number, answers, hint
):
    source = checks("09_bias_building_blocks")[number]
    if not hint:
        exec(source, lesson_09 | answers)
        assert {number + 1} == exercises.RIGHT
        return
    with pytest.raises(AssertionError, match=hint):
        exec(source, lesson_09 | answers)
