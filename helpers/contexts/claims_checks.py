"""Claims of "Results Checks", and what section 3 says of single objects and pairs.

As in `contexts.claims`, a claim holds, does not hold or is undecided by the interval of what it
says. Claims about one of the paper's contexts are judged where that context is there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers import stats
from helpers.contexts import context, paste_counts
from helpers.data import Collection
from helpers.run.findings import Finding, judge, untested
from helpers.stats import ranks

CHECKS = "paper, Results Checks"
SECTION_3 = "paper, section 3"


def of_objects(
    effects: pd.DataFrame, images: pd.DataFrame, collection: Collection
) -> list[Finding]:
    """Judge what section 3 says of single pairs and objects; nothing of classes not the paper's.

    Parameters
    ----------
    effects, images
        From ``effects`` and ``per_image`` of :mod:`helpers.contexts.context`, of the mosaics.
    collection
    """
    if not collection.has_the_papers_classes():
        return []
    rows = effects.assign(context=effects["context_class"].map(collection.context_of))
    rows = rows.set_index(["object_class", "context"])
    found = [
        judge(
            f"Mugs beside the {name} lie on the context's side of the diagonal",
            "paper, Table 1",
            rows.loc[("mug", name), MOSAIC],
            below=0,
            paper=paper,
            unit="logits",
        )
        for name, paper in (("sky", "-0.75"), ("park", "-2.82"))
        if ("mug", name) in rows.index
    ]
    roads = rows[rows.index.get_level_values("context") == "road"]
    if len(roads):
        found.append(
            judge(
                "No object beside the road lies across the diagonal",
                SECTION_3,
                roads.loc[roads["mosaic_distance"].idxmin(), MOSAIC],
                above=0,
                paper="nearest 2.34",
                unit="logits, nearest pair",
            )
        )
    if "fire hydrant" in collection.classes:
        found.append(
            judge(
                "Contexts flip fire hydrants less often than other objects",
                SECTION_3,
                _less(images, "fire hydrant"),
                below=0,
                paper="0.28 - 0.33 (beside the sky: not kept)",
                unit="difference in share flipped",
            )
        )
    return found


MOSAIC = ["mosaic_distance", "mosaic_distance_low", "mosaic_distance_high"]


def _less(images: pd.DataFrame, name: str) -> stats.Interval:
    """An object's share of flipped mosaics minus the mean of the other objects'."""
    keys = ["object_class", "training", "object"]
    shares = images.groupby(keys, as_index=False, sort=False)["flip_share"].mean()
    parts = dict(list(shares.groupby("object_class", sort=False)))
    weights = [1.0 if label == name else -1 / (len(parts) - 1) for label in parts]
    values = [context.grid(part, "flip_share") for part in parts.values()]
    return stats.mean(values, weights, shares=True).interval()


def of_pasting(
    counts: pd.DataFrame,
    taken: paste_counts.Taken,
    agreement: stats.Interval | None,
    collection: Collection,
) -> list[Finding]:
    """Judge what "Results Checks" says.

    Parameters
    ----------
    counts
        From :func:`helpers.contexts.paste_counts.counts`.
    taken
        From :func:`helpers.contexts.paste_counts.taken`, of which `counts` are the shares.
    agreement
        From :func:`helpers.stats.ranks.agreement` of mosaics and pasting; None without masks.
    collection
    """
    names = collection.context_of
    papers = collection.has_the_papers_classes()
    printed = paste_counts.paper_counts() if papers else None
    alone = counts[counts["pasted"] == paste_counts.NOTHING].set_index("context_class")
    found = [
        judge(
            f"{names[label].capitalize()} alone is taken for {label}",
            CHECKS,
            alone.loc[label, ["share", "low", "high"]],
            above=0.5,
            paper=_printed(printed, names[label], alone=True),
            unit="share of context images",
        )
        for label in alone.index
    ]
    if agreement is None:
        return [*found, untested("Pasting confirms the mosaics", CHECKS, "no masks to cut by")]
    for label in dict.fromkeys(label for label, _ in taken):
        on, plain = _pasted(taken, label), taken.get((label, paste_counts.NEUTRAL))
        if plain is None:
            continue
        found.append(
            judge(
                f"On {names[label]} more objects are taken for {label} than on neutral ground",
                CHECKS,
                _difference(on, [plain]),
                above=0,
                paper=_printed(printed, names[label]),
                unit="difference in share",
            )
        )
    if papers:
        found += _of_each_context(counts, taken, names)
    found.append(_confirmed(agreement, papers))
    return found


def _confirmed(agreement: stats.Interval, papers: bool) -> Finding:
    """Whether both methods rank the pairs alike; the paper's own counts do."""
    theirs = ranks.spearman(
        *paste_counts.paper_pairs()[["mosaic_share", "paste_share"]].to_numpy().T
    )
    return judge(
        "Pasting ranks the pairs of object and context as mosaics do",
        CHECKS,
        agreement,
        above=0,
        paper=f"{theirs.estimate:.2f} (from its counts, 11 pairs)" if papers else "",
        unit="rank correlation",
    )


def _of_each_context(
    counts: pd.DataFrame, taken: paste_counts.Taken, names: Mapping[str, str]
) -> list[Finding]:
    """What the paper says of the park, the sky, the road and the wood, where these are there."""
    class_of = {name: label for label, name in names.items()}
    pasted = counts[counts["pasted"] != paste_counts.NOTHING]
    found = []
    if "park" in class_of:
        park = pasted[pasted["context_class"] == class_of["park"]]
        found.append(
            judge(
                "Nearly all objects on the park are taken for benches, whatever they are",
                CHECKS,
                park.loc[park["share"].idxmin(), ["share", "low", "high"]],
                above=0.8,
                paper="22, 24 and 25 of 25",
                unit="share, least of the objects",
            )
        )
    if "road" in class_of:
        found.append(
            judge(
                "Few objects on the road are taken for fire hydrants",
                CHECKS,
                stats.share(_pasted(taken, class_of["road"])),
                below=0.5,
                paper="14 of 75",
                unit="share of composites",
            )
        )
    if "wood" in class_of:
        alone = taken[class_of["wood"], paste_counts.NOTHING]
        found.append(
            judge(
                "Wood with an object on it is taken for mug far less often than wood alone",
                CHECKS,
                _difference([alone], _pasted(taken, class_of["wood"])),
                above=0.25,
                paper="25 of 25 - 23 of 75",
                unit="difference in share",
            )
        )
    if {"sky"} <= set(class_of) and {"fire hydrant", "mug", "bench"} <= set(names):
        hydrants, *others = (taken[class_of["sky"], n] for n in ("fire hydrant", "bench", "mug"))
        found.append(
            judge(
                "On the sky fire hydrants stay themselves more often than benches and mugs",
                CHECKS,
                _difference(others, [hydrants]),
                above=0,
                paper="40 of 50 - 4 of 25 taken for planes",
                unit="difference in share",
            )
        )
    return found


def _pasted(taken: paste_counts.Taken, context: str) -> list[np.ndarray]:
    """What was said of every object on a context."""
    aside = (paste_counts.NOTHING, paste_counts.NEUTRAL)
    bars = ((label, pasted, said) for (label, pasted), said in taken.items())
    return [said for label, pasted, said in bars if label == context and pasted not in aside]


def _difference(first: list[np.ndarray], second: list[np.ndarray]) -> stats.Interval:
    """Mean share of some bars less that of others, over trainings and images."""
    weights = [1 / len(first)] * len(first) + [-1 / len(second)] * len(second)
    return stats.mean([*first, *second], weights, shares=True).interval()


def _printed(printed: pd.DataFrame | None, name: str, alone: bool = False) -> str:
    """The paper's count for a context, alone or with objects, as text."""
    if printed is None:
        return ""
    rows = printed[(printed["context"] == name) & ((printed["pasted"] == "nothing") == alone)]
    return f"{rows['predicted'].sum()} of {rows['images'].sum()}" if len(rows) else ""
