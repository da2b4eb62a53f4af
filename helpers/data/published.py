"""The mosaics that the authors of *Focus!* published: images, and an index (CSV) of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

from helpers.data import archives, folders
from helpers.data.collection import Collection, ImageSet, listed
from helpers.data.decoding import Unreadable, decode, is_image, judge
from helpers.data.mosaic import squeeze
from helpers.store import progress

URL = "https://storage.hpai.bsc.es/focus-metric/"
FILES, LABELS = (
    [f"{name}_{cell}" for cell in range(4)] for name in ("filename", "label")
)
RATED = 10  # mosaics of each target class that a network of ours is rated on, at most
COLUMNS = ["filename", "target_class", *FILES, *LABELS]


def load(
    names: Sequence[str], folder: str | None, downloads: Path, size, per_class, seed
):
    """A Collection of the mosaics in archives or in a folder: the images in them, each once, and
    their designs. `names` may map an archive to classes: then there are the images of these
    alone."""
    only = names if isinstance(names, Mapping) else {}
    if folder:
        places = {Path(folder).name: Path(folder)}
    else:
        places = {n: archives.fetch(f"{n}_mosaic.zip", downloads, URL) for n in names}
    arguments = size, per_class, seed
    read = {
        name: _read(name, place, *arguments, only.get(name))
        for name, place in places.items()
    }
    sets, mosaics = ({name: one[part] for name, one in read.items()} for part in (0, 1))
    report = [sentence for _, _, notes in read.values() for sentence in notes]
    if report:
        print("\n".join(report))
    classes = next(iter(sets.values())).classes
    ready = {} if only else mosaics
    return Collection("focus", classes, sets, report=report, mosaics=ready, size=size)


def _read(name: str, folder: Path, size: int, per_class: int | None, seed: int, only):
    """One set: its images (of `only` some classes), the design of its mosaics, and a report."""
    index = _index(name, folder)
    if missing := sorted({*(only or ())} - {*index["target_class"]}):
        raise ValueError(
            f"{name}: no mosaic has a target that the index calls {listed(missing)}."
        )
    index = index[index["target_class"].isin(only)] if only else index
    index = index.groupby("target_class", sort=False).head(per_class or len(index))
    images, kept, bad = {}, [], {}
    for row in progress(index.to_dict("records"), desc=f"reading {name}"):
        try:
            cells = _cells(row["file"], size)
        except Unreadable as reason:
            bad[folders.printable(row["filename"])] = str(reason)
            continue
        for cell in range(4):
            images.setdefault((row[LABELS[cell]], row[FILES[cell]]), cells[cell])
        kept.append(row)
    notes = judge(f"{name}, mosaics", len(index), len(kept), bad)
    design = _design(kept, {key: number for number, key in enumerate(images)})
    *facts, table = _table(name, [*images], design, seed)
    images_read = ImageSet(name, torch.stack([*images.values()]), *facts, table)
    if only:  # of other classes there is a picture here and there
        of = images_read.where(table["class"].isin(only))
        labels = torch.tensor([only.index(label) for label in of.table["class"]])
        return replace(of, classes=tuple(only), labels=labels), design, notes
    if not (table["split"] == "test").any():
        notes.append(
            f"{name}: its mosaics show more than half of the images of a class, so none is left to "
            "rate a network that is trained on the others: take fit 'as it is'."
        )
    return images_read, design, notes


def _index(name: str, folder: Path) -> pd.DataFrame:
    """The index of a folder of mosaics, with the `file` of each; refused where it does not fit."""
    inside, index = list(folders.walk(folder)), pd.DataFrame()
    tables = [path for path in inside if path.suffix.lower() == ".csv"]
    if len(tables) == 1:
        index = pd.read_csv(tables[0], dtype=str, keep_default_na=False)
    if not len(index) or not set(COLUMNS) <= set(index):
        raise ValueError(
            f"{name}: a folder of mosaics needs one index (CSV) and has {len(tables)}; a row a "
            f"mosaic says which images are in it: {', '.join(COLUMNS)}."
        )
    files = {path.name: path for path in inside if is_image(path)}
    targets = (index[LABELS].to_numpy() == index[["target_class"]].to_numpy()).sum(1)
    if len(odd := index["filename"][(targets != 2) | ~index["filename"].isin(files)]):
        raise ValueError(
            f"{name}: {len(odd)} mosaics of the index are not in the folder, or do not show two "
            f"images of their target: {listed(odd)}."
        )
    return index.assign(file=index["filename"].map(files))


def _cells(file: Path, size: int) -> torch.Tensor:
    """The four images of a mosaic, row by row, each at `size`: uint8 (4, 3, size, size)."""
    try:
        with Image.open(file) as image:
            width, height = image.size
    except (OSError, Image.DecompressionBombError) as error:
        raise Unreadable(str(error)) from None
    if width != height or width % 2:
        raise Unreadable(
            f"{width} x {height} pixels cannot be cut into 2 x 2 square images"
        )
    whole, half = decode(file, width), width // 2
    rows = whole.unflatten(1, (2, half)).unflatten(
        3, (2, half)
    )  # (3, 2, half, 2, half)
    return squeeze(rows.permute(1, 3, 0, 2, 4).flatten(0, 1).contiguous(), size, size)


def _table(name: str, images: list[tuple[str, str]], design: pd.DataFrame, seed: int):
    """Labels, classes and table of images; at most half of each class are the test split."""
    table = pd.DataFrame(images, columns=["class", "name"])
    classes = tuple(
        sorted(table["class"].unique(), key=lambda c: (len(c), c))
    )  # 2 before 10
    table = table.assign(path=name + "/" + table["name"], context="")
    for most in range(RATED, -1, -1):
        rated = design.groupby("target").head(most)[[f"image_{c}" for c in range(4)]]
        rated_rows = table.index.isin(np.unique(rated))
        if pd.Series(rated_rows).groupby(table["class"]).mean().max() <= 0.5:
            break
    draw = np.random.default_rng(seed).permutation(len(table))
    order = pd.Series(draw)[~rated_rows].groupby(table["class"]).rank()
    table["split"] = np.where(order.reindex(table.index) % 5 == 1, "val", "train")
    table.loc[rated_rows, "split"] = "test"
    return (
        torch.tensor([classes.index(label) for label in table["class"]]),
        classes,
        table,
    )


def _design(mosaics: list[dict], tiles: dict[tuple[str, str], int]) -> pd.DataFrame:
    """The mosaics' design, as `helpers.focus.design` makes one."""
    rows = []
    for number, row in enumerate(mosaics):
        target, labels = row["target_class"], [row[label] for label in LABELS]
        outer = " + ".join(sorted({*labels} - {target}))
        images = {f"image_{c}": tiles[labels[c], row[FILES[c]]] for c in range(4)}
        targets = {f"is_target_{c}": labels[c] == target for c in range(4)}
        rows.append(
            {"mosaic": number, "target": target, "outer": outer} | images | targets
        )
    return pd.DataFrame(rows)
