"""What the package asks of arguments."""

from __future__ import annotations

import operator
import os
import re
from typing import Any

from ._errors import ArgumentError


def checked_string(text: str, name: str) -> str:
    """The text. Raises ArgumentError for what is none, and for half a pair of surrogates, which UTF-8 does not have."""
    if not isinstance(text, str):
        raise ArgumentError(f"{name} is {text!r}: give a str.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{name} has the character {text[error.start]!r}, which no text can hold: leave it out of {text!r}.") from None
    return text


def checked_text(text: str, name: str) -> str:
    """The text. Raises ArgumentError for what is none, and for characters that no description can hold."""
    found = _NOT_IN_XML.search(checked_string(text, name))
    if found is not None:
        raise ArgumentError(f"{name} has the character {found[0]!r}, which no description can hold: leave it out of {text!r}.")
    return text


_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def checked_count(value: Any, name: str, least: int = 0) -> int:
    """The value. Raises ArgumentError for no whole number, less than `least`, and more than 32 bits hold."""
    try:
        count = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} is {value!r}: give a whole number, an int.") from None
    if not least <= count < 2**31:
        raise ArgumentError(f"{name} is {count}: give a number from {least} to {2**31 - 1}.")
    return count


def checked_number(value: Any, name: str) -> float:
    """The value. Raises ArgumentError for what is no real number, such as a text that looks like one."""
    if type(value) is float:
        return value
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (OverflowError, TypeError, ValueError):
        pass
    raise ArgumentError(f"{name} is {value!r}: give a number, a float.")


def checked_timeout(timeout: Any) -> float | None:
    """The seconds, or None for a wait without limit. Raises ArgumentError for anything else."""
    return None if timeout is None else checked_number(timeout, "The timeout")


def checked_path(path: str | os.PathLike[str], name: str) -> str:
    """The path as a text. Raises ArgumentError for what is none, such as a number or bytes."""
    try:
        text = os.fspath(path)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ArgumentError(f"{name} is {path!r}, which is no path: give a str or a pathlib.Path.")
    return text
