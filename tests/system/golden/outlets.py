"""What the scenarios with an outlet share."""

import re
from functools import partial
import struct
import time

from .codec import SAMPLES, pattern_values, sample_100, sample_110
from .record import FORMATS, PACK, read_until_idle, tcp_connect
from .scenario import SCENARIOS, IPV4_ALONE


def make_outlet(
    library,
    record,
    format="float32",
    channels=3,
    rate=100.0,
    name=b"Golden",
    sid=b"src-golden",
    desc=False,
    flags=0,
    chunk=0,
    buffer_length=360,
):
    info = library.c.lsl_create_streaminfo(name, b"EEG", channels, rate, FORMATS[format], sid)
    if desc:
        d = library.c.lsl_get_desc(info)
        ch = library.c.lsl_append_child(d, b"channels")
        for lab in (b"C3", b"C4", b"a<b&\"c'>"):
            c = library.c.lsl_append_child(ch, b"channel")
            library.c.lsl_append_child_value(c, b"label", lab)
            library.c.lsl_append_child_value(c, b"unit", "\u00b5V".encode())
        library.c.lsl_append_child_value(d, b"manufacturer", b"line1\nline2\ttab")
        library.c.lsl_append_child_value(d, b"empty", b"")
    out = (
        library.c.lsl_create_outlet_ex(info, chunk, buffer_length, flags)
        if flags
        else library.c.lsl_create_outlet(info, chunk, buffer_length)
    )
    if not out:
        raise RuntimeError("no outlet: %r" % library.c.lsl_last_error())
    oi = library.c.lsl_get_info(out)
    record.know_info(oi)
    x = library.xml(oi)
    ports = {
        k: int(re.search("<%s>(\\d+)<" % k, x).group(1))
        for k in ("v4data_port", "v4service_port", "v6data_port", "v6service_port")
    }
    record.checks["ports"] = ports
    uid = library.c.lsl_get_uid(oi).decode()
    return out, ports, uid


def feed_request(
    uid="",
    extra=(),
    version_code=110,
    buffer_length=1000,
    chunk=0,
    order_code=1234,
    value_size=4,
    subnormals=1,
    perf="0",
):
    lines = [
        "LSL:streamfeed/%d %s" % (version_code, uid),
        "Native-Byte-Order: %d" % order_code,
        "Endian-Performance: %s" % perf,
        "Has-IEEE754-Floats: 1",
        "Supports-Subnormals: %d" % subnormals,
        "Value-Size: %d" % value_size,
        "Data-Protocol-Version: %d" % version_code,
        "Max-Buffer-Length: %d" % buffer_length,
        "Max-Chunk-Length: %d" % chunk,
        "Hostname: rawclient",
        "Source-Id: src-golden",
        "Session-Id: golden",
    ] + list(extra)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def wait_consumers(library, out):
    for _ in range(200):
        if library.c.lsl_have_consumers(out):
            break
        time.sleep(0.01)
    time.sleep(0.15)


def outlet_feed(library, record, format, order_code, version_code):
    channels = 3
    out, p, uid = make_outlet(library, record, format, channels)
    c = tcp_connect(p["v4data_port"])
    vs = {"string": 32}.get(format) or struct.calcsize(PACK[format])
    q = (
        b"LSL:streamfeed\r\n1000 0\r\n"
        if version_code == 100
        else feed_request(uid, order_code=order_code, value_size=vs)
    )
    record.to("tcp %d" % p["v4data_port"], q, "request")
    c.sendall(q)
    d, eof = read_until_idle(c)
    if version_code == 110:
        hdr, rest = d.split(b"\r\n\r\n", 1)
        hdr += b"\r\n\r\n"
        record.frm("tcp", hdr, "response header")
        order = "<" if b"Byte-Order: 1234" in hdr else ">"
        tp = b"".join(sample_110(format, pattern_values(format, channels, o), 123456.789, order) for o in (4, 2))
        record.frm("tcp", rest, "two test-pattern samples (offsets 4 and 2), stamp 123456.789")
        record.checks["test_pattern_matches_script"] = rest == tp
    else:
        n = d[3]
        ln = int.from_bytes(d[4 : 4 + n], "little")
        head, rest = d[: 4 + n + ln], d[4 + n + ln :]
        record.frm("tcp", head, "archive header 7f 01 09, then the shortinfo message as an archive string")
        tp = b"".join(
            sample_100(format, pattern_values(format, channels, o), 123456.789, i == 0) for i, o in enumerate((4, 2))
        )
        record.frm("tcp", rest, "two test-pattern samples; the first is preceded by the 2-byte class version 00 00")
        record.checks["test_pattern_matches_script"] = rest == tp
    wait_consumers(library, out)
    for i, (values, ts) in enumerate(zip(SAMPLES[format] + [SAMPLES[format][0]], (1000.5, -1.0, 0.125))):
        assert library.push(out, format, values, ts, 1) == 0
        d, eof = read_until_idle(c, 0.25)
        show = [v.decode("latin-1") if isinstance(v, bytes) else repr(v) for v in values]
        show = [x if len(x) < 20 else x[:3] + "...(%d bytes)" % len(x) for x in show]
        record.frm("tcp", d, "sample pushed with timestamp %r, values %s" % (ts, show))
        want = (
            sample_110(format, values, None if ts == -1.0 else ts, order)
            if version_code == 110
            else sample_100(format, values, None if ts == -1.0 else ts, False)
        )
        record.checks["sample%d_matches_script" % i] = d == want
    c.close()


for _format in FORMATS:
    for _order, _tag in ((1234, "le"), (4321, "be")):
        SCENARIOS[f"outlet_feed110_{_format}_{_tag}"] = (
            partial(outlet_feed, format=_format, order_code=_order, version_code=110),
            f"TCP LSL:streamfeed/110, {_format}, client byte order {_order}, 3 channels: handshake, test pattern, samples",
            IPV4_ALONE,
        )
    SCENARIOS[f"outlet_feed100_{_format}"] = (
        partial(outlet_feed, format=_format, order_code=1234, version_code=100),
        f"TCP LSL:streamfeed (1.00, portable archive), {_format}, 3 channels: handshake, test pattern, samples",
        IPV4_ALONE,
    )
