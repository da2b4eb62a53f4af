"""Load a user's network, and match its outputs with the classes of the photographs.

The network comes from torchvision or from the user's Python file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from helpers import models
from helpers.models import preprocessing, python_file, recipe
from helpers.suggest import plain

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
        shape = "squashed" if self.input.squash else "cropped"
        return (
            f"Images are resized to {self.input.resize} pixels, {shape} to a square "
            f"of {self.input.size} pixels, and normalized with the mean {mean} and the "
            f"standard deviation {std} (source: {self.input.source})."
        )


def load_network(name: str, weights: str | None = None, device: str = "cpu") -> Network:
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
    device : {"auto", "cpu", "cuda", "mps"}
        Where it computes.

    Returns
    -------
    Network

    Raises
    ------
    ValueError
        If the network is not known, or the weights do not fit.
    """
    if python_file.is_python_file(name):
        model = models.build(name, weights=weights)
        read = model.preprocessing
    else:
        recipe.refuse_unknown_architecture(name)
        model = models.build(name, weights=weights or "imagenet")
        read = model.preprocessing
        if model.n_logits != len(read.classes):
            assumed = "torchvision's ImageNet weights (assumed)"
            read = read._replace(classes=None, source=assumed)
    if weights:
        name = f"{name} ({Path(weights).name})"
    model.eval().to(models.device(device))
    return Network(model, read, name)


def match_classes(
    classes: Sequence[str],
    network: Network,
    n_outputs: int,
    file: str | None = None,
) -> pd.DataFrame:
    """Match classes with the outputs of a network.

    Parameters
    ----------
    classes : sequence of str
        The names of all classes, sorted.
    network : Network
    n_outputs : int
        How many outputs the network has.
    file : str, optional
        The user's CSV file with the columns ``class`` and ``output``. A class with
        several outputs has several rows.

    Returns
    -------
    pandas.DataFrame
        The columns ``class``, ``outputs`` (lists of int) and ``matched by``.

    Raises
    ------
    ValueError
        If the network has one output, or if a class has no output, or an output of
        another class, or several without the user's file.
    """
    if n_outputs < 2:
        raise ValueError(
            f"network: {network.name} returns one number per image, the logit of a "
            f"sigmoid. {ONE_LOGIT}"
        )
    names = network.input.classes
    if file:
        how = "your table"
        table = pd.read_csv(file, dtype={"class": str}, keep_default_na=False)
    elif names:
        how = "their names"
        synonyms = pd.Series(names).str.split(",").explode()
        table = pd.DataFrame({"class": synonyms, "output": synonyms.index})
    else:
        how = "the order of the folders"
        table = pd.DataFrame({"class": classes, "output": range(len(classes))})
    known_names = table["class"].map(plain)
    outputs = []
    for name in classes:
        numbers = table["output"][known_names == plain(name)]
        outputs.append(numbers.unique().tolist())
    matched = pd.DataFrame({"class": classes, "outputs": outputs, "matched by": how})
    every_output = matched["outputs"].explode()  # one row per class and output
    is_clear = every_output.isin(range(n_outputs)) & ~every_output.duplicated()
    if how == "their names":
        is_clear &= ~every_output.index.duplicated()
    if how == "the order of the folders":
        is_clear &= n_outputs == len(classes)
    if not is_clear.all():
        raise ValueError(
            f"classes: The network has the outputs 0 to {n_outputs - 1}. It is not "
            f"clear which of them stand for the classes. By {how}:\n"
            f"{matched.to_string(columns=['class', 'outputs'], index=False)}\n"
            "Each class needs an output of its own. Give a CSV file with the columns "
            "class and output (a number from 0). A class with several outputs has "
            "several rows."
        )
    return matched
