"""The authors' three archives: downloaded whole, checked, unpacked whole, and read.

They hold bench, fire hydrant, plane and mug in context, without context, and on white. pooch does
the download. Its `Unzip` would take what is refused here (paths out of the folder, links, archive
bombs), and after a kill would take half a file for a whole one.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath

import pandas as pd
import pooch
from filelock import FileLock

from helpers.data import folders
from helpers.run import artifacts

URL = "https://storage.hpai.bsc.es/object-datasets/"
ARCHIVES = {"C": "context.zip", "NC": "no_context.zip", "WB": "white_background.zip"}
SPELLED = {
    "bench": r"\bbench(es)?\b",
    "fire hydrant": r"\b(fire ?)?hydrants?\b",
    "plane": r"\b(air|aero)?planes?\b",
    "mug": r"\bmugs?\b",
}
RETRIES = 3  # of a failed download
REGISTRY = "registry.txt"
UNPACKED_MAX = 20 * 2**30  # an archive that would unpack to more bytes than this is refused
NAME_MAX = 255  # bytes of a file's or folder's name: no common file system has longer ones


class NotWhole(ValueError):
    """A download that is no whole zip archive: cut off, or a page with an error message."""


class UnsafeArchive(ValueError):
    """An archive with members that would land outside its folder, or that cannot be unpacked."""


def scan(downloads: Path) -> folders.Layout:
    """Find the classes in the three archives, at any depth and however spelled.

    A file's class is told by the folder nearest to it whose name holds a class's name; its own
    split by any folder on its way named train, val or test.
    """
    unpacked = {name: fetch(archive, downloads) for name, archive in ARCHIVES.items()}
    found = folders.Layout()
    for name, folder in unpacked.items():
        rows = [row for file in folders.files(folder) if (row := _row(file, folder))]
        table = pd.DataFrame(rows, columns=folders.COLUMNS)
        missing = sorted(set(SPELLED) - set(table["class"]))
        if missing:
            there = sorted({p.name for p in folder.rglob("*") if p.is_dir()})
            raise ValueError(
                f"{ARCHIVES[name]}: no images of {', '.join(missing)}; its folders are {there}."
            )
        found.add(name, table, [])
    for name, folder in unpacked.items():
        found.report += [f"{ARCHIVES[name]}: {said}" for said in folders.unused(folder, found)]
    return found


def _row(file: Path, top: Path) -> tuple | None:
    """A table row (see `folders.Layout.sets`), or None for a file of no class."""
    inside = file.relative_to(top)
    parts = [folders.plain(part) for part in inside.parts[:-1]]
    labels = [c for part in reversed(parts) for c in SPELLED if re.search(SPELLED[c], part)]
    split = next((s for s, words in folders.SPLIT_WORDS.items() if set(parts) & set(words)), "")
    name = file.stem.casefold()
    return (file, inside.as_posix(), labels[0], name, split) if labels else None


def fetch(name: str, downloads: Path) -> Path:
    """A folder with the content of a zip archive, downloaded on first use.

    The archive's SHA-256 is recorded in `downloads`/registry.txt when it is first used and verified
    at every later use. Files get their names only when they are whole; processes that ask at once
    wait for each other.
    """
    downloads.mkdir(parents=True, exist_ok=True)
    with FileLock(downloads / f".{name}.lock"):
        archive = _download(name, downloads)
        digest = artifacts.file_digest(archive)
        folder = downloads / f"{Path(name).stem}-{digest[:12]}"
        if not folder.is_dir():
            _unpack(archive, folder)
        with FileLock(downloads / ".registry.lock"):
            _record(downloads / REGISTRY, name, digest)
    return folder


def registry(path: Path) -> dict[str, str]:
    """The SHA-256 of each archive that has been used, by file name."""
    if not path.exists():
        return {}
    lines = (line.split("#")[0].split() for line in path.read_text("utf-8").splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2}


def _record(path: Path, name: str, digest: str) -> None:
    known = registry(path)
    if name not in known:
        known[name] = digest
        lines = [f"{each} {known[each]}\n" for each in sorted(known)]
        said = "# SHA-256 on first use; delete a line to accept another\n"
        artifacts.write_text(path, said + "".join(lines))


def _download(name: str, downloads: Path) -> Path:
    """The archive's path; pooch downloads to a temporary name, checks, and renames."""
    known, address = registry(downloads / REGISTRY).get(name), URL + name
    store = pooch.create(downloads, URL, registry={name: known}, retry_if_failed=RETRIES)
    pooch.get_logger().setLevel(logging.WARNING)
    try:
        return Path(store.fetch(name, downloader=_download_zip))
    except NotWhole as error:
        raise ConnectionError(f"{address}: {error} Tried {RETRIES + 1} times.") from error
    except ValueError as error:
        raise ValueError(
            f"{address} is not the archive that was used first: its SHA-256 is not {known}, which "
            f"{downloads / REGISTRY} records. If the authors published another version and you "
            f"want it, delete the line of {name} there and run again."
        ) from error
    except OSError as error:  # the exceptions of requests are OSErrors
        raise ConnectionError(
            f"{address} could not be downloaded in {RETRIES + 1} tries ({error}). Check the "
            "connection and run again, or use source='folder' on images of your own."
        ) from error


def _download_zip(url: str, path: str, store: pooch.Pooch) -> None:
    """Download to `path` with a progress bar; an incomplete archive is an error (and retried)."""
    pooch.HTTPDownloader(progressbar=True, timeout=60)(url, path, store)
    if not zipfile.is_zipfile(path):
        raise NotWhole("what came is no whole zip archive (cut off, or a page in its place).")


def _unpack(archive: Path, folder: Path) -> None:
    """Extract to a temporary folder that is renamed when all members are there and intact."""
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with zipfile.ZipFile(archive) as content:
            _refuse_unsafe(archive, content.infolist())
            content.extractall(partial)
        partial.rename(folder)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        archive.unlink()
        raise ConnectionError(
            f"{archive.name} is damaged ({error}) and was removed: run again to download it anew."
        ) from error
    except UnsafeArchive:
        archive.unlink()
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _refuse_unsafe(archive: Path, members: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive with members that leave the folder, are links, encrypted, or too large."""
    for member in members:
        reason = _unsafe(member)
        if reason:
            raise UnsafeArchive(
                f"{archive.name} is refused: its member {member.orig_filename!r} {reason}. "
                "Nothing was unpacked, and the archive was removed."
            )
    total = sum(member.file_size for member in members)
    if total > UNPACKED_MAX:
        raise UnsafeArchive(f"{archive.name} is refused: it unpacks to {total:,} bytes.")


def _unsafe(member: zipfile.ZipInfo) -> str:
    """Why a member is refused; empty when it is not."""
    name = member.orig_filename
    windows = PureWindowsPath(name)
    if PurePosixPath(name).is_absolute() or windows.drive or windows.root:
        return "has an absolute path"
    if ".." in windows.parts:
        return "would land outside the folder"
    if max(len(os.fsencode(part)) for part in windows.parts or [""]) > NAME_MAX:
        return f"has a name of more than {NAME_MAX} bytes"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a special file"
    return "is encrypted" if member.flag_bits & 0x1 else ""
