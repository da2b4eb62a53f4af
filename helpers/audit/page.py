"""The page that an audit leaves: a headline, then sections of sentences, pictures and tables."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import pandas as pd


@dataclass(frozen=True)
class Section:
    """A heading, sentences below it, pictures (PNG files, each with what it shows), and a table
    with a sentence of what its columns are."""

    heading: str
    sentences: Sequence[str] = ()
    pictures: Sequence[tuple[Path, str]] = ()
    table: pd.DataFrame | None = None
    note: str = ""


def made(title: str, headline: str, below: Sequence[str], sections: Sequence[Section]) -> str:
    """The page as one HTML file that needs no other; `below` the headline stand few sentences."""
    folder = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=folder, trim_blocks=True, autoescape=True)
    environment.filters |= {"data": _data, "cell": _cell}
    given = {"title": title, "headline": headline, "below": below, "sections": sections}
    return environment.get_template("page.html.jinja").render(**given)


def _data(picture: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()


def _cell(value) -> str:
    """A value of a table as a person reads it: three digits, and nothing where there is none."""
    if pd.isna(value):
        return ""
    return f"{value:,.3g}" if isinstance(value, float) and abs(value) < 1000 else str(value)
