"""A library with the functions that the scenarios call, and the record of what went over its sockets."""

import ctypes as C
import re
import socket
import time

# Codes, struct letters, suffixes of functions and C types of the channel formats.
FORMATS = {"float32": 1, "double64": 2, "string": 3, "int32": 4, "int16": 5, "int8": 6, "int64": 7}
PACK = {"float32": "f", "double64": "d", "int32": "i", "int16": "h", "int8": "b", "int64": "q"}
SUFFIX = {"float32": "f", "double64": "d", "string": "str", "int32": "i", "int16": "s", "int8": "c", "int64": "l"}
CT = {
    "float32": C.c_float,
    "double64": C.c_double,
    "int32": C.c_int32,
    "int16": C.c_int16,
    "int8": C.c_int8,
    "int64": C.c_int64,
}


class Library:
    def __init__(self, path, config):
        self.c = l = C.CDLL(path)
        P, D, I, S = C.c_void_p, C.c_double, C.c_int32, C.c_char_p

        def sig(name, res, *args):
            f = getattr(l, name)
            f.restype, f.argtypes = res, list(args)
            return f

        sig("lsl_set_config_content", None, S)(config.encode())
        sig("lsl_library_info", S), sig("lsl_library_version", I), sig("lsl_protocol_version", I)
        sig("lsl_last_error", S), sig("lsl_local_clock", D)
        sig("lsl_create_streaminfo", P, S, S, I, D, I, S), sig("lsl_destroy_streaminfo", None, P)
        sig("lsl_streaminfo_from_xml", P, S), sig("lsl_get_desc", P, P), sig("lsl_get_uid", S, P)
        sig("lsl_get_xml", P, P), sig("lsl_get_created_at", D, P), sig("lsl_get_hostname", S, P)
        sig("lsl_get_name", S, P), sig("lsl_destroy_string", None, P)
        sig("lsl_append_child_value", P, P, S, S), sig("lsl_append_child", P, P, S)
        sig("lsl_create_outlet", P, P, I, I), sig("lsl_create_outlet_ex", P, P, I, I, I)
        sig("lsl_destroy_outlet", None, P)
        sig("lsl_get_info", P, P), sig("lsl_have_consumers", I, P), sig("lsl_wait_for_consumers", I, P, D)
        for f, s in SUFFIX.items():
            sig("lsl_push_sample_%stp" % s, I, P, P, D, I), sig("lsl_push_chunk_%stp" % s, I, P, P, C.c_ulong, D, I)
            sig("lsl_pull_sample_%s" % s, D, P, P, I, D, C.POINTER(I))
        sig("lsl_push_sample_buftp", I, P, P, P, D, I)
        sig("lsl_pull_sample_buf", D, P, P, P, I, D, C.POINTER(I))
        sig("lsl_create_inlet", P, P, I, I, I), sig("lsl_create_inlet_ex", P, P, I, I, I, I)
        sig("lsl_destroy_inlet", None, P), sig("lsl_open_stream", None, P, D, C.POINTER(I))
        sig("lsl_close_stream", None, P), sig("lsl_get_fullinfo", P, P, D, C.POINTER(I))
        sig("lsl_time_correction_ex", D, P, C.POINTER(D), C.POINTER(D), D, C.POINTER(I))
        sig("lsl_resolve_bypred", I, P, C.c_uint32, S, I, D)

    def xml(self, info):
        p = self.c.lsl_get_xml(info)
        s = C.string_at(p).decode()
        self.c.lsl_destroy_string(p)
        return s

    def push(self, out, format, values, ts=0.0, push=1):
        if format == "string":
            arr = (C.c_char_p * len(values))(*values)
            ln = (C.c_uint32 * len(values))(*map(len, values))
            return self.c.lsl_push_sample_buftp(out, arr, ln, ts, push)
        return getattr(self.c, "lsl_push_sample_%stp" % SUFFIX[format])(
            out, (CT[format] * len(values))(*values), ts, push
        )

    def push_chunk(self, out, format, values, ts=0.0, push=1):
        return getattr(self.c, "lsl_push_chunk_%stp" % SUFFIX[format])(
            out, (CT[format] * len(values))(*values), len(values), ts, push
        )

    def pull(self, inlet, format, n, timeout=2.0):
        error = C.c_int32(0)
        if format == "string":
            buf, ln = (C.c_void_p * n)(), (C.c_uint32 * n)()
            t = self.c.lsl_pull_sample_buf(inlet, buf, ln, n, timeout, C.byref(error))
            values = []
            if t:
                for i in range(n):
                    values.append(C.string_at(buf[i], ln[i]).decode("latin-1"))
                    self.c.lsl_destroy_string(buf[i])
        else:
            buf = (CT[format] * n)()
            t = getattr(self.c, "lsl_pull_sample_" + SUFFIX[format])(inlet, buf, n, timeout, C.byref(error))
            values = [repr(v) if isinstance(v, float) else v for v in buf] if t else []
        return {"timestamp": repr(t), "values": values, "errcode": error.value}


class Record:
    def __init__(self, lib):
        self.library, self.steps, self.known, self.checks, self.notes = lib, [], [], {}, []

    def know(self, what, value):
        """Register a byte string that differs between runs; it is marked wherever it appears."""
        if isinstance(value, str):
            value = value.encode()
        if value:
            self.known.append((what, value))

    def know_info(self, info):
        x = self.library.xml(info)
        for tag in ("uid", "created_at", "hostname"):
            m = re.search("<%s>([^<]*)</%s>" % (tag, tag), x)
            if m:
                self.know(tag, m.group(1))

    def step(self, direction, proto, data, note, volatile=()):
        v = list(volatile)
        for what, val in self.known:
            for m in re.finditer(re.escape(val), data):
                v.append({"offset": m.start(), "length": len(val), "what": what})
        if direction == "lib->script":
            for m in re.finditer(rb"<(v[46](?:data|service)_port)>([1-9]\d*)</", data):
                v.append({"offset": m.start(2), "length": len(m.group(2)), "what": m.group(1).decode()})
        d = {
            "n": len(self.steps) + 1,
            "dir": direction,
            "proto": proto,
            "note": note,
            "len": len(data),
            "hex": data.hex(),
        }
        if data and all(b in (9, 10, 13) or 32 <= b < 127 for b in data):
            d["text"] = data.decode("latin-1")
        d["volatile"] = sorted(v, key=lambda z: z["offset"])
        self.steps.append(d)
        return data

    def to(self, proto, data, note, volatile=()):
        return self.step("script->lib", proto, data, note, volatile)

    def frm(self, proto, data, note, volatile=()):
        return self.step("lib->script", proto, data, note, volatile)


def tcp_connect(port, host="127.0.0.1"):
    s = socket.create_connection((host, port), 3)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def read_until_idle(s, idle=0.4, total=5.0):
    """Read until nothing arrives for `idle` seconds or EOF.  Returns (bytes, eof?)."""
    out, eof, end = b"", False, time.monotonic() + total
    while time.monotonic() < end:
        s.settimeout(idle)
        try:
            d = s.recv(65536)
        except socket.timeout:
            break
        except ConnectionError:
            eof = True
            break
        if not d:
            eof = True
            break
        out += d
    return out, eof


def read_request(conn, terminator=b"\r\n\r\n", timeout=3.0):
    out, end = b"", time.monotonic() + timeout
    while terminator not in out and time.monotonic() < end:
        conn.settimeout(max(0.01, end - time.monotonic()))
        try:
            d = conn.recv(65536)
        except socket.timeout:
            break
        if not d:
            break
        out += d
    return out


def udp_socket(port=0, host="127.0.0.1", timeout=1.0):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((host, port))
    s.settimeout(timeout)
    return s
