"""What the package asks of arguments."""

from __future__ import annotations

import operator
import os
import re

from ._errors import ArgumentError


def checked_text(text: str, name: str) -> str:
    """The text. Raises ArgumentError if it has characters that no description can hold."""
    found = _NOT_IN_XML.search(text)
    if found is not None:
        raise ArgumentError(f"{name} has the character {found[0]!r}, which no description can hold: leave it out of {text!r}.")
    return text


_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def checked_count(value: int, name: str, least: int = 0) -> int:
    """The value. Raises ArgumentError if it is less than `least`, or more than 32 bits hold."""
    count = operator.index(value)
    if not least <= count < 2**31:
        raise ArgumentError(f"{name} is {count}: give a number from {least} to {2**31 - 1}.")
    return count


def checked_path(path: str | os.PathLike[str], name: str) -> str:
    """The path as a text. Raises ArgumentError for what is none, such as a number or bytes."""
    try:
        text = os.fspath(path)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ArgumentError(f"{name} is {path!r}, which is no path: give a str or a pathlib.Path.")
    return text
