"""The C ABI of liblsl through ctypes, for any library by path.

Not a wrapper for applications: it checks nothing that the library should check itself, and shows what the
library does, down to the pointers that it leaves in a caller's buffer.
"""

import ctypes as c

# Tests find all of it here.
from lsl_abi import (ALL, ARGUMENT, CLOCKSYNC, DEDUCED, DEJITTER, FOREVER, FORMATS, INTERNAL, LOST, MONOTONIZE,  # noqa: F401
                     SAMPLES, SYNC, THOUSANDTHS, THREADSAFE, TIMEOUT, Functions, LslError, bits, encode)
from lsl_info import Info, Node  # noqa: F401
from lsl_inlet import Inlet
from lsl_outlet import Outlet


class Library(Functions):
    """A loaded library; makes all other objects."""

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


class Resolver:
    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def names(self):
        return sorted(info.name() for info in self.library._infos(
            lambda handles, space: self.library.resolver_results(self.handle, handles, space)))

    def destroy(self):
        self.library.destroy_continuous_resolver(self.handle)
