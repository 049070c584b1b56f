"""A set of 64-bit numbers for tens of millions of members: 8 bytes each, where Python's own takes a hundred."""

import numpy as np
from numpy.typing import NDArray

_FEWEST = 100_000


class Seen:
    """Numbers that were seen: a sorted array, and the newest in a set until they are worth sorting in."""

    def __init__(self) -> None:
        self._sorted: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._new: set[int] = set()

    def __contains__(self, number: int) -> bool:
        if number in self._new:
            return True
        place = int(np.searchsorted(self._sorted, np.uint64(number)))
        return place < self._sorted.size and int(self._sorted[place]) == number

    def add(self, number: int) -> None:
        """Add one number."""
        self._new.add(number)
        if len(self._new) > max(_FEWEST, self._sorted.size // 20):
            self._merge(np.fromiter(self._new, dtype=np.uint64))
            self._new.clear()

    def update(self, numbers: NDArray[np.uint64]) -> None:
        """Add many numbers."""
        for number in numbers.tolist():
            self.add(number)

    def _merge(self, numbers: NDArray[np.uint64]) -> None:
        self._sorted = np.union1d(self._sorted, numbers)
