"""Lab Streaming Layer streams: find, receive, send, record and read them.

    import schwann

    with schwann.resolve(type="EEG")[0].open() as stream:
        for chunk in stream.chunks():
            print(chunk.times[-1], chunk.data.mean(axis=0))

Times are in seconds on this computer's clock, `local_clock()`. Data are numpy arrays with a row per sample. Calls that
wait let other threads run, and end on Ctrl-C. Every timeout is in seconds; None waits without limit.
"""

import os as _os

from ._errors import (
    ArgumentError,
    ClosedError,
    Error,
    ForkedError,
    LostError,
    TimedOutError,
    UnsealedError,
)
from ._filter import Filter
from ._find import resolve
from ._info import Channel, Channels, StreamInfo
from ._outlet import Outlet
from ._recorder import RecordedSoFar, Recorder, record
from ._recording import Gap, RecordedStream, Recording, read_xdf
from ._schwann import local_clock, note_fork as _note_fork
from ._stream import Chunk, ClockOffset, Stream

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_note_fork)

__all__ = [
    "ArgumentError",
    "Channel",
    "Channels",
    "Chunk",
    "ClockOffset",
    "ClosedError",
    "Error",
    "Filter",
    "ForkedError",
    "Gap",
    "LostError",
    "Outlet",
    "RecordedSoFar",
    "RecordedStream",
    "Recorder",
    "Recording",
    "Stream",
    "StreamInfo",
    "TimedOutError",
    "UnsealedError",
    "local_clock",
    "read_xdf",
    "record",
    "resolve",
]
