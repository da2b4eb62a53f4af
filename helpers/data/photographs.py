"""Load photographs in class folders.

All files are listed in one table, with the split of each. Then they are read, and
divided into image sets and contexts.
"""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from helpers.data import archives, folders, splits
from helpers.data.collection import Collection, ImageSet
from helpers.data.decoding import read
from helpers.data.folders import CONTEXTS
from helpers.data.images import Images
from helpers.data.white import object_masks
from helpers.suggest import listed


def load(images: Images, seed: int) -> Collection:
    """Load the photographs of a folder, or the authors' image sets.

    Parameters
    ----------
    images : Images
    seed : int
        Decides the splits, and which files are read of a class that has more than
        `images.per_class`.

    Returns
    -------
    Collection

    Raises
    ------
    ValueError
        See :func:`helpers.data.load`.
    """
    folder_of = _find_folders(images)
    files = _list_files(folder_of, images.per_class, seed)
    is_context = files["set"] == CONTEXTS
    files["split"] = splits.split_by_name(files).where(~is_context, CONTEXTS)
    classes = tuple(sorted(files["class"][~is_context].unique()))
    context_of = {}
    if CONTEXTS in folder_of:
        names = files["class"][is_context].unique().tolist()
        context_of = match_contexts(images.context_of, classes, names)
    pixels = read(files["file"], images.size)
    splits.refuse_copies(files, pixels)
    labels = pd.Index(classes).get_indexer(files["class"])
    table = files.assign(context="")
    loaded = ImageSet("all", pixels, torch.from_numpy(labels), classes, table)
    sets = {}
    for name in files["set"][~is_context].unique():
        sets[name] = replace(loaded.where(files["set"] == name), name=name)
    contexts = {}
    for label, context in context_of.items():
        is_shown = is_context & (files["class"] == context)
        contexts[label] = loaded.where(is_shown).images
    if "WB" in sets:
        sets["WB"] = replace(sets["WB"], masks=object_masks(sets["WB"].images))
    collection = Collection(
        source=images.source,
        classes=classes,
        sets=sets,
        contexts=contexts,
        context_of=context_of,
        to_train=lambda name, number: sets[name].to_train(),  # all runs see the set
    )
    _refuse_small_classes(collection)
    return collection


def _find_folders(images: Images) -> dict[str, Path]:
    """Return the folder of each image set and, if there are any, of the contexts."""
    if images.source == "visual-contexts":
        names = archives.ARCHIVES.items()
        folder_of = {name: archives.fetch(file) for name, file in names}
    else:
        folder_of = folders.image_sets(Path(images.folder))
    if images.contexts:
        folder_of[CONTEXTS] = Path(images.contexts)
    return folder_of


def _list_files(
    folder_of: dict[str, Path], per_class: int | None, seed: int
) -> pd.DataFrame:
    """List the files of image sets, at most `per_class` of each class and set."""
    tables = []
    for name, folder in folder_of.items():
        files = folders.list_images(folder, seed, fewest=1 if name == CONTEXTS else 2)
        chosen = splits.choose(files, per_class)
        if len(chosen) < len(files):
            print(
                f"{name}: {len(chosen)} of {len(files)} images are used, at most "
                f"{per_class} of each class, chosen by the seed."
            )
        tables.append(chosen.assign(set=name))
    return pd.concat(tables, ignore_index=True)


def _refuse_small_classes(collection: Collection) -> None:
    """Raise a ValueError if a class has no image in a split of an image set."""
    counts = collection.summary()
    small = counts.index[counts.min(axis=1) == 0]
    if len(small):
        raise ValueError(
            f"There are too few images in {listed(small.map('/'.join))}. Each class "
            "needs at least three images in each image set, and all image sets have "
            "the same classes. Add images, or remove the class from all image sets."
        )


def match_contexts(
    context_of: dict[str, str] | None, classes: tuple[str, ...], contexts: list[str]
) -> dict[str, str]:
    """Check which class has which context.

    Parameters
    ----------
    context_of : dict of str to str, or None
        Class to context. None means that contexts are named as the classes.
    classes : tuple of str
    contexts : list of str
        Names of the context folders.

    Returns
    -------
    dict of str to str
        Class to context, in the order of the classes.

    Raises
    ------
    ValueError
        If a name is unknown, or two classes share a context.
    """
    context_of = context_of or {name: name for name in classes}
    given = set(context_of.values())
    is_known = set(context_of) <= set(classes) and given <= set(contexts)
    if not is_known or len(given) < len(context_of):
        raise ValueError(
            f"context_of is {context_of}. The classes are {listed(classes)}. The "
            f"contexts are {listed(contexts)}. Give each class a context of its own, "
            "or none. If context_of is left out, contexts have the names of classes."
        )
    without = [name for name in classes if name not in context_of]
    if without:
        print(
            f"There is no context of {listed(without)}, so the bias of a context "
            "towards that class is not tested. Its images are combined with the "
            "contexts of the other classes."
        )
    return {name: context_of[name] for name in classes if name in context_of}
