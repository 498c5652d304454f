"""Sending."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _schwann
from .._errors import Error
from .info import StreamInfo, native
from .lib import fmt2npdtype, fmt2type
from .util import translated


class StreamOutlet:
    """A stream that others can receive until this object is gone."""

    def __init__(
        self, info: StreamInfo, chunk_size: int = 0, max_buffered: int = 360, transport_flags: int = 0
    ) -> None:
        """Makes the stream known.

        `chunk_size` samples are sent at a time, 0 as they are pushed. For a lagging receiver, `max_buffered` seconds of
        samples are kept. The `transport_flags`, `transp_*`, may give that number another meaning.
        """
        try:
            self.obj = _schwann.Outlet(native(info), max(chunk_size, 0), max_buffered, transport_flags)
        except (Error, OverflowError) as error:
            raise RuntimeError(f"could not create stream outlet: {error}") from None
        self.channel_format = info.channel_format()
        self.channel_count = info.channel_count()
        self.value_type = fmt2type[self.channel_format]
        self.np_dtype = fmt2npdtype[self.channel_format]
        self.sample_type = self.value_type * self.channel_count

    def __del__(self) -> None:
        outlet = getattr(self, "obj", None)
        if outlet is not None:
            outlet.close()

    def push_sample(self, x: Sequence[Any], timestamp: float = 0.0, pushthrough: bool = True) -> None:
        """Sends one sample, a value per channel; without a timestamp, in seconds on `local_clock()`, it is of now.

        Without `pushthrough` it waits for a later push.
        """
        if len(x) != self.channel_count:
            raise ValueError(f"length of the sample ({len(x)}) must correspond to the stream's channel count ({self.channel_count}).")
        try:
            if self.np_dtype is None:
                self.obj.push_strings([_as_text(value) for value in x], timestamp, not pushthrough)
            else:
                self.obj.push_sample(_sample(x, self.np_dtype), timestamp, not pushthrough)
        except Error as error:
            raise translated(error) from None

    def push_chunk(self, x: Any, timestamp: float | Iterable[float] = 0.0, pushthrough: bool = True) -> None:
        """Sends many samples: an array or a list of them, or their values one after the other.

        `timestamp` is that of the last sample, or there is one for each.
        """
        stamps = _stamps(timestamp)
        if len(x) == 0:
            return
        try:
            if self.np_dtype is None:
                self._push_texts(x, stamps, not pushthrough)
            else:
                self._push_numbers(x, self.np_dtype, stamps, not pushthrough)
        except Error as error:
            raise translated(error) from None

    def _push_numbers(self, x: Any, dtype: np.dtype[Any], stamps: float | NDArray[np.float64], later: bool) -> None:
        values = np.ascontiguousarray(x, dtype)
        if values.size == 0:
            return
        if values.size % self.channel_count or (values.ndim == 2 and values.shape[1] != self.channel_count):
            raise ValueError(f"Each sample must have the same number of channels ({self.channel_count}).")
        rows = values.reshape(-1, self.channel_count)
        if not isinstance(stamps, np.ndarray):
            self.obj.push_chunk(rows, stamps, later)
        else:
            self.obj.push_stamped(rows, stamps, later)

    def _push_texts(self, x: Any, stamps: float | NDArray[np.float64], later: bool) -> None:
        values = [value for sample in x for value in sample] if isinstance(x[0], list) else list(x)
        if len(values) % self.channel_count:
            raise ValueError(f"Each sample must have the same number of channels ({self.channel_count}).")
        texts = [_as_text(value) for value in values]
        if not isinstance(stamps, np.ndarray):
            self.obj.push_string_chunk(texts, stamps, later)
        else:
            self.obj.push_stamped_strings(texts, stamps, later)

    def have_consumers(self) -> bool:
        """Whether the stream has a receiver."""
        return self.obj.consumer_count > 0

    def wait_for_consumers(self, timeout: float) -> bool:
        """Waits for so many seconds until the stream has a receiver; returns whether it has one."""
        return self.obj.wait_for_consumers(1, timeout)

    def get_info(self) -> StreamInfo:
        """The description as it is on the network."""
        return StreamInfo(handle=self.obj.info())


def _as_text(value: Any) -> str | bytes:
    return value if isinstance(value, str) else bytes(value)


def _sample(x: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values as C would take them: integers wrap, and no value becomes one of another kind."""
    if isinstance(x, np.ndarray) and x.dtype == dtype:
        return np.ascontiguousarray(x)
    if dtype.kind == "i":
        return np.array([operator.index(value) & _ALL for value in x], np.uint64).astype(dtype)
    values = np.asarray(x)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"must be real numbers, not {values.dtype}")
    return np.ascontiguousarray(values, dtype)


_ALL = 2**64 - 1


def _stamps(timestamp: float | Iterable[float]) -> float | NDArray[np.float64]:
    try:
        return float(timestamp)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    try:
        return np.fromiter(timestamp, np.float64)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError("timestamp must be a float or an iterable of floats") from None
