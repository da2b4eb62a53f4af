"""Image sets from one call: the synthetic dataset, the authors' archives, or a folder of photos."""

from pathlib import Path

from helpers import store
from helpers.data import archives, folders, published, splits, world
from helpers.data import contexts as _contexts
from helpers.data.collection import SPLITS, Collection, ImageSet
from helpers.data.images import Images
from helpers.synthetic_data import pictures

__all__ = ["SPLITS", "Collection", "ImageSet", "load"]


def load(images: Images, seed: int = 0, *, with_contexts: bool = True) -> Collection:
    """Load images in image sets and splits, with the contexts of their classes (paper, section 2).

    Of 150 images of a class, 100/25/25 are for training, validation and test; other numbers are
    split 4 : 1 : 1. A folder's own train, val and test splits are kept. Contexts are those of
    `images.contexts`, else of a `contexts` folder next to the class folders, else they are cut from
    C where WB is white. Remarks on files are in the `report`, and printed. Classes that are empty,
    too small or more than 5% unreadable raise a ValueError."""
    size, per_class, context_of = images.size, images.per_class, images.context_of
    if images.source == "world":
        return world.load(
            size, seed, per_class or 150, images.context_bias, images.eyespot
        )
    downloads = store.root() / "data/downloads"
    if images.source == "focus":
        return published.load(
            images.archives, images.folder, downloads, size, per_class, seed
        )
    if images.source == "visual-contexts":
        layout = archives.scan(downloads)
        context_of = context_of or pictures.CONTEXT_OF
    else:
        layout = folders.scan(Path(images.folder))
    if images.contexts:
        layout.contexts = Path(images.contexts)
    classes = folders.agreed_classes(layout)
    sets, masks, report = splits.load_sets(layout.sets, classes, size, seed, per_class)
    report = [*layout.report, *report]
    context_images, names, notes = {}, {}, []
    if with_contexts and layout.contexts:
        context_images, names, notes = _contexts.of_folders(
            layout.contexts, context_of, sets, seed, per_class
        )
    elif with_contexts:
        context_images, names, notes = _contexts.cut(sets["C"], masks, context_of or {})
        if images.source == "visual-contexts":
            notes.insert(
                0,
                "The authors' archives hold no context images: give a folder of yours.",
            )
    if _contexts.one_background(sets["C"].images):
        notes.append(
            "All images of C show the same background. It tells nothing of the class, so a model "
            "cannot learn contexts from C: nothing can be said here about contexts learned from it."
        )
    if report + notes:
        print("\n".join(report + notes))
    return Collection(
        images.source, classes, sets, context_images, names, report + notes, size=size
    )
