"""The word ``visual-bias``: an audit of a table, a network or a detector. What may be given of
networks and detectors are the parameters of their notebooks."""

import argparse
import csv
import difflib
import re
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from helpers import store
from helpers.audit import form

REFERENCES = "best", "largest", "rest"
FILES = {"photographs", "places", "weights", "start", "class_table", "group_table", "labels"}
FILES |= {"predictions", "attributes", "frames"}
NAMING = "network", "weights", "photographs", "labels", "predictions"
NEEDS = {"model": ["model", "images"], "detector": ["labels", "predictions"]}
USAGE = """what is audited: a table of decisions, a network, or a detector?
  visual-bias audit --table predictions.csv ...
  visual-bias audit --model resnet18 --images photos/ [--contexts places/] ...
  visual-bias audit --labels labels.json --predictions found.json ...
  visual-bias audit --sample table        or model, or detector: made up, with its truth
--help behind `--sample table` lists what else may be said of a table; so for the others.
With make: make audit TABLE=..., MODEL=... IMAGES=..., LABELS=... PREDICTIONS=...; audit-table"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the audit that the words after ``visual-bias`` name, into ``outputs/audit/``."""
    first = Parser(add_help=False)
    first.add_argument("word", nargs="?", choices=["audit"])
    first.add_argument("--version", action="version", version=version("visual-bias-notebooks"))
    first.add_argument("--table")
    first.add_argument("--sample", choices=[*form.NOTEBOOKS])
    known, rest = first.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    options = {one.partition("=")[0].removeprefix("--") for one in rest}
    kinds = {kind for kind, its in NEEDS.items() if options & {*its}}
    kinds |= {known.sample, known.table and "table"} - {None}
    if len(kinds) != 1:
        if {"-h", "--help"} & {*rest}:
            return print(USAGE)
        raise SystemExit(f"audit: {USAGE}")
    [kind] = kinds
    rest = ["--help"] if {"-h", "--help"} & {*rest} else rest  # whatever else is wrong there
    if kind == "table":
        of_table().parse_args(["", *rest])  # what is wrong there is told at once
        values = {"table": known.table and str(Path(known.table).resolve())}
        values = {n: v for n, v in (values | {"options": shlex.join(rest)}).items() if v}
        return form.run(kind, Path(known.table or "sample-table").stem, values)
    given_values = vars(of_notebook(kind).parse_args(rest))
    values = {name: value for name, value in given_values.items() if value is not None}
    if len(options & {*NEEDS[kind]}) == 1:
        raise SystemExit("audit: a {} needs --{} and --{}, both".format(kind, *NEEDS[kind]))
    paths = [Path(values[name]) for name in NAMING if name in values]
    parts = [path.stem if path.exists() else path.name for path in paths]
    if kind == "detector":  # whose files have one name in several folders
        parts = [one for path in paths for one in (path.parent.name, path.stem)]
    form.run(kind, "-".join(dict.fromkeys(parts)) or f"sample-{kind}", values)


class Parser(argparse.ArgumentParser):
    """Of an audit's options; what is wrong with them is one sentence."""

    def __init__(self, about: str = "", **more):
        super().__init__("visual-bias audit", description=about, allow_abbrev=False, **more)

    def error(self, message: str) -> None:
        unknown = re.findall(r"unrecognized arguments: (--[\w-]+)", message)
        every = re.findall(r"--\w+", self.format_usage())
        close = difflib.get_close_matches(*unknown, every) if unknown else []
        meant = f"; did you mean {close[0]}?" if close else ""
        raise SystemExit(f"audit: {message}{meant}")


def of_notebook(kind: str) -> Parser:
    """The options of an audit of a network or a detector."""
    import papermill  # takes a second

    made, types = Parser(f"Audit your own {kind}."), {"list[str]": names, "int": int}
    types |= {"list[float]": lambda text: [float(one) for one in names(text)]}
    path = store.root() / "notebooks" / f"{form.NOTEBOOKS[kind]}.ipynb"
    for name, about in papermill.inspect_notebook(path).items():
        type_of = place if name in FILES else types.get(about["inferred_type_name"], str)
        option = form.OPTIONS.get(name, name)
        made.add_argument(f"--{option}", dest=name, type=type_of, help=about["help"])
    return made


def place(text: str) -> str:
    """The whole path of a file or folder that is there."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"there is no file or folder {text!r} here")
    return str(Path(text).resolve())


def _role(text: str) -> tuple[str, str]:
    """ROLE=COLUMN of the command line."""
    role, equals, column = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("expected ROLE=COLUMN, such as y_true=repaid")
    return role, column


def names(text: str) -> list[str]:
    """Names with commas between; one that holds a comma stands in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


def of_table() -> Parser:
    """The options of an audit of a table, and of notebook 13."""
    parser = Parser("One folder about a table of predictions: page, notebook, CSVs, findings.json.")
    add, more = parser.add_argument, {"action": "extend", "default": []}
    add("table", nargs="?", help="CSV or Parquet: a file, a folder or a pattern; none: a sample")
    roles = "y_true=, y_pred= or y_score= and the column's name"
    add("--map", nargs="+", type=_role, metavar="ROLE=COLUMN", help=roles, **more)
    groups = "group columns, with commas between"
    add("--sensitive", type=names, dest="sensitive_features", help=groups, action="extend")
    add("--strata", type=names, help="columns held fixed, with commas between", **more)
    add("--beside", dest="y_beside", help="column: a second prediction, set beside y_pred")
    add("--cluster", help="column: which rows belong together")
    add("--weight", dest="sample_weight", help="column: weights")
    positive = "the value that counts as 1, against all others; or COLUMN=VALUE,COLUMN=VALUE"
    add("--positive", action="append", help=positive)
    at = "score from which a row is predicted positive (set beside y_pred where there is one)"
    add("--threshold", type=float, help=at)
    add("--reference", default="best", help="best, largest, rest, or a group: groups against it")
    add("--ratio", dest="limit", type=float, default=0.8, help="smallest accepted ratio")
    add("--draws", type=int, default=999, help="bootstrap draws and shuffles")
    return parser


if __name__ == "__main__":
    main()
