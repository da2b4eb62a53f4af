"""Load a user's network, and match its outputs with the classes of the photographs.

The network comes from torchvision or from the user's Python file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from helpers import models
from helpers.models import preprocessing, python_file, recipe
from helpers.suggest import listed, places_of, plain

ONE_LOGIT = (
    "The audit compares the logits of classes. Return two logits instead: "
    "torch.cat([torch.zeros_like(z), z], dim=1), where z (N, 1) is what it returns now."
)


@dataclass(frozen=True)
class Network:
    """A user's network.

    Attributes
    ----------
    model : helpers.models.Classifier
        The network with its normalization.
    input : helpers.models.preprocessing.Preprocessing
        How images are prepared for the network, and the source of this information.
    name : str
    """

    model: models.Classifier
    input: preprocessing.Preprocessing
    name: str

    @property
    def preprocessing(self) -> str:
        """Say how images are prepared, and what states it."""
        mean = ", ".join(f"{value:.3g}" for value in self.model.mean.flatten())
        std = ", ".join(f"{value:.3g}" for value in self.model.std.flatten())
        return (
            f"Images are resized to {self.input.resize} pixels, cropped to a square "
            f"of {self.input.size} pixels, and normalized with the mean {mean} and the "
            f"standard deviation {std} (source: {self.input.source})."
        )


def load_network(name: str, weights: str | None = None) -> Network:
    """Load a network.

    The only code that is run is the user's own Python file.

    Parameters
    ----------
    name : str
        A name of torchvision's, or ``FILE.py:NAME`` (see
        :func:`helpers.models.python_file.load`).
    weights : str or None
        A file of weights. None means torchvision's for ImageNet, or those that the
        Python file gives.

    Returns
    -------
    Network

    Raises
    ------
    ValueError
        If the network is not known, or the weights do not fit.
    """
    if python_file.is_python_file(name):
        model = models.build(name, weights=weights).eval()
        read = model.preprocessing
    else:
        recipe.refuse_unknown_name(name)
        model = models.build(name, weights=weights or "imagenet").eval()
        read = model.preprocessing
        if model.n_logits != len(read.classes):
            assumed = "torchvision's ImageNet weights (assumed)"
            read = read._replace(classes=None, source=assumed)
    if weights:
        name = f"{name} ({Path(weights).name})"
    return Network(model, read, name)


def match_classes(
    classes: Sequence[str],
    network: Network,
    n_outputs: int,
    table: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Match classes with the outputs of a network.

    Parameters
    ----------
    classes : sequence of str
        The names of all classes, sorted.
    network : Network
    n_outputs : int
        How many outputs the network has.
    table : pandas.DataFrame, optional
        The user's columns ``class`` and ``output``. A class with several outputs has
        several rows.

    Returns
    -------
    pandas.DataFrame
        The columns ``class``, ``outputs`` (lists of int) and ``matched by``.

    Raises
    ------
    ValueError
        If the network has one output, or if a class has no output, or an output of
        another class, or several without the user's table.
    """
    if n_outputs < 2:
        raise ValueError(
            f"network: {network.name} returns one number per image, the logit of a "
            f"sigmoid. {ONE_LOGIT}"
        )
    names = network.input.classes
    if table is not None:
        how = "your table"
        outputs = _outputs_of_table(classes, table, n_outputs)
    elif names:
        how = "their names"
        outputs = [places_of(name, names) for name in classes]
    else:
        how = "the order of the folders"
        outputs = [[number] for number in range(len(classes))]
    problems = []
    if not names and table is None and n_outputs != len(classes):
        problems.append(f"The network has {n_outputs} outputs without names.")
    for name, numbers in zip(classes, outputs, strict=True):
        if not numbers:
            problems.append(f"No output is named {name}{_similar(name, names)}.")
        elif len(numbers) > 1 and table is None:
            problems.append(f"Outputs {listed(numbers)} are all named {name}.")
    counts = pd.Series(outputs).explode().value_counts()
    shared = counts.index[counts > 1]
    if len(shared):
        problems.append(f"Outputs of several classes: {listed(shared)}.")
    if problems:
        raise ValueError(
            f"classes: {' '.join(problems)} Say which output is which class: give a "
            "CSV file with the columns class and output (a number from 0). A class "
            "with several outputs has several rows."
        )
    return pd.DataFrame({"class": classes, "outputs": outputs, "matched by": how})


def _outputs_of_table(
    classes: Sequence[str], table: pd.DataFrame, n_outputs: int
) -> list[list[int]]:
    """Read the outputs of each class from the user's table."""
    numbers = pd.to_numeric(table["output"], errors="coerce")
    if not numbers.isin(range(n_outputs)).all():
        raise ValueError(
            f"classes: The column output must hold numbers from 0 to {n_outputs - 1}, "
            f"but it holds {listed(table['output'])}. Correct it."
        )
    return [numbers[table["class"] == name].astype(int).tolist() for name in classes]


def _similar(name: str, names: Sequence[str] | None) -> str:
    """List the outputs whose names contain a name."""
    similar = []
    for number, text in enumerate(names or ()):
        if plain(name) in plain(text):
            similar.append(f"{text} ({number})")
    return f" ({listed(similar)} may be meant)" if similar else ""
