"""Audit a detector by group, and measure which faults the audit could detect."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers import store
from helpers.audit import form
from helpers.figures import icon2 as figures
from helpers.icon2 import (
    deployed,
    detector_findings,
    group_gaps,
    injected_faults,
    pooled_recall,
    user_data,
)
from helpers.icon2.analysis import image_weights
from helpers.icon2.attributes import DetectionDataError, Frames, explaining
from helpers.icon2.coco_summary import BOUNDS, coco_summary
from helpers.icon2.compared import (
    classes_to_compare,
    comparable,
    explained,
)
from helpers.icon2.detector_findings import ALL_POOLED, FOUND
from helpers.icon2.file_checks import check_classes
from helpers.icon2.group_gaps import (
    Comparison,
    Null,
    group_ap,
    permuted_attributes,
)
from helpers.icon2.matching import match

LOSSES = (0.02, 0.05, 0.1, 0.2, 0.3)  # injected faults: lost shares of detected boxes
TRIALS = 20  # permutations per injected fault
EXPLAINED_GAPS = 3  # gaps of single classes that are explained
RATE_RESAMPLES = 999  # for the errors at the threshold, which are fast
LEAST_AP = 0.01  # at IoU 0.5, below which the files probably do not belong together
SIDES = (32, 96)  # pixels: COCO's small, medium and large
MOST_SHOWN = 60  # rows of a table in the report
SAMPLE = "data/audit"
SAMPLE_SIDES = (9, 16)
# the parts of the report, in its order
HEADINGS = {
    "files": "What was read, and what looks wrong",
    "power": "What this audit could have detected",
    "findings": "Findings",
    "pooled": "Recall, all classes pooled",
    "by_size": "Recall by box size",
    "errors": "Misses and false positives at the threshold",
    "second": "The second detector minus the first",
    "gaps": "Gaps in average precision (AP)",
    "explanations": "What could explain the significant gaps",
    "by_group": "AP of each group",
    "truth": "The truth of this sample",
}
MEANINGS = {
    "power": "The share of permutations in which a fault was detected, by the share of "
    "the detected boxes that one group lost. First all classes pooled (recall), then "
    "single classes (AP).",
    "pooled": "The difference (points, with its 95% CI) is the gap in recall between "
    "a group and all others at the same class and size of the boxes.",
    "gaps": "Low and high are the 95% CI of the gap. Remaining is what is left of it "
    "with box size held fixed.",
    "explanations": "The fall is how many points of a gap go if all groups have the "
    "same mix of a candidate's values.",
}
CAPTIONS = {
    "by_size": "Recall by the side of the boxes.",
    "gaps": "Gaps in AP with 95% CIs; grey: not significant.",
}
LIMITS = [
    "Class and size of the boxes are held fixed in the first table, nothing else. An "
    "attribute that is not in the data may be the cause.",
    "Injected faults are lost boxes. The audit may miss false detections and misplaced "
    "boxes that it was not tested with.",
    "AP of few boxes is somewhat too high. The permutations contain this error, the "
    "intervals do not.",
    "No number here says whether the labels are correct and equally complete for all "
    "groups, or whether a gap is unfair.",
]
NO_ATTRIBUTE = (
    "There is no attribute to compare, so the audit compares small, medium and large "
    "boxes. To compare groups, name a CSV file with one column per attribute as "
    "'attributes'."
)
NO_CLUSTER = (
    "Images count as independent. If some belong together, as frames of one drive do, "
    "name their column as 'cluster'. Otherwise intervals are too narrow."
)


@dataclass(frozen=True)
class DetectorAudit:
    """Hold what an audit of a detector found, and what it could have detected.

    Attributes
    ----------
    name : str
        Name of the file of labels.
    headline : str
        The most important finding in a sentence or two.
    tables : dict of str to pandas.DataFrame
        Tidy tables; `HEADINGS` says what they hold.
    notes : list of str
        What could not be compared, and limits.
    """

    name: str
    headline: str
    tables: dict[str, pd.DataFrame]
    notes: list[str]

    @property
    def significant(self) -> pd.DataFrame:
        """Return the significant findings."""
        return self.tables["findings"].query("verdict == @FOUND")

    @property
    def power_sentences(self) -> list[str]:
        """Say what the audit could have detected with all classes pooled."""
        power = self.tables["power"]
        detected = (power["rate"] * power["n"]).map("{:.0f}".format)
        loss = power["loss"].map("{:.0%}".format)
        power = power.assign(detected=detected, loss=loss)
        sentences = [
            f"Without a fault, {detected[0]} of {power['n'][0]} permutations had a "
            "false positive."
        ]
        pooled = power[power["class"] == ALL_POOLED]
        for (name, group), part in pooled.groupby(["attribute", "group"], sort=False):
            losses = ", ".join(part["loss"])
            counts = ", ".join(part["detected"])
            sentences.append(
                f"{name}, all classes pooled: if the group {group} lost {losses} of "
                f"its detected boxes, this was detected in {counts} of {TRIALS} "
                "permutations."
            )
        return sentences

    def shown(self, name: str) -> pd.DataFrame:
        """Return a table as the report shows it."""
        table = self.tables[name]
        if name == "findings":
            return table[["sentence", "verdict", "p"]]
        if name == "by_size":
            side = table["side"].astype(str) + " px"
            keys = ["attribute", "group"]
            wide = table.pivot_table("recall", keys, side, sort=False)
            return wide.reset_index().rename_axis(columns=None)
        if name == "power":
            loss = table["loss"].map("{:.0%} lost".format)
            keys = ["class", "attribute", "group"]
            wide = table.pivot_table("rate", keys, loss, sort=False)
            return wide.reset_index().rename_axis(columns=None)
        if name == "explanations":  # the paper's rules need the lesson
            return table.filter(regex="attribute|class|candidate|gap|fall|remain|suite")
        return table.head(MOST_SHOWN)

    def plot_recall(self) -> Figure:
        """Draw recall by box size for the attribute of the first finding."""
        by_size = self.tables["by_size"]
        first = self.tables["findings"]["by"][0]
        return figures.recall_by_size(by_size[by_size["attribute"] == first])

    def plot_gaps(self) -> Figure:
        """Draw the gaps in AP with what is significant."""
        return figures.gaps(self.tables["gaps"].head(15))

    def to_html(self, command: str = "") -> str:
        """Return the report as one HTML page, with the command that makes it again."""
        first = {"power": self.power_sentences}
        drawn = {"by_size": self.plot_recall, "gaps": self.plot_gaps}
        parts = []
        for name, heading in HEADINGS.items():
            if self.tables.get(name, pd.DataFrame()).empty:
                continue
            if name in drawn:
                figure = drawn[name]()
                plt.close(figure)
                first[name] = (figure, CAPTIONS[name])
            parts.append(
                (heading, first.get(name), MEANINGS.get(name), self.shown(name))
            )
        parts += [("Limits", self.notes), ("The command", command)]
        return form.page(f"Audit of {self.name}", self.headline, parts)

    def save(self, folder: str | Path, command: str = "", **about) -> None:
        """Write page.html, one CSV per table, and findings.json."""
        findings = self.tables["findings"].to_dict("records")
        about = {"labels": self.name, "command": command, **about}
        form.write(folder, self.to_html(command), self.tables, findings, **about)


def audit_detector(
    labels: str | Path,
    detections: str | Path,
    attributes: str | Path | None = None,
    *,
    groups: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    sizes: Sequence[float] = SIDES,
    cluster: str | None = None,
    threshold: float = 0.5,
    second: str | Path | None = None,
    draws: int = 999,
    resamples: int = 60,
    seed: int = 0,
) -> DetectorAudit:
    """Audit a detector from its labels and detections.

    Parameters
    ----------
    labels : path
        COCO's JSON, the labels of BDD100K (``det_20``), a CSV with the columns
        ``image, class, x1, y1, x2, y2`` in pixels, or the folder of YOLO's text files,
        with the images in the folder ``images`` next to ``labels``.
    detections : path
        COCO's list of results, BDD100K's, a CSV with the column ``score`` as well, or
        the folder of YOLO's text files with scores. Provide all scores.
    attributes : path, optional
        A CSV with a column ``image`` (file names) or ``box`` (ids of annotations), and
        one column per attribute.
    groups : sequence of str, optional
        Attributes whose groups are compared, by default all.
    classes : sequence of str, optional
        Classes that are compared one by one, by default the eight with most boxes.
    sizes : sequence of float
        Sides of medium and large boxes, in pixels.
    cluster : str, optional
        Column of images that belong together, such as frames of one drive.
    threshold : float
        The score at which the detector is used.
    second : path, optional
        Detections of a second detector in the same images.
    draws, resamples : int
        Numbers of permutations and of bootstrap resamples of images, at least 60.
    seed : int

    Returns
    -------
    DetectorAudit

    Raises
    ------
    DetectionDataError
        If a file or an attribute cannot be used.
    """
    frames = user_data.read(labels, detections, attributes)
    bounds = [side**2 for side in sizes]
    tables = {"files": _checked_files(frames, bounds)}
    compared, notes = comparison(frames, groups, classes, cluster, seed, bounds)
    null = group_gaps.null_distribution(compared, draws)
    tables["power"] = injected_faults.detection_rates(
        compared, null, LOSSES, TRIALS, seed
    )
    clusters = compared.recall.clusters
    weights = image_weights(len(clusters), max(resamples, 60), seed, clusters)
    tables |= differences(frames, compared, null, bounds, weights, seed)

    weights = image_weights(len(clusters), RATE_RESAMPLES, seed, clusters)
    errors = deployed.errors_at(frames, compared.matches, threshold)
    tables["errors"] = deployed.by_group(errors, compared, weights, draws)
    if second is not None:
        other = user_data.read(labels, second, attributes)
        other_errors = deployed.errors_at(other, match(other), threshold)
        tables["second"] = deployed.compare(
            errors, other_errors, compared.attributes, weights
        )
    headline = detector_findings.headline(tables["findings"])
    n_compared = tables["gaps"]["class"].nunique()
    headline += f" {n_compared} of {len(frames.classes)} classes could be compared"
    headline += " one by one."
    return DetectorAudit(Path(labels).name, headline, tables, notes + LIMITS)


def _checked_files(frames: Frames, bounds: Sequence[float]) -> pd.DataFrame:
    """List what looks wrong, with what to do, and then what was read.

    Raises
    ------
    DetectionDataError
        If the labels and the detections seem not to belong together.
    """
    warnings = [*frames.warnings, *check_classes(frames)]
    average_precision = coco_summary(frames, bounds)
    if average_precision["IoU 0.5"] < LEAST_AP:
        raise DetectionDataError(
            "The detector finds almost nothing: AP at IoU 0.5 is "
            f"{average_precision['IoU 0.5']:.1%}. Check that image ids, class names "
            "and coordinates mean the same in both files. No groups are compared."
        )
    rows = [("check first", text) for text in warnings]
    rows += [("read", text) for text in frames.report]
    listed = [f"{name} {100 * ap:.1f}" for name, ap in average_precision.items()]
    rows.append(("AP as COCO's evaluator prints it", ", ".join(listed)))
    return pd.DataFrame(rows, columns=["status", "text"])


def comparison(
    frames: Frames,
    groups: Sequence[str] | None,
    classes: Sequence[str] | None,
    cluster: str | None,
    seed: int,
    bounds: Sequence[float] = BOUNDS,
) -> tuple[Comparison, list[str]]:
    """Return what is compared, and notes on what is not."""
    attributes, notes = comparable(frames, groups)
    if not attributes:
        attributes = explaining(frames, bounds)[:1]  # the size
        notes.insert(0, NO_ATTRIBUTE)
    clusters = frames.clusters(cluster)
    if clusters is None:
        notes.append(NO_CLUSTER)
        clusters = np.arange(len(frames.images))
    matches = match(frames)
    names = classes_to_compare(matches, classes)
    by_name = {name: matches.of(name) for name in names}
    boxes = pooled_recall.labelled_boxes(frames, matches)
    recall = pooled_recall.RecallBySize(boxes, clusters)
    permutations = permuted_attributes(attributes, matches.boxes, clusters, seed)
    return Comparison(matches, by_name, attributes, recall, permutations), notes


def differences(
    frames: Frames,
    compared: Comparison,
    null: Null,
    bounds: Sequence[float],
    weights: np.ndarray,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Tabulate the differences between groups, and what may explain the gaps in AP."""
    attributes = compared.attributes
    recall = compared.recall
    ap = group_ap(compared.classes, attributes, weights)
    area = frames.boxes["area"].to_numpy(float)
    gaps = group_gaps.gap_table(compared, null, ap, area, weights)
    null_p = partial(null.p, family=group_gaps.RECALL)
    pooled = pooled_recall.by_group(recall, attributes, null_p)

    known, _ = comparable(frames, None)
    candidates = known + explaining(frames, bounds)
    explanations = [pd.DataFrame()]
    for row in gaps[gaps["verdict"] == FOUND].head(EXPLAINED_GAPS).to_dict("records"):
        [attribute] = [one for one in attributes if one.name == row["attribute"]]
        table = explained(
            compared.matches,
            attribute,
            row["class"],
            candidates,
            seed=seed,
            clusters=recall.clusters,
            resamples=len(weights) - 1,
        )
        explanations.append(table)
    return {
        "findings": detector_findings.findings(pooled, gaps),
        "pooled": pooled,
        "by_size": pooled_recall.within_size(recall.boxes, attributes),
        "gaps": gaps,
        "explanations": pd.concat(explanations, ignore_index=True),
        "by_group": group_gaps.ap_table(compared, ap),
    }


def audit_sample(**settings) -> DetectorAudit:
    """Audit the sample of synthetic street scenes of three districts.

    Parameters
    ----------
    **settings
        See `audit_detector`.

    Returns
    -------
    DetectorAudit
        With the table ``truth``: the gap of each class, high minus low income (AP
        points), and its two parts.
    """
    folder = store.root() / SAMPLE
    settings = {"groups": ["district", "scene"], "sizes": SAMPLE_SIDES} | settings
    audit = audit_detector(
        folder / "street_labels.csv.gz",
        folder / "street_predictions.csv.gz",
        folder / "street_images.csv",
        **settings,
    )
    audit.tables["truth"] = pd.read_csv(folder / "street_truth.csv")
    return audit
