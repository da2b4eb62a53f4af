"""Devices and threads: which is chosen, and whether tensors follow the network.

Without a GPU, torch's fake tensors and a pretended device (tests/pretended.py) show
which tensors do not follow the network. The last tests need a CUDA GPU.
"""

import os
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from pretended import DEVICE, moved, pretended_device
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from helpers import audits, explain, focus, lesson, models, store, workflow
from helpers.audit import model_audit, queries
from helpers.data import Collection, ImageSet
from helpers.focus import controls, equation
from helpers.focus.networks import Model
from helpers.models import experiment, inference
from helpers.models.recipe import Recipe
from helpers.settings import Images, check
from helpers.synthetic_data import street_detector

QUARTER = "alexnet-quarter"
EIGHTH = "resnet10-eighth"
CLASSES = ("a", "b", "c", "d")
LOGIT = {name: number for number, name in enumerate(CLASSES)}
CORES = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
)


def noise(number: int, size: int = 64) -> torch.Tensor:
    draw = torch.Generator().manual_seed(number)
    return torch.randint(
        0, 256, (number, 3, size, size), dtype=torch.uint8, generator=draw
    )


@pytest.fixture(autouse=True)
def own_outputs(tmp_path, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))


@pytest.fixture(autouse=True)
def threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def with_cuda(monkeypatch):
    cuda = torch.device("cuda")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: cuda)


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)


@pytest.fixture
def images() -> ImageSet:
    table = pd.DataFrame({"class": np.repeat(CLASSES, 4), "split": "test"})
    return ImageSet(
        "C", noise(16), torch.arange(4).repeat_interleave(4), CLASSES, table
    )


def example(name: str = EIGHTH) -> models.Classifier:
    return models.build(name, len(CLASSES), seed=1).eval()


# which device


def test_auto_is_the_cpu_for_the_synthetic_dataset_also_where_there_is_a_gpu(with_cuda):
    assert models.device("auto", synthetic=True).type == "cpu"


@pytest.mark.parametrize(
    ("is_available", "expected"), [(True, "cuda"), (True, "mps"), (False, "cpu")]
)
def test_auto_is_the_accelerator_for_other_images(is_available, expected, monkeypatch):
    accelerator = torch.device(expected)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: is_available)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: accelerator)
    assert models.device("auto").type == expected


COMPUTES = re.compile(
    r"experiment\.(model|with_control)\(|networks\.model\(|audits\.model"
)


def test_every_lesson_that_computes_with_your_networks_has_the_parameter_device():
    computing = set()
    for path in (store.root() / "notebooks").glob("*.ipynb"):
        if COMPUTES.search(path.read_text()):
            computing.add(path.stem)
            assert workflow.defaults(path)["device"] == "auto", path.name
    assert len(computing) >= 8


def test_a_device_that_is_named_is_taken_for_all_images(with_cuda):
    assert models.device("cuda", synthetic=True).type == "cuda"
    assert models.device("cpu").type == "cpu"


@pytest.mark.parametrize("name", ["cuda", "mps", "gpu"])
def test_a_device_that_is_not_there_is_refused(name, without_gpu):
    message = f"device='{name}': torch finds no such device .* Use 'auto'"
    with pytest.raises(ValueError, match=message):
        models.device(name)


@pytest.mark.parametrize(("source", "device"), [("world", "cpu"), ("folder", "cuda")])
def test_models_of_own_images_get_the_gpu(
    source, device, images, with_cuda, monkeypatch
):
    given = {}
    monkeypatch.setattr(
        models, "trainings", lambda *_, **settings: given.update(settings) or []
    )
    collection = Collection(source, CLASSES, {"C": images}, {}, {}, lambda *run: None)
    experiment.model("model-C", collection, Recipe(), 0)
    assert given["device"].type == device


def test_seeding_an_apple_gpu_leaves_its_generator_as_it_was(monkeypatch):
    generator = torch.Generator()
    monkeypatch.setattr(torch.mps, "manual_seed", generator.manual_seed)
    monkeypatch.setattr(
        torch.mps, "get_rng_state", lambda device: generator.get_state()
    )
    monkeypatch.setattr(
        torch.mps, "set_rng_state", lambda state, device: generator.set_state(state)
    )
    before = generator.get_state()
    with inference.seeded(5, torch.device("mps")):
        assert generator.initial_seed() == 5
    assert torch.equal(generator.get_state(), before)


# how many threads


def test_other_images_take_all_cores(monkeypatch):
    monkeypatch.delenv(inference.THREADS, raising=False)
    assert models.threads() == CORES


def test_an_audit_from_python_takes_all_cores(monkeypatch):
    monkeypatch.delenv(inference.THREADS, raising=False)
    torch.set_num_threads(1)
    seen = []
    monkeypatch.setattr(
        model_audit,
        "load_network",
        lambda *_: seen.append(torch.get_num_threads()) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        audits.model("resnet18", "photos/", "backgrounds/")
    assert seen == [CORES]


@pytest.mark.parametrize(("folder", "threads"), [(False, 1), (True, 3)])
def test_a_notebook_starts_with_the_threads_of_its_images(
    folder, threads, tmp_path, monkeypatch
):
    monkeypatch.setenv(inference.THREADS, "3")
    types = {"images": Images, "seed": int, "output": str}
    images = {"folder": str(tmp_path)} if folder else "world"
    values = {"images": images, "seed": 0, "output": "x"}
    settings = check({"__annotations__": types, **values})
    lesson.start("00_template", settings)
    assert torch.get_num_threads() == threads


# torch's fake tensors on a GPU, which refuse to be mixed with those on the CPU


def on_fake_gpu(network: nn.Module) -> nn.Module:
    """Give a network fake weights on a GPU, since `to` fails in FakeTensorMode."""
    for module in network.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    fake = torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")
                    is_weight = isinstance(tensor, nn.Parameter)
                    tensors[name] = nn.Parameter(fake) if is_weight else fake
    return network


@pytest.mark.parametrize("name", [QUARTER, EIGHTH, "squeezenet1_0"])
def test_forward_passes_mix_no_devices(name):
    network = example(name)
    with FakeTensorMode():
        pictures = torch.zeros(70, 3, 64, 64, dtype=torch.uint8)
        # the numbers are fake, so that nobody can ask whether they are finite
        outputs = inference._stacked_logits([on_fake_gpu(network)], pictures, 64)[0]
    assert (outputs.device.type, tuple(outputs.shape)) == ("cpu", (70, 4))


def test_focus_mixes_no_devices():
    with FakeTensorMode():
        maps = torch.rand(9, 64, 64, device="cuda")
        layouts = torch.ones(9, 2, 2, dtype=torch.bool, device="cuda")
        assert equation.focus_of(maps, layouts).device.type == "cuda"


# a pretended device: each result is that of the CPU, and comes back to it


@pytest.fixture
def unfused(monkeypatch):
    """AdamW without its fused kernels, which torch refuses on the pretended device."""
    adamw = torch.optim.AdamW
    plain = lambda parameters, lr, fused=None, **more: adamw(parameters, lr, **more)  # noqa: E731
    monkeypatch.setattr(torch.optim, "AdamW", plain)


def on_cpu(network: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.cpu() for name, tensor in network.state_dict().items()}


def equal(first: dict, second: dict) -> bool:
    return all(torch.equal(tensor, second[name]) for name, tensor in first.items())


def test_the_pretended_device_refuses_to_mix_devices():
    with pretended_device():
        network = moved(example())
        with pytest.raises(RuntimeError, match="mixes devices"):
            network.network(torch.zeros(1, 3, 64, 64))


def test_logits_come_back_to_the_cpu():
    here = example()
    pictures = noise(5)
    with pretended_device():
        logits = models.logits(moved(here), pictures)
    assert type(logits) is torch.Tensor
    assert torch.equal(logits, models.logits(here, pictures))


@pytest.mark.parametrize("tune", ["all", "last"])
def test_a_network_is_trained_on_its_device_and_stays_there(tune, unfused):
    data = noise(24), torch.arange(24) % 4, noise(8), torch.arange(8) % 4
    here = example(QUARTER)
    history = models.train(here, *data, seed=0, epochs=2, tune=tune)
    with pretended_device():
        there = moved(example(QUARTER))
        assert models.train(there, *data, seed=0, epochs=2, tune=tune) == history
        assert {tensor.device for tensor in there.state_dict().values()} == {DEVICE}
        assert equal(on_cpu(there), here.state_dict())


@pytest.mark.parametrize("method", explain.METHODS)
@pytest.mark.parametrize("name", [QUARTER, EIGHTH])
def test_every_method_explains_on_the_networks_device(method, name):
    ask = {"targets": torch.tensor([0, 1, 3]), "method": method, "preset": "quick"}
    here = example(name)
    pictures = noise(3)
    with pretended_device():
        maps = explain.explain(moved(here), pictures, **ask)
    assert type(maps) is torch.Tensor
    torch.testing.assert_close(maps, explain.explain(here, pictures, **ask))


def test_focus_and_its_controls_are_rated_on_the_networks_device(images):
    table = focus.design(images.table, CLASSES, per_class=1)
    methods = ["gradcam", "lime"]

    def rated(network) -> list:
        model = Model(Recipe(EIGHTH), "C", [network], LOGIT)
        rate = partial(focus.rate, model, images, table, effort="quick")
        ratings = [rate(method)["focus"] for method in [*methods, controls.random_map]]
        known = controls.in_disconnected(model, images, table, methods)
        return [*map(list, ratings), list(known["focus"]), list(known["by cell"])]

    here = example()
    with pretended_device():
        there = rated(moved(here))
    np.testing.assert_allclose(
        np.concatenate(there), np.concatenate(rated(here)), rtol=1e-4
    )


def test_an_audit_reads_a_network_on_its_device():
    here = example()
    pictures = noise(24)
    y = np.arange(24) % 4

    def read(network) -> tuple:
        read_features, answers = queries.features_and_answers(network, pictures)
        right = np.eye(4)[y]  # so that the accuracy is high, and no error is raised
        sentence = queries.check_accuracy(network, pictures, y, range(4), right)
        return read_features, answers, sentence

    expected_features, expected_answers, expected_sentence = read(here)
    with pretended_device():
        features, answers, sentence = read(moved(here))
    np.testing.assert_array_equal(features, expected_features)
    np.testing.assert_array_equal(answers, expected_answers)
    assert sentence == expected_sentence


def test_a_detector_is_trained_and_finds_boxes_on_its_device(unfused):
    boxes = {
        "image": range(4),
        "category": 0,
        "x1": 20.0,
        "y1": 30.0,
        "x2": 90.0,
        "y2": 99.0,
    }
    pictures, boxes = noise(4, 160), pd.DataFrame(boxes)
    here = street_detector.build(1, (160, 160))
    losses = street_detector.train(here, pictures, boxes, seed=0, epochs=1)
    found = street_detector.detect(here, pictures)
    with pretended_device():
        there = moved(street_detector.build(1, (160, 160)))
        assert street_detector.train(
            there, pictures, boxes, seed=0, epochs=1
        ) == pytest.approx(losses)
        again = street_detector.detect(there, pictures)
    pd.testing.assert_frame_equal(again, found)


# too little memory


class Small(nn.Module):
    """A network with memory for so many images."""

    mean = 0.0
    std = 1.0

    def __init__(self, most: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.most = most
        self.sizes = []

    def forward(self, images):
        self.sizes.append(len(images))
        if len(images) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return images.float().mean((2, 3)) * self.weight


def test_a_batch_is_halved_until_it_fits_into_the_memory(capsys):
    inference.print_once.cache_clear()
    pictures = noise(70, 8)
    small = Small(most=20)
    assert torch.equal(
        models.logits(small, pictures), models.logits(Small(most=99), pictures)
    )
    assert small.sizes == [64, 32, 16, 16, 16, 16, 6]
    assert capsys.readouterr().out.count("The memory does not suffice") == 1


def test_a_single_image_that_does_not_fit_is_an_error():
    with pytest.raises(torch.OutOfMemoryError):
        models.logits(Small(most=0), noise(3, 8))


# a GPU


@pytest.fixture
def cuda():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA GPU on this machine: the path on a GPU is not tried")
    lesson.seed_everything(0)
    return torch.device("cuda")


def near(first: torch.Tensor, second: torch.Tensor) -> None:
    """Equal but for what float32 rounds, as a share of the largest value."""
    scale = float(second.abs().max())
    torch.testing.assert_close(first, second, rtol=1e-2, atol=1e-3 * scale)


@pytest.mark.parametrize("tune", ["all", "last"])
def test_cuda_trains(cuda, tune):
    data = noise(24), torch.arange(24) % 4, noise(8), torch.arange(8) % 4
    networks = [example(QUARTER).to(cuda) for _ in range(2)]
    for network in networks:
        history = models.train(network, *data, seed=0, epochs=2, tune=tune)
        assert network.mean.device.type == "cuda"
        assert len(history) == 2
    near(*(models.logits(network, noise(5)) for network in networks))


@pytest.mark.parametrize("method", explain.METHODS)
@pytest.mark.parametrize("name", [QUARTER, EIGHTH])
def test_cuda_gives_the_logits_and_maps_of_the_cpu(cuda, name, method):
    pictures = noise(3)
    ask = {"targets": 1, "method": method, "preset": "quick"}
    logits = []
    maps = []
    for device in ("cpu", cuda):
        network = example(name).to(device)
        logits.append(models.logits(network, pictures))
        maps.append(explain.explain(network, pictures, **ask))
    near(*logits)
    near(*maps)


def test_cuda_rates_focus_as_the_cpu_does(cuda, images):
    table = focus.design(images.table, CLASSES, per_class=2)
    focus_of = []
    for device in ("cpu", cuda):
        model = Model(Recipe(EIGHTH), "C", [example().to(device)], LOGIT)
        rated = focus.rate(model, images, table, "integrated-gradients", effort="quick")
        focus_of.append(torch.tensor(rated["focus"]))
    near(*focus_of)
