"""An outlet, pushed to in each way that the C ABI has."""

import ctypes as c

from lsl_abi import ELEMENT, SUFFIX, encode
from lsl_info import Info


class Outlet:
    def __init__(self, library, info, chunk, buffer, flags):
        self.library, self.format = library, info.fields()["format"]
        self.channels = info.fields()["channels"]
        self.handle = library.create_outlet_ex(info.handle, chunk, buffer, flags) if flags else \
            library.create_outlet(info.handle, chunk, buffer)
        if not self.handle:
            raise library.error()

    def _data(self, values, kind=None):
        kind = kind or self.format
        if kind != "string":
            return [(ELEMENT[kind] * len(values))(*values)]
        texts = [encode(value) for value in values]
        return [(c.c_char_p * len(texts))(*texts), (c.c_uint32 * len(texts))(*map(len, texts))]

    def push(self, values, stamp=0.0, through=1, kind=None):
        kind = kind or self.format
        call = getattr(self.library, f"push_sample_{SUFFIX[kind]}tp")
        code = call(self.handle, *self._data(values, kind), stamp, through)
        if code:
            raise self.library.error(code)

    def push_chunk(self, values, stamp=0.0, through=1, kind=None, stamps=None):
        """Pushes interleaved values, with one stamp for the last sample or a list with one for each."""
        kind = kind or self.format
        if stamps is None:
            call = getattr(self.library, f"push_chunk_{SUFFIX[kind]}tp")
            code = call(self.handle, *self._data(values, kind), len(values), stamp, through)
        else:
            call = getattr(self.library, f"push_chunk_{SUFFIX[kind]}tnp")
            stamps = (c.c_double * len(stamps))(*stamps)
            code = call(self.handle, *self._data(values, kind), len(values), stamps, through)
        if code:
            raise self.library.error(code)

    def push_raw(self, data, stamp=0.0):
        code = self.library.push_sample_vtp(self.handle, data, stamp, 1)
        if code:
            raise self.library.error(code)

    def push_clock(self, count, period):
        """Pushes the clock as value and stamp, `count` times, every `period` seconds; returns the clocks."""
        import time
        clocks, start = [], self.library.clock()
        for number in range(count):
            time.sleep(max(0.0, start + number * period - self.library.clock()))
            clocks.append(self.library.clock())
            self.push([clocks[-1]] * self.channels, clocks[-1])
        return clocks

    def push_in_a_child(self, values, count, how="fork"):
        """Forks, or clones without the C library's knowledge, pushes in the child, and returns how the child's pushes ended
        once it is gone."""
        import os
        import platform
        import signal
        clone = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
        child = os.fork() if how == "fork" else c.CDLL(None).syscall(clone[platform.machine()], int(signal.SIGCHLD), 0, 0, 0, 0)
        if not child:
            try:
                for _ in range(count):
                    self.push(values)
                os._exit(0)
            except BaseException:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def push_until(self, seconds):
        """Pushes as fast as possible for so long; returns the number of pushes."""
        end, count = self.library.clock() + seconds, 0
        while self.library.clock() < end:
            self.push([0] * self.channels)
            count += 1
        return count

    def consumers(self):
        return bool(self.library.have_consumers(self.handle))

    def wait(self, timeout=15.0):
        return bool(self.library.wait_for_consumers(self.handle, timeout))

    def info(self):
        return Info(self.library, self.library.get_info(self.handle))

    def destroy(self):
        self.library.destroy_outlet(self.handle)
