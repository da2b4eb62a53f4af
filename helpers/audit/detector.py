"""``visual-bias audit --labels FILE --predictions FILE ...``: notebook 12 run on the labels and
detections of a reader's detector."""

from collections.abc import Sequence
from pathlib import Path

from helpers.audit import form
from helpers.audit.options import Parser, names, place

NOTEBOOK = "12_audit_your_detector"


def parser() -> Parser:
    """The options, by the names of the notebook's parameters."""
    made = Parser("Audit a detector from its labels and detections.")
    add = made.add_argument
    add("--labels", type=place, help="COCO's JSON, BDD100K's (file or folder), or a CSV of boxes")
    add("--predictions", type=place, help="COCO's results, BDD100K's, or a CSV with scores")
    add("--attributes", type=place, help="CSV: a column image (names) or box (ids), and others")
    add("--groups", type=names, help="attributes whose values are compared; all unless named")
    add("--classes", type=names, help="classes that are compared; eight with most boxes")
    sides = "sides in pixels at which a box is medium, large: 32,96"
    add("--sizes", type=lambda text: [float(side) for side in names(text)], help=sides)
    add("--cluster", help="column of images that belong together, such as video")
    add("--frames", type=place, help="folder of the images, so that boxes are drawn on them")
    add("--draws", type=int, help="how often groups are dealt by chance")
    add("--resamples", type=int, help="bootstrap resamples of images")
    add("--seed", type=int)
    add("--output", help="folder below outputs/; audit/ and both files unless named")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the notebook on what the command line names."""
    values = {k: v for k, v in vars(parser().parse_args(arguments)).items() if v is not None}
    if len({"labels", "predictions"} & set(values)) == 1:
        raise SystemExit("audit: a detector needs --labels FILE and --predictions FILE, both")
    files = [Path(values[name]) for name in ("labels", "predictions") if name in values]
    parts = [part for path in files for part in (path.parent.name, path.name.split(".")[0])]
    form.run(NOTEBOOK, "-".join(dict.fromkeys(parts)) or "street", values)
