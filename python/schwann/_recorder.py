"""Recording to XDF files."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Literal, NamedTuple

from . import _schwann
from ._checked import checked_number, checked_path, checked_string
from ._closing import Closing
from ._errors import ArgumentError
from ._outlet import as_text, one_time


class RecordedSoFar(NamedTuple):
    """How one stream of a recording does."""

    name: str
    """The stream's name."""
    state: Literal["connecting", "recording", "recovering", "lost", "unreadable", "failed"]
    """`recovering`: its sender went away and is looked for; `unreadable`: no reader can use its description;
    `failed`: the file takes no more, and `close` says why."""
    samples: int
    """Samples that arrived."""
    lost: int
    """Samples that arrived and are not in the file."""


class _Finishing:
    """A recording that is being completed in a thread: the interpreter waits for that one before it ends."""

    def __init__(self, native: _schwann.Recorder) -> None:
        self._native = native
        self._streams: list[tuple[str, str, int, int]] = []
        self._error: BaseException | None = None
        self._done = threading.Event()
        thread = threading.Thread(target=self._finish, name="schwann-record")
        # An interpreter that is ending starts no threads. Some of its versions say so, and others wait for ever.
        if sys.is_finalizing():
            self._finish()
            return
        try:
            thread.start()
        except RuntimeError:
            self._finish()

    def _finish(self) -> None:
        try:
            self._streams = self._native.finish()
        except BaseException as error:
            self._error = error
        self._done.set()

    def wait(self) -> None:
        # A wait without an end would keep Ctrl-C waiting on Windows. Before Python 3.13, Ctrl-C within `join` makes a thread that
        # runs count as ended.
        while not self._done.wait(0.05):
            pass

    def outcome(self) -> list[tuple[str, str, int, int]]:
        if self._error is not None:
            raise self._error
        return self._streams


class Recorder(Closing):
    """A recording in progress; `record` begins one."""

    _called = "A recording"

    def __init__(self, path: str | os.PathLike[str], queries: tuple[str, ...], timeout: float) -> None:
        super().__init__()
        if not all(isinstance(query, str) for query in queries):
            raise ArgumentError("Queries are texts: a name, type or source id, or a condition such as \"type='EEG'\".")
        for query in queries:
            checked_string(query, "A query")
        timeout = checked_number(timeout, "The timeout")
        self._path = checked_path(path, "The recording")
        # Creates the file for a moment: the system says in Python's words why it cannot be.
        os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.unlink(self._path)
        self._finishing: _Finishing | None = None
        self._native = _schwann.Recorder(self._path, list(queries), timeout)

    def annotate(self, marker: Any, time: float | None = None) -> None:
        """Writes a marker into the file, on its stream `Annotations`: a string, or any other value as JSON.

        `time` is in seconds on `local_clock()`; without one it is now. Raises ArgumentError for 0.0 and -1.0, as a push does.
        """
        self._native.annotate(as_text(marker), one_time(time))

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

        Ctrl-C ends the wait and not the work: the file is completed before the program ends, unless Ctrl-C comes again.
        Raises Error if the file lacks the last samples, such as when the disk is full. All that is in it can be read.
        """
        if self._finishing is None:
            if self.closed:
                return []
            self._finishing = _Finishing(self._native)
        finishing = self._finishing
        finishing.wait()
        # From here on it is closed, also if that failed.
        self._finishing = None
        return [RecordedSoFar(*one) for one in finishing.outcome()]  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<Recorder {self._path}{', closed' if self.closed else ''}>"


def record(path: str | os.PathLike[str], *queries: str, timeout: float = 5.0) -> Recorder:
    """Records streams to a new XDF file, until it is closed; a crash costs less than a second of it.

    A query is a stream's name, type or source id, or a condition such as `"type='EEG' and channel_count > 8"`. Without
    queries all streams are recorded. Returns once every query has found a stream and those are being recorded; streams
    that come later join.

    Raises FileExistsError and other kinds of OSError if the file cannot be made. Raises ArgumentError for a malformed
    query. Raises TimedOutError if a query has found nothing in time, and lists the streams at hand; also if a stream that
    was asked for does not answer.
    """
    return Recorder(path, queries, timeout)
