"""Image files into tensors: which are read, which cannot be, and when that stops the run."""

from __future__ import annotations

import pandas as pd
import torch

from helpers.data.images import Unreadable, decode
from helpers.data.splits import SMALLEST_CLASS, ranks
from helpers.run.progress import progress

#: Share of a class's opened files that may be unreadable before the run stops.
UNREADABLE_SHARE = 0.05


def read(
    table: pd.DataFrame, size: int, seed: int, per_class: int | None, what: str
) -> tuple[torch.Tensor, pd.DataFrame, list[str]]:
    """Decode the files of one set.

    Parameters
    ----------
    table : pandas.DataFrame
        As in `folders.Layout.sets`.
    size : int
        Side of the images in pixels.
    seed : int
        Decides which files are read where a class has more than `per_class`.
    per_class : int or None
        Images wanted of a class; None is all. A class that comes with its own splits is read whole.
    what : str
        Name of the set for the progress bar and for messages, such as "C".

    Returns
    -------
    images : torch.Tensor
        uint8, shape (N, 3, size, size).
    table : pandas.DataFrame
        The N rows read, in the order of the images: by class, then path.
    report : list of str
        A sentence for each class with files that could not be read, or not needed.

    Raises
    ------
    ValueError
        When more than `UNREADABLE_SHARE` of a class's opened files are unreadable. Files are opened
        until `per_class` of a class are read, so files beyond that are not judged.
    """
    images, kept, report = [], [], []
    with progress(total=_wanted(table, per_class), desc=f"reading {what}") as bar:
        for name, of_class in table.groupby("class", sort=True):
            limit = None if (of_class["own"] != "").any() else per_class
            found, bad = _read_class(of_class, size, seed, limit, bar)
            where = f"{what}, class {name!r}"
            report += _judge(where, len(of_class), len(found), bad)
            rows = sorted(found)  # back to the table's order, by path
            kept.append(table.loc[rows])
            images += [found[row] for row in rows]
    pixels = torch.stack(images) if images else torch.empty(0, 3, size, size, dtype=torch.uint8)
    return pixels, pd.concat([table.iloc[:0], *kept], ignore_index=True), report


def _read_class(of_class, size, seed, limit, bar) -> tuple[dict, dict]:
    """Images by row, and reasons by path for what could not be read, in the seed's order."""
    found: dict[int, torch.Tensor] = {}
    bad: dict[str, str] = {}
    order = of_class.assign(rank=ranks(of_class["class"] + "/" + of_class["name"], seed))
    for row in order.sort_values(["rank", "path"]).itertuples():
        if limit is not None and len(found) >= limit:
            break
        try:
            found[row.Index] = decode(row.file, size)
        except Unreadable as reason:
            bad[row.path] = str(reason)
        bar.update()
    return found, bad


def _judge(where: str, there: int, read: int, bad: dict[str, str]) -> list[str]:
    """Sentences on what one class gave; an error when too much of it cannot be read."""
    sentences = []
    if bad:
        opened = read + len(bad)
        names = "; ".join(f"{path} ({reason})" for path, reason in sorted(bad.items()))
        sentences = [f"{where}: {len(bad)} of {opened} files could not be read: {names}."]
        if len(bad) > UNREADABLE_SHARE * opened:
            raise ValueError(
                f"{sentences[0]} That is more than {UNREADABLE_SHARE:.0%} of the class: "
                "repair or remove these files and run again."
            )
    if read < SMALLEST_CLASS:
        sentences.append(f"{where}: only {read} images.")
    if read + len(bad) < there:
        sentences.append(f"{where}: {read} of {there} images are used, chosen by the seed.")
    return sentences


def _wanted(table: pd.DataFrame, per_class: int | None) -> int:
    whole = (table["own"] != "").groupby(table["class"]).transform("any")
    counts = table["class"].value_counts()
    capped = counts if per_class is None else counts.clip(upper=per_class)
    return int(counts.where(counts.index.isin(table["class"][whole]), capped).sum())
