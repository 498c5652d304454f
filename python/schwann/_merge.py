"""Several streams as one, in the order of time."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _schwann
from ._chunk import Chunk
from ._checked import checked_number
from ._errors import ArgumentError, ClosedError, LostError, TimedOutError
from ._stream import Stream
from ._waiting import Hub, wait_for_any


class Merged(NamedTuple):
    """Consecutive samples of one of the streams."""

    stream: Stream
    """Which one."""
    chunk: Chunk
    """Its samples until the next sample of another stream."""


class Merge(Iterator[Merged], AsyncIterator[Merged]):
    """The samples of several streams in the order of their times; `merge` makes one."""

    def __init__(self, streams: tuple[Stream, ...], patience: float) -> None:
        if not streams:
            raise ArgumentError("There is nothing to merge: give streams.")
        for stream in streams:
            if not isinstance(stream, Stream):
                raise ArgumentError(f"A merge takes open streams, such as info.open() gives, and not {stream!r}.")
        if len(set(map(id, streams))) < len(streams):
            raise ArgumentError("A stream is there twice, and each sample comes once: give each stream once.")
        patience = checked_number(patience, "The patience of a merge")
        if not patience > 0 or not math.isfinite(patience):
            raise ArgumentError("The patience of a merge is a number of seconds above 0.")
        if any(stream.clock != "local" for stream in streams):
            raise ArgumentError('Only times on one clock have an order: open every stream with clock="local".')
        self._streams = list(streams)
        self._patience = patience
        self._held: list[list[Chunk]] = [[] for _ in streams]
        self._newest = [-math.inf] * len(streams)
        self._done = -math.inf
        self._ready: list[Merged] = []
        # No sample comes before the clock of each stream is known, because the oldest is unknown until then.
        self._unsure = list(streams)
        self._late = 0
        self._lost: list[Stream] = []
        self._loss: LostError | None = None
        self._bell = _schwann.Bell()

    @property
    def late(self) -> int:
        """Samples that came after newer ones of other streams had been delivered: their stream was slower than `patience`."""
        return self._late

    def __iter__(self) -> Merge:
        return self

    def __next__(self) -> Merged:
        while not self._ready:
            self._take()
            if self._advance():
                raise self._loss or StopIteration
            if not self._ready:
                with suppress(*_SAID_BY_PULL):
                    wait_for_any([stream._native for stream in self._open()], self._bell, self._until_due())
        return self._ready.pop(0)

    def __aiter__(self) -> Merge:
        return self

    async def __anext__(self) -> Merged:
        hub = Hub.of_running_loop()
        while not self._ready:
            self._take()
            if self._advance():
                raise self._loss or StopAsyncIteration
            if not self._ready:
                with suppress(*_SAID_BY_PULL):
                    await hub.wait([stream._native for stream in self._open()], self._until_due())
        return self._ready.pop(0)

    def _is_open(self, stream: Stream) -> bool:
        return not stream.closed and stream not in self._lost

    def _open(self) -> list[Stream]:
        return [stream for stream in self._streams if self._is_open(stream)]

    def _take(self) -> None:
        """Takes what has arrived. A loss is kept for when all that is held was given out."""
        for index, stream in enumerate(self._streams):
            if not self._is_open(stream):
                continue
            try:
                chunk = stream.pull(max(1, stream.waiting), 0.0)
            except ClosedError:
                continue
            except LostError as error:
                self._lost.append(stream)
                self._loss = self._loss or error
                continue
            if len(chunk):
                self._held[index].append(chunk)
                self._newest[index] = max(self._newest[index], float(_places(chunk.times).max()))

    def _horizon(self) -> float:
        """The time before which nothing will come any more, as far as streams keep to `patience`."""
        given_up = _schwann.local_clock() - self._patience
        ends = [newest for newest, stream in zip(self._newest, self._streams) if self._is_open(stream)]
        return max(given_up, min(ends, default=math.inf))

    def _knows_clocks(self) -> bool:
        self._unsure = [stream for stream in self._unsure if self._is_open(stream) and not _has_clock(stream)]
        return not self._unsure

    def _until_due(self) -> float | None:
        """Seconds until there is something to do in any case; None if nothing is held."""
        if self._unsure:
            return 0.02
        oldest = min((float(_places(chunk.times).min()) for held in self._held for chunk in held), default=None)
        if oldest is None:
            return None
        return max(0.001, oldest + self._patience - _schwann.local_clock())

    def _advance(self) -> bool:
        """Orders what is due; says whether the merge is over."""
        is_over = self._loss is not None or not self._open()
        if not self._knows_clocks():
            return False
        horizon = math.inf if is_over else self._horizon()
        due = [_up_to(held, horizon) for held in self._held]
        self._held = [[rest] if len(rest) else [] for _, rest in due]
        firsts = [first for first, _ in due]
        sources = np.concatenate([np.full(len(first), index) for index, first in enumerate(firsts)])
        if len(sources) == 0:
            return is_over
        times = np.concatenate([first.times for first in firsts])
        self._late += int(np.count_nonzero(times < self._done))
        places = _places(times)
        self._done = max(self._done, float(places.max()))
        self._ready += self._runs(firsts, sources[np.argsort(places, kind="stable")])
        return False

    def _runs(self, firsts: list[Chunk], order: NDArray[np.int64]) -> Iterator[Merged]:
        """The samples as runs of one stream each; `order` has the stream of each sample."""
        taken = [0] * len(firsts)
        bounds = [0, *(np.flatnonzero(np.diff(order)) + 1).tolist(), len(order)]
        for start, stop in zip(bounds, bounds[1:]):
            index = int(order[start])
            rows = slice(taken[index], taken[index] + stop - start)
            taken[index] = rows.stop
            yield Merged(self._streams[index], Chunk(firsts[index].data[rows], firsts[index].times[rows]))


_SAID_BY_PULL = (ClosedError, LostError)
"""What the next pull says of a stream, so a wait need not."""


def _has_clock(stream: Stream) -> bool:
    try:
        stream.clock_offset(0.0)
    except TimedOutError:
        return False
    except _SAID_BY_PULL:
        return True
    return True


def _places(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """What samples are ordered by: their times. Those without one, such as NaN, have none to wait for, and come first."""
    return np.where(np.isfinite(times), times, -np.inf)


def _up_to(held: list[Chunk], horizon: float) -> tuple[Chunk, Chunk]:
    """The samples up to a time, in the order of theirs, and the others."""
    if not held:
        nothing = Chunk(np.empty((0, 0)), np.empty(0))
        return nothing, nothing
    times = np.concatenate([chunk.times for chunk in held])
    data = np.concatenate([chunk.data for chunk in held])
    places = _places(times)
    # Equal places may be infinite, so they are not subtracted.
    if np.any(places[1:] < places[:-1]):
        order = np.argsort(places, kind="stable")
        times, data, places = times[order], data[order], places[order]
    count = int(np.searchsorted(places, horizon, side="right"))
    return Chunk(data[:count], times[:count]), Chunk(data[count:], times[count:])


def merge(*streams: Stream, patience: float = 0.5) -> Merge:
    """The samples of several streams as one sequence in the order of their times, with `for` or `async for`.

    Each step is a stream and consecutive samples of it. All streams are open with times on this computer's clock, the
    default. A sample is given out once every stream has newer ones, or when it is `patience` seconds old. So a silent
    stream, such as one of markers, does not hold up the others for longer. The merge ends when all streams are closed.

    Raises ArgumentError for streams on other clocks, and for one that is given twice. Raises LostError once one of them cannot go on, and gives out before what
    has come from all.
    """
    return Merge(streams, patience)
