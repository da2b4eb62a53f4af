"""What the suite's work costs beside the same work done otherwise: a table, as ratios in one run.

    make bench                    all of it
    make bench ONLY=focus         a part; `python tests/benchmarks/bench.py focus icon2` runs two

A part yields rows: what is done, the goal, our way and another. Both take turns on one thread;
printed is how many times as fast ours is by processor seconds, the median of five rounds or of as
many as take a minute; where there is no other way, seconds and the most memory of a process of its
own. Inputs are noise or drawn worlds. `waits` says how long each lesson lets its reader wait, by
the wall: without stored networks and with them, in all, until a first figure, in its slowest cell.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import contextlib
import io
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import duckdb
import hotcoco
import nbformat
import numpy as np
import pandas as pd
import torch
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "icon2"))
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
import drawn as made_up
import loans
from detection_oracles import as_coco, scene

from helpers import explain, focus, icon2, models
from helpers.audit import model as audit_model
from helpers.audit import planting
from helpers.audit.table_counts import count_table
from helpers.blocks import counts, report
from helpers.contexts import mosaics
from helpers.data import ImageSet
from helpers.explain import layers
from helpers.focus import rating
from helpers.focus.networks import Model
from helpers.icon2 import attributes, brought, detector_audit
from helpers.models.recipe import Recipe
from helpers.suite import notebooks
from synthetic import pictures, street

Rows = Iterator[tuple[str, str, Callable | None, Callable | str | None]]
CLASSES = pictures.CLASSES
ROUNDS, MINUTE = 5, 60
EIGHT = "pr", "acc", "tpr", "tnr", "fpr", "fnr", "ppv", "npv"
PLAIN = {"bootstrap": 0, "permutations": 0}
COLUMNS = ("a", "abcde"), ("b", "wxyz"), ("c", "123")  # of 60 intersections


def noise(*shape: int) -> torch.Tensor:
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=seeded())


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def network(architecture: str = "alexnet-quarter") -> torch.nn.Module:
    return models.build(architecture, len(CLASSES)).eval()


def training() -> Rows:
    """400 images of 96 px, validated on 100 after each of 4 epochs."""
    images, labels = noise(500, 3, 96, 96), torch.arange(500) % 4
    data = images[:400], labels[:400], images[400:], labels[400:]
    ours = lambda: models.train(network(), *data, seed=0, epochs=4)  # noqa: E731
    yield "train, beside a loop by hand", "0.95", ours, partial(by_hand, *data)


def by_hand(images, labels, val_images, val_labels) -> None:
    """The least that does it: no checks, no history, no best epoch, no early end."""
    model, generator = network(), seeded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for _ in range(4):
        model.train()
        for batch in torch.randperm(len(labels), generator=generator).tensor_split(13):
            optimizer.zero_grad()
            inputs = models.augment(images[batch], generator)
            cross_entropy(model(inputs), labels[batch]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for batch, answers in zip(
                val_images.split(64), val_labels.split(64), strict=True
            ):
                (model(batch).argmax(1) == answers).sum()


def scored(model, batches) -> torch.Tensor:
    """The forward passes, of what is there already or is built on the way."""
    with torch.inference_mode():
        return torch.cat([model(batch) for batch in batches])


def mosaic() -> Rows:
    """1500 mosaics, resized and built while they are scored, or there already."""
    model, objects = network(), noise(100, 3, 96, 96)
    contexts = dict.fromkeys(CLASSES, noise(50, 3, 96, 96))
    design = mosaics.design(torch.arange(4).repeat_interleave(25), contexts, CLASSES)
    ready = mosaics.build(design, objects, contexts).split(mosaics.BATCH)
    ours = lambda: scored(model, mosaics.batches(design, objects, contexts))  # noqa: E731
    yield "beside bare forward passes", "0.87", ours, partial(scored, model, ready)


def focused() -> Rows:
    """Rating mosaics, beside the least that it needs."""
    ours = rated(400)
    model, images, table = ours.args[0].trainings[0], ours.args[1].images, ours.args[2]
    layer = layers.named(model, "features")
    targets = torch.tensor([CLASSES.index(name) for name in table["target"]])

    def bare():
        kept = []
        hook = layer.register_forward_hook(lambda _, __, out: kept.append(out))
        stream = focus.batches(table, images, batch_size=rating.AT_A_TIME)
        for batch, wanted in zip(stream, targets.split(rating.AT_A_TIME), strict=True):
            logits = model((batch.float() / 255).requires_grad_())
            torch.autograd.grad(logits.gather(1, wanted[:, None]).sum(), kept.pop())
        hook.remove()

    yield "GradCAM, beside forward and backward to its layer", "0.8", ours, bare
    yield "400 mosaics rated", "", partial(rated, 400), None
    yield "10,000 mosaics rated", "memory as of 400", partial(rated, 10_000), None


def gradcam(model, images, targets):
    """A function, so that its scores are not kept."""
    return explain.gradcam(model, images, targets, layer="features")


def rated(mosaics: int) -> partial:
    shown, images = (
        pd.DataFrame({"class": np.repeat(CLASSES, 25)}),
        noise(100, 3, 96, 96),
    )
    model = Model(
        Recipe(), "C", [network()], {name: i for i, name in enumerate(CLASSES)}
    )
    images = ImageSet(
        "C", images, torch.arange(4).repeat_interleave(25), CLASSES, shown
    )
    design = focus.design(shown, CLASSES, per_class=mosaics // 4)
    return partial(focus.rate, model, images, design, gradcam)


def detected() -> Rows:
    """3 income groups, 5 attributes and all their pairs, IoU 0.5 to 0.95; 18 boxes an image.

    hotcoco gets the same subsets: lists of images, and for attributes of boxes COCO's area
    ranges, of areas that are the attribute's code, so that one call serves all values.
    """
    yield (
        "10,000 images analysed, beside hotcoco",
        "1",
        analysed(10_000),
        evaluated(10_000),
    )
    yield "10,000 images", "", partial(analysed, 10_000), None
    yield "100,000 images", "11 times that, 2 GiB", partial(analysed, 100_000), None
    text = "10,000 images, 100 resamples, two threads"
    yield text, "60 s on the wall, 1 GiB", partial(analysed, 10_000, 100, 2), None
    yield "300 frames rendered", "3 s", partial(frames, 300), None


def audits() -> Rows:
    """The audit of a detector, from COCO's files to what its page says, but for the drawing."""
    with tempfile.TemporaryDirectory() as folder:
        write_coco(Path(folder), images=5_000, classes=80)
        ours = partial(partial, audited, folder)
        yield (
            "5,000 images of 80 classes, from COCO's files",
            "60 s on the wall",
            ours,
            None,
        )


def bench_audit() -> Rows:
    """The audit of a model: seconds by photographs, which are linear, and by heads of a reader's,
    of which a second one costs its judgement only, for what the network's body saw is kept."""
    network = models.build("squeezenet1_0", 4).eval()
    for many in (32, 64, 128):
        here = mock.patch.dict(os.environ)
        with tempfile.TemporaryDirectory() as folder, here:
            os.environ["SUITE_OUTPUTS"], images = folder, noise(many, 3, 224, 224)
            spent = seconds(
                lambda images=images: audit_model.passes(network, images, "")
            )
        told = f"{spent:.1f} s, {1000 * spent / many:.0f} ms each"
        yield (
            f"{many} photographs of 224 px through SqueezeNet",
            "as many ms each",
            None,
            told,
        )
    rng, everyone = np.random.default_rng(0), np.arange(160)
    y, x = everyone % 4, rng.normal(size=(160, 4, 512))
    suspects = planting.Contexts(y, x[:, :, None], x, rng.normal(size=(4, 10, 512)))
    how, kept = (suspects, planting.Linear(y, x[:, 0])), []
    spent = seconds(lambda: kept.append(planting.calibrate(*how)))
    yield "calibration, 4 classes by 4 contexts", "15 s", None, f"{spent:.1f} s"
    [of], weights = kept, rng.normal(size=(512, 4))
    score = lambda: suspects.score(lambda f: f @ weights, everyone)  # noqa: E731
    judged = lambda: planting.named(planting.chance(of, of.z(score())))  # noqa: E731
    for heads in (1, 10, 100):
        spent = f"{seconds(lambda heads=heads: [judged() for _ in range(heads)]):.2f} s"
        yield f"{heads} more heads of a reader's, judged", "seconds", None, spent


def write_coco(folder: Path, images: int, classes: int) -> None:
    """COCO's labels, 7 boxes an image, half of them found once or more, and 30 false detections."""
    rng, world = np.random.default_rng(0), scene(0, images, classes, boxes=7)
    false = world.detections.sample(30 * images, replace=True, random_state=0)
    false = false.assign(
        image=rng.integers(images, size=len(false)), score=rng.random(len(false))
    )
    every = pd.concat([world.detections, false], ignore_index=True)
    labels, results = as_coco(replace(world, detections=every))
    about = {
        "light": ["day", "dim", "dusk"],
        "site": list("ABCD"),
        "camera": ["x", "y"],
    }
    for image in labels["images"]:
        image |= {name: str(rng.choice(values)) for name, values in about.items()}
    for name, content in {"labels": labels, "found": results}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def audited(folder: str) -> None:
    world = brought.brought(f"{folder}/labels.json", f"{folder}/found.json")
    matches, few = icon2.match(world), detector_audit.HOW.min_boxes
    detector_audit.like_coco(world)
    compared, _ = detector_audit.comparable(world, None, few)
    names = detector_audit.most(matches, None, few)
    classes = [matches.of(name) for name in names]
    how = {"options": detector_audit.HOW, "resamples": 60}
    for one in compared:
        icon2.analyse(matches, one, [], classes=names, **how)
    chance = detector_audit.deals(
        compared, matches.boxes, np.arange(matches.n_images), 0
    )
    null = detector_audit.by_chance(classes, chance, 999)
    detector_audit.named(
        classes, names, compared, null, chance, (0.02, 0.05, 0.1, 0.2, 0.3), 20
    )
    others = compared[1:] + brought.explaining(world, detector_audit.BOUNDS)
    detector_audit.explained(matches, compared[0], names[0], others, **how)


def drawn(images: int):
    """A planted world, income and the paper's five attributes."""
    world = icon2.Frames(*made_up.make(images))
    five = [attributes.made(world, name) for name in attributes.OF_PAPER]
    return world, attributes.from_column(world, "income"), five


def analysed(images: int, resamples: int = 0, workers: int = 1) -> Callable:
    world, *given = drawn(images)
    options = {"resamples": resamples, "workers": workers}
    return lambda: icon2.analyse(icon2.match(world), *given, **options)


def evaluated(images: int) -> Callable:
    """The same subsets through hotcoco, from COCO's structures."""

    def subsets(attribute):
        return [attribute.codes == code for code in range(len(attribute.values))]

    world, income, explanatory = drawn(images)
    by_image = [a for a in (income, *explanatory) if a.level == "image"]
    by_box = [a for a in explanatory if a.level == "box"]
    labels = [as_coco(world) for _ in range(1 + len(by_box))]
    for (truth, _), attribute in zip(labels[1:], by_box, strict=True):
        for one, code in zip(truth["annotations"], attribute.codes, strict=True):
            one["area"] = float(code + 1)
    lists = [here for a in by_image for here in subsets(a)]
    lists += [g & v for g in subsets(income) for a in by_image[1:] for v in subsets(a)]
    everything = np.ones(images, bool)

    def run():
        whole, *coded = [
            (truth := hotcoco.COCO(a), truth.loadRes(b)) for a, b in labels
        ]
        asked = [(*whole, here, [[0, 1e10]]) for here in [everything, *lists]]
        for one, attribute in zip(coded, by_box, strict=True):
            ranges = [[c + 0.5, c + 1.5] for c in range(len(attribute.values))]
            asked += [(*one, here, ranges) for here in [everything, *subsets(income)]]
        for truth, results, here, ranges in asked:
            run = hotcoco.COCOeval(truth, results, "bbox")
            run.params.imgIds = [int(i) + 1 for i in np.flatnonzero(here)]
            run.params.areaRng, run.params.areaRngLbl = ranges, [str(r) for r in ranges]
            run.params.maxDets = [100]
            run.evaluate()
            run.accumulate()

    return run


def frames(count: int) -> Callable:
    """Frames of the street, drawn."""
    table, things = street.scenes(count, 0)
    things = street.dressed(table, things, 0.5)
    street.render(table.iloc[:1], things.iloc[:0])  # its sprites are drawn once
    return lambda: street.render(table, things)


def blocks() -> Rows:
    """60 intersections of three columns, beside fairlearn."""
    for rows in (100_000, 1_000_000):
        by, *columns = people(rows)
        for kind, groups in {"text": by, "categories": by.astype("category")}.items():
            goal = "100" if kind == "categories" and rows == 1_000_000 else ""
            text = f"eight gaps of {rows:,} rows, columns of {kind}, beside fairlearn"
            yield (
                text,
                goal,
                partial(eight, groups, *columns),
                partial(fairlearn, groups, *columns),
            )


LABELS = {"y_true": "y_true", "y_pred": "y_pred"}


def shards() -> Rows:
    """A Parquet file counted, beside the same GROUP BY in DuckDB alone; ONLY=shards."""
    with tempfile.TemporaryDirectory() as folder:
        for rows in (10_000_000, 100_000_000):
            path = f"{folder}/{rows}.parquet"
            draw = "substr('{}', 1 + (hash(i + {}) % {})::INT, 1)".format
            by = ", ".join(
                f"{draw(of, n, len(of))} {n_}" for n, (n_, of) in enumerate(COLUMNS)
            )
            labels = "(hash(i + 7) % 2)::TINYINT y_true, (hash(i + 8) % 10 < 4)::TINYINT y_pred"
            made = f"SELECT {by}, {labels} FROM range({rows}) t(i)"
            duckdb.execute(f"COPY ({made}) TO '{path}' (FORMAT parquet)")
            ours = partial(count_table, path, LABELS, ["a", "b", "c"])
            columns = "a, b, c, y_true, y_pred"
            query = f"SELECT {columns}, count(*) FROM '{path}' GROUP BY {columns}"
            theirs = lambda query=query: duckdb.execute(query).fetchall()  # noqa: E731
            yield (
                f"{rows:,} rows counted, beside DuckDB's bare count",
                "0.83",
                ours,
                theirs,
            )


def pages() -> Rows:
    """A table of 10,000 rows, from the command to its page: seconds on the wall (goal: 20)."""
    with tempfile.TemporaryDirectory() as folder:
        loans.loans(10_000).to_csv(f"{folder}/loans.csv", index=False)
        told = f"helpers.audit.command audit --table {folder}/loans.csv --map y_true=repaid"
        told += " --positive decision=approve,repaid=yes --sensitive sex,age"
        command = [sys.executable, "-m", *told.split()]
        here = {
            "env": os.environ | {"SUITE_OUTPUTS": folder},
            "cwd": Path(__file__).parents[2],
        }
        ours = partial(
            partial, subprocess.run, command, check=True, capture_output=True, **here
        )
        yield "a page of 10,000 rows", "20 s", ours, None


def people(rows: int):
    draw = np.random.default_rng(0)
    by = pd.DataFrame({name: draw.choice(list(of), rows) for name, of in COLUMNS})
    label = draw.integers(0, 2, rows)
    return by, (draw.random(rows) < 0.3 + 0.3 * label).astype(int), label


def counted(by, y_pred, y_true):
    return counts.table(by, y_pred=y_pred, y_true=y_true, intersect="joint")


def eight(*given):
    """Counting and eight worst-case differences."""
    return report.make(counted(*given), EIGHT, ["pairs"], ["abs"], ["max"], **PLAIN)


def fairlearn(by, prediction, label):
    from fairlearn import metrics
    from sklearn.metrics import accuracy_score, precision_score

    of = {"pr": metrics.selection_rate, "acc": accuracy_score, "ppv": precision_score}
    rates = "true_positive", "true_negative", "false_positive", "false_negative"
    of |= {name: getattr(metrics, f"{name}_rate") for name in rates}
    of["npv"] = lambda y, p: precision_score(1 - y, 1 - p)
    frame = metrics.MetricFrame(
        metrics=of, y_true=label, y_pred=prediction, sensitive_features=by
    )
    return frame.difference("between_groups")


def waits() -> Rows:
    """Each lesson as a reader runs it; the first time with an empty store of its own."""
    goals = {"without stored networks": "120 s, 60 s", "with them": "30 s, -, 10 s"}
    with tempfile.TemporaryDirectory() as folder:
        for notebook in notebooks.lessons():
            for kind, goal in goals.items():
                yield (
                    f"{notebook.stem}, {kind}",
                    goal,
                    None,
                    waited(notebook, Path(folder)),
                )


def waited(notebook: Path, folder: Path) -> str:
    """In all, first figure and slowest cell, in seconds, by what papermill notes of each cell."""
    out = folder / notebook.name
    command = [
        sys.executable,
        "-m",
        "papermill",
        "--no-progress-bar",
        "--log-level",
        "ERROR",
    ]
    new = {"SUITE_OUTPUTS": str(folder / notebook.stem), "TQDM_DISABLE": "1"}
    subprocess.run([*command, notebook, out], env=os.environ | new, check=True)
    done = nbformat.read(out, 4)
    cells = [cell for cell in done.cells if cell.cell_type == "code"]
    spent = [cell.metadata.papermill.duration or 0 for cell in cells]
    figures = ["data:image/png" in str(cell.outputs) for cell in cells]
    first = f"{sum(spent[: figures.index(True) + 1]):.0f}" if any(figures) else "-"
    return f"{done.metadata.papermill.duration:.0f} s, {first} s, {max(spent):.0f} s"


PARTS = {"training": training, "mosaics": mosaic, "focus": focused}
PARTS |= {
    "audit": audits,
    "icon2": detected,
    "blocks": blocks,
    "shards": shards,
    "pages": pages,
}
PARTS |= {"waits": waits, "audit-model": bench_audit}


def seconds(route: Callable) -> float:
    start = time.process_time()  # so that neighbours disturb less
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        route()
    return time.process_time() - start


def ratio(ours: Callable, theirs: Callable) -> str:
    """How many times as fast ours is: the two take turns."""
    seconds(ours)  # to be warm
    began, found = time.perf_counter(), []
    while len(found) < ROUNDS and (not found or time.perf_counter() - began < MINUTE):
        mine = seconds(ours)
        found.append(seconds(theirs) / mine)
    return f"{statistics.median(found):.2f} times as fast"


def cost(prepare: Callable) -> str:
    """Seconds and memory of what is prepared, in this process."""
    torch.set_num_threads(1)
    route, loaded, start = prepare(), memory(), time.perf_counter()
    spent, wall = seconds(route), time.perf_counter() - start
    most = f"{memory():.2f} GiB at most, {memory() - loaded:.2f} more than its inputs"
    return f"{spent:.2f} s, {wall:.2f} s on the wall, {most}"


def memory() -> float:
    """The most that this process held, GiB; ru_maxrss would count its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 2**20


def main(parts: list[str]) -> None:
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    torch.set_num_threads(1)
    for part in parts or PARTS:
        for text, goal, ours, theirs in PARTS[part]():
            if isinstance(theirs, str):  # measured already
                said = theirs
            elif theirs:
                said = ratio(ours, theirs)
            else:
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    said = pool.apply(cost, [ours])
            print(
                f"{part}: {text}: {said}" + f" (goal: {goal})" * bool(goal), flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:])
