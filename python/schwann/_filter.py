"""Filtering while samples come."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _schwann
from ._checked import checked_count, checked_number
from ._errors import ArgumentError

if TYPE_CHECKING:
    from ._stream import Stream


class Filter:
    """A causal filter of second-order sections that goes on from chunk to chunk; other threads run meanwhile.

    One filter serves one stream: it remembers what came before.
    """

    def __init__(self, sections: ArrayLike, channels: int) -> None:
        """Makes a filter at rest. `sections` are as `scipy.signal` designs them (`output="sos"`): rows of b0, b1, b2, a0, a1, a2.

        Raises ArgumentError for other shapes.
        """
        try:
            rows = np.asarray(sections, np.float64)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f'Sections are numbers of the shape (sections, 6): design them with output="sos" ({error}).') from None
        if rows.ndim != 2 or rows.shape[1] != 6:
            raise ArgumentError(f'Sections have the shape (sections, 6), not {rows.shape}: design them with output="sos".')
        channels = checked_count(channels, "The number of channels", 1)
        self._native = _schwann.Filter(rows.tolist(), channels)
        self._channels = channels
        self._stream: weakref.ref[Stream] | None = None

    @property
    def channels(self) -> int:
        """How many channels it filters."""
        return self._channels

    @classmethod
    def highpass(cls, hertz: float, rate: float, channels: int) -> Filter:
        """A Butterworth high-pass of second order; at `hertz` the amplitude is 0.71."""
        cosine, alpha = _designed(hertz, rate, math.sqrt(0.5))
        return cls([[(1 + cosine) / 2, -1 - cosine, (1 + cosine) / 2, 1 + alpha, -2 * cosine, 1 - alpha]], channels)

    @classmethod
    def lowpass(cls, hertz: float, rate: float, channels: int) -> Filter:
        """A Butterworth low-pass of second order; at `hertz` the amplitude is 0.71."""
        cosine, alpha = _designed(hertz, rate, math.sqrt(0.5))
        return cls([[(1 - cosine) / 2, 1 - cosine, (1 - cosine) / 2, 1 + alpha, -2 * cosine, 1 - alpha]], channels)

    @classmethod
    def notch(cls, hertz: float, rate: float, channels: int, quality: float = 30.0) -> Filter:
        """Removes `hertz`, such as the mains' 50; the notch is `hertz / quality` wide."""
        quality = checked_number(quality, "The quality")
        if not quality > 0 or not math.isfinite(quality):
            raise ArgumentError("The quality of a notch is a number above 0.")
        angle = 2 * math.pi * _checked(hertz, rate) / rate
        gain = 1 / (1 + math.tan(angle / quality / 2))
        cosine = math.cos(angle)
        return cls([[gain, -2 * gain * cosine, gain, 1.0, -2 * gain * cosine, 2 * gain - 1]], channels)

    def __call__(self, data: NDArray[Any]) -> NDArray[np.float64]:
        """Filters samples × channels; returns as many, as float64. Raises ArgumentError for another shape or for text."""
        if isinstance(data, np.ndarray) and np.iscomplexobj(data):
            raise ArgumentError("A filter takes real numbers: give each part, .real and .imag, to one of its own.")
        try:
            samples = np.ascontiguousarray(np.atleast_2d(np.asarray(data, np.float64)))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"A filter takes numbers: {error}.") from None
        if samples.ndim != 2 or samples.shape[1] != self._channels:
            raise ArgumentError(f"The data have the shape {samples.shape}, and the filter takes (samples, {self._channels}).")
        return self._native.apply(samples)

    def _serve(self, stream: Stream) -> None:
        """Takes note of the stream that it runs on. Raises ArgumentError if that is another one, which is open."""
        other = None if self._stream is None else self._stream()
        if other is not None and not other.closed:
            raise ArgumentError(f"The filter runs on {other!r}, and remembers its samples: make one filter for each place.")
        self._stream = weakref.ref(stream)

    def reset(self) -> None:
        """Forgets what came before, as after a gap."""
        self._native.reset()


def _checked(hertz: float, rate: float) -> float:
    hertz, rate = checked_number(hertz, "The frequency"), checked_number(rate, "The rate")
    if not 0 < hertz < rate / 2 or not math.isfinite(rate):
        raise ArgumentError(f"{hertz} Hz is not between 0 and half of the rate {rate} Hz.")
    return hertz


def _designed(hertz: float, rate: float, quality: float) -> tuple[float, float]:
    """Cosine and bandwidth of a section by the bilinear transform (Bristow-Johnson, Audio EQ Cookbook)."""
    angle = 2 * math.pi * _checked(hertz, rate) / rate
    return math.cos(angle), math.sin(angle) / (2 * quality)
