"""The word ``visual-bias``: an audit of a table, a network or a detector."""

import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from helpers.audit import form, options

NEEDS = {"model": {"--model", "--images"}, "detector": {"--labels", "--predictions"}}
USAGE = """what is audited: a table of decisions, a network, or a detector?
  visual-bias audit --table predictions.csv ...
  visual-bias audit --model resnet18 --images photos/ [--contexts places/] ...
  visual-bias audit --labels labels.json --predictions found.json ...
  visual-bias audit --sample table        or model, or detector: made up, with its truth
--help behind `--sample table` lists what else may be said of a table; so for the others.
With make: make audit TABLE=..., MODEL=... IMAGES=..., LABELS=... PREDICTIONS=...; audit-table"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the audit that the words after ``visual-bias`` name, into ``outputs/audit/``."""
    first = options.Parser(add_help=False)
    first.add_argument("word", nargs="?", choices=["audit"])
    first.add_argument("--version", action="version", version=version("visual-bias-notebooks"))
    first.add_argument("--table")
    first.add_argument("--sample", choices=["table", *NEEDS])
    known, rest = first.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    kinds = {kind for kind, its in NEEDS.items() if its & {one.partition("=")[0] for one in rest}}
    kinds |= {known.sample} | ({"table"} if known.table else set())
    if len(kinds := kinds - {None}) != 1:
        if {"-h", "--help"} & {*rest}:
            return print(USAGE)
        raise SystemExit(f"audit: {USAGE}")
    rest = ["--help"] if {"-h", "--help"} & {*rest} else rest  # whatever else is wrong there
    if kinds == {"table"}:
        return _table(known.table, rest)
    import_module(f"helpers.audit.{kinds.pop()}").main(rest)


def _table(path: str | None, rest: Sequence[str]) -> None:
    options.parser().parse_args(["", *rest])  # what is wrong there is said at once
    values = {"table": str(Path(path).resolve())} if path else {}
    values |= {"options": shlex.join(rest)} if rest else {}
    form.run("13_audit_your_table", Path(path).stem if path else "sample", values)


if __name__ == "__main__":
    main()
