"""Load a user's network, and match its outputs with the classes of the photographs.

A network is one of torchvision's, or one in a Python file of the user's.
"""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import models, store
from helpers.models import preprocessing, python_file
from helpers.suggest import did_you_mean, listed, plain

KINDS = "the name of one of torchvision's networks, or FILE.py:NAME"
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
    size : int
        The side of its images, in pixels.
    name : str
    """

    model: models.Classifier
    input: preprocessing.Preprocessing
    size: int
    name: str

    def preprocessing_table(self) -> pd.DataFrame:
        """Tabulate how images are prepared, with the source of this information.

        Returns
        -------
        pandas.DataFrame
            The columns ``property``, ``value`` and ``source``.
        """
        mean = ", ".join(f"{value:.3g}" for value in self.model.mean.flatten())
        std = ", ".join(f"{value:.3g}" for value in self.model.std.flatten())
        names = "none: the order of the folders"
        if self.input.classes:
            names = f"{len(self.input.classes)} names"
        values = {
            "size": f"{self.size} pixels, center crop of {self.input.resize}",
            "normalization": (
                f"mean {mean}; standard deviation {std}; of images in 0 to 1"
            ),
            "interpolation": "bicubic",
            "class names": names,
        }
        table = pd.DataFrame(values.items(), columns=["property", "value"])
        return table.assign(source=self.input.source)


def load_network(name: str, weights: str | None = None) -> Network:
    """Load a network.

    No code is run but that of a user's own Python file.

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
        There is no such network, or the weights do not fit.
    """
    if python_file.is_python_file(name):
        model = models.build(name, weights=weights).eval()
        read = model.preprocessing
    else:
        library = import_module("torchvision.models")
        known = library.list_models(module=library)
        if name not in known:
            raise ValueError(
                f"network: There is no network {name!r}. A network is {KINDS}. "
                f"{did_you_mean(name, known)}"
            )
        published = library.get_model_weights(name).DEFAULT
        model = models.build(name, weights=weights or "imagenet").eval()
        read = preprocessing.stated(model.network, published)
        n_outputs = len(model.network.get_submodule(model.head).weight)
        if n_outputs != len(read.classes):
            assumed = "torchvision's ImageNet weights (assumed)"
            read = read._replace(classes=None, source=assumed)
    return Network(model, read, read.size, name)


def match_classes(
    rows: pd.DataFrame, network: Network, outputs: int, class_table=None
) -> pd.DataFrame:
    """Match classes with the outputs of a network.

    Parameters
    ----------
    rows : pandas.DataFrame
        The photographs, with the columns ``class``, ``number`` (of the class among all
        folders) and ``of`` (the number of folders).
    network : Network
    outputs : int
        How many outputs the network has.
    class_table : pandas.DataFrame or None
        The user's columns ``class`` and ``outputs``.

    Returns
    -------
    pandas.DataFrame
        The columns ``class``, ``outputs`` (lists, empty where no output was found) and
        ``matched by``.

    Raises
    ------
    ValueError
        If the network has one output, or if outputs stand for two classes.
    """
    if outputs < 2:
        raise ValueError(
            f"network: {network.name} returns one number per image, the logit of a "
            f"sigmoid. {ONE_LOGIT}"
        )
    named = _outputs_by_name(network)
    chosen = {}
    if class_table is not None:
        texts = class_table["outputs"].fillna("").astype(str)
        chosen = dict(zip(class_table["class"], texts, strict=True))
    matches = []
    for name in np.unique(rows["class"]):
        of_name = named.get(plain(name), [])
        if name in chosen:
            matches.append((name, _parse(chosen[name], name, outputs), "your table"))
        elif len(of_name) > 1:
            matches.append((name, [], "several outputs of this name"))
        elif of_name:
            matches.append((name, of_name, "its name"))
        elif name.isdecimal() and int(name) < outputs:
            matches.append((name, [int(name)], "its number"))
        elif not named and (rows["of"] == outputs).all():
            number = int(rows["number"][rows["class"] == name].iloc[0])
            matches.append((name, [number], "the order of the folders"))
        else:
            matches.append((name, [], "nothing"))
    _refuse_shared_outputs(matches)
    return pd.DataFrame(matches, columns=["class", "outputs", "matched by"])


def _parse(text: str, name: str, outputs: int) -> list[int]:
    """Parse the numbers of outputs in a cell of the user's table."""
    parts = [part for part in re.split(r"[][;,\s]+", text) if part]
    wrong = [part for part in parts if not part.isdecimal() or int(part) >= outputs]
    if wrong:
        raise ValueError(
            f"classes: {listed(wrong)} of {name} is not a number of an output "
            f"(0 to {outputs - 1}). Correct the table."
        )
    return [int(part) for part in parts]


def _outputs_by_name(network: Network) -> dict[str, list[int]]:
    """Find the outputs of each name; an output may have several names, with commas."""
    numbers: dict[str, list[int]] = {}
    for number, names in enumerate(network.input.classes or ()):
        for name in {plain(part) for part in names.split(",")}:
            numbers.setdefault(name, []).append(number)
    return numbers


def _refuse_shared_outputs(matches: list[tuple]) -> None:
    """Refuse two classes that the same outputs stand for."""
    class_of: dict[frozenset, str] = {}
    for name, outputs, _ in matches:
        other = class_of.setdefault(frozenset(outputs), name)
        if outputs and other != name:
            raise ValueError(
                f"classes: The same outputs ({listed(outputs)}) stand for both "
                f"{other} and {name}. Each class needs outputs of its own. Correct the "
                "table, or leave one class out."
            )


def require_matches(matches: pd.DataFrame, network: Network, folder: Path) -> None:
    """Refuse classes that no output stands for, and write a table to be corrected."""
    missing = matches.loc[matches["outputs"].map(len) == 0, "class"]
    if len(missing) == 0:
        return
    texts = [";".join(map(str, outputs)) for outputs in matches["outputs"]]
    csv = matches.assign(outputs=texts).to_csv(index=False)
    file = store.write_text(folder / "classes.csv", csv)
    named = _outputs_by_name(network)
    reasons = []
    for name in missing:
        outputs = named.get(plain(name))
        if outputs:
            reasons.append(
                f"Outputs {listed(outputs)} of {network.name} are all named {name}."
            )
            continue
        reason = f"No output of {network.name} is named {name}."
        for number, output_name in enumerate(network.input.classes or ()):
            if name in output_name:
                reason += f" {output_name} ({number}) may be meant."
                break
        reasons.append(reason)
    raise ValueError(
        f"classes: {' '.join(reasons)} Write the number of the output that you "
        "mean into "
        f'{file} (several with ";" if all of them count), and give that file '
        f"(CLASSES={file})."
    )
