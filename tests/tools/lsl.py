"""The C ABI of liblsl through ctypes, for any library by path.

Not a wrapper for applications: it checks nothing that the library should check itself, and shows what the
library does, down to the pointers that it leaves in a caller's buffer.
"""

import ctypes as c
import struct

FORMATS = {"float32": 1, "double64": 2, "string": 3, "int32": 4, "int16": 5, "int8": 6, "int64": 7}
SUFFIX = {"float32": "f", "double64": "d", "string": "buf", "int32": "i", "int16": "s", "int8": "c", "int64": "l"}
ELEMENT = {"float32": c.c_float, "double64": c.c_double, "int32": c.c_int32, "int16": c.c_int16, "int8": c.c_int8,
           "int64": c.c_int64, "string": c.c_void_p}
FOREVER = 32_000_000.0
DEDUCED = -1.0
CLOCKSYNC, DEJITTER, MONOTONIZE, THREADSAFE, ALL = 1, 2, 4, 8, 15
SAMPLES, THOUSANDTHS, SYNC = 1, 2, 4
TIMEOUT, LOST, ARGUMENT, INTERNAL = -1, -2, -3, -4


class LslError(Exception):
    """A call failed: its code (None where the ABI returns NULL) and this thread's error text."""

    def __init__(self, code, text):
        super().__init__(code, text)
        self.code, self.text = code, text

    def __str__(self):
        return f"code {self.code}: {self.text}"


class Library:
    """A loaded library; makes all other objects."""

    def __init__(self, path):
        self.c = c.CDLL(path)
        text, handle, number = c.c_char_p, c.c_void_p, c.c_int32
        out = c.POINTER(c.c_int32)
        self.returns(text, "last_error library_info get_name get_type get_source_id get_uid get_session_id "
                           "get_hostname name value child_value child_value_n")
        self.returns(c.c_double, "local_clock get_nominal_srate get_created_at time_correction time_correction_ex")
        self.returns(handle, "create_streaminfo copy_streaminfo streaminfo_from_xml get_desc get_xml create_outlet "
                             "create_outlet_ex get_info create_inlet create_inlet_ex get_fullinfo "
                             "create_continuous_resolver create_continuous_resolver_byprop "
                             "create_continuous_resolver_bypred first_child last_child next_sibling "
                             "previous_sibling parent child next_sibling_n previous_sibling_n append_child_value "
                             "prepend_child_value append_child prepend_child append_copy prepend_copy")
        self.returns(None, "destroy_streaminfo destroy_outlet destroy_inlet destroy_string open_stream close_stream "
                           "destroy_continuous_resolver remove_child remove_child_n set_config_content "
                           "set_config_filename")
        self.takes("create_streaminfo", text, text, number, c.c_double, number, text)
        for name in ("copy_streaminfo destroy_streaminfo get_name get_type get_source_id get_uid get_session_id "
                     "get_hostname get_nominal_srate get_created_at get_desc get_xml get_channel_count "
                     "get_channel_format get_version get_channel_bytes get_sample_bytes destroy_outlet "
                     "have_consumers get_info destroy_inlet close_stream samples_available inlet_flush "
                     "was_clock_reset destroy_continuous_resolver first_child last_child next_sibling "
                     "previous_sibling parent empty is_text name value child_value destroy_string").split():
            self.takes(name, handle)
        for name in "child next_sibling_n previous_sibling_n child_value_n append_child prepend_child set_name " \
                    "set_value remove_child_n stream_info_matches_query".split():
            self.takes(name, handle, text)
        for name in "append_child_value prepend_child_value set_child_value".split():
            self.takes(name, handle, text, text)
        for name in "append_copy prepend_copy remove_child".split():
            self.takes(name, handle, handle)
        self.takes("streaminfo_from_xml", text)
        self.takes("create_outlet", handle, number, number)
        self.takes("create_outlet_ex", handle, number, number, number)
        self.takes("wait_for_consumers", handle, c.c_double)
        self.takes("create_inlet", handle, number, number, number)
        self.takes("create_inlet_ex", handle, number, number, number, number)
        self.takes("get_fullinfo", handle, c.c_double, out)
        self.takes("open_stream", handle, c.c_double, out)
        self.takes("time_correction", handle, c.c_double, out)
        self.takes("time_correction_ex", handle, c.POINTER(c.c_double), c.POINTER(c.c_double), c.c_double, out)
        self.takes("set_postprocessing", handle, c.c_uint32)
        self.takes("smoothing_halftime", handle, c.c_float)
        infos = c.POINTER(handle)
        self.takes("resolve_all", infos, c.c_uint32, c.c_double)
        self.takes("resolve_byprop", infos, c.c_uint32, text, text, number, c.c_double)
        self.takes("resolve_bypred", infos, c.c_uint32, text, number, c.c_double)
        self.takes("create_continuous_resolver", c.c_double)
        self.takes("create_continuous_resolver_byprop", text, text, c.c_double)
        self.takes("create_continuous_resolver_bypred", text, c.c_double)
        self.takes("resolver_results", handle, infos, c.c_uint32)
        self.takes("set_config_content", text)
        self.takes("set_config_filename", text)
        for name, suffix in SUFFIX.items():
            data = c.POINTER(c.c_char_p if name == "string" else ELEMENT[name])
            lengths = [c.POINTER(c.c_uint32)] if name == "string" else []
            pulled = c.POINTER(ELEMENT[name])
            self.takes(f"push_sample_{suffix}tp", handle, data, *lengths, c.c_double, number)
            self.takes(f"push_chunk_{suffix}tp", handle, data, *lengths, c.c_ulong, c.c_double, number)
            self.takes(f"push_chunk_{suffix}tnp", handle, data, *lengths, c.c_ulong, c.POINTER(c.c_double), number)
            self.returns(c.c_double, f"pull_sample_{suffix}")
            self.takes(f"pull_sample_{suffix}", handle, pulled, *lengths, number, c.c_double, out)
            self.returns(c.c_ulong, f"pull_chunk_{suffix}")
            self.takes(f"pull_chunk_{suffix}", handle, pulled, *lengths, c.POINTER(c.c_double), c.c_ulong, c.c_ulong,
                       c.c_double, out)
        self.returns(c.c_ulong, "pull_chunk_str")
        self.takes("pull_chunk_str", handle, c.POINTER(c.c_void_p), c.POINTER(c.c_double), c.c_ulong, c.c_ulong,
                   c.c_double, out)
        self.takes("push_sample_vtp", handle, c.c_void_p, c.c_double, number)
        self.returns(c.c_double, "pull_sample_v")
        self.takes("pull_sample_v", handle, c.c_void_p, number, c.c_double, out)
        self.takes("push_sample_strtp", handle, c.POINTER(c.c_char_p), c.c_double, number)

    def returns(self, kind, names):
        for name in names.split():
            getattr(self.c, f"lsl_{name}").restype = kind

    def takes(self, name, *kinds):
        getattr(self.c, f"lsl_{name}").argtypes = kinds

    def __getattr__(self, name):
        return getattr(self.c, f"lsl_{name}")

    def error(self, code=None):
        return LslError(code, self.c.lsl_last_error().decode(errors="replace"))

    def version(self):
        return self.library_version()

    def clock(self):
        return self.local_clock()

    def last_error_text(self):
        return self.last_error().decode(errors="replace")

    def configure(self, content):
        self.set_config_content(content.encode())

    def info(self, name="Interop", type="EEG", channels=1, rate=0.0, format="float32", source="interop"):
        number = format if isinstance(format, int) else FORMATS[format]
        handle = self.create_streaminfo(encode(name), encode(type), channels, rate, number, encode(source))
        if not handle:
            raise self.error()
        return Info(self, handle)

    def info_from_xml(self, xml):
        return Info(self, self.streaminfo_from_xml(xml.encode()))

    def outlet(self, name="Interop", type="EEG", channels=1, rate=0.0, format="float32", source="interop", desc=None,
               chunk=0, buffer=360, flags=0):
        info = self.info(name, type, channels, rate, format, source)
        if desc:
            info.fill(desc)
        return Outlet(self, info, chunk, buffer, flags)

    def outlet_of(self, info, chunk=0, buffer=360, flags=0):
        return Outlet(self, info, chunk, buffer, flags)

    def inlet(self, property="source_id", value="interop", buffer=360, chunk=0, recover=True, flags=0, timeout=15.0):
        """Resolves one stream and makes an inlet of it."""
        found = self.resolve(property, value, 1, timeout)
        if not found:
            raise LslError(TIMEOUT, f"no stream with {property}={value!r}")
        return Inlet(self, found[0], buffer, chunk, recover, flags)

    def inlet_of(self, info, buffer=360, chunk=0, recover=True, flags=0):
        return Inlet(self, info, buffer, chunk, recover, flags)

    def _infos(self, call, *arguments, space=1024):
        handles = (c.c_void_p * space)()
        count = call(handles, space, *arguments)
        if count < 0:
            raise self.error(count)
        return [Info(self, handle) for handle in handles[:count]]

    def resolve(self, property, value, minimum=1, timeout=15.0):
        return self._infos(self.resolve_byprop, encode(property), encode(value), minimum, timeout)

    def resolve_predicate(self, predicate, minimum=1, timeout=15.0):
        return self._infos(self.resolve_bypred, encode(predicate), minimum, timeout)

    def resolve_everything(self, wait):
        return self._infos(self.resolve_all, wait)

    def names(self, predicate, minimum=0, timeout=1.0):
        return sorted(info.name() for info in self.resolve_predicate(predicate, minimum, timeout))

    def resolver(self, property=None, value=None, predicate=None, forget_after=5.0):
        if predicate is not None:
            handle = self.create_continuous_resolver_bypred(encode(predicate), forget_after)
        elif property is not None:
            handle = self.create_continuous_resolver_byprop(encode(property), encode(value), forget_after)
        else:
            handle = self.create_continuous_resolver(forget_after)
        if not handle:
            raise self.error()
        return Resolver(self, handle)

    def string_array_is_destroyed(self):
        """lsl_destroy_string_array of nothing, of NULLs, and of real strings."""
        destroy = self.destroy_string_array
        destroy.argtypes = (c.POINTER(c.c_void_p), c.c_ulong)
        destroy.restype = None
        destroy(None, 0)
        destroy((c.c_void_p * 3)(), 3)
        libc = c.CDLL(None)
        libc.strdup.restype = c.c_void_p
        strings = (c.c_void_p * 3)(libc.strdup(b"one"), None, libc.strdup(b"three"))
        destroy(strings, 0)
        untouched = c.string_at(strings[0])
        destroy(strings, 3)
        return untouched

    def nulls_are_harmless(self):
        for name in "destroy_streaminfo destroy_outlet destroy_inlet destroy_continuous_resolver destroy_string".split():
            getattr(self, name)(None)
        empty = [self.name(None), self.value(None), self.child_value(None), self.child_value_n(None, b"x")]
        nodes = [self.first_child(None), self.parent(None), self.child(None, b"x"), self.append_child(None, b"x")]
        return empty == [b""] * 4 and nodes == [None] * 4 and self.empty(None) == 1 and self.is_text(None) == 1


class Info:
    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def text(self, field):
        return getattr(self.library, f"get_{field}")(self.handle).decode(errors="replace")

    def name(self):
        return self.text("name")

    def fields(self):
        library = self.library
        formats = {number: name for name, number in FORMATS.items()}
        return {
            **{field: self.text(field) for field in ("name", "type", "source_id", "uid", "session_id", "hostname")},
            "channels": library.get_channel_count(self.handle), "rate": library.get_nominal_srate(self.handle),
            "format": formats.get(library.get_channel_format(self.handle), "undefined"),
            "version": library.get_version(self.handle), "created_at": library.get_created_at(self.handle),
        }

    def sizes(self):
        return self.library.get_channel_bytes(self.handle), self.library.get_sample_bytes(self.handle)

    def xml(self):
        pointer = self.library.get_xml(self.handle)
        text = c.string_at(pointer).decode(errors="surrogateescape")
        self.library.destroy_string(pointer)
        return text

    def desc(self):
        return Node(self.library, self.library.get_desc(self.handle))

    def desc_tree(self):
        return self.desc().tree()

    def fill(self, tree):
        """Adds (name, value or list of such) pairs below desc."""
        self.desc().fill(tree)

    def copy(self):
        return Info(self.library, self.library.copy_streaminfo(self.handle))

    def matches(self, query):
        return self.library.stream_info_matches_query(self.handle, encode(query))

    def reset_uid(self):
        self.library.c.lsl_reset_uid.restype = c.c_char_p
        self.library.c.lsl_reset_uid.argtypes = (c.c_void_p,)
        return self.library.reset_uid(self.handle).decode()

    def destroy(self):
        self.library.destroy_streaminfo(self.handle)


class Node:
    """A node of the description tree."""

    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def fill(self, tree):
        for name, value in tree:
            if isinstance(value, str):
                self.library.append_child_value(self.handle, encode(name), encode(value))
            else:
                Node(self.library, self.library.append_child(self.handle, encode(name))).fill(value)

    def tree(self):
        library, children = self.library, []
        child = library.first_child(self.handle)
        while child:
            if not library.is_text(child):
                node = Node(library, child)
                inner = node.tree()
                children.append((node.name(), inner if inner else library.child_value(child).decode()))
            child = library.next_sibling(child)
        return children

    def name(self):
        return self.library.name(self.handle).decode()

    def call(self, function, *arguments):
        """Calls an lsl_ XML function on this node; nodes become Node, text becomes str."""
        given = [a.handle if isinstance(a, Node) else encode(a) for a in arguments]
        result = getattr(self.library, function)(self.handle, *given)
        if isinstance(result, bytes):
            return result.decode()
        if function in ("empty", "is_text", "set_child_value", "set_name", "set_value"):
            return result
        return Node(self.library, result) if result else None

    def is_same(self, other):
        return self.handle == other.handle


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


class Resolver:
    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def names(self):
        return sorted(info.name() for info in self.library._infos(
            lambda handles, space: self.library.resolver_results(self.handle, handles, space)))

    def destroy(self):
        self.library.destroy_continuous_resolver(self.handle)


def encode(text):
    return text.encode() if isinstance(text, str) else text


def bits(values, format):
    """Values as their bytes, so that NaN and -0.0 compare."""
    code = {"float32": "f", "double64": "d", "int8": "b", "int16": "h", "int32": "i", "int64": "q"}[format]
    return struct.pack(f"{len(values)}{code}", *values)
