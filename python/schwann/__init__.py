"""Lab Streaming Layer streams: find, receive, send, record and read them.

    import schwann

    with schwann.resolve(type="EEG")[0].open() as stream:
        for chunk in stream.chunks():
            print(chunk.times[-1], chunk.data.mean(axis=0))

Times are in seconds on this computer's clock, `local_clock()`. Data are numpy arrays with a row per sample. Calls that
wait let other threads run, and end on Ctrl-C. Every timeout is in seconds; None waits without limit.
"""

# isort: off
# First, because what follows brings numpy.
from . import _interpreter as _interpreter
# isort: on

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
from ._outlet import Outlet, Receiver
from ._library import library, use
from ._merge import Merge, Merged, merge
from ._recorder import RecordedSoFar, Recorder, record
from ._recording import Gap, RecordedStream, Recording, read_xdf
from ._schwann import __version__ as __version__, local_clock, note_fork as _note_fork
from ._chunk import Chunk
from ._chunks import Chunks
from ._stream import Alarm, ClockOffset, Stream
from . import keys

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_note_fork)

__all__ = [
    "Alarm",
    "ArgumentError",
    "Channel",
    "Channels",
    "Chunk",
    "Chunks",
    "ClockOffset",
    "ClosedError",
    "Error",
    "Filter",
    "ForkedError",
    "Gap",
    "LostError",
    "Merge",
    "Merged",
    "Outlet",
    "Receiver",
    "RecordedSoFar",
    "RecordedStream",
    "Recorder",
    "Recording",
    "Stream",
    "StreamInfo",
    "TimedOutError",
    "UnsealedError",
    "keys",
    "library",
    "local_clock",
    "merge",
    "read_xdf",
    "record",
    "resolve",
    "use",
]
