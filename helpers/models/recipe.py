"""Describe the architecture, the training and the weights of a model."""

from typing import Any, Literal

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from helpers.data.images import STRICT
from helpers.models.inference import DEVICES
from helpers.models.python_file import existing_file, is_python_file
from helpers.suggest import did_you_mean, refuse_unknown_keys
from helpers.synthetic_data import reduced

WIDER = "wider world"
Fit = Literal["scratch", "fine-tuned", "probe", "as it is"]


@dataclass(frozen=True, config=STRICT)
class Recipe:
    """Describe how a model is made.

    Attributes
    ----------
    architecture : str
        A name of `synthetic.reduced` or of torchvision, or ``FILE.py:NAME``.
    fit : {"scratch", "fine-tuned", "probe", "as it is"}
        How the model is trained.
    weights : str or None
        Where a training that is not from scratch starts: "wider world", "imagenet" or a
        file. None means what suits the architecture.
    epochs : int or None
        Number of epochs. None means the number that suits the images.
    trainings : int
        Number of training runs, which differ in their seed.
    device : str
        Where networks compute (see :func:`helpers.models.device`).
    """

    architecture: str = "alexnet-quarter"
    fit: Fit = "scratch"
    weights: str | None = None
    epochs: PositiveInt | None = None
    trainings: PositiveInt = 6
    device: Literal[*DEVICES] = "auto"

    def __post_init__(self):
        """Refuse settings that contradict each other."""
        if self.fit == "scratch" and self.weights:
            raise ValueError(
                "A model that is trained from scratch reads no `weights`. "
                "Leave them out, or take `fit: fine-tuned` or `fit: probe`."
            )
        if self.fit == "as it is" and self.epochs:
            raise ValueError("A model 'as it is' is not trained. Leave `epochs` out.")

    @property
    def start(self) -> str | None:
        """Return where training starts if not from scratch; None is the user's file."""
        if self.weights or is_python_file(self.architecture):
            return self.weights
        return WIDER if self.architecture in reduced.REDUCED else "imagenet"


def read_specification(specification: Any) -> Recipe:
    """Read which model is meant.

    Parameters
    ----------
    specification : str or dict
        The name of an architecture, or the fields of :class:`Recipe` without
        `trainings` and `device`, which are parameters of their own.

    Returns
    -------
    Recipe

    Raises
    ------
    ValueError
        The specification is none of these, or a field has a wrong value.
    """
    if isinstance(specification, str):
        specification = {"architecture": specification}
    if not isinstance(specification, dict):
        raise ValueError("A model is the name of an architecture, or a mapping.")
    refuse_unknown_keys(Recipe, specification, "trainings", "device")
    if "architecture" not in specification:
        raise ValueError("The model has no key `architecture`. Add it.")
    refuse_unknown_architecture(specification["architecture"])
    values = dict(specification)
    if values.get("weights"):
        values.setdefault("fit", "fine-tuned")
    return Recipe(**values)


def refuse_unknown_architecture(name: str) -> None:
    """Refuse an architecture that neither this package nor torchvision nor a file has.

    Parameters
    ----------
    name : str

    Raises
    ------
    ValueError
        If the architecture is not known, or the file is missing.
    """
    if is_python_file(name):
        existing_file(name)
    elif name not in reduced.REDUCED:
        import torchvision  # takes seconds

        torchvisions = torchvision.models.list_models(module=torchvision.models)
        known = [*reduced.REDUCED, *torchvisions]
        if name not in known:
            raise ValueError(
                f"There is no network {name!r}. {did_you_mean(name, known)} A network "
                "of your own is named FILE.py:NAME."
            )
