"""Every function of the C ABI of liblsl with the types that it takes and returns, for any library by path."""

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


class Functions:
    """A loaded library, and its functions by their names without `lsl_`."""

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
        self.declare_pushing_and_pulling()

    def declare_pushing_and_pulling(self):
        handle, number, out = c.c_void_p, c.c_int32, c.POINTER(c.c_int32)
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


def encode(text):
    return text.encode() if isinstance(text, str) else text


def bits(values, format):
    """Values as their bytes, so that NaN and -0.0 compare."""
    code = {"float32": "f", "double64": "d", "int8": "b", "int16": "h", "int32": "i", "int64": "q"}[format]
    return struct.pack(f"{len(values)}{code}", *values)
