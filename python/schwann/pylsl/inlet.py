"""Receiving."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _schwann
from .._errors import Error
from .info import StreamInfo, native
from .lib import fmt2npdtype, fmt2type
from .util import FOREVER, translated


class StreamInlet:
    """The receiving end of a stream."""

    def __init__(
        self,
        info: StreamInfo,
        max_buflen: int = 360,
        max_chunklen: int = 0,
        recover: bool = True,
        processing_flags: int = 0,
        as_numpy: bool = False,
    ) -> None:
        """Makes a receiver; it connects when samples are first asked for.

        - `max_buflen`: seconds of samples that are kept between pulls; hundreds of samples for a stream without a rate.
        - `max_chunklen`: samples that the outlet shall send at a time; 0 leaves it to the outlet.
        - `recover`: whether a stream that was lost is looked for; needs a source id.
        - `processing_flags`: `proc_*`, added.
        - `as_numpy`: whether pulls return arrays, of bytes for strings, instead of lists.
        """
        described = native(info)
        self.as_numpy = bool(as_numpy)
        try:
            self.obj = _schwann.Inlet(described, max_buflen, bool(recover), max_chunklen)
        except (Error, OverflowError) as error:
            raise RuntimeError(f"could not create stream inlet: {error}") from None
        if processing_flags > 0:
            self.obj.set_post_processing(processing_flags)
        self.channel_format = info.channel_format()
        self.channel_count = info.channel_count()
        self.value_type = fmt2type[self.channel_format]
        self.np_dtype = fmt2npdtype[self.channel_format]
        self.sample_type = self.value_type * self.channel_count

    def __del__(self) -> None:
        inlet = getattr(self, "obj", None)
        if inlet is not None:
            inlet.close()

    def info(self, timeout: float = FOREVER) -> StreamInfo:
        """The whole description, with the metadata. Raises TimeoutError, LostError."""
        try:
            return StreamInfo(handle=self.obj.full_info(timeout))
        except Error as error:
            raise translated(error) from None

    def open_stream(self, timeout: float = FOREVER) -> None:
        """Connects: samples from now on are kept until they are pulled. Raises TimeoutError, LostError."""
        try:
            self.obj.open(timeout)
        except Error as error:
            raise translated(error) from None

    def close_stream(self) -> None:
        """Disconnects and drops what was not pulled; a later pull connects anew."""
        self.obj.close_stream()

    def time_correction(self, timeout: float = FOREVER) -> float:
        """Seconds to add to the sender's timestamps to have them on this clock. Raises TimeoutError, LostError."""
        try:
            return self.obj.clock_offset(timeout)[0]
        except Error as error:
            raise translated(error) from None

    def pull_sample(self, timeout: Any = FOREVER, sample: Any = None) -> tuple[Any, float | None]:
        """The oldest sample that was not pulled yet and its timestamp; `(None, None)` if there is none in time.

        Raises LostError.
        """
        target = None
        if isinstance(timeout, list):
            # The order of arguments of the first versions of pylsl.
            target, timeout = timeout, sample if isinstance(sample, float) else 0.0
        values, stamps = self._pull(timeout, 1)
        if len(stamps) == 0:
            return None, None
        row = values[0] if self.as_numpy else _listed(values)[0]
        if target is not None:
            target[:] = row
        return row, float(stamps[0])

    def pull_chunk(
        self,
        timeout: float = 0.0,
        max_samples: int = 1024,
        dest_obj: Any = None,
        min_samples: int | None = None,
        as_numpy: bool | None = None,
    ) -> tuple[Any, Any]:
        """Up to `max_samples` samples and their timestamps, waiting for them up to `timeout` seconds.

        - `dest_obj`: a buffer that takes the values, row by row. Then no samples are returned, or with `as_numpy` a view
          of it.
        - `min_samples`: so many are waited for; what else has arrived by then comes along.
        - `as_numpy`: arrays instead of lists; by default as the inlet was made.

        Raises LostError.
        """
        as_numpy = self.as_numpy if as_numpy is None else bool(as_numpy)
        first = max_samples if min_samples is None else _index(min_samples)
        if not 1 <= first <= max_samples and min_samples is not None:
            raise ValueError("min_samples must be between 1 and max_samples")
        into = None if dest_obj is None else self._view(dest_obj, max_samples)
        values, stamps = self._pull(timeout, first, into)
        if 0 < len(stamps) < max_samples and min_samples is not None:
            rest = None if into is None else into[len(stamps) :]
            more, more_stamps = self._pull(0.0, max_samples - len(stamps), rest)
            stamps = np.concatenate((stamps, more_stamps))
            values = np.concatenate((values, more)) if into is None else into[: len(stamps)]
        if as_numpy:
            return values, stamps
        return None if into is not None else _listed(values), stamps.tolist()

    def _view(self, dest_obj: Any, rows: int) -> NDArray[Any]:
        if self.np_dtype is None:
            raise TypeError("dest_obj takes no strings.")
        view: NDArray[Any] = np.frombuffer(dest_obj, self.np_dtype, rows * self.channel_count)
        if not view.flags.writeable:
            raise TypeError("dest_obj is not writable.")
        return view.reshape(rows, self.channel_count)

    def _pull(self, timeout: float, rows: int, into: NDArray[Any] | None = None) -> tuple[NDArray[Any], NDArray[np.float64]]:
        try:
            if self.np_dtype is None:
                texts, stamps = self.obj.pull_strings(rows, timeout)
                values = np.empty(len(texts), object)
                values[:] = texts
                return values.reshape(len(stamps), self.channel_count), stamps
            if into is None:
                return self.obj.pull(rows, timeout)
            stamps = np.empty(rows)
            count = self.obj.pull_into(into[:rows], stamps, timeout)
            return into[:count], stamps[:count]
        except Error as error:
            raise translated(error) from None

    def samples_available(self) -> int:
        """How many samples a pull would find."""
        return self.obj.samples_available

    def flush(self) -> int:
        """Drops what has arrived, and returns how many samples that were."""
        return self.obj.flush()

    def was_clock_reset(self) -> bool:
        """Whether the sender's clock may be another one since this was last asked."""
        return self.obj.was_clock_reset


def _listed(values: NDArray[Any]) -> list[Any]:
    """The rows as lists; strings decoded."""
    rows: list[Any] = values.tolist()
    if values.dtype == object:
        return [[text.decode("utf-8") for text in row] for row in rows]
    return rows


def _index(number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError("min_samples must be an integer or None") from None
