"""Who may talk to whom: ends that require seals, ends without keys, ends of another lab, impostors and strangers.

Run by checks/54-attacker.sh.
"""

import os
import socket
import subprocess
import threading
import time

import pytest

import lsl
from attacked import CHANNELS, FULL, MARKS, holds, labs, stage, start  # noqa: F401
from attacker import ALERT, DOWN, UP, Actor, Tap, everything, led_astray, ports_of, resident_kib, say
from conftest import OURS, REAL_118

IMPOSTOR = os.environ.get("SCHWANN_IMPOSTOR")
pytestmark = MARKS
PLAIN = [b"LSL:streamfeed/110 %b\r\nNative-Byte-Order: 1234\r\nHas-IEEE754-Floats: 1\r\nMax-Buffer-Length: 360\r\n\r\n",
         b"LSL:streamfeed\r\n360 0\r\n", b"LSL:fullinfo\r\n", b"LSL:shortinfo\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
         b"LSL:secure/0 hybrid\r\n", b"LSL:secure/1 plain\r\n", b"LSL:secure/2 hybrid\r\n", b"LSL:", b"\0" * 64]


def test_an_outlet_that_requires_sealing_answers_nobody_plainly(stage):
    uid = stage.outlet.info().fields()["uid"].encode()
    for request in PLAIN:
        heard, _ = say(stage.port, request.replace(b"%b", uid), patience=0.3)
        assert heard in (b"", ALERT), request
        assert not stage.outlet.consumers()


def test_an_inlet_that_requires_sealing_tells_and_takes_nothing_plainly(stage, place):
    # A plain outlet where the sealed one is expected; and one that answers everything with a yes.
    plain = start(place).outlet(channels=CHANNELS, format="int32", source="attacked")
    tap = stage.tap(port=ports_of(plain.info().xml())[0])
    yes = Actor(lambda inlet: (inlet.recv(4096), inlet.sendall(b"LSL/110 200 OK\r\nByte-Order: 1234\r\n\r\n" + bytes(500)),
                               everything(inlet, 1.0)))
    for port in (tap.own_port, yes.own_port):
        inlet = stage.inlet(port)
        with pytest.raises(lsl.LslError):
            inlet.open(2.0)
        with pytest.raises(lsl.LslError):
            inlet.info(1.0)
    for connection in tap.connections:
        assert connection.wire(UP).startswith(b"LSL:secure/1 hybrid\r\n"), "the first word was not the secure one"
        assert b"streamfeed" not in connection.wire(UP) and b"fullinfo" not in connection.wire(UP)
    assert yes.count > 0
    yes.close()


def test_the_suite_cannot_be_made_weaker(stage):
    def weaken(direction, number, unit):
        return unit.replace(b"hybrid", b"classic") if (direction, number) == (UP, 0) else unit

    holds(*stage.under(weaken))


def test_an_outlet_of_another_lab_is_no_outlet(stage, place, labs):
    impostor = start(place, labs["other"]).outlet(channels=CHANNELS, format="int32", source="attacked")
    tap = stage.tap(port=ports_of(impostor.info().xml())[0])
    inlet = stage.inlet(tap.own_port)
    with pytest.raises(lsl.LslError):
        inlet.open(2.0)
    assert not impostor.consumers()


@pytest.mark.skipif(not IMPOSTOR, reason="SCHWANN_IMPOSTOR is not set")
def test_an_impostor_that_knows_only_public_keys_is_no_outlet(stage):
    with subprocess.Popen([IMPOSTOR, str(stage.port)], stdout=subprocess.PIPE, text=True) as impostor:
        try:
            port, heard = int(impostor.stdout.readline()), []
            while len(heard) < 3:
                inlet = stage.inlet(port)
                with pytest.raises(lsl.LslError):
                    inlet.open(2.0)
                heard.append(impostor.stdout.readline().strip())
                inlet.destroy()
            assert heard == ["refused: own signature", "refused: overheard signature", "refused: no signature"]
        finally:
            impostor.kill()
    assert not stage.outlet.consumers()


# What a process is, and how it may be spoken to: nothing, or a key of a lab, and what may go in the clear.
ENDS = {"no keys": (None, None), "off": ("ours", "off"), "prefer, no keys": (None, "prefer"), "prefer": ("ours", "prefer"),
        "require": ("ours", "require"), "other lab prefers": ("other", "prefer"), "other lab requires": ("other", "require"),
        "the real library": (None, REAL_118)}


def expected(outlet, inlet):
    """What two ends may do: the specification's table (secure-session §6)."""
    ends = [ENDS[outlet], ENDS[inlet]]
    if all(lab and policy in ("prefer", "require") for lab, policy in ends):
        return "sealed" if ends[0][0] == ends[1][0] else "nothing"
    return "nothing" if "require" in [policy for _, policy in ends] else "plain"


def test_plain_and_sealed_never_mix_against_the_policy(place, labs):
    processes = {}
    for name, (lab, policy) in ENDS.items():
        library, policy = (policy, None) if policy == REAL_118 else (OURS, policy)
        processes[name] = start(place, labs.get(lab), policy, library)
    outlets = {name: agent.outlet(channels=1, format="int32", source=name) for name, agent in processes.items()}
    table = {}
    for sender, outlet in outlets.items():
        xml = outlet.info().xml()
        for receiver, agent in processes.items():
            tap = Tap(ports_of(xml)[0])
            inlet = agent.inlet_of(agent.info_from_xml(led_astray(xml, tap.own_port)), recover=False)
            try:
                inlet.open(3.0)
                assert outlet.wait(3.0)
                outlet.push([7])
                assert inlet.drain(1, 3.0) == ([[7]], None)
                outcome = "sealed" if tap.connections[-1].sealed else "plain"
            except lsl.LslError:
                outcome = "nothing"
                assert not any(b"LSL/1" in connection.wire(DOWN) for connection in tap.connections)
            inlet.destroy()
            tap.close()
            table[sender, receiver] = outcome
    print("\n".join(f"{a:20} -> {b:20} {outcome}" for (a, b), outcome in table.items()))
    assert table == {pair: expected(*pair) for pair in table}
    assert set(table.values()) == {"sealed", "plain", "nothing"}


def test_require_without_keys_makes_no_stream(place):
    with pytest.raises(lsl.LslError):
        start(place, None, "require").outlet()


def test_a_flood_of_half_open_handshakes_does_not_disturb_who_is_there(stage):
    tap = stage.tap()
    inlet = stage.inlet(tap.own_port)
    inlet.open()
    before = resident_kib(stage.sender.process.pid)
    first = tap.connections[0].seen[UP][:2]
    held, answered = [], 0
    for number in range(1_500 if FULL else 700):
        stranger = socket.socket()
        # From another address than the honest inlet's: the outlet counts by address.
        stranger.bind((f"127.0.0.{2 + number % 3}", 0))
        stranger.settimeout(2)
        try:
            stranger.connect(("127.0.0.1", stage.port))
            stranger.sendall([first[0][:8], first[0], first[0] + first[1][:600], first[0] + first[1]][number % 4])
        except OSError:
            pass
        held.append(stranger)
    # A byte now and then, each of them right, does not buy time.
    threading.Thread(target=trickle, args=(held[::4], first[0][8:]), daemon=True).start()
    sent = stage.push(200)
    assert inlet.drain(200, 5.0) == (sent, None), "a stream that runs was disturbed"
    honest = stage.inlet()
    honest.open(5.0)
    sent = stage.push(1)
    assert honest.drain(1, 5.0) == (sent, None), "an honest inlet of another address was kept out"
    for stranger in held:
        stranger.setblocking(False)
        try:
            answered += len(stranger.recv(4096)) > 1000
        except OSError:
            pass
    grown = resident_kib(stage.sender.process.pid) - before
    print(f"{len(held)} connections held, {answered} got as far as message 2; the outlet's process grew by {grown} KiB")
    assert grown < 32 * 1024
    if FULL:
        time.sleep(11)
        for stranger in held:
            stranger.setblocking(True)
            assert everything(stranger, 1.0)[1], "a half-open handshake outlived its ten seconds"
    for stranger in held:
        stranger.close()


def trickle(strangers, line):
    for byte in line:
        for stranger in strangers:
            try:
                stranger.send(bytes([byte]))
            except OSError:
                pass
        time.sleep(0.8)
