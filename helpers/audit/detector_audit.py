"""Audit a detector by group, and measure which faults the audit could detect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers import stats, store
from helpers.audit import form
from helpers.figures import icon2 as figures
from helpers.icon2 import (
    deployed,
    detector_findings,
    injected_faults,
    pooled_recall,
    user_data,
)
from helpers.icon2.analysis import POINTS, image_weights
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.coco_summary import coco_summary
from helpers.icon2.compared import (
    best_explanation,
    classes_to_compare,
    comparable,
    explained,
    values_table,
)
from helpers.icon2.group_gaps import (
    ALL,
    HOW,
    Null,
    group_ap,
    interval,
    null_distribution,
    permuted_attributes,
)
from helpers.icon2.matching import match
from helpers.icon2.mistaken_classes import mistaken
from helpers.icon2.pooled_recall import ALL_POOLED, RecallBySize, codes_of

LOSSES = (0.02, 0.05, 0.1, 0.2, 0.3)  # injected faults: lost shares of detected boxes
TRIALS = 20  # permutations per injected fault
EXPLAINED_GAPS = 3  # gaps of single classes that are explained
WORST_IMAGES = 20  # listed per gap
RATE_RESAMPLES = 999  # for the errors at the threshold, which are fast
SIDES = (32, 96)  # pixels: COCO's small, medium and large
SAMPLE = "data/audit"
SAMPLE_SIDES = (9, 16)
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
NO_GROUPS = "There is no attribute to compare, so the audit compares box sizes."
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
    files : pandas.DataFrame
        What was read, what looks wrong and what to do about it.
    findings : pandas.DataFrame
        One row per finding, with its sentence, verdict and adjusted p value.
    power : pandas.DataFrame
        How often injected faults were detected (see `group_gaps.detection_rates`).
    pooled : pandas.DataFrame
        Recall of each group, all classes pooled (see `pooled_recall.by_group`).
    by_size : pandas.DataFrame
        The same by the size of the boxes.
    errors : pandas.DataFrame
        Misses and false positives at the threshold (see `deployed.by_group`).
    second : pandas.DataFrame
        A second detector next to the first (see `deployed.compare`), or empty.
    gaps : pandas.DataFrame
        Gaps in AP (see `detector_findings.gaps`).
    by_group : pandas.DataFrame
        AP of each class and group, with 95% intervals.
    explanations : pandas.DataFrame
        What could explain the significant gaps (see `compared.explained`).
    missed : pandas.DataFrame
        The images with the most missed boxes behind the significant gaps.
    values : pandas.DataFrame
        The groups that are compared.
    notes : list of str
        What could not be compared, and limits.
    threshold : float
        Of the score, for `errors` and `second`.
    """

    name: str
    headline: str
    files: pd.DataFrame
    findings: pd.DataFrame
    power: pd.DataFrame
    pooled: pd.DataFrame
    by_size: pd.DataFrame
    errors: pd.DataFrame
    second: pd.DataFrame
    gaps: pd.DataFrame
    by_group: pd.DataFrame
    explanations: pd.DataFrame
    missed: pd.DataFrame
    values: pd.DataFrame
    notes: list[str]
    threshold: float
    null: Null = field(repr=False)

    @property
    def significant(self) -> pd.DataFrame:
        """Return the significant findings."""
        return self.findings[self.findings["verdict"] == detector_findings.YES]

    @property
    def faults(self) -> pd.DataFrame:
        """Return the detection rates of injected faults with a loss above 0."""
        return self.power[self.power["loss"] > 0]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Return all tables that are not empty, by name."""
        tables = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, pd.DataFrame) and len(value):
                tables[one.name.replace("_", "-")] = value
        return tables

    def detected_losses(self) -> pd.DataFrame:
        """Return the smallest loss of detected boxes with a power of 80%.

        Returns
        -------
        pandas.DataFrame
            One row per ``attribute``, ``class`` and ``group``, with the detections by
            loss and ``smallest_loss``, NaN if no tried loss is detected often enough.
        """
        faults = self.faults
        keys = ["attribute", "class", "group"]
        table = faults.pivot_table("detected", keys, "loss", sort=False).astype(int)
        table.columns = [f"{loss:.0%} lost" for loss in table.columns]
        smallest = {
            key: stats.smallest_detectable(part, "loss", "rate")
            for key, part in faults.groupby(keys, sort=False)
        }
        table["smallest_loss"] = pd.Series(smallest)
        return table.reset_index()

    def power_sentences(self) -> list[str]:
        """Say what the audit could have detected."""
        if self.faults.empty:
            return ["No group has enough boxes to inject a fault."]
        no_fault = self.power.iloc[0]
        sentences = [
            f"Without a fault, {no_fault['detected']} of {no_fault['n']} permutations "
            "had a false positive."
        ]
        for name, part in self.detected_losses().groupby("attribute", sort=False):
            is_missed = part["smallest_loss"].isna()
            detected = part[(part["class"] == ALL_POOLED) & ~is_missed]
            for row in detected.to_dict("records"):
                sentences.append(
                    f"{name}: if the group {row['group']} lost about "
                    f"{row['smallest_loss']:.0%} of its detected boxes, this would be "
                    "detected in four of five cases (interpolated)."
                )
            if is_missed.any():
                sentences.append(
                    f"{name}: in {', '.join(part['class'][is_missed])}, even a loss "
                    f"of {LOSSES[-1]:.0%} is often missed."
                )
        return sentences

    @property
    def first_attribute(self) -> str:
        """Return the attribute of the first finding."""
        return self.findings["attribute"].iloc[0]

    def plot_recall(self) -> Figure:
        """Draw recall by box size for the attribute of the first finding."""
        is_first = self.by_size["attribute"] == self.first_attribute
        return figures.recall_by_size(self.by_size[is_first])

    def plot_gaps(self) -> Figure:
        """Draw the gaps in AP with what is significant."""
        return figures.gaps(self.gaps.head(15), self.null)

    def plot_power(self) -> Figure:
        """Draw how often injected faults are detected."""
        return figures.detection_rates(self.faults)

    def to_html(self, command: str = "", more: Sequence[tuple] = ()) -> str:
        """Return the report as one HTML page.

        Parameters
        ----------
        command : str
            The command that makes it again.
        more : sequence of tuple
            Further parts, each a heading and its contents, as `form.page` has them.
        """
        drawn = []
        for draw, caption, table in (
            (self.plot_recall, "Recall by the side of the boxes.", self.by_size),
            (self.plot_gaps, "Gaps in AP; grey: not significant.", self.gaps),
            (self.plot_power, "Detected injected faults, by loss.", self.faults),
        ):
            figure = (draw(), caption) if len(table) else None
            drawn.append(figure)
            if figure is not None:
                plt.close(figure[0])
        recall, gaps, power = drawn
        # the ranks and rules of the paper need the explanation of the lesson
        explanations = self.explanations.filter(
            regex="attribute|class|candidate|gap|fall|remaining|suite"
        )
        error_title = f"Errors at a score of {self.threshold:g} or more"
        parts = [
            ("What was read, and what looks wrong", self.files),
            ("Findings", self.findings[["sentence", "verdict"]].head(12)),
            ("What this audit could have detected", self.power_sentences(), power),
            ("Recall, all classes pooled", pooled_recall.printed(self.pooled), recall),
            ("Recall by box size", pooled_recall.size_table(self.by_size)),
            (error_title, self.errors),
            ("The second detector minus the first", self.second),
            ("Gaps in average precision (AP)", gaps, self.gaps.head(20)),
            ("What could explain the significant gaps", explanations),
            ("Images with the most missed boxes", self.missed.head(12)),
            ("AP of each group", self.by_group.dropna(subset="AP").head(60)),
            ("Limits", self.notes),
            *more,
            ("The command", command),
        ]
        return form.page(f"Audit of {self.name}", self.headline, parts)

    def save(
        self, folder: str | Path, command: str = "", more: Sequence[tuple] = (), **about
    ) -> None:
        """Write page.html, one CSV per table, and findings.json."""
        form.write(
            folder,
            self.to_html(command, more),
            self.tables,
            self.findings.to_dict("records"),
            labels=self.name,
            command=command,
            **about,
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
    audit = AuditSteps(
        frames, groups, classes, sizes, cluster, max(resamples, 60), seed
    )
    audit.compare_groups(draws)
    audit.inject_faults()
    audit.explain()
    audit.count_errors(threshold, draws)
    second_rates = pd.DataFrame()
    if second is not None:
        other = user_data.read(labels, second, attributes)
        second_rates = audit.compare_detectors(other, threshold)
    return DetectorAudit(
        name=Path(labels).name,
        headline=audit.headline(),
        files=audit.files(),
        findings=audit.findings(),
        power=audit.power,
        pooled=audit.pooled,
        by_size=audit.by_size(),
        errors=audit.error_rates,
        second=second_rates,
        gaps=audit.gaps,
        by_group=audit.by_group(),
        explanations=_joined(audit.explanations),
        missed=_joined([audit.missed(row) for row in audit.surest]),
        values=values_table(frames, audit.attributes),
        notes=audit.notes,
        threshold=threshold,
        null=audit.null,
    )


class AuditSteps:
    """Take the steps of an audit, and collect their results.

    The `classes` are compared one by one, and the `boxes` of all classes pooled, by the
    groups of `attributes`. The `candidates` may explain a gap. `only_size` says that
    the size of the boxes is the only attribute, and `is_judged` is False if the files
    may not belong together.
    """

    def __init__(
        self,
        frames: Frames,
        groups: Sequence[str] | None,
        classes: Sequence[str] | None,
        sizes: Sequence[float],
        cluster: str | None,
        resamples: int,
        seed: int,
    ) -> None:
        self.frames = frames
        self.seed = seed
        self.matches = match(frames)
        self.clusters = frames.clusters(cluster)
        self.weights = self._weights(resamples)
        self.attributes, self.notes = comparable(frames, groups)
        every_attribute, _ = comparable(frames, None)
        bounds = [side**2 for side in sizes]
        of_boxes = user_data.explaining(frames, bounds)
        self.candidates = every_attribute + of_boxes
        self.only_size = not self.attributes
        limits = LIMITS
        if self.only_size:
            self.attributes = of_boxes[:1]
            self.notes.insert(0, f"{NO_GROUPS} Provide 'attributes' to compare groups.")
            limits = LIMITS[1:]
        if cluster is None:
            self.notes.append(NO_CLUSTER)
        self.notes += limits

        self.summary = coco_summary(frames, bounds)
        is_too_low = detector_findings.too_low(self.summary)
        exchanged = mistaken(frames)
        self.doubts = [*exchanged.values(), *is_too_low]
        names = classes_to_compare(self.matches, classes)
        trusted = [name for name in names if name not in exchanged]
        self.is_judged = not is_too_low and trusted and ALL_POOLED not in exchanged
        self.classes = {name: self.matches.of(name) for name in trusted or names}
        self.boxes = pooled_recall.labelled_boxes(frames, self.matches)
        if ALL_POOLED not in exchanged:  # else no box would be left
            of_class = np.array(frames.classes)[self.boxes["category"]]
            is_trusted = ~np.isin(of_class, [*exchanged])
            self.boxes = self.boxes[is_trusted].reset_index(drop=True)

    def _weights(self, resamples: int) -> np.ndarray:
        """Return how often each image counts, the sample itself first."""
        n_images = self.matches.n_images
        return image_weights(n_images, resamples, self.seed, self.clusters)

    def compare_groups(self, draws: int) -> None:
        """Compare the groups with each other, and with permuted groups."""
        hold_fixed = "class and size"
        area = self.frames.boxes["area"].to_numpy(float)
        if self.only_size:
            hold_fixed = "class"
            area = np.ones(len(area))
        together = self.clusters
        if together is None:
            together = np.arange(self.matches.n_images)
        self.recall = RecallBySize(self.boxes, hold_fixed, self.clusters)
        self.permutations = permuted_attributes(
            self.attributes, self.matches.boxes, together, self.seed
        )
        self.null = null_distribution(
            self.classes, self.permutations, draws, self.recall
        )
        threshold = self.null.recall_threshold
        self.pooled = pooled_recall.by_group(self.recall, self.attributes, threshold)
        self.pooled["p"] = self.null.recall_p(self.pooled["deviations"])
        self.every_ap = [
            group_ap(self.classes, attribute, self.weights)
            for attribute in self.attributes
        ]
        self.gaps = detector_findings.gaps(
            self.classes, self.attributes, self.every_ap, self.null, area, self.weights
        )
        if not self.is_judged:
            self.pooled["verdict"] = detector_findings.NOT_JUDGED
            self.gaps["verdict"] = detector_findings.NOT_JUDGED

    def inject_faults(self) -> None:
        """Measure which faults the comparison would have detected."""
        self.power = injected_faults.detection_rates(
            self.matches,
            self.classes,
            self.attributes,
            self.null,
            self.recall,
            self.permutations,
            LOSSES,
            TRIALS,
            self.seed,
        )

    def explain(self) -> None:
        """Try each candidate as an explanation of at most three significant gaps."""
        is_significant = self.gaps["verdict"] == detector_findings.YES
        of_class = self.gaps["class"] != ALL
        surest = self.gaps[is_significant & of_class].head(EXPLAINED_GAPS)
        self.surest = surest.to_dict("records")
        self.explanations = []
        self.sentences = [
            detector_findings.sentence(row) for row in self.gaps.to_dict("records")
        ]
        for number, row in surest.iterrows():
            table = explained(
                self.matches,
                self._attribute(row),
                row["class"],
                self.candidates,
                options=HOW,
                seed=self.seed,
                clusters=self.clusters,
                resamples=len(self.weights) - 1,
            )
            self.explanations.append(table)
            cause = best_explanation(table)
            self.sentences[number] = detector_findings.class_headline(row, cause)

    def _attribute(self, row: Mapping) -> Attribute:
        """Return the attribute of a row of the gaps."""
        return next(one for one in self.attributes if one.name == row["attribute"])

    def count_errors(self, threshold: float, draws: int) -> None:
        """Compare misses and false positives at a threshold of the score."""
        self.errors = deployed.errors_at(self.frames, self.matches, threshold)
        self.rate_weights = self._weights(RATE_RESAMPLES)
        self.error_rates = deployed.by_group(
            self.errors, self.attributes, self.rate_weights, self.permutations, draws
        )

    def compare_detectors(self, frames: Frames, threshold: float) -> pd.DataFrame:
        """Compare the errors of another detector in the same images."""
        errors = deployed.errors_at(frames, match(frames), threshold)
        return deployed.compare(self.errors, errors, self.attributes, self.rate_weights)

    def headline(self) -> str:
        """Return a doubt about the files, or else the most important finding."""
        if not self.is_judged:
            return self.doubts[0]
        compared = self.gaps["class"][self.gaps["class"] != ALL].nunique()
        first = pooled_recall.foremost(self.pooled).iloc[0]
        threshold = self.null.recall_threshold
        text = detector_findings.headline(
            first,
            self.sentences[0] if self.surest else "",
            pooled_recall.detectable_difference(self.pooled, threshold),
        )
        text += f" {compared} of {len(self.frames.classes)} classes could be compared"
        text += " one by one."
        return f"{NO_GROUPS} {text}" if self.only_size else text

    def files(self) -> pd.DataFrame:
        """List what looks wrong, with what to do, and then what was read."""
        warnings = [*self.frames.warnings, *self.doubts]
        rows = [("check first", text) for text in warnings]
        rows += [("read", text) for text in self.frames.report]
        listed = [f"{name} {100 * value:.1f}" for name, value in self.summary.items()]
        rows.append(("AP as COCO's evaluator prints it", ", ".join(listed)))
        return pd.DataFrame(rows, columns=["status", "text"])

    def findings(self) -> pd.DataFrame:
        """Return one row per finding, first of all classes pooled, then of the gaps."""
        pooled = pooled_recall.foremost(self.pooled)
        of_pooled = pooled[["attribute", "low", "high", "p", "verdict"]].assign(
            measure=ALL_POOLED,
            name="difference of recall at the same " + pooled["fixed"] + " (points)",
            value=pooled["difference"],
            sentence=[pooled_recall.sentence(row) for row in pooled.to_dict("records")],
        )
        of_gaps = self.gaps[["attribute", "low", "high", "p", "verdict"]].assign(
            measure=self.gaps["class"],
            name="gap in average precision (points)",
            value=self.gaps["gap"],
            sentence=self.sentences,
        )
        table = pd.concat([of_pooled, of_gaps], ignore_index=True)
        finding = table["attribute"] + "/" + table["measure"]
        return table.assign(finding=finding, by=table["attribute"])

    def by_size(self) -> pd.DataFrame:
        """Return recall of each group by the size of the boxes."""
        attributes = [] if self.only_size else self.attributes
        return pooled_recall.within_size(self.boxes, attributes)

    def by_group(self) -> pd.DataFrame:
        """Return AP of each group with its interval, of all classes and of each."""
        tables = []
        for attribute, ap in zip(self.attributes, self.every_ap, strict=True):
            low, high = interval(ap)
            counts = [of_class.count(attribute) for of_class in self.classes.values()]
            boxes = np.vstack([np.sum(counts, axis=0), *counts])
            index = pd.MultiIndex.from_product(
                [[attribute.name], [ALL, *self.classes], attribute.values],
                names=["attribute", "class", "value"],
            )
            table = pd.DataFrame({"AP": POINTS * ap[0].ravel()}, index)
            table["low"] = low.ravel()
            table["high"] = high.ravel()
            table["boxes"] = boxes.ravel()
            tables.append(table.reset_index())
        return pd.concat(tables, ignore_index=True)

    def missed(self, row: Mapping) -> pd.DataFrame:
        """List the images with the most missed boxes of the lowest group of a gap."""
        attribute = self._attribute(row)
        group = attribute.values.index(row["lowest"])
        category = self.frames.classes.index(row["class"])
        boxes = self.boxes[codes_of(attribute, self.boxes) == group]
        boxes = boxes[boxes["category"] == category]
        names = self.frames.images["name"].to_numpy()[boxes["image"]]
        by_image = (boxes["found"] == 0).groupby(names).agg(missed="sum", boxes="size")
        table = by_image.nlargest(WORST_IMAGES, "missed").rename_axis("image")
        table = table.reset_index()
        table.insert(0, "class", row["class"])
        table.insert(0, "group", row["lowest"])
        table.insert(0, "attribute", row["attribute"])
        return table


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join tables, or return an empty table if there are none."""
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def audit_sample(**settings) -> tuple[DetectorAudit, pd.DataFrame]:
    """Audit the sample of synthetic street scenes of three districts.

    Parameters
    ----------
    **settings
        See `audit_detector`.

    Returns
    -------
    audit : DetectorAudit
    truth : pandas.DataFrame
        The gap of each class, high minus low income (AP points), and its two parts.
    """
    folder = store.root() / SAMPLE
    settings = {"groups": ["district", "scene"], "sizes": SAMPLE_SIDES} | settings
    audit = audit_detector(
        folder / "street_labels.csv.gz",
        folder / "street_predictions.csv.gz",
        folder / "street_images.csv",
        **settings,
    )
    return audit, pd.read_csv(folder / "street_truth.csv")
