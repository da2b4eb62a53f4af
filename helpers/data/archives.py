"""The authors' three archives: downloaded whole by pooch, checked, unpacked whole, and read."""

import logging
import re
import tempfile
import zipfile
import zlib
from pathlib import Path

import pandas as pd
import pooch
from filelock import FileLock

from helpers import store
from helpers.data import folders

URL = "https://storage.hpai.bsc.es/object-datasets/"
ARCHIVES = {"C": "context.zip", "NC": "no_context.zip", "WB": "white_background.zip"}
SPELLED = {
    "bench": r"\bbench(es)?\b",
    "fire hydrant": r"\b(fire ?)?hydrants?\b",
    "plane": r"\b(air|aero)?planes?\b",
    "mug": r"\bmugs?\b",
}
RETRIES = 3  # of a failed download


class NotWhole(OSError, ValueError):  # pooch tries again after a ValueError
    """A download that is no whole zip archive: cut off, or a page with an error message."""


def scan(downloads: Path) -> folders.Layout:
    """Find the classes in the three archives, at any depth and however spelled."""
    layout = folders.Layout()
    for name, archive in ARCHIVES.items():
        folder = fetch(archive, downloads)
        rows = [row for file in folders.files(folder) if (row := _row(file, folder))]
        table = pd.DataFrame(rows, columns=folders.COLUMNS)
        if missing := sorted(set(SPELLED) - set(table["class"])):
            there = sorted({p.name for p in folder.rglob("*") if p.is_dir()})
            raise ValueError(f"{archive}: no images of {', '.join(missing)}; its folders: {there}.")
        layout.add(name, table)
    return layout


def _row(file: Path, top: Path) -> tuple | None:
    """A row of `folders.Layout.sets`, of the class that the nearest folder names; or None."""
    inside = file.relative_to(top)
    parts = [folders.plain(part) for part in inside.parts[:-1]]
    labels = [c for part in reversed(parts) for c in SPELLED if re.search(SPELLED[c], part)]
    split = next((s for s, words in folders.SPLIT_WORDS.items() if set(parts) & set(words)), "")
    name = file.stem.casefold()
    return (file, inside.as_posix(), labels[0], name, split) if labels else None


def fetch(name: str, downloads: Path, url: str | None = None) -> Path:
    """A folder with the content of a zip archive, downloaded on first use (from `url`, else `URL`);
    its SHA-256 is recorded then, and verified later."""
    downloads.mkdir(parents=True, exist_ok=True)
    record, url = downloads / f"{name}.sha256", url or URL
    with FileLock(downloads / f".{name}.lock"):  # processes that ask at once wait
        known = record.read_text() if record.exists() else None
        source = pooch.create(downloads, url, registry={name: known}, retry_if_failed=RETRIES)
        pooch.get_logger().setLevel(logging.WARNING)
        try:
            archive = Path(source.fetch(name, downloader=_download))
        except OSError as error:  # as those of requests are
            why = "it was cut off" if "IncompleteRead" in str(error) else error
            raise ConnectionError(
                f"{url}{name} could not be downloaded in {RETRIES + 1} tries ({why}): run again, "
                "or name a folder of images of your own."
            ) from error
        except ValueError as error:
            raise ValueError(
                f"{url}{name} is not the archive that was used first, by its SHA-256 in {record}. "
                "If you want the version that is published now, delete that file and run again."
            ) from error
        digest = store.file_digest(archive)
        folder = downloads / f"{archive.stem}-{digest[:12]}"
        if not folder.is_dir():
            _unpack(archive, folder)
        store.write_text(record, digest)
    return folder


def _download(url: str, path: str, store: pooch.Pooch) -> None:
    """Download to `path` with a progress bar; an incomplete archive is an error (and retried)."""
    pooch.HTTPDownloader(progressbar=True, timeout=60)(url, path, store)
    if not zipfile.is_zipfile(path):
        raise NotWhole("what came is no whole zip archive: cut off, or a page in its place")


def _unpack(archive: Path, folder: Path) -> None:
    """Extract to a temporary folder that is renamed when all members are there and intact; pooch's
    own `Unzip` would, after a kill, take half a file for a whole one."""
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as partial:
        try:
            with zipfile.ZipFile(archive) as content:
                content.extractall(f"{partial}/whole")  # no links, and nothing outside of it
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            archive.unlink()
            raise ConnectionError(
                f"{archive.name} is damaged ({error}) and was removed: run again to download it."
            ) from error
        Path(partial, "whole").rename(folder)
