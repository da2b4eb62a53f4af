"""The first page of the book, by ``book/front.yml``: what was found, the papers, the lessons."""

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
    """The page as Markdown; notebooks that `failed` are linked where solutions may be read."""
    say = yaml.safe_load((BOOK / "front.yml").read_text())
    rows = findings.fillna({"of": ""}).to_dict("records")
    judged = {(row["id"], row["of"]): row for row in rows}
    counts: dict[str, Counter] = {}
    for row in rows:
        look = words.LOOKS.get(row["verdict"], words.NOT_COUNTED)  # of a run with other words
        counts.setdefault(row["where"].split(",")[0], Counter())[look] += 1
    pictured = {chapter["name"]: chapter["pictures"] for chapter in chapters}
    says = {name: _says(paper["says"], judged) for name, paper in say["papers"].items()}
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
    lessons, or of what a run `judged`."""
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


def _says(entries: Iterable[Mapping], judged: Mapping) -> str:
    """What the numbers of a paper's claims say, each with the verdict on what the paper says."""
    texts = []
    for one in entries:
        if row := judged.get(tuple(one["claim"])):
            counted = row["where"] != claims.OURS and row["verdict"] in words.COUNTED
            verdict = f" (*{row['verdict']}*)" if counted else ""
            texts.append(f"{one['text'].format(words.ours(row), words.unit(row))}{verdict}.")
    return " ".join(texts)
