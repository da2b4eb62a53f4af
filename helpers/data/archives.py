"""The authors' three archives: downloaded and unpacked whole, and read."""

import re
import tempfile
import zipfile
import zlib
from pathlib import Path

import pandas as pd
import pooch
from filelock import FileLock

from helpers.data import folders

URL = "https://storage.hpai.bsc.es/object-datasets/"
ARCHIVES = {"C": "context.zip", "NC": "no_context.zip", "WB": "white_background.zip"}
SPELLED = {
    "bench": r"\bbench(es)?\b",
    "fire hydrant": r"\b(fire ?)?hydrants?\b",
    "plane": r"\b(air|aero)?planes?\b",
    "mug": r"\bmugs?\b",
}
DOWNLOADER = pooch.HTTPDownloader(progressbar=True, timeout=60)


def scan(downloads: Path) -> folders.Layout:
    """Find the classes in the three archives, at any depth and however spelled."""
    layout = folders.Layout()
    for name, archive in ARCHIVES.items():
        folder = fetch(archive, downloads)
        rows = [row for file in folders.files(folder) if (row := _row(file, folder))]
        table = pd.DataFrame(rows, columns=folders.COLUMNS)
        if missing := sorted(set(SPELLED) - set(table["class"])):
            there = sorted({p.name for p in folder.rglob("*") if p.is_dir()})
            raise ValueError(
                f"{archive}: no images of {', '.join(missing)}; its folders: {there}."
            )
        layout.add(name, table)
    return layout


def _row(file: Path, top: Path) -> tuple | None:
    """A row of `folders.Layout.sets`, of the class that the nearest folder names; or None."""
    inside = file.relative_to(top)
    parts = [folders.plain(part) for part in inside.parts[:-1]]
    labels = [
        c for part in reversed(parts) for c in SPELLED if re.search(SPELLED[c], part)
    ]
    own = next(
        (split for split, words in folders.SPLIT_WORDS.items() if {*parts} & {*words}),
        "",
    )
    return (
        (file, inside.as_posix(), labels[0], file.stem.casefold(), own)
        if labels
        else None
    )


def fetch(name: str, downloads: Path, url: str | None = None) -> Path:
    """Return the folder of a zip archive, downloaded on first use (from `url`, else `URL`).

    The archive is unpacked into another folder, which is renamed when it is complete."""
    downloads.mkdir(parents=True, exist_ok=True)
    pooch.get_logger().setLevel("WARNING")
    folder, source = downloads / Path(name).stem, f"{url or URL}{name}"
    with FileLock(downloads / f".{name}.lock"):  # processes that ask at once wait
        if folder.is_dir():
            return folder
        with tempfile.TemporaryDirectory(
            prefix=f".{folder.name}-", dir=downloads
        ) as partial:
            try:
                archive = pooch.retrieve(
                    source, None, name, partial, downloader=DOWNLOADER
                )
                with zipfile.ZipFile(archive) as content:
                    content.extractall(
                        f"{partial}/whole"
                    )  # no links, and nothing outside of it
            except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise ConnectionError(
                    f"{source} did not come as a whole zip archive ({error}): run again, or name a "
                    "folder of images of your own."
                ) from error
            Path(partial, "whole").rename(folder)
    return folder
