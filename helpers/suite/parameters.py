"""What a notebook may be given: every parameter of every notebook is declared here, once.
A notebook names its own in one cell, and the next is ``settings = check(globals())``."""

import ast
import csv
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import nbformat
import torch
import yaml
from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter
from pydantic import ValidationError as Refused

from helpers import explain, models, store
from helpers.data import folders
from helpers.data.images import (
    EACH,
    ONE,
    Folder,
    Images,
    Share,
    There,
    images_of,
    meant,
    nearest,
)
from helpers.icon2 import frames
from helpers.icon2.reading import CLASSES
from helpers.models import networks
from helpers.models.recipe import WIDER, Recipe, Times, recipes
from helpers.models.reduced import REDUCED

INJECTED = "# Parameters"  # the comment with which papermill opens the cell it injects
OF_ALL = {"seed", "output"}  # by one of them the cell of the parameters is known


class ParameterError(ValueError):
    """A parameter is unknown, of the wrong type or out of range; the message names each one."""

    def _render_traceback_(self) -> list[str]:
        """Show the sentence without a traceback in Jupyter."""
        return [str(self)]


def texts_of(value: Any) -> Any:
    """Return positive values as texts, of numbers, lists or mappings, or of YAML in brackets."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        return _yaml(value)
    if isinstance(value, list):
        return [texts_of(one) for one in value]
    if isinstance(value, dict):
        return {name: texts_of(one) for name, one in value.items()}
    return value


Seed = Annotated[int, Field(ge=0, lt=2**32)]  # NumPy takes no larger one
METHODS = Literal[*explain.METHODS]


def _of_this_machine(device: str) -> str:
    """Refuse a device that this machine does not have."""
    models.device(device, synthetic=True)  # with which "auto" need not look for a GPU
    return device


class Declared:
    """Every parameter that a notebook may have, with what it may be."""

    # of all notebooks
    seed: Seed
    output: str  # folder under outputs/
    # of the notebooks on images
    images: Annotated[Images, BeforeValidator(images_of)]
    model: Annotated[list[Recipe], Field(min_length=1), BeforeValidator(recipes)]
    trainings: Times
    device: Annotated[Literal[*models.DEVICES], AfterValidator(_of_this_machine)]
    # 02 to 05b
    fits: Annotated[
        list[Literal["scratch", "fine-tuned", "probe"]], Field(min_length=1)
    ]
    per_context: Times
    side: Literal["left", "right"]
    shape: Literal["squeezed", "native"]
    neutral: Literal["mean", "white", "shuffled"]
    scale: Annotated[float, Field(ge=0.1, le=4)]
    layer: str | None
    doses: Annotated[list[Share], Field(min_length=1)]
    exchanged: Share
    # 06 and 07
    methods: Annotated[
        list[METHODS] | None, AfterValidator(lambda m: m or [*explain.METHODS])
    ]
    method: METHODS
    effort: Literal["quick", "sound", "paper"]
    sets: Annotated[list[str], Field(min_length=1)]
    mosaics: Annotated[int, Field(ge=1, le=10_000)]
    per_pair: Annotated[int, Field(ge=2, le=10_000)]
    masks: Folder | None
    # 08 and 08b
    labels: There | None
    predictions: There | None
    frames: Folder | None
    weights: There | None
    gps: Folder | None
    areas: There | None
    incomes: There | None
    edges: Literal["equal", "paper"]
    sensitive: str
    figure_classes: Annotated[list[Literal[*CLASSES]], Field(min_length=1)]
    further: list[str] | None
    choices: dict[str, str] | None
    resamples: Annotated[int, Field(ge=10, le=10_000)]
    planted_frames: Annotated[int, Field(ge=100)]
    harder: Annotated[float, Field(ge=0, le=3)]
    rare: Annotated[float, Field(ge=0, le=1)]
    worlds: Annotated[int, Field(ge=2, le=12)]  # as many are recorded
    # 12
    attributes: There | None
    groups: Annotated[list[str], Field(min_length=1)] | None
    classes: Annotated[list[str], Field(min_length=1)] | None
    sizes: (
        Annotated[
            list[Annotated[float, Field(gt=0)]], Field(min_length=2, max_length=2)
        ]
        | None
    )
    # 09 and 13
    table: There | None
    cluster: str | None  # 08
    roles: list[str] | None  # 13, as all to the threshold
    strata: list[str] | None
    second: str | None
    weight: str | None
    positive: Annotated[
        str | list[str] | dict[str, str | list[str]] | None, BeforeValidator(texts_of)
    ]
    reference: str
    limit: float
    threshold: float | None
    draws: Annotated[int, Field(ge=99, le=100_000)]
    # 11
    network: str | None
    photographs: There | None
    places: Folder | None
    start: There | None
    trained: Literal["last layer", "all"] | None
    class_table: There | None
    group_table: There | None
    # of the sweeps
    seeds: Annotated[list[Seed], Field(min_length=1)]


def check(namespace: Mapping[str, Any]) -> SimpleNamespace:
    """Check a notebook's parameters, which are the annotated names of its ``globals()``.

    Returns them by name: `images` as :class:`Images`, `model` as :class:`Recipe`, `models` all of
    them. A :class:`ParameterError` names all that is wrong, and says what is allowed."""
    cells = [_annotated(source) for source in namespace.get("In", [])]
    cells = [names for names in cells if OF_ALL & names.keys()]
    names = (
        cells[-1] if cells else namespace.get("__annotations__", {})
    )  # those keep old slips
    own = {name: namespace[name] for name in names if name in namespace}
    if not own:
        raise ParameterError(
            "The parameters are not there yet: run the cell above first."
        )
    return accepted(own, {name: namespace.get(name) for name in _injected(namespace)})


def checked(values: Mapping[str, Any], chosen: Iterable[str]) -> SimpleNamespace:
    """Check values of declared parameters; networks are tried out where `chosen` names them."""
    problems, right, kinds = [], {}, get_type_hints(Declared, include_extras=True)
    for name, value in values.items():
        if name not in kinds:
            new = "Whoever writes a lesson declares a new one in helpers/suite/parameters.py."
            raise ParameterError(
                f"no parameter is called {name!r}: {nearest(name, kinds)}{new}"
            )
        try:
            value = meant_by(value, kinds[name])
            right[name] = TypeAdapter(kinds[name]).validate_python(value, strict=True)
            if isinstance(value, list) and any(value.count(one) > 1 for one in value):
                problems.append(
                    f"parameter {name!r}: one of {value} is there twice; keep one"
                )
        except Refused as error:
            problems += [
                f"parameter {name!r}: {_reason(one)}" for one in error.errors()
            ]
            if _items(kinds[name]) and not isinstance(value, list):
                problems[-1] += (
                    f". Papermill takes a list with -y '{name}: [first, second]'"
                )
    if problems:
        raise ParameterError("\n".join(problems))
    settings, chosen = SimpleNamespace(**right), set(chosen)
    if "model" in right:
        beside = {name: right[name] for name in BESIDE_MODEL if name in right}
        recipes = [replace(one, **beside) for one in right["model"]]
        settings.model, settings.models = recipes[0], recipes
        if "fits" in right and "fits" not in chosen and settings.model.fit != "scratch":
            settings.fits = [settings.model.fit]
    for faults in (
        _unread,
        _unfit,
        _not_there,
    ):  # each is looked for where the one before is not
        if problems := [*filter(None, faults(settings, chosen))]:
            raise ParameterError("\n".join(problems))
    return settings


BESIDE_MODEL = ("trainings", "device")  # parameters that a recipe holds, too


def meant_by(value: Any, kind: Any) -> Any:
    """Return the list that is meant, because papermill's -p can pass only text or numbers.

    A single text or number is a list of one. A text in brackets is read as YAML, and other texts
    as names with commas between.
    """
    items = _items(kind)
    if items is None or value is None:
        return value
    if isinstance(value, str):
        value = _listed(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = [value]
    return [_item(one, items) for one in value] if isinstance(value, list) else value


def _listed(text: str) -> Any:
    """Split a text into the items of a list."""
    if text.lstrip().startswith("["):
        return _yaml(text)
    if "=" in text:  # y_true=paid,y_pred=decision, whose values may hold commas
        return re.split(r"\s*,\s*(?=\w+=)", text.strip())
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names]


def _yaml(text: str) -> Any:
    """Read lists and mappings of texts from YAML, or return the text if it is none."""
    try:
        return yaml.load(text, Loader=yaml.BaseLoader)  # for which NO is a text
    except yaml.YAMLError:
        return text


def _item(value: Any, kind: type) -> Any:
    """Write a number in a list of texts as a text, and read a text in a list of numbers."""
    if isinstance(value, bool):
        return value
    if kind is str:
        return str(value) if isinstance(value, int | float) else value
    try:
        return kind(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _items(kind: Any) -> type | None:
    """Return the type of a list's items, such as str; None if the parameter is no such list."""
    if get_origin(kind) is list:
        [item] = get_args(kind)
        item = get_args(item)[0] if get_origin(item) is Annotated else item
        item = str if get_origin(item) is Literal else item
        return item if item in (str, int, float) else None
    if get_origin(kind) is Annotated:
        return _items(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType) and str not in get_args(kind):
        return next(filter(None, map(_items, get_args(kind))), None)
    return None


NEEDS = {  # what is read only together with others
    "predictions": ("labels",),
    "attributes": ("labels",),
    "weights": ("frames",),
    "gps": ("labels", "areas", "incomes"),
    "areas": ("labels", "gps", "incomes"),
    "incomes": ("labels", "gps", "areas"),
}


def _unread(settings: SimpleNamespace, chosen: set[str]) -> Iterator[str]:
    """What is wrong with values that would be accepted and then not read."""
    has = vars(settings)
    missing = {name for name, value in has.items() if value is None}
    own = has.get("labels") or has.get("frames")
    missing -= (
        {*frames.PUBLISHED} if has.get("frames") else set()
    )  # the folder may hold them
    for name, others in NEEDS.items():
        for other in others if has.get(name) is not None else ():
            if other in missing:
                yield f"parameter {name!r} is read only together with {other!r}: give both"
    labels, images, models = has.get("labels"), has.get("images"), has.get("models", [])
    explains = {"method", "methods"} & has.keys()
    as_it_is = "as it is" in [one.fit for one in models]
    rules = (  # parameters, whether they are not read here, and why
        ({"labels"}, labels and {"predictions", "frames"} <= missing,
         " is read only together with 'predictions' or 'frames'"),
        (chosen & {"harder", "rare", "planted_frames"}, own,
         " is of the rendered street, and other frames are given"),
        (chosen & {"edges"}, labels and "gps" in missing, " is read only together with 'gps'"),
        (chosen & {"doses", "exchanged"}, images and images.source != "world",
         " is of the embedded world, and 'images' are others"),
        ({"masks"}, has.get("masks") and images.eyespot is not None,
         " is not read where an eyespot is planted"),
        ({"images"}, images and images.source == "focus" and not explains,
         ": 'focus' are ready-made mosaics, for the notebooks that rate explanations (06 and 07); "
         "this one needs single images of classes"),
        ({"images"}, images and isinstance(images.archives, dict) and not as_it_is,
         ": the images of these classes (`archives`) are too few to train on: take fit 'as it is'"),
        ({"model"}, "fits" in chosen and {*settings.fits} == {"scratch"} and models[0].weights,
         ": its `weights` are not read where 'fits' is scratch only"),
        ({"model"}, as_it_is and not explains,
         ": fit 'as it is' is for notebooks 06 and 07, which explain a network; this one compares "
         "trainings: take scratch, fine-tuned or probe"),
        ({"model"}, len(models) > 1 and "methods" not in has,
         ": only notebook 06 takes several models"),
    )  # fmt: skip
    for names, wrong, why in rules:
        yield from (f"parameter {name!r}{why}" for name in names if wrong)


def _unfit(settings: SimpleNamespace, chosen: set[str]) -> Iterator[str]:
    """What is wrong with networks that cannot be had or cannot take the images."""
    names = dict.fromkeys(
        recipe.architecture for recipe in getattr(settings, "models", [])
    )
    if unknown := [*filter(None, map(_unknown_architecture, names))]:
        yield from unknown
        return
    recipes = (
        getattr(settings, "models", []) if {"model", "images", "fits"} & chosen else []
    )
    if recipes and hasattr(settings, "fits"):  # of 02: its recipe once for each
        weights = dict.fromkeys(settings.fits, recipes[0].weights) | {"scratch": None}
        recipes = [
            replace(recipes[0], fit=fit, weights=weights[fit]) for fit in settings.fits
        ]
    yield from (_misfit(recipe, settings.images.size) for recipe in recipes)


@functools.cache
def _unknown_architecture(name: str) -> str:
    """Say that there is no such architecture, and which there are; "" where there is."""
    if name in REDUCED:
        return ""
    from torchvision import models as torchvision_models  # takes a second

    known = [*REDUCED, *torchvision_models.list_models(module=torchvision_models)]
    refusal = (
        f"parameter 'model': there is no architecture {name!r}; {meant(name, known)}"
    )
    return "" if name in known else refusal


@functools.cache
def _misfit(recipe: Recipe, size: int) -> str:
    """What is wrong with a network, which is built and given a blank image; "" if nothing is."""
    start = "scratch" if recipe.fit == "scratch" else recipe.start
    if recipe.fit == "as it is" and start == WIDER:
        return (
            "fit 'as it is' needs a network: one of torchvision's, or its weights file"
        )
    try:
        if recipe.fit == "as it is":
            networks.identity(recipe.architecture, "imagenet")  # whether there are such
        if start == "imagenet":
            networks.reach(recipe.architecture)
        file = None if start in ("scratch", WIDER, "imagenet") else start
        model = models.build(recipe.architecture, 2, weights=file).eval()
    except (ValueError, OSError) as error:
        return str(error)
    try:
        with torch.no_grad():
            model(torch.zeros(1, 3, size, size))
    except Exception as error:  # whatever a layer raises
        too = f"{recipe.architecture} cannot take images of {size} pixels"
        return f"parameter 'images': {too}: {str(error).splitlines()[0]}"
    return ""


def _not_there(settings: SimpleNamespace, chosen: set[str]) -> Iterator[str]:
    """What is wrong with a choice from the reader's data, which are looked into."""
    has = vars(settings)
    try:
        known = _sets(settings.images, scan="sets" in chosen) if "sets" in has else []
        for name in settings.sets if known else ():
            if name not in known:
                yield f"parameter 'sets': no set {name!r}; there are: {', '.join(known)}"
        if {
            "labels",
            "frames",
            "sensitive",
            "further",
            "cluster",
        } & chosen and "gps" in has:
            frames.check(settings)
    except (ValueError, OSError) as error:
        yield str(error)


def _sets(images: Images, scan: bool) -> list[str]:
    """Names of the sets of images, those of a reader's folder where it is scanned."""
    if images.source in ("world", "visual-contexts"):
        return ["C", "NC", "WB"]
    if not scan:
        return []
    if images.source == "focus":
        return [Path(images.folder).name] if images.folder else images.archives
    return list(folders.scan(Path(images.folder)).sets)


def _reason(error: dict) -> str:
    """One complaint of pydantic's as the end of a sentence."""
    parts = [part for part in map(str, error["loc"]) if part not in (ONE, EACH)]
    place = "".join(f" [{part}]" for part in parts if not part.startswith("function-"))
    text = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{error['input']!r}{place} {text}" if "should" in text else text


def _injected(namespace: Mapping[str, Any]) -> list[str]:
    """Names assigned in the cell that papermill injected, by IPython's input history."""
    cells = [
        source for source in namespace.get("In", []) if source.startswith(INJECTED)
    ]
    nodes = ast.parse("".join(cells[-1:])).body
    return [t.id for n in nodes if isinstance(n, ast.Assign) for t in n.targets]


def _annotated(source: str) -> dict[str, ast.expr]:
    """The names that a cell gives with their types, and their values; none in a broken cell."""
    try:
        nodes = ast.parse(source).body
    except SyntaxError:
        return {}
    return {
        n.target.id: n.value for n in nodes if isinstance(n, ast.AnnAssign) and n.value
    }


def unknown(name: str, declared: Iterable[str]) -> str:
    """The refusal of a name that is not among the declared ones."""
    return f"parameter {name!r} is not declared here; {meant(name, declared)}"


def defaults(notebook_path: str | Path) -> dict[str, Any]:
    """The parameters that a notebook declares, with their values, in order."""
    notebook = nbformat.read(notebook_path, as_version=4)
    cells = [
        c.source for c in notebook.cells if "parameters" in c.metadata.get("tags", [])
    ]
    annotated = _annotated("\n".join(cells))
    return {name: ast.literal_eval(value) for name, value in annotated.items()}


def changed(notebook: str, settings: SimpleNamespace) -> list[str]:
    """The parameters that are not as a notebook is stored, but for `output`."""
    path, has = store.root() / "notebooks" / f"{notebook}.ipynb", vars(settings)
    own = defaults(path) if path.is_file() else {}
    again = {name: has[name] for name in BESIDE_MODEL if name in has}
    stored = vars(checked(own | again, ())) | {name: own.get(name) for name in again}
    names = {*own} & {*has} - {"output"}
    return [name for name in own if name in names and has[name] != stored[name]]


def accepted(own: Mapping[str, Any], values: Mapping[str, Any]) -> SimpleNamespace:
    """Check, as :func:`check` does, what is given to a notebook that declares `own`."""
    if problems := [unknown(name, own) for name in values if name not in own]:
        raise ParameterError("\n".join(problems))
    return checked({**own, **values}, values)
