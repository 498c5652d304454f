"""What a recorder of the wire learns of sealed streams: now, and after stealing all stored keys.

A day's events one after the other (day.py), and what differs in the older protocol. Needs root (a raw socket),
SCHWANN_LIBLSL, SCHWANN_PROGRAM for the keys, and SCHWANN_THIEF (session's example) for the second part.
"""

import collections
import ctypes
import os
import socket
import struct
import subprocess
import threading

import pytest

from attacker import CLOSE, HEADER, REKEY, TAG
from conftest import OURS, PATHS
from day import CONTENT, NAMES, STREAMS, Day, Lab
from labs import PROGRAM

THIEF = os.environ.get("SCHWANN_THIEF")
# Sessions of a recording that the thief tries: the first and others all over the day, or every one.
MOST = 1000 if os.environ.get("SCHWANN_ATTACK") == "full" else 6
# Answers to searches on which the thief tries every key agreement too, likewise; on the others, every key as it is.
MOST_REPLIES = 2 * MOST
REPLY = b"\xd5SR\x02"
pytestmark = [pytest.mark.skipif(not (OURS in PATHS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set"),
              pytest.mark.timeout(180)]

OUTGOING = 4


def only_ports(first, end):
    """A filter for the kernel (classic BPF): TCP and UDP over IPv4 from or to these ports; others' traffic may be a flood."""
    load_half, load_byte, load_header_length, load_half_behind, equal, at_least, back = 0x28, 0x30, 0xB1, 0x48, 0x15, 0x35, 0x06
    program = [(load_half, 0, 0, 12), (equal, 0, 10, 0x800), (load_byte, 0, 0, 23), (equal, 1, 0, 6), (equal, 0, 7, 17),
               (load_header_length, 0, 0, 14), (load_half_behind, 0, 0, 14), (at_least, 0, 1, first), (at_least, 0, 4, end),
               (load_half_behind, 0, 0, 16), (at_least, 0, 1, first), (at_least, 0, 1, end), (back, 0, 0, 0),
               (back, 0, 0, 0xFFFFFFFF)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    return code, struct.pack("HL", len(program), ctypes.addressof(code))


class Wire:
    """Every packet of a place on the loopback wire, once."""

    def __init__(self, place):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        # 26 is SO_ATTACH_FILTER.
        code, program = only_ports(place.base, place.base + place.ports)
        self.socket.setsockopt(socket.SOL_SOCKET, 26, program)
        del code
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
    """All bytes of UDP and TCP payloads from or to these ports, the TCP streams by (from, to) of a connection, and the datagrams."""
    everything, pieces, datagrams, connections = bytearray(), {}, [], collections.Counter()
    for packet in packets:
        ip = packet[14:]
        if len(ip) < 40 or ip[0] >> 4 != 4 or ip[9] not in (6, 17):
            continue
        ip = ip[:struct.unpack("!H", ip[2:4])[0] or None]
        body = ip[(ip[0] & 15) * 4:]
        if not ports & set(struct.unpack("!HH", body[:4])):
            continue
        if ip[9] == 17:
            everything += body[8:]
            datagrams.append(body[8:])
            continue
        ends = ip[12:16] + body[:2], ip[16:20] + body[2:4]
        # A later connection may have the ports of one that is over: it begins with a synchronising segment of its own.
        connections[frozenset(ends)] += body[13] & 0x12 == 0x02
        way = tuple((connections[frozenset(ends)], end) for end in ends)
        payload = body[(body[12] >> 4) * 4:]
        if payload:
            sequence = struct.unpack("!I", body[4:8])[0]
            pieces.setdefault(way, {})[sequence] = payload
            everything += payload
    return bytes(everything), {way: joined(parts) for way, parts in pieces.items()}, datagrams


def joined(parts):
    """A TCP stream from its segments by sequence number; the tests' streams do not wrap around."""
    first, stream = min(parts), bytearray()
    for sequence in sorted(parts):
        at = sequence - first
        assert at <= len(stream), "the listener missed a packet"
        stream[at:at + len(parts[sequence])] = parts[sequence]
    return bytes(stream)


def traffic(place, lab, version):
    """A sender and a receiver of each kind of stream, without what else a day brings; returns all ports that they used."""
    day = Day(place, lab, version)
    day.send()
    receiver = day.program("authority")
    return day.see_through({format: day.join(receiver, format, recover=False) for format in STREAMS})


def records(stream):
    """The records of one direction of a session from the outlet, by type (secure-session §3.2, §4.1)."""
    at, types = 2 + int.from_bytes(stream[:2], "big"), []
    while len(stream) - at >= HEADER:
        types.append(stream[at])
        at += HEADER + int.from_bytes(stream[at + 1:at + HEADER], "little") + TAG
    return types


@pytest.fixture(autouse=True)
def everything_on_the_wire(monkeypatch):
    """Between two programs of one computer the samples are on no wire, unless they are told to be."""
    monkeypatch.setenv("SCHWANN_LOCAL_SOCKET", "off")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return {}


@pytest.mark.ports(48)
@pytest.mark.parametrize("version", [110, 100])
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
def test_who_records_everything_reads_nothing(sealed, version, place, tmp_path, recorded):
    try:
        wire = Wire(place)
    except PermissionError:
        pytest.skip("only root may listen on the wire")
    lab = Lab(tmp_path if sealed else None)
    try:
        # A whole day in the newer protocol; in the older one what differs.
        ports = Day(place, lab, version).run() if version == 110 else traffic(place, lab, version)
    finally:
        packets = wire.stop()
    assert max(ports) < place.base + place.ports, "the listener did not hear all ports"
    heard, streams, datagrams = heard_between(packets, ports)
    found = {what: canary in heard for what, canary in {**CONTENT, **NAMES}.items()}
    print(f"{len(packets)} packets, {len(heard)} bytes, {len(streams)} TCP streams, {len(datagrams)} datagrams: "
          f"{[what for what, is_there in found.items() if is_there]}")
    # Without keys the same canaries are there, or the listener would be deaf.
    for what, is_there in found.items():
        assert is_there != sealed, what
    if sealed:
        recorded[version] = streams, datagrams, lab
        types = [kind for way, stream in streams.items() for kind in is_from_outlet(streams, way) and records(stream) or []]
        assert types.count(CLOSE) >= 3
        if version == 110:
            assert types.count(REKEY) >= 3, "no key has changed"
            assert sum(is_from_outlet(streams, way) for way in streams) >= 15, "a day has more connections"


def is_from_outlet(streams, way):
    return streams.get(way[::-1], b"").startswith(b"LSL:secure")


def write_sessions(streams, folder):
    """Writes recorded connections down for the thief; returns how many, and how many there are."""
    # One that was broken off in its handshake has no record.
    ways = [way for way, stream in streams.items() if is_from_outlet(streams, way) and records(stream)]
    tried = ways[::-(-len(ways) // MOST)]
    for number, way in enumerate(tried):
        (folder / f"{number}.up").write_bytes(streams[way[::-1]])
        (folder / f"{number}.down").write_bytes(streams[way])
    return len(tried), len(ways)


@pytest.mark.skipif(not THIEF, reason="SCHWANN_THIEF is not set")
@pytest.mark.parametrize("version", [110, 100])
def test_all_stored_keys_stolen_later_open_no_recording(version, recorded, tmp_path):
    if version not in recorded:
        pytest.skip("nothing was recorded")
    streams, datagrams, lab = recorded[version]
    # A feed and a description of each of three streams, at least.
    tried, there = write_sessions(streams, tmp_path)
    print(f"{tried} of {there} sessions")
    assert there >= 6
    # A query goes to many ports.
    heard = sorted(set(datagrams))
    replies = [datagram for datagram in heard if datagram.startswith(REPLY)]
    agreements = set(replies[::-(-len(replies) // MOST_REPLIES) or 1])
    for number, datagram in enumerate(heard):
        (tmp_path / f"{number}.{'reply' if datagram in agreements else 'datagram'}").write_bytes(datagram)
    thief = subprocess.run([THIEF, tmp_path, *lab.folders()], text=True, stdout=subprocess.PIPE, check=False)
    print(thief.stdout)
    assert thief.returncode == 0, thief.stdout
    said = dict(line.rsplit(": ", 1) for line in thief.stdout.splitlines() if ": " in line)
    # It has the keys that were used, or it would prove nothing: it opens searches, which say nothing.
    assert int(said["searches opened"]) > 0
    assert int(said["key agreements tried on answers"]) > 1000
    for what in ("answers to searches", "clock probes"):
        assert int(said[f"{what} tried"]) > 0 and int(said[f"{what} opened"]) == 0, what
    assert int(said["searches that say what was looked for"]) == 0
