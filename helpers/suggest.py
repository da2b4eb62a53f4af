"""Suggest known names for unknown ones."""

import difflib
from collections.abc import Iterable


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
    listed = f"Known: {', '.join(names)}."
    nearest = difflib.get_close_matches(str(name), names, n=1)
    if nearest:
        return f"Did you mean {nearest[0]!r}? {listed}"
    return listed
