"""What can go wrong with streams, by who must act."""


class Error(Exception):
    """What the package raises; the kinds below tell more, and this alone that the system refused something."""


class ArgumentError(Error, ValueError):
    """The call was wrong: the message says what to change."""


class ClosedError(Error, ValueError):
    """The stream or outlet was closed: open it once more."""


class ForkedError(Error, RuntimeError):
    """It belongs to the parent process from which this one was forked. Make a stream or an outlet here."""


class LostError(Error, ConnectionError):
    """The stream is gone and does not come back to this receiver: resolve it again."""


class TimedOutError(Error, TimeoutError):
    """Nothing happened in time: try again."""


class UnsealedError(Error, PermissionError):
    """There is no sealed connection although there must be one: the message names the command that mends it."""
