"""Models: what is built, what training does, what is kept."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.functional import cross_entropy
from torchvision import models as torchvision_models
from torchvision.models import AlexNet_Weights, SqueezeNet1_1_Weights

from helpers import models, store
from helpers.data.collection import TrainingImages
from helpers.models import training

QUARTER = "alexnet-quarter"


def toy_set(per_class=12, seed=0, size=64, classes=("low", "high")):
    """Noise in which the class is the half that is bright: an ImageSet as far as models care."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(per_class * len(classes)) % len(classes)
    shape = (len(labels), 3, size, size)
    images = torch.randint(0, 100, shape, generator=generator, dtype=torch.uint8)
    for image, label in zip(images, labels, strict=True):
        half = image[:, size // 2 :] if label else image[:, : size // 2]
        half += 120
    return SimpleNamespace(images=images, labels=labels, classes=classes)


def sees(*sets):
    """What a training sees of a training set and a validation set."""
    tensors = tuple(tensor for one in sets for tensor in (one.images, one.labels))
    return TrainingImages({"given": tensors}, lambda: tensors)


def fit(model, *sets, **options):
    tensors = [tensor for one in sets for tensor in (one.images, one.labels)]
    return models.train(model, *tensors, **{"seed": 0, "epochs": 3} | options)


@pytest.fixture(scope="module")
def toy():
    return toy_set(), toy_set(6, seed=1)


# what is built


@pytest.mark.parametrize(
    ("architecture", "head"),
    [
        ("alexnet-quarter", "classifier.3"),
        ("squeezenet1_1", "classifier.1"),
        ("resnet18", "fc"),
    ],
)
def test_any_torchvision_classifier_gets_its_last_layer_fitted(
    architecture, head, tmp_path
):
    torch.save(models.build(architecture, 6).network.state_dict(), tmp_path / "six.pth")
    model = models.build(architecture, 5, weights=tmp_path / "six.pth").eval()
    assert model.head == head
    assert model(torch.zeros(1, 3, 64, 64, dtype=torch.uint8)).shape == (1, 5)


def test_normalisation_is_inside_is_torchvisions_and_takes_images_alone():
    images = toy_set(2).images
    model = models.build(QUARTER, 2).eval()
    preset = AlexNet_Weights.IMAGENET1K_V1.transforms(crop_size=64, resize_size=64)
    by_torchvision = model.network(preset(images))
    torch.testing.assert_close(model(images), by_torchvision)
    torch.testing.assert_close(model(images / 255), by_torchvision)
    model = models.build(QUARTER, 2)
    for shape in [(3, 64, 64), (1, 1, 64, 64), (1, 64, 64, 3)]:
        with pytest.raises(ValueError, match=r"must be \(N, 3, H, W\)"):
            model(torch.zeros(shape))
    with pytest.raises(TypeError, match=r"these are torch\.int64"):
        model(torch.zeros(1, 3, 64, 64, dtype=torch.int64))


def test_a_seed_decides_the_weights_and_touches_nothing_else():
    before = torch.random.get_rng_state()
    first, again, other = (
        models.build(QUARTER, 2, seed=seed).state_dict() for seed in (3, 3, 4)
    )
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(
        torch.equal(first[name], other[name]) for name in first if first[name].ndim > 1
    )


# weights from files


def test_weights_that_do_not_fit_are_refused_with_what_torch_says(tmp_path):
    state = models.build("resnet18", 2).network.state_dict()
    torch.save(state | {"bn1.bias": torch.ones(7)}, tmp_path / "w.pt")
    with pytest.raises(ValueError, match=r"does not fit: .*size mismatch for bn1.bias"):
        models.build("resnet18", 2, weights=tmp_path / "w.pt")


def test_half_precision_is_read(tmp_path):
    state = models.build(QUARTER, 2).network.half().state_dict()
    torch.save(state, tmp_path / "w.pt")
    network = models.build(QUARTER, 2, weights=tmp_path / "w.pt").network
    assert torch.equal(network.features[0].weight.half(), state["features.0.weight"])


@pytest.fixture
def served_weights(tmp_path, monkeypatch):
    """torchvision's address of SqueezeNet 1.1 is a file here; downloads go to another folder."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "hub"))

    def serve(network, hash_of=lambda digest: digest):
        torch.save(network.state_dict(), tmp_path / "w")
        path = tmp_path / f"net-{hash_of(store.file_digest(tmp_path / 'w')[:8])}.pth"
        (tmp_path / "w").rename(path)
        monkeypatch.setattr(SqueezeNet1_1_Weights.DEFAULT.value, "url", path.as_uri())

    return serve


def test_imagenet_weights_come_by_address_with_their_hash_checked(served_weights):
    source = torchvision_models.squeezenet1_1(num_classes=1000)
    served_weights(source)
    model = models.build("squeezenet1_1", 4, weights="imagenet")
    assert torch.equal(model.network.features[0].weight, source.features[0].weight)
    assert len(model.network.classifier[1].weight) == 4
    served_weights(source, hash_of=lambda digest: "0" * 8)
    with pytest.raises(
        ConnectionError, match=r"squeezenet1_1 could not be read .*RuntimeError"
    ):
        models.build("squeezenet1_1", 4, weights="imagenet")


# training


def test_training_learns_and_keeps_the_best_epoch(toy):
    train_set, val_set = toy
    model = models.build(QUARTER, 2)
    history = fit(model, train_set, val_set, epochs=12)
    outputs = models.logits(model, val_set.images)
    accuracy = float((outputs.argmax(1) == val_set.labels).double().mean())
    best = training.best_epoch(history)
    assert accuracy == best["val_accuracy"] == 1
    loss = float(cross_entropy(outputs, val_set.labels))
    assert loss == pytest.approx(best["val_loss"], rel=1e-4)
    assert [entry["epoch"] for entry in history] == list(
        range(1, 13)
    ) and not model.training


def test_a_seed_decides_the_training_on_any_number_of_threads_and_touches_nothing_else(
    toy,
):
    state, before, keys = torch.random.get_rng_state(), torch.get_num_threads(), []
    try:
        for threads, seed in ((1, 5), (2, 5), (1, 6)):
            torch.set_num_threads(threads)
            model = models.build(QUARTER, 2)
            fit(model, *toy, seed=seed, epochs=1)
            keys.append(store.key("weights", state=dict(model.state_dict())))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert torch.equal(state, torch.random.get_rng_state())
    assert keys[0] == keys[1] != keys[2]


def test_no_batch_is_left_with_one_image_and_a_training_that_breaks_down_says_so(toy):
    model = models.build("resnet18", 2)  # whose batch norm refuses a single image
    fit(model, toy_set(16 + 1, classes=("low",)), toy[1], epochs=1)
    model = models.build(QUARTER, 2)
    nn.init.constant_(model.network.classifier[3].bias, float("nan"))
    with pytest.raises(
        FloatingPointError, match="broke down in epoch 1: the loss is nan"
    ):
        fit(model, *toy)


@pytest.mark.parametrize("architecture", ["squeezenet1_1", "resnet18"])
def test_tuning_the_last_layer_is_training_with_the_rest_frozen(toy, architecture):
    """One batch of images that mirroring leaves as they are, so that nothing is random."""
    train_set, val_set = toy_set(16 // 2), toy[1]
    train_set.images[..., 32:] = train_set.images[..., :32].flip(-1)
    model, by_hand = (models.build(architecture, 2) for _ in range(2))
    history = fit(model, train_set, val_set, tune="last", epochs=2)
    head = by_hand.eval().network.get_submodule(by_hand.head)
    optimizer = torch.optim.AdamW(head.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=2)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        cross_entropy(by_hand(train_set.images), train_set.labels).backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            losses.append(float(cross_entropy(by_hand(val_set.images), val_set.labels)))
    assert [entry["val_loss"] for entry in history] == pytest.approx(losses, rel=1e-3)
    start = models.build(architecture, 2).state_dict()
    changed = {
        n
        for n, tensor in model.state_dict().items()
        if not torch.equal(tensor, start[n])
    }
    assert changed == {f"network.{model.head}.weight", f"network.{model.head}.bias"}


def test_augmentation_mirrors_half_and_shows_70_to_100_percent():
    ramp = (
        torch.linspace(0, 200, 96).to(torch.uint8).expand(600, 3, 96, 96).contiguous()
    )
    rows = models.augment(ramp, torch.Generator().manual_seed(0))[:, 0, 48]
    assert 0.45 < float((rows[:, 0] > rows[:, -1]).double().mean()) < 0.55
    width = (rows[:, 0] - rows[:, -1]).abs() * 255 / 200  # times a tint of 0.6 to 1.4
    assert width.min() > 0.68 * 0.6 and width.max() <= 1.275
    assert 0.8 < float(width.mean()) < 0.9


# asking


def test_logits_are_those_of_each_training_and_batches_are_made_once(toy):
    trainings = [models.build(QUARTER, 2, seed=seed).train() for seed in (1, 2, 3)]
    batches = iter(toy[0].images.split(7))  # a second round would find none
    outputs = models.logits(trainings, batches)
    assert outputs.shape == (3, 24, 2) and not outputs.requires_grad
    for model, output in zip(trainings, outputs, strict=True):
        assert model.training and models.logits(model, toy[0].images).shape == (24, 2)
        torch.testing.assert_close(output, model.eval()(toy[0].images).detach())


def test_logits_that_are_no_numbers_are_refused():
    images, sound, broken = (
        torch.zeros(5, 3, 64, 64),
        *(models.build(QUARTER, 2) for _ in "ab"),
    )
    images[3, 0, 5, 5] = float("nan")
    with pytest.raises(FloatingPointError, match="1 of 5 images, first for image 3"):
        models.logits(sound, images.split(2))
    nn.init.constant_(broken.network.classifier[3].bias, float("inf"))
    with pytest.raises(FloatingPointError, match="5 of 5 images, first for image 0"):
        models.logits([sound, broken], images.nan_to_num())


# keeping


def trained(folder, *sets, number=1, **options):
    """Trainings of a toy set, which are found in a folder or go there."""
    data = sees(*(sets or (toy_set(), toy_set(6, seed=1))))
    options = {"seed": 0, "epochs": 1, "folder": folder} | options
    return models.trainings(number, QUARTER, ("low", "high"), lambda t: data, **options)


def test_all_that_decides_a_model_decides_its_name(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "train", lambda *_, **__: [])
    pixel = SimpleNamespace(**vars(toy[0]) | {"images": toy[0].images.clone()})
    pixel.images[0, 0, 0, 0] += 1
    labels = SimpleNamespace(**vars(toy[0]) | {"labels": 1 - toy[0].labels})
    weights = tmp_path / "w.pth"
    torch.save(models.build(QUARTER, 2).network.state_dict(), weights)
    options = [{}, {"seed": 1}, {"epochs": 2}, {"tune": "last"}, {"weights": weights}]
    cases = [(toy, one) for one in options]
    cases += [
        (sets, {}) for sets in ((pixel, toy[1]), (labels, toy[1]), (toy[0], toy[0]))
    ]
    for sets, one in cases * 2:
        trained(tmp_path / "store", *sets, **one)
    assert len(list((tmp_path / "store").glob("*.safetensors"))) == len(cases)


def files(folder):
    """Name to bytes of the finished trainings."""
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


def test_three_trainings_are_the_first_of_five_and_a_damaged_one_is_made_anew_alone(
    tmp_path, monkeypatch
):
    three = trained(tmp_path, number=3)
    before, seeds, train = files(tmp_path), [], models.train
    monkeypatch.setattr(
        models, "train", lambda *a, **s: seeds.append(s["seed"]) or train(*a, **s)
    )
    five = trained(tmp_path, number=5)
    assert [model.history for model in five[:3]] == [model.history for model in three]
    assert seeds == [3, 4]
    assert len(before) == 3 and before.items() <= files(tmp_path).items()
    heads = [model.network.classifier[3].weight for model in (*three, *five)]
    assert all(torch.equal(a, b) for a, b in zip(heads[:3], heads[3:6], strict=True))
    assert not any(torch.equal(a, b) for a, b in itertools.combinations(heads[3:], 2))
    path = tmp_path / min(before)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(
        store.UnreadableArtifact, match=rf"{path.name}.*Delete that file"
    ):
        trained(tmp_path, number=3)
    path.unlink()
    trained(tmp_path, number=3)
    assert (
        len(seeds) == 3
        and load_file(path).keys() == load_file(tmp_path / max(before)).keys()
    )
    trained(tmp_path, seed=3)
    assert seeds[3:] == [3000]


def test_a_pretrained_model_is_where_others_start(toy, tmp_path):
    wider = toy_set(12, classes=("a", "b", "c"))
    wider_world = (QUARTER, 3, sees(wider, wider))
    path = models.pretrained(*wider_world, seed=0, epochs=1, folder=tmp_path)
    assert path == models.pretrained(*wider_world, seed=0, epochs=1, folder=tmp_path)
    first = models.build(QUARTER, 3, weights=path).network.features[0].weight
    assert torch.equal(
        first, models.build(QUARTER, 2, weights=path).network.features[0].weight
    )
    [model] = trained(tmp_path, weights=path)
    assert model(toy[1].images).shape == (12, 2)
