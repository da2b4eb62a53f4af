"""Audit the contexts on which the predictions of a network rely.

The network is queried about photographs that are pasted into the contexts. Its scores
are compared with the scores of unbiased linear classifiers on the same photographs.
Biased classifiers show what the audit could have detected.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.figure import Figure

from helpers import models, stats
from helpers.audit import form, reliance, remedy
from helpers.audit.calibration import Calibration, calibrate
from helpers.audit.classifiers import center_logits
from helpers.audit.context_scores import minus_others
from helpers.audit.model import describe_preprocessing, load_network
from helpers.audit.queries import Inputs, query
from helpers.audit.user_images import read_folders
from helpers.figures import style

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
    "are low, a report without findings means little. If a context has fewer than 25 "
    "images, the rates may be too high."
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
    "z: how many standard deviations your network's score lies above the mean score of "
    "unbiased classifiers. The score uses photographs that are pasted into the "
    "contexts.",
    f"{reliance.DETECTED}: significant after correction for the number of pairs. "
    f"{reliance.POSSIBLE}: above the threshold for one pair, and predictions change. "
    "This holds for one in twenty pairs of unbiased linear classifiers. "
    f"{reliance.SCORE_ONLY}: above the threshold, but predictions do not change.",
    "Backgrounds and classifiers are drawn at random. A finding that vanishes with "
    "another seed lies near the threshold.",
]


@dataclass(frozen=True, repr=False)
class ModelAudit:
    """Hold what an audit of a network found, and what it could have detected.

    Attributes
    ----------
    name : str
        What the network is called.
    headline : str
        What was found, or what would have been detected.
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
        The output and the accuracy of each class.
    predictions : pandas.DataFrame
        The prediction for each photograph.
    calibration : Calibration
    example_pair : pandas.Series
        The pair with the highest z, a reported one if there is any.
    examples : list of str and torch.Tensor of uint8, shape (6, 3, H, H)
        Titles (class and score) and photographs of other classes in the context of
        `example_pair`: the three with the highest score and the three with the lowest.
    """

    name: str
    headline: str
    notes: list[str]
    pairs: pd.DataFrame
    power: pd.DataFrame
    remedy: pd.DataFrame
    classes: pd.DataFrame
    predictions: pd.DataFrame
    calibration: Calibration
    example_pair: pd.Series
    examples: tuple[list[str], torch.Tensor]

    @property
    def reported(self) -> pd.DataFrame:
        """Return the pairs for which reliance is possible or detected."""
        return self.pairs[reliance.is_reported(self.pairs)]

    @property
    def significant(self) -> pd.DataFrame:
        """Return the pairs for which reliance is detected."""
        return self.pairs[self.pairs["verdict"] == reliance.DETECTED]

    def plot_matrix(self) -> Figure:
        """Draw z of each class in each context; reported pairs have a star."""
        stars = np.where(reliance.is_reported(self.pairs), " *", "")
        texts = self.pairs["z"].map("{:.1f}".format) + stars
        by_pair = self.pairs.assign(text=texts).pivot(index="class", columns="context")
        height, width = by_pair["z"].shape
        figure = Figure(figsize=(1.8 + 1.1 * width, 1 + 0.5 * height))
        ax = figure.subplots()
        sns.heatmap(
            by_pair["z"],
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

    def plot_examples(self) -> Figure:
        """Draw photographs of other classes with the highest and the lowest score."""
        titles, images = self.examples
        figure = style.framed(images, titles, cols=len(titles))
        plt.close(figure)
        return figure

    def to_html(self, command: str = "") -> str:
        """Write the report as one HTML file.

        Parameters
        ----------
        command : str
            The command that makes the report again.
        """
        parts = [
            (
                "What was found",
                self.reported,
                (self.plot_matrix(), MATRIX_CAPTION),
                (self.plot_examples(), EXAMPLES_CAPTION.format_map(self.example_pair)),
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
        tables = {
            "pairs": self.pairs,
            "power": self.power,
            "remedy": self.remedy,
            "images": self.predictions,
            "classes": self.classes,
        }
        findings = self.reported.assign(sentence=reliance.sentences(self.reported))
        return form.write(
            folder,
            self.to_html(command),
            tables,
            findings,
            network=self.name,
            notes=self.notes,
            command=command,
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
) -> ModelAudit:
    """Audit a network on photographs and background images.

    From then on, torch computes on all cores of a CPU.

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
    torch.set_num_threads(models.threads())
    loaded = load_network(network, weights, device)
    loaded_before = None
    if before:
        trained = trained or "all"
        loaded_before = load_network(network, before, device)
    stated = loaded.preprocessing
    photographs, rows = read_folders("images", images, stated, seed, fewest=8, most=100)
    backgrounds, places = read_folders(
        "contexts", contexts, stated, seed, fewest=5, most=50
    )
    inputs = Inputs(
        network=loaded,
        name=f"{network} ({Path(weights).name})" if weights else network,
        images=photographs,
        rows=rows,
        contexts={
            context: backgrounds[numbers]
            for context, numbers in places.groupby("class").groups.items()
        },
        before=loaded_before,
        classes=classes,
        trained=trained,
        seed=seed,
    )
    return audit(inputs)


def audit(inputs: Inputs) -> ModelAudit:
    """Check a network, query it, calibrate, and judge each pair.

    Parameters
    ----------
    inputs : Inputs
    """
    matched, accuracy, is_linear, features, logits, composites = query(inputs)
    name, trained, rows = inputs.name, inputs.trained, inputs.rows
    classes, contexts = list(matched["class"]), list(inputs.contexts)
    calibrated = calibrate(features, inputs.seed)
    pairs = reliance.judge(calibrated, logits, classes, contexts, trained)
    power = reliance.detection_table(calibrated)
    reported = pairs[reliance.is_reported(pairs)]
    retrained = remedy.retrain_last_layer(
        features, logits, calibrated, reported, inputs.seed
    )

    images = pd.DataFrame({"image": rows["path"], "y_true": rows["class"]})
    images["y_pred"] = np.array(classes)[logits.plain.argmax(1)]
    images["correct"] = images["y_true"] == images["y_pred"]
    by_class = stats.rates(images, "correct", ["y_true"]).rename(
        columns={"y_true": "class", "rate": "accuracy", "n": "images"}
    )

    pair = pd.concat([reported, pairs]).iloc[0]
    c, k = divmod(pair.name, len(contexts))  # the place in arrays (classes, K)
    rises = minus_others(center_logits(logits.query), 1)[:, k, c]
    of_others = pd.Series(rises)[features.labels != c].sort_values(ascending=False)
    shown = of_others.iloc[[0, 1, 2, -3, -2, -1]]
    titles = rows["class"][shown.index] + shown.map("\n{:+.1f}".format)

    notes = [reliance.what_was_trained(trained, inputs.before is not None)]
    if not is_linear:
        notes.append(reliance.NOT_LINEAR)
    return ModelAudit(
        name=name,
        headline=reliance.headline(name, pairs, power, is_linear),
        notes=[*notes, describe_preprocessing(inputs.network), accuracy],
        pairs=pairs.reset_index(drop=True),
        power=power,
        remedy=retrained.reset_index(drop=True),
        classes=matched.merge(by_class),
        predictions=images,
        calibration=calibrated,
        example_pair=pair,
        examples=(list(titles), composites[shown.index, k]),
    )
