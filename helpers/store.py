"""Find, name, read and write the files of this suite.

A file with its final name is always complete, because it is written under a
temporary name and then renamed.
"""

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

# raise it when a change of the code changes what a stored file would hold
CACHE_VERSION = 1

ROOT = Path(__file__).resolve().parents[1]


def root() -> Path:
    """Return the folder of the checkout, which holds ``data`` and ``notebooks``."""
    return ROOT


def outputs() -> Path:
    """Return the folder of all results: ``outputs`` or ``SUITE_OUTPUTS``."""
    return Path(os.environ.get("SUITE_OUTPUTS", ROOT / "outputs")).resolve()


def networks() -> Path:
    """Return the folder of trained networks, which all runs share."""
    return outputs() / "models"


def progress(iterable: Iterable | None = None, **options) -> tqdm:
    """Show a progress bar on standard output, unless ``TQDM_DISABLE`` is set."""
    return tqdm(iterable, file=sys.stdout, leave=False, ncols=80, **options)


def recorded_table(name: str) -> pd.DataFrame:
    """Read a table of ``data/``, such as ``streets.csv``.

    ``data/README.md`` gives the command that wrote each table.
    """
    return pd.read_csv(root() / "data" / name)


class UnreadableArtifact(RuntimeError):
    """Report a stored file that cannot be read, with its name."""


def key(kind: str, **decides) -> str:
    """Return the name of an artifact: `kind`, a dash and 16 hexadecimal digits.

    The digits depend on the values of `decides` alone, and are the same on every
    machine. The values 1, 1.0 and True give three keys.

    Raises
    ------
    TypeError
        A value, such as a function, cannot be digested. The message names it.
    """
    digest = hashlib.sha256()
    _feed(digest, {"version": CACHE_VERSION, **decides}, kind)
    return f"{kind}-{digest.hexdigest()[:16]}"


def function_digest(function: Callable) -> str:
    """Digest the code of a function that a lesson passes in, for a key.

    The digest covers the functions and plain values that the function names, if they
    are defined in the notebook or in the same module. Comments, docstrings and
    formatting change nothing, so a method has one digest in a notebook's cell and in
    the module exported from it.

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
        named = {**variables.globals, **variables.nonlocals}
        for name, value in named.items():
            if inspect.isfunction(value) and value.__module__ == current.__module__:
                waiting.append(value)
            elif isinstance(value, bool | int | float | str | tuple):
                found[name] = repr(value)
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()


def file_digest(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cached(path: Path | str, make: Callable[[Path], object]) -> Path:
    """Make a file if it does not exist yet, and return its path.

    Parameters
    ----------
    path : Path or str
        The file.
    make : callable
        Writes the file to the temporary path that it is given, which has the same
        suffix. If two processes ask at once, one makes the file and the other waits.
    """
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
    """Read arrays and facts from a file, which is computed if there is none.

    Parameters
    ----------
    kind : str
        The kind of artifact, for its `key`.
    folder : Path or str
        The folder of the file.
    make : callable
        Returns the arrays, and the facts that go into JSON, each by name.
    **decides
        The values that determine the artifact, for its `key`.

    Returns
    -------
    path : Path
    arrays : dict of str to ndarray
    facts : dict
    """

    def write(path: Path) -> None:
        arrays, facts = make()
        arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
        metadata = {name: json.dumps(fact) for name, fact in facts.items()}
        save_file(arrays, path, metadata=metadata)

    path = cached(Path(folder) / f"{key(kind, **decides)}.safetensors", write)
    with reading(path), safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        facts = {name: json.loads(fact) for name, fact in metadata.items()}
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return path, arrays, facts


def write_bytes(path: Path | str, data: bytes) -> Path:
    """Write `data` to `path` in one step, so that no reader sees half of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    return _replace(path, partial, lambda name: name.write_bytes(data))


def write_text(path: Path | str, text: str) -> Path:
    """Write text to `path` in one step, in UTF-8 and with its line ends unchanged."""
    return write_bytes(path, text.encode())


@contextmanager
def reading(path: Path | str) -> Iterator[Path]:
    """Turn a failure to read a stored file into an error that names it."""
    try:
        yield Path(path)
    except Exception as error:
        raise UnreadableArtifact(
            f"The stored file {path} cannot be read ({type(error).__name__}: {error}). "
            "Delete that file and run again. It will be made again."
        ) from error


def _replace(path: Path, partial: Path, make: Callable[[Path], object]) -> Path:
    """Let `make` write `partial`, and then rename it to `path`."""
    partial.unlink(missing_ok=True)  # left by a process that was killed
    try:
        make(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())  # the bytes reach the disk before the name does
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def _as_plain(value):
    """Replace a NumPy scalar, tensor, torch module or dataclass by plain values."""
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "detach"):  # a tensor, without importing torch
        return value.detach().cpu().numpy()
    if hasattr(value, "state_dict"):  # a torch module: its layers and its weights
        return [str(value), {**value.state_dict(), **dict(value.named_buffers())}]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def _feed(digest, value, where: str) -> None:
    """Add the type, length and content of a value to a digest."""
    value = _as_plain(value)
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
            f"{where} is a {type(value).__name__}, which has no content to name an "
            "artifact by. Give numbers, strings, arrays, tensors, lists and dicts, or "
            "a file's `file_digest`."
        )
