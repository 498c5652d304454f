"""Inlets: a raw server answers their requests."""

import ctypes as C
import re
import socket
import threading
import time
from functools import partial

from .codec import SAMPLES, bits64, integer_100, pattern_values, sample_100, sample_110, shortinfo_xml
from .record import FORMATS, read_request, read_until_idle, udp_socket
from .scenario import IPV4_ALONE, SCENARIOS, scenario


class RawServer:
    """TCP listener + UDP socket on fixed ports that impersonate an outlet."""

    def __init__(self, data_port=17100, service_port=17101):
        self.dp, self.sp = data_port, service_port
        self.t = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.t.bind(("127.0.0.1", data_port))
        self.t.listen(8)
        self.u = udp_socket(service_port)

    def accept(self, timeout=5.0):
        self.t.settimeout(timeout)
        c, _ = self.t.accept()
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return c

    def info(self, library, **kw):
        x = shortinfo_xml(v4addr="127.0.0.1", data_port=self.dp, service_port=self.sp, **kw)
        h = library.c.lsl_streaminfo_from_xml(x)
        return h, x


def response_header(
    uid="11111111-2222-4333-8444-555555555555", order_code=1234, subnormals=0, version_code=110, first="LSL/110 200 OK"
):
    return (
        "%s\r\nUID: %s\r\nByte-Order: %d\r\nSuppress-Subnormals: %d\r\nData-Protocol-Version: %d\r\n\r\n"
        % (first, uid, order_code, subnormals, version_code)
    ).encode()


def perf_volatile(q):
    m = re.search(rb"Endian-Performance: ([^\r]*)\r\n", q)
    return [{"offset": m.start(1), "length": len(m.group(1)), "what": "Endian-Performance (host speed)"}] if m else []


def inlet_feed(
    library,
    record,
    format,
    order_code=1234,
    version_code=110,
    answered_version=110,
    subnormals=0,
    samples=None,
    buflen=360,
    chunk=0,
    flags=0,
    channels=3,
):
    s = RawServer()
    info, x = s.info(
        library,
        format=format,
        channels=channels,
        version="1.100000000000000" if version_code == 110 else "1.000000000000000",
    )
    inlet = (
        library.c.lsl_create_inlet_ex(info, buflen, chunk, 1, flags)
        if flags
        else library.c.lsl_create_inlet(info, buflen, chunk, 1)
    )
    error = C.c_int32(0)
    thread = threading.Thread(target=lambda: library.c.lsl_open_stream(inlet, 5.0, C.byref(error)))
    thread.start()
    c = s.accept()
    q = read_request(c, b"\r\n\r\n" if version_code == 110 else b"\r\n", 1.0)
    if version_code != 110:
        q += read_until_idle(c, 0.3)[0]
    record.frm("tcp", q, "request sent by the inlet", perf_volatile(q))
    order = ">" if order_code == 4321 else "<"
    if version_code == 110:
        h = response_header(order_code=order_code, subnormals=subnormals, version_code=answered_version)
        record.to("tcp", h, "response header")
        c.sendall(h)
    if version_code == 100 or answered_version == 100:
        msg = shortinfo_xml(v4addr="", data_port=s.dp, service_port=s.sp, format=format, channels=channels)
        a = b"\x7f" + integer_100(9, 1) + integer_100(len(msg), 8, False) + msg
        record.to("tcp", a, "archive header and shortinfo string")
        c.sendall(a)
        tp = b"".join(
            sample_100(format, pattern_values(format, channels, o), 123456.789, i == 0) for i, o in enumerate((4, 2))
        )
        enc = lambda v, t: sample_100(format, v, t, False)
    else:
        tp = b"".join(sample_110(format, pattern_values(format, channels, o), 123456.789, order) for o in (4, 2))
        enc = lambda v, t: sample_110(format, v, t, order)
    record.to("tcp", tp, "two test-pattern samples")
    c.sendall(tp)
    thread.join()
    record.checks["open_stream_errcode"] = error.value
    for i, (values, ts) in enumerate(
        samples or list(zip(SAMPLES[format] + [SAMPLES[format][0]], (1000.5, None, 0.125)))
    ):
        b = enc(values, ts)
        record.to("tcp", b, "sample, %s" % ("deduced stamp" if ts is None else "stamp %r" % ts))
        c.sendall(b)
        record.checks["pulled_%d" % i] = library.pull(inlet, format, channels)
    library.c.lsl_destroy_inlet(inlet)
    c.close()


@scenario("1.10 handshake whose server answers Data-Protocol-Version 100 and Byte-Order 0")
def inlet_feed110_downgrade100(library, record):
    inlet_feed(library, record, "float32", 0, 110, 100)


@scenario("Suppress-Subnormals: 1 from the server: the inlet flushes subnormals to signed zero")
def inlet_feed110_suppress_subnormals(library, record):
    inlet_feed(library, record, "float32", subnormals=1, samples=[([1e-40, -1e-40, 1.0], 5.0)])


@scenario("Max-Buffer-Length and Max-Chunk-Length as sent by the inlet: 30 s at 100 Hz, chunk 7")
def inlet_feed110_buflen_seconds(library, record):
    inlet_feed(library, record, "int8", buflen=30, chunk=7)


@scenario("Max-Buffer-Length with transp_bufsize_samples")
def inlet_feed110_buflen_samples(library, record):
    inlet_feed(library, record, "int8", buflen=30, flags=1)


@scenario("Max-Buffer-Length with transp_bufsize_thousandths")
def inlet_feed110_buflen_thousandths(library, record):
    inlet_feed(library, record, "int8", buflen=2500, flags=2)


@scenario("string length fields an inlet accepts: 1, 2, 4 and 8 byte lengths")
def inlet_feed110_string_lengths(library, record):
    s = RawServer()
    info, x = s.info(library, format="string", channels=4)
    inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
    error = C.c_int32(0)
    thread = threading.Thread(target=lambda: library.c.lsl_open_stream(inlet, 5.0, C.byref(error)))
    thread.start()
    c = s.accept()
    q = read_request(c)
    record.frm("tcp", q, "request", perf_volatile(q))
    b = response_header() + b"".join(sample_110("string", pattern_values("string", 4, o), 123456.789) for o in (4, 2))
    record.to("tcp", b, "header and test pattern")
    c.sendall(b)
    thread.join()
    b = (
        b"\x02"
        + bits64(9.0)
        + b"\x01\x03one"
        + b"\x02\x03\x00two"
        + b"\x04\x05\x00\x00\x00three"
        + b"\x08\x04"
        + b"\x00" * 7
        + b"four"
    )
    record.to("tcp", b, "one sample whose four strings use length widths 1, 2, 4 and 8")
    c.sendall(b)
    record.checks["pulled"] = library.pull(inlet, "string", 4)
    library.c.lsl_destroy_inlet(inlet)
    c.close()


@scenario(
    "the first pull_chunk of an inlet sends LSL:fullinfo on a second connection and waits for it without limit, "
    "whatever its timeout"
)
def inlet_pull_chunk_needs_fullinfo(library, record):
    s = RawServer()
    info, x = s.info(library)
    inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
    error = C.c_int32(0)
    thread = threading.Thread(target=lambda: library.c.lsl_open_stream(inlet, 5.0, C.byref(error)))
    thread.start()
    c = s.accept()
    q = read_request(c)
    record.frm("tcp", q, "first connection: data", perf_volatile(q))
    b = (
        response_header()
        + b"".join(sample_110("float32", pattern_values("float32", 3, o), 123456.789) for o in (4, 2))
        + sample_110("float32", [1.0, 2.0, 3.0], 5.0)
    )
    record.to("tcp", b, "handshake, test pattern, one sample")
    c.sendall(b)
    thread.join()
    time.sleep(0.2)
    f = library.c.lsl_pull_chunk_f
    f.restype, f.argtypes = C.c_ulong, [
        C.c_void_p,
        C.c_void_p,
        C.c_void_p,
        C.c_ulong,
        C.c_ulong,
        C.c_double,
        C.POINTER(C.c_int32),
    ]
    buf, ts, res = (C.c_float * 30)(), (C.c_double * 10)(), {}
    p = threading.Thread(target=lambda: res.update(n=f(inlet, buf, ts, 30, 10, 0.0, C.byref(error))), daemon=True)
    p.start()
    try:
        c2 = s.accept(2.0)
    except socket.timeout:
        # No question, so nothing to wait for.
        p.join(3)
        record.checks["values_without_an_answer"] = res.get("n")
        return
    record.frm("tcp", read_request(c2, b"\r\n", 1.0), "second connection, caused by pull_chunk with timeout 0.0")
    time.sleep(1.0)
    record.checks["returned_before_the_answer"] = "n" in res
    record.to("tcp", x, "fullinfo answer, then close")
    c2.sendall(x)
    c2.close()
    p.join(3)
    record.checks["values_after_the_answer"] = res.get("n")


@scenario("fullinfo request of an inlet")
def inlet_fullinfo(library, record):
    s = RawServer()
    info, x = s.info(library)
    inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
    error = C.c_int32(0)
    res = {}
    thread = threading.Thread(target=lambda: res.update(h=library.c.lsl_get_fullinfo(inlet, 5.0, C.byref(error))))
    thread.start()
    c = s.accept()
    q = read_request(c, b"\r\n", 1.0)
    record.frm("tcp", q, "request; the inlet then reads until EOF")
    full = x.replace(b"\t<desc />\n", b"\t<desc>\n\t\t<manufacturer>ACME</manufacturer>\n\t</desc>\n")
    record.to("tcp", full, "reply, followed by a close")
    c.sendall(full)
    c.close()
    thread.join()
    record.checks["errcode"] = error.value
    record.checks["xml"] = library.xml(res["h"]) if res.get("h") else None
    library.c.lsl_destroy_inlet(inlet)


for _format in FORMATS:
    for _order, _tag in ((1234, "le"), (4321, "be")):
        SCENARIOS[f"inlet_feed110_{_format}_{_tag}"] = (
            partial(inlet_feed, format=_format, order_code=_order),
            f"Inlet request and decode, data protocol 1.10, {_format}, server byte order {_order}",
            IPV4_ALONE,
        )
    SCENARIOS[f"inlet_feed100_{_format}"] = (
        partial(inlet_feed, format=_format, version_code=100),
        f"Inlet request and decode, protocol 1.00 (stream info says version 1.00), {_format}",
        IPV4_ALONE,
    )
