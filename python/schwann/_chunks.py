"""The samples of a stream as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ._chunk import Chunk
from ._errors import ClosedError, LostError
from ._waiting import Hub

if TYPE_CHECKING:
    from ._stream import Stream


class Chunks(Iterator[Chunk], AsyncIterator[Chunk]):
    """The chunks of a stream, with `for`, or with `async for` in an event loop, which is woken by a descriptor.

    It ends when the stream is closed, and raises LostError once nothing can come any more.
    """

    def __init__(self, stream: Stream, length: int | None) -> None:
        self._stream = stream
        self._length = length
        self._parts: list[Chunk] = []

    def __iter__(self) -> Chunks:
        return self

    def __next__(self) -> Chunk:
        while not self._stream.closed:
            try:
                chunk = self._stream.pull(self._length)
            except ClosedError:
                break
            if len(chunk):
                return chunk
        raise StopIteration

    def __aiter__(self) -> Chunks:
        return self

    async def __anext__(self) -> Chunk:
        hub = Hub.of_running_loop()
        native = self._stream._native
        while not self._stream.closed:
            try:
                self._pull()
                if self._parts and self._missing() <= 0:
                    return self._whole()
                await hub.wait([native])
            except ClosedError:
                break
            except LostError:
                # What came before the loss is delivered first.
                if self._parts:
                    return self._whole()
                raise
        raise StopAsyncIteration

    def _missing(self) -> int:
        return (self._length or 1) - sum(map(len, self._parts))

    def _pull(self) -> None:
        """Takes the samples that have arrived, and keeps them: a cancelled wait loses nothing."""
        count = None if self._length is None else self._missing()
        part = self._stream.pull(count, 0.0)
        if len(part):
            self._parts.append(part)

    def _whole(self) -> Chunk:
        parts, self._parts = self._parts, []
        if len(parts) == 1:
            return parts[0]
        return Chunk(np.concatenate([part.data for part in parts]), np.concatenate([part.times for part in parts]))
