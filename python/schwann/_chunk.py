"""Some samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._plot import plot


@dataclass(slots=True)
class Chunk:
    """Samples in the order they were sent."""

    data: NDArray[Any]
    """Samples × channels, one row per sample, in the stream's format; objects, each a str, for strings.

    The memory is the chunk's own: numbers are copied into it once, out of the inlet's buffer, and no later pull changes them. If
    fewer samples came than were asked for, it is the first rows of an array with room for all."""
    times: NDArray[np.float64]
    """One per row, in seconds on this computer's clock, or on the sender's if the stream was opened so."""

    def __len__(self) -> int:
        return len(self.times)

    def _repr_html_(self) -> str:
        return plot(self.data, self.times)
