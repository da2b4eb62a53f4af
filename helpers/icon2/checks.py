"""Measure choices, chance and error rates of ICON2's rules for lesson 08b."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas, verdicts
from helpers.icon2.analysis import ALL, POINTS, analyse
from helpers.icon2.attributes import Attribute, Frames, from_column
from helpers.icon2.average_precision import PAPER, Options, evaluate
from helpers.icon2.claims import GROUPS, RARE, printed
from helpers.icon2.matching import Matches, match
from helpers.icon2.verdicts import (
    COMPARED_RULES,
    FLAGGED,
    HARDER,
    NOT_FLAGGED,
    PAPER_RULE,
    SUITE_RULE,
    YES,
)

PAPERS_CHOICE = ("all", "as in the paper")
OTHER_CHOICES = {
    "precision": ["raw", "per image"],
    "number": ["all cells"],
    "false_positives": ["coco"],
    "images": ["with the class", "all"],
    "averaged": ["variance"],
}
WITH_CAUSE = (HARDER, verdicts.BOTH)  # scenarios in which a confounder is injected
OUTCOMES = ["false positive", "true positive", "false negative", "exact"]


def change_each_choice(
    frames: Frames,
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute],
    category: str,
) -> pd.DataFrame:
    """Change one choice at a time, and compare the numbers of one class.

    Parameters
    ----------
    frames : Frames
    matches : Matches
    sensitive : Attribute
    explanatory : sequence of Attribute
        The size comes first.
    category : str
        The class.

    Returns
    -------
    pandas.DataFrame
        ``cells`` and ``delta`` are the largest changes of any AP and of any Δ (points),
        ``sign`` is how many Δ change their sign, and ``first`` is what ranks first.
    """
    cases = {PAPERS_CHOICE: (matches, explanatory, PAPER)}
    for choice, values in OTHER_CHOICES.items():
        for value in values:
            options = replace(PAPER, **{choice: value})
            cases[choice, value] = (matches, explanatory, options)
    at_half = match(frames, (0.5,))
    cases["IoU", "at 0.5 only"] = (at_half, explanatory, PAPER)
    side = frames.boxes.eval("sqrt((x2 - x1) * (y2 - y1))")
    sized = replace(frames, boxes=frames.boxes.assign(size=side))
    thirds = [from_column(sized, "size"), *explanatory[1:]]
    cases["size bounds", "thirds of the sides"] = (matches, thirds, PAPER)
    numbers = {}
    first = {}
    for case, (own_matches, attributes, options) in cases.items():
        analysis = analyse(
            own_matches,
            sensitive,
            attributes,
            classes=[category],
            options=options,
        )
        tables = [analysis.groups(), analysis.values(), analysis.cells()]
        ap = pd.concat(tables, ignore_index=True)["AP"]
        delta = analysis.control()["delta"]
        numbers[case] = pd.concat({"AP": ap, "Δ": delta})
        first[case] = analysis.ranking()["attribute"][0]
    numbers = pd.DataFrame(numbers)
    papers = numbers[PAPERS_CHOICE]
    changes = numbers.sub(papers, axis=0).abs()
    has_other_sign = numbers.mul(papers, axis=0) < 0
    columns = {
        "cells": changes.loc["AP"].max(),
        "delta": changes.loc["Δ"].max(),
        "sign": has_other_sign.loc["Δ"].sum(),
        "first": first,
    }
    table = pd.DataFrame(columns).drop(PAPERS_CHOICE)
    return table.rename_axis(["choice", "instead"]).reset_index()


def permuted(
    matches: Matches, attribute: Attribute, clusters, permutations: int, seed: int
) -> Iterator[Attribute]:
    """Yield the attribute, and then copies with randomly permuted values.

    The values of boxes are permuted within their class.
    """
    known = attribute.codes >= 0
    unit = np.arange(matches.n_images) if clusters is None else np.asarray(clusters)
    stratum = np.zeros(len(known), int)
    if attribute.level == "box":
        unit = unit[matches.boxes["image"]]
        stratum = matches.boxes["category"].to_numpy()
    orders = stats.permuted_labels(
        attribute.codes[known],
        np.random.default_rng(seed),
        strata=stratum[known],
        clusters=unit[known],
    )
    yield attribute
    for _ in range(permutations):
        codes = attribute.codes.copy()
        codes[known] = next(orders)
        yield replace(attribute, codes=codes)


def sigma_null(
    matches: Matches,
    sensitive: Attribute,
    *,
    options: Options = PAPER,
    permutations: int = 200,
    seed: int = 0,
    clusters=None,
    formulas: SimpleNamespace = formulas,
) -> pd.DataFrame:
    """Test sigma of each class, and of their mean, by permuting groups between images.

    Parameters
    ----------
    clusters : array of shape (n images,), optional
        Images of one cluster are permuted together.
    formulas : namespace
        Lesson 08 passes its own.

    Returns
    -------
    pandas.DataFrame
        ``null_mean`` and ``null_high`` are the mean and the 95th percentile of the
        permutations (AP points), ``p`` is the share of permutations with a sigma at
        least as large, and ``p_holm`` its adjustment for the number of rows.
    """
    every = list(permuted(matches, sensitive, clusters, permutations, seed))
    each_once = np.ones((1, matches.n_images))
    group_ap = {}
    for name in matches.classes:
        of_class = matches.of(name)
        rows = []
        for one in every:
            ap, _ = evaluate(
                of_class, [one], each_once, options, formulas.average_precision
            )
            rows.append(ap)
        group_ap[name] = np.concatenate(rows)
    estimable = [ap for ap in group_ap.values() if not np.isnan(ap[0]).any()]
    if len(estimable) > 1:
        group_ap = {ALL: np.mean(estimable, axis=0)} | group_ap
    sigmas = pd.DataFrame()
    for name, ap in group_ap.items():
        sigmas[name] = POINTS * formulas.sigma(ap)
    observed = sigmas.iloc[0]
    null = sigmas.iloc[1:]
    columns = {
        "sigma": observed,
        "null_mean": null.mean(),
        "null_high": null.quantile(0.95),
        "p": (1 + (null >= observed).sum()) / (1 + null.count()),
    }
    is_known = observed.notna() & (null.count() > 0)
    table = pd.DataFrame(columns).where(is_known)
    table = table.rename_axis("class").reset_index()
    return table.assign(p_holm=stats.adjust(table["p"]))


def counted(table: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """Count how often a column is true, with its share and 95% (Wilson) interval."""
    happened = table.groupby(by, sort=False)[column]
    counts = happened.agg(count="sum", n="count").reset_index()
    counts["share"] = counts["count"] / counts["n"]
    counts["low"], counts["high"] = stats.wilson(counts["count"], counts["n"])
    return counts


def with_within(records: pd.DataFrame) -> pd.DataFrame:
    """Add the verdicts of the rule within groups to ``data/rules.csv``.

    It flags the attribute whose sigma of ProxyAP within the groups is largest, if this
    exceeds 1.
    """
    keys = ["seed", "scenario", "confounder", "strength", "reading"]
    is_first = records.groupby(keys)["proxy_within"].rank(ascending=False) == 1
    is_flagged = is_first & (records["proxy_within"] > 1)
    verdict = np.where(is_flagged, FLAGGED, NOT_FLAGGED)
    return records.assign(**{verdicts.WITHIN_RULE: verdict})


def error_rates(records: pd.DataFrame) -> pd.DataFrame:
    """Count how often each rule flags the injected confounder, and another attribute.

    There is one row per rule, scenario and outcome, at the largest strength. A *true
    positive* flags the injected confounder, a *false negative* does not, and a *false
    positive* flags another attribute. ``exact`` is for our rule, which alone
    distinguishes "the gap" from "a part".
    """
    most = records.groupby(["scenario", "confounder"])["strength"].transform("max")
    records = records[records["strength"] == most]
    setting = ["scenario", "confounder", "seed"]
    long = records.melt([*setting, "truth"], COMPARED_RULES, "rule", "verdict")
    is_flagged = long["verdict"].isin(YES)
    is_cause = long["truth"].isin(YES)
    long["false positive"] = is_flagged & ~is_cause
    long["true positive"] = is_flagged & is_cause
    long["exact"] = is_cause & (long["verdict"] == long["truth"])
    settings = long.groupby(["rule", *setting], sort=False)
    happened = settings[["false positive", "true positive", "exact"]].any()
    happened["false negative"] = ~happened["true positive"]
    stacked = happened[OUTCOMES].rename_axis(columns="outcome").stack()
    rows = stacked.rename("happened").reset_index()
    has_cause = rows["scenario"].isin(WITH_CAUSE)
    is_false_positive = rows["outcome"] == "false positive"
    distinguishes = (rows["outcome"] != "exact") | (rows["rule"] == SUITE_RULE)
    rows = rows[is_false_positive | (has_cause & distinguishes)]
    return counted(rows, ["rule", "scenario", "outcome"], "happened")


def blame_by_strength(records: pd.DataFrame) -> pd.DataFrame:
    """Count how often each rule blames a harmless scene, by how far the scenes differ.

    There is one row per strength, with the means of sigma.
    """
    is_harmless = records["scenario"] == verdicts.BESIDE
    scene = records[is_harmless & (records["attribute"] == "scene")]
    scene = scene.assign(**{verdicts.FIRST: scene["rank"] == 1})
    blamed = [f"{rule} blames it" for rule in COMPARED_RULES]
    scene[blamed] = scene[[*COMPARED_RULES]].isin(YES)
    by_strength = scene.groupby("strength")
    means = by_strength[["proxy_sigma", "proxy_within"]].mean()
    means.columns = ["σ(ProxyAP)", "σ within"]
    counts = by_strength[[verdicts.FIRST, *blamed]].sum()
    return means.join(counts).assign(n=by_strength.size()).reset_index()


def detection_by(records: pd.DataFrame, by: str = "confounder") -> pd.DataFrame:
    """Count how often the injected confounder is detected where scenes are harder.

    There is one row per value of the column `by` and question. The ``level`` of a
    confounder is boxes or frames, and all confounders together have the level ``all``.
    """
    is_confounder = records["attribute"] == records["confounder"]
    own = records[(records["scenario"] == HARDER) & is_confounder]
    answers = {
        verdicts.FIRST: own["rank"] == 1,
        verdicts.FALLS: own["delta"] > 0,
        verdicts.FLAGS: own[PAPER_RULE] == FLAGGED,
    }
    own = own.assign(**answers, level="all")
    if by == "level":
        level = own["confounder"].map(verdicts.LEVELS)
        own = pd.concat([own, own.assign(level=level)])
    long = own.melt(by, list(answers), "question", "yes")
    return counted(long, [by, "question"], "yes")


def false_positives(records: pd.DataFrame) -> pd.DataFrame:
    """Count the seeds in which a rule flags any attribute though no scene is harder.

    The detector is worse for a group. The settings of one seed share their layouts, so
    that our rule is counted over the settings without and with the largest difference.
    """
    worse = records[records["scenario"].isin([verdicts.WORSE, verdicts.BESIDE])]
    worse = worse.sort_values("strength", kind="stable")
    rules = [PAPER_RULE, SUITE_RULE]
    long = worse.melt(["strength", "seed"], rules, "rule", "verdict")
    is_suite = long["rule"] == SUITE_RULE
    is_alike = long["strength"] == 0
    is_most = long["strength"] == long["strength"].max()
    long["scenes"] = np.select(
        [is_suite, is_alike],
        ["the scenes are alike, or differ most", "the scenes are alike"],
        long["strength"].map("the scenes differ by {:g}".format),
    )
    long["flagged"] = long["verdict"].isin(YES)
    long = long[~is_suite | is_alike | is_most]
    by_seed = long.groupby(["rule", "scenes", "seed"], sort=False)["flagged"].any()
    return counted(by_seed.reset_index(), ["rule", "scenes"], "flagged")


def printed_again() -> pd.DataFrame:
    """Recompute what the paper's Tables 1 to 3 and its section 4.2 say.

    ``consistent`` counts the numbers that follow, of the ``n`` numbers that each claim
    of ``data/paper/claims.csv`` is about.
    """
    groups = printed("groups").set_index("class")
    control = printed("control").set_index("class")
    first = control[control["rank"] == 1]
    sample = formulas.sigma(groups[GROUPS].to_numpy())
    by_eq_5 = np.sqrt(2 / 3) * sample  # it divides by n
    error = (sample - groups["sigma"]).abs()
    error_of_eq_5 = (by_eq_5 - groups["sigma"]).abs()
    largest_delta = control.groupby("class")["delta"].max()
    classes = groups.drop("all classes")
    falls_first = classes["low"] > classes["middle"]
    falls_then = classes["middle"] > classes["high"]
    highest = classes["sigma"].drop(RARE).nlargest(3).index
    reduction = 100 * first["delta"] / groups["sigma"].loc[first.index]
    is_consistent = {
        "σ by Eq. 5": error_of_eq_5 < error,
        "Table 3": printed("ranking")["proxy_sigma"] < first["proxy_sigma"].min(),
        "the first has the largest Δ": first["delta"] == largest_delta,
        "AP falls with income": falls_first & falls_then,
        "the highest σ": highest.isin(first.index),
        "the text's reductions": reduction.round(-1) == [50, 10, 50],
    }
    rows = []
    for statement, one in is_consistent.items():
        number = one.sum()
        rows.append((statement, number, number, number, len(one)))
    return pd.DataFrame(rows, columns=["statement", "consistent", "low", "high", "n"])
