"""Progress bars that a run without a reader can switch off.

In a notebook tqdm ignores its own ``TQDM_DISABLE`` (it sets ``disable`` itself), so stored outputs
and their tests would hold a bar where a model was trained and none where it was found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from tqdm.auto import tqdm


def progress(iterable: Iterable | None = None, **options) -> tqdm:
    """A bar of tqdm's, for notebook or terminal; none where ``TQDM_DISABLE`` is set.

    Parameters
    ----------
    iterable
        What is gone through; None for a bar that is updated by hand.
    **options
        tqdm's own: `desc`, `total`, `unit`, `delay` ...
    """
    silent = os.environ.get("TQDM_DISABLE", "0") not in ("", "0")
    return tqdm(iterable, disable=silent, leave=False, **options)
