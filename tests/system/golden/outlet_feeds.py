"""Outlets: chunks, refusals, synchronous delivery, and clients that leave."""

import socket
import time

from .outlets import feed_request, make_outlet, wait_consumers
from .record import read_until_idle, tcp_connect
from .scenario import scenario


@scenario("Chunk push: one stamp plus deduced stamps, pushthrough=0, chunk granularity asked by the client")
def outlet_feed110_chunks(library, record):
    out, p, uid = make_outlet(library, record, "int16", 2)
    c = tcp_connect(p["v4data_port"])
    q = feed_request(uid, value_size=2)
    record.to("tcp", q, "request, Max-Chunk-Length 0")
    c.sendall(q)
    d, _ = read_until_idle(c)
    record.frm("tcp", d, "header and test pattern")
    wait_consumers(library, out)
    library.push_chunk(out, "int16", [1, 2, 3, 4, 5, 6], 100.0, 1)
    d, _ = read_until_idle(c, 0.3)
    record.frm(
        "tcp", d, "push_chunk of 3 samples with stamp 100.0 at 100 Hz: first stamp is 100.0 - 2/100, others are deduced"
    )
    for v in (7, 8):
        library.push(out, "int16", [v, -v], 101.0, 0)
    d, _ = read_until_idle(c, 0.3)
    record.frm("tcp", d, "two samples pushed with pushthrough=0: nothing is sent yet")
    library.push(out, "int16", [9, -9], 102.0, 1)
    d, _ = read_until_idle(c, 0.3)
    record.frm("tcp", d, "third sample with pushthrough=1 flushes all three")
    c.close()
    time.sleep(0.2)
    c = tcp_connect(p["v4data_port"])
    q = feed_request(uid, value_size=2, chunk=2)
    record.to("tcp", q, "request, Max-Chunk-Length 2")
    c.sendall(q)
    d, _ = read_until_idle(c)
    record.frm("tcp", d, "header and test pattern")
    wait_consumers(library, out)
    for v in (10, 11, 12):
        library.push(out, "int16", [v, -v], 103.0, 0)
    d, _ = read_until_idle(c, 0.3)
    record.frm("tcp", d, "three samples with pushthrough=0 and Max-Chunk-Length 2: two are sent, the third is held")
    c.close()


@scenario("streamfeed error replies and odd requests")
def outlet_feed_errors(library, record):
    out, p, uid = make_outlet(library, record, "float32", 1)
    nouid = "00000000-0000-4000-8000-000000000000"
    tests = [
        (feed_request(nouid, buffer_length=0), "wrong UID"),
        (feed_request(uid, version_code=200, buffer_length=0), "protocol major version too new"),
        (
            feed_request(uid, version_code=199, buffer_length=0),
            "newer minor version: answered with this library's version",
        ),
        (feed_request("", buffer_length=0), "empty UID: accepted"),
        (
            b"LSL:streamfeed/110 \r\n\r\n",
            "only an empty line after the request line: the outlet searches the bytes after the request line for CR LF CR LF, so it keeps waiting",
        ),
        (
            b"LSL:streamfeed/110 \n\r\n\r\n",
            "no headers at all (form used by liblsl's own tests): defaults are used, max buffer 0, so the feed ends after the test pattern",
        ),
        (b"LSL:streamfeed/110 \r\n\r\n\r\n", "no headers, CR LF after the request line, then CR LF CR LF"),
        (b"LSL:streamfeed/110\r\nX: y\r\n\r\n", "no UID part at all"),
        (
            b"LSL:streamfeed/100 \r\nMax-Buffer-Length: 5\r\n\r\n",
            "version 100 in the versioned form: answered in 1.00 form without a header; the parameters are read as two integers, which fails here, so max buffer is 0",
        ),
        (
            feed_request(uid, value_size=8, buffer_length=0),
            "value size 8 for a float32 stream: downgraded to data protocol 100",
        ),
        (
            feed_request(uid, buffer_length=0).replace(b"Has-IEEE754-Floats: 1", b"Has-IEEE754-Floats: 0"),
            "client without IEEE 754: data protocol 100",
        ),
        (feed_request(uid, subnormals=0, buffer_length=0), "client without subnormals"),
        (
            feed_request(uid, buffer_length=0, extra=["Protocol-Version: 100"]),
            "the key the outlet honours is Protocol-Version",
        ),
        (
            feed_request(uid, buffer_length=0).replace(b"Data-Protocol-Version: 110", b"Data-Protocol-Version: 100"),
            "Data-Protocol-Version (what inlets send) is ignored by the outlet",
        ),
        (
            feed_request(uid, buffer_length=0, order_code=2134),
            "PDP byte order: no conversion possible, native order is used",
        ),
        (
            feed_request(uid, buffer_length=0, order_code=4321, perf="1e300"),
            "big-endian client that is 'faster' at swapping: the outlet keeps its own order",
        ),
        (
            b"LSL:streamfeed/110 "
            + uid.encode()
            + b"\r\nNATIVE-BYTE-ORDER : 4321 ; comment\r\nmax-buffer-length:0\r\n\r\n",
            "header names are case-insensitive, ';' starts a comment, spaces are trimmed",
        ),
        (b"LSL:streamfeed/abc\r\n\r\n", "unparsable version (1.17.7 closes at once; 1.18.0.b6 keeps waiting for more)"),
    ]
    for q, note in tests:
        c = tcp_connect(p["v4data_port"])
        record.to("tcp", q, note)
        c.sendall(q)
        d, eof = read_until_idle(c)
        record.frm("tcp", d, "reply, then %s" % ("EOF" if eof else "kept open"))
        c.close()


@scenario("Synchronous (transp_sync_blocking) outlet: same wire form; 1.00 is refused")
def outlet_feed110_sync(library, record):
    if library.c.lsl_library_version() < 118:
        record.notes.append("not supported by this library")
        return
    out, p, uid = make_outlet(library, record, "int32", 2, flags=4)
    c = tcp_connect(p["v4data_port"])
    q = feed_request(uid, value_size=4)
    record.to("tcp", q, "1.10 request")
    c.sendall(q)
    d, _ = read_until_idle(c)
    record.frm("tcp", d, "header and test pattern")
    wait_consumers(library, out)
    library.push_chunk(out, "int32", [1, 2, 3, 4], 50.0, 1)
    d, _ = read_until_idle(c, 0.3)
    record.frm("tcp", d, "push_chunk of 2 samples")
    library.push(out, "int32", [5, 6], 51.0, 0)
    d, _ = read_until_idle(c, 0.3)
    record.frm("tcp", d, "push_sample with pushthrough=0: sent at once, the flag is ignored")
    c2 = tcp_connect(p["v4data_port"])
    q = b"LSL:streamfeed\r\n1000 0\r\n"
    record.to("tcp", q, "1.00 request")
    c2.sendall(q)
    d, eof = read_until_idle(c2)
    record.frm("tcp", d, "reply; eof=%s" % eof)
    q = feed_request(uid, value_size=8)
    c3 = tcp_connect(p["v4data_port"])
    record.to("tcp", q, "1.10 request whose value size forces data protocol 100")
    c3.sendall(q)
    d, eof = read_until_idle(c3)
    record.frm("tcp", d, "reply; eof=%s" % eof)
    for x in (c, c2, c3):
        x.close()


@scenario(
    "What the outlet does when the client sends bytes, half-closes or closes after the handshake (version dependent)"
)
def outlet_feed_client_after_handshake(library, record):
    for mode in ("sends bytes", "half-closes", "closes"):
        out, p, uid = make_outlet(library, record, "int8", 1, name=mode.replace(" ", "-").encode())
        c = tcp_connect(p["v4data_port"])
        q = feed_request(uid, value_size=1)
        record.to("tcp", q, "request")
        c.sendall(q)
        record.frm("tcp", read_until_idle(c, 0.3)[0], "header and test pattern")
        wait_consumers(library, out)
        if mode == "sends bytes":
            record.to("tcp", b"x", "one byte after the handshake")
            c.sendall(b"x")
        elif mode == "half-closes":
            record.to("tcp", b"", "shutdown of the client's sending side")
            c.shutdown(socket.SHUT_WR)
        else:
            record.to("tcp", b"", "close")
            c.close()
        time.sleep(0.5)
        ck = record.checks["client " + mode] = {"have_consumers_after_0.5s": library.c.lsl_have_consumers(out)}
        library.push(out, "int8", [5], 1.0, 1)
        if mode != "closes":
            d, eof = read_until_idle(c, 0.4)
            record.frm("tcp", d, "after one push_sample (stamp 1.0, value 5); eof=%s" % eof)
            ck["sample_delivered"] = bool(d)
            c.close()
