"""What ICON2 found for some classes, as tables: one table a question.

Average precision is in points (0 to 100) in every table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.icon2 import resampling, statistics
from helpers.icon2.attributes import Attribute
from helpers.icon2.estimates import Estimate, Part
from helpers.icon2.options import Options

POINTS = 100.0
INTERVALS = {  # a column of Analysis.control and the ends of its interval
    "delta": ("low", "high"),
    "standardised_delta": ("standardised_low", "standardised_high"),
}
ALL = "all classes"
EMPTY = ["class", "attribute"]  # columns of a table about no attribute


@dataclass(frozen=True)
class Analysis:
    """What was estimated, and the tables made from it.

    Attributes
    ----------
    sensitive : Attribute
    estimates : dict
        Class name -> Estimate; row 0 of every array is the estimate, the others its resamples.
    options : Options
    level : float
        Of the percentile intervals.
    """

    sensitive: Attribute
    estimates: dict[str, Estimate]
    options: Options
    level: float = 0.95

    def groups(self) -> pd.DataFrame:
        """AP of every sensitive value and class (Table 1), with the mean over classes first.

        The mean is over the classes of :meth:`estimable`.

        Columns ``class overall value AP low high boxes estimable``.
        """
        names = self.sensitive.values
        blocks = [(c, e.overall, e.group_ap, e.group_boxes) for c, e in self.estimates.items()]
        kept = [block for block in blocks if block[0] in self.estimable()]
        if len(kept) > 1:
            _, overall, ap, boxes = zip(*kept, strict=True)
            mean = [np.mean(part, axis=0) for part in (overall, ap)]
            blocks.insert(0, (ALL, *mean, np.sum(boxes, axis=0)))
        return pd.concat(
            [
                self._rows({"class": c, "overall": POINTS * o}, {"value": names}, ap, boxes)
                for c, o, ap, boxes in blocks
            ],
            ignore_index=True,
        )

    def sigmas(self) -> pd.DataFrame:
        """Sigma of AP over the sensitive values, a row a class: ``class sigma low high``."""
        return pd.DataFrame(
            {"class": c} | self._with_interval("sigma", statistics.sigma(ap, self.options.ddof))
            for c, ap in self._group_ap()
        )

    def values(self) -> pd.DataFrame:
        """AP of every explanatory value (Figures 2 and 3, above).

        Columns ``class attribute value AP low high boxes estimable``.
        """
        return self._each(
            lambda c, p: self._rows(
                {"class": c, "attribute": p.name}, {"value": p.values}, p.ap, p.boxes
            )
        )

    def shares(self) -> pd.DataFrame:
        """P(e|a) by boxes (Figures 2 and 3, below).

        Columns ``class attribute value group share low high``; shares are in 0..1.
        """
        return self._each(self._share_rows)

    def cells(self) -> pd.DataFrame:
        """AP of every sensitive value within every explanatory value (Figures 4 and 5)."""
        return self._each(
            lambda c, p: self._rows(
                {"class": c, "attribute": p.name},
                {"value": p.values, "group": self.sensitive.values},
                p.cell_ap,
                p.cell_boxes,
            )
        )

    def standardised(self) -> pd.DataFrame:
        """AP of every group with the confounder's distribution made the same for all.

        Columns ``class attribute group AP low high boxes estimable``.
        """
        return self._each(
            lambda c, p: self._rows(
                {"class": c, "attribute": p.name},
                {"group": self.sensitive.values},
                p.standardised,
                p.cell_boxes.sum(1),
            )
        )

    def proxies(self) -> pd.DataFrame:
        """ProxyAP of every group (Eq. 6): ``class attribute group proxy``."""
        return self._each(
            lambda c, p: pd.DataFrame(
                {
                    "class": c,
                    "attribute": p.name,
                    "group": self.sensitive.values,
                    "proxy": POINTS * statistics.proxy(p.ap[0], p.cell_boxes[0]),
                }
            )
        )

    def ranking(self) -> pd.DataFrame:
        """Algorithm 1: explanatory attributes by sigma of ProxyAP, highest first.

        Columns ``class rank attribute proxy_sigma low high first plain_sigma plain_rank``:
        ``first`` is the share of resamples in which the attribute ranks first, ``plain_sigma`` the
        sigma of its own values' AP, which takes no account of the sensitive attribute.
        """
        ranked = [self._ranked(c, e.parts) for c, e in self.estimates.items() if e.parts]
        return pd.concat(ranked or [pd.DataFrame(columns=EMPTY)], ignore_index=True)

    def control(self) -> pd.DataFrame:
        """Table 2: sigma before and after controlling, by strata and by standardisation.

        Columns ``class attribute sigma controlled delta low high`` (Delta = sigma - controlled,
        and its interval), ``standardised standardised_delta standardised_low standardised_high``,
        ``strata`` (values of e that all groups are estimable in, of how many) and ``covered``
        (share of boxes in them).
        """
        return self._each(lambda c, p: pd.DataFrame([self._controlled(c, p)]))

    def estimable(self) -> list[str]:
        """Classes of which every sensitive value is estimable."""
        return [c for c, e in self.estimates.items() if not np.isnan(e.group_ap[0]).any()]

    def _group_ap(self) -> list[tuple[str, np.ndarray]]:
        found = [(c, e.group_ap) for c, e in self.estimates.items()]
        kept = [ap for c, ap in found if c in self.estimable()]
        if len(kept) > 1:
            found.insert(0, (ALL, np.mean(kept, axis=0)))
        return found

    def _each(self, rows) -> pd.DataFrame:
        parts = [rows(c, part) for c, e in self.estimates.items() for part in e.parts]
        return pd.concat(parts or [pd.DataFrame(columns=EMPTY)], ignore_index=True)

    def _with_interval(self, name: str, values: np.ndarray, prefix: str = "") -> dict[str, float]:
        low, high = resampling.interval(POINTS * values, self.level)
        return {
            name: POINTS * float(values[0]),
            f"{prefix}low": float(low),
            f"{prefix}high": float(high),
        }

    def _rows(self, same: dict, axes: dict, ap: np.ndarray, boxes: np.ndarray) -> pd.DataFrame:
        low, high = resampling.interval(POINTS * ap, self.level)
        index = pd.MultiIndex.from_product(axes.values(), names=axes.keys())
        table = index.to_frame(index=False)
        for column, values in (("AP", POINTS * ap[0]), ("low", low), ("high", high)):
            table[column] = values.ravel()
        table["boxes"] = boxes[0].ravel().astype(int)
        table["estimable"] = ~np.isnan(ap[0].ravel())
        for position, (column, value) in enumerate(same.items()):
            table.insert(position, column, value)
        return table

    def _share_rows(self, name: str, part: Part) -> pd.DataFrame:
        index = pd.MultiIndex.from_product(
            [part.values, self.sensitive.values], names=["value", "group"]
        )
        table = index.to_frame(index=False)
        table.insert(0, "attribute", part.name)
        table.insert(0, "class", name)
        share = statistics.shares(part.cell_boxes)
        low, high = resampling.interval(share, self.level)
        return table.assign(share=share[0].ravel(), low=low.ravel(), high=high.ravel())

    def _ranked(self, name: str, parts: list[Part]) -> pd.DataFrame:
        ddof = self.options.ddof
        spread = [statistics.sigma(statistics.proxy(p.ap, p.cell_boxes), ddof) for p in parts]
        plain = [POINTS * statistics.sigma(p.ap[0], ddof, "leave out") for p in parts]
        resamples = np.nan_to_num(np.array(spread), nan=-1.0)[:, 1:]
        firsts = np.bincount(resamples.argmax(0), minlength=len(parts)) if resamples.size else None
        rows = [
            {"class": name, "attribute": p.name}
            | self._with_interval("proxy_sigma", s)
            | {"first": np.nan if firsts is None else firsts[i] / resamples.shape[1]}
            | {"plain_sigma": plain[i]}
            for i, (p, s) in enumerate(zip(parts, spread, strict=True))
        ]
        table = pd.DataFrame(rows)
        table["plain_rank"] = table.plain_sigma.rank(ascending=False, method="first")
        table = table.sort_values("proxy_sigma", ascending=False, kind="stable", ignore_index=True)
        table.insert(1, "rank", np.arange(1, len(table) + 1))
        return table

    def _controlled(self, name: str, part: Part) -> dict:
        ddof = self.options.ddof
        before = statistics.sigma(self.estimates[name].group_ap, ddof)
        after = statistics.controlled(part.cell_ap, ddof)
        adjusted = statistics.sigma(part.standardised, ddof)
        usable = ~np.isnan(part.cell_ap[0]).any(1)
        covered = part.cell_boxes[0][usable].sum() / max(part.cell_boxes[0].sum(), 1)
        delta = self._with_interval("delta", before - after)
        standard = self._with_interval("standardised_delta", before - adjusted, "standardised_")
        return {
            "class": name,
            "attribute": part.name,
            "sigma": POINTS * before[0],
            "controlled": POINTS * after[0],
            **delta,
            "standardised": POINTS * adjusted[0],
            **standard,
            "strata": f"{usable.sum()} of {len(usable)}",
            "covered": covered,
        }


def readable(control: pd.DataFrame) -> pd.DataFrame:
    """Table 2 for reading: each fall of sigma in one cell with its interval.

    Parameters
    ----------
    control : DataFrame
        From :meth:`Analysis.control`.

    Returns
    -------
    DataFrame
        ``class attribute``; ``σ``; ``within strata`` and ``Δ [95%]``; ``standardised`` and ``its
        fall [95%]``; ``strata`` and ``covered``.
    """
    falls = {
        name: [
            "–" if np.isnan(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"
            for value, low, high in zip(*(control[c] for c in (name, *ends)), strict=True)
        ]
        for name, ends in INTERVALS.items()
    }
    rounded = control[["sigma", "controlled", "standardised", "covered"]].round(2)
    return pd.DataFrame(
        {
            "class": control["class"],
            "attribute": control.attribute,
            "σ": rounded.sigma,
            "within strata": rounded.controlled,
            "Δ [95%]": falls["delta"],
            "standardised": rounded.standardised,
            "its fall [95%]": falls["standardised_delta"],
            "strata": control.strata,
            "covered": rounded.covered,
        }
    )
