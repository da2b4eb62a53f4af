"""Audit a detector: where is it worse, and which faults could the audit detect."""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from helpers.icon2.analysis import Analysis, analyse, image_weights
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.coco_summary import coco_summary
from helpers.icon2.compared import (
    best_explanation,
    classes_to_compare,
    comparable,
    explained,
    values_table,
    with_enough_boxes,
)
from helpers.icon2.group_gaps import (
    ALL,
    HOW,
    Null,
    interval,
    null_distribution,
    permuted_attributes,
)
from helpers.icon2.matching import Matches, match
from helpers.icon2.mistaken_classes import mistaken
from helpers.icon2.pooled_recall import ALL_POOLED, RecallBySize

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
    """What an audit of a detector found, and what it could have detected.

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
        AP and recall of each class and group, with 95% intervals.
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
        """The significant findings."""
        return self.findings[self.findings["verdict"] == detector_findings.YES]

    @property
    def faults(self) -> pd.DataFrame:
        """The detection rates of injected faults, without the false positive rate."""
        return self.power[self.power["loss"] > 0]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables that are not empty, by name."""
        names = [
            "files",
            "findings",
            "power",
            "pooled",
            "by_size",
            "errors",
            "second",
            "gaps",
            "by_group",
            "explanations",
            "missed",
            "values",
        ]
        tables = {name.replace("_", "-"): getattr(self, name) for name in names}
        return {name: table for name, table in tables.items() if len(table)}

    def detected_losses(self) -> pd.DataFrame:
        """Return the smallest loss of detected boxes with a power of 80%.

        Returns
        -------
        pandas.DataFrame
            One row per ``attribute``, ``class`` and ``group``: the detections by loss,
            and ``smallest_loss``, NaN if no tried loss is detected often enough.
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
            pooled = part[part["class"] == ALL_POOLED]
            classes = part[~part["class"].isin([ALL_POOLED, ALL])]
            missed = classes["class"][classes["smallest_loss"].isna()]
            for row in pooled.to_dict("records"):
                loss = row["smallest_loss"]
                if np.isnan(loss):
                    sentences.append(
                        f"{name}: if the group {row['group']} lost {LOSSES[-1]:.0%} of "
                        "its detected boxes, this would not be detected in four of "
                        "five cases."
                    )
                    continue
                sentences.append(
                    f"{name}: if the group {row['group']} lost about {loss:.0%} of its "
                    "detected boxes, this would be detected in four of five cases "
                    "(interpolated)."
                )
            if len(missed):
                sentences.append(
                    f"{name}: in {', '.join(missed)} alone, even a loss of "
                    f"{LOSSES[-1]:.0%} is often missed."
                )
        return sentences

    @property
    def first_attribute(self) -> str:
        """The attribute of the first finding."""
        table = self.findings if len(self.findings) else self.pooled
        return table["attribute"].iloc[0]

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
            Further parts: a heading and its contents, as `form.page` has them.
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
        Attributes whose groups are compared. Default: all.
    classes : sequence of str, optional
        Classes that are compared one by one. Default: the eight with the most boxes.
    sizes : sequence of float
        Sides of medium and large boxes, in pixels.
    cluster : str, optional
        Column of images that belong together, such as frames of one drive.
    threshold : float
        The score at which the detector is used.
    second : path, optional
        Detections of a second detector in the same images.
    draws, resamples : int
        Numbers of permutations and of bootstrap resamples of images.
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
    matches = match(frames)
    plan = _plan(frames, matches, groups, classes, sizes, cluster)
    classes_of_plan = {name: matches.of(name) for name in plan.names}
    n_images = len(frames.images)

    hold_fixed = "class" if plan.only_size else "class and size"
    recall = RecallBySize(plan.boxes, hold_fixed, plan.clusters)
    together = np.arange(n_images) if plan.clusters is None else plan.clusters
    permutations = permuted_attributes(plan.attributes, matches.boxes, together, seed)
    null = null_distribution(classes_of_plan, permutations, draws, recall)
    power = injected_faults.detection_rates(
        matches,
        plan.names,
        plan.attributes,
        null,
        permutations,
        LOSSES,
        TRIALS,
        seed,
        recall,
    )

    pooled = pooled_recall.by_group(recall, plan.attributes, null.recall_threshold)
    pooled["p"] = null.recall_p(pooled["deviations"])
    how = {
        "options": HOW,
        "seed": seed,
        "clusters": plan.clusters,
        "resamples": resamples,
    }
    analyses = {}
    for attribute in plan.attributes:
        analyses[attribute.name] = analyse(
            matches, attribute, [], classes=plan.names, **how
        )
    area = None if plan.only_size else frames.boxes["area"].to_numpy(float)
    n_resamples = max(resamples, 60)  # for what remains of gaps with size held fixed
    weights = image_weights(n_images, n_resamples, seed, plan.clusters)
    gaps = detector_findings.gaps(
        classes_of_plan, plan.attributes, analyses, null, area, weights
    )
    if plan.doubt:
        pooled["verdict"] = detector_findings.NOT_JUDGED
        gaps["verdict"] = detector_findings.NOT_JUDGED

    surest = _surest(gaps)
    by_name = {one.name: one for one in plan.candidates + plan.attributes}
    explanations = [
        explained(
            matches, by_name[row["attribute"]], row["class"], plan.candidates, **how
        )
        for row in surest.to_dict("records")
    ]
    class_sentences = [
        detector_findings.class_headline(row, best_explanation(table))
        for row, table in zip(surest.to_dict("records"), explanations, strict=True)
    ]

    rate_weights = image_weights(n_images, RATE_RESAMPLES, seed, plan.clusters)
    errors = deployed.errors_at(frames, matches, threshold)
    error_rates = deployed.by_group(
        errors, plan.attributes, rate_weights, permutations, draws
    )
    second_rates = pd.DataFrame()
    if second is not None:
        other_frames = user_data.read(labels, second, attributes)
        other_errors = deployed.errors_at(other_frames, match(other_frames), threshold)
        second_rates = deployed.compare(
            errors, other_errors, plan.attributes, rate_weights
        )

    foremost = pooled_recall.foremost(pooled)
    detectable = pooled_recall.detectable_difference(pooled, null.recall_threshold)
    return DetectorAudit(
        name=Path(labels).name,
        headline=_headline(plan, foremost, gaps, class_sentences, detectable),
        files=_files_table(plan),
        findings=_findings(foremost, gaps, class_sentences),
        power=power,
        pooled=pooled,
        by_size=pooled_recall.within_size(
            plan.boxes, [] if plan.only_size else plan.attributes
        ),
        errors=error_rates,
        second=second_rates,
        gaps=gaps,
        by_group=_ap_by_group(plan, analyses),
        explanations=_joined(explanations),
        missed=_missed(frames, matches, surest, by_name),
        values=values_table(frames, plan.attributes),
        notes=[
            *plan.notes,
            *detector_findings.not_compared(plan.names, plan.attributes, gaps),
            *plan.limits,
        ],
        threshold=threshold,
        null=null,
    )


@dataclass(frozen=True)
class _Plan:
    """What an audit compares, and what it does not.

    Attributes
    ----------
    frames : Frames
    attributes : list of Attribute
        Whose groups are compared.
    candidates : list of Attribute
        What may explain a gap.
    names : list of str
        The classes that are compared one by one.
    boxes : pandas.DataFrame
        The boxes of all classes pooled.
    clusters : array of shape (images,), or None
        Which images belong together.
    only_size : bool
        Whether there is no attribute but the size of the boxes.
    summary : dict
        From `coco_summary`.
    doubts : list of str
        Why the files may not belong together.
    doubt : str
        The doubt because of which nothing is judged; empty if there is none.
    notes, limits : list of str
    """

    frames: Frames
    attributes: list[Attribute]
    candidates: list[Attribute]
    names: list[str]
    boxes: pd.DataFrame
    clusters: np.ndarray | None
    only_size: bool
    summary: dict[str, float]
    doubts: list[str]
    doubt: str
    notes: list[str]
    limits: list[str]


def _plan(
    frames: Frames,
    matches: Matches,
    groups: Sequence[str] | None,
    classes: Sequence[str] | None,
    sizes: Sequence[float],
    cluster: str | None,
) -> _Plan:
    """Decide what can be compared."""
    attributes, notes = comparable(frames, groups)
    bounds = [side**2 for side in sizes]
    of_boxes = user_data.explaining(frames, bounds)
    every_attribute, _ = comparable(frames, None)
    limits = LIMITS
    only_size = not attributes
    if only_size:
        notes.insert(0, f"{NO_GROUPS} Provide 'attributes' to compare groups.")
        limits = ["Class is held fixed in the first table, nothing else.", *LIMITS[1:]]
        attributes = of_boxes[:1]
    if cluster is None:
        notes.append(NO_CLUSTER)

    names = classes_to_compare(matches, classes)
    summary = coco_summary(frames, bounds)
    is_too_low = detector_findings.too_low(summary)
    mistaken_classes = mistaken(frames, matches)
    doubts = list(mistaken_classes.values()) or is_too_low
    trusted = [name for name in names if name not in mistaken_classes]
    doubt = ""
    if is_too_low or not trusted or ALL_POOLED in mistaken_classes:
        doubt = doubts[0]
    boxes = pooled_recall.labelled_boxes(frames, matches)
    if ALL_POOLED not in mistaken_classes:  # else no box would be left
        is_mistaken = [name in mistaken_classes for name in frames.classes]
        boxes = boxes[~np.array(is_mistaken)[boxes["category"]]]
    return _Plan(
        frames=frames,
        attributes=attributes,
        candidates=every_attribute + of_boxes,
        names=trusted or names,
        boxes=boxes.reset_index(drop=True),
        clusters=frames.clusters(cluster),
        only_size=only_size,
        summary=summary,
        doubts=doubts,
        doubt=doubt,
        notes=notes,
        limits=limits,
    )


def _headline(
    plan: _Plan,
    foremost: pd.DataFrame,
    gaps: pd.DataFrame,
    class_sentences: Sequence[str],
    detectable: float,
) -> str:
    """Return the headline: a doubt about the files, or the most important finding."""
    if plan.doubt:
        return plan.doubt
    counted = detector_findings.how_many(
        [name for name in plan.names if name in set(gaps["class"])],
        with_enough_boxes(plan.frames, plan.attributes),
        plan.frames.classes,
    )
    of_class = class_sentences[0] if class_sentences else ""
    headline = detector_findings.headline(foremost, of_class, counted, detectable)
    return f"{NO_GROUPS} {headline}" if plan.only_size else headline


def audit_sample(**settings) -> tuple[DetectorAudit, pd.DataFrame]:
    """Audit the sample: synthetic street scenes of three districts.

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


def _files_table(plan: _Plan) -> pd.DataFrame:
    """List what looks wrong, with what to do, and then what was read."""
    frames = plan.frames
    rows = [("check first", text) for text in (*frames.warnings, *plan.doubts)]
    rows += [("read", text) for text in frames.report]
    listed = [f"{name} {100 * value:.1f}" for name, value in plan.summary.items()]
    rows.append(("AP as COCO's evaluator prints it", ", ".join(listed)))
    return pd.DataFrame(rows, columns=["status", "text"])


def _ap_by_group(plan: _Plan, analyses: dict[str, Analysis]) -> pd.DataFrame:
    """Return AP of each group with its interval, and its recall."""
    tables = []
    for name, analysis in analyses.items():
        estimates = analysis.with_mean().values()
        ends = [interval(estimate.group_ap) for estimate in estimates]
        low, high = np.hstack(ends)
        table = analysis.groups().assign(low=low, high=high, attribute=name)
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    recall = pooled_recall.by_class(plan.boxes, plan.frames.classes, plan.attributes)
    table = table.merge(recall, "left", on=["attribute", "class", "value"])
    columns = ["attribute", "class", "value", "AP", "low", "high", "recall", "boxes"]
    return table[columns]


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join tables, of which there may be none."""
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _surest(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the significant gaps of single classes, at most three."""
    is_significant = gaps["verdict"] == detector_findings.YES
    return gaps[is_significant & (gaps["class"] != ALL)].head(EXPLAINED_GAPS)


def _missed(
    frames: Frames, matches: Matches, gaps: pd.DataFrame, by_name: dict
) -> pd.DataFrame:
    """List the images with the most missed boxes of the lowest group of each gap."""
    columns = ["attribute", "group", "class", "image", "missed", "boxes"]
    tables = [pd.DataFrame(columns=columns)]
    for row in gaps.to_dict("records"):
        attribute = by_name[row["attribute"]]
        of_class = matches.of(row["class"])
        in_group = of_class.codes(attribute) == attribute.values.index(row["lowest"])
        boxes = of_class.box_row[in_group & ~of_class.box_ignored]
        detections = matches.rows(row["class"])
        detected = np.isin(boxes, detections["box"][detections["hit"]])
        image = frames.boxes["image"].to_numpy()[boxes]
        names = frames.images["name"].to_numpy()[image]
        by_image = pd.Series(~detected).groupby(names).agg(missed="sum", boxes="size")
        worst = by_image.nlargest(WORST_IMAGES, "missed").rename_axis("image")
        about = {
            "attribute": row["attribute"],
            "group": row["lowest"],
            "class": row["class"],
        }
        tables.append(worst.reset_index().assign(**about)[columns])
    return pd.concat(tables, ignore_index=True)


def _findings(
    pooled: pd.DataFrame, gaps: pd.DataFrame, class_sentences: Sequence[str]
) -> pd.DataFrame:
    """Return one row per finding: the pooled rows first, then the gaps."""
    of_pooled = pooled[["attribute", "low", "high", "p", "verdict"]].assign(
        measure=ALL_POOLED,
        name="difference of recall at the same " + pooled["fixed"] + " (points)",
        value=pooled["difference"],
        sentence=[pooled_recall.sentence(row) for row in pooled.to_dict("records")],
    )
    sentences = [detector_findings.sentence(row) for row in gaps.to_dict("records")]
    of_gaps = gaps[["attribute", "low", "high", "p", "verdict"]].assign(
        measure=gaps["class"],
        name="gap in average precision (points)",
        value=gaps["gap"],
        sentence=sentences,
    )
    for number, sentence in zip(_surest(gaps).index, class_sentences, strict=True):
        of_gaps.loc[number, "sentence"] = sentence
    if (pooled["fixed"] == "class").all():
        of_pooled["verdict"] = of_pooled["verdict"].str.replace(" and size", "")
    table = pd.concat([of_pooled, of_gaps], ignore_index=True)
    finding = table["attribute"] + "/" + table["measure"]
    return table.assign(finding=finding, by=table["attribute"])
