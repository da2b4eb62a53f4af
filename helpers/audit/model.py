"""Load a user's network, and match its outputs with the classes of the photographs.

A network is one of torchvision's, one in a Python file of the user's, or one of timm's
or Hugging Face's.
"""

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from torch import nn

from helpers import models, store
from helpers.audit import user_file
from helpers.data import folders
from helpers.data.collection import listed
from helpers.models import networks, preprocessing

KINDS = "torchvision's name, FILE.py:NAME, timm/NAME, or a folder of timm's or Hugging Face's"
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
    input : helpers.models.preprocessing.Input
        How images are prepared for the network, and the source of this information.
    size : int
        The side of its images, in pixels.
    name : str
    """

    model: models.Classifier
    input: preprocessing.Input
    size: int
    name: str

    def preprocessing_table(self) -> pd.DataFrame:
        """Tabulate how images are prepared, with the source of this information."""
        mean = ", ".join(f"{value:.3g}" for value in self.model.mean.flatten())
        std = ", ".join(f"{value:.3g}" for value in self.model.std.flatten())
        names = "none: the order of the folders"
        if self.input.classes:
            names = f"{len(self.input.classes)} names"
        values = {
            "size": f"{self.size} pixels, center crop of {self.input.resize}",
            "normalization": f"mean {mean}; standard deviation {std}; of images in 0 to 1",
            "interpolation": f"bicubic (your weights state {self.input.interpolation or 'none'})",
            "class names": names,
        }
        table = pd.DataFrame(values.items(), columns=["property", "value"])
        return table.assign(source=self.input.source)


def load_network(name: str, weights: str | None = None) -> Network:
    """Load a network. No code is run but that of a user's own Python file.

    Parameters
    ----------
    name : str
        torchvision's name, ``FILE.py:NAME``, ``timm/NAME``, or a folder of timm's or
        Hugging Face's with a ``config.json``.
    weights : str or None
        A file of weights; None for the published ones.

    Raises
    ------
    ValueError
        If there is no such network, or if the weights do not fit.
    """
    python_file, _, attribute = name.rpartition(":")
    if python_file.endswith(".py"):
        network = _from_python(Path(python_file), attribute, weights)
    elif (Path(name) / "config.json").is_file():
        config = json.loads((Path(name) / "config.json").read_text())
        if "model_type" in config:
            network = _from_hugging_face(name)
        else:
            network = _from_timm(f"local-dir:{name}", name, weights)
    elif name.startswith("timm/"):
        model_name = name.removeprefix("timm/")
        network = _from_timm(model_name, name, weights)
    elif Path(name).exists():
        raise ValueError(
            f"network: {name} is not a folder with a config.json. A network is {KINDS}."
        )
    else:
        network = _from_torchvision(name, weights)
    return network


def _from_torchvision(name: str, weights: str | None) -> Network:
    """Load one of torchvision's networks, with ImageNet's weights or the user's."""
    library = import_module("torchvision.models")
    known = library.list_models(module=library)
    if name not in known:
        near = " or ".join(get_close_matches(name, known, 2))
        question = f" Did you mean {near}?" if near else ""
        raise ValueError(
            f"network: There is no architecture {name!r}.{question} A network is {KINDS}."
        )
    outputs = 1000
    if weights:
        last_layer = f"{models.build(name, 2).head}.weight"
        state = networks.read(Path(weights))
        if last_layer not in state:
            raise ValueError(
                f"weights: {weights} has no {last_layer}, so it does not belong to {name}. Give the "
                "weights of this architecture."
            )
        outputs = len(state[last_layer])
    model = models.build(name, outputs, weights=weights or "imagenet")
    published = library.get_model_weights(name).DEFAULT
    stated = preprocessing.stated(model.network, published)
    if outputs != 1000:
        assumed = "torchvision's ImageNet weights (assumed)"
        stated = stated._replace(classes=None, source=assumed)
    return Network(model.eval(), stated, stated.crop[0], name)


def _from_timm(where: str, name: str, weights: str | None) -> Network:
    """Load one of timm's networks."""
    library = _import_library("timm")
    network = library.create_model(where, pretrained=weights is None)
    if weights:
        networks.load(network, Path(weights))
    return _wrap(network, None, name)


def _from_hugging_face(folder: str) -> Network:
    """Load a folder of Hugging Face's, without running code from it."""
    library = _import_library("transformers")
    network = library.AutoModelForImageClassification.from_pretrained(
        folder, trust_remote_code=False, use_safetensors=True, local_files_only=True
    )
    processor = library.AutoImageProcessor.from_pretrained(
        folder, local_files_only=True
    )
    return _wrap(network, processor, folder)


def _import_library(name: str):
    """Import an optional library, or say how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise ValueError(
            f"network: This kind of network needs {name}, which is not installed. Install it: "
            f".venv/bin/python -m pip install {name}"
        ) from None


def _wrap(network: nn.Module, like, name: str) -> Network:
    """Wrap a network with the preprocessing that it, or what comes with it, states."""
    stated = preprocessing.stated(network, like)
    height, width = stated.crop or np.broadcast_to(stated.resize or 224, 2)
    if height != width:
        raise ValueError(
            f"network: {name} expects images of {height} x {width} pixels. The audit needs "
            "square images."
        )
    model = models.wrap(network, like)  # refuses any other processing of images
    return Network(model.eval(), stated, int(height), name)


def _from_python(path: Path, attribute: str, weights: str | None) -> Network:
    """Load a network of a user's file, which also states `mean` and `std`."""
    module, digests = user_file.load_module(path)
    if not hasattr(module, attribute):
        public = sorted(name for name in vars(module) if not name.startswith("_"))
        raise ValueError(
            f"network: {path} has no {attribute}. It has {listed(public)}."
        )
    network = getattr(module, attribute)
    if callable(network) and not isinstance(network, nn.Module):
        network = network()
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"network: {attribute} of {path} is not an nn.Module, and returns none if called."
        )
    if weights:
        networks.load(network, Path(weights))
    mean = getattr(module, "mean", None)
    std = getattr(module, "std", None)
    if mean is None or std is None:
        raise ValueError(
            f"network: {path} does not say how images are normalized. Write mean = (...) and "
            "std = (...) into it, for images in 0 to 1."
        )
    size = int(getattr(module, "size", None) or 224)
    classes = getattr(module, "classes", None)
    stated = preprocessing.Input(
        source=path.name,
        resize=size,
        crop=(size, size),
        interpolation=None,
        mean=tuple(mean),
        std=tuple(std),
        rescale=1 / 255,
        classes=tuple(classes) if classes else None,
    )
    model = models.wrap(network, mean=mean, std=std)
    model.code = digests  # so that stored answers of other code are not taken
    return Network(model.eval(), stated, size, f"{path}:{attribute}")


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
            f"network: {network.name} returns one number per image, the logit of a sigmoid. "
            f"{ONE_LOGIT}"
        )
    named = _outputs_by_name(network)
    chosen = {}
    if class_table is not None:
        texts = class_table["outputs"].fillna("").astype(str)
        chosen = dict(zip(class_table["class"], texts, strict=True))
    matches = []
    for name in np.unique(rows["class"]):
        of_name = named.get(folders.plain(name), [])
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
            f"class_table: {listed(wrong)} of {name} is not a number of an output "
            f"(0 to {outputs - 1}). Correct the table."
        )
    return [int(part) for part in parts]


def _outputs_by_name(network: Network) -> dict[str, list[int]]:
    """Find the outputs of each name; an output may have several names, with commas."""
    numbers: dict[str, list[int]] = {}
    for number, names in enumerate(network.input.classes or ()):
        for name in {folders.plain(part) for part in names.split(",")}:
            numbers.setdefault(name, []).append(number)
    return numbers


def _refuse_shared_outputs(matches: list[tuple]) -> None:
    """Refuse two classes that the same outputs stand for."""
    class_of: dict[frozenset, str] = {}
    for name, outputs, _ in matches:
        other = class_of.setdefault(frozenset(outputs), name)
        if outputs and other != name:
            raise ValueError(
                f"class_table: The same outputs ({listed(outputs)}) stand for both {other} and "
                f"{name}. Each class needs outputs of its own. Correct the table, or leave one "
                "class out."
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
        outputs = named.get(folders.plain(name))
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
        f"class_table: {' '.join(reasons)} Write the number of the output that you mean into "
        f'{file} (several with ";" if all of them count), and give CLASS_TABLE={file}.'
    )
