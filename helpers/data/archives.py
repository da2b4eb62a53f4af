"""The authors' archives of image sets: downloaded by pooch, and unpacked."""

import tempfile
import zipfile
import zlib
from pathlib import Path

import pooch
from filelock import FileLock

from helpers.data import folders

URL = "https://storage.hpai.bsc.es/object-datasets/"
ARCHIVES = {"C": "context.zip", "NC": "no_context.zip", "WB": "white_background.zip"}
DOWNLOADER = pooch.HTTPDownloader(progressbar=True, timeout=60)


def fetch(name: str, downloads: Path) -> Path:
    """Return the folder of class folders of an archive, downloaded on first use.

    Raises
    ------
    ConnectionError
        If the archive cannot be downloaded as a whole.
    """
    downloads.mkdir(parents=True, exist_ok=True)
    pooch.get_logger().setLevel("WARNING")
    folder = downloads / Path(name).stem
    with (
        FileLock(downloads / f".{name}.lock"),  # processes that ask at once wait
        tempfile.TemporaryDirectory(prefix=".", dir=downloads) as partial,
    ):
        if not folder.is_dir():
            _unpack(name, Path(partial)).rename(folder)
    inside = folders.subfolders(folder)
    return inside[0] if len(inside) == 1 else folder


def _unpack(name: str, partial: Path) -> Path:
    """Download an archive and unpack it into a new folder below `partial`."""
    unpacked = partial / "unpacked"
    try:
        archive = pooch.retrieve(
            f"{URL}{name}", None, name, partial, downloader=DOWNLOADER
        )
        with zipfile.ZipFile(archive) as content:
            content.extractall(unpacked)  # no links, and nothing outside of the folder
    except (OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ConnectionError(
            f"{URL}{name} did not come as a whole zip archive ({error}). Run again, or give a "
            "folder of your own images."
        ) from error
    return unpacked
