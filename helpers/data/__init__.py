"""Image sets from one call: the embedded world, the authors' archives, or a folder of photos."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from helpers.data import archives, folders, splits, world
from helpers.data import contexts as _contexts
from helpers.data.collection import SMALLEST_CLASS, SPLITS, Collection, ImageSet, listed
from helpers.run import project
from helpers.worlds import pictures

__all__ = ["SOURCES", "SPLITS", "Collection", "ImageSet", "load"]

SOURCES = ("world", "hpai", "folder")


def load(
    source: str = "world",
    *,
    size: int = 96,
    seed: int = 0,
    per_class: int | None = 150,
    context_bias: float | Mapping[str, float] | None = None,
    shared_patch: float = 0.0,
    folder: Path | str | None = None,
    contexts: Path | str | None = None,
    context_of: Mapping[str, str] | None = None,
    with_contexts: bool = True,
) -> Collection:
    """Images in sets and splits, with the contexts of their classes (paper, section 2).

    Parameters
    ----------
    source : {"world", "hpai", "folder"}
        The embedded world; the authors' three archives; a folder of class folders (see
        `folders.scan` for the layouts that are understood).
    size : int
        Side of the images in pixels.
    seed : int
        Decides the world's images, the splits, and which files are used where there are more.
    per_class : int or None
        Images of a class in each set, 100/25/25 of 150 and 4 : 1 : 1 of any number; where a folder
        has fewer, all are used. None uses all files. Folders with train, val and test folders of
        their own keep these whole.
    context_bias : float or dict of str to float, optional
        World only: share of C's images in their class's own context; None is the world's default.
    shared_patch : float in [0, 1]
        World only: share of one class's objects that carry an eyespot, and of another class's test
        images that carry it, too (see :func:`helpers.worlds.pictures.make`).
    folder : path, optional
        For "folder": where the images are.
    contexts : path, optional
        For "folder" and "hpai": folder of context folders. Without it, a `contexts` folder beside
        the class folders is used; without that, contexts are cut from C where WB is white.
    context_of : dict of str to str, optional
        Class to the name of its context folder. Not needed where contexts are named as the classes
        (nor for "hpai").
    with_contexts : bool
        For "folder" and "hpai": False leaves context images unread, where they are of no use.

    Returns
    -------
    Collection

    Raises
    ------
    ValueError
        For arguments that do not fit, names that are not known, empty classes, classes too small to
        split, or more than 5% of a class unreadable.
    FileNotFoundError
        For a folder that is not there.
    ConnectionError
        When the archives cannot be downloaded.
    """
    if source not in SOURCES:
        raise ValueError(f"source: {source!r} is none of {', '.join(SOURCES)}.")
    _check(source, folder, contexts, context_of, size, per_class, shared_patch)
    if source == "world":
        return world.load(size, seed, per_class or 150, context_bias, shared_patch)
    if source == "hpai":
        layout = archives.scan(project.root() / "data/downloads")
        context_of = context_of or pictures.CONTEXT_OF
    else:
        layout = folders.scan(folders.existing(folder, "folder"))
    if contexts:
        layout.contexts = folders.existing(contexts, "contexts")
    classes = folders.agreed_classes(layout)
    photographs = splits.load_sets(layout.sets, classes, size, seed, per_class)
    report = [*layout.report, *photographs.report]
    found, names, said = {}, {}, []
    if with_contexts and layout.contexts:
        found, names, said = _contexts.given(
            layout.contexts, classes, context_of, size, seed, per_class
        )
    elif with_contexts:
        found, names, said = _cut(photographs, classes, context_of or {})
    return Collection(source, classes, photographs.sets, found, names, report + said)


def _check(source, folder, contexts, context_of, size, per_class, shared_patch) -> None:
    """Refuse arguments that the source would pass over in silence."""
    if size < 8:
        raise ValueError(f"size: {size} pixels; at least 8 are needed.")
    if per_class is not None and per_class < SMALLEST_CLASS:
        raise ValueError(f"per_class: {per_class}; at least {SMALLEST_CLASS} are needed.")
    if source == "folder" and not folder:
        raise ValueError("folder: source='folder' needs the folder that holds the class folders.")
    if source != "folder" and folder:
        raise ValueError(f"folder: given, but source is {source!r}; use source='folder'.")
    if source == "world" and (contexts or context_of):
        raise ValueError("contexts, context_of: the embedded world brings its own contexts.")
    if source != "world" and shared_patch:
        raise ValueError(f"shared_patch: {shared_patch} can be planted in the embedded world only.")


def _cut(photographs, classes, context_of) -> tuple[dict, dict[str, str], list[str]]:
    """Contexts cut from C, else none and a sentence on what that means."""
    unknown = sorted(set(context_of) - set(classes))
    if unknown:
        raise ValueError(
            f"context_of: {listed(unknown)} is no class; the classes are {listed(classes)}."
        )
    found, said = {}, []
    if photographs.object_known.any():
        found, said = _contexts.cut(photographs)
    if not found:
        said.append(
            "There are no context images, and none can be cut from C without its images on white "
            "(WB): notebooks 01 and 02 run; 03 needs contexts (give a folder as `contexts`)."
        )
    names = {label: context_of.get(label, f"around {label}") for label in found}
    return found, names, said
