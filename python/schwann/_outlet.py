"""Sending."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _schwann
from ._checked import checked_count, checked_number, checked_string, checked_text, checked_timeout
from ._closing import Closing
from ._errors import ArgumentError
from ._info import DTYPES, Channel, Format, Metadata, StreamInfo, described


class Receiver(NamedTuple):
    """A receiver of a stream."""

    name: str
    """The device's name if it has proven one, and its address or its process."""
    lost: int
    """Samples that it was too slow to take."""
    waiting_bytes: int
    """Bytes that wait for it."""
    lag: float
    """Seconds by which its program is behind, as it said; 0 if it keeps up or says nothing. Only Schwann's receivers say it."""
    skipped: int
    """Samples that it took and that its program will not get."""


class Outlet(Closing):
    """A stream that others can receive, from the moment it is made until it is closed.

    Any thread may push. A push does not wait for receivers. What a receiver does not take in time is kept for it, up to
    `buffer` seconds of samples, oldest dropped first.
    """

    _called = "An outlet"

    def __init__(
        self,
        name: str,
        type: str = "",
        channels: int | Sequence[str | Channel] = 1,
        *,
        rate: float = 0.0,
        format: Format | None = None,
        unit: str | Sequence[str] = "",
        source_id: str | None = None,
        metadata: Metadata | None = None,
        chunk: int = 0,
        buffer: int = 360,
    ) -> None:
        """Makes the stream known.

        - `channels` is their number, or their labels.
        - `rate` in Hz; 0 for samples that come at any time.
        - `format` of the values; without one `float32`, and `string` for the types `Markers` and `Events`.
        - `unit` of the values, such as `µV`: one for all channels, or one for each.
        - `source_id` tells the source from others and must stay when the program restarts: receivers find the stream
          again by it. Without one, it is made of the other arguments, this computer's name, and the program's path and
          arguments. Give each a source id if several copies run with equal arguments, or one program makes equal
          outlets: receivers of one may go on with another. An empty one says that there is none.
        - `metadata` goes into the description: texts, numbers, and dicts or lists of them.
        - `chunk`: samples that are sent at a time; 0 sends each push at once. Fewer wait for more of them, for `flush`
          or for `close`, unless a receiver asks for shorter chunks.

        Raises ArgumentError for arguments that no stream can have.
        """
        super().__init__()
        for what, text in (("The name", name), ("The type", type), ("The source id", "" if source_id is None else source_id)):
            checked_text(text, what)
        rate = checked_number(rate, "The rate")
        if isinstance(channels, (int, np.integer)):
            channels = checked_count(channels, "The number of channels")
        table = _channel_table(channels, unit, type)
        count = channels if isinstance(channels, int) else len(table)
        if not math.isfinite(rate) or rate < 0:
            raise ArgumentError(f"The rate {rate} is none: give samples per second, or 0 if they come at any time.")
        if count < 1:
            raise ArgumentError("A stream needs at least one channel.")
        self._format: Format = _format_of(format, type)
        if source_id is None:
            source_id = _made_source_id(name, type, str(count), repr(rate), self._format)
        chunk, buffer = checked_count(chunk, "A chunk's length"), checked_count(buffer, "The length of the buffer")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise ArgumentError("Metadata are a dict: its keys name what its values say.")
        native = _schwann.Info(name, type, count, rate, self._format, source_id)
        self._native = _schwann.Outlet(described(native, table, metadata or {}), chunk, buffer)
        self._later = chunk > 0
        self._channel_count = count
        self._dtype = DTYPES[self._format]

    def push(self, data: Any, times: float | ArrayLike | None = None) -> None:
        """Sends one sample or many.

        A row is a sample. An array of samples × channels sends many; a plain list of one value per channel sends one.
        With one channel a single value is a sample, and an array of one dimension is many. Contiguous arrays of numbers
        of any type are sent without a copy; receivers get the stream's format. Streams of integers take whole numbers
        within their range. Streams of strings take strings, and of any other value its JSON.

        `times` are in seconds on `local_clock()`: one per sample, or that of the last. Without them it is now; the other
        samples of a chunk precede it at the stream's rate. LSL has no times 0.0 and -1.0.

        Raises ArgumentError for a shape or a type that does not fit, and sends nothing then.
        """
        if self._format == "string":
            self._push_strings(data, times)
        else:
            self._push_numbers(data, times)

    def _push_numbers(self, data: Any, times: float | ArrayLike | None) -> None:
        values = _as_numbers(data, self._dtype)
        if values.ndim < 2 and values.size == self._channel_count:
            self._native.push_sample(values, one_time(times), self._later)
            return
        rows = values.reshape(-1, 1) if values.ndim == 1 and self._channel_count == 1 else values
        self._check_shape(rows.shape)
        if times is None or np.ndim(times) == 0:
            self._native.push_chunk(rows, one_time(times), self._later)
        else:
            self._native.push_stamped(rows, _many_times(times, len(rows)), self._later)

    def _push_strings(self, data: Any, times: float | ArrayLike | None) -> None:
        if isinstance(data, np.ndarray) and data.ndim == 0:
            raise ArgumentError("An array without a dimension is neither a sample nor many: give its value, .item().")
        entries = list(data) if isinstance(data, _ROWS) else [data]
        if not any(isinstance(entry, _ROWS) for entry in entries) and len(entries) == self._channel_count:
            self._native.push_strings([as_text(value) for value in entries], one_time(times), self._later)
            return
        rows = [[entry] if self._channel_count == 1 and not isinstance(entry, _ROWS) else entry for entry in entries]
        for row in rows:
            self._check_shape((len(rows), len(row)) if isinstance(row, _ROWS) else (len(rows),))
        texts = [as_text(value) for row in rows for value in row]
        if times is None or np.ndim(times) == 0:
            self._native.push_string_chunk(texts, one_time(times), self._later)
        else:
            self._native.push_stamped_strings(texts, _many_times(times, len(rows)), self._later)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        count = self._channel_count
        if len(shape) == 2 and shape[1] == count:
            return
        hint = "; rows are samples: transpose it with .T" if len(shape) == 2 and shape[0] == count else ""
        raise ArgumentError(f"The data have the shape {shape}, and the stream takes (samples, {count}) or ({count},){hint}.")

    def wait_for_consumers(self, count: int = 1, timeout: float | None = None) -> bool:
        """Waits until `count` receivers are connected, and says whether they are."""
        return self._native.wait_for_consumers(checked_count(count, "The number of receivers"), checked_timeout(timeout))

    def flush(self, timeout: float | None = 5.0) -> None:
        """Sends what waits for a chunk to be full, and waits until the system has taken every sample for every receiver.

        Raises TimedOutError; nothing is lost then.
        """
        self._native.flush(checked_timeout(timeout))

    @property
    def info(self) -> StreamInfo:
        """The description as it is on the network."""
        return StreamInfo(self._native.info(), is_whole=True)

    @property
    def consumers(self) -> int:
        """How many receivers are connected."""
        return self._native.consumer_count

    @property
    def receivers(self) -> list[Receiver]:
        """The connected receivers, and the slow ones."""
        return [Receiver(*one) for one in self._native.consumers()]

    @property
    def backlog(self) -> int:
        """Bytes that wait for receivers that lag."""
        return self._native.buffered_bytes

    @property
    def lost(self) -> int:
        """Samples that some receiver was too slow for."""
        return self._native.dropped_samples

    @property
    def closed(self) -> bool:
        """Whether the outlet was closed."""
        return self._native.is_closed

    def close(self) -> None:
        """Sends what is pending, and ends the stream and the waits of other threads. More than once does nothing."""
        self._native.close()

    def __repr__(self) -> str:
        return "<Outlet closed>" if self.closed else f"<Outlet {self.info.name}, {self.consumers} consumers>"


def _made_source_id(*described: str) -> str:
    """An id that this program makes again when it restarts, and others do not make."""
    program, *arguments = sys.argv or [""]
    made_of = "\0".join((*described, platform.node(), os.path.abspath(program), *arguments))
    # A path may be no text.
    return hashlib.blake2s(made_of.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _channel_table(channels: int | Sequence[str | Channel], unit: str | Sequence[str], kind: str) -> list[Channel]:
    """The channels as the description lists them; none if there is nothing to say of them."""
    if isinstance(channels, str):
        raise ArgumentError(f"Channels are a number or a list of labels: [{channels!r}].")
    if not isinstance(channels, (int, Iterable)):
        raise ArgumentError(f"Channels are a number, an int, or a list of labels, not {channels!r}.")
    if not isinstance(unit, Iterable):
        raise ArgumentError(f"Units are a text or a list with one for each channel, not {unit!r}.")
    if isinstance(channels, int) and not unit:
        return []
    table = [Channel("")] * channels if isinstance(channels, int) else [_channel(one) for one in channels]
    units = [unit] * len(table) if isinstance(unit, str) else list(unit)
    if len(units) != len(table):
        raise ArgumentError(f"There are {len(table)} channels and {len(units)} units: give one unit, or one for each.")
    return [Channel(one.label, one.unit or own, one.type or kind) for one, own in zip(table, units)]


def _format_of(format: Any, kind: str) -> Format:
    if format is None:
        return "string" if kind in ("Markers", "Events") else "float32"
    if not isinstance(format, str) or format not in DTYPES:
        raise ArgumentError(f"There is no format {format!r}: use one of {', '.join(map(repr, DTYPES))}.")
    return format  # type: ignore[return-value]


def _channel(one: str | Channel) -> Channel:
    return one if isinstance(one, Channel) else Channel(str(one))


def _as_numbers(data: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The data as a contiguous array of a type that streams have; the same memory if it is one."""
    # Most pushes have the stream's own type, and there is nothing to look at.
    values = data if type(data) is np.ndarray and data.dtype == dtype else _converted(data, dtype)
    return np.require(values, requirements=("C", "A"))


def _converted(data: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    is_array, is_integer = isinstance(data, np.ndarray), dtype.kind == "i"
    if is_array and isinstance(data, np.ma.MaskedArray):
        raise ArgumentError("A masked array hides values, and a stream cannot: put others in their place with .filled().")
    try:
        values = data if is_array else np.asarray(data, None if is_integer else dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise ArgumentError(f"The data are no numbers of the stream's format {dtype}: {error}.") from None
    if is_integer and not np.can_cast(values.dtype, dtype):
        _check_integers(values, dtype)
        values = values if is_array else values.astype(dtype)
    if values.dtype not in _NUMBERS:
        wider = _WIDER.get(values.dtype.newbyteorder("=").str[1:])
        if wider is None and values.dtype.newbyteorder("=") not in _NUMBERS:
            raise ArgumentError(f"Streams of numbers do not take {values.dtype}: convert the array with .astype().")
        values = values.astype(wider or values.dtype.newbyteorder("="))
    return values


def _check_integers(values: NDArray[Any], dtype: np.dtype[Any]) -> None:
    """Raises ArgumentError for values that would arrive as others in a stream of integers."""
    if values.dtype.kind not in "iuf":
        raise ArgumentError(f"The data are of the type {values.dtype}, and the stream takes {dtype}: convert each value with int().")
    if values.dtype.kind != "f":
        is_same = (values.astype(dtype) == values).all()
    else:
        limits = np.iinfo(dtype)
        # Python compares numbers of all types exactly. NaN is within no limits.
        is_within = values.size == 0 or (limits.min <= values.min().item() and values.max().item() <= limits.max)
        is_same = is_within and (values == np.trunc(values)).all()
    if not is_same:
        range = f"whole numbers from {np.iinfo(dtype).min} to {np.iinfo(dtype).max}"
        raise ArgumentError(f"A stream of {dtype} takes {range}: round, clip or scale the data, or choose another format.")


_NUMBERS = frozenset(dtype for name, dtype in DTYPES.items() if name != "string")
_WIDER = {"b1": np.int8, "u1": np.int16, "u2": np.int32, "u4": np.int64, "f2": np.float32}


_ROWS = (list, tuple, np.ndarray)
"""A container for the values of one sample. A marker that is a list goes into a list of its own: `push([[1, 2]])` is two
values."""


def as_text(value: Any) -> str:
    """A string as it is, and the JSON of any other value."""
    if isinstance(value, str):
        return checked_string(value, "The marker")
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"The marker is neither a string nor a value that JSON has: {error}.") from None
    return checked_string(text, "The marker")


def one_time(times: float | ArrayLike | None) -> float:
    """The time of one sample, in seconds as the engine takes it: 0 for now."""
    if times is None:
        return 0.0
    time = _as_times(times)
    if time.size != 1 or not np.isfinite(time).all():
        raise ArgumentError(f"One sample takes one finite time in seconds, not {times!r}.")
    return float(time.reshape(-1)[0])


def _as_times(times: float | ArrayLike) -> NDArray[np.float64]:
    try:
        given = np.asarray(times)
        # numpy would read texts as numbers.
        array = given.astype(np.float64, copy=False) if given.dtype.kind in "iuf" or given.size == 0 else None
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"Times are numbers of seconds on local_clock(): {error}.") from None
    if array is None:
        raise ArgumentError(f"Times are numbers of seconds on local_clock(), and not {times!r}.")
    # The engine would put other times in their place, as liblsl does.
    if np.any((array == 0.0) | (array == -1.0)):
        raise ArgumentError("0.0 and -1.0 stand for no time in LSL: leave the time out if it is now.")
    return array


def _many_times(times: ArrayLike, count: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(_as_times(times))
    if array.shape != (count,) or not np.isfinite(array).all():
        raise ArgumentError(f"{count} samples take {count} finite times in seconds, or one, that of the last.")
    return array
