"""Claims about explanations and methods: the paper's discussion, and what it leaves open.

Which method would have found the bias, and which raises alarms where there is none?
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import cross_evaluation, stats
from helpers.findings import Finding, judge, untested
from helpers.sources import Collection

CHECKS = "paper, Results Checks"
DISCUSSION = "paper, section 4"
SUITE = "this suite"
NOTHING_PLANTED = "nothing is known to be planted in these images"


def of_relevance(table: pd.DataFrame | None, collection: Collection) -> list[Finding]:
    """Judge what the discussion says of GradCAM alone (Figure 16).

    Parameters
    ----------
    table
        From :func:`helpers.relevance.per_class`; None without masks.
    collection
    """
    names = collection.context_of
    if table is None:
        return [untested("GradCAM alone shows only the plane's sky", DISCUSSION, "no masks")]
    found = []
    for row in table.to_dict("records"):
        label, shown = row["class"], row["class"] == "plane"
        does = "hints" if shown else "does not show"
        side = {"above": 0.0} if shown else {"below": 0.0}
        found.append(
            judge(
                f"GradCAM alone {does} that {label} is told by its {names.get(label, 'context')}",
                DISCUSSION,
                (row["excess"], row["excess_low"], row["excess_high"]),
                paper=SEEN.get(label, ""),
                unit="share of relevance on the background, beyond a uniform map",
                **side,
            )
        )
    return found


# What the paper's authors saw in Figure 16.
SEEN = {
    "plane": "an intuition: relevance above the plane",
    "bench": "impossible to see",
    "fire hydrant": "hard to quantify",
    "mug": "hard to quantify",
}


def of_methods(answers: pd.DataFrame) -> list[Finding]:
    """Judge which method finds every context that was planted; else what each method answers.

    Parameters
    ----------
    answers
        From :func:`helpers.audit.answers`, of one model.
    """
    chance = 1 / answers["context_class"].nunique()
    real = answers[answers["planted"] > chance]
    if real.empty:
        return [
            untested("Each method finds what was planted", SUITE, NOTHING_PLANTED),
            *[
                judge(
                    f"The context of {row.context_class} draws towards {row.context_class} "
                    f"({row.measure})",
                    SUITE,
                    (row.effect, row.low, row.high),
                    above=0,
                    unit=row.measure.partition(": ")[2],
                )
                for row in answers.itertuples()
            ],
        ]
    return [
        judge(
            f"{_method(measure)} the contexts that were planted, more often than not",
            SUITE,
            _said_yes(part),
            above=0.5,
            unit=f"share of {len(part)} contexts",
        )
        for measure, part in real.groupby("measure", sort=False)
    ]


def of_doses(answers: pd.DataFrame, nothing: float = 0.25) -> list[Finding]:
    """Judge false alarms, and whether a weaker bias is measured weaker (the paper's mitigation).

    Parameters
    ----------
    answers
        Of several models of one seed, told apart by bias.
    nothing
        The bias at which class and context are independent.
    """
    doses = {dose: part for dose, part in answers.groupby("bias")}
    silent = {m for m, part in answers.groupby("measure") if not (part["answer"] == "yes").any()}
    found = []
    for dose in sorted(dose for dose in doses if dose <= nothing):
        what = "contexts say nothing" if dose == nothing else "contexts are avoided"
        for measure, part in doses[dose].groupby("measure", sort=False):
            found.append(
                judge(
                    f"{_method(measure)} nothing where {what} (bias {dose:g})",
                    SUITE,
                    _said_yes(part),
                    below=0.5,
                    unit=f"share of {len(part)} contexts",
                )
            )
    found = [
        replace(f, note=f"{f.note}; but it never says yes") if _about(f, silent) else f
        for f in found
    ]
    if nothing in doses and len(doses) > 1:
        most = doses[max(doses, key=lambda dose: doses[dose]["planted"].mean())]
        found += [_tells_apart(most, doses[nothing], m) for m in most["measure"].unique()]
        found += [
            judge(
                f"Without the planted link the measured effect is smaller: {measure}",
                DISCUSSION,
                _weaker(most, doses[nothing], measure),
                above=0,
                paper="proposed, not tried",
                unit="difference in effect, mean of contexts",
            )
            for measure in most["measure"].unique()
            if not measure.startswith("GradCAM")
        ]
    return found


def _tells_apart(most: pd.DataFrame, least: pd.DataFrame, measure: str) -> Finding:
    """Whether a measure says yes more often where contexts were planted than where not."""
    parts = [table[table["measure"] == measure] for table in (most, least)]
    counts = [n for part in parts for n in (int((part["answer"] == "yes").sum()), len(part))]
    return judge(
        f"{_method(measure)} planted contexts more often than contexts that say nothing",
        SUITE,
        stats.newcombe(*counts),
        above=0,
        unit=f"difference in share of {counts[1]} contexts",
    )


def of_mitigation(predictions: pd.DataFrame, before: str, after: str) -> list[Finding]:
    """Judge whether the model without the bias does better outside its own set.

    Parameters
    ----------
    predictions
        From :func:`helpers.cross_evaluation.predictions`, of the two models on other sets.
    before, after
        Names of the biased and the unbiased model.
    """
    return [
        judge(
            f"Without the bias the model does better on {name}",
            DISCUSSION,
            cross_evaluation.contrast(predictions, {(after, name): 1, (before, name): -1}),
            above=0,
            paper="expected, not tried",
            unit="difference in accuracy",
        )
        for name in predictions["test_set"].unique()
    ]


def untestable() -> list[Finding]:
    """Claims of the paper that no run can test, each with the reason."""
    return [
        untested(
            "Segmented objects are too hard to have in practice; mosaics are straightforward",
            CHECKS,
            "a judgement of effort, not a measurement",
        ),
        untested(
            "GradCAM is trustworthy by its Focus score",
            DISCUSSION,
            "tested in notebook 06",
        ),
        untested(
            "GradCAM helps people to find biases (Utility-K)",
            DISCUSSION,
            "needs people",
        ),
        untested(
            "The method extends to other biases, such as textures",
            DISCUSSION,
            "a proposal; put images of textures into `contexts` to try",
        ),
    ]


def _said_yes(part: pd.DataFrame) -> tuple[float, float, float]:
    """Share of the answers that are yes, with Wilson's interval."""
    yes = int((part["answer"] == "yes").sum())
    return (yes / len(part), *stats.wilson(yes, len(part)))


def _weaker(most: pd.DataFrame, least: pd.DataFrame, measure: str) -> tuple[float, float, float]:
    """Mean effect over the contexts in one model minus another; independent intervals add."""
    ends = []
    for table in (most, least):
        part = table[table["measure"] == measure]
        half = np.sqrt((((part["high"] - part["low"]) / 2) ** 2).sum()) / len(part)
        ends.append((part["effect"].mean(), half))
    gap, half = ends[0][0] - ends[1][0], np.hypot(ends[0][1], ends[1][1])
    return gap, gap - half, gap + half


def _about(finding: Finding, measures: set[str]) -> bool:
    """Whether a finding is about one of these measures."""
    return any(finding.claim.startswith(_method(measure)) for measure in measures)


def _method(measure: str) -> str:
    """A measure as the subject of a claim."""
    method, _, by = measure.partition(": ")
    verb = "find" if method.endswith("s") else "finds"
    method = method if method == "GradCAM" else method.capitalize()
    return f"{method} (by {by}) {verb}"
