"""Load a Python file of the user's as a module, with the modules next to it."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from helpers import store


def load_module(path: Path) -> tuple[ModuleType, dict[str, str]]:
    """Import a Python file, which may import modules of its folder.

    Modules of the folder are imported from their present source each time a file is
    loaded, so those of two files do not get mixed up.

    Parameters
    ----------
    path : Path
        The file. It imports what it needs at its top, since its folder can be imported
        from only while it is loaded.

    Returns
    -------
    module : ModuleType
    digests : dict of str to str
        The SHA-256 digests of the file (``"file"``), and of the modules that it
        imported from its folder, by their relative paths.

    Raises
    ------
    ValueError
        If the file does not exist, or if it raises an error or exits while it is
        imported.
    """
    path = path.resolve()
    if not path.is_file():
        raise ValueError(
            f"network: there is no file {path}. Give the path of a Python file."
        )
    digests = {"file": store.file_digest(path)}
    spec = importlib.util.spec_from_file_location(
        f"{path.stem}_{digests['file'][:12]}", path
    )
    module = importlib.util.module_from_spec(spec)
    loaded_before = set(sys.modules)
    sys.modules[spec.name] = module  # dataclasses look their module up
    sys.path.insert(0, str(path.parent))
    # without bytecode, an edit in the same second is noticed
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"network: {path} could not be imported ({type(error).__name__}: {error}). "
            "Correct the line that the error above names, and run the file by itself."
        ) from error
    finally:
        sys.path.remove(str(path.parent))
        for name in set(sys.modules) - loaded_before - {spec.name}:
            file = getattr(sys.modules[name], "__file__", None)
            if file and _is_users(Path(file), path.parent):
                digests[os.path.relpath(file, path.parent)] = store.file_digest(file)
                del sys.modules[name]
    return module, digests


def _is_users(file: Path, folder: Path) -> bool:
    """Whether a file lies in the user's folder and is not of an environment in it."""
    return file.is_relative_to(folder) and "site-packages" not in file.parts
