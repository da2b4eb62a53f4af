"""Compare the recorded labels of street scenes with new ones."""

import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.icon2 import streets as street_scenes
from helpers.icon2.streets import Streets
from sweeps.recorded_streets import LESSON_08, LESSON_08B
from synthetic import street

OWN = (0.9, 0.5, 0.1)  # shares of appearance B by income group


@pytest.mark.parametrize("streets", [LESSON_08, LESSON_08B])
def test_recorded_labels_are_those_of_the_rendered_scenes(streets):
    frames, things = street.scenes(streets.frames, 5000, 0.5)
    things = street.dressed(frames, things, OWN)
    recorded = streets.load()
    few = 5
    first_things = things[things["frame"] < few]
    images, boxes = street.render(frames.iloc[:few], first_things)
    kept = recorded.boxes[recorded.boxes["image"] < few]
    pd.testing.assert_frame_equal(kept, boxes, check_column_type=False)
    contrast = [round(float(image.std()), 1) for image in images]
    assert recorded.images["contrast"][:few].tolist() == contrast
    assert recorded.images["name"].tolist() == frames["name"].tolist()


def test_a_picture_has_the_appearances_of_its_own_group():
    frames, things = street.scenes(900, 5000, 0.5)
    dressed = street.dressed(frames, things, OWN)
    own = street.picture(frames, dressed, 82)
    dressed = street.dressed(frames, things, OWN[::-1])
    other = street.picture(frames, dressed, 82)
    np.testing.assert_array_equal(LESSON_08.picture(82), own)
    assert (own != other).any()


def test_recorded_files_have_at_most_two_megabytes():
    files = (store.root() / "data" / "streets").rglob("*.*")
    sizes = [file.stat().st_size for file in files]
    assert sum(sizes) <= 2_000_000


def test_other_streets_are_made_with_a_sentence(monkeypatch, capsys):
    seen = []

    def train(share_of_b, seed):
        seen.append(share_of_b)

    def observe(detector, frames, things, shares_of_b):
        seen.append((len(frames), frames["name"][0], shares_of_b))
        return "frames"

    monkeypatch.setattr(street_scenes, "train_detector", train)
    monkeypatch.setattr(street_scenes, "observe", observe)
    assert Streets(30, seed=1, share_of_b=0.1).load() == "frames"
    share_of_b, scenes = seen
    assert share_of_b == 0.1
    assert scenes == (30, "street-5001-00000.png", OWN)
    assert "not recorded" in capsys.readouterr().out
