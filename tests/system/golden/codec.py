"""The wire forms, stated a second time and independently of the library, for the raw side of a conversation."""

import math
import struct

from .record import PACK


def bits64(ts):
    return struct.pack("<d", ts)


def pattern_values(format, channels, offset):
    """Test-pattern sample: independent re-statement of the algorithm (see lsl-protocol.md)."""
    if format == "string":
        return [str((k + 10) * (1 if k % 2 == 0 else -1)).encode() for k in range(channels)]
    base = {"float32": 0, "double64": 16777217, "int32": 65537, "int16": 257, "int8": 1, "int64": 2147483649}[format]
    lim = {"int32": 2**31 - 1, "int16": 2**15 - 1, "int8": 127}.get(format)
    out = []
    for k in range(channels):
        v = k + offset + base
        if lim:
            v %= lim
        out.append(-v if k % 2 else v)
    return out


def sample_110(format, values, ts, order_code="<"):
    """One data-protocol-1.10 sample. ts=None -> deduced (tag 1)."""
    b = b"\x01" if ts is None else b"\x02" + struct.pack(order_code + "d", ts)
    if format == "string":
        for v in values:
            b += (bytes([1, len(v)]) if len(v) < 256 else b"\x04" + struct.pack(order_code + "I", len(v))) + v
        return b
    return b + struct.pack(order_code + "%d%s" % (len(values), PACK[format]), *values)


def integer_100(v, width, signed=True):
    """eos portable archive integer."""
    if v == 0:
        return b"\x00"
    if width == 1:
        n = 1
    else:
        t, n = v, 0
        while True:
            t >>= 8
            n += 1
            if t in (0, -1):
                break
    return struct.pack("b", n if v > 0 else -n) + (v & (2**64 - 1)).to_bytes(8, "little")[:n]


def float_100(v, format):
    c, i, w = ("<f", "<I", 4) if format == "float32" else ("<d", "<Q", 8)
    return integer_100(struct.unpack(i, struct.pack(c, v))[0], w, False)


def sample_100(format, values, ts, first):
    b = b"\x00\x00" if first else b""
    b += integer_100(1, 1) if ts is None else integer_100(2, 1) + float_100(ts, "double64")
    for v in values:
        if format == "string":
            b += integer_100(len(v), 8, False) + v
        elif format in ("float32", "double64"):
            b += float_100(v, format)
        else:
            b += integer_100(v, struct.calcsize(PACK[format]))
    return b


def shortinfo_xml(
    name="Fake",
    type_="EEG",
    channels=3,
    format="float32",
    rate="100.0000000000000",
    version="1.100000000000000",
    source_id="src-fake",
    uid="11111111-2222-4333-8444-555555555555",
    session="golden",
    host="fakehost",
    v4addr="",
    data_port=0,
    service_port=0,
    created="12345.67890000000",
):
    e = [
        ("name", name),
        ("type", type_),
        ("channel_count", channels),
        ("channel_format", format),
        ("source_id", source_id),
        ("nominal_srate", rate),
        ("version", version),
        ("created_at", created),
        ("uid", uid),
        ("session_id", session),
        ("hostname", host),
        ("v4address", v4addr),
        ("v4data_port", data_port),
        ("v4service_port", service_port),
        ("v6address", ""),
        ("v6data_port", 0),
        ("v6service_port", 0),
    ]
    return (
        '<?xml version="1.0"?>\n<info>\n'
        + "".join("\t<%s>%s</%s>\n" % (k, v, k) for k, v in e)
        + "\t<desc />\n</info>\n"
    ).encode()


SAMPLES = {
    "float32": [[0.0, 1.5, -2.25], [math.inf, -0.0, 1e-40]],
    "double64": [[0.0, 1.5, -2.25], [math.inf, -0.0, 5e-324]],
    "int8": [[0, 1, -1], [127, -128, 5]],
    "int16": [[0, 1, -1], [32767, -32768, 256]],
    "int32": [[0, 1, -1], [2147483647, -2147483648, 65536]],
    "int64": [[0, 1, -1], [9223372036854775807, -9223372036854775808, 4294967296]],
    "string": [[b"", b"abc", b"a\0b"], ["\u00e9".encode(), b"x" * 255, b"y" * 256]],
}
