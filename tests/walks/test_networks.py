"""Walks with weights, networks and images as people have them (A6, B6, B7)."""

import os
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torchvision.models import squeezenet1_0
from torchvision.models.googlenet import GoogLeNetOutputs

from helpers import explain, models
from helpers.focus import networks
from helpers.models.recipe import Recipe

NAME = "squeezenet1_0"


@pytest.fixture(scope="module")
def state():
    return {
        n: t.contiguous() for n, t in squeezenet1_0(num_classes=3).state_dict().items()
    }


# B6: weights


@pytest.mark.parametrize("name", ["weights.safetensors", "weights.pt"])
def test_state_dicts_load(tmp_path, state, name):
    save = save_file if name.endswith("safetensors") else torch.save
    save(state, tmp_path / name)
    read = models.build(NAME, 3, weights=tmp_path / name).network.state_dict()
    assert all(torch.equal(read[key], state[key]) for key in state)


def test_the_only_state_dict_of_a_checkpoint_is_read_and_named_once(
    tmp_path, state, capsys
):
    checkpoint = {"epoch": 3, "state_dict": state, "optimizer": {"lr": 0.1}}
    torch.save(checkpoint, tmp_path / "last.pt")
    for _ in range(2):
        model = models.build(NAME, 3, weights=tmp_path / "last.pt")
    assert torch.equal(model.network.classifier[1].bias, state["classifier.1.bias"])
    said = capsys.readouterr().out
    assert said.count("Read the state dict 'state_dict' of") == 1


class Evil:
    def __reduce__(self):
        return os.system, ("touch ran",)


REFUSED = {
    "a checkpoint with two state dicts": (
        lambda s: {"state_dict": s, "state_dict_ema": s, "epoch": 3},
        r"holds 2 state dicts \('state_dict', 'state_dict_ema'\)\. .* alone",
    ),
    "no weights": (
        lambda s: {"epoch": 3, "optimizer": {"lr": 0.1}},
        r"holds 0 state dicts \('epoch', 'optimizer'\)\. .* save them alone",
    ),
    "a network": (lambda s: nn.Linear(2, 2), "holds more than tensors"),
    "code": (lambda s: {"a": Evil()}, "holds more than tensors"),
    "DataParallel": (
        lambda s: {f"module.{name}": tensor for name, tensor in s.items()},
        "does not fit: .*Missing key.*features.0.weight",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_state_dict_is_refused_and_no_code_is_run(
    tmp_path, state, what, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    saved, message = REFUSED[what]
    torch.save(saved(state), tmp_path / "weights.pt")
    with pytest.raises(ValueError, match=rf"weights\.pt .*{message}") as refusal:
        models.build(NAME, 3, weights="weights.pt")
    assert "weights_only" not in str(refusal.value)
    assert not (tmp_path / "ran").exists()


# A network as it is: what its logits are of


@pytest.mark.parametrize(
    ("classes", "n", "told"),
    [
        (
            ("cardigan", "sock"),
            1000,
            "'cardigan' is not the name or number of exactly one",
        ),
        (("264", "sock"), 3, "w.pt has 3 classes, and 1000 names of classes are known"),
        (("Goldfish", "great_white shark", "264", "sock"), 1000, None),
    ],
)
def test_a_network_as_it_is_names_imagenets_classes(tmp_path, classes, n, told):
    """A last layer of other classes was replaced by a random one, and explained."""
    torch.save(squeezenet1_0(num_classes=n).state_dict(), tmp_path / "w.pt")
    recipe = Recipe(NAME, "as it is", str(tmp_path / "w.pt"))
    sets = {"C": SimpleNamespace(classes=classes)}
    collection = SimpleNamespace(sets=sets, source="folder")
    if told is None:
        assert [*networks.model(collection, recipe, 0).logit.values()] == [
            1,
            2,
            264,
            806,
        ]
        return
    with pytest.raises(ValueError, match=told):
        networks.model(collection, recipe, 0)


# B7: what networks return


class Returns(nn.Module):
    """A network whose output is made of its features and logits by `how`."""

    def __init__(self, how, n_classes=3):
        super().__init__()
        self.body, self.fc = (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()),
            nn.Linear(4, n_classes),
        )
        self.how = how

    def forward(self, images):
        features = self.body(images)
        return self.how(features, self.fc(features.mean((2, 3))))


IMAGES = torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))


def wrapped(how, **more):
    torch.manual_seed(0)
    return models.Classifier(Returns(how, **more), mean=0, std=1).eval()


@pytest.mark.parametrize(
    "how",
    [
        lambda f, z: SimpleNamespace(logits=z, hidden_states=(f, f)),
        lambda f, z: GoogLeNetOutputs(z, f, f),
    ],
)
def test_logits_are_found_in_what_a_network_returns(how):
    plain, model = wrapped(lambda f, z: z), wrapped(how)
    assert torch.equal(models.logits(model, IMAGES), models.logits(plain, IMAGES))
    for method in ("gradcam", "integrated-gradients", "lrp"):
        maps = [explain.explain(one, IMAGES, 1, method) for one in (plain, model)]
        assert torch.equal(*maps)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (lambda f, z: (z, z), "a tuple, not logits"),
        (lambda f, z: f, r"Tensor of shape \(2, 4, 14, 14\), not"),
    ],
)
def test_what_does_not_tell_its_logits_gets_a_sentence(how, told):
    for ask in (
        models.logits,
        lambda m, i: explain.explain(m, i, 0, "gradcam", layer="body"),
    ):
        with pytest.raises(ValueError, match=r"The network returns a .*\(N, classes\)"):
            ask(wrapped(how), IMAGES)
    with pytest.raises(ValueError, match=told):
        models.logits(wrapped(how), IMAGES)


@pytest.mark.parametrize("method", explain.METHODS)
@pytest.mark.parametrize("target", [-1, 3, torch.tensor([0, 7])])
def test_targets_that_are_no_class_are_refused(method, target):
    with pytest.raises(
        ValueError, match="Targets must be numbers of the model's classes, 0 to"
    ):
        explain.explain(wrapped(lambda f, z: z), IMAGES, target, method)


# A6: ranges


@pytest.mark.parametrize("images", [IMAGES * 255, IMAGES * 60, (IMAGES - 0.45) / 0.22])
def test_float_images_that_are_not_in_0_to_1_are_refused(images):
    model = wrapped(lambda f, z: z)
    for ask in (models.logits, lambda m, i: explain.explain(m, i, 0, "gradcam")):
        with pytest.raises(
            ValueError, match=r"Float images must be in \[0, 1\]; these go from"
        ):
            ask(model, images)
    if (
        images.max() > 10
    ):  # noise may leave [0, 1], so that a normalised image passes here
        with pytest.raises(ValueError, match=r"Float images must be in \[0, 1\]"):
            model(images)
