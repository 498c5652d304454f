"""Inlets: refusals, searches and recovery."""

import ctypes as C
import socket
import threading
import time

from .codec import pattern_values, sample_110, shortinfo_xml
from .inlets import RawServer, perf_volatile, response_header
from .record import read_request, read_until_idle, udp_socket
from .scenario import IPV4_ALONE, scenario


@scenario("inlet reactions to error replies: 404, 505, 300, garbage, wrong UID, wrong test pattern, connection refused")
def inlet_feed_errors(library, record):
    s = RawServer()
    cases = [
        ("404", b"LSL/110 404 Not found"),
        ("505", b"LSL/110 505 Version not supported"),
        ("3xx", b"LSL/110 301 Moved\r\n\r\n"),
        ("garbage", b"HTTP/1.0 200 OK\r\n\r\n"),
        ("too_new", b"LSL/200 200 OK\r\n\r\n"),
        ("wrong_uid", response_header(uid="deadbeef")),
        ("bad_pattern", response_header() + sample_110("float32", [9, 9, 9], 1.0) * 2),
        ("eof", b""),
    ]
    for recover in (0, 1):
        for name, reply in cases:
            info, x = s.info(library)
            inlet = library.c.lsl_create_inlet(info, 360, 0, recover)
            error = C.c_int32(0)
            t0 = time.monotonic()
            el = {}

            def op():
                library.c.lsl_open_stream(inlet, 1.6, C.byref(error))
                el["s"] = round(time.monotonic() - t0, 1)

            thread = threading.Thread(target=op)
            thread.start()
            n = 0
            while thread.is_alive():
                try:
                    c = s.accept(0.2)
                except socket.timeout:
                    continue
                n += 1
                read_request(c, b"\r\n\r\n", 1.0)
                if n == 1 and recover == 0:
                    record.to("tcp", reply, "reply of case '%s'" % name)
                if reply:
                    c.sendall(reply)
                c.close()
            thread.join()
            record.checks["%s recover=%d" % (name, recover)] = {
                "open_stream_errcode": error.value,
                "after_s": el["s"],
                "connections": n,
            }
            library.c.lsl_destroy_inlet(inlet)
            s.t.settimeout(0.05)
            try:
                while True:
                    s.t.accept()[0].close()
            except socket.timeout:
                pass


@scenario(
    "resolver query datagrams as sent by the library, and the parsed answer",
    IPV4_ALONE.replace("SessionID", "KnownPeers={127.0.0.1}\nSessionID").replace(
        "IPv6=disable", "IPv6=disable\nPortRange=4"
    ),
)
def inlet_resolve_query(library, record):
    socks = {}
    for p in (16571, 16574):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", p))
        s.settimeout(3)
        socks[p] = s
    buf = (C.c_void_p * 8)()
    res = {}
    thread = threading.Thread(
        target=lambda: res.update(
            n=library.c.lsl_resolve_bypred(buf, 8, b"name='Fake' and starts-with(type,'E')", 1, 3.0)
        )
    )
    t0 = time.monotonic()
    thread.start()
    d, a = socks[16571].recvfrom(4096)
    rp = d.split(b"\r\n")[2].split(b" ")[0]
    qid = d.split(b"\r\n")[2].split(b" ")[1]
    vol = [
        {"offset": d.rindex(rp + b" "), "length": len(rp), "what": "return port"},
        {"offset": d.rindex(qid), "length": len(qid), "what": "query id (hash of the query; build dependent)"},
    ]
    record.frm(
        "udp to 16571",
        d,
        "query to the multicast port; t=%.2f s; source port %s the return port"
        % (time.monotonic() - t0, "equals" if a[1] == int(rp) else "differs from"),
        vol,
    )
    d2, a2 = socks[16574].recvfrom(4096)
    record.frm(
        "udp to 16574",
        d2,
        "query of the unicast wave to each port of the service range; t=%.2f s" % (time.monotonic() - t0),
        vol,
    )
    rp2 = d2.split(b"\r\n")[2].split(b" ")[0]
    reply = qid + b"\r\n" + shortinfo_xml(data_port=16572, service_port=16572)
    bad = b"999\r\n" + shortinfo_xml(name="Wrong", data_port=1, service_port=1, uid="bad")
    u = udp_socket(0)
    record.to("udp", bad, "reply with a wrong query id: ignored")
    u.sendto(bad, ("127.0.0.1", int(rp2)))
    record.to(
        "udp",
        reply,
        "reply to the return port of the second query",
        [{"offset": 0, "length": len(qid), "what": "query id"}],
    )
    u.sendto(reply, ("127.0.0.1", int(rp2)))
    thread.join()
    record.checks["found"] = res["n"]
    record.checks["returned_after_s"] = round(time.monotonic() - t0, 1)
    if res["n"]:
        record.checks["xml"] = library.xml(buf[0])
        record.checks["v4address_filled_from"] = "source address of the reply"


@scenario(
    "UseProtocolVersion=100 in the config: the inlet uses the 1.00 request although the stream says 1.10",
    IPV4_ALONE + "[tuning]\nUseProtocolVersion=100\n",
)
def inlet_cfg_protocol100(library, record):
    s = RawServer()
    info, x = s.info(library)
    inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
    error = C.c_int32(0)
    thread = threading.Thread(target=lambda: library.c.lsl_open_stream(inlet, 1.0, C.byref(error)))
    thread.start()
    c = s.accept()
    record.frm("tcp", read_until_idle(c, 0.3)[0], "request")
    thread.join()


@scenario("query strings of the C resolve functions")
def inlet_resolve_query_strings(library, record):
    q = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    q.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    q.bind(("127.0.0.1", 16571))
    q.settimeout(2)
    l, buf = library.c, (C.c_void_p * 4)()
    l.lsl_resolve_all.argtypes = [C.c_void_p, C.c_uint32, C.c_double]
    l.lsl_resolve_byprop.argtypes = [C.c_void_p, C.c_uint32, C.c_char_p, C.c_char_p, C.c_int32, C.c_double]
    for f in (
        "lsl_create_continuous_resolver",
        "lsl_create_continuous_resolver_byprop",
        "lsl_create_continuous_resolver_bypred",
    ):
        getattr(l, f).restype = C.c_void_p
    l.lsl_destroy_continuous_resolver.argtypes = [C.c_void_p]
    D = C.c_double
    calls = [
        ("lsl_resolve_all(.., 0.1)", lambda: l.lsl_resolve_all(buf, 4, 0.1)),
        (
            "lsl_resolve_byprop(.., 'type', 'EEG', 1, 0.1)",
            lambda: l.lsl_resolve_byprop(buf, 4, b"type", b"EEG", 1, 0.1),
        ),
        (
            "lsl_resolve_bypred(.., \"name='A' or type='B'\", 1, 0.1): no parentheses are added",
            lambda: l.lsl_resolve_bypred(buf, 4, b"name='A' or type='B'", 1, 0.1),
        ),
        (
            "lsl_create_continuous_resolver(5)",
            lambda: l.lsl_create_continuous_resolver(D(5)),
        ),
        (
            "lsl_create_continuous_resolver_byprop('name','A',5)",
            lambda: l.lsl_create_continuous_resolver_byprop(b"name", b"A", D(5)),
        ),
        (
            "lsl_create_continuous_resolver_bypred(\"starts-with(name,'A')\",5)",
            lambda: l.lsl_create_continuous_resolver_bypred(b"starts-with(name,'A')", D(5)),
        ),
    ]
    for note, call in calls:
        resolver = call()
        d, a = q.recvfrom(4096)
        if "continuous" in note:
            l.lsl_destroy_continuous_resolver(resolver)
        rp, qid = d.split(b"\r\n")[2].split(b" ")
        record.frm(
            "udp to 16571",
            d,
            note,
            [
                {"offset": d.rindex(rp + b" "), "length": len(rp), "what": "return port"},
                {"offset": d.rindex(qid), "length": len(qid), "what": "query id"},
            ],
        )
        q.settimeout(0.2)
        try:
            while True:
                q.recvfrom(4096)
        except socket.timeout:
            pass
        q.settimeout(2)


@scenario("recovery query sent after a lost stream (stream info with name, type and source_id)")
def inlet_recovery_query(library, record):
    s = RawServer()
    q = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    q.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    q.bind(("127.0.0.1", 16571))
    q.settimeout(4)
    info, x = s.info(library)
    inlet = library.c.lsl_create_inlet(info, 360, 0, 1)
    error = C.c_int32(0)
    thread = threading.Thread(target=lambda: library.c.lsl_open_stream(inlet, 6.0, C.byref(error)))
    thread.start()
    c = s.accept()
    read_request(c)
    c.close()
    d, a = q.recvfrom(4096)
    rp, qid = d.split(b"\r\n")[2].split(b" ")
    record.frm(
        "udp to 16571",
        d,
        "recovery query; note: no session_id term",
        [
            {"offset": d.rindex(rp + b" "), "length": len(rp), "what": "return port"},
            {"offset": d.rindex(qid), "length": len(qid), "what": "query id"},
        ],
    )
    newuid = "99999999-2222-4333-8444-555555555555"
    reply = qid + b"\r\n" + shortinfo_xml(data_port=s.dp, service_port=s.sp, uid=newuid)
    u = udp_socket(0)
    record.to("udp", reply, "answer: same stream, new UID", [{"offset": 0, "length": len(qid), "what": "query id"}])
    t0 = time.monotonic()
    u.sendto(reply, ("127.0.0.1", int(rp)))
    c = s.accept(8)
    record.checks["reconnect_after_s"] = round(time.monotonic() - t0, 1)
    req = read_request(c)
    record.frm("tcp", req, "streamfeed request after recovery: carries the new UID", perf_volatile(req))
    c.sendall(
        response_header(uid=newuid)
        + b"".join(sample_110("float32", pattern_values("float32", 3, o), 123456.789) for o in (4, 2))
    )
    thread.join()
    record.checks["open_stream_errcode"] = error.value
    library.c.lsl_destroy_inlet(inlet)
    c.close()
