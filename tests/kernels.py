"""Digests of what the suite computes, on this processor and on emulated ones.

    python tests/kernels.py                      this processor against the stored digests
    python tests/kernels.py EPYC-Rome Haswell    and these, emulated by qemu-user (minutes each)
    python tests/kernels.py --write              store this processor's digests

Some of them tell, as a probe, whether this machine gives the suite's own numbers.

An emulated processor is a model of ``qemu-x86_64 -cpu help``, with qemu's options where wanted
(``Haswell,l3-cache=off``). Emulation is about 50 times slower, so every item is small; layers and
batches have the sizes of real trainings.
"""

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version

import helpers  # before numpy and torch: it pins the kernels

# ruff: isort: split
import numpy as np
import pandas as pd
import scipy
import scipy.ndimage
import torch
from PIL import Image
from torch.nn.functional import interpolate

from helpers import models, stats, store
from helpers.models import probe
from synthetic import pictures

STORED = store.root() / "data/kernel_digests.json"
ARCHITECTURES = ("alexnet-quarter", "vgg11-eighth", "resnet10-eighth")
LIBRARIES = ("torch", "torchvision", "numpy", "scipy")
MOSAICS = ("gradcam", "lrp")  # the quick methods
QEMU = "qemu-x86_64"


@cache
def trained(name: str) -> tuple:
    """A model after three batches, its history, its images and their logits."""
    model, history, images = probe.trained(name)
    return model, history, images, models.logits(model, images)


def trainings():
    """Weights, statistics and logits of each architecture."""
    for name in ARCHITECTURES:
        model, history, _, logits = trained(name)
        yield f"training {name}", [model.state_dict(), history]
        yield f"logits {name}", logits


def explanations():
    """The maps of every method for each architecture, of an image and of a mosaic."""
    from helpers import explain  # here, for the probe does without it

    for name in ARCHITECTURES:
        model, _, images, logits = trained(name)
        said = int(
            logits[0].argmax()
        )  # a class with evidence for it: its maps are not empty
        for method in explain.METHODS:
            settings = {"samples": 48, "segments": 8} if method == "lime" else {}
            maps = explain.explain(model, images[:1], said, method, **settings).maps
            yield f"{method} {name}", maps
        mosaic = images[:1].repeat(1, 1, 2, 2)
        yield (
            f"mosaic {name}",
            [explain.explain(model, mosaic, said, m).maps for m in MOSAICS],
        )


def worlds():
    """Drawn pictures, a drawn street with its detections, and pictures resized and compressed."""
    import drawn as made_up

    from helpers import icon2
    from helpers.icon2.average_precision import WHOLE, Curves

    for which in pictures.SETS:
        drawn = pictures.make(which, per_class=1)
        yield f"world {which}", [drawn.images, drawn.masks]
    photographs = [Image.fromarray(image) for image in drawn.images]
    yield "resized", [np.asarray(image.resize((65, 47))) for image in photographs]
    saved = [io.BytesIO() for _ in photographs]
    for image, file in zip(photographs, saved, strict=True):
        image.save(file, "JPEG")
    yield "JPEG", [np.asarray(Image.open(file)) for file in saved]
    drawn = icon2.Frames(*made_up.make(60))
    yield "driving world", [columns(drawn.boxes), columns(drawn.detections)]
    matches = icon2.match(drawn)
    found = [Curves(of, (), WHOLE) for of in map(matches.of, drawn.classes)]
    ones = np.ones(len(drawn.images))
    yield "matching", [matches.taken, *[each.average_precision(ones) for each in found]]


def detectors():
    """Rendered streets, and two batches of the small detector: weights, loss, detections."""
    from helpers.models import detector
    from synthetic import detector as street_detector
    from synthetic import street

    frames, things = street.scenes(8, 0)
    images, boxes = street.render(frames, street.dressed(frames, things, 0.5))
    yield "street", [images, columns(boxes)]
    network = street_detector.build(len(street.KINDS), images.shape[-2:])
    loss = street_detector.train(
        network, torch.from_numpy(images), boxes, seed=0, epochs=1
    )
    found = detector.detect(
        detector.Detector(network, dict(enumerate(street.KINDS, 1)), ""),
        torch.from_numpy(images),
    )
    yield "detector", [network.state_dict(), loss, columns(found)]


def statistics():
    """An interval, a test and a table of measures."""
    from helpers.blocks import counts, report

    rng = np.random.default_rng(0)
    groups = [rng.lognormal(size=(5, 25)) for _ in range(4)]
    found = stats.mean(groups)
    yield "interval", [*found.interval(), found.p, *stats.share(rng.random((5, 25)))]
    spread = stats.bootstrap_ci(
        groups, lambda found: np.std([g.mean() for g in found]), resamples=50
    )
    yield "bootstrap", list(spread)
    scores = rng.random(300)
    counted = counts.table(
        {"group": rng.choice(list("abc"), 300)},
        y_pred=(scores > 0.5).astype(int),
        y_true=(rng.random(300) < scores).astype(int),
        y_score=scores,
    )
    yield "report", columns(report.make(counted, bootstrap=20, permutations=20).cells)


def arrays():
    """Functions of numpy and scipy, in both precisions."""
    rng = np.random.default_rng(0)
    for kind in (np.float64, np.float32):
        x = rng.lognormal(size=(203, 37)).astype(kind)
        square = (x.T @ x).astype(kind)
        results = {
            "exp log pow": [np.exp(-x), np.log(x), x**1.7, np.expm1(x), np.log1p(x)],
            "sin tanh sqrt": [
                np.sin(x),
                np.cos(x),
                np.tanh(x),
                np.arctan2(x, 2),
                np.sqrt(x),
            ],
            "sums": [x.sum(), x.sum(0), x.sum(1), x.mean(0), x.std(0), x.cumsum(0)],
            "products": [
                square,
                x @ x[0],
                np.einsum("ij,ij->i", x, x),
                np.outer(x[0], x[1]),
            ],
            "solve": [np.linalg.solve(square, x[0]), np.linalg.inv(square)],
            "eigh": list(np.linalg.eigh(square)),
            "svd": list(np.linalg.svd(x, full_matrices=False)),
            "lstsq": list(np.linalg.lstsq(x, x[:, 0] ** 2)[:2]),
            "quantile": [
                np.quantile(x, [0.025, 0.5, 0.975], axis=0),
                np.sort(x, axis=0),
            ],
            "correlation": [np.corrcoef(x.T), np.polyfit(x[:, 0], x[:, 1], 2)],
        }
        yield from (
            (f"numpy {name} {kind.__name__}", found) for name, found in results.items()
        )
    yield (
        "numpy random",
        [rng.normal(size=99), rng.gamma(2, size=99), rng.permutation(99)],
    )
    yield "scipy linalg", [scipy.linalg.expm(square / 1e4), *scipy.linalg.qr(x[:40])]
    found = [
        scipy.special.expit(x),
        scipy.special.ndtri(x / 99),
        scipy.special.gammaln(x),
    ]
    found += [scipy.stats.t.ppf(x / 99, 24), scipy.special.logsumexp(x, axis=1)]
    yield "scipy special", found
    yield "scipy ndimage", scipy.ndimage.gaussian_filter(x, 2.0)
    yield "scipy fft", np.abs(scipy.fft.rfft(x, axis=0))


def tensors():
    """Functions of torch."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(203, 37, generator=generator)
    square = x.T @ x
    yield (
        "torch exp log pow",
        [x.exp(), x.abs().log(), x.abs() ** 1.7, x.tanh(), x.sigmoid()],
    )
    yield (
        "torch sums",
        [x.sum(), x.mean(0), x.std(1), x.cumsum(0), x.softmax(1), x.logsumexp(0)],
    )
    yield "torch products", [square, x @ x[0], torch.einsum("ij,ij->i", x, x)]
    yield (
        "torch double products",
        [square.double() @ square.double(), x.double() @ x[0].double()],
    )
    yield "torch linalg", [*torch.linalg.eigh(square), torch.linalg.solve(square, x[0])]
    yield "torch lstsq", torch.linalg.lstsq(x, x[:, :1] ** 2).solution
    yield "torch quantile", [x.quantile(0.3, dim=0), x.sort(0).values]
    picture = x[:200, :36].reshape(2, 3, 30, 40)
    for mode in ("bilinear", "bicubic", "area"):
        yield f"torch {mode}", interpolate(picture, (45, 23), mode=mode)


def columns(table: pd.DataFrame) -> dict:
    """A table's numbers by column, and its words as JSON."""
    return {
        str(name): values.to_numpy()
        if values.dtype.kind in "biuf"
        else json.dumps(values.astype(str).tolist())
        for name, values in table.reset_index().items()
    }


PROBE = (arrays, tensors, trainings)  # two seconds
EVERY = (*PROBE, explanations, statistics, worlds, detectors)


def digests(show=lambda name, digest: None, parts=EVERY) -> dict[str, str]:
    """The digest of every item, by name, each shown as soon as it is there."""
    found = {}
    for part in parts:
        for name, result in part():
            found[name] = store.key("digest", result=result).removeprefix("digest-")[
                :12
            ]
            show(name, found[name])
    return found


def own_numbers() -> bool:
    """Whether this process computes the suite's own numbers, as the probe tells."""
    return digests(parts=PROBE).items() <= json.loads(STORED.read_text()).items()


def other_versions() -> list[str]:
    """Libraries of another version than the digests are of, such as "torch 2.9.0 for 2.8.0"."""
    lock = (store.root() / "requirements.lock").read_text()
    locked = re.findall(r"^(\w+)==(\S+)", lock, re.MULTILINE)
    theirs = dict(reversed(locked))  # the first of several: those of the oldest Python
    both = [(name, version(name).split("+")[0], theirs[name]) for name in LIBRARIES]
    return [f"{name} {mine} for {its}" for name, mine, its in both if mine != its]


def why_not() -> str:
    """Why the numbers of this process, which are not the suite's own, are not: a sentence."""
    if helpers.unpinned:
        reason = helpers.unpinned
    elif others := other_versions():
        reason = f"other library versions are installed ({', '.join(others)})"
    else:
        reason = "a probe gave other last digits here, for a reason that is not known"
    return f"Numbers of this machine are not the suite's own: {reason}."


def emulated(processor: str) -> dict[str, str]:
    """The digests on an emulated processor; a RuntimeError where the emulation ends early."""
    command = [QEMU, "-cpu", processor, sys.executable, __file__, "--lines"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(
            f"{processor} ended with {run.returncode}: {run.stderr[-1500:]}"
        )
    return dict(json.loads(line) for line in run.stdout.splitlines())


def main() -> None:
    """Print the table; exit 1 where a processor's digests are not the stored ones."""
    parser = argparse.ArgumentParser(description="Digests of what the suite computes.")
    parser.add_argument(
        "processors", nargs="*", help="emulated processors, such as EPYC-Rome"
    )
    parser.add_argument(
        "--write", action="store_true", help="store this processor's digests"
    )
    parser.add_argument("--lines", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.lines:
        digests(lambda *pair: print(json.dumps(pair), flush=True))
        return
    if asked.processors and not shutil.which(QEMU):
        sys.exit(f"{QEMU} is missing: apt-get install qemu-user")
    if helpers.unpinned:
        sys.exit(f"Nothing to compare. {why_not()}")
    found = {"here": digests()}
    if asked.write:
        store.write_text(STORED, json.dumps(found["here"], indent=1) + "\n")
    stored = json.loads(STORED.read_text())
    with ThreadPoolExecutor(os.cpu_count()) as side_by_side:
        run = side_by_side.map(emulated, asked.processors)
        found.update(zip(asked.processors, run, strict=True))
    table = pd.DataFrame({"stored": stored, **found}).fillna("missing")
    table["equal"] = np.where(table.eq(table.stored, axis=0).all(axis=1), "yes", "NO")
    print(table.to_string())
    unequal = table.index[table.equal == "NO"].tolist()
    print(
        f"{len(table)} items, {len(unequal)} unequal"
        + "".join(f"\n  {n}" for n in unequal)
    )
    sys.exit(bool(unequal))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.environ.setdefault("TQDM_DISABLE", "1")
    main()
