"""How a model is made: architecture, fit, initial weights, epochs and training runs."""

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from helpers.data.images import STRICT, built
from helpers.models.inference import DEVICES

WIDER = "wider world"
Fit = Literal["scratch", "fine-tuned", "probe", "as it is"]
Times = Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True, config=STRICT)
class Recipe:
    """How a model is made."""

    architecture: str = (
        "alexnet-quarter"  # of `models.reduced.REDUCED` or of torchvision
    )
    fit: Fit = "scratch"
    weights: str | None = (
        None  # ``wider world``, ``imagenet`` or a file; all but scratch start so
    )
    epochs: Times | None = None  # None: a default for the images
    trainings: Times = 6  # training runs, which differ in their seed
    device: Literal[*DEVICES] = "auto"  # where networks compute (see `models.device`)

    def __post_init__(self):
        if self.fit == "scratch" and self.weights:
            raise ValueError(
                "a model that is trained from scratch reads no `weights`: leave them out, or take "
                "`fit: fine-tuned` or `fit: probe`"
            )
        if self.fit == "as it is" and self.epochs:
            raise ValueError("a network 'as it is' is not trained: leave `epochs` out")

    @property
    def start(self) -> str:
        """Initial weights of a model that is not trained from scratch."""
        small = self.architecture.endswith(("-quarter", "-eighth"))
        return self.weights or (WIDER if small else "imagenet")


def recipes(specification: Any) -> list[Recipe]:
    """Recipes of one model or several: an architecture's name, or the keys of a recipe."""
    built_recipes = []
    for one in specification if isinstance(specification, list) else [specification]:
        one = {"architecture": one} if isinstance(one, str) else one
        if not isinstance(one, dict):
            raise ValueError(
                f"{one!r} is neither an architecture nor the keys of a model"
            )
        if "architecture" not in one:
            raise ValueError(f"says no `architecture`: {one}")
        for name in ("trainings", "device"):
            if name in one:
                raise ValueError(
                    f"`{name}` is a parameter of its own: write `{name}: {one[name]}` next to "
                    "`model`, not in it"
                )
        fit = "fine-tuned" if one.get("weights") else "scratch"
        built_recipes.append(built(Recipe, {"fit": fit, **one}))
    return built_recipes
