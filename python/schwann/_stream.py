"""Receiving."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from . import _schwann
from ._chunk import Chunk
from ._checked import checked_count, checked_number, checked_timeout
from ._chunks import Chunks
from ._closing import Closing
from ._errors import ArgumentError, TimedOutError
from ._filter import Filter
from ._info import StreamInfo, silence_of
from ._plot import plot


class ClockOffset(NamedTuple):
    """How far the sender's clock is from ours."""

    seconds: float
    """What to add to a time of the sender's clock to have it on ours."""
    bound: float
    """How wrong that can be, in seconds, either way."""


class Alarm(NamedTuple):
    """What is the matter with a stream, or that it is over."""

    event: Literal["behind", "caught up", "silent"]
    """`behind`: samples that wait are too old, or some were skipped. `silent`: none come, although the stream has a rate."""
    lag: float
    """How old the oldest sample is that waits, in seconds; when the stream is silent, how long ago one came."""
    skipped: int
    """Samples that this program will not get, since the stream was opened: `Stream.lost`."""


class Stream(Closing):
    """The receiving end of a stream; `StreamInfo.open` makes one.

    It keeps what arrives until it is pulled. Any thread may pull; samples go to the first that asks.
    """

    _called = "A stream"

    def __init__(
        self,
        info: StreamInfo,
        *,
        policy: Literal["complete", "latest"] = "complete",
        max_lag: float | None = None,
        clock: Literal["local", "sender"] = "local",
        dejitter: bool = False,
        monotone: bool = False,
        buffer: int = 360,
        recover: bool = True,
        filters: Sequence[Filter] = (),
        timeout: float | None = 5.0,
    ) -> None:
        """Connects, and returns once samples arrive from then on.

        - `policy`: `complete` delivers every sample, however late. `latest` passes over samples older than `max_lag`
          seconds (0.1 by default), so a slow program sees the present. They count as lost.
        - `clock`: whose clock times are on. On ours, the first pull waits until the sender's is known, about 0.7 s.
        - `dejitter` smooths the times of a stream with a rate; `monotone` lets them never go back.
        - `buffer`: seconds of samples that are kept between pulls; then the oldest are dropped and count as lost.
        - `recover`: whether a stream whose program went away is waited for; needs a source id.
        - `filters`: each runs on every chunk that is pulled, in this order; the data are float64 then. One that another
          open stream has is refused.

        Raises TimedOutError, LostError, ArgumentError, or UnsealedError with what to do.
        """
        super().__init__()
        if policy not in ("complete", "latest"):
            raise ArgumentError(f"There is no policy {policy!r}: use 'complete' or 'latest'.")
        if clock not in ("local", "sender"):
            raise ArgumentError(f"There is no clock {clock!r}: use 'local' or 'sender'.")
        if max_lag is not None and policy != "latest":
            raise ArgumentError("max_lag is only for the policy 'latest'.")
        max_lag = _checked_lag(0.1 if max_lag is None else max_lag)
        timeout = checked_timeout(timeout)
        buffer = checked_count(buffer, "The length of the buffer", 1)
        self._filters = _checked_filters(filters, info)
        self._info = info
        self._clock: Literal["local", "sender"] = clock
        self._newest: Chunk | None = None
        self._is_text = info.format == "string"
        self._native = _schwann.Inlet(info._native, buffer, recover)
        try:
            for one in self._filters:
                one._serve(self)
            self._native.set_post_processing((clock == "local") * 1 + dejitter * 2 + monotone * 4)
            if policy == "latest":
                self._native.set_max_lag(max_lag)
            self._native.open(timeout)
        except TimedOutError:
            self._native.close()
            raise silence_of(info, timeout) from None
        except BaseException:
            self._native.close()
            raise

    def pull(self, count: int | None = None, timeout: float | None = None) -> Chunk:
        """Takes `count` samples, waiting for them; without a count, what has arrived, waiting for the first.

        After `timeout` seconds it returns the samples that came, perhaps none.

        Raises LostError once nothing can come any more, ClosedError if the stream was closed.
        """
        if count is not None:
            count = checked_count(count, "The number of samples")
        timeout = checked_timeout(timeout)
        if self._is_text:
            texts, times = self._native.pull_strings(count, timeout)
            data = np.empty((len(times), self._info.channel_count), object)
            data.reshape(-1)[:] = [text.decode("utf-8", "replace") for text in texts]
            chunk = Chunk(data, times)
        else:
            data, times = self._native.pull(count, timeout)
            for one in self._filters:
                data = one(data)
            chunk = Chunk(data, times)
        if len(chunk):
            self._newest = chunk
        return chunk

    def chunks(self, seconds: float | None = None, count: int | None = None) -> Chunks:
        """The samples as they come, in chunks, until the stream is closed. `for` waits in this thread, `async for` in its
        loop.

        With `seconds`, which needs a stream with a rate, or `count`, all chunks have the same length. Without, each has
        what has arrived. Raises LostError once nothing can come any more.
        """
        return Chunks(self, self._length(seconds, count))

    def on_alarm(self, call: Callable[[Alarm], object] | None, max_lag: float = 1.0) -> None:
        """Has `call` called when this program falls behind by more than `max_lag` seconds, or the stream is silent for as
        long. It is called again when that is over. None ends that.

        A thread of its own calls it, whether the program pulls or not, and prints what it raises. Samples that were skipped count as behind.
        """
        if call is None:
            self._native.clear_alarm()
            return
        if not callable(call):
            raise ArgumentError(f"on_alarm takes a function to call, or None, and not {call!r}.")
        alarms = self._native.set_alarm(_checked_lag(max_lag))
        threading.Thread(target=_tell, args=(alarms, call), name="schwann-alarm", daemon=True).start()

    def _length(self, seconds: float | None, count: int | None) -> int | None:
        if seconds is None:
            return None if count is None else checked_count(count, "A chunk's length", 1)
        if count is not None:
            raise ArgumentError("A chunk's length is given in seconds or as a count, not as both.")
        seconds = checked_number(seconds, "A chunk's length")
        if not self._info.rate or not seconds > 0:
            raise ArgumentError("Chunks of a length in seconds need a stream with a rate and a length above 0: use count.")
        return checked_count(round(min(max(1.0, seconds * self._info.rate), 2.0**31)), "A chunk's length in samples", 1)

    def flush(self) -> int:
        """Drops what has arrived, and returns how many samples that were."""
        return self._native.flush()

    def events(self) -> list[str]:
        """What happened to the connection since this was last asked, oldest first.

        `connected`, `recovering`, `lost`, `clock reset`, `refused`, `other device`, `behind`, `caught up`, and with an alarm `silent`.
        """
        return self._native.events()

    def clock_offset(self, timeout: float | None = 5.0) -> ClockOffset:
        """How far the sender's clock is from ours. The first call measures for about 0.7 s. Raises TimedOutError, LostError."""
        offset, round_trip = self._native.clock_offset(checked_timeout(timeout))
        return ClockOffset(offset, round_trip / 2)

    @property
    def info(self) -> StreamInfo:
        """The stream's description."""
        return self._info

    @property
    def clock(self) -> Literal["local", "sender"]:
        """The clock of the times."""
        return self._clock

    @property
    def lag(self) -> float | None:
        """How old the newest pulled sample is, in seconds; None until one was pulled and the sender's clock is known."""
        return self._native.lag

    @property
    def lost(self) -> int:
        """Samples that arrived and were dropped: the buffer was full, or they were too late for the policy `latest`."""
        return self._native.dropped_samples

    @property
    def waiting(self) -> int:
        """Samples that a pull would find."""
        return self._native.samples_available

    @property
    def sealed(self) -> bool | None:
        """Whether only members of the lab can read what travels; None while there is no connection."""
        return self._native.is_sealed

    @property
    def peer(self) -> str | None:
        """The name of the sending device, as the lab's authority says; None if the connection is not sealed."""
        return self._native.peer

    @property
    def refusal(self) -> str | None:
        """Why there is no sealed connection, and the command that mends it; None if nothing is wrong."""
        return self._native.refusal

    @property
    def closed(self) -> bool:
        """Whether the stream was closed here."""
        return self._native.is_closed

    def close(self) -> None:
        """Disconnects, and ends the waits of other threads with ClosedError. More than once does nothing."""
        self._native.close()

    def _repr_html_(self) -> str:
        newest = self._newest
        labels = self._info.known_labels
        return self._info._repr_html_() + ("" if newest is None else plot(newest.data, newest.times, labels))

    def __repr__(self) -> str:
        return f"<Stream {self._info.name}{', closed' if self.closed else ''}>"


def _checked_lag(max_lag: float) -> float:
    lag = checked_number(max_lag, "max_lag")
    if not lag > 0 or not math.isfinite(lag):
        raise ArgumentError("max_lag is a number of seconds above 0.")
    return lag


def _checked_filters(filters: Sequence[Filter], info: StreamInfo) -> tuple[Filter, ...]:
    given = tuple(filters) if isinstance(filters, Iterable) else (None,)
    checked = tuple(one for one in given if isinstance(one, Filter))
    if checked != given:
        raise ArgumentError("filters is a list of schwann.Filter, also if there is only one: filters=[one].")
    if checked and (info.format == "string" or any(one.channels != info.channel_count for one in checked)):
        raise ArgumentError(f"Filters take numbers of as many channels as the stream has: {info.channel_count} of {info.format}.")
    return checked


def _tell(alarms: _schwann.Alarms, call: Callable[[Alarm], object]) -> None:
    while (told := alarms.next()) is not None:
        try:
            call(Alarm(*told))
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)
