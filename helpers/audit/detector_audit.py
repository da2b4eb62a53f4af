"""Audit a detector by group, and measure which faults the audit could detect."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from helpers import store
from helpers.audit import form
from helpers.figures import style
from helpers.icon2 import measures, user_data
from helpers.icon2.attributes import (
    SIDES,
    DetectionDataError,
    Frames,
    explaining,
    permuted_attributes,
)
from helpers.icon2.comparable import classes_to_compare, comparable
from helpers.icon2.file_checks import LEAST_AP, check_classes, coco_summary
from helpers.icon2.group_ap import ap_by_group, explained
from helpers.icon2.group_comparison import (
    EXPLAINED,
    FOUND,
    NO_GAP,
    compare,
    compare_detectors,
    detection_rates,
    null_distribution,
    select_findings,
    write_headline,
)
from helpers.icon2.matching import match
from helpers.icon2.measures import (
    FALSE_POSITIVES,
    KEYS,
    recall_by_size,
    units_to_compare,
)
from helpers.suggest import listed

MOST_DRAWN = 20  # findings in the figure
LEAST_RESAMPLES = 60
LEAST_DRAWS = 19
POWER = (
    "The audit permutes the groups at random, and then removes a share of the detected "
    "boxes of the smallest group. The columns show the share of permutations in which "
    "it detected this loss. The first row has no loss. It shows the false-positive "
    "rate, which the test sets to 5% at most. Each loss has 20 permutations, and the "
    "first row has 40."
)
BY_SIZE = (
    "Recall at IoU 0.5 of all classes, by the side of the boxes (pixels). Each range "
    "of sizes has about a fifth of all boxes."
)
FINDINGS = (
    "Differences with 95% CIs. Red: significant; black: may be due to class or size; "
    "grey: not significant."
)
DIFFERENCES = (
    "The table has recall (percent) and false positives at the threshold. Average "
    "recall is the mean over the IoU thresholds from 0.5 to 0.95. The gap is the value "
    "of a group minus the value of all others. The difference (with its 95% CI) is "
    "what is left of the gap at the same class and size of the boxes; for false "
    "positives, it is the gap itself. P is adjusted for all rows, and the CI is not. "
    "'at_all_scores' is the difference in recall if detections with all scores count."
)
SECOND = (
    "The difference is the value of the second detector minus the value of the first, "
    "with its 95% CI, paired by box and image. P is adjusted for all rows (Holm). If "
    "recall and false positives are both higher, a lower threshold of the first "
    "detector may have the same effect."
)
EXPLANATIONS = (
    "Sigma is the standard deviation of AP over the groups (points). The fall says "
    "how much smaller sigma is if all groups have the same mix of a candidate's "
    "values. AP counts detections with all scores, so it may have no gap where recall "
    "has one. Lesson 08 of the suite defines the other columns."
)
LIMITS = [
    "For recall, only the class and size of the boxes are held fixed. For false "
    "positives, nothing is held fixed. An attribute that is not in the data may be the "
    "cause.",
    "Injected faults are lost boxes. We did not measure how often the audit detects "
    "additional false positives or misplaced boxes.",
    "AP of few boxes is somewhat too high, and its interval does not contain this "
    "error.",
    "No number here says whether the labels are correct and equally complete for all "
    "groups, or whether a gap is unfair.",
]
NO_ATTRIBUTE = (
    "There is no attribute to compare, so the audit compares small, medium and large "
    "boxes. To compare groups, name a CSV file as 'attributes'. It needs one row per "
    "image, and one column per attribute."
)
NO_CLUSTER = (
    "Images count as independent. If some belong together, such as the frames of one "
    "drive, name the column that says so as 'cluster'. Otherwise the intervals are too "
    "narrow."
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
        Tidy tables; `to_html` says what they hold.
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

    def plot_findings(self) -> Figure:
        """Draw the difference of each finding, coloured by its verdict."""
        table = self.tables["findings"].head(MOST_DRAWN).copy()
        table["row"] = table[KEYS].agg(", ".join, axis=1)
        figure = Figure(figsize=(9.5, 1 + 0.35 * len(table)))
        ax = figure.subplots()
        looks = style.series([FOUND, NO_GAP, EXPLAINED])
        style.compared(ax, table, "difference", "row", looks, "verdict", apart=0)
        ax.axvline(0, **style.ZERO)
        ax.set_xlabel("points of recall (right is better); false positives (left is)")
        return figure

    def plot_by_size(self) -> Figure:
        """Draw the recall of each group by the size of the boxes."""
        by_size = self.tables["by_size"]
        grid = sns.relplot(
            by_size,
            x="side",
            y="recall",
            hue="group",
            col="attribute",
            kind="line",
            marker="o",
            height=3.2,
            aspect=1.2,
        )
        grid.set(xlabel="side of the box (pixels)", ylabel="recall at IoU 0.5 (%)")
        grid.tick_params("x", rotation=30)
        plt.close(grid.figure)
        return grid.figure

    def to_html(self, command: str = "") -> str:
        """Return the report as one HTML page, with the command that repeats it."""
        tables = self.tables
        power = tables["power"].pivot_table("rate", KEYS, "loss", sort=False)
        power = power.rename(columns="{:.0%} lost".format)
        findings = tables["findings"][["sentence", "verdict", "p"]]
        groups = ["attribute", "group"]
        by_size = tables["by_size"]
        recall = by_size.pivot_table("recall", groups, "side", sort=False)
        parts = [
            ("What was read, and what looks wrong", tables["files"]),
            ("What this audit could have detected", POWER, _flat(power)),
            ("Findings", (self.plot_findings(), FINDINGS), findings),
            ("Recall by box size", (self.plot_by_size(), BY_SIZE), _flat(recall)),
            ("The second detector minus the first", SECOND, tables.get("second")),
            ("What could explain a gap", EXPLANATIONS, tables["explanations"]),
            ("Average precision (AP) of each group", tables["by_group"]),
            ("All differences between groups", DIFFERENCES, tables["differences"]),
            ("Limits", self.notes),
            ("The command", command),
        ]
        return form.page(f"Audit of {self.name}", self.headline, parts)

    def save(self, folder: str | Path, command: str = "") -> None:
        """Write page.html, one CSV per table, and findings.json."""
        form.write(
            folder,
            self.to_html(command),
            self.tables,
            self.tables["findings"],
            labels=self.name,
            command=command,
        )


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
        COCO's list of results, BDD100K's, a CSV that also has the column ``score``, or
        the folder of YOLO's text files with scores. Include detections with low scores.
    attributes : path, optional
        A CSV with a column ``image`` (file names), and one column per attribute.
    groups : sequence of str, optional
        Attributes whose groups are compared, by default all.
    classes : sequence of str, optional
        Classes that are compared one by one, by default the eight with most boxes.
    sizes : sequence of float
        Sides of medium and large boxes, in pixels, by default COCO's.
    cluster : str, optional
        Column of images that belong together, such as frames of one drive.
    threshold : float
        The score at which the detector is used.
    second : path, optional
        Detections of a second detector in the same images.
    draws, resamples : int
        Numbers of permutations (raised to 19 if smaller), and of bootstrap resamples of
        images for the intervals of AP (raised to 60 if smaller).
    seed : int

    Returns
    -------
    DetectorAudit

    Raises
    ------
    DetectionDataError
        If a file or an attribute cannot be used.
    """
    frames = user_data.read(labels, detections, attributes, sides=sizes)
    tables = {"files": _checked_files(frames, threshold)}
    compared, notes = comparable(frames, groups, cluster)
    of_boxes = explaining(frames)
    if not compared:
        compared = of_boxes[:1]  # the size
        notes.insert(0, NO_ATTRIBUTE)
    clusters = frames.clusters(cluster)
    if cluster is None:
        notes.append(NO_CLUSTER)

    matches = match(frames)
    names = classes_to_compare(frames, classes)
    units = units_to_compare(frames, matches, threshold, names, clusters)
    permutations = permuted_attributes(compared, matches.boxes, clusters, seed)
    null = null_distribution(units, permutations, max(draws, LEAST_DRAWS))
    differences = compare(units, compared, null)
    every_score = units_to_compare(frames, matches, 0, names, clusters)
    at_all_scores = measures.by_group(every_score, compared, measures.differences)
    is_false = differences["measure"] == FALSE_POSITIVES
    differences["at_all_scores"] = at_all_scores["estimate"].mask(is_false)
    tables["power"] = detection_rates(units, differences, permutations, null, seed)
    findings = select_findings(differences)
    tables["findings"] = findings
    tables["by_size"] = recall_by_size(units, compared)
    tables["differences"] = differences
    if second is not None:
        other = user_data.read(labels, second, attributes, sides=sizes)
        files = _checked_files(other, threshold)
        files["status"] = "second detector, " + files["status"]
        tables["files"] = pd.concat([tables["files"], files], ignore_index=True)
        of_other = units_to_compare(other, match(other), threshold, names, clusters)
        tables["second"] = compare_detectors(units, of_other, compared)

    how = {
        "resamples": max(resamples, LEAST_RESAMPLES),
        "seed": seed,
        "clusters": clusters,
    }
    ap = ap_by_group(matches, compared, names, **how)
    every, _ = comparable(frames, None, cluster)
    tables["by_group"] = ap
    found = findings[findings["verdict"] == FOUND]
    gaps = found[["attribute", "class"]].merge(ap)  # of single classes
    tables["explanations"] = explained(matches, gaps, every + of_boxes, **how)
    left_out = [name for name in frames.classes if name not in names]
    if left_out:
        notes.append(f"These classes are not compared one by one: {listed(left_out)}.")
    headline = write_headline(findings)
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
            f"No detection has a score of at least {threshold:g}. The highest score is "
            f"{highest:.3g}. Set 'threshold' to the score at which the detector is "
            "used."
        )
    ap = [f"{name} {100 * value:.1f}" for name, value in average_precision.items()]
    texts = {
        "check first": warnings or ["nothing. Boxes of every class are detected"],
        "read": frames.report,
        "threshold": [
            f"recall and false positives count scores of at least {threshold:g}"
        ],
        "AP as COCO's evaluator prints it": [", ".join(ap)],
    }
    texts = pd.Series(texts, name="text").explode().dropna()
    return texts.rename_axis("status").reset_index()


def _flat(wide: pd.DataFrame) -> pd.DataFrame:
    """Return the index as columns, for a page that shows no index."""
    return wide.reset_index().rename_axis(columns=None)


def audit_sample(**settings) -> DetectorAudit:
    """Audit the sample of synthetic street scenes of three districts.

    Parameters
    ----------
    **settings
        See `audit_detector`.

    Returns
    -------
    DetectorAudit
    """
    folder = store.root() / "data/audit"
    settings = {"groups": ["district", "scene"], "sizes": (9, 16)} | settings
    return audit_detector(
        folder / "street_labels.csv.gz",
        folder / "street_predictions.csv.gz",
        folder / "street_images.csv",
        **settings,
    )
