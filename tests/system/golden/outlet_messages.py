"""Outlets: descriptions, time, and how values and test patterns are written."""

import socket
import struct
import time

from .codec import pattern_values, sample_110
from .outlets import feed_request, make_outlet, wait_consumers
from .record import read_until_idle, tcp_connect, udp_socket
from .scenario import IPV4_ALONE, scenario


@scenario("UDP LSL:shortinfo against the service port and against the multicast port; match, no match, sloppy framing")
def outlet_udp_shortinfo(library, record):
    out, p, uid = make_outlet(library, record)
    s = udp_socket(17001)
    tests = [
        (
            p["v4service_port"],
            b"LSL:shortinfo\r\nname='Golden'\r\n17001 987654321\r\n",
            "query on the per-stream service port",
        ),
        (
            16571,
            b"LSL:shortinfo\r\nsession_id='golden' and name='Golden'\r\n17001 14190863266863990702\r\n",
            "query on the multicast port, sent as unicast; this is the exact form that liblsl's resolver sends",
        ),
        (
            p["v4service_port"],
            b"LSL:shortinfo\n\n17001 abc",
            "LF line ends, empty query (matches everything), no final line end, non-numeric query id",
        ),
        (
            p["v4service_port"],
            b"  LSL:shortinfo \t\r\n  type = 'EEG' and channel_count > 2  \r\n 17001   id-with-dash trailing\r\n",
            "whitespace is trimmed around method and query; query id ends at whitespace",
        ),
        (p["v4service_port"], b"LSL:shortinfo\r\nname='Other'\r\n17001 1\r\n", "query does not match: no reply"),
        (
            p["v4service_port"],
            b"LSL:shortinfo\r\nname='Golden\r\n17001 2\r\n",
            "malformed XPath: treated as no match, no reply",
        ),
        (p["v4service_port"], b"LSL:nonsense\r\n\r\n", "unknown method: ignored"),
        (16571, b"LSL:timedata\r\n1 2.5\r\n", "time service is off on the multicast responder: ignored"),
    ]
    for port, q, note in tests:
        record.to("udp %d" % port, q, note)
        s.sendto(q, ("127.0.0.1", port))
        try:
            d, a = s.recvfrom(65536)
            record.frm(
                "udp from %d" % a[1], d, "reply, sent to the sender's address and to the port named in the query"
            )
        except socket.timeout:
            record.frm("udp", b"", "(no reply within 1 s)")


@scenario("UDP LSL:timedata: 4-timestamp exchange")
def outlet_udp_timedata(library, record):
    out, p, uid = make_outlet(library, record)
    s = udp_socket(17002)
    for q, note in (
        (b"LSL:timedata\r\n1804289383 1000.123456789\r\n", "request: wave id and t0"),
        (b"LSL:timedata\n1 0.0", "minimal form used by liblsl's own benchmark"),
        (b"LSL:timedata\r\n7 12345678.123456789\r\n", "t0 is re-printed with 16 significant digits"),
        (
            b"LSL:timedata\r\nnonsense\r\n",
            "unparsable: the real library still answers, with wave id 0 and an uninitialised t0; do not copy, ignore such a datagram",
        ),
    ):
        record.to("udp %d" % p["v4service_port"], q, note)
        s.sendto(q, ("127.0.0.1", p["v4service_port"]))
        try:
            d, a = s.recvfrom(65536)
        except socket.timeout:
            record.frm("udp", b"", "(no reply)")
            continue
        parts = d.split(b" ")
        vol = (
            [
                {"offset": len(b" ".join(parts[:3])) + 1, "length": len(parts[3]), "what": "t1 (receive time)"},
                {"offset": len(b" ".join(parts[:4])) + 1, "length": len(parts[4]), "what": "t2 (send time)"},
            ]
            if len(parts) >= 5
            else []
        )
        if b"nonsense" in q and len(parts) >= 5:
            vol.append(
                {"offset": len(b" ".join(parts[:2])) + 1, "length": len(parts[2]), "what": "t0 (uninitialised memory)"}
            )
        record.frm(
            "udp from %d" % a[1],
            d,
            "reply: ' <wave id> <t0> <t1> <t2>' (leading space, no line end), sent to the sender's address and port",
            vol,
        )


@scenario("TCP LSL:shortinfo and LSL:fullinfo, with and without a desc tree")
def outlet_tcp_info(library, record):
    out, p, uid = make_outlet(library, record, desc=True)
    for q, note in (
        (b"LSL:shortinfo\r\nname='Golden'\r\n", "shortinfo over TCP, matching query"),
        (b"LSL:shortinfo\r\n\r\n", "shortinfo over TCP, empty query"),
        (
            b"LSL:shortinfo\r\ncount(desc/channels/channel)=3\r\n",
            "the query sees the full document although the reply carries an empty desc",
        ),
        (b"LSL:shortinfo\r\nname='Other'\r\n", "no match: closed without a reply"),
        (b"LSL:fullinfo\r\n", "fullinfo"),
        (b"LSL:unknown\r\n", "unknown method: closed without a reply"),
    ):
        c = tcp_connect(p["v4data_port"])
        record.to("tcp %d" % p["v4data_port"], q, note)
        c.sendall(q)
        d, eof = read_until_idle(c)
        record.frm("tcp", d, "reply, then %s" % ("EOF" if eof else "connection kept open"))
        c.close()


@scenario("Test pattern for 130 int8 channels (wrap-around at 127) in 1.10 and 1.00")
def outlet_testpattern_int8_wrap(library, record):
    out, p, uid = make_outlet(library, record, "int8", 130)
    for q, note in (
        (
            feed_request(uid, buffer_length=0, value_size=1),
            "1.10, max buffer 0: the outlet closes after the test pattern",
        ),
        (b"LSL:streamfeed\r\n0 0\r\n", "1.00, max buffer 0"),
    ):
        c = tcp_connect(p["v4data_port"])
        record.to("tcp", q, note)
        c.sendall(q)
        d, eof = read_until_idle(c)
        record.frm("tcp", d, "response; eof=%s" % eof)
        if q.startswith(b"LSL:streamfeed/"):
            record.checks["test_pattern_matches_script"] = d.endswith(
                b"".join(sample_110("int8", pattern_values("int8", 130, o), 123456.789) for o in (4, 2))
            )
        c.close()


@scenario("string channels in 1.10: length encodings for 0, 1, 255, 256 and 70000 bytes, little and big endian")
def outlet_feed110_string_lengths(library, record):
    out, p, uid = make_outlet(library, record, "string", 1)
    for order_code in (1234, 4321):
        c = tcp_connect(p["v4data_port"])
        q = feed_request(uid, order_code=order_code, value_size=32)
        record.to("tcp", q, "request, byte order %d" % order_code)
        c.sendall(q)
        d, _ = read_until_idle(c)
        record.frm("tcp", d, "header and test pattern")
        wait_consumers(library, out)
        for n in (0, 1, 255, 256, 70000):
            library.push(out, "string", [b"z" * n], 2.0, 1)
            d, _ = read_until_idle(c, 0.3)
            record.frm("tcp", d[:32], "first 32 bytes (of %d) of a sample holding one string of %d bytes" % (len(d), n))
        c.close()
        time.sleep(0.2)


@scenario("What happens to a sample pushed with timestamp 0.0 and NaN payloads")
def outlet_feed_special_values(library, record):
    out, p, uid = make_outlet(library, record, "double64", 1)
    for version_code in (110, 100):
        c = tcp_connect(p["v4data_port"])
        q = feed_request(uid, value_size=8) if version_code == 110 else b"LSL:streamfeed\r\n1000 0\r\n"
        record.to("tcp", q, "request")
        c.sendall(q)
        d, _ = read_until_idle(c)
        record.frm("tcp", d, "header and test pattern")
        wait_consumers(library, out)
        quiet = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
        for v, ts, note in (
            (quiet, 5.0, "NaN with sign and payload bits fff8000000000123"),
            (1.0, float("nan"), "NaN as timestamp"),
            (2.0, 0.0, "timestamp 0.0 is replaced by the clock"),
        ):
            library.push(out, "double64", [v], ts, 1)
            d, _ = read_until_idle(c, 0.3)
            vol = (
                [{"offset": 1, "length": 8, "what": "timestamp"}]
                if ts == 0.0 and version_code == 110
                else ([{"offset": 2, "length": 9, "what": "timestamp (length may vary too)"}] if ts == 0.0 else [])
            )
            record.frm("tcp", d, note, vol)
        c.close()
        time.sleep(0.2)


@scenario(
    "UseProtocolVersion=100 in the config: version field and the answer to a 1.10 request",
    IPV4_ALONE + "[tuning]\nUseProtocolVersion=100\n",
)
def outlet_cfg_protocol100(library, record):
    out, p, uid = make_outlet(library, record, "float32", 1)
    for q, note in (
        (b"LSL:shortinfo\r\n\r\n", "shortinfo"),
        (feed_request(uid, buffer_length=0), "1.10 request"),
        (b"LSL:streamfeed\r\n0 0\r\n", "1.00 request"),
    ):
        c = tcp_connect(p["v4data_port"])
        record.to("tcp", q, note)
        c.sendall(q)
        d, eof = read_until_idle(c)
        record.frm("tcp", d, "reply; eof=%s" % eof)
        c.close()


@scenario("IPv6=force: info and feed over ::1", IPV4_ALONE.replace("IPv6=disable", "IPv6=force"))
def outlet_ipv6(library, record):
    out, p, uid = make_outlet(library, record, "int16", 2)
    u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    u.bind(("::1", 17003))
    u.settimeout(1)
    q = b"LSL:shortinfo\r\nname='Golden'\r\n17003 1\r\n"
    record.to("udp [::1]:%d" % p["v6service_port"], q, "query")
    u.sendto(q, ("::1", p["v6service_port"]))
    record.frm("udp", u.recvfrom(65536)[0], "reply: only the v6 ports are set")
    c = tcp_connect(p["v6data_port"], "::1")
    q = feed_request(uid, value_size=2, buffer_length=0)
    record.to("tcp [::1]:%d" % p["v6data_port"], q, "request")
    c.sendall(q)
    record.frm("tcp", read_until_idle(c)[0], "response")


@scenario(
    "IPv6=allow: the v4 and v6 sockets need different ports (v6 sockets are dual-stack on Linux)",
    IPV4_ALONE.replace("IPv6=disable", "IPv6=allow"),
)
def outlet_dualstack_ports(library, record):
    out, p, uid = make_outlet(library, record, "int16", 2)
    q = b"LSL:shortinfo\r\n\r\n"
    c = tcp_connect(p["v4data_port"])
    record.to("tcp", q, "shortinfo")
    c.sendall(q)
    record.frm("tcp", read_until_idle(c)[0], "reply")
