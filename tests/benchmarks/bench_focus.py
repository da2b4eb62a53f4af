"""What rating by Focus costs, as ratios within one process, one thread.

    python tests/benchmarks/bench_focus.py [rounds]

Prints one line a ratio, and the growth of peak memory over 10,000 mosaics. The routes alternate and
the median over the rounds counts. Times are of the processor, so that neighbours disturb less.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import resource
import statistics
import sys
import time
import warnings

import numpy as np
import pandas as pd
import torch
from captum.attr import IntegratedGradients
from sklearn.linear_model import Ridge

from helpers import explain, focus, models
from helpers.data import ImageSet
from helpers.explain import layers, maps
from helpers.explain.maps import superpixels
from helpers.focus import rating
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe

CLASSES = ("a", "b", "c", "d")
BATCH = rating.AT_A_TIME


def made(count: int, size: int = 96):
    """A network and noise images: their content costs nothing and decides nothing."""
    draw = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (100, 3, size, size), dtype=torch.uint8, generator=draw)
    table = pd.DataFrame({"class": np.repeat(CLASSES, 25)})
    model = models.build("alexnet-quarter", 4).eval()
    return model, images, focus.design(table, CLASSES, per_class=count // 4)


def gradcam(model, images, targets):
    """A function, so that its scores are not kept."""
    return maps.gradcam(model, images, targets, layer="features")


def rate(network, images, table) -> None:
    labels, shown = np.repeat(range(4), 25), pd.DataFrame({"class": np.repeat(CLASSES, 25)})
    model = Model(Recipe(), "C", [network], {name: i for i, name in enumerate(CLASSES)})
    focus.rate(model, ImageSet("C", images, torch.tensor(labels), CLASSES, shown), table, gradcam)


def seconds(route, *args) -> float:
    start = time.process_time()
    route(*args)
    return time.process_time() - start


def medians(routes: dict, rounds: int) -> dict[str, float]:
    """Median seconds of each route, alternating."""
    for route in routes.values():
        route()
    found = {name: [] for name in routes}
    for _ in range(rounds):
        for name, route in routes.items():
            found[name].append(seconds(route))
    return {name: statistics.median(times) for name, times in found.items()}


def gradcam_against_bare(rounds: int) -> None:
    model, images, table = made(400)
    layer = layers.named(model, "features")
    targets = torch.tensor([CLASSES.index(name) for name in table["target"]])

    def bare():
        kept = []
        hook = layer.register_forward_hook(lambda _, __, out: kept.append(out))
        stream = focus.batches(table, images, batch_size=BATCH)
        for batch, wanted in zip(stream, targets.split(BATCH), strict=True):
            logits = model((batch.float() / 255).requires_grad_())
            torch.autograd.grad(logits.gather(1, wanted[:, None]).sum(), kept.pop())
        hook.remove()

    def rated():
        rate(model, images, table)

    times = medians({"bare": bare, "rated": rated}, rounds)
    ratio = times["rated"] / times["bare"]
    print(f"GradCAM's Focus of 400 mosaics over forward and backward to its layer: {ratio:.2f}")


def against_one_at_a_time(rounds: int) -> None:
    """SmoothGrad, IG and LIME over the same library, one image (and one sample) at a time."""
    model, images, table = made(32)
    [mosaics] = focus.batches(table, images, "squeezed", batch_size=99)
    mosaics = mosaics.float() / 255
    targets = torch.tensor([CLASSES.index(name) for name in table["target"]])
    for name, slow, settings in (
        ("smoothgrad", smoothgrad_alone, {"samples": 10}),
        ("integrated-gradients", ig_alone, {"steps": 16}),
        ("lime", lime_alone, {"segments": 8, "samples": 64}),
    ):
        maps = {}

        def fast(name=name, settings=settings, maps=maps):
            found = explain.explain(model, mosaics, targets, name, batch_size=BATCH, **settings)
            maps["fast"] = found.maps

        def alone(slow=slow, maps=maps):
            parts = [slow(model, m[None], t[None]) for m, t in zip(mosaics, targets, strict=True)]
            maps["alone"] = torch.cat(parts)

        times = medians({"fast": fast, "alone": alone}, rounds)
        top = maps["alone"].abs().amax()
        gap = float((maps["fast"] - maps["alone"]).abs().amax() / top)
        ratio = times["alone"] / times["fast"]
        print(
            f"{name}: {ratio:.1f} times one at a time; maps equal within {gap:.0e} of the largest"
        )


def smoothgrad_alone(model, image, target):
    """captum's Saliency of one noisy copy at a time, signed, averaged."""
    from captum.attr import Saliency

    draw = torch.Generator().manual_seed(0)
    noise = torch.randn((10, *image.shape[1:]), generator=draw)
    spread, method = 0.15 * (image.amax() - image.amin()), Saliency(model)
    total = sum(
        method.attribute(image + spread * one[None], target=target, abs=False) for one in noise
    )
    return (total / 10).sum(1)


def ig_alone(model, image, target):
    """captum's Integrated Gradients, one step at a time."""
    baseline = torch.zeros_like(image) + model.mean
    method = IntegratedGradients(model)
    found = method.attribute(image, baseline, target=target, n_steps=16, internal_batch_size=1)
    return found.sum(1).detach()


@torch.no_grad()
def lime_alone(model, image, target):
    """captum's Lime on one image, one sample at a time, with scikit-learn's ridge."""
    from captum.attr import LimeBase

    places = superpixels(8, image)
    count = int(places.max()) + 1
    draw = torch.Generator().manual_seed(0)
    rows = torch.cat(
        [torch.ones(1, count), (torch.rand((64, count), generator=draw) < 0.5).float()]
    )
    taken = iter(rows)
    colour = image.mean((2, 3), keepdim=True)

    def similarity(whole, other, shown, **_):
        distance = 1 - (shown.sum() / count).sqrt()
        return torch.exp(-(distance**2) / 0.25**2).sqrt()

    lime = LimeBase(
        model,
        RidgeModel(),
        similarity,
        lambda whole, **_: next(taken)[None],
        True,
        lambda shown, whole, **_: torch.where(shown[0].bool()[places], whole, colour),
        lambda other, whole, **_: other,
    )
    found = lime.attribute(image, target=target, n_samples=65)[0]
    area = torch.bincount(places.flatten(), minlength=count)
    return (found / area)[places][None]


class RidgeModel:
    """captum's interface over scikit-learn's ridge."""

    def fit(self, data, **_):
        x, y, weight = (torch.cat(part).double().numpy() for part in zip(*data, strict=True))
        self.coefficients = Ridge(alpha=1.0).fit(x, y, weight).coef_
        return {}

    def representation(self):
        return torch.from_numpy(self.coefficients).float()[None]


def scoring(rounds: int, count: int = 10_000) -> None:
    draw = torch.Generator().manual_seed(0)
    maps = torch.randn(500, 224, 224, generator=draw).repeat(count // 500, 1, 1)
    layouts = torch.tensor([[True, False], [False, True]]).expand(count, 2, 2)
    arrays, places = maps.numpy(), layouts.numpy()

    def loop_by_mask():
        """As one writes it: the positive pixels of the map and of each target cell."""
        found = []
        for relevance, layout in zip(maps, layouts, strict=True):
            inside = sum(
                cell[cell > 0].sum()
                for row, line in enumerate(relevance.chunk(2, 0))
                for col, cell in enumerate(line.chunk(2, 1))
                if layout[row, col]
            )
            found.append(inside / relevance[relevance > 0].sum())
        return torch.stack(found)

    def loop_by_slices():
        """As tight as a loop over maps gets: one clip, four slices."""
        found = []
        for relevance, layout in zip(arrays, places, strict=True):
            positive = np.maximum(relevance, 0)
            sums = np.array([[positive[r, c].sum() for c in (LEFT, RIGHT)] for r in (LEFT, RIGHT)])
            found.append(sums[layout].sum() / sums.sum())
        return found

    routes = {
        "fast": lambda: focus.score(maps, layouts),
        "mask": loop_by_mask,
        "slices": loop_by_slices,
    }
    times = medians(routes, max(1, rounds // 3))
    for name, said in (("mask", "boolean masks"), ("slices", "clipped slices")):
        ratio = times[name] / times["fast"]
        print(f"scoring {count} maps of 224 x 224: {ratio:.1f} times a loop over maps ({said})")


LEFT, RIGHT = slice(0, 112), slice(112, 224)


def memory() -> None:
    """Peak memory after 400 mosaics, and after 10,000."""
    model, images, table = made(400)
    rate(model, images, table)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    model, images, table = made(10_000)
    rate(model, images, table)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory: {before:.0f} MB after 400 mosaics, {after - before:+.0f} MB after 10,000")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # captum's
    memory()
    gradcam_against_bare(number)
    against_one_at_a_time(max(1, number // 2))
    scoring(number)
