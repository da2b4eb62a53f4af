"""Audit the contexts on which the predictions of a network rely.

The network is queried about photographs that are pasted into the contexts. Its scores
are compared with the scores of unbiased linear classifiers on the same photographs.
Biased classifiers show what the audit could have detected.
"""

from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.figure import Figure

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
from helpers.audit.calibration import Calibration, calibrate, detection_rates

MATRIX_CAPTION = (
    "z of each class in each context: standard deviations above unbiased classifiers. "
    "Reported pairs have a star."
)
EXAMPLES_CAPTION = (
    "Photographs of other classes in {context}: the three with the highest score of "
    "{class}, and the three with the lowest. A number is the score of one photograph, "
    "in logits. If a background shows {class} itself, the finding is wrong."
)
POWER = (
    "The rate at bias strength 0 is the false-positive rate of pairs. A bias of "
    "another kind (smaller, elsewhere, weaker) may be missed. If the detection rates "
    "are low, a report without findings means little."
)
NOT_ASKED = [
    "Contexts that you did not provide, and combinations of contexts.",
    "Image artifacts, such as a sticker or a caption. Provide two folders of the same "
    "backgrounds, with the artifact and without it, as two contexts. A network that "
    "never saw the artifact may react to it as well.",
]
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
class ModelAudit:
    """Hold what an audit of a network found, and what it could have detected.

    Attributes
    ----------
    name : str
        What the network is called.
    trained : {"last layer", "all"} or None
        What was trained.
    notes : list of str
        How the network was read, and what its training means for the findings.
    pairs : pandas.DataFrame
        One row per pair of a class and a context (see :func:`reliance.judge`).
    power : pandas.DataFrame
        Detection rates by bias strength (see :func:`reliance.detection_table`).
    remedy : pandas.DataFrame
        What training the last layer again would change, one row per reported pair (see
        :func:`remedy.retrain_last_layer`).
    classes : pandas.DataFrame
        The outputs and the accuracy of each class.
    predictions : pandas.DataFrame
        The prediction for each photograph.
    calibration : Calibration
    composites : dict of str to torch.Tensor of uint8, shape (N, 3, H, W)
        The photographs pasted into each context.
    score : ndarray, shape (N, contexts, classes)
        The logit of each photograph in each context, minus its mean over the other
        contexts.
    """

    name: str
    trained: str | None
    notes: list[str]
    pairs: pd.DataFrame
    power: pd.DataFrame
    remedy: pd.DataFrame
    classes: pd.DataFrame
    predictions: pd.DataFrame
    calibration: Calibration = field(repr=False)
    composites: dict[str, torch.Tensor] = field(repr=False)
    score: np.ndarray = field(repr=False)

    @property
    def reported(self) -> pd.DataFrame:
        """Return the pairs for which reliance is possible or detected."""
        return self.pairs[reliance.is_reported(self.pairs)]

    @property
    def significant(self) -> pd.DataFrame:
        """Return the pairs for which reliance is detected."""
        return self.pairs[self.pairs["verdict"] == reliance.DETECTED]

    @property
    def headline(self) -> str:
        """Say what was found, or what would have been detected."""
        rates = detection_rates(self.calibration)
        return reliance.headline(self.name, self.pairs, rates, self.trained)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Return all tables by the name of their file."""
        return {
            "pairs": self.pairs,
            "power": self.power,
            "remedy": self.remedy,
            "images": self.predictions,
            "classes": self.classes,
        }

    def plot_matrix(self) -> Figure:
        """Draw z of each class in each context; reported pairs have a star."""
        stars = np.where(reliance.is_reported(self.pairs), " *", "")
        texts = self.pairs.assign(text=self.pairs["z"].map("{:.1f}".format) + stars)
        by_pair = texts.pivot(index="class", columns="context", values=["z", "text"])
        height, width = by_pair["z"].shape
        figure, ax = plt.subplots(figsize=(1.8 + 1.1 * width, 1 + 0.5 * height))
        sns.heatmap(
            by_pair["z"].astype(float),
            annot=by_pair["text"],
            fmt="",
            cmap="RdBu_r",
            vmin=-6,
            vmax=6,
            cbar_kws={"label": "z (standard deviations)"},
            ax=ax,
        )
        ax.tick_params(axis="y", rotation=0)
        return figure

    @property
    def example_pair(self) -> pd.Series:
        """Return the pair with the highest z, a reported one if there is any."""
        return self.pairs.loc[reliance.is_reported(self.pairs).idxmax()]

    def plot_examples(self) -> Figure:
        """Draw photographs of other classes with the highest and the lowest score."""
        pair = self.example_pair
        c = list(self.classes["class"]).index(pair["class"])
        k = list(self.composites).index(pair["context"])
        labels = self.predictions["y_true"]
        score = self.score[:, k, c]
        others = np.flatnonzero(labels != pair["class"])
        order = others[np.argsort(-score[others], kind="stable")]
        figure, axes = plt.subplots(1, 6, figsize=(8, 1.9))
        for ax, number in zip(axes, [*order[:3], *order[-3:]], strict=True):
            image = self.composites[pair["context"]][number]
            ax.imshow(image.permute(1, 2, 0))
            ax.set_title(f"{labels[number]}\n{score[number]:+.1f}", fontsize=8)
            ax.set_axis_off()
        return figure

    def to_html(self, command: str = "") -> str:
        """Write the report as one HTML file.

        Parameters
        ----------
        command : str
            The command that makes the report again.
        """
        pair = self.example_pair
        matrix, examples = self.plot_matrix(), self.plot_examples()
        parts = [
            (
                "What was found",
                self.reported,
                (matrix, MATRIX_CAPTION),
                (examples, EXAMPLES_CAPTION.format_map(pair)),
                reliance.RULE,
                NOT_A_FAULT,
            ),
            ("What could have been detected", self.power, POWER),
            ("How the network was read", self.notes, self.classes),
            ("What was not asked, and what to provide", NOT_ASKED),
            ("A remedy, and what it changes", remedy.METHOD, self.remedy),
            ("Terms", TERMS),
            ("Files", "Tables as CSV, findings.json and this report.", command),
        ]
        plt.close(matrix)
        plt.close(examples)
        return form.page("Audit of a network", self.headline, parts)

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
        names = {"context": "name", "class": "by", "change": "value"}
        findings = self.reported.rename(columns=names).assign(
            finding="context/"
            + self.reported["class"]
            + "/"
            + self.reported["context"],
            measure="change of predictions",
            sentence=[reliance.describe(pair) for _, pair in self.reported.iterrows()],
        )
        return form.write(
            folder,
            self.to_html(command),
            self.tables,
            findings.to_dict("records"),
            network=self.name,
            notes=self.notes,
            command=command,
            **about,
        )


@models.all_cores()
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
        Your weights. The default is the weights that torchvision published, or the
        weights that the Python file gives.
    classes : str, optional
        CSV file with the columns ``class`` and ``output`` (a number from 0).
    trained : {"last layer", "all"}, optional
        What was trained on your classes. "all" means more than the last layer.
    before : str, optional
        The weights from which this training started.
    seed : int
        Random seed of all that is random.
    device : {"auto", "cpu", "cuda", "mps"}

    Returns
    -------
    ModelAudit

    Raises
    ------
    ValueError
        The network cannot be read, its accuracy is not above chance, or there are too
        few images.
    """
    loaded = model.load_network(network, weights)
    loaded_before = model.load_network(network, before) if before else loaded
    photographs, rows = user_images.read_photographs(images, loaded, seed)
    backgrounds, notes = user_images.read_contexts(contexts, loaded, seed)
    for each in (loaded, loaded_before):
        each.model.to(models.device(device, synthetic=False))
    class_table = None
    if classes:
        class_table = pd.read_csv(classes, dtype=str, keep_default_na=False)
    inputs = user_images.Inputs(
        network=loaded,
        before=loaded_before,
        images=photographs,
        rows=rows,
        contexts=backgrounds,
        class_table=class_table,
        trained="all" if before and trained is None else trained,
        seed=seed,
        notes=notes,
    )
    return audit(inputs)


def audit_sample(seed: int = 0) -> tuple[ModelAudit, pd.DataFrame]:
    """Audit a small network with known biases on synthetic images.

    Returns
    -------
    audit : ModelAudit
    injected : pandas.DataFrame
        The biases of the network, with the columns ``class``, ``context`` and
        ``bias_strength``.
    """
    inputs, injected = sample.audited_network(seed)
    return audit(inputs), injected


def audit(inputs: user_images.Inputs) -> ModelAudit:
    """Check a network, query it, calibrate, and judge each pair.

    Parameters
    ----------
    inputs : Inputs
    """
    network, labels = inputs.network, inputs.labels
    classes, contexts = inputs.classes, list(inputs.contexts)
    _, answers = features.features_and_answers(network.model, inputs.images)
    matched = model.match_classes(
        classes, network, answers.shape[1], inputs.class_table
    )
    outputs = list(matched["outputs"])
    plain = context_scores.class_logits(answers, outputs)
    accuracy = network_checks.check_accuracy(inputs, outputs, plain)
    queries = features.query(inputs, outputs)
    logits, in_features = queries.in_logits, queries.in_features
    network_checks.require_finite(
        [plain, in_features.train, in_features.query, logits.query],
        inputs.rows["path"],
    )
    network_checks.require_finite([logits.alone], contexts)

    calibrated = calibrate(in_features, inputs.seed)
    score = logits.score(lambda values: values, np.arange(len(labels)))
    predictions = logits.query.argmax(-1)
    pairs = reliance.judge(
        calibrated, score, predictions, classes, contexts, inputs.trained
    )
    training = reliance.what_was_trained(inputs.trained, inputs.before is not network)
    images = pd.DataFrame(
        {"image": inputs.rows["path"], "y_true": inputs.rows["class"]}
    )
    images["y_pred"] = np.array(classes)[plain.argmax(1)]
    images["correct"] = images["y_true"] == images["y_pred"]
    by_class = stats.rates(images, "correct", ["y_true"])
    by_class = by_class.rename(
        columns={"y_true": "class", "rate": "accuracy", "n": "images"}
    )
    centered = classifiers.center_logits(logits.query)
    return ModelAudit(
        name=network.name,
        trained=inputs.trained,
        notes=[training, network.preprocessing, accuracy, *inputs.notes],
        pairs=pairs,
        power=reliance.detection_table(calibrated),
        remedy=remedy.retrain_last_layer(
            queries,
            calibrated,
            pairs[reliance.is_reported(pairs)],
            classes,
            contexts,
            inputs.seed,
        ),
        classes=matched.merge(by_class),
        predictions=images,
        calibration=calibrated,
        composites=dict(zip(contexts, queries.composites, strict=True)),
        score=context_scores.minus_others(centered, 1),
    )
