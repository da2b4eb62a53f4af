"""The word ``visual-bias``: an audit of a table, a network or a detector. What may be given are the
parameters of its notebook."""

import argparse
import csv
import difflib
import functools
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from helpers import store
from helpers.audit import form

FILES = {
    "photographs",
    "places",
    "weights",
    "start",
    "class_table",
    "group_table",
    "labels",
}
FILES |= {"predictions", "attributes", "frames"}
NAMING = "table", "network", "weights", "photographs", "labels", "predictions"
NEEDS = {
    "table": ["table"],
    "model": ["model", "images", "contexts"],
    "detector": ["labels", "predictions"],
}
USAGE = """what is audited: a table of decisions, a network, or a detector?
  visual-bias audit --table predictions.csv ...
  visual-bias audit --model resnet18 --images photos/ --contexts places/ ...
  visual-bias audit --labels labels.json --predictions found.json ...
  visual-bias audit --sample table        or model, or detector: made up, with its truth
--help behind `--sample table` lists what else may be said of a table; so for the others.
With make: make audit TABLE=..., MODEL=... IMAGES=..., LABELS=... PREDICTIONS=...; audit-table"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the audit that the words after ``visual-bias`` name, into ``outputs/audit/``."""
    first = Parser(add_help=False)
    first.add_argument("word", nargs="?", choices=["audit"])
    first.add_argument(
        "--version", action="version", version=version("visual-bias-notebooks")
    )
    first.add_argument("--sample", choices=[*NEEDS])
    known, rest = first.parse_known_args(
        sys.argv[1:] if arguments is None else arguments
    )
    options = {one.partition("=")[0].removeprefix("--") for one in rest}
    kinds = {kind for kind, its in NEEDS.items() if options & {*its}} | {
        known.sample
    } - {None}
    asks = bool({"-h", "--help"} & {*rest})
    if len(kinds) != 1:
        if asks:
            return print(USAGE)
        raise SystemExit(f"audit: {USAGE}")
    [kind] = kinds
    values = given_by(
        kind, ["--help"] if asks else rest
    )  # whatever else is wrong there
    if options & {*NEEDS[kind]} and not {*NEEDS[kind]} <= options:
        *most, last = [f"--{one}" for one in NEEDS[kind]]
        together = "both" if len(most) == 1 else "all of them"
        raise SystemExit(
            f"audit: a {kind} needs {', '.join(most)} and {last}, {together}"
        )
    paths = {name: Path(values[name]) for name in NAMING if name in values}
    parts = [
        path.name if name == "network" else path.stem for name, path in paths.items()
    ]
    if kind == "detector":  # whose files have one name in several folders
        parts = [
            one for path in paths.values() for one in (path.parent.name, path.stem)
        ]
    form.run(kind, "-".join(dict.fromkeys(parts)) or f"sample-{kind}", values)


class Parser(argparse.ArgumentParser):
    """Of an audit's options; what is wrong with them is one sentence."""

    def __init__(self, about: str = "", **more):
        super().__init__(
            "visual-bias audit", description=about, allow_abbrev=False, **more
        )

    def error(self, message: str) -> None:
        unknown = re.findall(r"unrecognized arguments: (--[\w-]+)", message)
        every = re.findall(r"--\w+", self.format_usage())
        close = difflib.get_close_matches(*unknown, every) if unknown else []
        meant = f"; did you mean {close[0]}?" if close else ""
        raise SystemExit(f"audit: {message}{meant}")


def given_by(kind: str, words: Sequence[str]) -> dict[str, Any]:
    """The parameters of an audit's notebook that a command line gives."""
    values = vars(_parser(kind).parse_args(words))
    values = {name: value for name, value in values.items() if value is not None}
    if "positive" in values:  # each part is COLUMN=VALUE, if there are several
        values["positive"] = ",".join(values["positive"])
    return values


@functools.cache
def _parser(kind: str) -> Parser:
    import papermill  # takes a second

    made = Parser(f"Audit your own {kind}.")
    whole = {"float": float, "Draws": int, "Resamples": int, "Seed": int}
    several = {
        "list[str]": names,
        "list[float]": lambda text: [float(one) for one in names(text)],
    }
    path = store.root() / "notebooks" / f"{form.NOTEBOOKS[kind]}.ipynb"
    for name, about in papermill.inspect_notebook(path).items():
        type_name = about["inferred_type_name"]
        if type_name.startswith("Optional["):
            type_name = type_name[len("Optional[") : -1]
        how = {"type": whole.get(type_name, str)}
        if type_name in several:
            how = {"type": several[type_name], "action": "extend"}
        if name == "roles":  # whose columns may have any names
            how = {"nargs": "+", "action": "extend", "metavar": "ROLE=COLUMN"}
        if name in FILES:
            how = {"type": place}
        if name == "positive":  # once for all columns, or once per column and value
            how = {"action": "append", "metavar": "[COLUMN=]VALUE[,VALUE]"}
        if name == "table":  # or a pattern of files
            how = {"type": lambda text: str(Path(text).resolve())}
        option = form.OPTIONS[kind].get(name, name)
        made.add_argument(
            f"--{option}", dest=name, help=about["help"].replace("%", "%%"), **how
        )
    return made


def place(text: str) -> str:
    """The whole path of a file or folder that is there."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"there is no file or folder {text!r} here")
    return str(Path(text).resolve())


def names(text: str) -> list[str]:
    """Names with commas between; one that holds a comma stands in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


if __name__ == "__main__":
    main()
