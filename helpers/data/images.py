"""What the images of a run are: the keys of a YAML file, and what each may be."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.dataclasses import dataclass

from helpers.suggest import did_you_mean
from helpers.synthetic_data import pictures

STRICT = ConfigDict(strict=True, extra="forbid")


def _existing_folder(path: str) -> str:
    """Return the path of a folder, with the home folder written out."""
    folder = Path(path).expanduser()
    if not folder.exists():
        raise ValueError(f"There is no file or folder {str(folder.absolute())!r}.")
    if not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file. Give a folder.")
    return str(folder)


def _one_per_class(shares: dict[str, float]) -> dict[str, float]:
    """Refuse shares that are not one per class of the synthetic images."""
    if set(shares) != set(pictures.CLASSES):
        classes = ", ".join(pictures.CLASSES)
        given = ", ".join(shares) or "nothing"
        raise ValueError(f"Give one share per class ({classes}), not for {given}.")
    return shares


Share = Annotated[float, Field(ge=0, le=1)]
Folder = Annotated[str, AfterValidator(_existing_folder)]
ShareOfEach = Annotated[dict[str, Share], AfterValidator(_one_per_class)]
Bias = Annotated[
    Annotated[Share, Tag("one share")] | Annotated[ShareOfEach, Tag("shares")],
    Discriminator(lambda value: "shares" if isinstance(value, dict) else "one share"),
]


@dataclass(frozen=True, config=STRICT)
class Images:
    """What the images of a run are.

    Attributes
    ----------
    source : {"world", "visual-contexts", "folder"}
        The synthetic images, the authors' images of *Visual Contexts*, or a folder of
        photographs.
    size : int
        Side of the square images in pixels.
    per_class : int or None
        Images of each class in each image set. None means all.
    folder : str or None
        Folder of class folders, which may be in the folders C, NC and WB.
    contexts : str or None
        Folder of context folders. None means the folder `contexts` in `folder`, if
        there is one.
    context_of : dict of str to str, or None
        Context of each class. None means that contexts are named as the classes.
    context_bias : float, dict of str to float, or None
        Synthetic images: share of the images of image set C that show the context of
        their class.
    eyespot : float or None
        Synthetic images: a quarter of the training images show an eyespot, and this
        share of it is moved from all classes to bench. None means no eyespot.
    """

    source: Literal["world", "visual-contexts", "folder"] = "world"
    size: Annotated[int, Field(ge=32, le=512)] = 96
    per_class: Annotated[int, Field(ge=3)] | None = 150
    folder: Folder | None = None
    contexts: Folder | None = None
    context_of: dict[str, str] | None = None
    context_bias: Bias | None = None
    eyespot: Share | None = None

    def __post_init__(self):
        """Refuse values that do not go together."""
        synthetic = self.source == "world"
        if self.source == "folder" and not self.folder:
            raise ValueError("`source: folder` needs a `folder`.")
        if self.folder and self.source != "folder":
            raise ValueError(f"`folder` is not read with `source: {self.source}`.")
        if synthetic and (self.contexts or self.context_of):
            raise ValueError(
                "`contexts` and `context_of` are not read with `source: world`."
            )
        biased = self.context_bias is not None or self.eyespot is not None
        if biased and not synthetic:
            raise ValueError("Only the synthetic images (`world`) can have a bias.")
        if self.folder and self.contexts:
            contexts = Path(self.contexts).absolute()
            inside = contexts.parent == Path(self.folder).absolute()
            if inside and contexts.name != "contexts":
                raise ValueError(
                    f"`contexts` is inside `folder`, where {contexts.name!r} would be "
                    "a class. Move it out of `folder`, or call it contexts."
                )


def refuse_unknown_keys(kind: type, values: Mapping[str, Any], *hidden: str) -> None:
    """Raise a ValueError if a mapping has a key that is no field of a dataclass."""
    known = [item.name for item in fields(kind) if item.name not in hidden]
    for key in values:
        if key not in known:
            raise ValueError(f"There is no key {key!r}. {did_you_mean(key, known)}")


def read_specification(specification: Any) -> Images:
    """Read which images are meant.

    Parameters
    ----------
    specification : str, dict or Images
        The name of a source, the path of a YAML file, or the fields of :class:`Images`.
        Paths in a YAML file are relative to the file.

    Returns
    -------
    Images

    Raises
    ------
    ValueError
        The specification is none of these, or a field has a wrong value.
    """
    if isinstance(specification, Images):
        return specification
    if isinstance(specification, str) and specification.endswith((".yml", ".yaml")):
        specification = _read_file(Path(specification).expanduser())
    if isinstance(specification, str):
        specification = {"source": specification}
    if not isinstance(specification, dict):
        raise ValueError(
            "Images are the name of a source, the path of a YAML file, or a mapping."
        )
    refuse_unknown_keys(Images, specification)
    values = dict(specification)
    if values.get("folder"):
        values.setdefault("source", "folder")
    if values.get("source") == "visual-contexts":
        values.setdefault("size", 224)
    return Images(**values)


def _read_file(file: Path) -> Any:
    """Read a YAML file, and make its paths independent of the working directory."""
    try:
        values = yaml.safe_load(file.read_bytes())
    except OSError as error:
        raise ValueError(f"{file.absolute()}: {error.strerror}.") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{file} cannot be read as YAML: {error}") from None
    if isinstance(values, dict):
        for name in ("folder", "contexts"):
            if isinstance(values.get(name), str):
                values[name] = str(file.parent / Path(values[name]).expanduser())
    return values
