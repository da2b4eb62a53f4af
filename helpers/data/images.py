"""Describe the images of a run by the keys of a YAML file, and check their values."""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, ConfigDict, DirectoryPath, Field
from pydantic.dataclasses import dataclass

from helpers.suggest import refuse_unknown_keys
from helpers.synthetic_data import pictures

STRICT = ConfigDict(strict=True, extra="forbid")
Share = Annotated[float, Field(ge=0, le=1)]
# a text, which the record of a run can hold
Folder = Annotated[DirectoryPath, Field(strict=False), AfterValidator(str)]
NOT_READ_WITH = {
    "world": ["folder", "contexts", "context_of"],
    "visual-contexts": ["folder", "context_bias", "eyespot"],
    "folder": ["context_bias", "eyespot"],
}


@dataclass(frozen=True, config=STRICT)
class Images:
    """Describe the images of a run.

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
        The share of the synthetic images of image set C that show the context of their
        class.
    eyespot : float or None
        The share of the eyespots that is moved from all classes to bench. Any number
        puts an eyespot on a quarter of the synthetic images. None means no eyespot.
    """

    source: Literal["world", "visual-contexts", "folder"] = "world"
    size: Annotated[int, Field(ge=32, le=512)] = 96
    per_class: Annotated[int, Field(ge=3)] | None = 150
    folder: Folder | None = None
    contexts: Folder | None = None
    context_of: dict[str, str] | None = None
    context_bias: Share | dict[str, Share] | None = None
    eyespot: Share | None = None

    def __post_init__(self):
        """Refuse values that do not go together."""
        for name in NOT_READ_WITH[self.source]:
            if getattr(self, name) is not None:
                raise ValueError(f"`{name}` is not read with `source: {self.source}`.")
        if self.source == "folder" and self.folder is None:
            raise ValueError("`source: folder` needs a `folder`.")
        shares = self.context_bias
        if isinstance(shares, dict) and set(shares) != set(pictures.CLASSES):
            classes = ", ".join(pictures.CLASSES)
            raise ValueError(f"`context_bias` needs one share per class: {classes}.")


def read_specification(specification: Any) -> Images:
    """Read which images are meant.

    Parameters
    ----------
    specification : str or dict
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
    base = Path()
    if isinstance(specification, str) and specification.endswith((".yml", ".yaml")):
        file = Path(specification).expanduser()
        base = file.parent
        try:
            specification = yaml.safe_load(file.read_bytes())
        except (OSError, yaml.YAMLError) as error:
            raise ValueError(f"{file} cannot be read: {error}") from None
    if isinstance(specification, str):
        specification = {"source": specification}
    if not isinstance(specification, dict):
        raise ValueError(
            "Images are the name of a source, the path of a YAML file, or a mapping."
        )
    refuse_unknown_keys(Images, specification)
    values = dict(specification)
    for name in ("folder", "contexts"):
        if isinstance(values.get(name), str):
            values[name] = base / Path(values[name]).expanduser()
    if values.get("folder"):
        values.setdefault("source", "folder")
    return Images(**values)
