"""Recordings in XDF files."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from . import _schwann
from ._checked import checked_path
from ._errors import ArgumentError
from ._info import Channels, Format, as_value, channels_of, desc_of


class Gap(NamedTuple):
    """A break between two samples of a stream, longer than a second and than 500 samples."""

    row: int
    """The sample after it."""
    start: float
    """The time of the sample before it, in seconds."""
    stop: float
    """The time of the sample after it, in seconds."""


class RecordedStream:
    """One stream of a recording."""

    def __init__(self, native: _schwann.Recorded) -> None:
        self._native = native
        self.data: NDArray[Any]
        """Samples × channels, one row per sample; objects, each a str, for strings."""
        if native.format == "string":
            self.data = np.empty((len(native.stamps), native.channel_count), object)
            self.data.reshape(-1)[:] = native.values
        else:
            self.data = native.values
        self.times: NDArray[np.float64] = native.stamps
        """One per sample, in seconds on the recorder's clock."""
        self.segments = [slice(start, stop) for start, stop in native.segments]
        """The rows between gaps."""
        self.clock_segments = [slice(start, stop) for start, stop in native.clock_segments]
        """The rows between resets of the sender's clock; none if it was never measured."""
        self.clock_offsets = np.array(native.clock_offsets, np.float64).reshape(-1, 2)
        """The measurements of the sender's clock: when, and what to add to its times, in seconds."""

    @property
    def id(self) -> int:
        """Its number within the file."""
        return self._native.id

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._native.name

    @property
    def type(self) -> str:
        """What its data are, such as `EEG`."""
        return self._native.stream_type

    @property
    def format(self) -> Format:
        """The format of its values."""
        return self._native.format  # type: ignore[return-value]

    @property
    def source_id(self) -> str:
        """What tells the source from others."""
        return self._native.source_id

    @property
    def hostname(self) -> str:
        """The sending computer."""
        return self._native.hostname

    @property
    def rate(self) -> float:
        """Samples per second as the sender intended; 0 if they came at any time."""
        return self._native.rate

    @property
    def effective_rate(self) -> float:
        """Samples per second as they came within the segments; 0 if that cannot be told."""
        return self._native.effective_rate

    @property
    def invalid_stamps(self) -> int:
        """How many samples were recorded with a stamp that is no time, such as NaN. With `dejitter`, those of a stream with a
        rate lie on the line of the others."""
        return self._native.invalid_stamps

    @property
    def corrupt_samples(self) -> int:
        """How many samples at the end were left out, as by pyxdf: what an outlet that was destroyed may leave."""
        return self._native.corrupt_samples

    @property
    def gaps(self) -> list[Gap]:
        """The breaks between its segments."""
        joints = [segment.start for segment in self.segments[1:]]
        return [Gap(at, float(self.times[at - 1]), float(self.times[at])) for at in joints]

    @cached_property
    def channels(self) -> Channels:
        """Labels, units and types of the channels."""
        return channels_of(self._description, self._native.channel_count)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The description below `desc` as a dict."""
        described = as_value(self._description)
        return described if isinstance(described, dict) else {}

    @property
    def xml(self) -> str:
        """The whole description, as the file has it."""
        return self._native.header

    @property
    def footer_xml(self) -> str:
        """What the recorder wrote at the end; empty if the recording was broken off."""
        return self._native.footer

    @property
    def _description(self) -> ElementTree.Element:
        return desc_of(self._native.header, self.name)

    @property
    def is_events(self) -> bool:
        """Whether its samples are events: texts, or single numbers without a rate."""
        return self._native.is_events

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a column per channel, indexed by time in seconds. Needs pandas."""
        pandas = _optional("pandas")

        labels = [channel.label or str(number) for number, channel in enumerate(self.channels)]
        return pandas.DataFrame(self.data, index=pandas.Index(self.times, name="time"), columns=labels)

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        rate = f"{self.rate:g} Hz" if self.rate else "irregular"
        odd = [f", {self.invalid_stamps} with a stamp that is no time"] if self.invalid_stamps else []
        odd += [f", without {self.corrupt_samples} corrupt ones at the end"] if self.corrupt_samples else []
        size = f"{len(self)} samples × {self.data.shape[1]} channels, {rate}"
        return f"<RecordedStream {self.name}, {self.type}, {size}{''.join(odd)}>"


class Recording:
    """A recording in memory; its streams by name or by number."""

    def __init__(self, header: str, streams: list[RecordedStream], damage: list[str]) -> None:
        self.header_xml = header
        """What the file says of itself."""
        self.streams = streams
        """The streams in the order in which they were recorded."""
        self.damage = damage
        """A sentence for each damaged place of the file; all that is whole around it was read."""

    def __getitem__(self, name: str | int) -> RecordedStream:
        if isinstance(name, int):
            return self.streams[name]
        found = [stream for stream in self.streams if stream.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise ArgumentError(f"{len(found)} streams have the name {name!r}: choose one from .streams, by its number.")
        names = ", ".join(stream.name for stream in self.streams)
        raise ArgumentError(f"There is no stream {name!r} in the recording; there are {names or 'none'}.")

    def __iter__(self) -> Iterator[RecordedStream]:
        return iter(self.streams)

    def __len__(self) -> int:
        return len(self.streams)

    def to_mne(self, name: str | int) -> Any:
        """One stream of numbers as an `mne.io.RawArray`, in volts, with the other streams' events as annotations. Needs mne.

        Values in `V`, `mV` and `µV` are converted to volts; others stay as they are. A gap is annotated as `EDGE boundary`.
        Events are texts, and single numbers without a rate, as in `schwann export`. MNE has no place for events before the
        first sample and after the last: a warning counts them. Where the clock was set back, an event whose time occurs
        twice is at the first of them.
        """
        mne = _optional("mne")

        stream = self[name]
        rate = stream.effective_rate or stream.rate
        if stream.format == "string" or not rate:
            raise ArgumentError(f"{stream.name} has no rate or no numbers, which MNE needs.")
        labels = [channel.label or str(number) for number, channel in enumerate(stream.channels)]
        scales = np.array([_VOLTS.get(channel.unit.lower(), 1.0) for channel in stream.channels])
        kinds = [channel.type.lower() if channel.type.lower() in _MNE_TYPES else "misc" for channel in stream.channels]
        raw = mne.io.RawArray((stream.data * scales).T, mne.create_info(labels, rate, kinds), verbose="warning")
        marks = [(gap.row / rate, "EDGE boundary") for gap in stream.gaps]
        left_out = 0
        for other in self.streams:
            if other is not stream and other.is_events:
                rows = _rows_at(other.times, stream.times)
                marks += [(row / rate, _event_text(values)) for row, values in zip(rows, other.data) if np.isfinite(row)]
                left_out += int(np.count_nonzero(~np.isfinite(rows)))
        if left_out:
            outside = f"before the first sample of {stream.name!r} or after its last"
            warnings.warn(f"{left_out} events {outside} are not in the annotations.", stacklevel=2)
        onsets, texts = [onset for onset, _ in marks], [text for _, text in marks]
        raw.set_annotations(mne.Annotations(onsets, np.zeros(len(onsets)), texts), verbose="warning")
        return raw

    def __repr__(self) -> str:
        return "\n".join([f"<Recording of {len(self)} streams>", *(f"  {stream!r}" for stream in self.streams), *self.damage])


def _rows_at(times: NDArray[np.float64], of: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where each time lies among the rows of a stream with the times `of`; NaN before the first and after the last."""
    rows = np.full(len(times), np.nan)
    known = np.flatnonzero(np.isfinite(of))
    # np.interp needs times that rise. A clock that was set back begins anew; less than a second back is jitter.
    for part in np.split(known, np.flatnonzero(np.diff(of[known]) < -1.0) + 1):
        if len(part):
            found = np.interp(times, np.maximum.accumulate(of[part]), part, np.nan, np.nan)
            rows = np.where(np.isnan(rows), found, rows)
    return rows


def _event_text(values: NDArray[Any]) -> str:
    """A sample of an event stream in one line, as `schwann export` writes it."""
    return "\t".join(np.format_float_positional(value, trim="-") if isinstance(value, np.floating) else str(value) for value in values)


def _optional(name: str) -> Any:
    """A package that this one does not ask for. Raises ImportError with the command that brings it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{error}: `pip install {name}` brings it.") from error


_VOLTS = {"v": 1.0, "volts": 1.0, "mv": 1e-3, "millivolts": 1e-3, "uv": 1e-6, "µv": 1e-6, "μv": 1e-6, "microvolts": 1e-6}
_MNE_TYPES = {"eeg", "eog", "emg", "ecg"}


def read_xdf(path: str | os.PathLike[str], *, synchronize: bool = True, dejitter: bool = True,
             identity: str | os.PathLike[str] | None = None) -> Recording:
    """Reads a recording, as pyxdf does and to the same times.

    - `synchronize` places all streams on the recorder's clock; without it each keeps its sender's.
    - `dejitter` evens out the times of streams with a rate, between gaps.
    - `identity` is a file with the secret key of a sealed recording, as age-keygen writes it.

    A damaged file is read as far as it is whole: see `Recording.damage`. Raises OSError if the file cannot be read, and
    ArgumentError if it is not an XDF file, or is sealed to another key.
    """
    key = None if identity is None else checked_path(identity, "The identity")
    # A number would be taken for a descriptor, and closed.
    checked = checked_path(path, "The recording")
    # Has the system say what is wrong with the path, in Python's words.
    with open(checked, "rb"):
        pass
    header, streams, damage = _schwann.read_xdf(checked, synchronize, dejitter, key)
    return Recording(header, [RecordedStream(stream) for stream in streams], damage)
