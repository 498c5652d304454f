"""An inlet, pulled from in each way that the C ABI has."""

import ctypes as c

from lsl_abi import ELEMENT, SUFFIX, LslError
from lsl_info import Info


class Inlet:
    def __init__(self, library, info, buffer, chunk, recover, flags):
        self.library, fields = library, info.fields()
        self.format, self.channels = fields["format"], fields["channels"]
        self.handle = library.create_inlet_ex(info.handle, buffer, chunk, int(recover), flags) if flags else \
            library.create_inlet(info.handle, buffer, chunk, int(recover))
        if not self.handle:
            raise library.error()

    def _check(self, code):
        if code.value:
            raise self.library.error(code.value)

    def open(self, timeout=15.0):
        code = c.c_int32()
        self.library.open_stream(self.handle, timeout, code)
        self._check(code)

    def close(self):
        self.library.close_stream(self.handle)

    def pull(self, timeout=15.0, kind=None, elements=None):
        """Returns (values, stamp), or (None, 0.0) when none came."""
        kind, count, code = kind or self.format, elements or self.channels, c.c_int32()
        buffer = (ELEMENT[kind] * max(count, self.channels))()
        lengths = (c.c_uint32 * max(count, self.channels))() if kind == "string" else None
        call = getattr(self.library, f"pull_sample_{SUFFIX[kind]}")
        stamp = call(self.handle, buffer, *([lengths] if kind == "string" else []), count, timeout, code)
        self._check(code)
        if stamp == 0.0:
            return None, 0.0
        return (self._texts(buffer, lengths) if kind == "string" else list(buffer)), stamp

    def pull_raw(self, size, timeout=15.0):
        buffer, code = c.create_string_buffer(size), c.c_int32()
        stamp = self.library.pull_sample_v(self.handle, buffer, size, timeout, code)
        self._check(code)
        return buffer.raw, stamp

    def pull_chunk(self, samples, timeout=0.0, kind=None, stamps=True, values=None):
        """Returns (values, stamps) of up to so many samples."""
        kind, code = kind or self.format, c.c_int32()
        count = values or samples * self.channels
        buffer = (ELEMENT[kind] * count)()
        lengths = (c.c_uint32 * count)() if kind == "string" else None
        times = (c.c_double * samples)() if stamps else None
        call = getattr(self.library, f"pull_chunk_{SUFFIX[kind]}")
        written = call(self.handle, buffer, *([lengths] if lengths else []), times, count, samples if stamps else 0,
                       timeout, code)
        self._check(code)
        found = self._texts(buffer, lengths)[:written] if lengths else list(buffer)[:written]
        return found, list(times)[:written // self.channels] if stamps else None

    def pull_all(self, samples, timeout=15.0):
        """Pulls until there are so many samples; returns (values, stamps)."""
        end, values, times = self.library.clock() + timeout, [], []
        while len(times) < samples and self.library.clock() < end:
            value, stamp = self.pull(max(0.0, end - self.library.clock()))
            if value is not None:
                values.append(value)
                times.append(stamp)
        return values, times

    def drain(self, samples, timeout):
        """Pulls so many samples, or until none comes for so long or the stream ends: the values and the error's code."""
        values = []
        try:
            while len(values) < samples and (value := self.pull(timeout)[0]) is not None:
                values.append(value)
        except LslError as error:
            return values, error.code
        return values, None

    def string_slots(self, samples, timeout, function="pull_chunk_str"):
        """What pull_chunk_str or _buf leaves in every slot: bytes or None, and the lengths."""
        count, code = samples * self.channels, c.c_int32()
        libc = c.CDLL(None)
        libc.strdup.restype = c.c_void_p
        # Not zero before: the library must write every slot.
        buffer = (c.c_void_p * count)(*([1] * count))
        lengths = (c.c_uint32 * count)(*([77] * count))
        times = (c.c_double * samples)()
        extra = [lengths] if function == "pull_chunk_buf" else []
        written = getattr(self.library, function)(self.handle, buffer, *extra, times, count, samples, timeout, code)
        self._check(code)
        slots = []
        for pointer, length in zip(buffer, lengths):
            slots.append(c.string_at(pointer, length) if extra and pointer else c.string_at(pointer) if pointer else None)
            if pointer:
                self.library.destroy_string(pointer)
        return written, slots, list(lengths) if extra else None

    def _texts(self, buffer, lengths):
        texts = []
        for pointer, length in zip(buffer, lengths):
            texts.append(c.string_at(pointer, length) if pointer else b"")
            if pointer:
                self.library.destroy_string(pointer)
        return texts

    def timed(self, method, *arguments, **named):
        """Calls a method and returns (seconds it took, its result or the LslError)."""
        start = self.library.clock()
        try:
            result = getattr(self, method)(*arguments, **named)
        except LslError as error:
            result = error
        return self.library.clock() - start, result

    def available(self):
        return self.library.samples_available(self.handle)

    def flush(self):
        return self.library.inlet_flush(self.handle)

    def postprocess(self, flags):
        return self.library.set_postprocessing(self.handle, flags)

    def halftime(self, seconds):
        return self.library.smoothing_halftime(self.handle, seconds)

    def clock_was_reset(self):
        return self.library.was_clock_reset(self.handle)

    def correction(self, timeout=10.0):
        code = c.c_int32()
        result = self.library.time_correction(self.handle, timeout, code)
        self._check(code)
        return result

    def correction_ex(self, timeout=10.0):
        code, remote, uncertainty = c.c_int32(), c.c_double(), c.c_double()
        result = self.library.time_correction_ex(self.handle, remote, uncertainty, timeout, code)
        self._check(code)
        return result, remote.value, uncertainty.value

    def info(self, timeout=15.0):
        code = c.c_int32()
        handle = self.library.get_fullinfo(self.handle, timeout, code)
        self._check(code)
        if not handle:
            raise self.library.error()
        return Info(self.library, handle)

    def destroy(self):
        self.library.destroy_inlet(self.handle)
