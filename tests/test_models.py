"""Building, training, querying and storing models."""

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
    """Draw noise in which the class is the half that is bright."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(per_class * len(classes)) % len(classes)
    shape = (len(labels), 3, size, size)
    images = torch.randint(0, 100, shape, generator=generator, dtype=torch.uint8)
    middle = size // 2
    for image, label in zip(images, labels, strict=True):
        if label:
            image[:, middle:] += 120
        else:
            image[:, :middle] += 120
    return SimpleNamespace(images=images, labels=labels, classes=classes)


def tensors_of(train_set, val_set):
    """Return the images and labels of a training set and a validation set."""
    return train_set.images, train_set.labels, val_set.images, val_set.labels


def drawn(train_set, val_set):
    """Return what a training run sees of a training set and a validation set."""
    tensors = tensors_of(train_set, val_set)
    return TrainingImages({"given": tensors}, lambda: tensors)


def fit(model, train_set, val_set, *, seed=0, epochs=3, **settings):
    """Train a model on toy sets."""
    tensors = tensors_of(train_set, val_set)
    return models.train(model, *tensors, seed=seed, epochs=epochs, **settings)


@pytest.fixture(scope="module")
def toy():
    return toy_set(), toy_set(6, seed=1)


# Building


@pytest.mark.parametrize(
    ("architecture", "head"),
    [
        ("alexnet-quarter", "classifier.3"),
        ("squeezenet1_1", "classifier.1"),
        ("resnet18", "fc"),
    ],
)
def test_a_classifier_gets_a_last_layer_for_its_classes(architecture, head, tmp_path):
    path = tmp_path / "six.pth"
    with_six_classes = models.build(architecture, 6)
    torch.save(with_six_classes.network.state_dict(), path)
    model = models.build(architecture, 5, weights=path).eval()
    image = torch.zeros(1, 3, 64, 64, dtype=torch.uint8)
    assert model.head == head
    assert model(image).shape == (1, 5)


def test_normalization_is_that_of_torchvision():
    images = toy_set(2).images
    model = models.build(QUARTER, 2).eval()
    preset = AlexNet_Weights.IMAGENET1K_V1.transforms(crop_size=64, resize_size=64)
    by_torchvision = model.network(preset(images))
    torch.testing.assert_close(model(images), by_torchvision)
    torch.testing.assert_close(model(images / 255), by_torchvision)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((3, 64, 64), torch.uint8),
        ((1, 1, 64, 64), torch.uint8),
        ((1, 64, 64, 3), torch.uint8),
        ((1, 3, 64, 64), torch.int64),
    ],
)
def test_tensors_that_are_not_images_are_refused(shape, dtype):
    model = models.build(QUARTER, 2)
    with pytest.raises(ValueError, match=rf"must be \(N, 3, H, W\), .* {dtype}"):
        model(torch.zeros(shape, dtype=dtype))


def test_a_seed_decides_the_weights_and_leaves_the_global_generator_alone():
    before = torch.random.get_rng_state()
    first = models.build(QUARTER, 2, seed=3)
    again = models.build(QUARTER, 2, seed=3)
    other = models.build(QUARTER, 2, seed=4)
    assert torch.equal(before, torch.random.get_rng_state())
    for name, parameter in first.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name))
        if parameter.ndim > 1:
            assert not torch.equal(parameter, other.get_parameter(name))


# Weights from files


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Serve a network's weights from torchvision's address of SqueezeNet 1.1."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "hub"))

    def serve_under(network, digest=None):
        torch.save(network.state_dict(), tmp_path / "w")
        digest = digest or store.file_digest(tmp_path / "w")[:8]
        path = tmp_path / f"net-{digest}.pth"
        (tmp_path / "w").rename(path)
        monkeypatch.setattr(SqueezeNet1_1_Weights.DEFAULT.value, "url", path.as_uri())

    return serve_under


def test_imagenet_weights_are_downloaded_with_their_hash_checked(serve):
    source = torchvision_models.squeezenet1_1(num_classes=1000)
    serve(source)
    model = models.build("squeezenet1_1", 4, weights="imagenet")
    first_layer = model.network.features[0]
    last_layer = model.network.classifier[1]
    assert torch.equal(first_layer.weight, source.features[0].weight)
    assert last_layer.out_channels == 4
    serve(source, digest="0" * 8)
    with pytest.raises(RuntimeError, match="invalid hash value"):
        models.build("squeezenet1_1", 4, weights="imagenet")


# Training


def test_training_learns_and_keeps_the_best_epoch(toy):
    train_set, val_set = toy
    model = models.build(QUARTER, 2)
    history = fit(model, train_set, val_set, epochs=12)
    assert not model.training
    assert [epoch["epoch"] for epoch in history] == list(range(1, 13))
    best = training.best_epoch(history)
    outputs = models.logits(model, val_set.images)
    assert torch.equal(outputs.argmax(1), val_set.labels)
    assert best["val_accuracy"] == 1
    loss = cross_entropy(outputs, val_set.labels)
    assert loss.item() == pytest.approx(best["val_loss"], rel=1e-4)


def test_a_seed_decides_the_training(toy):
    state = torch.random.get_rng_state()
    weights = []
    for seed in (5, 5, 6):
        model = models.build(QUARTER, 2)
        fit(model, *toy, seed=seed, epochs=1)
        parameters = [parameter.flatten() for parameter in model.parameters()]
        weights.append(torch.cat(parameters))
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_no_batch_has_a_single_image(toy):
    model = models.build("resnet18", 2)  # whose batch norm refuses a single image
    fit(model, toy_set(16 + 1, classes=("low",)), toy[1], epochs=1)


def test_training_that_breaks_down_is_refused(toy):
    model = models.build(QUARTER, 2)
    nn.init.constant_(model.network.classifier[3].bias, float("nan"))
    message = (
        "NaN or infinite logits for 12 of 12 images.* a tenth of the learning rate"
    )
    with pytest.raises(FloatingPointError, match=message):
        fit(model, *toy)


def test_a_loop_that_yields_no_epoch_is_refused(toy):
    def no_epoch(*tensors, **settings):
        yield from ()

    model = models.build(QUARTER, 2)
    message = "The training loop yielded no epoch"
    with pytest.raises(ValueError, match=message):
        fit(model, *toy, loop=no_epoch)


@pytest.mark.parametrize("architecture", ["squeezenet1_1", "resnet18"])
def test_tuning_the_last_layer_is_training_with_the_rest_frozen(toy, architecture):
    """The images are one batch, and mirroring leaves them as they are."""
    train_set, val_set = toy_set(16 // 2), toy[1]
    train_set.images[..., 32:] = train_set.images[..., :32].flip(-1)
    model = models.build(architecture, 2)
    history = fit(model, train_set, val_set, tune="last", epochs=2)

    by_hand = models.build(architecture, 2).eval()
    head = by_hand.network.get_submodule(by_hand.head)
    optimizer = torch.optim.AdamW(head.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=2)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        logits = by_hand(train_set.images)
        cross_entropy(logits, train_set.labels).backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            logits = by_hand(val_set.images)
        losses.append(cross_entropy(logits, val_set.labels).item())
    assert [epoch["val_loss"] for epoch in history] == pytest.approx(losses, rel=1e-3)

    changed = set()
    start = models.build(architecture, 2).state_dict()
    for name, tensor in model.state_dict().items():
        if not torch.equal(tensor, start[name]):
            changed.add(name)
    head = f"network.{model.head}"
    assert changed == {f"{head}.weight", f"{head}.bias"}


def test_augmentation_mirrors_half_and_shows_70_to_100_percent():
    row = torch.linspace(0, 200, 96).to(torch.uint8)
    ramps = row.expand(600, 3, 96, 96).contiguous()
    generator = torch.Generator().manual_seed(0)
    rows = training.augment(ramps, generator)[:, 0, 48]
    first, last = rows[:, 0], rows[:, -1]
    share_mirrored = (first > last).double().mean()
    assert 0.45 < share_mirrored < 0.55
    width = (first - last).abs() * 255 / 200  # times a tint of 0.6 to 1.4
    assert width.min() > 0.68 * 0.6
    assert width.max() <= 1.275
    assert 0.8 < width.mean() < 0.9


# Logits


def test_logits_are_those_of_each_run_and_batches_are_made_once(toy):
    images = toy[0].images
    runs = [models.build(QUARTER, 2, seed=seed).train() for seed in (1, 2, 3)]
    batches = iter(images.split(7))  # a second round would find none
    outputs = models.logits(runs, batches)
    assert outputs.shape == (3, 24, 2)
    assert not outputs.requires_grad
    for model, output in zip(runs, outputs, strict=True):
        assert not model.training
        alone = models.logits(model, images)
        expected = model.eval()(images)
        torch.testing.assert_close(alone, expected.detach())
        torch.testing.assert_close(output, expected.detach())


def test_logits_that_are_not_finite_are_refused():
    model = models.build(QUARTER, 2)
    broken = models.build(QUARTER, 2)
    nn.init.constant_(broken.network.classifier[3].bias, float("inf"))
    images = torch.zeros(5, 3, 64, 64)
    with pytest.raises(FloatingPointError, match="5 of 5 images, first for image 0"):
        models.logits([model, broken], images)
    images[3, 0, 5, 5] = float("nan")
    with pytest.raises(FloatingPointError, match="1 of 5 images, first for image 3"):
        models.logits(model, images.split(2))


# Storing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder in which networks are stored during a test."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    return store.networks()


def trained(data, *, number=1, seed=0, epochs=1, **settings):
    """Train a model on toy sets, or find its training runs in files."""
    return models.trainings(
        number,
        QUARTER,
        ("low", "high"),
        lambda run: data,
        seed=seed,
        epochs=epochs,
        **settings,
    )


def stored(folder):
    """Return the bytes of the finished training runs by name."""
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


def test_all_that_decides_a_model_decides_its_name(toy, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "train", lambda *_, **__: [])
    train_set, val_set = toy
    pixel = toy_set()
    pixel.images[0, 0, 0, 0] += 1
    labels = toy_set()
    labels.labels = 1 - labels.labels
    weights = tmp_path / "w.pth"
    start = models.build(QUARTER, 2)
    torch.save(start.network.state_dict(), weights)
    data = drawn(*toy)
    cases = [
        (data, {}),
        (data, {"seed": 1}),
        (data, {"epochs": 2}),
        (data, {"tune": "last"}),
        (data, {"weights": weights}),
        (drawn(pixel, val_set), {}),
        (drawn(labels, val_set), {}),
        (drawn(train_set, train_set), {}),
    ]
    for seen, settings in cases * 2:
        trained(seen, **settings)
    assert len(stored(folder)) == len(cases)


def last_weights(model):
    """Return the weights of the last layer of AlexNet."""
    return model.network.classifier[3].weight


@pytest.fixture
def seeds(monkeypatch):
    """List the seeds of the training runs that are computed."""
    computed = []
    train = models.train

    def train_and_note(*tensors, seed, **settings):
        computed.append(seed)
        return train(*tensors, seed=seed, **settings)

    monkeypatch.setattr(models, "train", train_and_note)
    return computed


def test_three_runs_are_the_first_of_five(toy, folder, seeds):
    three = trained(drawn(*toy), number=3)
    before = stored(folder)
    five = trained(drawn(*toy), number=5)
    assert seeds == [0, 1, 2, 3, 4]
    assert len(before) == 3
    assert before.items() <= stored(folder).items()
    for first, same in zip(three, five, strict=False):
        assert first.history == same.history
        assert torch.equal(last_weights(first), last_weights(same))
    for first, second in itertools.combinations(five, 2):
        assert not torch.equal(last_weights(first), last_weights(second))
    trained(drawn(*toy), seed=3)
    assert seeds[5:] == [3000]


def test_a_damaged_file_is_named_and_made_again_alone(toy, folder, seeds):
    trained(drawn(*toy), number=2)
    damaged, whole = sorted(folder.glob("*.safetensors"))
    content = damaged.read_bytes()
    damaged.write_bytes(content[:1000])
    message = rf"{damaged.name}.*Delete that file"
    with pytest.raises(store.UnreadableArtifact, match=message):
        trained(drawn(*toy), number=2)
    damaged.unlink()
    trained(drawn(*toy), number=2)
    assert len(seeds) == 3
    assert load_file(damaged).keys() == load_file(whole).keys()


def test_a_pretrained_model_is_where_others_start(toy, folder):
    wider = toy_set(12, classes=("a", "b", "c"))
    arguments = (QUARTER, wider.classes, drawn(wider, wider))
    path, _ = models.train_once(*arguments, seed=0, epochs=1)
    pretrained = models.build(QUARTER, 3, weights=path)
    start = models.build(QUARTER, 2, weights=path)
    pretrained_layer = pretrained.network.features[0]
    first_layer = start.network.features[0]
    assert torch.equal(pretrained_layer.weight, first_layer.weight)
    [model] = trained(drawn(*toy), weights=path)
    assert model(toy[1].images).shape == (12, 2)
