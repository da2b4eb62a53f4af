"""Audit the contexts on which the predictions of a network rely.

The network is queried about photographs that are pasted into the contexts. Its scores
are compared with those of unbiased linear classifiers on the same photographs. Biased
classifiers show what the audit could have detected.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.figure import Figure
from scipy.special import softmax

from helpers import models, stats
from helpers.audit import (
    classifiers,
    context_scores,
    features,
    form,
    model,
    network_checks,
    reliance,
    remedy,
    sample,
    user_images,
)
from helpers.audit.calibration import (
    Calibration,
    calibrate,
    detection_rates,
)
from helpers.audit.queries import query

FINDING_COLUMNS = [
    "class",
    "context",
    "verdict",
    "z",
    "p",
    "predicted_here",
    "predicted_elsewhere",
    "photographs",
]
NOT_ASKED = (
    "Contexts that you did not provide, and combinations of contexts.",
    "Image artifacts, such as a sticker or a caption. Provide two folders of the same "
    "backgrounds, with the artifact and without it, as two contexts. A network that "
    "never saw the artifact may react to it as well.",
)
NOT_A_FAULT = (
    "To rely on a context is not a fault by itself. For example, sky is good evidence "
    "for planes wherever planes are in the sky. If there are few classes or contexts, "
    "weaker pairs may be the reverse of a stronger one. If the park raises the logit "
    "of dogs, the other contexts seem to raise that of cats."
)
TERMS = [
    "Classifiers: linear layers on the features of your network, trained on your "
    "photographs, unbiased or with an injected bias. Your network is compared with "
    "them.",
    "Bias strength: the share of a class's training images that were pasted into one "
    "context. The others are in any context.",
    "z: how far your network's score lies above those of unbiased classifiers, in "
    "their standard deviations. Each context is queried in two ways: with photographs "
    "pasted into it, and alone. The larger z counts.",
    f"{reliance.DETECTED}: significant after correction for the number of pairs. "
    f"{reliance.POSSIBLE}: above the threshold for one pair, as one in twenty pairs of "
    f"unbiased classifiers is. {reliance.SCORE_ONLY}: above the threshold, but "
    "predictions do not change.",
    "Contexts and classifiers are drawn at random. A finding that vanishes with "
    "another seed lies near the threshold.",
]


@dataclass(frozen=True)
class Inputs:
    """What is audited.

    Attributes
    ----------
    network : Network
    before : Network
        The network with the weights before training (the same object if not known).
    images : torch.Tensor of uint8, shape (N, 3, H, W)
        Photographs.
    rows : pandas.DataFrame
        One row per photograph, with the columns ``path``, ``class``, ``number`` (of the
        class) and ``of`` (the number of classes).
    contexts : dict of str to torch.Tensor of uint8, shape (m, 3, H, W)
        Background images.
    trained : {"last layer", "all"} or None
        What was trained, as the user says.
    seed : int
    notes : list of str
        What was not used.
    """

    network: model.Network
    before: model.Network
    images: torch.Tensor
    rows: pd.DataFrame
    contexts: dict[str, torch.Tensor]
    trained: str | None
    seed: int
    notes: list[str]


@dataclass(frozen=True)
class ModelAudit:
    """What an audit of a network found, and what it could have detected.

    Attributes
    ----------
    name : str
        What the network is called.
    pairs : pandas.DataFrame
        One row per pair of a class and a context (see :func:`reliance.judge`).
    power : pandas.DataFrame
        Detection rates by bias strength (see :func:`reliance.detection_table`).
    remedy : pandas.DataFrame
        What training the last layer again would change, one row per reported pair (see
        :func:`remedy.retrain_last_layer`).
    accuracy, predictions, classes, preprocessing : pandas.DataFrame
        Accuracy by class, one prediction per photograph, the outputs of each class, and
        how images were prepared.
    notes : list of str
        What was left out, and how the network was read.
    caveat : str
        Why the rates are approximate, if they are.
    calibration : Calibration
    z : ndarray, shape (classes, contexts)
        The larger z of each pair.
    composites : dict of str to torch.Tensor of uint8, shape (N, 3, H, W)
        The photographs pasted into each context.
    score : ndarray, shape (N, contexts, classes)
        The logit of each photograph in each context, minus its mean over the other
        contexts.
    """

    name: str
    pairs: pd.DataFrame
    power: pd.DataFrame
    remedy: pd.DataFrame
    accuracy: pd.DataFrame
    predictions: pd.DataFrame
    classes: pd.DataFrame
    preprocessing: pd.DataFrame
    notes: list[str]
    caveat: str
    calibration: Calibration = field(repr=False)
    z: np.ndarray = field(repr=False)
    composites: dict[str, torch.Tensor] = field(repr=False)
    score: np.ndarray = field(repr=False)

    @property
    def reported(self) -> pd.DataFrame:
        """The pairs of which reliance is possible or detected."""
        return self.pairs[reliance.is_reported(self.pairs)]

    @property
    def significant(self) -> pd.DataFrame:
        """The pairs of which reliance is detected."""
        return self.pairs[self.pairs["verdict"] == reliance.DETECTED]

    @property
    def headline(self) -> str:
        """What was found, or what would have been detected, in a sentence or two."""
        rates = detection_rates(self.calibration)
        return reliance.headline(self.name, self.pairs, rates)

    @property
    def sentences(self) -> list[str]:
        """One sentence per reported pair, and then per pair that is listed apart."""
        sentences = []
        for pair in self.reported.to_dict("records"):
            sentences.append(reliance.describe(pair))
        if not sentences:
            sentences.append(
                "No pair is reported. This does not clear the network: see what could "
                "have been detected."
            )
        is_apart = self.pairs["verdict"] == reliance.SCORE_ONLY
        is_apart |= reliance.has_changed_predictions(self.pairs)
        for pair in self.pairs[is_apart].to_dict("records"):
            sentences.append(reliance.describe(pair))
        return sentences

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by the name of their file."""
        return {
            "pairs": self.pairs,
            "power": self.power,
            "remedy": self.remedy,
            "images": self.predictions,
            "accuracy": self.accuracy,
            "classes": self.classes,
            "preprocessing": self.preprocessing,
        }

    def plot_matrix(self) -> Figure:
        """Draw z of each class in each context; reported pairs have a frame."""
        names = list(self.composites)
        size = (1.8 + 1.1 * len(names), 1 + 0.5 * len(self.z))
        figure, ax = plt.subplots(figsize=size)
        sns.heatmap(
            pd.DataFrame(self.z, list(self.classes["class"]), names),
            annot=True,
            fmt=".1f",
            cmap="RdBu_r",
            vmin=-6,
            vmax=6,
            cbar_kws={"label": "z (standard deviations)"},
            ax=ax,
        )
        for pair in self.reported.to_dict("records"):
            row = list(self.classes["class"]).index(pair["class"])
            column = names.index(pair["context"])
            frame = plt.Rectangle((column, row), 1, 1, fill=False, lw=2.5, ec="black")
            frame.set_clip_on(False)
            ax.add_patch(frame)
        ax.set(xlabel="context", ylabel="class")
        ax.tick_params(axis="y", rotation=0)
        return figure

    def plot_examples(self) -> Figure:
        """Draw the photographs with the highest and the lowest score of one pair.

        The pair is the first of the reported pairs, or else that with the highest z.
        The photographs show other classes than that of the pair.
        """
        pair = self.example_pair
        c = list(self.classes["class"]).index(pair["class"])
        k = list(self.composites).index(pair["context"])
        labels = self.predictions["y_true"].to_numpy()
        others = np.flatnonzero(labels != pair["class"])
        order = others[np.argsort(-self.score[others, k, c], kind="stable")]
        figure, axes = plt.subplots(1, 6, figsize=(8, 1.9))
        for ax, number in zip(axes, [*order[:3], *order[-3:]], strict=True):
            image = self.composites[pair["context"]][number]
            ax.imshow(image.permute(1, 2, 0))
            ax.set_title(
                f"{labels[number]}\n{self.score[number, k, c]:+.1f}", fontsize=8
            )
            ax.set_axis_off()
        return figure

    @property
    def example_pair(self) -> pd.Series:
        """The pair whose photographs are shown."""
        pairs = self.reported if len(self.reported) else self.pairs
        return pairs.iloc[0]

    def plot_power(self) -> Figure:
        """Draw the detection rates by bias strength."""
        figure, ax = plt.subplots(figsize=(5.5, 2.8))
        sns.lineplot(
            self.power,
            x="bias_strength",
            y="detection_rate",
            style="verdict",
            markers=True,
            ax=ax,
        )
        for _, rows in self.power.groupby("verdict"):
            ax.fill_between(rows["bias_strength"], rows["low"], rows["high"], alpha=0.1)
        ax.set(xlabel="bias strength", ylabel="detection rate", ylim=(0, 1.03))
        ax.legend(title="", fontsize=8)
        return figure

    def to_html(self, command: str = "") -> str:
        """Write the report as one HTML file.

        Parameters
        ----------
        command : str
            The command that makes the report again.
        """
        pair = self.example_pair
        matrix_caption = (
            "z of each class in each context: standard deviations above unbiased "
            "classifiers. Reported pairs have a frame."
        )
        examples_caption = (
            f"Photographs of other classes in {pair['context']}: the three with the "
            f"highest score of {pair['class']}, and the three with the lowest. A "
            "number is the score of one photograph, in logits. If a background shows "
            f"{pair['class']} itself, the finding is wrong."
        )
        power_caption = (
            "Detection rate of injected biases by bias strength. Bands: 95% intervals "
            "over classifiers."
        )
        found = [*self.sentences, self.caveat] if self.caveat else self.sentences
        files = "Tables as CSV, findings.json and this report are in one folder."
        if command:
            files += f" Made by: {command}"
        figures = {
            "matrix": (self.plot_matrix(), matrix_caption),
            "examples": (self.plot_examples(), examples_caption),
            "power": (self.plot_power(), power_caption),
        }
        parts = [
            (
                "What was found",
                found,
                self.reported[FINDING_COLUMNS],
                figures["matrix"],
                figures["examples"],
                NOT_A_FAULT if len(self.reported) else None,
                reliance.RULE,
            ),
            (
                "What could have been detected",
                reliance.detection_sentences(self.power, self.calibration),
                figures["power"],
                self.power,
            ),
            (
                "How the network was read",
                self.notes,
                self.preprocessing,
                self.classes,
                self.accuracy,
            ),
            ("What was not asked, and what to provide", list(NOT_ASKED)),
            (
                "A remedy, and what it changes",
                remedy.describe(self.remedy, self.calibration.threshold),
                self.remedy,
            ),
            ("Terms", TERMS),
            ("Files", files),
        ]
        html = form.page("Audit of a network", self.headline, parts)
        for figure, _ in figures.values():
            plt.close(figure)
        return html

    def save(self, folder: Path, command: str = "", **about) -> Path:
        """Write the report, its tables as CSV, and ``findings.json``.

        Parameters
        ----------
        folder : Path
        command : str
            The command that makes the report again.
        **about
            Further entries of ``findings.json``.
        """
        findings = []
        for pair, sentence in zip(
            self.reported.to_dict("records"), self.sentences, strict=False
        ):
            findings.append(
                {
                    "finding": f"context/{pair['class']}/{pair['context']}",
                    "name": pair["context"],
                    "measure": "change of predictions",
                    "by": pair["class"],
                    "value": pair["change"],
                    "p": pair["p"],
                    "verdict": pair["verdict"],
                    "sentence": sentence,
                }
            )
        about = {"network": self.name, "notes": self.notes, **about}
        return form.write(
            folder,
            self.to_html(command),
            self.tables,
            findings,
            command=command,
            caveat=self.caveat,
            **about,
        )


def audit_model(
    network: str,
    images: str,
    contexts: str,
    *,
    weights: str | None = None,
    classes: str | None = None,
    trained: str | None = None,
    before: str | None = None,
    seed: int = 0,
    device: str = "auto",
    folder: Path | str = ".",
) -> ModelAudit:
    """Audit a network on photographs and background images.

    Parameters
    ----------
    network : str
        A name of torchvision's, or ``FILE.py:NAME``.
    images : str
        Folder with one folder of photographs per class.
    contexts : str
        Folder with one folder of background images per context, without the objects.
    weights : str, optional
        Your weights. By default those that torchvision published, or those of the file.
    classes : str, optional
        CSV file with the columns ``class`` and ``outputs`` (numbers, from 0).
    trained : {"last layer", "all"}, optional
        What was trained on your classes.
    before : str, optional
        The weights from which this training started.
    seed : int
        Random seed of all that is random.
    device : {"auto", "cpu", "cuda", "mps"}
    folder : Path or str
        Where a table of classes is written if the user must complete it.

    Returns
    -------
    ModelAudit

    Raises
    ------
    ValueError
        The network cannot be read, its accuracy is not above chance, or there are too
        few images.
    """
    for name, where in {"images": images, "contexts": contexts}.items():
        if where is None or not Path(where).is_dir():
            raise ValueError(
                f"{name}: There is no folder {where}. Give the path of a folder that "
                "holds one folder of images per class or context."
            )
    loaded = model.load_network(network, weights)
    loaded_before = model.load_network(network, before) if before else loaded
    photographs, rows, notes = user_images.read_photographs(images, loaded, seed)
    backgrounds, context_notes = user_images.read_contexts(
        contexts, loaded, photographs, seed
    )
    for one in (loaded, loaded_before):
        one.model.to(models.device(device, synthetic=False))
    inputs = Inputs(
        network=loaded,
        before=loaded_before,
        images=photographs,
        rows=rows,
        contexts=backgrounds,
        trained=trained,
        seed=seed,
        notes=[*notes, *context_notes],
    )
    class_table = None
    if classes:
        class_table = pd.read_csv(classes, dtype=str, keep_default_na=False)
    audit = _audit(inputs, class_table, Path(folder))
    if weights:
        return replace(audit, name=f"{audit.name} ({Path(weights).name})")
    return audit


def audit_sample(seed: int = 0) -> tuple[ModelAudit, pd.DataFrame]:
    """Audit a small network with known biases on synthetic images.

    Returns
    -------
    audit : ModelAudit
    injected : pandas.DataFrame
        The biases of the network, with the columns ``class``, ``context`` and
        ``bias_strength``.
    """
    network, images, rows, contexts, injected = sample.audited_network(seed)
    inputs = Inputs(
        network=network,
        before=network,
        images=images,
        rows=rows,
        contexts=contexts,
        trained="last layer",
        seed=seed,
        notes=[],
    )
    return _audit(inputs, None, Path()), injected


def _audit(
    inputs: Inputs, class_table: pd.DataFrame | None, folder: Path
) -> ModelAudit:
    """Check the network, query it, calibrate, and judge each pair."""
    network, rows = inputs.network, inputs.rows
    caveat = reliance.caveat(network, inputs.before, inputs.trained)
    classes, labels = np.unique(rows["class"], return_inverse=True)
    matched, notes = _read_outputs(inputs, labels, class_table, folder)
    queries = query(
        network,
        inputs.before,
        list(matched["outputs"]),
        inputs.images,
        labels,
        inputs.contexts,
        inputs.seed,
    )
    contexts = list(inputs.contexts)
    logits = queries.in_logits
    in_features = queries.in_features
    network_checks.require_finite(
        [in_features.train, in_features.query, logits.query], rows["path"]
    )
    network_checks.require_finite([logits.alone], contexts)

    calibrated = calibrate(in_features, inputs.seed)
    score = logits.score(_identity, np.arange(len(labels)))
    predictions = logits.query.argmax(-1)
    pairs = reliance.judge(calibrated, score, predictions, classes, contexts)
    remedies = remedy.retrain_last_layer(
        queries,
        calibrated,
        pairs[reliance.is_reported(pairs)],
        list(classes),
        contexts,
        inputs.seed,
    )
    centered = classifiers.center_logits(logits.query)
    plain = queries.plain_logits
    return ModelAudit(
        name=network.name,
        pairs=pairs,
        power=reliance.detection_table(calibrated),
        remedy=remedies,
        accuracy=accuracy_by_class(plain, classes[labels], classes),
        predictions=predictions_table(plain, rows["path"], classes[labels], classes),
        classes=matched.assign(images=np.bincount(labels)),
        preprocessing=network.preprocessing_table(),
        notes=notes,
        caveat=caveat,
        calibration=calibrated,
        z=calibrated.largest_z(score),
        composites=dict(zip(contexts, queries.composites, strict=True)),
        score=context_scores.minus_others(centered, 1),
    )


def _read_outputs(
    inputs: Inputs,
    labels: np.ndarray,
    class_table: pd.DataFrame | None,
    folder: Path,
) -> tuple[pd.DataFrame, list[str]]:
    """Match the outputs with the classes, and check the accuracy."""
    network = inputs.network
    passed = features.passes(network.model, inputs.images, "photographs")
    answers = passed["answers"]
    matched = model.match_classes(inputs.rows, network, answers.shape[1], class_table)
    model.require_matches(matched, network, folder)
    outputs = list(matched["outputs"])
    logits = context_scores.class_logits(answers, outputs)
    network_checks.require_finite([logits], inputs.rows["path"])
    accuracy = network_checks.check_accuracy(
        network, inputs.images, labels, outputs, answers
    )
    notes = [*_trained_note(inputs), *inputs.notes, *_order_note(matched), accuracy]
    return matched, notes


def accuracy_by_class(
    logits: np.ndarray, labels: np.ndarray, classes: np.ndarray
) -> pd.DataFrame:
    """Tabulate the accuracy of each class with Wilson's 95% interval.

    Parameters
    ----------
    logits : ndarray, shape (n, classes)
    labels : ndarray of str, shape (n,)
    classes : ndarray of str, shape (classes,)
    """
    correct = pd.Series(classes[logits.argmax(1)] == labels)
    table = correct.groupby(labels).agg(images="size", correct="sum")
    table = table.rename_axis("class").reset_index()
    table["low"], table["high"] = stats.wilson(table["correct"], table["images"])
    return table


def predictions_table(
    logits: np.ndarray,
    paths: pd.Series,
    labels: np.ndarray,
    classes: np.ndarray,
) -> pd.DataFrame:
    """Tabulate the prediction of each photograph, for an audit of a table.

    Parameters
    ----------
    logits : ndarray, shape (n, classes)
    paths : pandas.Series of str
    labels : ndarray of str, shape (n,)
    classes : ndarray of str, shape (classes,)
    """
    return pd.DataFrame(
        {
            "image": paths,
            "y_true": labels,
            "y_pred": classes[logits.argmax(1)],
            "confidence": softmax(logits, axis=1).max(1),
        }
    )


def _identity(values):
    """Return logits as they are, where a classifier is expected."""
    return values


def _trained_note(inputs: Inputs) -> list[str]:
    """Say what is known about the training of the network."""
    if inputs.before is not inputs.network:
        return ["What was trained is read from the weights before training (before)."]
    if inputs.trained is None:
        return [
            "You did not say what was trained. The layers before the last one are "
            "taken as they are, with what they learned of your classes (trained)."
        ]
    if inputs.trained == "last layer":
        return ["Only the last layer was trained."]
    return [
        "All layers were trained. Without the weights before training (before), the "
        "layers before the last one are taken as they are, with what they learned of "
        "your classes. So a bias may be missed."
    ]


def _order_note(matched: pd.DataFrame) -> list[str]:
    """Warn if outputs stand for classes only because of their order."""
    if not (matched["matched by"] == "the order of the folders").any():
        return []
    return [
        "Outputs are taken in the order of the folders. If your network was trained "
        "in another order, all findings are wrong. Give a table (classes)."
    ]
