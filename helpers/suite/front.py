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
DID = {words.RIGHT: "found them", words.WRONG: "did not find them"}
LEFT_OPEN = "left it open"


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
        ways=_ways(_known(say["ways"], judged)),
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


def three() -> Markdown:
    """Three findings with the numbers of the stored lessons: what README and 00 begin with."""
    say = yaml.safe_load((BOOK / "front.yml").read_text())["three"]
    paths = [notebooks.NOTEBOOKS / f"{one['lesson']}.ipynb" for one in say]
    judged = notebooks.findings(paths).set_index(["id", "of"])["measured"]
    texts = [one["text"].format(*(judged[tuple(its)] for its in one["claims"])) for one in say]
    links = [f"([{path.stem.split('_')[0]}]({path.name}))" for path in paths]
    return Markdown("\n".join(f"- {text} {link}" for text, link in zip(texts, links, strict=True)))


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


def _ways(entries: Iterable[Mapping]) -> list[str]:
    """What the ways of looking did, those of one verdict together."""
    did: dict[str, list] = {}
    for one in entries:
        text = f"{one['way']} ({one['number'].format(one['measured'])})"
        does = one.get("told") if _look(one) == words.NOT_COUNTED else DID.get(_look(one))
        did.setdefault(does or LEFT_OPEN, []).append(text)
    return [f"{' and '.join(texts)} {does}" for does, texts in did.items()]
