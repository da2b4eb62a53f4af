"""The tidy table of predictions against loops."""

import numpy as np
import pandas as pd
import torch

from helpers.contexts.predictions import predict

CLASSES = ("bench", "plane", "mug")


class Fixed(torch.nn.Module):
    """A network whose logits are three pixels of the image, times a factor."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(factor))

    def forward(self, images):
        return images[:, 0, 0, :3].float() * self.factor


def expected_rows(networks, images, table) -> list[dict]:
    """Classify each image by a loop, with a logit by name or NaN."""
    rows = []
    for model, runs in networks.items():
        for run, network in enumerate(runs):
            for image, names in zip(images, table.to_dict("records"), strict=True):
                values = image[0, 0].double() * network.factor.double()
                logits = dict(zip(CLASSES, values.tolist(), strict=True))
                row = {"model": model, "run": run}
                row.update(names)
                row["prediction"] = max(logits, key=logits.get)
                row["object_logit"] = logits.get(names["object_class"], np.nan)
                row["context_logit"] = logits.get(names["context_class"], np.nan)
                rows.append(row)
    return rows


def test_rows_are_those_of_a_loop_over_models_runs_and_images():
    draw = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 3, 2, 3), dtype=torch.uint8, generator=draw)
    networks = {
        "model": [Fixed(1.0), Fixed(-1.0)],
        "control model": [Fixed(2.0)],
    }
    table = pd.DataFrame(
        {
            "object_class": ["bench", "mug", "plane", "nothing", "mug"],
            "context_class": ["plane", "bench", "mug", "plane", None],
        }
    )
    found = predict(networks, images, table, CLASSES)
    expected = pd.DataFrame(expected_rows(networks, images, table))
    pd.testing.assert_frame_equal(found, expected)


def test_batches_give_the_same_table_as_one_tensor():
    pixels = torch.arange(7 * 9, dtype=torch.uint8)
    images = pixels.view(7, 1, 3, 3)
    images = images.repeat(1, 3, 1, 1)
    table = pd.DataFrame({"image": range(7)})
    networks = {
        "model": [Fixed(1.0)],
        "control model": [Fixed(-1.0)],
    }
    whole = predict(networks, images, table, CLASSES)
    in_batches = predict(networks, iter(images.split(3)), table, CLASSES)
    pd.testing.assert_frame_equal(whole, in_batches)


def test_no_images_give_no_rows_and_the_same_columns():
    table = pd.DataFrame(
        {
            "object_class": ["bench"],
            "context_class": ["plane"],
        }
    )
    networks = {"model": [Fixed(1.0), Fixed(-1.0)]}
    image = torch.zeros((1, 3, 3, 3))
    some_rows = predict(networks, image, table, CLASSES)
    no_rows = predict(networks, [], table.iloc[:0], CLASSES)
    assert no_rows.empty
    assert list(no_rows) == list(some_rows)
