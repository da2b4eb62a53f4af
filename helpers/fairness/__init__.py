"""Bias building blocks: measures of bias composed from what is measured, compared and reduced.

*Towards Standardizing AI Bias Exploration*. ``table`` counts once; ``report`` and ``bias`` compose
measures from the counts; ``paper_names`` holds the paper's own interface, re-exported here.
"""

from helpers.fairness.base import Measure, measure
from helpers.fairness.counts import Table, table
from helpers.fairness.curves import abroca, roc
from helpers.fairness.grouping import Groups, branches, groups
from helpers.fairness.literature import (
    bias,
    differential_bias,
    groups_vs_all,
    individual_bias,
    named,
    only,
    opportunity_gap,
    table_1,
    worst_case,
)
from helpers.fairness.paper_names import (
    Fork,
    accuracy,
    categories,
    combine,
    describe,
    interactive,
    multireport,
    unireport,
    visualize,
)
from helpers.fairness.reporting import report
from helpers.fairness.reports import Report, load

__all__ = [
    "Fork",
    "Groups",
    "Measure",
    "Report",
    "Table",
    "abroca",
    "accuracy",
    "bias",
    "branches",
    "categories",
    "combine",
    "describe",
    "differential_bias",
    "groups",
    "groups_vs_all",
    "individual_bias",
    "interactive",
    "load",
    "measure",
    "multireport",
    "named",
    "only",
    "opportunity_gap",
    "report",
    "roc",
    "table",
    "table_1",
    "unireport",
    "visualize",
    "worst_case",
]
