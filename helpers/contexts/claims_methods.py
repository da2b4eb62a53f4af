"""Claims about explanations and methods: the paper's discussion, and what it leaves open.

Which method would have found the bias, and which raises alarms where there is none?
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from helpers import stats
from helpers.contexts import cross_evaluation
from helpers.data import Collection
from helpers.run.findings import Finding, judge, untested

CHECKS = "paper, Results Checks"
DISCUSSION = "paper, section 4"
SUITE = "this suite"
NOTHING_PLANTED = "nothing is known to be planted in these images"


def of_relevance(table: pd.DataFrame | None, collection: Collection) -> list[Finding]:
    """Judge what the discussion says of GradCAM alone (Figure 16).

    Parameters
    ----------
    table
        From :func:`helpers.contexts.relevance.per_class`; None without masks.
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


def of_methods(answers: pd.DataFrame, overall: Mapping[str, stats.Mean]) -> list[Finding]:
    """Judge whether each method finds what was planted; else what each method answers.

    Parameters
    ----------
    answers, overall
        From `answers` and `overall` of :mod:`helpers.contexts.audit`, of one model. Four
        contexts are too few to judge a rate of answers by, so it is the mean effect that is judged.
    """
    if answers["planted"].isna().all():
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
            f"{_method(measure)} the planted contexts, on average over them",
            SUITE,
            mean.interval(),
            above=0,
            unit=measure.partition(": ")[2],
        )
        for measure, mean in overall.items()
    ]


def of_doses(most: Mapping[str, stats.Mean], least: Mapping[str, stats.Mean]) -> list[Finding]:
    """Judge whether a weaker bias is measured weaker (the paper's mitigation).

    Parameters
    ----------
    most, least
        From `contexts.audit.overall`, of the biased model and of one trained where contexts
        say nothing.
    """
    return [
        judge(
            f"Without the planted link the measured effect is smaller: {measure}",
            DISCUSSION,
            stats.difference(most[measure], least[measure]).interval(),
            above=0,
            paper="proposed, not tried",
            unit="difference in effect, mean of contexts",
        )
        for measure in most
    ]


def of_mitigation(predictions: pd.DataFrame, before: str, after: str) -> list[Finding]:
    """Judge whether the model without the bias does better outside its own set.

    Parameters
    ----------
    predictions
        From :func:`helpers.contexts.cross_evaluation.predictions`, of the two models on other sets.
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


def _method(measure: str) -> str:
    """A measure as the subject of a claim."""
    method, _, by = measure.partition(": ")
    verb = "find" if method.endswith("s") else "finds"
    method = method if method == "GradCAM" else method.capitalize()
    return f"{method} (by {by}) {verb}"
