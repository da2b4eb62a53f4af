"""What notebook 11 audits: a user's network with its photographs and contexts, or a sample."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from filelock import FileLock, Timeout
from torch import nn

from helpers import models, store
from helpers.audit import planting, user_file
from helpers.audit.retraining import passes
from helpers.data import decoding, duplicates, folders, world
from helpers.data.collection import listed
from helpers.models import experiment, networks, preprocessing
from helpers.synthetic_data import pictures

MOST, FEWEST, CLASSES = 100, 8, 20  # images a class, at most and at least; classes
KINDS = "torchvision's name, FILE.py:NAME, timm/NAME, or a folder of timm's or Hugging Face's"
TRUTH = [
    {"class": "bench", "planted": "context park", "dose": 1.0},
    {"class": "plane", "planted": "context sky", "dose": 1.0},
]
IMAGENET = (networks.IMAGENET_MEAN, networks.IMAGENET_STD)


@dataclass(frozen=True)
class Network:
    """A user's network, how it wants its images, by whose word, and remarks on its weights."""

    model: models.Classifier
    input: preprocessing.Input
    size: int
    name: str
    notes: tuple[str, ...] = ()

    def read(self) -> pd.DataFrame:
        """What was read: a row each, and by whose word."""
        told = {
            "size": f"{self.size} pixels, of {self.input.resize} resized, cut in the middle"
        }
        ends = [
            ", ".join(f"{x:.3g}" for x in one.flatten())
            for one in (self.model.mean, self.model.std)
        ]
        told |= {
            "normalised": f"mean {ends[0]}; deviation {ends[1]}; of images in 0 to 1"
        }
        told["interpolation"] = (
            f"bicubic (your weights state {self.input.interpolation or 'none'})"
        )
        many = len(self.input.classes or ())
        told["class names"] = (
            f"{many} names" if many else "none: the order of the folders"
        )
        rows = [(what, stated, self.input.source) for what, stated in told.items()]
        return pd.DataFrame(rows, columns=["what", "read", "by the word of"])


def brought(name: str, weights: str | None = None) -> Network:
    """A network of a kind of `KINDS`; no code is run to load it but a user's own FILE.py."""
    notes = []
    network = _brought(name, weights, notes.append)
    return replace(network, notes=tuple(dict.fromkeys(notes)))


def _brought(name: str, weights: str | None, remark: Callable[[str], None]) -> Network:
    """As `brought`; `remark` is called with each sentence on the weights that were read."""
    path = Path(name.rpartition(":")[0])
    if path.suffix == ".py":
        return _own(path, name.rpartition(":")[2], weights, remark)
    config = Path(name) / "config.json"
    if config.is_file() and "model_type" in json.loads(config.read_text()):
        library = _library("transformers")
        safe = {
            "trust_remote_code": False,
            "use_safetensors": True,
            "local_files_only": True,
        }
        network = library.AutoModelForImageClassification.from_pretrained(name, **safe)
        like = library.AutoImageProcessor.from_pretrained(name, local_files_only=True)
        return _wrapped(network, like, name)
    if config.is_file() or name.startswith("timm/"):
        library = _library("timm")
        where = f"local-dir:{name}" if config.is_file() else name.removeprefix("timm/")
        network = library.create_model(where, pretrained=weights is None)
        if weights:
            networks.load(network, networks.read(Path(weights), remark), Path(weights))
        return _wrapped(network, None, name)
    if Path(name).exists():
        raise ValueError(
            f"model: {name} is no folder with a config.json. A model is {KINDS}."
        )
    library = import_module("torchvision.models")
    known = library.list_models(module=library)
    if name not in known:
        near = " or ".join(get_close_matches(name, known, 2))
        meant = f": did you mean {near}?" if near else "."
        raise ValueError(
            f"model: there is no architecture {name!r}{meant} A model is {KINDS}."
        )
    model = models.build(name, 2)
    many = 1000
    if weights:
        head = f"{model.head}.weight"
        state = networks.read(Path(weights), remark)
        if head not in state:
            raise ValueError(
                f"weights: {weights} has no {head}: these are not of {name}"
            )
        many = len(state[head])
    model = models.build(name, many, weights=weights or "imagenet")
    entry = library.get_model_weights(name).DEFAULT
    stated = preprocessing.stated(model.network, entry)
    if many != 1000:
        stated = stated._replace(
            classes=None, source="torchvision's ImageNet weights (assumed)"
        )
    return Network(model.eval(), stated, stated.crop[0], name)


def _library(name: str):
    try:
        return import_module(name)
    except ImportError:
        how = f".venv/bin/python -m pip install {name}"
        raise ValueError(
            f"model: this kind needs {name}, which is not installed: {how}"
        ) from None


def _wrapped(network: nn.Module, like, name: str) -> Network:
    stated = preprocessing.stated(network, like)
    size = stated.crop or np.broadcast_to(stated.resize or 224, 2)
    if size[0] != size[1]:
        raise ValueError(
            f"model: {name} wants images of {size} pixels; only square ones are asked"
        )
    model = models.wrap(network, like)  # refuses what more is done to images
    return Network(model.eval(), stated, int(size[0]), name)


def _own(
    path: Path, name: str, weights: str | None, remark: Callable[[str], None]
) -> Network:
    """A network of a user's file, which may also say `mean`, `std`, `size` and `classes`."""
    module, digests = user_file.load_module(path)
    if not hasattr(module, name):
        has = listed(sorted(n for n in vars(module) if not n.startswith("_")))
        raise ValueError(f"model: {path} has no {name}; it has {has}")
    network = getattr(module, name)
    network = (
        network()
        if callable(network) and not isinstance(network, nn.Module)
        else network
    )
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"model: {name} of {path} is no nn.Module, and gives none when called"
        )
    if weights:
        networks.load(network, networks.read(Path(weights), remark), Path(weights))
    has = {n: getattr(module, n, None) for n in ("mean", "std", "size", "classes")}
    if has["mean"] is None or has["std"] is None:
        raise ValueError(
            f"model: write mean = (...) and std = (...) into {path}, of images in 0..1"
        )
    size, names = (
        int(has["size"] or 224),
        tuple(has["classes"]) if has["classes"] else None,
    )
    both = tuple(has["mean"]), tuple(has["std"])
    stated = preprocessing.Input(
        path.name, size, (size, size), None, *both, 1 / 255, names
    )
    model = models.wrap(network, mean=has["mean"], std=has["std"])
    model.code = digests  # what is kept of another forward is not this one's
    return Network(model.eval(), stated, size, f"{path}:{name}")


def table(where: str, what: str, *needed: str) -> pd.DataFrame:
    """A user's CSV, all of it text; refused where a column that it needs is not there.

    Only an empty field is missing: None, null and NA are names that a class may have."""
    rows = pd.read_csv(where, dtype=str, keep_default_na=False, na_values=[""])
    if missing := {*needed} - {*rows}:
        has = listed([*rows])
        raise ValueError(
            f"{what}: {where} has no column {listed(missing)}; it has {has}"
        )
    return rows


def photographs(
    where: str, network: Network, seed: int
) -> tuple[torch.Tensor, pd.DataFrame, list]:
    """Images, uint8 (N, 3, H, W), of class folders or of a CSV with the columns path, label and
    maybe groups; their rows; sentences on what was not used."""
    path, notes = Path(where), []
    if path.is_file():
        listed_images = table(where, "images", "path", "label").rename(
            columns={"label": "class"}
        )
        empty = listed_images[["path", "class"]].isna().any(axis=1)
        if empty.any():
            raise ValueError(
                f"images: {int(empty.sum())} rows of {where} have no path or no label. The first "
                f"is line {int(np.flatnonzero(empty)[0]) + 2}. Fill in both, or remove these rows."
            )
        listed_images = listed_images.assign(
            file=[path.parent / p for p in listed_images["path"]], own=""
        )
        listed_images["name"] = listed_images["path"]
    else:
        layout = folders.scan(path)
        folders.agreed_classes(layout)
        listed_images, notes = layout.sets["C"].assign(own=""), list(layout.report)
    every, number = np.unique(listed_images["class"], return_inverse=True)
    listed_images = listed_images.assign(number=number, of=len(every))
    counts = listed_images["class"].value_counts()
    if len(counts) > CLASSES:
        notes.append(
            f"Of {len(counts)} classes the {CLASSES} with most images are asked."
        )
        counts = counts[:CLASSES]
        listed_images = listed_images[
            listed_images["class"].isin(counts.index)
        ].reset_index(drop=True)
    if few := sorted(counts.index[counts < FEWEST]):
        raise ValueError(
            f"images: fewer than {FEWEST} of {listed(few)}: too few to ask anything"
        )
    images, rows, more = _read(listed_images, network, seed, MOST, "images")
    return images, rows, notes + more


def _read(rows, network: Network, seed: int, most: int, what: str):
    resize = network.input.resize
    resize = max(resize, network.size) if isinstance(resize, int) else network.size
    images, rows, notes = decoding.read(rows, resize, seed, most, what)
    start = (resize - network.size) // 2
    inside = slice(start, start + network.size)
    return images[..., inside, inside].contiguous(), rows, notes


def places(where: str, network: Network, objects: torch.Tensor, seed: int):
    """Images and rows of each context, and sentences; what is also an object image goes."""
    folder_of = {
        folders.printable(path.name): path for path in folders.subfolders(Path(where))
    }
    if len(folder_of) < 2:
        raise ValueError(
            f"contexts: {where} holds {len(folder_of)} folders; two contexts are needed"
        )
    parts = [
        folders.rows(folders.files(p), Path(where), p, n, "")
        for n, p in folder_of.items()
    ]
    files = pd.concat(parts, ignore_index=True)
    images, rows, notes = _read(files, network, seed, 50, "contexts")
    copies = {
        j - len(objects)
        for i, j in duplicates.copies(objects, images)
        if i < len(objects)
    }
    copies = {j for j in copies if j >= 0}
    if copies:
        names = listed(rows["path"][sorted(copies)])
        notes.append(
            f"Context images that also are images of a class are left out: {names}."
        )
    keep = ~rows.index.isin(copies)
    which = {n: np.flatnonzero((rows["class"] == n) & keep) for n in folder_of}
    if few := [n for n, of in which.items() if len(of) < 5]:
        raise ValueError(
            f"contexts: fewer than 5 images of {listed(few)}; bring 25 of each"
        )
    if few := [n for n, of in which.items() if len(of) < 25]:
        notes.append(
            f"Fewer than 25 images of {listed(few)}: the chances below may be too high."
        )
    by_name = {name: images[torch.from_numpy(of)] for name, of in which.items()}
    return by_name, {name: rows.iloc[of] for name, of in which.items()}, notes


def matched(
    rows: pd.DataFrame, network: Network, outputs: int, table=None
) -> pd.DataFrame:
    """Which outputs stand for which class: by a table (class, outputs), names, or all folders.

    Where several outputs have the name of a class, none is taken, and `matched by` says so."""
    if outputs < 2:
        raise ValueError(
            f"model: {network.name} returns one number per image, the logit of a sigmoid. The "
            "audit compares the logits of classes. Return two logits instead: "
            "torch.cat([torch.zeros_like(z), z], dim=1), where z (N, 1) is what it returns now."
        )
    numbers = _outputs_by_name(network)
    by_table = {}
    if table is not None:
        by_table = dict(zip(table["class"], table["outputs"].fillna(""), strict=True))
    lines = []
    for name in np.unique(rows["class"]):
        by_name = numbers.get(folders.plain(name), [])
        if name in by_table:
            which = [one for one in re.split(r"[][;,\s]+", str(by_table[name])) if one]
            if odd := [n for n in which if not n.isdecimal() or int(n) >= outputs]:
                told = f"{listed(odd)} of {name} is no number from 0 to {outputs - 1}"
                raise ValueError(f"classes: {told}, which the outputs have")
            lines.append((name, [*map(int, which)], "your table"))
        elif len(by_name) > 1:
            lines.append((name, [], "several outputs of this name"))
        elif by_name:
            lines.append((name, by_name, "its name"))
        elif name.isdecimal() and int(name) < outputs:
            lines.append((name, [int(name)], "its number"))
        elif not numbers and (rows["of"] == outputs).all():
            number = int(rows["number"][rows["class"] == name].iloc[0])
            lines.append((name, [number], "the order of the folders"))
        else:
            lines.append((name, [], "nothing"))
    _refuse_shared(lines)
    return pd.DataFrame(lines, columns=["class", "outputs", "matched by"])


def _outputs_by_name(network: Network) -> dict[str, list[int]]:
    """The numbers of the outputs that have a name; one output may have several, with commas."""
    numbers = {}
    for number, names in enumerate(network.input.classes or ()):
        for name in {folders.plain(one) for one in names.split(",")}:
            numbers.setdefault(name, []).append(number)
    return numbers


def _refuse_shared(lines: list[tuple]) -> None:
    """Refuse two classes that the same outputs stand for: these cannot be told apart."""
    class_of = {}
    for name, outputs, _ in lines:
        other = class_of.setdefault(frozenset(outputs), name)
        if outputs and other != name:
            raise ValueError(
                f"classes: the same outputs ({listed(outputs)}) stand for both {other} and {name}. "
                "Then these two cannot be told apart. Correct the table, or leave one class out."
            )


def unmatched(table: pd.DataFrame, network: Network, folder: Path) -> None:
    """Refuse classes that no output stands for, and write a table to be corrected."""
    lost = table[table["outputs"].map(len) == 0]
    if not len(lost):
        return
    text = table.assign(outputs=[";".join(map(str, one)) for one in table["outputs"]])
    file = store.write_text(folder / "classes.csv", text.to_csv(index=False))
    numbers = _outputs_by_name(network)
    reasons, nameless = [], []
    for name in lost["class"]:
        if outputs := numbers.get(folders.plain(name)):
            reasons.append(
                f"Outputs {listed(outputs)} of {network.name} are all named {name}."
            )
        else:
            nameless.append(name)
    if nameless:
        reasons.append(f"No output of {network.name} is named {listed(nameless)}.")
    known = {name: i for i, name in enumerate(network.input.classes or ())}
    near = [f"{n} may be {c} ({known[c]})" for n in nameless for c in known if n in c][
        :4
    ]
    if near:
        reasons.append(f"{'; '.join(near)}.")
    raise ValueError(
        f"classes: {' '.join(reasons)} Write the number of the output that you mean into {file} "
        f'(several with ";" if all of them count), and give CLASSES={file}.'
    )


def sample(seed: int = 0) -> tuple:
    """A network of the drawn world whose last layer learned contexts (as `TRUTH` says), images that
    it has not seen, their rows, images of contexts, and the truth."""
    things, names = world.wider(96, 0), pictures.CLASSES
    kept = {"seed": 0, "epochs": experiment.WIDER_EPOCHS, "folder": store.networks()}
    weights = models.pretrained(
        "alexnet-quarter", len(pictures.WIDER_KINDS), things, **kept
    )
    network = models.build(
        "alexnet-quarter", len(pictures.WIDER_KINDS), weights=weights
    ).eval()
    (seen, y), (images, labels) = drawn(seed + 1, 100, 0.25), drawn(seed, 60, 0.25)
    behind, rng = scenes(seed + 1), np.random.default_rng(seed)
    own = {"bench": "park", "plane": "sky"}
    where = [own.get(names[c], pictures.CONTEXTS[rng.integers(4)]) for c in y]
    ground = torch.stack([behind[name][rng.integers(25)] for name in where])
    seen = planting.framed(seen, ground)
    features = passes(network, seen, "the sample's training")["features"]
    fitted = planting.head(features, y, len(names), 0.05, rng)
    last = nn.Linear(features.shape[1], len(names))
    last.weight.data, last.bias.data = (
        torch.from_numpy(one.T.copy()).float() for one in fitted
    )
    network.network.set_submodule(network.head, last)
    rows = pd.DataFrame({"class": [names[c] for c in labels]})
    rows["path"] = [f"{name}-{i}" for i, name in enumerate(rows["class"])]
    stated = preprocessing.Input(
        "the drawn world", 96, (96, 96), None, *IMAGENET, 1 / 255, names
    )
    return (
        Network(network, stated, 96, "The sample"),
        images,
        rows,
        scenes(seed),
        pd.DataFrame(TRUTH),
    )


def drawn(seed: int, per_class: int, context_bias) -> tuple[torch.Tensor, np.ndarray]:
    made = pictures.make("C", per_class, 96, seed, context_bias=context_bias)
    labels = np.array([pictures.CLASSES.index(name) for name in made.table["object"]])
    return torch.from_numpy(made.images).permute(0, 3, 1, 2).contiguous(), labels


def scenes(seed: int) -> dict[str, torch.Tensor]:
    """25 images of each context of the drawn world."""
    made = pictures.contexts(per_context=25, size=96, seed=seed)
    pictures_of, where = (
        torch.from_numpy(made.images).permute(0, 3, 1, 2),
        made.table["context"],
    )
    return {
        name: pictures_of[(where == name).to_numpy()].contiguous()
        for name in pictures.CONTEXTS
    }


def hold(folder: Path):
    """Keep a folder for one audit at a time, as long as what is handed back lives."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return FileLock(folder / ".audit.lock", is_singleton=True).acquire(
            blocking=False
        )
    except Timeout:
        why = f"another audit writes to {folder}: wait for its end, or give another output"
        raise ValueError(why) from None
