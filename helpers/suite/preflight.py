"""What a workflow checks before it runs anything: its keys, its notebooks, its inputs."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat

from helpers import store
from helpers.data import contexts, folders
from helpers.data.images import Images, images_of, meant, read_yaml
from helpers.suite import parameters, project
from helpers.suite.notebooks import lessons

BDD100K = "bdd100k"  # of the paper's preset
NO_BDD100K = (
    "there is no folder bdd100k here. Put BDD100K's labels, images and info there as they are "
    "given out, and beside them predictions.json, areas.geojson and incomes.csv."
)


def plan(
    config: Mapping[str, Any], folder: Path, files: Iterable[str | Path] = ()
) -> tuple[str, dict[str, dict]]:
    """The name of a run's folder, and the parameters of each notebook that it executes.
    A ValueError or OSError names what is wrong in `config`."""
    preset = once(files)
    declared = {path.stem: parameters.defaults(path) for path in folder.glob("*.ipynb")}
    everywhere = {name: own for name, own in sorted(declared.items()) if own}
    known_keys(config, ["run", "notebooks", "parameters", *everywhere])
    run = project.run_name(config, project.RUN)
    shared = of_notebooks(config)
    if "output" in shared:
        instead = f"write `run: {shared['output']}` beside `parameters`, not in it"
        raise ValueError(f"parameters: 'output' is set by the key `run`; {instead}")
    paths = notebooks(config.get("notebooks"), folder, everywhere)
    names = dict.fromkeys(name for own in everywhere.values() for name in own)
    problems = {
        parameters.unknown(name, names): [] for name in shared if name not in names
    }
    parameters_of, accepted = {}, {}
    for path in paths:
        own = everywhere[path.stem]
        mine = {name: value for name, value in shared.items() if name in own}
        parameters_of[path] = mine | of_notebooks(config, path.stem) | {"output": run}
        if parameters_of[path].get("frames") == BDD100K and not Path(BDD100K).is_dir():
            print(f"{path.stem} is left out: {NO_BDD100K}")
            continue
        try:
            accepted[path] = parameters.accepted(own, parameters_of[path])
        except parameters.ParameterError as error:
            problems.setdefault(str(error), []).append(path.name)
    if problems:
        lines = [
            f"{', '.join(who)}: {what}" if who else what
            for what, who in problems.items()
        ]
        if len(paths) > 1 and any(problems.values()):
            lines.append(
                "To leave out notebooks, list those that are to run in `notebooks`."
            )
        raise ValueError("\n".join(lines))
    running = {path.stem: path for path in fitting(accepted, parameters_of)}
    idle(config, everywhere, running, preset)
    return run, {name: parameters_of[path] for name, path in running.items()}


def once(files: Iterable[str | Path]) -> Mapping[str, Any]:
    """Refuse YAML files in which a key is given twice; what those of `sweeps/` give comes back."""
    preset: dict[str, Any] = {}
    for file in map(Path, files):
        content = read_yaml(file) if file.suffix in (".yml", ".yaml") else None
        if content and file.resolve().parent == store.root() / "sweeps":
            preset |= content
    return preset


def idle(config, everywhere, running, preset: Mapping[str, Any]) -> None:
    """Refuse parameters and blocks that no notebook of the run reads, but for those of a preset."""
    lines = [
        f"{name}: this notebook does not run; take the block out, or list it in `notebooks`"
        for name in everywhere
        if name in config and name not in running and name not in preset
    ]
    for name in of_notebooks(config):
        owners = [notebook for notebook, own in everywhere.items() if name in own]
        if not running.keys() & owners and name not in of_notebooks(preset):
            told = f"is read by none of the notebooks that run, only by {', '.join(owners)}"
            lines.append(
                f"parameter {name!r} {told}; take it out, or list one in `notebooks`"
            )
    if lines:
        raise ValueError("\n".join(lines))


def of_notebooks(config: Mapping[str, Any], key: str = "parameters") -> dict[str, Any]:
    """The notebooks' parameters in a configuration; refused when they are no mapping."""
    values = config.get(key) or {}
    if not isinstance(values, Mapping):
        raise ValueError(f"{key}: {values!r} is no mapping; write `{key}: {{seed: 3}}`")
    return dict(values)


def notebooks(
    names: list[str] | None, folder: Path, there: Iterable[str]
) -> list[Path]:
    """Paths of the notebooks named, which must be `there`; None is all lessons."""
    if names is None:
        return lessons(folder)
    if not isinstance(names, list) or not names:
        raise ValueError(
            f"notebooks: {names!r} is no list of names, such as [{min(there)}]"
        )
    for name in names:
        if name not in there:
            reading = f"{name} has no parameters and is for reading: `make lab`"
            unknown = f"there is no {name}.ipynb in {folder}; {meant(name, there)}"
            here = (folder / f"{name}.ipynb").is_file()
            raise ValueError(f"notebooks: {reading if here else unknown}")
    return [folder / f"{name}.ipynb" for name in dict.fromkeys(names)]


def known_keys(config: Mapping[str, Any], allowed: list[str]) -> None:
    """Refuse a key of a configuration that nothing reads, saying where it may belong."""
    if wrong := [key for key in config if key not in allowed]:
        no = "is no key of the configuration"
        refusals = [f"{key!r} {no}; {meant(key, allowed)}" for key in wrong]
        if "parameters" in allowed:
            refusals.append(
                "A notebook's parameter stands below `parameters:`, indented."
            )
        raise ValueError("\n".join(refusals))


def inputs(parameters: Mapping[str, Any]) -> str:
    """Digest of names, sizes and times of the files that parameters name; "" if they name none."""
    values = {name: value for name, value in parameters.items() if name != "output"}
    if "images" in values:
        values["images"] = [values["images"], vars(images_of(values["images"]))]
    paths = {
        path for one in _texts(values) if (path := Path(one).expanduser()).exists()
    }
    files = [
        f
        for p in sorted(paths)
        for f in (sorted(folders.walk(p)) if p.is_dir() else [p])
    ]
    states = [(os.fsencode(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    return store.key("inputs", states=states) if states else ""


def _texts(value: Any) -> list[str]:
    """Every text in nested lists and mappings."""
    if isinstance(value, str):
        return [value] * bool(value)
    parts = value.values() if isinstance(value, Mapping) else value
    return (
        [text for part in parts for text in _texts(part)]
        if isinstance(parts, Iterable)
        else []
    )


def fitting(
    accepted: Mapping[Path, SimpleNamespace], parameters_of: Mapping[Path, dict]
) -> list[Path]:
    """The notebooks that can be run on the images asked for; the others are named and left out.
    Beside photographs, notebooks without `images` run only when given a parameter of their own."""
    images = {
        path: getattr(settings, "images", None) for path, settings in accepted.items()
    }
    photographs = {
        one.folder: one for one in images.values() if one and one.source == "folder"
    }
    without = {name for name, one in photographs.items() if not _contexts(one)}
    left = []
    for path, one in images.items():
        tags = nbformat.read(path, as_version=4).cells[0].metadata.get("tags", [])
        own_parameters = set(parameters_of[path]) - {"seed", "output", "device"}
        if one is None and photographs and not own_parameters:
            own = ", ".join(list(vars(accepted[path]))[2:6])
            print(
                f"{path.stem} is not about photographs: left out without data ({own}, ...)."
            )
        elif one and one.folder in without and "needs-contexts" in tags:
            why = f"{one.folder} holds no context images"
            print(
                f"{why}, so {path.stem} is left out: see GUIDE.md, 'Your own images'."
            )
        else:
            left.append(path)
    if not left:
        raise ValueError(
            "no notebook is left to run: see `notebooks` and the lines above"
        )
    return left


def _contexts(images: Images) -> bool:
    """Whether a folder of photographs has contexts, or some can be cut from it; it is checked."""
    layout = folders.scan(Path(images.folder))
    if images.contexts:
        layout.contexts = Path(images.contexts)
    classes = folders.agreed_classes(layout)
    if layout.contexts:
        names = tuple(
            folders.printable(p.name) for p in folders.subfolders(layout.contexts)
        )
        contexts.mapping(images.context_of, classes, names)
    return bool(layout.contexts) or "WB" in layout.sets
