"""A store of files named by what decides them, safe for several processes at once.

A file with its final name is always whole: it is written under another name and then renamed.
"""

import ast
import hashlib
import inspect
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
from filelock import FileLock

PACKAGE = Path(__file__).resolve().parents[1]


class UnreadableArtifact(RuntimeError):
    """A stored file that exists but cannot be read; the message names the file to delete."""


def key(kind: str, **decides) -> str:
    """Name for the artifact that `decides` determines: `kind-` and 16 digits, the same everywhere.

    What decides may be None, booleans, numbers, strings, bytes, arrays, tensors, dataclasses, and
    dicts, lists or tuples of these; 1, 1.0 and True are three values. All else is a TypeError.
    """
    digest = hashlib.sha256()
    _feed(digest, decides, kind)
    return f"{kind}-{digest.hexdigest()[:16]}"


class ChangedSource(RuntimeError):
    """A module was edited after this process had loaded it; the message names the file."""


class Source:
    """What listed modules do, for a :func:`key`: their source, as this process has loaded it.

    `modules` are files and folders of the package without their ending, such as ``models/training``
    and ``explain``. Comments, docstrings and formatting change nothing.
    """

    def __init__(self, *modules: str):
        files = [path for name in modules for path in _modules(name)]
        self.loaded = {path: path.read_bytes() for path in sorted(set(files))}

    def digest(self) -> str:
        """64 hexadecimal digits; a :class:`ChangedSource` where a module was edited meanwhile."""
        for path, loaded in self.loaded.items():
            now = path.read_bytes()
            if now != loaded and _digest(now) != _digest(loaded):
                raise ChangedSource(
                    f"{path.relative_to(PACKAGE.parent)} was edited after this kernel had loaded "
                    "it. Restart the kernel and run the cells again: the edit then counts."
                )
        names = [path.relative_to(PACKAGE).as_posix() for path in self.loaded]
        digests = map(_digest, self.loaded.values())
        return hashlib.sha256(repr([*zip(names, digests, strict=True)]).encode()).hexdigest()


def _modules(name: str) -> list[Path]:
    """The files of a module or of a folder of modules."""
    path = PACKAGE / name
    files = [*path.rglob("*.py")] if path.is_dir() else [path.with_name(f"{path.name}.py")]
    if not files or not files[0].is_file():
        raise FileNotFoundError(f"the package has no module {name!r}")
    return files


def imported(*modules: str, without: tuple[str, ...] = ()) -> list[str]:
    """Modules and all that they import from the package, themselves or through others.

    What begins like one of `without` is left out, if it is not among `modules` itself.
    """
    names, left = set(), [*modules]
    while left:
        name = left.pop()
        file = (
            PACKAGE / name / "__init__.py" if (PACKAGE / name).is_dir() else PACKAGE / f"{name}.py"
        )
        name = file.relative_to(PACKAGE).with_suffix("").as_posix()
        unwanted = name.startswith(without) and name not in modules
        if name in names or unwanted or not file.is_file():
            continue
        names.add(name)
        left += [parent.as_posix() for parent in Path(name).parents]
        for node in ast.walk(ast.parse(file.read_bytes())):
            if not isinstance(node, ast.ImportFrom):
                continue
            parts = (node.module or "").split(".")
            if node.level:
                below = Path(name).parents[node.level - 1].joinpath(*parts)
            elif parts[0] == "helpers":
                below = Path(*parts[1:])
            else:
                continue
            left += [below.as_posix(), *((below / alias.name).as_posix() for alias in node.names)]
    return sorted(names)


def source(function: Callable) -> str:
    """Digest of a function's source, alike in a module and in a notebook's cell, and of the values
    and own functions that it names; a TypeError where it names what has no content."""
    first, met = "", {}
    left = [("", function)]
    while left:
        where, one = left.pop()
        if inspect.isfunction(one):
            if one in met or (met and _installed(one)):
                continue
            met[one] = _digest(textwrap.dedent(inspect.getsource(one)).encode())
            named = inspect.getclosurevars(one)
            held = {**named.globals, **named.nonlocals}.items()
            left += sorted((f"{one.__name__}.{name}", value) for name, value in held)
        elif not (inspect.ismodule(one) or inspect.isclass(one) or inspect.isbuiltin(one)):
            first += key("named", **{where: one})
    digests = [*met.values()]
    return digests[0] if not first + "".join(digests[1:]) else key("source", of=[first, *digests])


def _installed(function: Callable) -> bool:
    """Whether a function is a library's, whose version stands in the key."""
    return "site-packages" in (inspect.getsourcefile(function) or "")


@cache
def _digest(source: bytes) -> str:
    """Of source without comments, docstrings and formatting; alike in all versions of Python."""

    def plain(node) -> object:
        if isinstance(node, list):
            return [plain(one) for one in node if not _docstring(one)]
        if not isinstance(node, ast.AST):
            return repr(node)
        parts = {name: plain(part) for name, part in ast.iter_fields(node) if part is not None}
        return type(node).__name__, {name: part for name, part in parts.items() if part != []}

    return hashlib.sha256(repr(plain(ast.parse(source))).encode()).hexdigest()


def _docstring(node) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text and isinstance(node.value.value, str)


def file_digest(path: Path | str) -> str:
    """SHA-256 of a file's bytes, 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cached(path: Path | str, make: Callable[[Path], object]) -> Path:
    """The file at `path`, made by `make` if it is not there yet.

    `make` is called with a temporary path of the same ending to write to; nothing is kept when it
    raises or is killed. Of two processes that ask at once, one makes the file and the other waits.
    """
    path = Path(path)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock")):
            if not path.exists():
                _replace(path, path.with_name(f".partial-{path.name}"), make)
    return path


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
