"""Compare names, and suggest known names for unknown ones."""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

NAMES_SHOWN = 20


def listed(names: Iterable[object]) -> str:
    """Join the first 20 names for a sentence, and count the others."""
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:NAMES_SHOWN])
    if len(texts) > NAMES_SHOWN:
        return f"{shown} and {len(texts) - NAMES_SHOWN} more"
    return shown


def plain(name: str) -> str:
    """Return a name in lower case, with one space for blanks, "_" and "-"."""
    composed = unicodedata.normalize("NFC", name)
    return re.sub(r"[\s_\-]+", " ", composed).strip().casefold()


def places_of(name: str, texts: Sequence[str]) -> list[int]:
    """List the places of a name in texts, which may be several names with commas."""
    places = []
    for place, text in enumerate(texts):
        if plain(name) in [plain(part) for part in text.split(",")]:
            places.append(place)
    return places


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Suggest what an unknown name may have meant.

    Parameters
    ----------
    name : object
        The name that is not known.
    known : iterable of str
        All known names.

    Returns
    -------
    str
        One or two sentences, such as "Did you mean 'seed'? Known: seed, output."
    """
    names = list(known)
    if not names:
        return "None is known here."
    known_names = f"Known: {', '.join(names)}."
    nearest = difflib.get_close_matches(str(name), names, n=1)
    if nearest:
        return f"Did you mean {nearest[0]!r}? {known_names}"
    return known_names


def refuse_unknown_keys(kind: type, values: Mapping[str, object], *hidden: str) -> None:
    """Raise a ValueError if a mapping has a key that is not a field of a dataclass.

    Parameters
    ----------
    kind : type
        The dataclass.
    values : mapping
    *hidden : str
        Fields that cannot be given.
    """
    known = [item.name for item in fields(kind) if item.name not in hidden]
    for key in values:
        if key not in known:
            raise ValueError(f"There is no key {key!r}. {did_you_mean(key, known)}")
