"""What code decides: digests of modules and functions, for the keys of stored files."""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path

from helpers.store import key

PACKAGE = Path(__file__).resolve().parent


class ChangedSource(RuntimeError):
    """A module was edited after this process had loaded it; the message names the file."""


class Source:
    """The source of modules and folders, such as ``models/training``, as this process loaded it.
    Comments, docstrings and formatting change nothing."""

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
        names = [path.relative_to(PACKAGE.parent).as_posix() for path in self.loaded]
        digests = map(_digest, self.loaded.values())
        return hashlib.sha256(
            repr([*zip(names, digests, strict=True)]).encode()
        ).hexdigest()


def _modules(name: str) -> list[Path]:
    """The files of a module or of a folder of modules."""
    path = _place(name)
    files = (
        [*path.rglob("*.py")] if path.is_dir() else [path.with_name(f"{path.name}.py")]
    )
    if not files or not files[0].is_file():
        raise FileNotFoundError(f"the package has no module {name!r}")
    return files


def _place(name: str) -> Path:
    return (PACKAGE.parent if name.startswith("sweeps/") else PACKAGE) / name


def imported(*modules: str, without: tuple[str, ...] = ()) -> list[str]:
    """Modules and all that they import from the package, also through others, `without` some."""
    names, left = set(), [*modules]
    while left:
        name = left.pop()
        path = _place(name)
        file = (
            path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")
        )
        name = name + "/__init__" * path.is_dir() if name != "." else "__init__"
        unwanted = name.startswith(without) and name not in modules
        if name in names or unwanted or not file.is_file():
            continue
        names.add(name)
        left += [parent.as_posix() for parent in Path(name).parents]
        left += named(file.read_bytes(), name)
    return sorted(names)


def named(code: str | bytes, place: str = "") -> list[str]:
    """What code that stands at a place of the package may import from it, itself."""
    names = []
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.ImportFrom):
            continue
        parts = (node.module or "").split(".")
        if node.level:
            below = Path(place).parents[node.level - 1].joinpath(*parts)
        elif parts[0] == "helpers":
            below = Path(*parts[1:])
        else:
            continue
        names += [
            below.as_posix(),
            *((below / alias.name).as_posix() for alias in node.names),
        ]
    return names


def digest(function: Callable) -> str:
    """Digest of a function's source, alike in a module and in a notebook's cell, and of the values
    and own functions that it names; a TypeError where it names what has no content."""
    first, met = "", {}
    left = [("", function)]
    while left:
        where, one = left.pop()
        if inspect.isfunction(one):
            if one in met or (
                met and "site-packages" in (inspect.getsourcefile(one) or "")
            ):
                continue  # a library's version stands in the key
            met[one] = _digest(textwrap.dedent(inspect.getsource(one)).encode())
            named = inspect.getclosurevars(one)
            held = {**named.globals, **named.nonlocals}.items()
            left += sorted((f"{one.__name__}.{name}", value) for name, value in held)
        elif not (
            inspect.ismodule(one) or inspect.isclass(one) or inspect.isbuiltin(one)
        ):
            first += key("named", **{where: one})
    digests = [*met.values()]
    return (
        digests[0]
        if not first + "".join(digests[1:])
        else key("source", of=[first, *digests])
    )


def same(one: Callable, other: Callable) -> bool:
    """Return whether two functions have the same digest; False where one has none."""
    if one is other:
        return True
    try:
        return digest(one) == digest(other)
    except (TypeError, OSError):  # it names something without content, or has no source
        return False


@cache
def _digest(source: bytes) -> str:
    """Of source without comments, docstrings and formatting; alike in all versions of Python."""

    def text(node) -> bool:
        return isinstance(node, ast.Expr) and isinstance(
            getattr(node.value, "value", None), str
        )

    def plain(node) -> object:
        if isinstance(node, list):
            return [plain(one) for one in node if not text(one)]
        if not isinstance(node, ast.AST):
            return repr(node)
        parts = {
            name: plain(part)
            for name, part in ast.iter_fields(node)
            if part is not None
        }
        return type(node).__name__, {
            name: part for name, part in parts.items() if part != []
        }

    return hashlib.sha256(repr(plain(ast.parse(source))).encode()).hexdigest()
