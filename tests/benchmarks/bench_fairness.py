"""What bias reports cost: against other toolkits, by rows, and with their evidence.

    python tests/benchmarks/bench_fairness.py [rows for the other toolkits] [most rows]

60 intersections of three columns. Prints one line a figure; the toolkits' lines are ratios in one
run on the same rows, and are left out where a toolkit is not installed.
"""

import contextlib
import importlib.util
import io
import resource
import sys
import time
import warnings

import numpy as np
import pandas as pd

from helpers import fairness

EIGHT = ("pr", "acc", "tpr", "tnr", "fpr", "fnr", "ppv", "npv")
BLOCKS = (["pairs"], ["abs"], ["max"])


def inputs(n: int):
    draw = np.random.default_rng(0)
    columns = {"a": "abcde", "b": "wxyz", "c": "123"}
    by = pd.DataFrame({k: draw.choice(list(v), n) for k, v in columns.items()})
    label = draw.integers(0, 2, n)
    return by, (draw.random(n) < 0.3 + 0.3 * label).astype(int), label


def ours(by, prediction, label):
    """Counting and eight worst-case differences over 60 intersections."""
    data = fairness.table(by, predictions=prediction, labels=label, intersect="joint")
    return fairness.report(data, EIGHT, *BLOCKS)


def fairlearn(by, prediction, label):
    from fairlearn import metrics
    from sklearn.metrics import accuracy_score, precision_score

    of = {
        "pr": metrics.selection_rate,
        "acc": accuracy_score,
        "tpr": metrics.true_positive_rate,
        "tnr": metrics.true_negative_rate,
        "fpr": metrics.false_positive_rate,
        "fnr": metrics.false_negative_rate,
        "ppv": precision_score,
        "npv": lambda y, p: precision_score(1 - y, 1 - p),
    }
    frame = metrics.MetricFrame(metrics=of, y_true=label, y_pred=prediction, sensitive_features=by)
    return frame.difference("between_groups")


def fairbench(by, prediction, label):
    import fairbench as fb

    joined = (by["a"] + by["b"] + by["c"]).tolist()
    of = [getattr(fb.measures, name) for name in ("pr", "acc", "tpr", "tnr", "ppv")]
    groups = fb.Dimensions(fb.categories @ joined)
    return fb.reports.pairwise(
        sensitive=groups,
        predictions=prediction,
        labels=label,
        measures=of,
        reductions=[fb.reduction.maxdiff],
    )


def seconds(route, *args) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        route(*args)
    return time.perf_counter() - start


def peak() -> float:
    """Most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(compared: int = 100_000, most: int = 10_000_000) -> None:
    rows = inputs(1_000_000)
    seconds(ours, *rows)
    before = peak()
    by, prediction, label = rows
    data = fairness.table(by, predictions=prediction, labels=label, intersect="joint")
    grid = seconds(fairness.report, data)
    count = seconds(ours, *rows)
    cells = len(fairness.report(data).cells)
    print(f"n = 1e6: counting and 8 measures {count:.2f} s; the grid of {cells} cells {grid:.2f} s")
    print(f"peak memory added by counting and the grid: {peak() - before:.0f} MB")
    small = inputs(100_000)
    data = fairness.table(small[0], predictions=small[1], labels=small[2], intersect="joint")
    both = {"bootstrap": 1000, "permutations": 1000}
    taken = seconds(lambda: fairness.report(data, **both))
    print(f"n = 1e5: 1,000 bootstrap draws and 1,000 shuffles of the grid {taken:.1f} s")
    size = 100_000
    while size <= most:
        rows = inputs(size)
        chosen = {"predictions": rows[1], "labels": rows[2], "intersect": "joint"}
        taken = seconds(lambda: fairness.table(rows[0], **chosen))  # noqa: B023
        after = seconds(fairness.report, fairness.table(rows[0], **chosen))
        print(f"n = {size:>10,}: counting {taken:.3f} s, the grid after it {after:.3f} s")
        size *= 10
    rows = inputs(compared)
    mine = min(seconds(ours, *rows) for _ in range(3))
    for toolkit in (fairlearn, fairbench):
        if importlib.util.find_spec(toolkit.__name__) is None:
            print(f"{toolkit.__name__} is not installed: left out")
            continue
        theirs = seconds(toolkit, *rows)
        print(f"{toolkit.__name__} / ours at n = {compared:,}: {theirs / mine:.0f}")


if __name__ == "__main__":
    main(*(int(float(argument)) for argument in sys.argv[1:3]))
