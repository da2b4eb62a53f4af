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


def test_rows_are_those_of_a_loop_over_models_runs_and_images():
    draw = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 3, 2, 3), dtype=torch.uint8, generator=draw)
    networks = {"model": [Fixed(1.0), Fixed(-1.0)], "control model": [Fixed(2.0)]}
    table = pd.DataFrame({"object_class": ["bench", "mug", "plane", "nothing", "mug"]})
    table["context_class"] = ["plane", "bench", "mug", "plane", None]
    found = predict(networks, images, table, CLASSES)
    assert found["model"].tolist() == ["model"] * 10 + ["control model"] * 5
    assert found["run"].tolist() == [0] * 5 + [1] * 5 + [0] * 5
    number = 0
    for runs in networks.values():
        for network in runs:
            for image, row in zip(images, table.itertuples(), strict=True):
                logits = (image[0, 0].double() * network.factor.double()).tolist()
                result = found.iloc[number]
                assert result["prediction"] == CLASSES[int(np.argmax(logits))]
                for kind in ("object", "context"):
                    name = getattr(row, f"{kind}_class")
                    if name in CLASSES:
                        expected = logits[CLASSES.index(name)]
                        assert result[f"{kind}_logit"] == expected
                    else:
                        assert np.isnan(result[f"{kind}_logit"])
                number += 1


def test_batches_give_the_same_table_as_one_tensor():
    images = torch.arange(7 * 9, dtype=torch.uint8).view(7, 1, 3, 3).repeat(1, 3, 1, 1)
    table = pd.DataFrame({"image": range(7)})
    networks = {"model": [Fixed(1.0)], "control model": [Fixed(-1.0)]}
    whole = predict(networks, images, table, CLASSES)
    in_batches = predict(networks, iter(images.split(3)), table, CLASSES)
    pd.testing.assert_frame_equal(whole, in_batches)
