"""Networks fine-tuned as a whole, beside the trials of heads and what they were before."""

import numpy as np
import pytest
import torch
from PIL import Image

from helpers import models
from helpers.audit import retraining
from sweeps import audit_trials, finetuned


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two photographs of each class and 24 of each context, of noise."""
    monkeypatch.setattr(audit_trials, "EACH", 2)
    monkeypatch.setattr(audit_trials, "SIZE", 64)
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    rng = np.random.default_rng(0)
    for name, context in audit_trials.CONTEXT_OF.items():
        for place, number in ((f"objects/{name}", 2), (f"contexts/{context}", 24)):
            (tmp_path / place).mkdir(parents=True)
            for i in range(number):
                pixels = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / place / f"{i}.png")
    return tmp_path


def test_the_images_are_those_of_the_trials_of_heads(folder):
    network = models.build("squeezenet1_0", 4).eval()
    expected = audit_trials.photographs(folder, type("Network", (), {"model": network}))
    seen = finetuned.features(finetuned.Placed(network, "cpu"), folder)
    assert seen.keys() == expected.keys()
    for name, of in expected.items():
        np.testing.assert_allclose(seen[name], of, atol=1e-5, err_msg=name)


def test_a_placed_network_is_the_network_and_all_of_it_is_trained():
    network, rng = models.build("squeezenet1_0", 3).eval(), np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(0, 256, (6, 3, 64, 64), dtype=np.uint8))
    placed = finetuned.Placed(network, "cpu")
    torch.testing.assert_close(placed.eval()(images.float()), network(images))
    before = {name: of.clone() for name, of in placed.state_dict().items()}
    names, head = tuple(before), f"network.{finetuned.LAST}"
    y, begun = np.arange(6) % 2, (placed, head, names, 1.0)
    part, *_ = retraining.trained_anew(begun, images.numpy(), y, 2, (1e-3, 1), rng)
    assert all(torch.equal(of, before[name]) for name, of in placed.state_dict().items())
    same = {n for n, of in part.state_dict().items() if of.shape == before[n].shape}
    changed = {n for n in same if not torch.equal(part.state_dict()[n], before[n])}
    assert names and changed == same == set(names) - {f"{head}.weight", f"{head}.bias"}
