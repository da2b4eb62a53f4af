"""Weights that a network cannot work with are refused when they are read, with a sentence."""

import pytest
import torch
from safetensors.torch import save_file

from helpers import models
from helpers.run import project

NETWORK = "resnet18"


@pytest.fixture(scope="module")
def state():
    tensors = models.build(NETWORK, 2).network.state_dict()
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.where(w > w.min(), float("nan")), "conv1.weight has NaN or infinite values"),
        (lambda w: w / 0, "conv1.weight has NaN or infinite values"),
        (lambda w: (100 * w).int(), "conv1.weight is int32, must be floating point"),
    ],
)
def test_weights_that_are_no_numbers_or_whole_numbers_are_refused(tmp_path, state, change, message):
    save_file(state | {"conv1.weight": change(state["conv1.weight"])}, tmp_path / "w.safetensors")
    with pytest.raises(ValueError, match=message):
        models.build(NETWORK, 2, weights=tmp_path / "w.safetensors")


def test_half_precision_and_counters_of_another_width_are_read(tmp_path, state):
    other = {name: t.half() if t.is_floating_point() else t.int() for name, t in state.items()}
    save_file(other, tmp_path / "w.safetensors")
    network = models.build(NETWORK, 2, weights=tmp_path / "w.safetensors").network
    torch.testing.assert_close(network.conv1.weight, state["conv1.weight"], atol=1e-3, rtol=1e-3)


def test_a_stored_model_cut_short_says_which_file_to_delete(tmp_path, state, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    project.store().mkdir()
    for folder, said in ((project.store(), True), (tmp_path, False)):
        save_file(state, folder / "w.safetensors")
        (folder / "w.safetensors").write_bytes((folder / "w.safetensors").read_bytes()[:1000])
        with pytest.raises(ValueError, match=r"w.safetensors cannot be read") as error:
            models.build(NETWORK, 2, weights=folder / "w.safetensors")
        assert ("Delete that file and run again" in str(error.value)) == said
