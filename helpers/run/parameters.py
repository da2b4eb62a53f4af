"""What a notebook may be given: every parameter of every notebook is declared here, once.

A notebook names its own in one cell, and the next is ``settings = check(globals())``.
"""

import ast
import difflib
import functools
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, get_args, get_type_hints

import nbformat
import yaml
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter
from pydantic import ValidationError as Refused
from pydantic.dataclasses import dataclass

from helpers.run import failures
from helpers.run.progress import progress

SLOW = ("pandas", "matplotlib.pyplot", "torch")  # what every notebook imports next
STRICT = ConfigDict(strict=True, extra="forbid")
Archive = Literal["catsdogs", "ilsvrc2012", "mit67", "mame"]
INJECTED = "# Parameters"  # the comment with which papermill opens the cell it injects
WIDER = "wider world"


class ParameterError(ValueError):
    """A parameter is unknown, of the wrong type or out of range; the message names each one."""


def _there(path: str) -> str:
    path = str(Path(path).expanduser())
    if not Path(path).exists():
        below = "" if Path(path).is_absolute() else f" below {Path.cwd()}"
        raise ValueError(f"there is no file or folder {path!r}{below}")
    return path


Natural = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
There = Annotated[str, AfterValidator(_there)]
Bias = Share | dict[str, Share]
Fit = Literal["scratch", "fine-tuned", "probe", "as it is"]
Times = Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True, config=STRICT)
class Images:
    """What the images of a run are: the keys of the reader's YAML file."""

    source: Literal["world", "visual-contexts", "focus", "folder"] = "world"
    size: Annotated[int, Field(ge=32, le=512)] = 96  # side of the square images in pixels
    # images of each class in each set (None: all); of "focus" mosaics of each target class
    per_class: Annotated[int, Field(ge=3)] | None = 150
    folder: There | None = None  # of class folders; with "focus" of mosaics and their index
    contexts: There | None = None  # of context folders
    archives: list[Archive] = field(default_factory=lambda: [*get_args(Archive)])  # of "focus"
    context_of: dict[str, str] | None = None  # class to context (None: named as the classes)
    context_bias: Bias | None = None  # world: share of C's images in their class's own context
    # world: a quarter of the training images carry an eyespot, and this dose of it is moved from
    # all classes to bench (0: it says nothing, 1: only benches carry it; None: none does)
    eyespot: Share | None = None

    def __post_init__(self):
        if self.source != "focus" and (self.source == "folder") != bool(self.folder):
            raise ValueError("`folder` and `source: folder` go together: give both or neither")
        if self.source == "world" and (self.contexts or self.context_of):
            raise ValueError("the embedded world brings its own contexts")
        if self.source != "world" and (self.eyespot, self.context_bias) != (None, None):
            raise ValueError("a bias can be planted in the embedded world only")


def images_of(given: Any) -> Images:
    """Images by the name of their source, by the path of a YAML file, or by their attributes."""
    if isinstance(given, Images):
        return given
    if isinstance(given, str) and given.endswith((".yml", ".yaml")):
        file = Path(_there(given))
        try:
            given = yaml.safe_load(file.read_text())
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} cannot be read as YAML: {error}") from None
        if isinstance(given, dict):  # paths in the file are relative to the file
            for name in ("folder", "contexts"):
                if isinstance(given.get(name), str):
                    path = file.parent / Path(given[name]).expanduser()
                    if not path.exists():
                        raise ValueError(f"{file}: `{name}` names {path}, which is not there")
                    given[name] = str(path)
    if isinstance(given, str):
        given = {"source": given}
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is no source, no path of a YAML file and no keys of images")
    if given.get("folder"):
        given = {"source": "folder"} | given
    published = given.get("source") in ("visual-contexts", "focus")
    return _built(Images, {"size": 224 if published else 96, **given})


@dataclass(frozen=True, config=STRICT)
class Recipe:
    """How a model is made."""

    architecture: str = "alexnet-quarter"  # of `models.reduced.REDUCED` or of torchvision
    fit: Fit = "scratch"
    weights: str | None = None  # ``wider world``, ``imagenet`` or a file; all but scratch start so
    epochs: Times | None = None  # None: what the images take
    trainings: Times = 10  # they differ in their seed

    @property
    def start(self) -> str:
        """Where a training that is not from scratch starts."""
        small = self.architecture.endswith(("-quarter", "-eighth"))
        return self.weights or (WIDER if small else "imagenet")


def _recipes(given: Any) -> list[Recipe]:
    """Recipes of one model or several: an architecture's name, or the keys of a recipe."""
    found = []
    for one in given if isinstance(given, list) else [given]:
        one = {"architecture": one} if isinstance(one, str) else one
        if not isinstance(one, dict):
            raise ValueError(f"{one!r} is neither an architecture nor the keys of a model")
        if "architecture" not in one:
            raise ValueError(f"says no `architecture`: {one}")
        fit = "fine-tuned" if one.get("weights") else "scratch"
        found.append(_built(Recipe, {"fit": fit, **one}))
    return found


def _built(kind: type, given: dict):
    """An object of its attributes; an unknown key is refused with the one that may be meant."""
    known = list(kind.__dataclass_fields__)
    for key in set(given) - set(known):
        raise ValueError(f"{key!r} is no key; {meant(key, known)}the keys are: {', '.join(known)}")
    return kind(**given)


METHODS = Literal["gradcam", "lrp", "smoothgrad", "lime", "gradcam++", "integrated-gradients"]
CLASSES = Literal[
    "car", "pedestrian", "truck", "bus", "motorcycle", "bicycle", "traffic light", "traffic sign",
]  # fmt: skip


class Declared:
    """Every parameter that a notebook may have, with what it may be."""

    # of all notebooks
    seed: Natural
    output: str  # folder under outputs/
    # of the notebooks on images
    images: Annotated[Images, BeforeValidator(images_of)]
    model: Annotated[list[Recipe], Field(min_length=1), BeforeValidator(_recipes)]
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
    sets: list[str]
    mosaics: Annotated[int, Field(ge=1, le=10_000)]
    per_pair: Annotated[int, Field(ge=2, le=10_000)]
    masks: There | None
    # 08 and 08b
    labels: There | None
    predictions: There | None
    frames: There | None
    weights: There | None
    gps: There | None
    areas: There | None
    incomes: There | None
    edges: Literal["equal", "paper"]
    sensitive: str
    shown: Annotated[list[CLASSES], Field(min_length=1)]
    further: list[str] | None
    choices: dict[str, str] | None
    resamples: Annotated[int, Field(ge=10, le=10_000)]
    planted_frames: Annotated[int, Field(ge=100)]
    harder: Annotated[float, Field(ge=0, le=3)]
    rare: Annotated[float, Field(ge=0, le=1)]
    worlds: Annotated[int, Field(ge=2, le=10_000)]
    # 09
    table: There | None
    groups: list[str] | None
    cluster: str | None  # 08, too
    draws: Annotated[int, Field(ge=99, le=100_000)]
    tables: Literal["stored", "run"]
    # of the sweeps
    seeds: Annotated[
        list[Natural],
        Field(min_length=1),
        BeforeValidator(lambda seeds: list(range(seeds)) if type(seeds) is int else seeds),
    ]  # a number says how many


def check(namespace: Mapping[str, Any]) -> SimpleNamespace:
    """Check a notebook's parameters, which are the annotated names of its ``globals()``.

    Returns them by name: `images` is an :class:`Images`, `model` a :class:`Recipe` with the
    notebook's `trainings`, and `models` all models. A :class:`ParameterError` names all that is
    unknown, mistyped, out of range, not there or cannot be built, and says what is allowed.
    """
    failures.watch()
    for name in progress(SLOW, desc="loading", delay=1):  # seconds, in which nothing else is seen
        importlib.import_module(name)
    own = {name: namespace[name] for name in namespace.get("__annotations__", {})}
    return accepted(own, {name: namespace.get(name) for name in _injected(namespace)})


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
        if {"model", "images"} & set(given):
            faults = [_misfit(recipe, right["images"].size) for recipe in recipes]
            if any(faults):
                raise ParameterError("\n".join(filter(None, faults)))
    return settings


def _reason(error: dict) -> str:
    """One complaint of pydantic's as the end of a sentence."""
    place = "".join(f" [{part}]" for part in error["loc"] if not str(part).startswith("function-"))
    text = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{error['input']!r}{place} {text}" if "should" in text else text


def _injected(namespace: Mapping[str, Any]) -> list[str]:
    """Names assigned in the cells that papermill injected, by IPython's input history."""
    cells = [source for source in namespace.get("In", []) if source.startswith(INJECTED)]
    nodes = [node for source in cells for node in ast.parse(source).body]
    return [t.id for n in nodes if isinstance(n, ast.Assign) for t in n.targets]


def unknown(name: str, declared: Iterable[str]) -> str:
    """The refusal of a name that is not among the declared ones."""
    hint = f"{meant(name, declared)}the parameters are: {', '.join(declared)}"
    return f"parameter {name!r} is not declared here; {hint}"


def meant(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is nearest to one that is not known; empty where none is."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"did you mean {close[0]!r}? " if close else ""


@functools.cache
def _misfit(recipe: Recipe, size: int) -> str:
    """What is wrong with a network, which is built and shown a blank image; "" if nothing is."""
    import torch

    from helpers import models
    from helpers.models import networks

    start = "scratch" if recipe.fit == "scratch" else recipe.start
    if recipe.fit == "as it is" and start == WIDER:
        return "fit 'as it is' needs a network: one of torchvision's, or its weights file"
    file = None if start in ("scratch", WIDER, "imagenet") else start
    try:
        if recipe.fit == "as it is" or start == "imagenet":
            networks.identity(recipe.architecture, "imagenet")  # whether there are such
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
    settings = checked({**own, **given}, given)
    if "fits" in own and "fits" not in given and settings.model.fit != "scratch":
        settings.fits = [settings.model.fit]
    return settings
