"""From files to counts: columns recognised by their names, values by how they are written.
Each combination of values is held once, as texts (`rows`), converted where they have a role."""

import csv
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.audit.rows import PRIVATE, TIMES, Rows, composed
from helpers.blocks import counts

ROLES = {
    "y_true": (
        "y_true",
        "label",
        "labels",
        "label_value",  # of aequitas
        "target",
        "outcome",
        "actual",
        "truth",
        "ground_truth",
    ),
    "y_pred": (
        "y_pred",
        "pred",
        "predicted",
        "prediction",
        "predictions",
        "decision",
        "y_hat",
    ),
    "y_score": ("y_score", "score", "scores", "probability", "proba"),
    "sample_weight": ("sample_weight",),
    "cluster": (),
    "y_beside": (),
}
"""What a column is taken for, by its name; a cluster or a second prediction on request only."""
LABELS, NUMBERS = ("y_true", "y_pred", "y_beside"), ("y_score", "sample_weight")
DECIDED = ("y_pred", "y_score")  # without both, only rows with an outcome count
PAIRS = [
    ("0", "1"),
    ("no", "yes"),
    ("false", "true"),
    ("n", "y"),
    ("f", "t"),
    ("-1", "1"),
]
PAIRS += [("negative", "positive")]
"""How 0 and 1 are usually written: one of these in a column."""
USUAL, YES = {*itertools.chain(*PAIRS)}, {yes for _, yes in PAIRS}
NOTHING = (
    "NA",
    "N/A",
    "#N/A",
    "NaN",
    "<NA>",
    "NULL",
)  # missing among numbers, and among 0 and 1
NOTHING = {word for text in NOTHING for word in (text, text.lower())}
NUMBER = re.compile(r"[+-]?\d*[.,]?\d+")
WHOLE = re.compile(r"[+-]?\d+")
UNTAKEN = {"weight": "sample_weight", "weights": "sample_weight", "cluster": "cluster"}
OUTSIDE = {
    "y_score": (
        lambda x: (x < 0) | (x > 1),
        "no probabilities (0 to 1)",
        "divide percentages by 100",
    ),
    "sample_weight": (
        lambda x: x < 0,
        "negative",
        "a weight says how much a row counts",
    ),
}
MEND = "mend them (decimals have a point, or a comma where semicolons separate the columns)"
MANY = 50  # values of a column that may be a group each without anybody asking for it
WHOLES = 20  # whole numbers that may be, for more are ages or years that need bands
MOST = 1000  # values of a column that may be a group each at all
STEPS = 1000  # of the scores of a large table
LARGE = 5000  # rows from which scores are counted in steps
MISSING = "(missing)"


@dataclass(frozen=True)
class Tally:
    """How often each combination of values occurs, and what was taken for what."""

    rows: (
        pd.DataFrame
    )  # roles and times have their names of `PRIVATE`, groups and strata their own
    roles: dict[str, str]  # the column of the file that has the role
    sensitive_features: list[str]
    strata: list[str]
    notes: list[str]  # sentences about what was left out
    steps: int | None = None  # of the scores; None: exact

    def __len__(self) -> int:
        return int(self.rows[TIMES].sum())

    @property
    def taken(self) -> str:
        """Which column was taken for what."""
        roles = ", ".join(f"{name} is {role}" for role, name in self.roles.items())
        held = f"; {', '.join(self.strata)} held fixed" if self.strata else ""
        return (
            f"{roles}; groups are those of {', '.join(self.sensitive_features)}{held}."
        )

    def sizes(self, name: str) -> pd.Series:
        """Rows of each group of a column."""
        return self.rows.groupby(name)[TIMES].sum().rename("rows")

    def table(
        self,
        sensitive_features: Sequence[str] = (),
        intersect: str = "each",
        fixed: bool = False,
        scores: bool = True,
    ) -> counts.Table:
        """The table of some group columns (all if none given); `fixed` holds the strata fixed, and
        without `scores` there are rates only."""
        by = list(sensitive_features or self.sensitive_features)
        strata = self.strata if fixed else []
        roles = {own: role for role, own in PRIVATE.items() if own in self.rows}
        roles.pop(PRIVATE["y_beside"], None)
        if not scores or (self.steps and fixed):  # rates need no scores
            roles.pop(PRIVATE["y_score"], None)
        rows = _collapsed(self.rows[list(dict.fromkeys([*by, *strata, *roles]))])
        columns = rows[[*roles]].rename(
            columns=roles | {PRIVATE["cluster"]: "clusters"}
        )
        held = columns.to_dict("series") | {"strata": rows[strata] if strata else None}
        return counts.table(rows[by], intersect=intersect, **counts.with_unknown(held))


def of_file(
    source: str | Path,
    *,
    positive: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
    threshold: float | None = None,
    **columns: Any,
) -> Tally:
    """Count a file, a folder or a pattern of files.

    Parameters
    ----------
    source : str or Path
        The file, folder or pattern.
    positive : str or mapping, optional
        The values that count as 1: as of positive, or a value or a list of values per column.
    threshold : float, optional
        Score from which a row is predicted positive.
    **columns
        Columns by role, and lists of columns called sensitive_features and strata.

    Returns
    -------
    Tally
        How often each combination of values occurs.

    Raises
    ------
    ValueError
        For what is in doubt or wrong.
    """
    rows = Rows(source)
    notes, unusable = rows.notes, rows.unusable()
    roles, lists = named(rows.names, columns)
    wanted = list(dict.fromkeys([*roles.values(), *itertools.chain(*lists.values())]))
    others = []
    if "sensitive_features" not in columns:
        others = [n for n in rows.names if n not in wanted and n not in unusable]
        odd = [
            f"{name} ({why})" for name, why in unusable.items() if name not in wanted
        ]
        notes += [f"Not looked at: {', '.join(odd)}."] if odd else []
    rows.keep([*wanted, *others])
    about = rows.about(others)
    kinds = rows.kinds([*wanted, *(n for n in others if about[n] <= 2 * MANY)])
    if kinds.empty:
        raise ValueError("the table has no rows")
    often = {
        name: kinds.groupby(name)[TIMES].sum() for name in kinds.columns.drop(TIMES)
    }
    total = kinds[TIMES].sum()
    if threshold is None and "y_score" not in columns:
        roles = _decisions(roles, often, notes)
    _group(
        rows,
        roles,
        lists,
        {n: often.get(n, about.get(n)) for n in [*wanted, *others]},
        total,
    )
    groups = list(dict.fromkeys(itertools.chain(*lists.values())))
    own = {
        PRIVATE[role]: _values(role, name, kinds[name], notes)
        for role, name in roles.items()
    }
    for role in [role for role in NUMBERS if role in roles]:
        own[PRIVATE[role]] = _numbers(
            rows, role, roles[role], own[PRIVATE[role]], kinds[TIMES]
        )
    every = kinds[[*groups, TIMES]].assign(**own)
    decided = {*roles} & {*DECIDED}
    needed = [role for role in roles if not (role == "y_true" and decided)]
    counted = every.dropna(subset=[PRIVATE[role] for role in needed])
    if left_out := total - counted[TIMES].sum():
        without = " or ".join(roles[role] for role in needed)
        notes.append(f"{left_out:,} rows without a {without} are left out.")
    if counted[[*own]].isna().all().any() or counted.empty:
        raise ValueError(
            f"there is no row in which none of {', '.join(roles.values())} is missing"
        )
    if threshold is not None:
        role = _thresholded(roles, threshold)
        words = np.where(counted[PRIVATE["y_score"]] >= threshold, "1", "0")
        counted = counted.assign(**{PRIVATE[role]: words})
    steps = STEPS if "y_score" in roles and total > LARGE else None
    if steps:
        step = np.floor(counted[PRIVATE["y_score"]] * steps).clip(0, steps - 1)
        counted = counted.assign(**{PRIVATE["y_score"]: (step + 0.5) / steps})
    labels = {roles[role]: PRIVATE[role] for role in LABELS if role in roles}
    counted, more = _zeros_and_ones(rows, counted, labels, positive)
    notes += more
    if "y_true" in roles:
        notes += _outcomes(roles, counted)
    for name in groups:
        if empty := counted.loc[counted[name].isna(), TIMES].sum():
            notes.append(
                f"{empty:,} rows have no {name}: they are the group {MISSING}."
            )
        spelled, more = _spelled(name, often[name])
        counted[name] = counted[name].map(spelled).fillna(MISSING).astype(object)
        notes += more
    names = [*(PRIVATE[role] for role in roles), *groups, TIMES]
    return Tally(
        _collapsed(counted[names]), roles=roles, notes=notes, steps=steps, **lists
    )


def _decisions(
    roles: dict[str, str], often: dict[str, pd.Series], notes: list[str]
) -> dict:
    """Take a column called score for decisions if it holds 0 and 1 alone; return the roles."""
    name = roles.get("y_score")
    if (
        name is None
        or "y_pred" in roles
        or not {*map(_word, often[name].index)} <= {"0", "1"}
    ):
        return roles
    notes.append(
        f"{name} holds 0 and 1 alone, so it was taken for decisions (y_pred). If it is a score, "
        f"say {_shell(f'roles y_score={name}')}."
    )
    roles = {"y_pred": name} | {
        role: of for role, of in roles.items() if role != "y_score"
    }
    return {role: roles[role] for role in ROLES if role in roles}


def _values(role: str, name: str, texts: pd.Series, notes: list[str]) -> pd.Series:
    """Return the texts of a column with a role, None for what is missing.

    An empty field is missing. A word such as NA is missing among numbers and among the usual ways
    to write 0 and 1; it is a class among other words.
    """
    absent = texts.isin(NOTHING)
    if not absent.any() or role == "cluster":
        return texts
    others = {*map(_word, texts[~absent].dropna())}
    if role in NUMBERS or any(others <= {*pair} for pair in PAIRS):
        notes.append(f"In {name}, {_listed({*texts[absent]})} counts as missing.")
        return texts.mask(absent)
    return texts


def _outcomes(roles: dict, counted: pd.DataFrame) -> list[str]:
    """Say for which rows the outcome is known, if it is known for some only."""
    name, times = roles["y_true"], counted[TIMES]
    known = counted[PRIVATE["y_true"]] != counts.UNKNOWN
    if known.all():
        return []
    sentences = [
        f"{name} is known for {times[known].sum():,} of {times.sum():,} rows. Rates that need it "
        "are those of these rows, and all other rates are those of all rows."
    ]
    if "y_pred" not in roles:
        return sentences
    shares = {}
    for predicted in (0, 1):
        here = counted[PRIVATE["y_pred"]] == predicted
        if here.any():
            shares[predicted] = times[here & known].sum() / times[here].sum()
    each = " and ".join(
        f"{share:.0%} of those predicted {at}" for at, share in shares.items()
    )
    sentences.append(f"Known are the outcomes of {each}.")
    if 0 in shares.values():
        [unknown] = [at for at, share in shares.items() if share == 0][:1]
        sentences.append(
            f"How often rows that were predicted {unknown} were predicted right, no number of this "
            "table can say."
        )
    return sentences


# --- which column is what ---


def _shell(option: str) -> str:
    """Write an option and its value as a shell takes them."""
    name, _, value = option.partition(" ")
    return f"{name} {shlex.quote(value)}"


def _thresholded(roles: dict[str, str], threshold: float) -> str:
    """The role that scores from a threshold have: they are y_pred, or stand beside it."""
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold {threshold:g}: scores lie between 0 and 1")
    if "y_score" not in roles:
        raise ValueError("threshold needs scores: say which column, roles y_score=...")
    if "y_beside" in roles:
        raise ValueError(
            "threshold and second both give a second prediction: give one of them"
        )
    role = "y_beside" if "y_pred" in roles else "y_pred"
    roles[role] = f"{roles['y_score']} from {threshold:g}"
    return role


def named(names: Sequence[str], columns: dict) -> tuple[dict, dict]:
    """Column by role, by name where not given, and the columns of groups and strata as given."""
    columns = {
        of: composed(given) if isinstance(given, str) else [*map(composed, given)]
        for of, given in columns.items()
    }
    lists = {
        of: map(str.strip, columns.get(of, ()))
        for of in ("sensitive_features", "strata")
    }
    lists = {of: [*dict.fromkeys(filter(None, its))] for of, its in lists.items()}
    by_role = {role: column for role, column in columns.items() if role not in lists}
    groups, strata = lists.values()
    if missing := [n for n in (*by_role.values(), *groups, *strata) if n not in names]:
        raise ValueError(
            f"there is no column {missing[0]!r}; there are {', '.join(names)}"
        )
    for role in [role for role in ROLES if role not in by_role]:
        taken = {*by_role.values(), *groups} - ({role} & {*groups})
        here = [name for name in ROLES[role] if name in names and name not in taken]
        if len(here) > 1:
            both, answer = " and ".join(here), f"roles {role}={here[0]}"
            raise ValueError(f"{both} could both be {role}: say {answer}")
        if here:
            by_role[role] = here[0]
    uses = [(role, name) for role, name in by_role.items() if role != "cluster"]
    uses += [("a group (groups)", name) for name in groups]
    uses += [("held fixed (strata)", name) for name in strata if name in groups]
    often = Counter(name for _, name in uses)
    if twice := [name for name in often if often[name] > 1]:
        both = " and ".join(use for use, name in uses if name == twice[0])
        which = "roles y_true=COLUMN says which column is y_true; so for the others"
        raise ValueError(f"{twice[0]} cannot be {both} at once: {which}")
    if "y_beside" in by_role and "y_pred" not in by_role:
        raise ValueError(
            f"second {by_role['y_beside']}: second to which? Say roles y_pred=..."
        )
    if not {"y_true", "y_pred", "y_score"} & set(by_role):
        raise ValueError(
            f"none of the columns {', '.join(names)} is recognised as y_true (what turned out), "
            "y_pred (what was decided) or y_score (a score from 0 to 1): say which is, such as "
            "roles y_true=paid_back,y_pred=decision; a name with blanks as 'y_true=paid back' (is "
            "it a table at all, and is its first line the header?)"
        )
    return {role: by_role[role] for role in ROLES if role in by_role}, lists


def _group(rows: Rows, roles: dict, lists: dict, values: dict, total: int) -> None:
    """Refuse columns that cannot be groups or strata, and take others for groups where they can:
    `values` are how often each column has each value, or about how many it has."""
    required = [*itertools.chain(*lists.values())]
    for name in required:
        if len(values[name]) > MOST:
            raise ValueError(
                f"{name} has {len(values[name]):,} different values, too many for groups (at most "
                f"{MOST:,}): is it an identifier? Give it as cluster if it says which rows belong "
                "together, or merge its values"
            )
    others = [
        name for name in values if name not in required and name not in roles.values()
    ]
    reasons = {name: _no_group(values[name], total) for name in others}
    if odd := [f"{name} ({why})" for name, why in reasons.items() if why]:
        rows.notes.append(f"No groups, unless groups names them: {', '.join(odd)}.")
        numeric = [
            name
            for name, why in reasons.items()
            if why and _may_be_banded(values[name], total)
        ]
        rows.notes += [_bands(rows, name) for name in numeric][:1] or [
            "Put numbers such as ages into bands (18-29, 30-44) first."
        ]
    for name in lists["sensitive_features"]:
        if _whole_numbers(values[name]):
            each = f"{name} has {len(values[name])} whole numbers, each a group of few rows."
            rows.notes.append(f"{each} {_bands(rows, name)}")
    rows.notes += [
        f"{name} was not taken for {role}: {role.removeprefix('sample_')} {name} does so."
        for name, role in UNTAKEN.items()
        if name in others and role not in roles
    ]
    kept = [name for name, why in reasons.items() if not why]
    labels = [roles[role] for role in LABELS if role in roles]
    _in_doubt(
        kept,
        roles,
        {name: {*map(_word, values[name].index)} for name in [*kept, *labels]},
    )
    lists["sensitive_features"] += kept
    if not lists["sensitive_features"]:
        raise ValueError(
            f"no column is a group. {' '.join(rows.notes)} Say which are: groups race,sex"
        )


def _no_group(values: pd.Series | int, total: int) -> str:
    """Why a column is no group unless it is asked for."""
    many = values if isinstance(values, int) else len(values)
    if many > MANY:
        return f"about {many:,} different values"
    if many == total > 2:
        return "another value in every row"
    if _whole_numbers(values):
        return f"{many} whole numbers"
    texts = [text.strip() for text in values.index]
    if any(re.search(r"[.,]0*[1-9]", text) for text in texts) and all(
        map(NUMBER.fullmatch, texts)
    ):
        return "numbers with fractions"
    return {0: "no value", 1: "one value only"}.get(many, "")


def _whole_numbers(values: pd.Series | int) -> bool:
    """Whether a column holds more whole numbers than are groups by themselves, such as ages."""
    if isinstance(values, int) or len(values) <= WHOLES:
        return False
    return all(WHOLE.fullmatch(text.strip()) for text in values.index)


def _may_be_banded(values: pd.Series | int, total: int) -> bool:
    """Whether a column may hold quantities such as ages, and no identifiers."""
    many = values if isinstance(values, int) else len(values)
    numbers = isinstance(values, int) or all(
        NUMBER.fullmatch(t.strip()) for t in values.index
    )
    return 2 < many < total / 5 and numbers


def _bands(rows: Rows, name: str) -> str:
    """Say how to put a column of numbers into bands."""
    text, edges = repr(name), rows.quarters(name)
    line = f"pandas.qcut(table[{text}], 4)"
    if (
        edges
        and all(edge == int(edge) for edge in edges)
        and len({*edges}) == len(edges)
    ):
        inner = [int(edges[0]) - 1, *map(int, edges[1:])]
        line = f"pandas.cut(table[{text}], {inner})"
    return f"Put numbers such as ages into bands first, such as table[{name + ' band'!r}] = {line}."


def _in_doubt(names: list[str], roles: dict, words: dict[str, set]) -> None:
    """Refuse to take columns for groups that may be labels or predictions."""
    lacking = [role for role in LABELS[:2] if role not in roles]
    held = [words[roles[role]] for role in LABELS if role in roles]
    held.append(set().union(*held))
    usual = {name: role for role, its in ROLES.items() for name in its}
    odd = {}
    for name in names:  # which have two values or more
        its, role = words[name], usual.get(name.casefold())
        if role or name.casefold().startswith(("y_", "pred")):
            odd[name] = [role or "y_pred"]
        elif any(its <= of and 2 * len(its) > len(of) for of in held) or (
            lacking and its <= USUAL
        ):
            odd[name] = lacking or ["y_pred"]
    if not odd:
        return
    name, role = next(iter(odd.items()))
    maps = " or ".join(_shell(f"roles {of}={name}") for of in role)
    groups = pd.DataFrame(columns=[n for n in names if n not in odd] or [name])
    answer = shlex.quote(groups.to_csv(index=False).removesuffix("\n"))
    such = f"the group columns, such as groups {answer}"
    question = f"{name} holds {_listed(words[name])}: is it"
    if set(role) <= set(lacking):
        raise ValueError(f"{question} {' or '.join(role)}? Say {maps}, or name {such}")
    other = f"another model's {role[0]}? Name {such}"
    both = "; second compares two predictions" * ("y_beside" not in roles)
    raise ValueError(f"{question} {other} (and to judge {name}: {maps}){both}")


# --- what the values are ---


def _numbers(
    rows: Rows, role: str, name: str, texts: pd.Series, times: pd.Series
) -> pd.Series:
    """Numbers of a column, 0.96, 96% and, where semicolons separate the columns, 0,96."""
    commas, points = (texts.str.contains(mark, regex=False, na=False) for mark in ",.")
    mixed = points if rows.comma and commas.any() else False  # is 1.234 a thousand?
    plain = texts.str.replace(",", ".") if rows.comma else texts
    percent = plain.str.contains(r"%\s*$", na=False)
    values = pd.to_numeric(plain.str.replace(r"%\s*$", "", regex=True), errors="coerce")
    values = values / np.where(percent, 100, 1)
    outside, *told = OUTSIDE[role]
    none = texts.notna() & (~np.isfinite(values) | mixed)
    for odd, what, advice in ((none, "no numbers", MEND), (outside(values), *told)):
        if odd.any():
            often, first = times[odd].sum(), rows.first(name, texts[odd])
            raise ValueError(
                f"{name}: {often:,} values are {what}, the first is {first}; {advice}"
            )
    return values


def _word(value: str) -> str:
    """A label in small letters without blanks around it, and a whole number without its point."""
    text = composed(value).strip().lower()
    whole = re.fullmatch(r"[+]?(-?\d+)(?:[.,]0*)?", text)
    return whole[1] if whole else text


def _listed(words: set[str]) -> str:
    return ", ".join([*sorted(words)[:8], *(["..."] if len(words) > 8 else [])])


def _no_scores(name: str, words: set[str]) -> None:
    """Refuse labels that are numbers between 0 and 1."""
    values = pd.to_numeric(
        pd.Series(sorted(words)).str.replace(",", "."), errors="coerce"
    )
    if values.between(0, 1).all() and (values % 1 > 0).any():
        raise ValueError(
            f"{name} holds numbers between 0 and 1, such as {values[values % 1 > 0].iloc[0]:g}: is "
            f"it y_score? Say roles y_score={name}"
        )


def _zeros_and_ones(
    rows: Rows,
    counted: pd.DataFrame,
    labels: dict[str, str],
    positive: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Labels as 0 and 1, each column by its positive values; what these were, in sentences."""
    words = {
        name: counted[own].map(_word, na_action="ignore")
        for name, own in labels.items()
    }
    kinds = {name: {*its.dropna()} for name, its in words.items()}
    pairs = {
        name: next((p for p in PAIRS if its <= {*p}), ()) for name, its in kinds.items()
    }
    wanted, bare = _wanted(positive, labels, kinds)
    chosen, notes = {}, {}
    for name, its in kinds.items():
        _no_scores(name, its)
        want, pair = wanted.get(name, ()), pairs[name]
        if its <= USUAL and not pair and (not want or len(its & YES) > 1):
            _mixed(
                rows,
                name,
                counted.groupby(words[name])[TIMES].sum(),
                counted[labels[name]],
            )
        allowed = {*its, *pair}
        if not (bare and pair):  # a class that another column of the same classes holds
            allowed |= set().union(*(of for of in kinds.values() if its & of))
        if want and {*want} <= allowed:
            chosen[name] = want
            notes.setdefault(want, []).append(name)
        elif pair and (not want or (bare and {*want} <= YES)):
            chosen[name] = (pair[1],)
            if pair == ("-1", "1"):  # some programs write -1 for what they report
                notes.setdefault(("1",), []).append(name)
        if len(its) > 1 and its <= {*chosen.get(name, ())}:
            raise ValueError(
                f"positive {','.join(want)}: these are all values of {name}, so every row would "
                "count as 1. Leave out the values that count as 0."
            )
        for word in chosen.get(name, ()) if not pair else ():
            texts = counted[labels[name]][words[name] == word]
            alike = {composed(text).strip() for text in texts}
            if len(alike) > 1:
                raise ValueError(
                    f"{name} holds {' and '.join(map(repr, sorted(alike)))}, which may be one "
                    f"class or {len(alike)}: write them in one way, or as different words"
                )
    if unclear := [name for name in kinds if name not in chosen]:
        raise ValueError(_which(unclear[0], wanted, chosen, kinds, pairs))
    ones = {}
    for name, own in labels.items():
        ones[own] = words[name].isin(chosen[name]).astype(np.int8)
        ones[own] = ones[own].mask(words[name].isna(), counts.UNKNOWN).astype(np.int8)
    return counted.assign(**ones), [
        _counted_as(want, names, kinds) for want, names in notes.items()
    ]


def _counted_as(want: tuple[str, ...], names: list[str], kinds: dict[str, set]) -> str:
    """Say which values of columns count as 1."""
    others = set().union(*(kinds[name] for name in names)) - {*want}
    listed = f" ({_listed(others)})" if len(others) > 1 else ""
    count = "counts" if len(want) == 1 else "count"
    sentence = (
        f"In {' and '.join(names)}, {' and '.join(want)} {count} as 1 and all other values"
        f"{listed} as 0."
    )
    if any(len(kinds[name]) > 2 for name in names) and len(want) == 1:
        sentence += " Accuracy over all classes is not on this page."
    return sentence


def _wanted(
    positive: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None,
    labels: dict[str, str],
    kinds: dict[str, set],
) -> tuple[dict[str, tuple], bool]:
    """Return the positive values of each column, and whether they were given for all at once."""
    if positive is None:
        return {}, False
    if not labels:
        raise ValueError(f"positive {positive}: there is no y_true and no y_pred")
    columns = {own.removeprefix("__"): name for name, own in labels.items()}
    columns |= {name: name for name in labels}
    if isinstance(positive, list):
        return {name: _several(positive, its) for name, its in kinds.items()}, True
    if isinstance(positive, str):
        either = rf"(?:{'|'.join(map(re.escape, columns))})\s*="
        positive = composed(positive)
        if not re.match(either, positive):
            return {
                name: _several([positive], its) for name, its in kinds.items()
            }, True
        each = [
            part.partition("=") for part in re.split(rf",\s*(?={either})", positive)
        ]
        given = [(name.strip(), value) for name, _, value in each]
    else:
        given = []
        for name, values in positive.items():
            values = [values] if isinstance(values, str) else values
            given += [(composed(name), str(value)) for value in values]
    texts: dict[str, list[str]] = {}
    for name, value in given:
        if name not in columns:
            raise ValueError(
                f"positive: {name} is no column of decisions or outcomes. These are "
                f"{', '.join(labels)}. Name one of them."
            )
        texts.setdefault(columns[name], []).append(value)
    return {
        name: _several(values, kinds[name]) for name, values in texts.items()
    }, False


def _several(values: Iterable[str], kinds: set[str]) -> tuple[str, ...]:
    """Return positive values as words; a text with commas is several if it is no value itself."""
    words = []
    for value in values:
        whole = _word(value)
        parts = next(csv.reader([value], skipinitialspace=True), [value])
        parts = [_word(part) for part in parts]
        if whole in kinds or not {*parts} & kinds:
            words.append(whole)
        else:
            words += parts
    return tuple(dict.fromkeys(words))


def _which(name: str, wanted: dict, chosen: dict, kinds: dict, pairs: dict) -> str:
    """Ask which value of a column counts as 1, with an answer that is accepted."""
    unclear = [of for of in kinds if wanted or of not in chosen]
    shared = set.intersection(*(kinds[of] for of in unclear))
    usual = {
        of: pairs[of][1] if pairs[of] else min(shared or kinds[of]) for of in unclear
    }
    values = usual | {of: ",".join(chosen[of]) for of in unclear if of in chosen}
    answer = ",".join(f"{of}={value}" for of, value in values.items())
    if len(values) == len(kinds) and len({*values.values()}) == 1:
        answer = values[name]
    such, its = f"positive {shlex.quote(answer)}", _listed(kinds[name])
    if name in wanted:
        absent = [word for word in wanted[name] if word not in kinds[name]]
        no = (
            f"positive {','.join(wanted[name])}: {name} holds {its}, and no {absent[0]}"
        )
        return f"{no}; say which of them is the 1, such as {such}"
    also = "".join(f", {of} has {_listed(kinds[of])}" for of in unclear if of != name)
    return (
        f"{name} has {len(kinds[name])} values ({its}){also}; "
        f"say which of them is the 1, the value whose share is compared, such as {such}"
    )


def _mixed(rows: Rows, name: str, often: pd.Series, texts: pd.Series) -> None:
    """Refuse more than one way of writing 0 and 1 in a column."""
    best = max(PAIRS, key=lambda pair: often.reindex(pair).sum())
    first = rows.first(name, texts[~texts.map(_word).isin(best)])
    or_count = f", or count one value against all others: positive {name}={best[1]}"
    raise ValueError(
        f"{name} holds {_listed({*often.index})}, which is more than one way to write 0 and 1; the "
        f"first that is not {' or '.join(best)} is {first}. Write them in one way or drop those "
        f"rows{or_count * (len(YES & {*often.index}) < 2)}"
    )


def _spelled(name: str, values: pd.Series) -> tuple[dict[str, str], list[str]]:
    """Groups that differ in capitals, blanks and Unicode forms only as one, in the commonest
    spelling; what was joined, in sentences."""
    alike: dict[str, list[str]] = {}
    for text in sorted(values.index, key=lambda text: (-values[text], text)):
        alike.setdefault(" ".join(composed(text).split()).casefold(), []).append(text)
    notes, spelled, joined = [], {}, 0
    for texts in alike.values():
        first = composed(texts[0]).strip()
        spelled |= dict.fromkeys(texts, first)
        others = [text for text in texts[1:] if composed(text) != composed(texts[0])]
        hidden = values[[text for text in texts[1:] if text not in others]].sum()
        joined += len(texts) > 1
        if others:
            notes.append(
                f"In {name}, {', '.join(map(repr, others))} was counted as {first!r}."
            )
        if hidden:
            notes.append(
                f"In {name}, {hidden:,} rows write {first!r} in another Unicode form, which looks "
                "the same: they were counted as this group."
            )
    if joined:
        merged = sum(len(texts) for texts in alike.values()) - len(alike)
        notes.append(
            f"Spellings of {name} that were joined with others: {merged} of {len(values)}."
        )
    notes += [
        f"In {name}, {key} and {key}.0 are two groups."
        for key in alike
        if f"{key}.0" in alike
    ]
    return spelled, notes


def _collapsed(rows: pd.DataFrame) -> pd.DataFrame:
    """Each combination once, with the sum of its times."""
    names = [name for name in rows if name != TIMES]
    return rows.groupby(names, sort=True, as_index=False)[TIMES].sum()
