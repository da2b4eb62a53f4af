"""Exchanging labels between rows that are not independent: those of an image, a video, a place.

Single rows exchanged at random would give too narrow a permutation null.
"""

import numpy as np

ALIKE = 20  # clusters of about one size, at least, among which labels are exchanged


class Clusters:
    """Rows in clusters, made ready to exchange labels again and again."""

    def __init__(self, cluster: np.ndarray) -> None:
        _, self.number, self.size = np.unique(cluster, return_inverse=True, return_counts=True)
        self.order = np.argsort(self.number, kind="stable")
        self.start = np.cumsum(self.size) - self.size
        self.owner = self.number[self.order]
        self.middle = np.arange(len(self.order)) - self.start[self.owner] + 0.5
        self.alike = _alike(self.size)

    def between(self, rng: np.random.Generator) -> np.ndarray:
        """Each cluster takes the labels of one of nearly its size, stretched or squeezed to fit:
        for each row, the place of that it takes from.
        """
        donor = np.arange(len(self.size))
        for alike in self.alike:
            donor[alike] = rng.permutation(alike)
        stretch = self.size[donor] / self.size
        taken = (self.middle * stretch[self.owner]).astype(np.int64)
        taken += self.start[donor][self.owner]
        source = np.empty(len(self.order), np.int64)
        source[self.order] = self.order[taken]
        return source

    def within(self, rng: np.random.Generator) -> np.ndarray:
        """Rows exchange labels inside of each cluster: the place of the row each takes from."""
        source = np.empty(len(self.order), np.int64)
        source[self.order] = np.lexsort((rng.random(len(self.order)), self.number))
        return source

    def constant(self, labels: np.ndarray) -> bool:
        """Whether every cluster has one label, so that nothing can be exchanged inside of it."""
        return bool((labels == labels[self.order[self.start]][self.number]).all())


def _alike(size: np.ndarray) -> list[np.ndarray]:
    """Clusters of the same size together; neighbouring sizes join until there are `ALIKE`."""
    by_size = np.argsort(size, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(size[by_size])) + 1, len(size))
    cuts = [0]
    for end in ends:
        if end - cuts[-1] >= ALIKE and len(size) - end >= ALIKE:
            cuts.append(int(end))
    return np.split(by_size, cuts[1:])
