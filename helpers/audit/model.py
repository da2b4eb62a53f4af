"""Load a user's network, and match its outputs with the classes of the photographs.

The network comes from torchvision or from the user's Python file.
"""

from collections.abc import Sequence

import pandas as pd

from helpers import models
from helpers.models import python_file, recipe
from helpers.suggest import plain


def load_network(
    name: str, weights: str | None = None, device: str = "cpu"
) -> models.Classifier:
    """Load a network, with its `preprocessing`.

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
    helpers.models.Classifier

    Raises
    ------
    ValueError
        If the network is not known, or the weights do not fit.
    """
    if python_file.is_python_file(name):
        model = models.build(name, weights=weights)
    else:
        recipe.refuse_unknown_architecture(name)
        model = models.build(name, weights=weights or "imagenet")
        stated = model.preprocessing
        if model.n_logits != len(stated.classes):
            assumed = "torchvision's ImageNet weights (assumed)"
            model.preprocessing = stated._replace(classes=None, source=assumed)
    return model.eval().to(models.device(device))


def describe_preprocessing(model: models.Classifier) -> str:
    """Say how images are prepared for a network, and what states it."""
    stated = model.preprocessing
    mean = ", ".join(f"{value:.3g}" for value in model.mean.flatten())
    std = ", ".join(f"{value:.3g}" for value in model.std.flatten())
    shape = "squashed" if stated.squash else "cropped"
    return (
        f"Images are resized to {stated.resize} pixels, {shape} to a square of "
        f"{stated.size} pixels, and normalized with the mean {mean} and the standard "
        f"deviation {std} (source: {stated.source})."
    )


def match_classes(
    classes: Sequence[str],
    names: Sequence[str] | None,
    n_outputs: int,
    file: str | None = None,
) -> pd.DataFrame:
    """Match classes with the outputs of a network.

    Parameters
    ----------
    classes : sequence of str
        The names of all classes, sorted.
    names : sequence of str or None
        The names of the outputs, if the network has names. A name may hold several,
        separated by commas.
    n_outputs : int
        How many outputs the network has.
    file : str, optional
        The user's CSV file with the columns ``class`` and ``output``.

    Returns
    -------
    pandas.DataFrame
        The columns ``class``, ``output`` (int) and ``matched by``, one row per class.

    Raises
    ------
    ValueError
        If the network has one output, or if a class has no output, several outputs, or
        an output of another class.
    """
    if n_outputs < 2:
        raise ValueError(
            "network: It returns one number per image, the logit of a sigmoid. The "
            "audit compares the logits of classes. Return two logits instead: "
            "torch.cat([torch.zeros_like(z), z], dim=1), where z (N, 1) is what it "
            "returns now."
        )
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
        is_named = known_names == plain(name)
        outputs.append(table["output"][is_named].tolist())
    matched = pd.DataFrame({"class": classes, "output": outputs, "matched by": how})
    numbers = matched["output"].explode()  # one row per class and output
    is_clear = numbers.isin(range(n_outputs)).all() and numbers.is_unique
    is_clear &= len(numbers) == len(classes)
    if not (file or names):
        is_clear &= n_outputs == len(classes)
    if not is_clear:
        raise ValueError(
            f"classes: The network has the outputs 0 to {n_outputs - 1}. It is not "
            f"clear which of them stand for the classes. By {how}:\n"
            f"{matched.to_string(columns=['class', 'output'], index=False)}\n"
            "Each class needs one output of its own. Give a CSV file with the columns "
            "class and output (a number from 0)."
        )
    return matched.assign(output=numbers.astype(int))
