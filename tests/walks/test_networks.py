"""Walks with weights, networks and images as people have them (A6, B6, B7)."""

import argparse
import os
import traceback
from collections import OrderedDict
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


def prefixed(before, state):
    return {before + name: tensor for name, tensor in state.items()}


# B6: checkpoints

SAVED = {
    "model": lambda s: {"model": s, "epoch": 3, "args": argparse.Namespace(lr=0.1)},
    "model_state_dict": lambda s: {"model_state_dict": s, "loss": 0.1},
    "beside a running mean": lambda s: {
        "model": s,
        "model_ema": prefixed("module.", s),
    },
    "DataParallel": lambda s: prefixed("module.", s),
    "torch.compile": lambda s: {"model": prefixed("_orig_mod.", s)},
    "features in parallel": lambda s: {
        n.replace("features", "features.module"): s[n] for n in s
    },
    "Lightning": lambda s: {"state_dict": prefixed("model.", s), "epoch": 1},
    "a Classifier": lambda s: prefixed("network.", s),
}


@pytest.mark.parametrize("how", SAVED)
def test_checkpoints_load(tmp_path, state, how):
    torch.save(SAVED[how](state), tmp_path / "weights.pth")
    read = models.build(NAME, 3, weights=tmp_path / "weights.pth").network.state_dict()
    assert all(torch.equal(read[name], state[name]) for name in state)


def test_it_is_said_once_which_of_several_sets_of_weights_was_read(
    tmp_path, state, capsys
):
    averaged = {name: tensor + 1 for name, tensor in state.items()}
    torch.save(
        {"state_dict": state, "state_dict_ema": averaged}, tmp_path / "last.pth.tar"
    )
    for _ in range(2):
        read = models.build(
            NAME, 3, weights=tmp_path / "last.pth.tar"
        ).network.state_dict()
        assert all(torch.equal(read[name], state[name]) for name in state)
    said = capsys.readouterr().out
    assert said.count("last.pth.tar holds several sets of weights") == 1
    assert "'state_dict' was read, not 'state_dict_ema'" in said


@pytest.mark.parametrize("name", ["weights.SAFETENSORS", "weights.pt"])
def test_safetensors_load_whatever_their_ending(tmp_path, state, name):
    save_file(prefixed("module.", state), tmp_path / name)
    read = models.build(NAME, 3, weights=tmp_path / name).network.state_dict()
    assert all(torch.equal(read[name], state[name]) for name in state)


class Evil:
    def __reduce__(self):
        return os.system, ("touch ran",)


def half_of(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


REFUSED = {
    "whole": (
        lambda p, s: torch.save(squeezenet1_0(num_classes=3), p),
        r"SqueezeNet.*state_dict",
    ),
    "evil": (
        lambda p, s: torch.save({"a": Evil()}, p),
        r"\(posix.system\), which are not run",
    ),
    "TorchScript": (
        lambda p, s: torch.jit.script(nn.Linear(2, 2)).save(str(p)),
        "TorchScript",
    ),
    "text": (
        lambda p, s: p.write_text("import torch\nx"),
        "begins with 'import torch'",
    ),
    "two": (
        lambda p, s: torch.save({"g": s, "d": s}, p),
        r"it holds g \(dict\), d \(dict\)",
    ),
    "cut": (lambda p, s: [torch.save(s, p), half_of(p)], "it is cut short"),
    "head replaced": (
        lambda p, s: torch.save(
            {n.replace("er.1", "er.1.1"): t for n, t in s.items()}, p
        ),
        "has no classifier.1.weight.*Instead it has classifier.1.1.weight",
    ),
}


@pytest.mark.filterwarnings("ignore:.torch.jit")
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_checkpoint_gets_a_sentence_and_never_torchs_advice(
    tmp_path, state, what, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write, message = REFUSED[what]
    write(tmp_path / "weights.pt", state)
    with pytest.raises(ValueError, match=rf"weights\.pt .*{message}") as refusal:
        models.build(NAME, 3, weights="weights.pt")
    told = "".join(traceback.format_exception(refusal.value))
    assert "weights_only" not in told and "safe_globals" not in told
    assert "\n" not in str(refusal.value) and not (tmp_path / "ran").exists()


# A network as it is: what its logits are of


@pytest.mark.parametrize(
    ("classes", "n", "told"),
    [
        (("cardigan", "sock"), 1000, "'cardigan' is no ImageNet category, or two"),
        (("264", "sock"), 3, "w.pt is of 3 classes, not of ImageNet's 1000"),
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
    return models.wrap(Returns(how, **more), mean=0, std=1).eval()


@pytest.mark.parametrize(
    "how",
    [
        lambda f, z: (z,),
        lambda f, z: (z, f),
        lambda f, z: [f, z],
        lambda f, z: {"logits": z, "features": f.mean((2, 3))},
        lambda f, z: GoogLeNetOutputs(z, z, z),
        lambda f, z: OrderedDict(
            logits=z, hidden_states=(f, f)
        ),  # as those of Hugging Face
    ],
)
def test_logits_are_found_in_what_a_network_returns(how):
    plain, model = wrapped(lambda f, z: z), wrapped(how)
    assert torch.equal(models.logits(model, IMAGES), models.logits(plain, IMAGES))
    for method in ("gradcam", "integrated-gradients", "lrp"):
        maps = [explain.explain(one, IMAGES, 1, method).maps for one in (plain, model)]
        assert torch.equal(*maps)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (lambda f, z: (f.mean((2, 3)), z), r"tuple of 0 \(2, 4\), 1 \(2, 3\)"),
        (lambda f, z: {"pooled": z}, r"dict of pooled \(2, 3\)"),
        (lambda f, z: z[:, 0], r"Tensor of \(2,\), which"),
        (lambda f, z: f, r"Tensor of \(2, 4, 14, 14\)"),
        (lambda f, z: "cat", "str of str"),
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
