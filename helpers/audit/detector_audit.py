"""Audit a detector by group, and measure which faults the audit could detect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers import store
from helpers.audit import form
from helpers.figures import icon2 as figures
from helpers.icon2 import detector_findings, group_comparison, user_data
from helpers.icon2.analysis import image_weights
from helpers.icon2.attributes import (
    SIDES,
    Attribute,
    DetectionDataError,
    Frames,
    explaining,
)
from helpers.icon2.comparable import classes_to_compare, comparable
from helpers.icon2.file_checks import LEAST_AP, check_classes, coco_summary
from helpers.icon2.group_ap import ap_by_group, explained
from helpers.icon2.group_comparison import FOUND, Comparison, permuted_attributes
from helpers.icon2.matching import Matches, match
from helpers.icon2.measures import (
    ALL_CLASSES,
    measures,
    recall_by_size,
)

LOSSES = (0.02, 0.05, 0.1, 0.2, 0.3)  # injected faults: lost shares of detected boxes
TRIALS = 20  # permutations per injected fault
MOST_EXPLAINED = 3  # differences in single classes that are explained
MOST_DRAWN = 20  # findings in the figure
LEAST_RESAMPLES = 60
LEAST_DRAWS = 19
MOST_SHOWN = 60  # rows of a table in the report
SAMPLE = "data/audit"
SAMPLE_SIDES = (9, 16)
# the parts of the report, in its order
HEADINGS = {
    "files": "What was read, and what looks wrong",
    "power": "What this audit could have detected",
    "findings": "Findings",
    "by_size": "Recall by box size",
    "differences": "All differences between groups",
    "second": "The second detector minus the first",
    "explanations": "What could explain a gap in average precision (AP)",
    "by_group": "AP of each group",
    "truth": "The truth of this sample",
}
MEANINGS = {
    "power": "The groups are permuted at random, and then the smallest group loses a "
    "share of its detected boxes. The table has the share of permutations in which "
    "this was detected. The first row, without a loss, is the rate of false positives, "
    "which the test sets to 5% at most.",
    "differences": "Recall (percent) and false positives at the threshold. Average "
    "recall is the mean over the IoU thresholds from 0.5 to 0.95. The difference (with "
    "its 95% CI) is the gap between a group and all others at the same class and size "
    "of the boxes. P is adjusted for all rows.",
    "explanations": "Sigma is the standard deviation of AP over the groups (points). "
    "The fall is how much smaller it is if all groups have the same mix of a "
    "candidate's values.",
}
CAPTIONS = {
    "findings": "Differences with 95% CIs; grey: not significant.",
    "by_size": "Recall at IoU 0.5 by the side of the boxes.",
}
SHOWN_OF_EXPLANATIONS = (
    "attribute",
    "class",
    "candidate",
    "sigma",
    "remaining",
    "fall",
    "fall_low",
    "fall_high",
    "suite's rule",
)
LIMITS = [
    "Class and size of the boxes are held fixed for recall, nothing else, and nothing "
    "for false positives. An attribute that is not in the data may be the cause.",
    "Injected faults are lost boxes. We did not measure how often the audit detects "
    "additional false positives or misplaced boxes.",
    "AP of few boxes is somewhat too high, and its interval does not contain this "
    "error.",
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
        findings = self.tables["findings"]
        return findings[findings["verdict"] == FOUND]

    def shown(self, name: str) -> pd.DataFrame:
        """Return a table as the report shows it."""
        table = self.tables[name]
        if name == "findings":
            return table[["sentence", "verdict", "p"]]
        if name == "by_size":
            keys = ["attribute", "group"]
            wide = table.pivot_table("recall", keys, "side", observed=False)
            return wide.rename(columns="{} px".format).reset_index()
        if name == "power":
            loss = table["loss"].map("{:.0%} lost".format)
            keys = ["measure", "class", "attribute", "group"]
            wide = table.pivot_table("rate", keys, loss, sort=False)
            return wide.reset_index().rename_axis(columns=None)
        if name == "explanations":  # the paper's rules need the lesson
            return table.filter(items=SHOWN_OF_EXPLANATIONS)
        return table.head(MOST_SHOWN)

    def plot_by_size(self) -> Figure:
        """Draw recall by box size for the attribute of the first finding."""
        by_size = self.tables["by_size"]
        first = self.tables["findings"]["by"][0]
        return figures.recall_by_size(by_size[by_size["attribute"] == first])

    def plot_findings(self) -> Figure:
        """Draw the difference of each finding with its interval."""
        return figures.findings(self.tables["findings"].head(MOST_DRAWN))

    def to_html(self, command: str = "") -> str:
        """Return the report as one HTML page, with the command that makes it again."""
        drawn = {"findings": self.plot_findings, "by_size": self.plot_by_size}
        parts = []
        for name, heading in HEADINGS.items():
            if self.tables.get(name, pd.DataFrame()).empty:
                continue
            part = [MEANINGS.get(name), self.shown(name)]
            if name in drawn:
                figure = drawn[name]()
                plt.close(figure)
                part.insert(0, (figure, CAPTIONS[name]))
            parts.append((heading, *part))
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
        A CSV with a column ``image`` (file names), and one column per attribute.
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
        Numbers of permutations (at least 19), and of bootstrap resamples of images for
        the intervals of AP (at least 60).
    seed : int

    Returns
    -------
    DetectorAudit

    Raises
    ------
    DetectionDataError
        If a file or an attribute cannot be used.
    """
    if draws < LEAST_DRAWS:
        raise DetectionDataError(
            f"draws is {draws}, and no difference can be significant with fewer than "
            f"{LEAST_DRAWS} permutations."
        )
    frames = user_data.read(labels, detections, attributes)
    frames = replace(frames, sides=sizes)
    tables = {"files": _checked_files(frames, threshold)}
    compared_attributes, notes = comparable(frames, groups, cluster)
    of_boxes = explaining(frames)
    if not compared_attributes:
        compared_attributes = of_boxes[:1]  # the size
        notes.insert(0, NO_ATTRIBUTE)
    clusters = frames.clusters(cluster)
    if clusters is None:
        notes.append(NO_CLUSTER)
        clusters = np.arange(len(frames.images))

    matches = match(frames)
    names = classes_to_compare(frames, classes)
    comparison = Comparison(
        measures=measures(frames, matches, threshold, names, clusters),
        attributes=compared_attributes,
        permutations=permuted_attributes(
            compared_attributes, matches.boxes, clusters, seed
        ),
    )
    null = group_comparison.null_distribution(comparison, draws)
    tables["power"] = group_comparison.detection_rates(
        comparison, null, LOSSES, TRIALS, seed
    )
    differences = group_comparison.compare(comparison, null)
    tables["findings"] = detector_findings.findings(differences)
    tables["by_size"] = recall_by_size(
        comparison.measures[0].units, compared_attributes
    )
    tables["differences"] = differences
    if second is not None:
        other = user_data.read(labels, second, attributes)
        of_other = measures(other, match(other), threshold, names, clusters)
        of_second = replace(comparison, measures=of_other)
        tables["second"] = group_comparison.compare_detectors(comparison, of_second)

    resamples = max(resamples, LEAST_RESAMPLES)
    weights = image_weights(len(clusters), resamples, seed, clusters)
    tables["by_group"] = ap_by_group(matches, names, compared_attributes, weights)
    how = {"seed": seed, "clusters": clusters, "resamples": resamples}
    every, _ = comparable(frames, None, cluster)
    tables["explanations"] = _explanations(matches, differences, every + of_boxes, how)
    headline = detector_findings.headline(tables["findings"])
    headline += f" {len(names)} of {len(frames.classes)} classes were compared one by"
    headline += " one."
    return DetectorAudit(Path(labels).name, headline, tables, notes + LIMITS)


def _checked_files(frames: Frames, threshold: float) -> pd.DataFrame:
    """List what looks wrong, with what to do, and then what was read.

    Raises
    ------
    DetectionDataError
        If the labels and the detections seem not to belong together, or if no detection
        has a score of at least the threshold.
    """
    average_precision = coco_summary(frames)
    warnings = check_classes(frames)
    if average_precision["IoU 0.5"] < LEAST_AP:
        raise DetectionDataError(
            "The detector finds almost nothing: AP at IoU 0.5 is "
            f"{average_precision['IoU 0.5']:.1%}. Check that image ids, class names "
            "and coordinates mean the same in both files. No groups are compared. "
            + " ".join(warnings)
        )
    highest = frames.detections["score"].max()
    if highest < threshold:
        raise DetectionDataError(
            f"No detection has a score of at least {threshold:g}; the highest is "
            f"{highest:.3g}. Set 'threshold' to the score at which the detector is "
            "used."
        )
    rows = [("check first", text) for text in warnings]
    rows += [("read", text) for text in frames.report]
    listed = [f"{name} {100 * ap:.1f}" for name, ap in average_precision.items()]
    rows.append(("AP as COCO's evaluator prints it", ", ".join(listed)))
    return pd.DataFrame(rows, columns=["status", "text"])


def _explanations(
    matches: Matches,
    differences: pd.DataFrame,
    candidates: Sequence[Attribute],
    how: Mapping,
) -> pd.DataFrame:
    """Say what could explain the gap in AP of classes with a significant difference."""
    is_found = differences["verdict"] == FOUND
    is_found &= differences["class"] != ALL_CLASSES
    found = differences[is_found].sort_values("p", kind="stable")
    pairs = found[["attribute", "class"]].drop_duplicates().head(MOST_EXPLAINED)
    by_name = {one.name: one for one in candidates}
    tables = [pd.DataFrame()]
    for name, class_name in pairs.itertuples(index=False):
        table = explained(matches, by_name[name], class_name, candidates, **how)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


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
