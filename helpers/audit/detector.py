"""``python -m helpers.audit.detector --labels FILE --predictions FILE ...``: run notebook 12 on a
detector's labels and detections, into a folder."""

import argparse
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import papermill

from helpers import store

NOTEBOOK = "12_audit_your_detector"
USUAL = {"draws": 999, "resamples": 60, "seed": 0}  # as the notebook has them


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _sides(text: str) -> list[float]:
    return [float(side) for side in _names(text)]


def parser() -> argparse.ArgumentParser:
    """What ASK="..." may hold, by the names of the notebook's parameters."""
    about = "Audit a detector from its labels and detections; without them, that of drawn streets."
    made = argparse.ArgumentParser("python -m helpers.audit.detector", description=about)
    add = made.add_argument
    add("--labels", help="COCO's JSON, BDD100K's (file or folder), or a CSV of boxes")
    add("--predictions", help="COCO's results, BDD100K's, or a CSV of boxes with scores")
    add("--attributes", help="CSV with a column image (names) or box (ids), and attributes")
    add("--groups", type=_names, help="attributes whose values are compared; all unless named")
    add("--classes", type=_names, help="classes that are compared; eight with most boxes")
    add("--sizes", type=_sides, help="sides in pixels at which a box is medium, large: 32,96")
    add("--cluster", help="column of images that belong together, such as video")
    add("--frames", help="folder of the images, so that boxes are drawn on them")
    add("--draws", type=int, help="how often groups are dealt by chance")
    add("--resamples", type=int, help="bootstrap resamples of images")
    add("--seed", type=int)
    add("--output", help="folder below outputs/; audit/ and the name of the labels unless named")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the notebook; what it refuses is one sentence, and what stood there before is kept."""
    options = {k: v for k, v in vars(parser().parse_args(arguments)).items() if v}
    if len({"labels", "predictions"} & set(options)) == 1:
        raise SystemExit("audit: a detector needs LABELS=FILE and PREDICTIONS=FILE, both of them")
    for name in {"labels", "predictions", "attributes", "frames"} & set(options):
        if not Path(options[name]).exists():
            raise SystemExit(f"audit: {name}: there is no file or folder {options[name]!r} here")
        options[name] = str(Path(options[name]).resolve())
    name = Path(options.get("labels", "street")).name.split(".")[0] or "detector"
    options.setdefault("output", f"audit/{re.sub(r'[^A-Za-z0-9_-]', '_', name)}")
    (folder := store.outputs() / options["output"]).mkdir(parents=True, exist_ok=True)
    source, ran = store.root() / "notebooks" / f"{NOTEBOOK}.ipynb", folder / "running.ipynb"
    try:
        papermill.execute_notebook(source, ran, options, progress_bar=True, log_output=False)
    except papermill.PapermillExecutionError as error:
        ran.unlink(missing_ok=True)
        known = error.ename in ("DetectionDataError", "ValueError")
        where = "" if known else f" ({error.ename}, in cell {error.exec_count} of {NOTEBOOK})"
        raise SystemExit(f"audit: {error.evalue}{where}") from None
    ran.replace(folder / "notebook.ipynb")
    print(f"open {folder / 'page.html'}")


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """A table for the page: its numbers with three digits."""
    return table.map(lambda one: f"{one:.3g}" if isinstance(one, float) and one == one else one)


def command(settings: dict) -> str:
    """The command that makes an audit again."""
    words = {name: settings.get(name) for name in ("labels", "predictions", "attributes")}
    if not words["labels"]:
        return "make audit-detector"
    more = {n: settings.get(n) for n in ("groups", "classes", "sizes", "cluster", "frames")}
    more |= {n: settings[n] for n, usual in USUAL.items() if settings.get(n, usual) != usual}
    texts = [
        f"--{n} {','.join(map(str, v)) if isinstance(v, list) else v}" for n, v in more.items() if v
    ]
    asked = {n.upper(): v for n, v in words.items() if v} | (
        {"ASK": " ".join(texts)} if texts else {}
    )
    return "make audit " + " ".join(f"{name}={shlex.quote(str(v))}" for name, v in asked.items())


if __name__ == "__main__":
    main()
