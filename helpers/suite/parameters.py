"""What a notebook may be given: every parameter of every notebook is declared here, once.
A notebook names its own in one cell, and the next is ``settings = check(globals())``."""

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, get_args, get_type_hints

import nbformat
import torch
from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter
from pydantic import ValidationError as Refused

from helpers import explain, models
from helpers.data import folders
from helpers.data.images import EACH, ONE, Bias, Folder, Images, Share, There, images_of, meant
from helpers.icon2 import frames
from helpers.models import networks
from helpers.models.recipe import WIDER, Recipe, Times, recipes
from helpers.suite import failures
from helpers.worlds.driving import law

INJECTED = "# Parameters"  # the comment with which papermill opens the cell it injects


class ParameterError(ValueError):
    """A parameter is unknown, of the wrong type or out of range; the message names each one."""


Seed = Annotated[int, Field(ge=0, lt=2**32)]  # NumPy takes no larger one
METHODS = Literal[*explain.METHODS]


class Declared:
    """Every parameter that a notebook may have, with what it may be."""

    # of all notebooks
    seed: Seed
    output: str  # folder under outputs/
    # of the notebooks on images
    images: Annotated[Images, BeforeValidator(images_of)]
    model: Annotated[list[Recipe], Field(min_length=1), BeforeValidator(recipes)]
    trainings: Times
    # 02 to 05b
    fits: list[Literal["scratch", "fine-tuned", "probe"]]
    per_context: Times
    side: Literal["left", "right"]
    shape: Literal["squeezed", "native"]
    neutral: Literal["mean", "white", "shuffled"]
    changed: Bias
    scale: Annotated[float, Field(ge=0.1, le=4)]
    layer: str | None
    doses: Annotated[list[Share], Field(min_length=1)]
    exchanged: Share
    # 06 and 07
    methods: Annotated[list[METHODS] | None, AfterValidator(lambda m: m or [*get_args(METHODS)])]
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
    shown: Annotated[list[Literal[*law.CLASSES]], Field(min_length=1)]
    further: list[str] | None
    choices: dict[str, str] | None
    resamples: Annotated[int, Field(ge=10, le=10_000)]
    planted_frames: Annotated[int, Field(ge=100)]
    harder: Annotated[float, Field(ge=0, le=3)]
    rare: Annotated[float, Field(ge=0, le=1)]
    worlds: Annotated[int, Field(ge=2, le=12)]  # as many are recorded
    # 09
    table: There | None
    groups: list[str] | None
    cluster: str | None  # 08, too
    draws: Annotated[int, Field(ge=99, le=100_000)]
    # of the sweeps
    seeds: Annotated[
        list[Seed],
        Field(min_length=1),
        BeforeValidator(lambda seeds: list(range(seeds)) if type(seeds) is int else seeds),
    ]  # a number says how many


def check(namespace: Mapping[str, Any]) -> SimpleNamespace:
    """Check a notebook's parameters, which are the annotated names of its ``globals()``.

    Returns them by name: `images` is an :class:`Images`, `model` a :class:`Recipe` with the
    notebook's `trainings`, and `models` all models. A :class:`ParameterError` names all that is
    unknown, mistyped, out of range, not there or cannot be built, and says what is allowed."""
    failures.watch()
    optimized()
    own = {name: namespace[name] for name in namespace.get("__annotations__", {})}
    return accepted(own, {name: namespace.get(name) for name in _injected(namespace)})


def optimized() -> None:
    """Say so where Python leaves out assertions, with which the notebooks check themselves."""
    if not __debug__:
        print("PYTHONOPTIMIZE (or -O) turns all `assert` lines off: nothing is checked by them.")


def checked(values: Mapping[str, Any], given: Iterable[str]) -> SimpleNamespace:
    """Check values of declared parameters; networks are tried out where `given` names them."""
    problems, right, kinds = [], {}, get_type_hints(Declared, include_extras=True)
    for name, value in values.items():
        if name not in kinds:
            raise ParameterError(f"{name!r} is declared in the notebook and not in {__name__}")
        try:
            right[name] = TypeAdapter(kinds[name]).validate_python(value, strict=True)
        except Refused as error:
            problems += [f"parameter {name!r}: {_reason(one)}" for one in error.errors()]
    if problems:
        raise ParameterError("\n".join(problems))
    settings = SimpleNamespace(**right)
    if problems := [*_unread(right, set(given))]:
        raise ParameterError("\n".join(problems))
    if "images" in right and right["images"].source == "focus" and "methods" not in values:
        raise ParameterError(
            "parameter 'images': 'focus' are ready-made mosaics, for the notebooks that rate "
            "explanation methods (06); this one needs single images of classes"
        )
    if "model" in right:
        recipes = [replace(one, trainings=right["trainings"]) for one in right["model"]]
        settings.model, settings.models = recipes[0], recipes
        if "as it is" in [one.fit for one in recipes] and not {"method", "methods"} & set(values):
            raise ParameterError(
                "fit 'as it is' is for notebooks 06 and 07, which explain a network; this one "
                "compares trainings: take scratch, fine-tuned or probe"
            )
        if len(recipes) > 1 and "methods" not in values:
            raise ParameterError("parameter 'model': only notebook 06 takes several models")
        if "fits" in right and "fits" not in given and settings.model.fit != "scratch":
            settings.fits = [settings.model.fit]
        if {"model", "images", "fits"} & set(given):
            faults = [_misfit(recipe, right["images"].size) for recipe in _fitted(settings)]
            if any(faults):
                raise ParameterError("\n".join(filter(None, faults)))
    if problems := _of_data(settings, set(given)):
        raise ParameterError(problems)
    return settings


NEEDS = {  # what is read only together with others
    "groups": ("table",),
    "cluster": ("table",),  # 09; that of 08 is a column of the rendered street, too
    "predictions": ("labels",),
    "frames": ("labels",),
    "weights": ("frames",),
    "gps": ("labels", "areas", "incomes"),
    "areas": ("labels", "gps", "incomes"),
    "incomes": ("labels", "gps", "areas"),
}


def _unread(right: Mapping[str, Any], given: set[str]) -> Iterator[str]:
    """What is wrong with values that would be accepted and then not read."""

    def lacks(name: str) -> bool:
        return name in right and right[name] is None

    for name, others in NEEDS.items():
        if right.get(name) is not None:
            for other in filter(lacks, others):
                yield f"parameter {name!r} is read only together with {other!r}: give both"
    if right.get("labels") and lacks("predictions") and lacks("frames"):
        yield "parameter 'labels' is read only together with 'predictions' or 'frames'"
    for name in given & {"harder", "rare"} if right.get("labels") else ():
        yield f"parameter {name!r} is of the rendered street, and 'labels' are given"
    if "edges" in given and right.get("labels") and lacks("gps"):
        yield "parameter 'edges' is read only together with 'gps'"
    images = right.get("images")
    for name in given & {"changed", "doses", "exchanged"} if images else ():
        if images.source != "world":
            yield f"parameter {name!r} is of the embedded world, and 'images' are others"
    if right.get("masks") and images.eyespot is not None:
        yield "parameter 'masks' is not read where an eyespot is planted"
    if "fits" in given and set(right["fits"]) == {"scratch"} and right["model"][0].weights:
        yield "parameter 'model': its `weights` are not read where 'fits' is scratch only"


def _fitted(settings: SimpleNamespace) -> list[Recipe]:
    """The recipes of a notebook; that of 02 once for each of its `fits`."""
    if not hasattr(settings, "fits"):
        return settings.models
    weights = {"scratch": None}
    return [
        replace(settings.model, fit=fit, weights=weights.get(fit, settings.model.weights))
        for fit in settings.fits
    ]


def _of_data(settings: SimpleNamespace, given: set[str]) -> str:
    """What is wrong with a choice from the reader's data, which are looked into; "" if nothing."""
    images = getattr(settings, "images", None)
    try:
        if hasattr(settings, "sets"):
            known = _sets(images, scan="sets" in given)
            if unknown := [name for name in settings.sets if known and name not in known]:
                return f"parameter 'sets': no set {unknown[0]!r}; there are: {', '.join(known)}"
        if {"labels", "sensitive", "further", "cluster"} & given and hasattr(settings, "gps"):
            frames.check(settings)
    except (ValueError, OSError) as error:
        return str(error)
    return ""


def _sets(images: Images, scan: bool) -> list[str]:
    """Names of the sets of images, those of a reader's folder where it is scanned."""
    if images.source in ("world", "visual-contexts"):
        return ["C", "NC", "WB"]
    if images.source == "focus" and scan:
        return [Path(images.folder).name] if images.folder else images.archives
    if not scan:
        return []
    return list(folders.scan(Path(images.folder)).sets)


def _reason(error: dict) -> str:
    """One complaint of pydantic's as the end of a sentence."""
    parts = [part for part in map(str, error["loc"]) if part not in (ONE, EACH)]
    place = "".join(f" [{part}]" for part in parts if not part.startswith("function-"))
    text = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{error['input']!r}{place} {text}" if "should" in text else text


def _injected(namespace: Mapping[str, Any]) -> list[str]:
    """Names assigned in the cells that papermill injected, by IPython's input history."""
    cells = [source for source in namespace.get("In", []) if source.startswith(INJECTED)]
    nodes = [node for source in cells for node in ast.parse(source).body]
    return [t.id for n in nodes if isinstance(n, ast.Assign) for t in n.targets]


def unknown(name: str, declared: Iterable[str]) -> str:
    """The refusal of a name that is not among the declared ones."""
    there = ", ".join(declared)
    hint = f"{meant(name, declared)}the parameters are: {there}" if there else "there are none"
    return f"parameter {name!r} is not declared here; {hint}"


@functools.cache
def _misfit(recipe: Recipe, size: int) -> str:
    """What is wrong with a network, which is built and shown a blank image; "" if nothing is."""
    start = "scratch" if recipe.fit == "scratch" else recipe.start
    if recipe.fit == "as it is" and start == WIDER:
        return "fit 'as it is' needs a network: one of torchvision's, or its weights file"
    file = None if start in ("scratch", WIDER, "imagenet") else start
    try:
        if recipe.fit == "as it is":
            networks.identity(recipe.architecture, "imagenet")  # whether there are such
        if start == "imagenet":
            networks.reach(recipe.architecture)
        model = models.build(recipe.architecture, 2, weights=file).eval()
    except (ValueError, OSError) as error:
        return str(error)

    def reason(size: int) -> str:
        try:
            with torch.no_grad():
                model(torch.zeros(1, 3, size, size))
        except Exception as error:  # whatever a layer raises
            return str(error).splitlines()[0]
        return ""

    if not (wrong := reason(size)):
        return ""
    fits = next((f"{n} fits" for n in range(32, 513, 32) if not reason(n)), "take another network")
    too = f"{recipe.architecture} cannot take images of {size} pixels"
    return f"parameter 'images': {too} ({wrong}); {fits}"


def defaults(notebook_path: str | Path) -> dict[str, Any]:
    """The parameters that a notebook declares, with their values, in order."""
    notebook = nbformat.read(notebook_path, as_version=4)
    cells = [c.source for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    nodes = ast.parse("\n".join(cells)).body
    return {n.target.id: ast.literal_eval(n.value) for n in nodes if isinstance(n, ast.AnnAssign)}


def accepted(own: Mapping[str, Any], given: Mapping[str, Any]) -> SimpleNamespace:
    """Check, as :func:`check` does, what is given to a notebook that declares `own`."""
    if problems := [unknown(name, own) for name in given if name not in own]:
        raise ParameterError("\n".join(problems))
    return checked({**own, **given}, given)


def used(settings: SimpleNamespace, given: Mapping[str, Any]) -> str:
    """What a notebook will use, in a line: its images, its models, and what else it is given."""
    parts, told = [], {"output", "images", "model", "trainings", "fits"}
    if images := getattr(settings, "images", None):
        source = "the embedded world" if images.source == "world" else images.source
        many = f"at most {images.per_class}" if images.per_class else "all"
        many = many.removeprefix("at most ") if images.source == "world" else many
        about = f"{images.folder or source}, {many} images a class, {images.size} pixels"
        bias = {name: getattr(images, name) for name in ("context_bias", "eyespot")}
        parts += [about, *(f"{n} {v}" for n, v in bias.items() if v is not None)]
    if hasattr(settings, "model"):
        made = {}
        for one in _fitted(settings):
            start = f" from {one.start}" if one.fit != "scratch" else ""
            made.setdefault(one.architecture, []).append(one.fit + start)
        parts.append(", ".join(f"{name} ({', '.join(fits)})" for name, fits in made.items()))
        if any(one.fit != "as it is" for one in settings.models):
            parts.append(f"{settings.trainings} trainings")
    parts += [f"{name} {value}" for name, value in given.items() if name not in told]
    return "; ".join(parts) or "as it is stored"
