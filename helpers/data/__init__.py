"""Image sets from one call: synthetic, the authors', or those of a folder.

`load` reads class folders (`folders`, `decoding`, `splits`, `contexts`) or draws the
synthetic dataset (`world`). Either way it returns a `Collection` of `ImageSet`.
"""

from pathlib import Path

from helpers import store
from helpers.data import archives, folders, splits, world
from helpers.data import contexts as _contexts
from helpers.data.collection import SPLITS, Collection, ImageSet
from helpers.data.images import Images
from helpers.synthetic_data import pictures

__all__ = ["SPLITS", "Collection", "ImageSet", "load"]


def load(images: Images, seed: int = 0, *, with_contexts: bool = True) -> Collection:
    """Load images in image sets and splits, with the contexts of their classes.

    Of 150 images of a class, 100/25/25 are for training, validation and test. Other
    numbers are split 4 : 1 : 1. Remarks on files are printed, and kept in the `report`.

    Parameters
    ----------
    images : Images
    seed : int
        Decides what is drawn, and the splits.
    with_contexts : bool
        Whether contexts are read.

    Returns
    -------
    Collection

    Raises
    ------
    ValueError
        If the folders do not fit together, or a class is too small or more than 5%
        unreadable.

    References
    ----------
    *Assessing Biases through Visual Contexts*, section 2.1.
    """
    if images.source == "world":
        per_class = images.per_class or 150
        return world.load(
            images.size, seed, per_class, images.context_bias, images.eyespot
        )
    contexts_folder = images.contexts
    context_of = images.context_of
    if images.source == "visual-contexts":
        downloads = store.root() / "data/downloads"
        places = {
            name: archives.fetch(archive, downloads)
            for name, archive in archives.ARCHIVES.items()
        }
        context_of = context_of or pictures.CONTEXT_OF
    else:
        places = folders.image_sets(Path(images.folder))
        inside = Path(images.folder) / folders.CONTEXTS
        if not contexts_folder and inside.is_dir():
            contexts_folder = inside
    sets, report = splits.load_sets(places, images.size, seed, images.per_class)
    context_images = {}
    names = {}
    if with_contexts and contexts_folder:
        context_images, names, remarks = _contexts.load_contexts(
            Path(contexts_folder), context_of, sets, seed, images.per_class
        )
        report += remarks
    elif with_contexts:
        report.append(
            "There are no context images. 01 and 02 run without them; 03 needs them: "
            "give a folder with one folder per context as `contexts`."
        )
    if _contexts.one_background(sets["C"].images):
        report.append(
            "All images of C show the same background. It tells nothing of the class, "
            "so a model cannot learn contexts from C: nothing can be said here about "
            "contexts learned from it."
        )
    if report:
        print("\n".join(report))
    return Collection(
        source=images.source,
        classes=sets["C"].classes,
        sets=sets,
        contexts=context_images,
        context_of=names,
        report=report,
        size=images.size,
    )
