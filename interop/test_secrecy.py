"""What somebody who records everything on the wire learns of a sealed stream: now, and after stealing all stored keys.

Typical traffic: discovery, description, samples of every kind, clock probes, close; in both protocols. Needs root (a raw
socket), SCHWANN_LIBLSL, SCHWANN_PROGRAM for the keys, and SCHWANN_THIEF (session's example) for the second part.
"""

import os
import socket
import struct
import subprocess
import threading

import pytest

import lsl
from attacker import ports_of
from conftest import OURS, PATHS
from test_attacker import PROGRAM, labs, start  # noqa: F401

THIEF = os.environ.get("SCHWANN_THIEF")
pytestmark = pytest.mark.skipif(not (OURS in PATHS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set")

NAME, KIND, SOURCE = "canary-name-31c9", "canary-type-88d0", "canary-source-e2f4"
SUBJECT, TEXT = "canary-subject-77aa", "canary-sample-5f1b"
NUMBER, REAL = 0x5EC2_E7CA_11A4_1E55, 1234.5678901234
# What a listener must not find of samples, descriptions and clock probes.
CONTENT = {"subject": SUBJECT.encode(), "text": TEXT.encode(), "probe": b"LSL:timedata", "request": b"LSL:streamfeed",
           "description": b"LSL:fullinfo", "integer": struct.pack("=q", NUMBER), "real": struct.pack("=d", REAL)}
# Of discovery.
NAMES = {"name": NAME.encode(), "kind": KIND.encode(), "source": SOURCE.encode(), "query": b"LSL:shortinfo"}
OUTGOING = 4


class Wire:
    """Every packet on the loopback wire, once."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        # 33 is SO_RCVBUFFORCE: as root, beyond the system's limit.
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.2)
        self.packets, self.going = [], True
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        while self.going:
            try:
                packet, (_, _, kind, *_) = self.socket.recvfrom(1 << 17)
            except TimeoutError:
                continue
            if kind != OUTGOING:
                self.packets.append(packet)

    def stop(self):
        self.going = False
        self.thread.join()
        self.socket.close()
        return self.packets


def heard_between(packets, ports):
    """All bytes of UDP and TCP payloads from or to these ports, and the TCP streams by (from, to)."""
    everything, pieces = bytearray(), {}
    for packet in packets:
        ip = packet[14:]
        if len(ip) < 40 or ip[0] >> 4 != 4 or ip[9] not in (6, 17):
            continue
        ip = ip[:struct.unpack("!H", ip[2:4])[0] or None]
        body = ip[(ip[0] & 15) * 4:]
        way = struct.unpack("!HH", body[:4])
        if not ports & set(way):
            continue
        if ip[9] == 17:
            everything += body[8:]
            continue
        payload = body[(body[12] >> 4) * 4:]
        if payload:
            sequence = struct.unpack("!I", body[4:8])[0]
            pieces.setdefault(way, {})[sequence] = payload
            everything += payload
    return bytes(everything), {way: joined(parts) for way, parts in pieces.items()}


def joined(parts):
    """A TCP stream from its segments by sequence number; the tests' streams do not wrap around."""
    first, stream = min(parts), bytearray()
    for sequence in sorted(parts):
        at = sequence - first
        assert at <= len(stream), "the listener missed a packet"
        stream[at:at + len(parts[sequence])] = parts[sequence]
    return bytes(stream)


def traffic(place, keys, version):
    """A sender and a receiver do what such programs do all day; returns all ports that they used."""
    changes = {"tuning__UseProtocolVersion": version}
    sender, receiver = (start(place, keys, **changes) for _ in range(2))
    streams = [("string", [TEXT.encode()]), ("int64", [NUMBER]), ("double64", [REAL])]
    ports = set(range(place.base, place.base + place.ports))
    for format, value in streams:
        outlet = sender.outlet(name=NAME, type=KIND, channels=1, format=format, source=f"{SOURCE}-{format}",
                               desc=[("subject", SUBJECT)])
        ports |= set(ports_of(outlet.info().xml()))
        found = receiver.resolve_predicate(f"name='{NAME}' and source_id='{SOURCE}-{format}'")
        inlet = receiver.inlet_of(found[0], recover=False)
        inlet.open()
        assert outlet.wait()
        for _ in range(50):
            outlet.push(value)
        outlet.push_chunk(value * 200)
        assert inlet.drain(250, 10.0) == ([value] * 250, None)
        assert SUBJECT in inlet.info().xml()
        assert abs(inlet.correction()) < 0.01
        outlet.destroy()
        assert inlet.drain(1, 10.0) == ([], lsl.LOST)
        inlet.destroy()
    return ports


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return {}


@pytest.mark.parametrize("version", [110, 100])
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
def test_who_records_everything_reads_nothing(sealed, version, place, labs, recorded):  # noqa: F811
    try:
        wire = Wire()
    except PermissionError:
        pytest.skip("only root may listen on the wire")
    try:
        ports = traffic(place, labs["ours"] if sealed else None, version)
    finally:
        packets = wire.stop()
    heard, streams = heard_between(packets, ports)
    recorded[sealed, version] = streams
    found = {what: canary in heard for what, canary in {**CONTENT, **NAMES}.items()}
    print(f"{len(packets)} packets, {len(heard)} bytes, {len(streams)} TCP streams: "
          f"{[what for what, is_there in found.items() if is_there]}")
    # Without keys the same canaries are there, or the listener would be deaf.
    for what, is_there in found.items():
        assert is_there != sealed, what


@pytest.mark.skipif(not THIEF, reason="SCHWANN_THIEF is not set")
def test_all_stored_keys_stolen_later_open_no_recording(place, labs, recorded, tmp_path):  # noqa: F811
    if not any(sealed for sealed, _ in recorded):
        pytest.skip("nothing was recorded")
    tried = 0
    for (sealed, _), streams in recorded.items():
        for (source, target), from_inlet in streams.items():
            if not sealed or not from_inlet.startswith(b"LSL:secure"):
                continue
            (tmp_path / "up").write_bytes(from_inlet)
            (tmp_path / "down").write_bytes(streams[target, source])
            thief = subprocess.run([THIEF, tmp_path / "up", tmp_path / "down", labs["ours"]], text=True,
                                   stdout=subprocess.PIPE, check=False)
            assert thief.returncode == 0, thief.stdout
            tried += 1
    # A feed and a description of each of three streams, at least, in each protocol.
    assert tried >= 6, f"only {tried} connections were recorded"
    print(f"{tried} connections; the last: {thief.stdout}")
