"""Check the parameters of a lesson, which its notebook declares by annotations.

The type of a parameter is a Python type, ``Optional[...]`` if None is allowed, or one
of the types below. Choices are named here, because papermill lists no
``Literal[...]``.
"""

import ast
import csv
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    PrivateAttr,
    ValidationError,
    create_model,
)

from helpers import explain, models
from helpers.data import images as image_settings
from helpers.models import recipe as recipes
from helpers.suggest import did_you_mean

__all__ = [
    "Device",
    "Draws",
    "Edges",
    "Effort",
    "Fit",
    "ImageSet",
    "Images",
    "Method",
    "Model",
    "Neutral",
    "NonNegativeFloat",
    "ParameterError",
    "PositiveFloat",
    "PositiveInt",
    "Resamples",
    "Seed",
    "Shape",
    "Share",
    "Side",
    "Trained",
    "Values",
    "check",
]


class ParameterError(ValueError):
    """Report an unknown parameter or a wrong value; Jupyter shows only the message."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def _as_texts(value: Any) -> Any:
    """Write numbers and truth values as in YAML, also inside lists and mappings."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str) and value.startswith(("{", "[")):
        return yaml.load(value, Loader=yaml.BaseLoader)
    if isinstance(value, list):
        return [_as_texts(item) for item in value]
    if isinstance(value, dict):
        return {name: _as_texts(item) for name, item in value.items()}
    return value


def _values_by_column(value: Any) -> Any:
    """List the values of each column, from a mapping or from COLUMN=VALUE texts."""
    value = _as_texts(value)
    if isinstance(value, dict):
        return {
            name: texts if isinstance(texts, list) else [texts]
            for name, texts in value.items()
        }
    by_column = {}
    for pair in _as_list(value):
        column, _, text = pair.partition("=")
        by_column.setdefault(column, []).append(text)
    return by_column


Seed = Annotated[int, Field(ge=0, lt=2**32)]  # the range of NumPy's seeds
Share = Annotated[float, Field(ge=0, le=1)]
Draws = Annotated[int, Field(ge=99)]  # the fewest random draws for a test at 5%
Resamples = Annotated[int, Field(ge=10)]  # the fewest for a standard error
Device = Literal[*models.DEVICES]
Edges = Literal["equal", "paper"]
Effort = Literal["quick", "sound", "paper"]
Fit = Literal["scratch", "fine-tuned", "probe"]
Method = Literal[*explain.METHODS]
Neutral = Literal["mean", "white", "shuffled"]
ImageSet = Literal["C", "NC", "WB"]
Shape = Literal["squeezed", "native"]
Side = Literal["left", "right"]
Trained = Literal["last layer", "all"]
# texts by column: a mapping, or COLUMN=VALUE one or several times
Values = Annotated[dict[str, list[str]], BeforeValidator(_values_by_column)]
# the name of a source, the path of a YAML file, or a mapping
Images = Annotated[
    image_settings.Images, BeforeValidator(image_settings.read_specification)
]
# the name of an architecture, or a mapping
Model = Annotated[recipes.Recipe, BeforeValidator(recipes.read_specification)]


class Settings(BaseModel):
    """Hold the checked parameters of a lesson as attributes."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    _given: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        """Return the values as the notebook or papermill gave them."""
        return self._given


def check(namespace: Mapping[str, Any]) -> Settings:
    """Check the parameters of a lesson.

    Parameters
    ----------
    namespace : mapping
        The ``globals()`` of the notebook, in which the cell of the parameters has run.

    Returns
    -------
    Settings
        One attribute per parameter. `images` becomes
        :class:`helpers.data.images.Images` and `model`
        :class:`helpers.models.recipe.Recipe`, which holds the parameters `trainings`
        and `device` as well.

    Raises
    ------
    ParameterError
        A parameter is unknown or has a wrong value. The message names all of them.
    """
    names = _declared(namespace)
    if not names:
        raise ParameterError("There are no parameters yet. Run the cell above first.")
    annotations = namespace["__annotations__"]
    given = {name: namespace[name] for name in [*names, *_injected(namespace)]}
    values = dict(given)
    for name in names:
        if _is_list(annotations[name]):
            values[name] = _as_list(values[name])
    fields = {name: (annotations[name], ...) for name in names}
    model_class = create_model("Settings", __base__=Settings, **fields)
    try:
        settings = model_class(**values)
    except ValidationError as error:
        problems = [_sentence(problem, names) for problem in error.errors()]
        raise ParameterError("\n".join(problems)) from None
    settings._given = given
    _complete_recipes(settings)
    return settings


def _declared(namespace: Mapping[str, Any]) -> list[str]:
    """Name the parameters that the last executed cell of parameters declares."""
    for source in reversed(namespace.get("In", [])):
        names = _assigned(source, ast.AnnAssign)
        if "output" in names:
            return names
    return [name for name in namespace.get("__annotations__", {}) if name in namespace]


def _injected(namespace: Mapping[str, Any]) -> list[str]:
    """Name the parameters that the last cell inserted by papermill assigns."""
    for source in reversed(namespace.get("In", [])):
        if source.startswith("# Parameters\n"):
            return _assigned(source, ast.Assign)
    return []


def _assigned(source: str, kind: type[ast.stmt]) -> list[str]:
    """Name the variables that a cell assigns by statements of a kind, in order."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return []
    names = []
    for statement in statements:
        if isinstance(statement, kind):
            targets = getattr(statement, "targets", None) or [statement.target]
            names.extend(target.id for target in targets if hasattr(target, "id"))
    return names


def _is_list(annotation: Any) -> bool:
    """Return whether a parameter is a list, or a list or None."""
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_is_list(option) for option in get_args(annotation))
    return get_origin(annotation) is list


def _as_list(value: Any) -> Any:
    """Return the list that a single value or a text represents.

    The option -p of papermill can pass only texts and numbers. "a,b" and "[a, b]" are
    two items, and a comma inside double quotes belongs to its item.
    """
    if value is None or isinstance(value, list):
        return value
    if not isinstance(value, str):
        return [value]
    if value.startswith("["):
        return yaml.load(value, Loader=yaml.BaseLoader)
    row = next(csv.reader([value], skipinitialspace=True), [])
    return [item.strip() for item in row]


def _sentence(problem: Mapping[str, Any], names: list[str]) -> str:
    """Describe an error of pydantic in a sentence about the parameter."""
    location = [part for part in problem["loc"] if isinstance(part, str | int)]
    name = location[0]
    if problem["type"] == "extra_forbidden":
        return f"There is no parameter {name!r}. {did_you_mean(name, names)}"
    message = problem["msg"].removeprefix("Value error, ")
    inside = ""
    if len(location) > 1:
        part = location[1]
        inside = f" ({part})" if isinstance(part, str) else f" (item {part + 1})"
    return f"Parameter {name!r}{inside} is {problem['input']!r}. {message.rstrip('.')}."


def _complete_recipes(settings: Settings) -> None:
    """Copy the parameters `trainings` and `device` into the recipe of each model."""
    if not hasattr(settings, "model"):
        return
    changes = {
        name: getattr(settings, name)
        for name in ("trainings", "device")
        if hasattr(settings, name)
    }
    if isinstance(settings.model, list):
        settings.model = [replace(recipe, **changes) for recipe in settings.model]
    else:
        settings.model = replace(settings.model, **changes)
