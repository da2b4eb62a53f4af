"""What ICON2 costs beside other evaluators: processor seconds, as ratios within one run.

    python tests/benchmarks/bench_icon2.py [images] [part] [frames]

The data is a planted world (10k images, 180k boxes, 300k detections, 8 classes), drawn here. Every
route is a process of its own, one thread each, timed from boxes in memory (COCO's structures
for the other evaluators) to the last AP. The point analysis is: all images, 3 income groups, 5
attributes, and every income group within every value of the 5; IoU 0.5 to 0.95.

The other evaluators get the same subsets: lists of images for attributes of images, COCO's area
ranges for attributes of boxes (their areas replaced by the attribute's code, so that one call
serves all values). pycocotools runs on a stated part of the images, compared with ours on the same.
hotcoco and pycocotools come with the bench extra.

Frames of the street are rendered and given to an untrained detector of the same build, which costs
what a trained one does, or more: all its proposals stay.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import contextlib
import io
import multiprocessing
import os
import resource
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "icon2"))
from detection_oracles import as_coco

from helpers.icon2 import Frames, analyse, attributes, match
from helpers.models import detector
from helpers.worlds import driving
from helpers.worlds.driving import street

RESAMPLES = 100


def drawn(n_images):
    """A planted world, income and the paper's five attributes."""
    world = Frames(*driving.make(n_images))
    five = [attributes.made(world, name) for name in attributes.OF_PAPER]
    return world, attributes.from_column(world, "income"), five


def ours(n_images, resamples=0, workers=1):
    """Match once and analyse; seconds of both, from boxes in memory."""
    world, income, explanatory = drawn(n_images)
    began = clock()
    analyse(match(world), income, explanatory, resamples=resamples, workers=workers)
    return spent(began)


def theirs(evaluator, n_images):
    """The same subsets through another evaluator."""
    world, income, explanatory = drawn(n_images)
    images = [a for a in (income, *explanatory) if a.level == "image"]
    boxes = [a for a in explanatory if a.level == "box"]
    labels = [as_coco(world), *[coded(world, a) for a in boxes]]
    everything = np.ones(len(world.images), bool)
    lists = [here for a in images for here in subsets(a)]
    lists += [g & v for g in subsets(income) for a in images[1:] for v in subsets(a)]
    began = clock()
    whole, *by_box = [loaded(evaluator, *one) for one in labels]
    for here in [everything, *lists]:
        evaluated(evaluator, *whole, here, [[0, 1e10]])
    for one, attribute in zip(by_box, boxes, strict=True):
        ranges = [[c + 0.5, c + 1.5] for c in range(len(attribute.values))]
        for here in [everything, *subsets(income)]:
            evaluated(evaluator, *one, here, ranges)
    return spent(began)


def subsets(attribute):
    return [attribute.codes == c for c in range(len(attribute.values))]


def coded(world, attribute):
    """COCO's structures with the attribute's code in place of the area."""
    labels, results = as_coco(world)
    for one, code in zip(labels["annotations"], attribute.codes, strict=True):
        one["area"] = float(code + 1)
    return labels, results


def loaded(evaluator, labels, results):
    """Ground truth and detections in the evaluator's own structures."""
    if evaluator == "hotcoco":
        import hotcoco

        given = hotcoco.COCO(labels)
        return given, given.load_res(results)
    from pycocotools.coco import COCO

    with contextlib.redirect_stdout(io.StringIO()):
        given = COCO()
        given.dataset = labels
        given.createIndex()
        return given, given.loadRes(results)


def evaluated(evaluator, given, found, here, ranges):
    """Evaluate and accumulate one subset of images, for several area ranges at once."""
    if evaluator == "hotcoco":
        from hotcoco import COCOeval
    else:
        from pycocotools.cocoeval import COCOeval
    with contextlib.redirect_stdout(io.StringIO()):
        run = COCOeval(given, found, "bbox")
        run.params.imgIds = [int(i) + 1 for i in np.flatnonzero(here)]
        run.params.areaRng, run.params.areaRngLbl = ranges, [str(r) for r in ranges]
        run.params.maxDets = [100]
        run.evaluate()
        run.accumulate()
    return run


def rendered(n_frames):
    """Draw frames of the street; seconds from scenes in memory to images and boxes."""
    table, things = street.scenes(n_frames, 0)
    things = street.dressed(table, things, 0.5)
    street.render(table.iloc[:1], things.iloc[:0])  # its sprites are drawn once
    began = clock()
    street.render(table, things)
    return spent(began)


def detected(n_frames):
    """Run the detector over frames in memory."""
    table, things = street.scenes(n_frames, 0)
    images, _ = street.render(table, street.dressed(table, things, 0.5))
    network = detector.build(len(street.KINDS), images.shape[-2:]).eval()
    finder = detector.Detector(network, dict(enumerate(street.KINDS, 1)), "untrained")
    images = torch.from_numpy(images)
    detector.detect(finder, images[:2])
    began = clock()
    detector.detect(finder, images)
    return spent(began)


def clock():
    return time.process_time(), time.perf_counter()


def spent(began):
    """Processor seconds, seconds on the wall, and the process's peak memory in GiB."""
    ended = clock()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return ended[0] - began[0], ended[1] - began[1], peak


def alone(route):
    """Run a route in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(route)


def main(n_images=10_000, part=1_000, n_frames=300):
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    point = alone(partial(ours, n_images))
    print(f"{n_images} images, point analysis, ours: {point[0]:.1f} s, peak {point[2]:.2f} GiB")
    hot = alone(partial(theirs, "hotcoco", n_images))
    print(f"  hotcoco / ours: {hot[0] / point[0]:.1f} (target 1 or more)")
    small = alone(partial(ours, part))
    coco = alone(partial(theirs, "pycocotools", part))
    print(f"  pycocotools / ours on {part} images: {coco[0] / small[0]:.0f} (target 20 or more)")
    boot = alone(partial(ours, n_images, RESAMPLES, 2))
    print(
        f"{RESAMPLES} resamples of all of it, two threads: {boot[0]:.0f} processor seconds, "
        f"{boot[1]:.0f} on the wall (target 60), peak {boot[2]:.2f} GiB (target 1)"
    )
    large = alone(partial(ours, 10 * n_images))
    print(
        f"{10 * n_images} images / {n_images}, point analysis: {large[0] / point[0]:.1f} times the "
        f"seconds (target 11 or less), peak {large[2]:.1f} GiB (target 2)"
    )
    drawn_in, found_in = (alone(partial(one, n_frames))[0] for one in (rendered, detected))
    print(f"rendering: {n_frames / drawn_in:.0f} frames a second (target 100)")
    print(f"detector: {1000 * found_in / n_frames:.0f} ms an image")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
