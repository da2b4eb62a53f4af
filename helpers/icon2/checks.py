"""Measure choices, chance and error rates of ICON2's rules for lesson 08b."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import attributes, verdicts
from helpers.icon2.analysis import POINTS, Analysis, analyse
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.average_precision import (
    CHOICES,
    PAPER,
    PLAIN,
    Estimate,
    Formulas,
    Options,
    evaluate,
)
from helpers.icon2.claims import GROUPS, RARE, printed
from helpers.icon2.formulas import sigma
from helpers.icon2.matching import Matches
from helpers.icon2.verdicts import (
    COMPARED_RULES,
    FLAGGED,
    HARDER,
    NOT_FLAGGED,
    PAPER_RULE,
    SUITE_RULE,
    YES,
)

MEASURED = ("gap", "scenes", "appearance")  # in streets.csv by intervention
BOUNDS = np.arange(0, 10, 0.5)  # AP points


def numbers(
    sensitive: Attribute,
    category: str,
    matches: Matches,
    explanatory: list[Attribute],
    options: Options,
) -> tuple[pd.Series, pd.Series, str]:
    """Return all AP of one class, all its Δ, and the attribute that ranks first."""
    analysis = analyse(
        matches,
        sensitive,
        explanatory,
        classes=[category],
        options=options,
        standardise=False,
    )
    tables = (analysis.groups(), analysis.values(), analysis.cells())
    ap = pd.concat([table["AP"] for table in tables], ignore_index=True)
    return ap, analysis.control()["delta"], analysis.ranking()["attribute"][0]


def change_each_choice(
    matches: Matches,
    sensitive: Attribute,
    explanatory: list[Attribute],
    category: str,
    options: Options,
    others: Mapping[tuple[str, str], tuple[Matches, list[Attribute]]],
) -> pd.DataFrame:
    """Change one choice at a time, and compare the numbers of one class.

    Parameters
    ----------
    others : mapping
        Choices outside of `options`, with the matches and attributes that they give.

    Returns
    -------
    pandas.DataFrame
        ``cells`` and ``delta`` are the largest changes of any AP and of any Δ (points),
        ``sign`` is how many Δ change their sign, and ``first`` is what ranks first.
    """
    changed = {}
    for choice, allowed in CHOICES.items():
        for value in allowed:
            if value != getattr(options, choice):
                other = replace(options, **{choice: value})
                changed[choice, value] = (matches, explanatory, other)
    for name, (other_matches, other_attributes) in others.items():
        changed[name] = (other_matches, other_attributes, options)
    ap, delta, _ = numbers(sensitive, category, matches, explanatory, options)
    rows = []
    for (choice, value), how in changed.items():
        other_ap, other_delta, first = numbers(sensitive, category, *how)
        row = {"choice": choice, "instead": value}
        row["cells"] = (other_ap - ap).abs().max()
        row["delta"] = (other_delta - delta).abs().max()
        row["sign"] = (other_delta * delta < 0).sum()
        row["first"] = first
        rows.append(row)
    return pd.DataFrame(rows)


def earlier_choices(
    frames: Frames, matches: Matches, explanatory: list[Attribute]
) -> dict[tuple[str, str], tuple[Matches, list[Attribute]]]:
    """Return other matches and another size attribute, for `change_each_choice`.

    The size comes first in `explanatory`.
    """
    boxes = frames.boxes
    side = np.sqrt((boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"]))
    with_side = replace(frames, boxes=boxes.assign(side=side))
    thirds = replace(attributes.from_column(with_side, "side"), name="size")
    at_half = replace(
        matches, thresholds=matches.thresholds[:1], taken=matches.taken[:1]
    )
    return {
        ("IoU", "at 0.5 only"): (at_half, explanatory),
        ("size bounds", "thirds of the sides"): (matches, [thirds, *explanatory[1:]]),
    }


def permuted(
    matches: Matches, attribute: Attribute, clusters, permutations: int, seed: int
) -> Iterator[Attribute]:
    """Yield the attribute, and then copies with randomly permuted values.

    The values of boxes are permuted within their class.
    """
    unit = np.arange(matches.n_images) if clusters is None else np.asarray(clusters)
    stratum = np.zeros(len(attribute.codes), int)
    if attribute.level == "box":
        unit = unit[matches.boxes["image"].to_numpy()]
        stratum = matches.boxes["category"].to_numpy()
    known = attribute.codes >= 0
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
    formulas: Formulas = PLAIN,
) -> pd.DataFrame:
    """Test sigma of each class, and of their mean, by permuting groups between images.

    Parameters
    ----------
    clusters : array of shape (n images,), optional
        Images of one cluster are permuted together.
    formulas : Formulas
        Lesson 08 passes its own.

    Returns
    -------
    pandas.DataFrame
        ``null_mean`` and ``null_high`` are the mean and the 95th percentile of the
        permutations (AP points), ``p`` is the share of permutations with a sigma at
        least as large, and ``p_holm`` its adjustment for the number of rows.
    """
    every = list(permuted(matches, sensitive, clusters, permutations, seed))
    weights = np.ones((1, matches.n_images))
    estimates = {}
    for name in matches.classes:
        of_class = matches.of(name)
        each = [
            evaluate(of_class, (one,), weights, options, formulas=formulas)
            for one in every
        ]
        ap, boxes = (np.concatenate(parts) for parts in zip(*each, strict=True))
        estimates[name] = Estimate(np.nan, ap, boxes, {})
    rows = []
    analysis = Analysis(sensitive, estimates, options.averaged)
    for name, estimate in analysis.with_mean().items():
        observed, *null = POINTS * formulas.sigma(estimate.group_ap)
        null = np.array(null)[~np.isnan(null)]
        row = {"class": name, "sigma": observed}
        row |= {"null_mean": np.nan, "null_high": np.nan, "p": np.nan}
        if len(null) and not np.isnan(observed):
            row["null_mean"] = null.mean()
            row["null_high"] = np.quantile(null, 0.95)
            row["p"] = (1 + (null >= observed).sum()) / (1 + len(null))
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.assign(p_holm=stats.adjust(table["p"]))


def scores(
    record: pd.DataFrame, bounds: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Compare each analysis of ``data/streets.csv`` with the part due to the scenes.

    Parameters
    ----------
    record : pandas.DataFrame
    bounds : mapping, optional
        The bound of each analysis. The default is the best bound of each analysis.

    Returns
    -------
    pandas.DataFrame
        ``error`` is the mean absolute error (AP points), and ``coverage`` the share of
        rows whose 95% interval contains the part. ``accuracy`` is the share of rows in
        which the analysis is above its ``bound`` if, and only if, the part is
        significant.
    """
    truth = record["scenes"]
    is_caused = record["scenes_low"] > 0
    rows = []
    for column in record:
        name = column.removesuffix("_low")
        if name == column or name in MEASURED:
            continue
        part = record[name]
        accuracy = {bound: ((part > bound) == is_caused).mean() for bound in BOUNDS}
        bound = max(accuracy, key=accuracy.get) if bounds is None else bounds[name]
        contains = truth.between(record[f"{name}_low"], record[f"{name}_high"])
        row = {"analysis": name, "rows": len(record)}
        row["error"] = (part - truth).abs().mean()
        row["coverage"] = contains.mean()
        row["bound"] = bound
        row["accuracy"] = accuracy[bound]
        rows.append(row)
    return pd.DataFrame(rows)


def with_shares(counts: pd.DataFrame) -> pd.DataFrame:
    """Add the share of ``count`` in ``n``, with its 95% (Wilson) interval."""
    low, high = stats.wilson(counts["count"], counts["n"])
    return counts.assign(share=counts["count"] / counts["n"], low=low, high=high)


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
    is_cause = records["truth"].isin(YES)
    rows = []
    for rule in COMPARED_RULES:
        is_flagged = records[rule].isin(YES)
        outcomes = records.assign(
            **{
                "false positive": is_flagged & ~is_cause,
                "true positive": is_flagged & is_cause,
                "exact": is_cause & (records[rule] == records["truth"]),
            }
        )
        settings = outcomes.groupby(["scenario", "confounder", "seed"], sort=False)
        happened = settings[["false positive", "true positive", "exact"]].any()
        happened["false negative"] = ~happened["true positive"]
        for scenario, part in happened.groupby("scenario", sort=False):
            counted = ["false positive"]
            if scenario in (HARDER, verdicts.BOTH):
                counted += ["true positive", "false negative"]
                if rule == SUITE_RULE:
                    counted.append("exact")
            for outcome in counted:
                rows.append((rule, scenario, outcome, part[outcome].sum(), len(part)))
    columns = ["rule", "scenario", "outcome", "count", "n"]
    return with_shares(pd.DataFrame(rows, columns=columns))


def blame_by_strength(records: pd.DataFrame) -> pd.DataFrame:
    """Count how often each rule blames a harmless scene, by how far the scenes differ.

    There is one row per strength, with the means of sigma.
    """
    is_harmless = records["scenario"] == verdicts.BESIDE
    scene = records[is_harmless & (records["attribute"] == "scene")]
    by_strength = scene.groupby("strength")
    table = pd.DataFrame(
        {
            "σ(ProxyAP)": by_strength["proxy_sigma"].mean(),
            "σ within": by_strength["proxy_within"].mean(),
            verdicts.FIRST: by_strength["rank"].agg(lambda rank: (rank == 1).sum()),
        }
    )
    for rule in COMPARED_RULES:
        blamed = scene[rule].isin(YES)
        table[f"{rule} blames it"] = blamed.groupby(scene["strength"]).sum()
    table["n"] = by_strength["seed"].nunique()
    return table.reset_index()


def detection_by(records: pd.DataFrame, by: str = "confounder") -> pd.DataFrame:
    """Count how often the injected confounder is detected where scenes are harder.

    There is one row per value of the column `by` and question.
    """
    is_confounder = records["attribute"] == records["confounder"]
    own = records[(records["scenario"] == HARDER) & is_confounder]
    own = own.assign(
        **{
            verdicts.FIRST: own["rank"] == 1,
            verdicts.FALLS: own["delta"] > 0,
            verdicts.FLAGS: own[PAPER_RULE] == FLAGGED,
        }
    )
    questions = [verdicts.FIRST, verdicts.FALLS, verdicts.FLAGS]
    long = own.melt(by, questions, "question", "yes")
    answers = long.groupby([by, "question"], sort=False)["yes"]
    return with_shares(answers.agg(count="sum", n="count").reset_index())


def detection_by_level(records: pd.DataFrame) -> pd.DataFrame:
    """Count detections for all attributes, for box attributes and frame attributes."""
    level = records["confounder"].map(verdicts.LEVELS)
    parts = [
        detection_by(records.assign(level="all"), "level"),
        detection_by(records.assign(level=level), "level"),
    ]
    return pd.concat(parts, ignore_index=True)


def false_positives(records: pd.DataFrame) -> pd.DataFrame:
    """Count the seeds in which a rule flags any attribute though no scene is harder.

    The detector is worse for a group. The settings of one seed share their layouts, so
    that our rule is counted over the settings without and with the largest difference.
    """
    worse = records[records["scenario"].isin([verdicts.WORSE, verdicts.BESIDE])]
    texts = worse["strength"].map("the scenes differ by {:g}".format)
    of_paper = worse.assign(
        rule=PAPER_RULE,
        scenes=texts.where(worse["strength"] > 0, "the scenes are alike"),
        flagged=worse[PAPER_RULE].isin(YES),
    )
    ends = worse[worse["strength"].isin([0, worse["strength"].max()])]
    of_suite = ends.assign(
        rule=SUITE_RULE,
        scenes="the scenes are alike, or differ most",
        flagged=ends[SUITE_RULE].isin(YES),
    )
    both = pd.concat([of_paper.sort_values("strength", kind="stable"), of_suite])
    by_seed = both.groupby(["rule", "scenes", "seed"], sort=False)["flagged"].any()
    counts = by_seed.groupby(["rule", "scenes"], sort=False).agg(count="sum", n="count")
    return with_shares(counts.reset_index())


def printed_again() -> pd.DataFrame:
    """Recompute what the paper's Tables 1 to 3 and its section 4.2 say.

    ``consistent`` counts the numbers that follow, of the ``n`` numbers that each claim
    of ``data/paper/claims.csv`` is about.
    """
    control = printed("control")
    groups = printed("groups").set_index("class")
    sample = sigma(groups[GROUPS].to_numpy())
    population = np.sqrt(2 / 3) * sample  # Eq. 5 divides by n
    error = (sample - groups["sigma"]).abs()
    error_of_eq_5 = (population - groups["sigma"]).abs()
    first = control[control["rank"] == 1].set_index("class")
    largest_delta = control.groupby("class")["delta"].max()
    classes = groups.drop("all classes")
    highest = classes["sigma"].drop(RARE).nlargest(3).index
    reduction = 100 * first["delta"] / groups["sigma"].loc[list(first.index)]
    consistent = {
        "σ by Eq. 5": error_of_eq_5 < error,
        "Table 3": printed("ranking")["proxy_sigma"] < first["proxy_sigma"].min(),
        "the first has the largest Δ": first["delta"] == largest_delta,
        "AP falls with income": (classes["low"] > classes["middle"])
        & (classes["middle"] > classes["high"]),
        "the highest σ": highest.isin(first.index),
        "the text's reductions": (reduction / 10).round() * 10 == [50, 10, 50],
    }
    rows = [(name, *3 * [one.sum()], len(one)) for name, one in consistent.items()]
    return pd.DataFrame(rows, columns=["statement", "consistent", "low", "high", "n"])
