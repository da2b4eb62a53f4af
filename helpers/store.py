"""The ground: where files are, files that are whole or not there, keys, and progress.
A file with its final name is always whole: it is written under another name and then renamed."""

import ast
import hashlib
import inspect
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from filelock import FileLock
from safetensors import safe_open
from safetensors.numpy import save_file
from tqdm import tqdm

CACHE_VERSION = (
    1  # raise it when a change of the code changes what a stored file would hold
)

ROOT = Path(__file__).resolve().parents[1]


def root() -> Path:
    """Return the folder of the checkout, which holds ``data`` and ``notebooks``."""
    return ROOT


def outputs() -> Path:
    """Return the folder of all results: ``outputs``, or ``SUITE_OUTPUTS`` if it is set."""
    return Path(os.environ.get("SUITE_OUTPUTS", ROOT / "outputs")).resolve()


def networks() -> Path:
    """Folder of trained networks, shared by all runs and found by the key of what decides them."""
    return outputs() / "models"


def writable_home() -> Path:
    """Return a home folder that Jupyter can write to, and set ``HOME`` to it.

    It is the user's, or ``home`` in the folder of outputs where the user's cannot be written to, as
    in a container with a random user id."""
    home = Path(os.environ.get("HOME") or Path("~").expanduser())
    if not os.access(home, os.W_OK):
        home = outputs() / "home"
        home.mkdir(parents=True, exist_ok=True)
        os.environ["HOME"] = str(home)
    return home


def progress(iterable: Iterable | None = None, **options) -> tqdm:
    """A bar of tqdm's with its `options` on standard output; none where ``TQDM_DISABLE`` is set."""
    return tqdm(iterable, file=sys.stdout, leave=False, ncols=80, **options)


def recorded_table(name: str) -> pd.DataFrame:
    """Read a table of ``data/``, such as ``streets.csv``; ``data/README.md`` has its command."""
    return pd.read_csv(root() / "data" / name)


class UnreadableArtifact(RuntimeError):
    """A stored file that exists but cannot be read; the message names the file to delete."""


def key(kind: str, **decides) -> str:
    """Name for the artifact that `decides` determines: `kind-` and 16 digits, the same everywhere.
    A TypeError names what has no content, such as a function; 1, 1.0 and True are three values."""
    digest = hashlib.sha256()
    _feed(digest, {"version": CACHE_VERSION, **decides}, kind)
    return f"{kind}-{digest.hexdigest()[:16]}"


def function_digest(function: Callable) -> str:
    """Digest the code of a function that a lesson passes in, for a key.

    The digest covers the functions and plain values that the function names, if they are defined
    in the notebook or in the same module. Comments, docstrings and formatting change nothing, so a
    method has one digest in a notebook's cell and in the module exported from it.

    Raises
    ------
    TypeError or OSError
        The function has no source code, for example because it is built in.
    """
    found: dict[str, str] = {}
    waiting = [function]
    while waiting:
        current = inspect.unwrap(waiting.pop())
        if not inspect.isfunction(current):
            raise TypeError(f"{current!r} has no source code. Define a function.")
        definition = ast.parse(textwrap.dedent(inspect.getsource(current))).body[0]
        if current.__name__ in found:
            continue
        if ast.get_docstring(definition) is not None:
            del definition.body[0]
        found[current.__name__] = ast.dump(definition)
        variables = inspect.getclosurevars(current)
        for name, value in sorted({**variables.globals, **variables.nonlocals}.items()):
            if inspect.isfunction(value) and value.__module__ == current.__module__:
                waiting.append(value)
            elif isinstance(value, bool | int | float | str | tuple):
                found[name] = repr(value)
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()


def same_function(first: Callable, second: Callable) -> bool:
    """Return whether two functions have the same code; False if one has no source code."""
    if first is second:
        return True
    try:
        return function_digest(first) == function_digest(second)
    except (TypeError, OSError):
        return False


def file_digest(path: Path | str) -> str:
    """SHA-256 of a file's bytes, 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cached(path: Path | str, make: Callable[[Path], object]) -> Path:
    """The file at `path`, which `make` writes, to a temporary path of the same ending, where it is
    not there yet. Of two processes that ask at once, one makes it and the other waits."""
    path = Path(path)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock")):
            if not path.exists():
                _replace(path, path.with_name(f".partial-{path.name}"), make)
    return path


def arrays(
    kind: str, folder: Path | str, make: Callable[[], tuple[Mapping, dict]], **decides
) -> tuple[Path, dict[str, np.ndarray], dict]:
    """A file named by what `decides` it, and the arrays and facts in it, which `make` gives where
    there is none yet."""

    def write(path: Path) -> None:
        made, facts = make()
        made = {name: np.array(array, order="C") for name, array in made.items()}
        save_file(
            made,
            path,
            metadata={name: json.dumps(fact) for name, fact in facts.items()},
        )

    path = cached(Path(folder) / f"{key(kind, **decides)}.safetensors", write)
    with reading(path), safe_open(path, framework="numpy") as file:
        facts = {
            name: json.loads(fact) for name, fact in (file.metadata() or {}).items()
        }
        return path, {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118


def write_bytes(path: Path | str, data: bytes) -> Path:
    """Write `data` to `path`, which readers see with its old content or its new, never half."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    return _replace(path, partial, lambda name: name.write_bytes(data))


def write_text(path: Path | str, text: str) -> Path:
    """As `write_bytes`, for text: UTF-8, line ends as they are."""
    return write_bytes(path, text.encode())


@contextmanager
def reading(path: Path | str) -> Iterator[Path]:
    """Turn any failure to read a stored file into an error that says which file to delete."""
    try:
        yield Path(path)
    except Exception as error:
        raise UnreadableArtifact(
            f"The stored file {path} cannot be read ({type(error).__name__}: {error}). "
            "Delete that file and run again: it will be made anew."
        ) from error


def _replace(path: Path, partial: Path, make: Callable[[Path], object]) -> Path:
    """Let `make` write `partial`, then give it the name `path` in one step."""
    partial.unlink(missing_ok=True)  # left by a process that was killed
    try:
        make(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())  # the bytes reach the disk before the name does
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def _feed(digest, value, where: str) -> None:
    """Add `value` to `digest`: its type, its length, its content, so that no two values collide."""
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "detach"):  # a tensor, without importing torch
        value = value.detach().cpu().numpy()
    if hasattr(
        value, "state_dict"
    ):  # a torch module: what it computes, and its weights
        value = [str(value), value.state_dict() | dict(value.named_buffers())]
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if value is None or isinstance(value, bool | int | float | str | bytes):
        data = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(f"{type(value).__name__} {len(data)};".encode())
        digest.update(data)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufcSU":
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        digest.update(f"array {little.dtype.str} {value.shape};".encode())
        digest.update(little.tobytes())
    elif isinstance(value, Mapping):
        digest.update(f"dict {len(value)};".encode())
        for name in sorted(value, key=lambda name: (type(name).__name__, name)):
            _feed(digest, name, f"{where}, a name in a dict")
            _feed(digest, value[name], f"{where}.{name}")
    elif isinstance(value, list | tuple):
        digest.update(f"list {len(value)};".encode())
        for position, item in enumerate(value):
            _feed(digest, item, f"{where}[{position}]")
    else:
        raise TypeError(
            f"{where} is a {type(value).__name__}, which has no content to name an artifact by. "
            "Give numbers, strings, arrays, tensors, lists and dicts, or a file's `file_digest`."
        )
