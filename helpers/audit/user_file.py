"""Load a Python file of the user's as a module, together with the modules next to it.

The file is imported from its present source, never from bytecode of an earlier version, and nothing
of the user's can take the place of a module of the suite or of another user's file.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from helpers import store


class _FromSource(SourceFileLoader):
    """A loader that always compiles the source: bytecode may be of an edit in the same second."""

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)


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
        The SHA-256 digests of the file and of the modules next to it that it imported, by name.

    Raises
    ------
    ValueError
        If the file does not exist, or if an error occurs while it is imported.
    """
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"model: there is no file {path}. Give the path of a Python file.")
    name = f"{path.stem}_{store.file_digest(path)[:12]}"
    loader = _FromSource(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _imports_from(path.parent) as imported:
            loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"model: {path} could not be imported. {_described(error)}") from error
    digests = {path.name: store.file_digest(path)}
    digests |= {beside.name: store.file_digest(beside) for beside in imported}
    return module, digests


def _described(error: Exception) -> str:
    """Describe an error of the user's code by its type, its message and the line that raised it."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
    advice = ""
    if isinstance(error, ModuleNotFoundError):
        advice = " Install the module into this environment, or put it into the folder of the file."
    return f"{type(error).__name__} in {place}: {error}.{advice}"


@contextmanager
def _imports_from(folder: Path) -> Iterator[list[Path]]:
    """Put a folder first on the path; afterwards forget which modules came from it.

    Modules that were loaded from elsewhere under a name that a file in the folder has are hidden
    meanwhile. The folder stays at the end of the path, where it shadows nothing, because a network
    may import the module next to it only when it is called.
    """
    names = {file.stem for file in folder.glob("*.py")}
    names |= {file.parent.name for file in folder.glob("*/__init__.py")}
    hidden = {
        name: module
        for name, module in [*sys.modules.items()]
        if name.partition(".")[0] in names
        and not _is_in(folder, name)
        and name.partition(".")[0] not in sys.stdlib_module_names
    }
    for name in hidden:
        del sys.modules[name]
    before = {name.partition(".")[0] for name in sys.modules}
    wrote_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    imported = []
    try:
        yield imported
    finally:
        sys.dont_write_bytecode = wrote_bytecode
        sys.path.remove(str(folder))
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        for name in [*sys.modules]:
            if name.partition(".")[0] not in before and _is_in(folder, name):
                module = sys.modules.pop(name)
                if getattr(module, "__file__", None):
                    imported.append(Path(module.__file__))
        sys.modules.update(hidden)


def _is_in(folder: Path, name: str) -> bool:
    """Whether the top-level package of a loaded module is a file or package of the folder."""
    top = sys.modules.get(name.partition(".")[0])
    places = [*(getattr(top, "__path__", None) or ())]
    if file := getattr(top, "__file__", None):
        places.append(file if Path(file).name != "__init__.py" else Path(file).parent)
    return any(Path(place).resolve().parent == folder for place in places)
