"""Descriptions of streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _schwann
from .._schwann import XMLElement as XMLElement
from .lib import cf_float32, fmt2string, string2fmt
from .util import IRREGULAR_RATE


class StreamInfo:
    """The description of a stream: one's own, or a found one, which lacks its metadata."""

    def __init__(
        self,
        name: str = "untitled",
        type: str = "",
        channel_count: int = 1,
        nominal_srate: float = IRREGULAR_RATE,
        channel_format: int | str = cf_float32,
        source_id: str | None = None,
        handle: _schwann.Info | None = None,
    ) -> None:
        """Describes a stream. Without a source id, one is made of the other arguments, and differs in every run."""
        if handle is not None:
            self.obj = handle
            return
        number = string2fmt[channel_format] if isinstance(channel_format, str) else channel_format
        if source_id is None:
            # As in pylsl: Python's hashes of texts differ by process, so no two programs share an id.
            source_id = str(hash((name, type, channel_count, nominal_srate, number)))
        try:
            self.obj = _schwann.Info(name, type, channel_count, nominal_srate, fmt2string[number], source_id)
        except (ValueError, OverflowError, IndexError) as error:
            raise RuntimeError(f"could not create stream description object: {error}") from None

    def __str__(self) -> str:
        return (
            f"<StreamInfo name='{self.name()}', type='{self.type()}', channels={self.channel_count()}, "
            f"srate={self.nominal_srate()}, format={self.channel_format()}, source_id='{self.source_id()}'>"
        )

    def __repr__(self) -> str:
        return str(self)

    def name(self) -> str:
        """The stream's name."""
        return self.obj.name

    def type(self) -> str:
        """What its data are, such as `EEG`."""
        return self.obj.stream_type

    def channel_count(self) -> int:
        """How many values a sample has."""
        return self.obj.channel_count

    def nominal_srate(self) -> float:
        """Samples per second; `IRREGULAR_RATE` if they come at any time."""
        return self.obj.rate

    def channel_format(self) -> int:
        """The format of its values, one of `cf_*`."""
        return fmt2string.index(self.obj.format)

    def source_id(self) -> str:
        """What tells the source from others, and stays when it restarts."""
        return self.obj.source_id

    def version(self) -> int:
        """The version of the protocol that delivers it, times 100."""
        return self.obj.version

    def created_at(self) -> float:
        """When the outlet was made, in seconds on the sender's clock; 0 before that."""
        return self.obj.created_at

    def uid(self) -> str:
        """What tells this run of the outlet from all others; empty before it runs."""
        return self.obj.uid

    def reset_uid(self) -> str:
        """Gives the description another uid, and returns it."""
        return self.obj.reset_uid(os.urandom(16))

    def session_id(self) -> str:
        """The LSL session that the stream belongs to."""
        return self.obj.session_id

    def hostname(self) -> str:
        """The sending computer."""
        return self.obj.hostname

    def desc(self) -> XMLElement:
        """The metadata; empty for a stream that was found: ask `StreamInlet.info` for them."""
        return self.obj.desc()

    def as_xml(self) -> str:
        """The whole description as XML."""
        return _decoded(self.obj.xml())

    def get_channel_labels(self) -> list[str | None] | None:
        """The names of the channels; None if none has one, and in place of each that has none."""
        return self._get_channel_info("label")

    def get_channel_types(self) -> list[str | None] | None:
        """The types of the channels, as `get_channel_labels`."""
        return self._get_channel_info("type")

    def get_channel_units(self) -> list[str | None] | None:
        """The units of the channels, as `get_channel_labels`."""
        return self._get_channel_info("unit")

    def _get_channel_info(self, name: str) -> list[str | None] | None:
        found = [channel.child(name).first_child().value() or None for channel in self._channels()]
        if not any(found):
            return None
        if len(found) != self.channel_count():
            print(f"The description has {len(found)} entries for {self.channel_count()} channels.")
        return found

    def set_channel_labels(self, labels: list[str]) -> None:
        """Names the channels; there is one label for each."""
        self._set_channel_info(labels, "label")

    def set_channel_types(self, types: str | list[str]) -> None:
        """Says what the channels are: one type for all, or one for each."""
        self._set_channel_info([types] * self.channel_count() if isinstance(types, str) else types, "type")

    def set_channel_units(self, units: str | int | list[str | int]) -> None:
        """Says what the values are in: one unit for all channels, or one for each; numbers are powers of ten."""
        self._set_channel_info([units] * self.channel_count() if isinstance(units, (int, str)) else units, "unit")

    def _set_channel_info(self, values: Iterable[str | int], name: str) -> None:
        texts = [str(int(value)) if isinstance(value, int) else str(value) for value in values]
        if len(texts) != self.channel_count():
            raise ValueError(f"There are {self.channel_count()} channels, and {len(texts)} entries for their {name}.")
        channels = _child_or_new(self.desc(), "channels")
        entries = list(self._channels())
        entries += [channels.append_child("channel") for _ in range(len(texts) - len(entries))]
        for entry, text in zip(entries, texts):
            if entry.child(name).empty():
                entry.append_child_value(name, text)
            else:
                entry.child(name).first_child().set_value(text)
        for surplus in entries[len(texts) :]:
            channels.remove_child(surplus)

    def _channels(self) -> Iterator[XMLElement]:
        return _until_empty(self.desc().child("channels").child("channel"), lambda entry: entry.next_sibling())


def _until_empty(first: XMLElement, step: Callable[[XMLElement], XMLElement]) -> Iterator[XMLElement]:
    while not first.empty():
        yield first
        first = step(first)


def _child_or_new(parent: XMLElement, name: str) -> XMLElement:
    found = parent.child(name)
    return parent.append_child(name) if found.empty() else found


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def native(info: Any) -> _schwann.Info:
    """What is behind a StreamInfo. Raises TypeError for anything else, such as a list of them."""
    if not isinstance(info, StreamInfo):
        raise TypeError(f"description needs to be of type StreamInfo, got a {type(info).__name__}.")
    return info.obj
