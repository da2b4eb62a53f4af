"""Progress as a line of text, which disappears when the work is done."""

import sys
from collections.abc import Iterable

from tqdm import tqdm


def progress(iterable: Iterable | None = None, **options) -> tqdm:
    """A bar of tqdm's with its `options` on standard output; none where ``TQDM_DISABLE`` is set."""
    return tqdm(iterable, file=sys.stdout, leave=False, ncols=80, **options)
