"""The images of a run: the keys of a user's YAML file, and their values."""

import difflib
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic.dataclasses import dataclass

from helpers.synthetic_data import pictures

STRICT = {"strict": True, "extra": "forbid"}
Archive = Literal["catsdogs", "ilsvrc2012", "mit67", "mame"]
Archives = list[Archive] | dict[Archive, list[str]]


def nearest(name: str, known: Iterable[str]) -> str:
    """A question for the known name that may be meant; empty where none is near."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def meant(name: str, known: Iterable[str]) -> str:
    """The end of a refusal of a name that is not known: the nearest that is, and all there are."""
    known = list(known)
    return (
        f"{nearest(name, known)}there are: {', '.join(known)}"
        if known
        else "there are none"
    )


def built(kind: type, values: dict):
    """An object of its attributes; an unknown key is refused with the one that may be meant."""
    known = [name for name in kind.__dataclass_fields__ if name != "trainings"]
    for key in set(values) - set(known):
        raise ValueError(f"{key!r} is no key; {meant(key, known)}")
    return kind(**values)


def _there(path: str) -> str:
    path = str(Path(path).expanduser())
    if not Path(path).exists():
        below = "" if Path(path).is_absolute() else f" below {Path.cwd()}"
        raise ValueError(f"there is no file or folder {path!r}{below}")
    return path


def _folder(path: str) -> str:
    if not Path(path).is_dir():
        raise ValueError(f"{path!r} is a file, and a folder is needed")
    return path


def _of_each(shares: dict[str, float]) -> dict[str, float]:
    if set(shares) != set(pictures.CLASSES):
        classes, these = ", ".join(pictures.CLASSES), ", ".join(shares) or "none"
        raise ValueError(
            f"a share of each class is needed, of {classes}; these are of {these}"
        )
    return shares


Share = Annotated[float, Field(ge=0, le=1)]
There = Annotated[str, AfterValidator(_there)]
Folder = Annotated[There, AfterValidator(_folder)]
ONE, EACH = "one share", "a share of each class"
Bias = Annotated[
    Annotated[Share, Tag(ONE)]
    | Annotated[dict[str, Share], AfterValidator(_of_each), Tag(EACH)],
    Discriminator(lambda value: EACH if isinstance(value, dict) else ONE),
]


@dataclass(frozen=True, config=STRICT)
class Images:
    """The images of a run: the keys of the user's YAML file."""

    source: Literal["world", "visual-contexts", "focus", "folder"] = "world"
    size: Annotated[int, Field(ge=32, le=512)] = (
        96  # side of the square images in pixels
    )
    # images of each class in each set (None: all); of "focus" mosaics of each target class
    per_class: Annotated[int, Field(ge=3)] | None = 150
    folder: Folder | None = (
        None  # of class folders; with "focus" of mosaics and their index
    )
    contexts: Folder | None = None  # of context folders
    # of "focus"; a mapping names the only classes that are read, for new mosaics
    archives: Archives = field(default_factory=lambda: [*get_args(Archive)])
    context_of: dict[str, str] | None = (
        None  # class to context (None: named as the classes)
    )
    context_bias: Bias | None = (
        None  # synthetic dataset: share of C's images in their class's own context
    )
    # synthetic dataset: a quarter of the training images carry an eyespot, and this is its bias
    # strength towards bench (0: it is independent of the class, 1: only on benches, None: on none)
    eyespot: Share | None = None

    def __post_init__(self):
        if self.source != "focus" and (self.source == "folder") != bool(self.folder):
            raise ValueError(
                "`folder` and `source: folder` go together: give both or neither"
            )
        own = Path(self.contexts or "contexts")  # so called it is no class
        above = (own.parent.resolve() / own.name).parents
        if (
            self.folder
            and Path(self.folder).resolve() in above
            and own.name.lower() != "contexts"
        ):
            where = f"`contexts` lies in `folder`, where {own.name!r} would be a class"
            raise ValueError(f"{where}: move it out, or call it contexts")
        if self.source in ("world", "focus") and (self.contexts or self.context_of):
            raise ValueError(
                "the synthetic dataset has its own contexts, and 'focus' has none"
            )
        if self.source != "world" and (self.eyespot, self.context_bias) != (None, None):
            raise ValueError("a bias can be injected in the synthetic dataset only")


class _Once(yaml.SafeLoader):
    """YAML without keys that are given twice, of which only the last would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines:
                twice = f"the key {name!r} is given twice, first in line {lines[name]}"
                raise ValueError(
                    f"{key.start_mark.name}, line {line}: {twice}; keep one of them"
                )
            lines[name] = line
        return super().construct_mapping(node, deep)


def read_yaml(file: Path) -> Any:
    """What a YAML file holds; a ValueError says in which line it is wrong."""
    try:
        with file.open("rb") as stream:
            return yaml.load(stream, _Once)
    except (yaml.YAMLError, IsADirectoryError) as error:
        raise ValueError(f"{file} cannot be read as YAML: {error}") from None


def images_of(specification: Any) -> Images:
    """Images by the name of their source, by the path of a YAML file, or by their attributes."""
    if isinstance(specification, Images):
        return specification
    if isinstance(specification, str) and specification.endswith((".yml", ".yaml")):
        file = Path(_there(specification))
        specification = read_yaml(file)
        if isinstance(
            specification, dict
        ):  # paths in the file are relative to the file
            for name in ("folder", "contexts"):
                if isinstance(specification.get(name), str):
                    path = file.parent / Path(specification[name]).expanduser()
                    if not path.exists():
                        raise ValueError(
                            f"{file}: `{name}` names {path}, which is not there"
                        )
                    specification[name] = str(path)
    if isinstance(specification, str):
        specification = {"source": specification}
    if not isinstance(specification, dict):
        raise ValueError(
            f"{specification!r} is no source, no path of a YAML file and no keys of images"
        )
    if specification.get("folder"):
        specification = {"source": "folder"} | specification
    published = specification.get("source") in ("visual-contexts", "focus")
    if "archives" in specification and (
        specification.get("source") != "focus" or specification.get("folder")
    ):
        raise ValueError(
            "`archives` are read only with `source: focus` and without a `folder`"
        )
    return built(Images, {"size": 224 if published else 96, **specification})
