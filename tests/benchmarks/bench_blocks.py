"""What bias reports cost: against other toolkits, by rows, and with their evidence.

    python tests/benchmarks/bench_blocks.py [rows for the other toolkits] [most rows]
    python tests/benchmarks/bench_blocks.py shards [rows]

60 intersections of three columns. Prints one line a figure; the toolkits' lines are ratios in one
run on the same rows, and are left out where a toolkit is not installed. FairBench is asked twice:
for its own intersections of the three columns, and, at ten times the rows, about one column in
which they are joined by hand, which it does in a fraction of the time. The second form writes ten
Parquet shards, counts them (`tally.of_file`), and asks DuckDB alone for the same GROUP BY; each in
a process of its own, of which the most memory is printed.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import contextlib
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd

from helpers.blocks import counts, report

EIGHT = ("pr", "acc", "tpr", "tnr", "fpr", "fnr", "ppv", "npv")
BLOCKS = (["pairs"], ["abs"], ["max"])
PLAIN = {"bootstrap": 0, "permutations": 0}


def inputs(n: int):
    draw = np.random.default_rng(0)
    columns = {"a": "abcde", "b": "wxyz", "c": "123"}
    by = pd.DataFrame({k: draw.choice(list(v), n) for k, v in columns.items()})
    label = draw.integers(0, 2, n)
    return by, (draw.random(n) < 0.3 + 0.3 * label).astype(int), label


def ours(by, prediction, label):
    """Counting and eight worst-case differences over 60 intersections."""
    data = counts.table(by, y_pred=prediction, y_true=label, intersect="joint")
    return report.make(data, EIGHT, *BLOCKS, **PLAIN)


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
    """Eight of its measures over its own intersections of the columns."""
    return _fairbench([by[name].tolist() for name in by], prediction, label)


def fairbench_joined(by, prediction, label):
    """The same over one column in which the values are joined by hand: 60 groups."""
    joined = (by["a"].astype(str) + by["b"].astype(str) + by["c"].astype(str)).tolist()
    return _fairbench([joined], prediction, label)


def _fairbench(columns, prediction, label):
    import fairbench as fb

    names = ("pr", "acc", "tpr", "tnr", "ppv", "f1", "tar", "trr")
    of = [getattr(fb.measures, name) for name in names]
    groups = fb.Dimensions(*(fb.categories @ column for column in columns))
    groups = groups.intersectional() if len(columns) > 1 else groups
    return fb.reports.pairwise(predictions=prediction, labels=label, sensitive=groups, measures=of)


def seconds(route, *args) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        route(*args)
    return time.perf_counter() - start


def shards(rows: int) -> None:
    """Counting Parquet shards: seconds and memory, beside the same GROUP BY in DuckDB alone."""
    with tempfile.TemporaryDirectory() as folder:
        by, prediction, label = inputs(rows // 10)
        by = by.astype("category").assign(y_pred=prediction, y_true=label)
        by.to_parquet(f"{folder}/0.parquet")
        for shard in range(1, 10):  # ten equal shards are as much to read as ten others
            shutil.copy(f"{folder}/0.parquet", f"{folder}/{shard}.parquet")
        columns = "a, b, c, y_true, y_pred"
        alone = f"SELECT {columns}, count(*) FROM '{folder}/*.parquet' GROUP BY {columns}"
        given = "sensitive_features=['a', 'b', 'c']"
        parts = {
            "DuckDB alone": f"import duckdb; run = lambda: duckdb.sql({alone!r}).fetchall()",
            "tally": "from helpers.blocks import tally; "
            f"run = lambda: print(len(tally.of_file({folder!r}, {given})))",
        }
        for name, code in parts.items():
            timed = (
                "import resource, time; start = time.perf_counter(); run(); "
                "print(f'{time.perf_counter() - start:.2f} s,', "
                "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, 'MB at most')"
            )
            told = subprocess.run(
                [sys.executable, "-c", f"{code}\n{timed}"],
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"{rows:,} rows in 10 shards, {name}: {told.stdout.split(chr(10))[-2]}")


def main(compared: int = 100_000, most: int = 10_000_000) -> None:
    small = inputs(100_000)
    data = counts.table(small[0], y_pred=small[1], y_true=small[2], intersect="joint")
    both = {"bootstrap": 1000, "permutations": 1000}
    taken = seconds(lambda: report.make(data, **both))
    print(f"n = 1e5: 1,000 bootstrap draws and 1,000 shuffles of the grid {taken:.1f} s")
    for size in [size for size in (100_000, 1_000_000, 10_000_000) if size <= most]:
        by, *columns = inputs(size)
        chosen = dict(zip(("y_pred", "y_true"), columns, strict=True)) | {"intersect": "joint"}
        counted = [counts.table(by, **chosen)]  # once before, to be warm
        taken = seconds(lambda: counted.append(counts.table(by, **chosen)))  # noqa: B023
        after = seconds(lambda: report.make(counted[0], **PLAIN))  # noqa: B023
        print(f"n = {size:>10,}: counting {taken:.3f} s, the grid after it {after:.3f} s")
    for toolkit, module, size in (
        (fairlearn, "fairlearn", compared),
        (fairbench, "fairbench", compared),
        (fairbench_joined, "fairbench", 10 * compared),
    ):
        against(toolkit, module, size)


def against(toolkit, module: str, size: int) -> None:
    """Print how many times as long a toolkit takes as counting and eight measures here."""
    if importlib.util.find_spec(module) is None:
        print(f"{module} is not installed: left out")
        return
    by, *columns = inputs(size)
    for kind, groups in {"text": by, "categories": by.astype("category")}.items():
        mine = min(seconds(ours, groups, *columns) for _ in range(5))
        ratio = seconds(toolkit, groups, *columns) / mine
        print(f"{toolkit.__name__} / ours, n = {size:,}, columns of {kind}: {ratio:.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["shards"]:
        shards(int(float((sys.argv[2:] or ["1e8"])[0])))
    else:
        main(*(int(float(argument)) for argument in sys.argv[1:3]))
