"""Load a network from a Python file of the user, which is named ``FILE.py:NAME``."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from helpers import store
from helpers.models.preprocessing import Preprocessing, stated
from helpers.suggest import listed

DEFAULT_SIZE = 224  # pixels


def is_python_file(name: str) -> bool:
    """Return whether a name of a network means a Python file."""
    return name.rpartition(":")[0].endswith(".py")


def load(name: str) -> tuple[nn.Module, Preprocessing, dict[str, str]]:
    """Load a network from a Python file, which may import modules of its folder.

    Parameters
    ----------
    name : str
        ``FILE.py:NAME``. NAME is a function without arguments that returns a network,
        or a network. The file states ``mean`` and ``std`` of images in 0 to 1, or
        ``preprocessing``. This is torchvision's weights, an image processor of Hugging
        Face, or a configuration of timm, which timm's networks have themselves. The
        file may state ``size`` (pixels) and ``classes`` (the names of the logits).

    Returns
    -------
    network : nn.Module
    preprocessing : Preprocessing
    digests : dict of str to str
        SHA-256 of the file and of the modules that it imported from its folder, by
        their relative paths.

    Raises
    ------
    ValueError
        The file does not exist, cannot be imported, has no such network, or states no
        normalization.
    """
    path, attribute = existing_file(name)
    with _own_modules(path) as digests:
        try:
            defined = vars(importlib.import_module(path.stem))
        except (Exception, SystemExit) as error:
            raise ValueError(
                f"{path} could not be imported ({type(error).__name__}: {error}). "
                "Correct the file, and run it by itself."
            ) from error
        if attribute not in defined:
            public = sorted(name for name in defined if name[0] != "_")
            raise ValueError(
                f"{path} has no {attribute!r}. It has {listed(public)}. Name one of "
                "these."
            )
        network = defined[attribute]
        if callable(network) and not isinstance(network, nn.Module):
            network = network()
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"{attribute!r} of {path} gives a {type(network).__name__}, not an "
            "nn.Module. Name a network, or a function without arguments that returns "
            "one."
        )
    return network, _preprocessing(defined, network, path.name), digests


def existing_file(name: str) -> tuple[Path, str]:
    """Split ``FILE.py:NAME`` into the path of the file and the name in it.

    Parameters
    ----------
    name : str

    Returns
    -------
    path : Path
    attribute : str

    Raises
    ------
    ValueError
        The file does not exist.
    """
    file_name, _, attribute = name.rpartition(":")
    path = Path(file_name).expanduser().resolve()
    if not path.is_file():
        raise ValueError(
            f"There is no file {path}. Give the path of a Python file, and the name of "
            "a function in it: FILE.py:NAME."
        )
    return path, attribute


def _preprocessing(
    defined: dict[str, Any], network: nn.Module, source: str
) -> Preprocessing:
    """Return the preprocessing that the file or the network states."""
    if "mean" in defined and "std" in defined:
        size = defined.get("size", DEFAULT_SIZE)
        read = Preprocessing(source, size, size, defined["mean"], defined["std"])
    else:
        read = stated(network, defined.get("preprocessing"))
    return read._replace(classes=defined.get("classes", read.classes))


@contextmanager
def _own_modules(path: Path) -> Iterator[dict[str, str]]:
    """Let a file and modules of its folder be imported within a `with` block.

    They are digested, and forgotten afterwards, so that the next file gets modules of
    its own. A loaded module that has the name of the file is put back.
    """
    loaded_before = dict(sys.modules)
    sys.modules.pop(path.stem, None)
    folder = path.parent
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    digests = {}
    try:
        yield digests
    finally:
        sys.path.remove(str(folder))
        for name, module in list(sys.modules.items()):
            if loaded_before.get(name) is module:
                continue
            file = Path(getattr(module, "__file__", None) or "")
            if file.is_relative_to(folder) and "site-packages" not in file.parts:
                digests[str(file.relative_to(folder))] = store.file_digest(file)
                del sys.modules[name]
        sys.modules.update(loaded_before)
