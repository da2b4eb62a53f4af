"""Load a Python file of the user's as a module, together with the modules next to it.

Modules next to the file are imported from their present source each time a file is loaded. A module
that is imported only when the network is called is found in the folder of the file that was loaded
last, unless a module of its name is installed or loaded already. Nothing of the user's takes the
place of a module that was loaded before, such as one of the suite.
"""

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from helpers import store


@dataclass
class _UserFolder:
    """The folder of a user's file, and the top-level modules that were loaded before the file."""

    path: Path
    loaded_before: set[str]
    was_on_path: bool

    def modules(self) -> list[str]:
        """Name the modules and submodules that were imported from the folder."""
        return [
            name
            for name in sys.modules
            if _top_level(name) not in self.loaded_before and _is_in(self.path, name)
        ]


_last: _UserFolder | None = (
    None  # the only folder of a user's from which modules can be imported
)


def load_module(path: Path) -> tuple[ModuleType, dict[str, str]]:
    """Import a Python file under a name of its own.

    Parameters
    ----------
    path : Path
        The file. Modules in its folder can be imported by it, as when it is run from there.

    Returns
    -------
    module : ModuleType
        The module, which is registered in ``sys.modules``, so that dataclasses work in it.
    digests : dict of str to str
        The SHA-256 digests of the file (``"file"``), of the modules that it imported from its
        folder, and of all Python files there that it may import later, by their relative paths.

    Raises
    ------
    ValueError
        If the file does not exist, or if it raises an error or exits while it is imported.
    """
    path = path.resolve()
    if not path.is_file():
        raise ValueError(
            f"network: there is no file {path}. Give the path of a Python file."
        )
    name = f"{path.stem}_{store.file_digest(path)[:12]}"
    sys.dont_write_bytecode = (
        True  # an edit in the same second would be taken for the same file
    )
    _forget_last()
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _imports_from(path.parent) as imported:
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(
            f"network: {path} could not be imported. {_described(error, path)}"
        ) from error
    digests = {"file": store.file_digest(path)}
    for file in sorted({*imported, *_python_files(path.parent)}):
        digests[os.path.relpath(file, path.parent)] = store.file_digest(file)
    return module, digests


def _described(error: BaseException, path: Path) -> str:
    """Describe an error of the user's code by its type, its message and the user's line."""
    message, place = str(error), path.name
    for frame in traceback.extract_tb(error.__traceback__):
        if _is_users(frame.filename, path.parent):
            place = (
                f"{os.path.relpath(frame.filename, path.parent)}, line {frame.lineno}"
            )
    if isinstance(error, SyntaxError) and _is_users(error.filename, path.parent):
        message = error.msg
        place = f"{os.path.relpath(error.filename, path.parent)}, line {error.lineno}"
    reason = f": {message.removesuffix('.')}" if message else ""
    advice = ""
    if isinstance(error, ModuleNotFoundError):
        advice = " Install the module into this environment, or put it into the folder of the file."
    if isinstance(error, SystemExit):
        advice = ' Move what exits below if __name__ == "__main__".'
    return f"{type(error).__name__} in {place}{reason}.{advice}"


def _is_users(filename: str | None, folder: Path) -> bool:
    """Whether a file lies in the user's folder and is not of an environment in it."""
    if filename is None or "site-packages" in filename:
        return False
    return Path(filename).is_relative_to(folder)


@contextmanager
def _imports_from(folder: Path) -> Iterator[list[Path]]:
    """Put a folder first on the path, and list the files of the modules that came from it.

    Modules that were loaded from elsewhere under a name that a file in the folder has are hidden
    meanwhile. Afterwards the folder is last on the path, where it shadows nothing.
    """
    global _last
    hidden = _pop(_shadowed(folder))
    loaded = {_top_level(name) for name in sys.modules}
    _last = _UserFolder(folder, loaded, str(folder) in sys.path)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    imported = []
    try:
        yield imported
    finally:
        sys.path.remove(str(folder))
        if not _last.was_on_path:
            sys.path.append(str(folder))
        for module in _pop(_last.modules()).values():
            if getattr(module, "__file__", None):
                imported.append(Path(module.__file__))
        sys.modules.update(hidden)


def _forget_last() -> None:
    """Remove what was imported from the folder of the file that was loaded last, and the folder."""
    global _last
    if _last is None:
        return
    _pop(_last.modules())
    if not _last.was_on_path and str(_last.path) in sys.path:
        sys.path.remove(str(_last.path))
    _last = None


def _shadowed(folder: Path) -> list[str]:
    """Name the loaded modules of elsewhere that have the name of a file or package of a folder."""
    names = {file.stem for file in folder.glob("*.py")}
    names |= {file.parent.name for file in folder.glob("*/__init__.py")}
    names -= sys.stdlib_module_names
    shadowed = []
    for name in sys.modules:
        if _top_level(name) in names and not _is_in(folder, name):
            shadowed.append(name)
    return shadowed


def _pop(names: list[str]) -> dict[str, ModuleType]:
    """Remove modules from those that are loaded, and return them."""
    return {name: sys.modules.pop(name) for name in names}


def _top_level(name: str) -> str:
    """Return the name of the top-level package of a module."""
    return name.partition(".")[0]


def _is_in(folder: Path, name: str) -> bool:
    """Whether the top-level package of a loaded module is a file or package of the folder."""
    top = sys.modules.get(_top_level(name))
    places = [*(getattr(top, "__path__", None) or ())]
    if file := getattr(top, "__file__", None):
        places.append(file if Path(file).name != "__init__.py" else Path(file).parent)
    return any(Path(place).parent.resolve() == folder for place in places)


def _python_files(folder: Path) -> list[Path]:
    """List the Python files of a folder and of the packages in it."""
    files = [*folder.glob("*.py")]
    for package in folder.glob("*/__init__.py"):
        files += package.parent.rglob("*.py")
    return [file for file in files if file.is_file()]
