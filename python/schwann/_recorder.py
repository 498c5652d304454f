"""Recording to XDF files."""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _schwann
from ._closing import Closing
from ._errors import ArgumentError
from ._outlet import as_text


class RecordedSoFar(NamedTuple):
    """How one stream of a recording does."""

    name: str
    """The stream's name."""
    state: Literal["connecting", "recording", "recovering", "lost", "unreadable"]
    """`recovering`: its sender went away and is looked for; `unreadable`: no reader can use its description."""
    samples: int
    """Samples that arrived."""
    lost: int
    """Samples that arrived and are not in the file."""


class Recorder(Closing):
    """A recording in progress; `record` begins one."""

    _called = "A recording"

    def __init__(self, path: str | os.PathLike[str], queries: tuple[str, ...], timeout: float) -> None:
        if not all(isinstance(query, str) for query in queries):
            raise ArgumentError("Queries are texts: a name, type or source id, or a condition such as \"type='EEG'\".")
        self._path = os.fspath(path)
        # Creates the file for a moment: the system says in Python's words why it cannot be.
        os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.unlink(self._path)
        self._native = _schwann.Recorder(self._path, list(queries), timeout)

    def annotate(self, marker: Any, time: float | None = None) -> None:
        """Writes a marker into the file, on its stream `Annotations`: a string, or any other value as JSON.

        `time` is in seconds on `local_clock()`; without one it is now.
        """
        if time is not None and not np.isfinite(time):
            raise ArgumentError("The time of a marker is a finite number of seconds.")
        self._native.annotate(as_text(marker), time or 0.0)

    @property
    def streams(self) -> list[RecordedSoFar]:
        """How every stream does, in the order in which they joined."""
        return [RecordedSoFar(*one) for one in self._native.streams()]  # type: ignore[arg-type]

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether the recording has ended."""
        return self._native.is_finished

    def close(self) -> list[RecordedSoFar]:
        """Takes in what has arrived, completes the file, and says how every stream did. The second time it does nothing.

        Raises Error if the file lacks the last samples, such as when the disk is full. All that is in it can be read.
        """
        if self.closed:
            return []
        return [RecordedSoFar(*one) for one in self._native.finish()]  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<Recorder {self._path}{', closed' if self.closed else ''}>"


def record(path: str | os.PathLike[str], *queries: str, timeout: float = 5.0) -> Recorder:
    """Records streams to a new XDF file, until it is closed; a crash costs less than a second of it.

    A query is a stream's name, type or source id, or a condition such as `"type='EEG' and channel_count > 8"`. Without
    queries all streams are recorded. Returns once every query has found a stream and those are being recorded; streams
    that come later join.

    Raises FileExistsError and other kinds of OSError if the file cannot be made. Raises ArgumentError for a malformed
    query. Raises TimedOutError if a query has found nothing in time; it lists the streams at hand.
    """
    return Recorder(path, queries, timeout)
