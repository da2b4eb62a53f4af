"""The first page of the book: what was done and found, with the numbers of the run; the papers,
their verdicts as a chart, and the lessons. ``book/front.yml`` says which claims stand for them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import yaml
from IPython.display import Markdown

from helpers.suite import claims, notebooks, words

BOOK = Path(__file__).parent / "book"  # its settings, templates, style and script


def page(
    findings: pd.DataFrame, chapters: Sequence[Mapping], failed: Mapping, *, solved: bool
) -> str:
    """The page as Markdown, of the `findings` and the lessons' `chapters`; notebooks that `failed`
    are named with their error, and linked where solutions may be read (`solved`)."""
    say = yaml.safe_load((BOOK / "front.yml").read_text())
    rows = findings.fillna({"of": ""}).to_dict("records")
    judged = {(row["id"], row["of"]): row for row in rows}
    counts: dict[str, Counter] = {}
    for row in rows:
        counts.setdefault(row["where"].split(",")[0], Counter())[_look(row)] += 1
    pictured = {chapter["name"]: chapter["pictures"] for chapter in chapters}
    says = {name: _says(_known(paper["says"], judged)) for name, paper in say["papers"].items()}
    return words.TEMPLATES.get_template("book/index.md.jinja").render(
        sentence=words.markdown,
        three=three(judged).data,
        says=says,
        large=pictured.get(say["picture"]["lesson"], {}).get(say["picture"]["figure"]),
        picture_of=say["picture"],
        papers=say["papers"],
        counts=counts,
        looks=dict.fromkeys(words.LOOKS.values()),
        legend=words.LOOKS,
        chapters=chapters,
        failed=failed,
        solved=solved,
    )


def three(judged: Mapping | None = None) -> Markdown:
    """What README, 00 and the book begin with: three findings, with the numbers of the stored
    lessons, or of the rows that a run judged, by claim, as far as it did."""
    say, lines = yaml.safe_load((BOOK / "front.yml").read_text())["three"], []
    if judged is None:
        stored = notebooks.findings(notebooks.NOTEBOOKS / f"{one['lesson']}.ipynb" for one in say)
        judged = {(row["id"], row["of"]): row for row in stored.to_dict("records")}
    for one in say:
        rows = [judged.get(tuple(claim)) for claim in one["claims"]]
        if all(rows):
            text = one["text"].format(*(row["measured"] for row in rows))
            lines.append(f"- {text} ([{one['lesson'].split('_')[0]}]({one['lesson']}.ipynb))")
    return Markdown("\n".join(lines))


def _look(row: Mapping) -> tuple[str, str]:
    return words.LOOKS.get(row["verdict"], words.NOT_COUNTED)  # of a run with other words


def _known(entries: Iterable[Mapping], judged: Mapping) -> list[dict]:
    """The entries whose claim the run judged, with its row."""
    claimed = [(one, judged.get(tuple(one["claim"]))) for one in entries]
    return [{**one, **row} for one, row in claimed if row]


def _says(entries: Iterable[Mapping]) -> str:
    """What the numbers of a paper's claims say, each with the verdict on what the paper says."""
    texts = []
    for one in entries:
        judged = one["where"] != claims.OURS and one["verdict"] in words.COUNTED
        verdict = f" (*{one['verdict']}*)" if judged else ""
        texts.append(f"{one['text'].format(words.ours(one), words.unit(one))}{verdict}.")
    return " ".join(texts)
