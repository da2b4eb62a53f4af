"""What may be said on the command line of an audit, and about a table; nothing heavy is loaded."""

import argparse
import csv
import difflib
import re
from pathlib import Path

REFERENCES = "best", "largest", "rest"


class Parser(argparse.ArgumentParser):
    """Of an audit's options; what is wrong with them is one sentence."""

    def __init__(self, about: str = "", **more):
        super().__init__("visual-bias audit", description=about, allow_abbrev=False, **more)

    def error(self, message: str) -> None:
        unknown = re.findall(r"unrecognized arguments: (--[\w-]+)", message)
        close = difflib.get_close_matches(*unknown, self._option_string_actions) if unknown else []
        meant = f"; did you mean {close[0]}?" if close else ""
        raise SystemExit(f"audit: {message}{meant}")


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


def parser() -> Parser:
    """The options of an audit of a table, and of notebook 13."""
    parser = Parser("One folder about a table of predictions: page, notebook, CSVs, findings.json.")
    add, more = parser.add_argument, {"action": "extend", "default": []}
    add("table", nargs="?", help="CSV or Parquet: a file, a folder or a pattern; none: a sample")
    roles = "y_true=, y_pred= or y_score= and the column's name"
    add("--map", nargs="+", type=_role, metavar="ROLE=COLUMN", help=roles, **more)
    groups = "group columns, with commas between"
    add("--sensitive", type=names, dest="sensitive_features", help=groups, action="extend")
    add("--strata", type=names, help="columns held fixed, with commas between", **more)
    roles = {"y_beside": "--beside", "cluster": "--cluster", "sample_weight": "--weight"}
    kinds = "a second prediction, set beside y_pred", "which rows belong together", "weights"
    for (role, option), kind_of in zip(roles.items(), kinds, strict=True):
        kind = {"type": lambda name, role=role: (role, name), "metavar": "COLUMN"}
        add(option, dest="map", action="append", help=f"column: {kind_of}", **kind)
    positive = "the value that counts as 1, against all others; or COLUMN=VALUE,COLUMN=VALUE"
    add("--positive", action="append", help=positive)
    at = "score from which a row is predicted positive (set beside y_pred where there is one)"
    add("--threshold", type=float, help=at)
    add("--reference", default="best", help="best, largest, rest, or a group: groups against it")
    add("--ratio", dest="limit", type=float, default=0.8, help="smallest accepted ratio")
    add("--draws", type=int, default=999, help="bootstrap draws and shuffles")
    return parser
