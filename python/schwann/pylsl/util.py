"""Constants, exceptions and the clock."""

from __future__ import annotations

from .. import _schwann
from .._errors import ArgumentError, ClosedError, Error, TimedOutError
from .._errors import LostError as _Lost

IRREGULAR_RATE = 0.0
DEDUCED_TIMESTAMP = -1.0
FOREVER = 32000000.0

proc_none = 0
proc_clocksync = 1
proc_dejitter = 2
proc_monotonize = 4
proc_threadsafe = 8
proc_ALL = 15

transp_default = 0
transp_bufsize_samples = 1
transp_bufsize_thousandths = 2
transp_sync_blocking = 4

MIN_LIBLSL_VERSION = 116


class TimeoutError(RuntimeError):
    """An operation took longer than it may."""


class LostError(RuntimeError):
    """The stream is gone and does not come back to this inlet."""


class InvalidArgumentError(RuntimeError):
    """An argument was wrong."""


class InternalError(RuntimeError):
    """The system refused something."""


def handle_error(errcode: int | object) -> None:
    """Raises the exception that a number of the C interface stands for; 0 and above are none."""
    number = getattr(errcode, "value", errcode)
    if not isinstance(number, int) or number >= 0:
        return
    kinds = {-1: TimeoutError, -2: LostError, -3: InvalidArgumentError, -4: InternalError}
    raise kinds.get(number, RuntimeError)(f"The call failed with the code {number}.")


def translated(error: Error) -> RuntimeError:
    """The exception that pylsl raises for one of ours."""
    kind: type[RuntimeError] = InternalError
    if isinstance(error, TimedOutError):
        kind = TimeoutError
    elif isinstance(error, (_Lost, ClosedError)):
        kind = LostError
    elif isinstance(error, ArgumentError):
        kind = InvalidArgumentError
    return kind(str(error))


def protocol_version() -> int:
    """The newest version of the protocol that streams are delivered by, times 100."""
    return _schwann.protocol_version()


def library_version() -> int:
    """The version of liblsl that this behaves as, times 100."""
    return 118


def library_info() -> str:
    """What serves this module, for people to read."""
    return _schwann.library_info()


def local_clock() -> float:
    """Seconds on this computer's clock."""
    return _schwann.local_clock()


def set_config_filename(filename: str) -> None:
    """Has this file for the configuration, if it is called before everything else."""
    _schwann.set_config_filename(_text(filename))


def set_config_content(content: str) -> None:
    """Has this text for the configuration, if it is called before everything else."""
    _schwann.set_config_content(_text(content))


def _text(value: str) -> str:
    """The text itself. Raises AttributeError for anything else, as pylsl does."""
    return value.encode("utf-8").decode("utf-8")
