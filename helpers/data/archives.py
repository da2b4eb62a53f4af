"""Download and unpack the authors' archives of image sets, with pooch."""

from pathlib import Path

import pooch
from filelock import FileLock

from helpers import store
from helpers.data import folders

URL = "https://storage.hpai.bsc.es/object-datasets/"
ARCHIVES = {"C": "context.zip", "NC": "no_context.zip", "WB": "white_background.zip"}


def fetch(name: str) -> Path:
    """Return the folder of class folders of an archive, downloaded on first use.

    Parameters
    ----------
    name : str
        File name of the archive.

    Returns
    -------
    Path

    Raises
    ------
    OSError
        If the archive cannot be downloaded, or cannot be unpacked.
    """
    downloads = store.root() / "data/downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    folder = downloads / Path(name).stem
    try:
        with FileLock(downloads / f".{name}.lock"):  # other processes wait
            pooch.retrieve(
                f"{URL}{name}",
                known_hash=None,  # no checksum is published; zip has one per file
                fname=name,
                path=downloads,
                processor=pooch.Unzip(extract_dir=folder.name),
                progressbar=True,
            )
    except Exception as error:  # a damaged archive makes readers raise nearly anything
        (downloads / name).unlink(missing_ok=True)
        raise OSError(
            f"{URL}{name} could not be downloaded and unpacked ({error}). Run again, "
            "or give a folder of your own images."
        ) from error
    inside = folders.subfolders(folder)
    return inside[0] if len(inside) == 1 else folder
