"""fairlearn and FairBench answer as recorded; run as a script to record it in data/toolkits.

python tests/test_blocks_toolkits.py
"""

import contextlib
import functools
import io
import warnings
from importlib.metadata import version

import pandas as pd
import pytest

from helpers.blocks import paper

KEYS = [
    "example",
    "toolkit",
    "version",
    "measure",
    "set",
    "comparison",
    "reduction",
    "theirs",
]
MEASURES = ("acc", "pr", "tpr", "tnr", "ppv")
RATES = ("true_positive", "true_negative", "false_positive", "false_negative")
FAIRBENCH = {
    "min": ("pairs", "none", "min"),
    "mean": ("pairs", "none", "mean"),
    "gini": ("pairs", "none", "gini"),
    "maxdiff": ("pairs", "abs", "max"),
    "maxrel": ("pairs", "srel", "max"),
}


def fairbench(rows: pd.DataFrame) -> dict[tuple, float]:
    """FairBench's cells of one example, by our names."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        import fairbench as fb

        names = {"predictions": "y_pred", "labels": "y_true", "scores": "score"}
        columns = {
            theirs: rows[c].to_numpy() for theirs, c in names.items() if c in rows
        }
        groups = fb.Dimensions(fb.categories @ rows["group"].tolist())
        report = fb.reports.pairwise(sensitive=groups, **columns)
        if "score" in rows:
            names = {("auc", "maxdiff"): ("auc", "pairs", "abs", "max")}
            names[("auc", "maxbarea")] = ("auc", "pairs", "curve", "max")
        else:
            names = {
                (m, r): (m, *blocks)
                for m in MEASURES
                for r, blocks in FAIRBENCH.items()
            }
        return {
            ours: float(getattr(getattr(report, reduction), measure))
            for (measure, reduction), ours in names.items()
        }


def fairlearn(rows: pd.DataFrame) -> dict[tuple, float]:
    """fairlearn's cells of one example, by our names."""
    from fairlearn import metrics
    from sklearn.metrics import accuracy_score, precision_score, roc_auc_score

    column, of = "score", {"auc": roc_auc_score}
    if column not in rows:
        column, of = "y_pred", {"acc": accuracy_score, "pr": metrics.selection_rate}
        for name, rate in zip(("tpr", "tnr", "fpr", "fnr"), RATES, strict=True):
            of[name] = getattr(metrics, f"{rate}_rate")
        of["ppv"] = functools.partial(precision_score, zero_division=0)
    by = {"sensitive_features": rows["group"]}
    frame = metrics.MetricFrame(
        metrics=of, y_true=rows["y_true"], y_pred=rows[column], **by
    )
    answers = {
        ("pairs", "abs", "max"): frame.difference("between_groups"),
        ("vsany", "abs", "max"): frame.difference("to_overall"),
        ("pairs", "srel", "max"): 1 - frame.ratio("between_groups"),
        ("vsany", "srel", "max"): 1 - frame.ratio("to_overall"),
        ("pairs", "none", "min"): frame.group_min(),
        ("pairs", "none", "max"): frame.group_max(),
    }
    return {
        (m, *blocks): float(v)
        for blocks, cells in answers.items()
        for m, v in cells.items()
    }


def ask() -> pd.DataFrame:
    """Answers of both toolkits on all examples."""
    cells = []
    examples = {
        name: rows for name, rows in paper.tables().items() if name != "equal areas"
    }
    for name, rows in examples.items():
        for toolkit, of in (("fairlearn", fairlearn), ("fairbench", fairbench)):
            for cell, value in of(rows).items():
                cells.append([name, toolkit, version(toolkit), *cell, value])
    return pd.DataFrame(cells, columns=KEYS)


def test_the_installed_toolkits_answer_as_recorded():
    for name in ("fairlearn", "fairbench"):
        pytest.importorskip(
            name, reason=f"{name} is not installed; recorded answers are used"
        )
    recorded, today = (
        pd.read_csv(paper.FOLDER / "blocks_answers.csv"),
        ask(),
    )
    versions = [
        set(zip(of["toolkit"], of["version"], strict=True)) for of in (recorded, today)
    ]
    if versions[0] != versions[1]:
        pytest.skip("other versions of the toolkits are installed than those recorded")
    pd.testing.assert_frame_equal(today, recorded, check_dtype=False)


if __name__ == "__main__":
    ask().to_csv(paper.FOLDER / "blocks_answers.csv", index=False)
