"""Descriptions of streams."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload
from xml.etree import ElementTree

import numpy as np

from . import _schwann
from ._checked import checked_text
from ._errors import ArgumentError, Error, TimedOutError

if TYPE_CHECKING:
    from ._filter import Filter
    from ._stream import Stream

Format: TypeAlias = Literal["float32", "double64", "string", "int32", "int16", "int8", "int64"]
"""The formats of channels, by the names that LSL gives them."""

Metadata: TypeAlias = Mapping[str, Any]
"""What can be written into a description: texts, numbers, and dicts or lists of them."""

DTYPES: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float32),
    "double64": np.dtype(np.float64),
    "int32": np.dtype(np.int32),
    "int16": np.dtype(np.int16),
    "int8": np.dtype(np.int8),
    "int64": np.dtype(np.int64),
    "string": np.dtype(object),
}


class Channel(NamedTuple):
    """What the description says of one channel; an empty text where it says nothing."""

    label: str
    unit: str = ""
    type: str = ""


class Channels(Sequence[Channel]):
    """The channels of a stream, in the order of their columns; a table in notebooks."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self._channels = tuple(channels)

    @property
    def labels(self) -> list[str]:
        """The names of the channels."""
        return [channel.label for channel in self._channels]

    @property
    def units(self) -> list[str]:
        """What the values are in, such as `µV`."""
        return [channel.unit for channel in self._channels]

    def index_of(self, label: str) -> int:
        """The column of the channel with this label. Raises ArgumentError if there is none."""
        if label not in self.labels:
            raise ArgumentError(f"There is no channel {label!r}; there are {', '.join(self.labels)}.")
        return self.labels.index(label)

    @overload
    def __getitem__(self, index: int) -> Channel: ...
    @overload
    def __getitem__(self, index: slice) -> Channels: ...
    def __getitem__(self, index: int | slice) -> Channel | Channels:
        if isinstance(index, slice):
            return Channels(self._channels[index])
        return self._channels[index]

    def __len__(self) -> int:
        return len(self._channels)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self._channels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channels) and self._channels == other._channels

    def __hash__(self) -> int:
        return hash(self._channels)

    def __repr__(self) -> str:
        rows = [("", *Channel._fields), *((str(number), *channel) for number, channel in enumerate(self))]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        rows = [[str(number), *channel] for number, channel in enumerate(self)]
        return _table(["", *Channel._fields], rows)


class StreamInfo:
    """The description of a stream that was found, or of one's own outlet."""

    def __init__(self, native: _schwann.Info, *, is_whole: bool) -> None:
        self._native = native
        self._is_whole = is_whole

    @classmethod
    def _found(cls, native: _schwann.Info) -> StreamInfo:
        """What a search brought: searches leave the metadata out."""
        return cls(native, is_whole=False)

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._native.name

    @property
    def type(self) -> str:
        """What its data are, such as `EEG`."""
        return self._native.stream_type

    @property
    def channel_count(self) -> int:
        """How many values a sample has."""
        return self._native.channel_count

    @property
    def rate(self) -> float:
        """Samples per second, as the sender intends; 0 if they come at any time."""
        return self._native.rate

    @property
    def format(self) -> Format:
        """The format of its values."""
        return self._native.format  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the arrays that a pull returns; object for strings."""
        return DTYPES[self.format]

    @property
    def source_id(self) -> str:
        """What tells the source from others and stays when it restarts; may be empty."""
        return self._native.source_id

    @property
    def uid(self) -> str:
        """What tells this run of the outlet from all others."""
        return self._native.uid

    @property
    def hostname(self) -> str:
        """The sending computer."""
        return self._native.hostname

    @property
    def session_id(self) -> str:
        """The LSL session that it belongs to."""
        return self._native.session_id

    @property
    def created_at(self) -> float:
        """When the outlet was made, in seconds on the sender's clock."""
        return self._native.created_at

    @property
    def xml(self) -> str:
        """The description as the outlet sends it."""
        return self._whole().xml().decode("utf-8", "replace")

    @property
    def channels(self) -> Channels:
        """Labels, units and types of the channels. Asks the outlet for them, once, up to 5 seconds."""
        return channels_of(self._description(), self.channel_count)

    @property
    def metadata(self) -> dict[str, Any]:
        """The description below `desc` as a dict: texts, dicts, and lists where a name occurs more than once.

        Asks the outlet for it, once, up to 5 seconds.
        """
        described = as_value(self._description())
        return described if isinstance(described, dict) else {}

    @property
    def known_labels(self) -> list[str]:
        """The labels of the channels as far as they are known without asking the outlet."""
        return self.channels.labels if self._is_whole else []

    def open(
        self,
        *,
        policy: Literal["complete", "latest"] = "complete",
        max_lag: float | None = None,
        clock: Literal["local", "sender"] = "local",
        dejitter: bool = False,
        monotone: bool = False,
        buffer: int = 360,
        recover: bool = True,
        filters: Sequence[Filter] = (),
        timeout: float | None = 5.0,
    ) -> Stream:
        """Connects to the stream; the options are those of `Stream`."""
        from ._stream import Stream

        return Stream(
            self,
            policy=policy,
            max_lag=max_lag,
            clock=clock,
            dejitter=dejitter,
            monotone=monotone,
            buffer=buffer,
            recover=recover,
            filters=filters,
            timeout=timeout,
        )

    def _description(self) -> ElementTree.Element:
        return desc_of(self._whole().xml(), self.name)

    def _whole(self) -> _schwann.Info:
        """The description with its metadata."""
        if not self._is_whole:
            inlet = _schwann.Inlet(self._native, 1, False)
            try:
                self._native = inlet.full_info(5.0)
            except TimedOutError:
                raise silence_of(self, 5.0) from None
            finally:
                inlet.close()
            self._is_whole = True
        return self._native

    def _facts(self) -> dict[str, str]:
        rate = f"{self.rate:g} Hz" if self.rate else "irregular"
        facts = {"name": self.name, "type": self.type, "channels": str(self.channel_count), "rate": rate}
        facts |= {"format": self.format, "host": self.hostname, "source id": self.source_id}
        return {name: value for name, value in facts.items() if value}

    def __repr__(self) -> str:
        return "<StreamInfo " + ", ".join(f"{name} {value}" for name, value in self._facts().items()) + ">"

    def _repr_html_(self) -> str:
        facts = _table([], [[name, value] for name, value in self._facts().items()])
        return facts + (self.channels._repr_html_() if self._is_whole else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamInfo) and (self.uid or id(self)) == (other.uid or id(other))

    def __hash__(self) -> int:
        return hash(self.uid or id(self))


def silence_of(info: StreamInfo, timeout: float | None) -> TimedOutError:
    """What to say of a stream that was found, and does not answer."""
    within = "" if timeout is None else f" within {timeout:g} s"
    what = f"The stream {info.name!r} of {info.hostname or 'an unknown computer'} does not answer{within}"
    return TimedOutError(f"{what}: its program may have ended; `schwann doctor` looks for the reason.")


def described(native: _schwann.Info, channels: Sequence[Channel], metadata: Metadata) -> _schwann.Info:
    """The same description with a table of channels and with metadata."""
    entries = [(0, "channels", "")] if channels else []
    for channel in channels:
        entries.append((1, "channel", ""))
        entries += [(2, name, checked_text(value, name)) for name, value in channel._asdict().items() if value]
    for name, value in metadata.items():
        entries += _entries(0, name, value)
    return native.described(entries)


def _entries(depth: int, name: str, value: Any) -> Iterator[tuple[int, str, str]]:
    """Elements of a description: depth, name and text of each, inner ones after their outer one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(f"{name!r} cannot name metadata: use letters, digits and _, and begin with a letter.")
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _entries(depth, name, one)
    elif isinstance(value, Mapping):
        yield depth, name, ""
        for key, inner in value.items():
            yield from _entries(depth + 1, key, inner)
    elif isinstance(value, (str, int, float)):
        yield depth, name, checked_text(str(value), name)
    else:
        kind = type(value).__name__
        raise ArgumentError(f"The metadata {name!r} is of the type {kind}: use texts, numbers, dicts and lists.")


_NAME = re.compile(r"[^\W\d][\w.-]*")


def desc_of(xml: str | bytes, name: str) -> ElementTree.Element:
    """What is below `desc` in a description. Raises Error if the sender wrote what is no XML, as C programs can."""
    try:
        found = ElementTree.fromstring(xml).find("desc")
    except ElementTree.ParseError as error:
        raise Error(f"The description of {name} is no XML, which its sender must mend: {error}. It is in `.xml` as it came.") from None
    return ElementTree.Element("desc") if found is None else found


def as_value(element: ElementTree.Element) -> Any:
    """The element as a text, or as a dict of what is in it."""
    if len(element) == 0:
        return element.text or ""
    values: dict[str, Any] = {}
    for child in element:
        value = as_value(child)
        if child.tag not in values:
            values[child.tag] = value
        elif isinstance(values[child.tag], list):
            values[child.tag].append(value)
        else:
            values[child.tag] = [values[child.tag], value]
    return values


def channels_of(desc: ElementTree.Element, count: int) -> Channels:
    """The table of channels, with as many rows as the stream has channels, even if the description differs."""
    entries = desc.findall("channels/channel")[:count]
    found = [Channel(*((entry.findtext(name) or "").strip() for name in Channel._fields)) for entry in entries]
    return Channels(found + [Channel("")] * (count - len(found)))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_row(head, "th")] if head else []
    return "<table>" + "".join([*lines, *(_row(row, "td") for row in rows)]) + "</table>"


def _row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
