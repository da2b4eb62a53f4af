"""The paper's formulas over lists of rows, one comparison at a time: the truth of the tests."""

import itertools
import math

import numpy as np

NAN = math.nan


def share(rows, top, bottom):
    over, under = sum(map(top, rows)), sum(map(bottom, rows))
    return over / under if under else NAN


F = {
    "pr": lambda rows: share(rows, lambda r: r[0], lambda r: 1),
    "tpr": lambda rows: share(rows, lambda r: r[0] and r[1], lambda r: r[1]),
    "tnr": lambda rows: share(rows, lambda r: not r[0] and not r[1], lambda r: not r[1]),
    "fpr": lambda rows: share(rows, lambda r: r[0] and not r[1], lambda r: not r[1]),
    "fnr": lambda rows: share(rows, lambda r: not r[0] and r[1], lambda r: r[1]),
    "ppv": lambda rows: share(rows, lambda r: r[0] and r[1], lambda r: r[0]),
    "npv": lambda rows: share(rows, lambda r: not r[0] and not r[1], lambda r: not r[0]),
    "acc": lambda rows: share(rows, lambda r: r[0] == r[1], lambda r: 1),
    "error": lambda rows: share(rows, lambda r: r[0] != r[1], lambda r: 1),
}


def comparison_set(groups, everyone, which):
    """Pairs of sets of row places, none with itself, as Equations 6 to 8 list them."""
    rest = [everyone - g for g in groups]
    if which == "vsany":
        return [(g, everyone) for g in groups] + [(everyone, g) for g in groups]
    if which == "compl":
        return [p for g, r in zip(groups, rest, strict=True) for p in ((g, r), (r, g))]
    return [(a, b) for i, a in enumerate(groups) for j, b in enumerate(groups) if i != j]


def divide(a, b):
    if b == 0:
        return NAN if a == 0 or math.isnan(a) else math.inf
    return a / b


COMPARE = {
    "none": lambda a, b: a,
    "abs": lambda a, b: abs(a - b),
    "rel": lambda a, b: abs(1 - divide(a, b)),
    "sabs": lambda a, b: a - b,
    "srel": lambda a, b: 1 - divide(a, b),
}


def reduce(values, weights, how):
    kept = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    if not kept:
        return NAN
    v, w = [k[0] for k in kept], [k[1] for k in kept]
    if how == "gini":
        if min(v) < 0 or sum(v) == 0 or math.inf in v:
            return NAN
        differences = sum(abs(a - b) for a, b in itertools.product(v, v))
        return differences / (2 * len(v) * sum(v))
    weighted = math.fsum(a * b for a, b in kept) if math.inf not in map(abs, v) else sum_inf(kept)
    plain = math.fsum(v) if math.inf not in map(abs, v) else sum_inf([(x, 1) for x in v])
    return {
        "max": max(v),
        "min": min(v),
        "mean": plain / len(v),
        "sum": plain,
        "wmean": weighted,
        "wmean_normalised": divide(weighted, sum(w)),
    }[how]


def sum_inf(kept):
    with np.errstate(invalid="ignore"):
        return float(sum(np.float64(a) * b for a, b in kept))


def cell(rows, groups, name, which, how, reduction):
    """One cell: rows are tuples, groups sets of their places."""
    everyone = frozenset(range(len(rows)))
    pairs = comparison_set([frozenset(g) for g in groups], everyone, which)

    def of(side):
        chosen = [rows[r] for r in sorted(side)]
        return F[name](chosen)

    f = {side: of(side) for pair in pairs for side in pair}
    values = [COMPARE[how](f[a], f[b]) for a, b in pairs]
    weights = [1 - abs(len(a) - len(b)) / len(rows) for a, b in pairs]
    return reduce(values, weights, reduction)
