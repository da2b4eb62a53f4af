"""Progress as a line of text, which disappears when the work is done."""

import sys
from collections.abc import Iterable

from tqdm import tqdm


def progress(iterable: Iterable | None = None, **options) -> tqdm:
    """A bar of tqdm's on standard output; none where ``TQDM_DISABLE`` is set.

    Parameters
    ----------
    iterable
        What is gone through; None for a bar that is updated by hand.
    **options
        tqdm's own: `desc`, `total`, `unit`, `delay` ...
    """
    return tqdm(iterable, file=sys.stdout, leave=False, ncols=80, **options)
