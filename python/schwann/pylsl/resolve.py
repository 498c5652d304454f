"""Searching."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _schwann
from .._errors import Error
from .._find import _literal
from .info import StreamInfo
from .util import FOREVER, translated


def resolve_streams(wait_time: float = 1.0) -> list[StreamInfo]:
    """All streams that answer within `wait_time` seconds."""
    return _search(None, 0, wait_time)


def resolve_byprop(prop: str, value: str, minimum: int = 1, timeout: float = FOREVER) -> list[StreamInfo]:
    """Streams whose property, such as `type`, has this value: once there are `minimum`, or after `timeout` seconds."""
    return _search(f"{prop}={_literal(value)}", minimum, timeout)


def resolve_bypred(predicate: str, minimum: int = 1, timeout: float = FOREVER) -> list[StreamInfo]:
    """Streams that fulfil a condition, such as `"type='EEG' and channel_count > 8"`; otherwise as `resolve_byprop`.

    Raises InvalidArgumentError for what is no condition.
    """
    return _search(predicate, minimum, timeout)


def _search(predicate: str | None, minimum: int, timeout: float) -> list[StreamInfo]:
    try:
        return [StreamInfo(handle=found) for found in _schwann.resolve(predicate, minimum, timeout)]
    except Error as error:
        raise translated(error) from None


class ContinuousResolver:
    """A search that goes on in the background."""

    def __init__(
        self, prop: str | None = None, value: str | None = None, pred: str | None = None, forget_after: float = 5.0
    ) -> None:
        """Begins to search all streams, streams with a value of a property, or streams that fulfil a condition.

        A stream that was not heard of for `forget_after` seconds is forgotten.
        """
        if pred is not None and (prop is not None or value is not None):
            raise ValueError("Give a property with its value, or a condition, and not both.")
        if (prop is None) != (value is None):
            raise ValueError("A property and its value go together.")
        predicate = pred if prop is None or value is None else f"{prop}={_literal(value)}"
        try:
            self.obj = _schwann.Search(predicate, forget_after)
        except Error as error:
            raise RuntimeError(f"could not create continuous resolver: {error}") from None

    def results(self) -> list[StreamInfo]:
        """The streams that are there now."""
        return [StreamInfo(handle=found) for found in self.obj.results()]


def resolve_stream(*args: Any) -> list[StreamInfo]:
    """Searches as one of the other functions, by the arguments. Use those; pylsl deprecated this one."""
    warnings.warn("Use `resolve_streams` instead of resolve_stream.", DeprecationWarning, stacklevel=2)
    if not args or isinstance(args[0], (int, float)):
        return resolve_streams(*args[:1])
    if len(args) == 1 or isinstance(args[1], (int, float)):
        return resolve_bypred(*args[:2])
    return resolve_byprop(*args[:3])
