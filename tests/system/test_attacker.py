"""Sealed streams between two real processes, with an attacker on the wire between them.

The short form takes some seconds; SCHWANN_ATTACK=full runs every offset and thousands of random attacks. Needs
SCHWANN_LIBLSL, and SCHWANN_PROGRAM for the keys. Run by checks/54-attacker.sh. What needs a million records is in
session/src/session/tests.rs: there the same code runs without processes.
"""

import os
import random
import socket
import subprocess
import threading
import time

import pytest

import lsl
from attacker import (ALERT, CLOSE, DATA, DOWN, HANDSHAKE, HEADER, UP, Actor, Cut, ProbeTap, Tap, everything, flip,
                      is_record, led_astray, only, pass_on, ports_of, resident_kib, say)
from conftest import OURS, PATHS, REAL_118, Place, wait_until

PROGRAM = os.environ.get("SCHWANN_PROGRAM")
IMPOSTOR = os.environ.get("SCHWANN_IMPOSTOR")
FULL = os.environ.get("SCHWANN_ATTACK") == "full"
pytestmark = [pytest.mark.skipif(not (OURS in PATHS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set"),
              pytest.mark.timeout(1800 if FULL else 90)]

CHANNELS = 8
# Enough to fill the longest record that a forged header may announce.
FLOOD = 20_000 // CHANNELS


def make_keys(folder, name="both ends"):
    subprocess.run([PROGRAM, "keys", "init", "--unprotected", "--name", name], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, SCHWANN_KEYS=str(folder)))
    return folder


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """Key folders of two labs."""
    folder = tmp_path_factory.mktemp("labs")
    return {name: make_keys(folder / name) for name in ("ours", "other")}


def start(place, keys=None, policy=None, library=OURS, **changes):
    """A process with these keys and this policy."""
    environment = {"SCHWANN_KEYS": str(keys) if keys else str(place.folder / "nobody"), "SCHWANN_SECURITY": policy or ""}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        return place.start(library, **changes)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


class Stage:
    """An outlet's process and an inlet's, of one lab; the attacker stands between them."""

    def __init__(self, place, labs):
        self.sender, self.receiver = (start(place, labs["ours"], log__level=0) for _ in range(2))
        self.place, self.labs, self.count, self.taps = place, labs, 0, []
        self.renew()

    def renew(self):
        self.outlet = self.sender.outlet(channels=CHANNELS, format="int32", source="attacked")
        self.xml = self.outlet.info().xml()
        self.port, self.service = ports_of(self.xml)

    def inlet(self, data=None, service=None, receiver=None):
        receiver = receiver or self.receiver
        return receiver.inlet_of(receiver.info_from_xml(led_astray(self.xml, data, service)), recover=False)

    def tap(self, attack=pass_on, port=None):
        """A tap that lasts as long as the stage does."""
        self.taps.append(Tap(port or self.port, attack))
        return self.taps[-1]

    def push(self, count):
        """Pushes samples that say which they are in every channel."""
        numbers = range(self.count, self.count + count)
        self.count += count
        self.outlet.push_chunk([number * 1_000 + channel for number in numbers for channel in range(CHANNELS)])
        return [[number * 1_000 + channel for channel in range(CHANNELS)] for number in numbers]

    def under(self, attack, patience=1.0):
        """One connection under an attack: what was sent, what came out, and whether the stream ended with an error."""
        tap = Tap(self.port, attack)
        inlet = self.inlet(tap.own_port)
        sent, came, error = [], [], None
        try:
            inlet.open(patience)
            if self.outlet.wait(1.0):
                for _ in range(4):
                    sent += self.push(1)
                sent += self.push(FLOOD)
            came, error = inlet.drain(len(sent) + 1, patience)
        except lsl.LslError as refused:
            error = refused.code
        finally:
            inlet.destroy()
            tap.close()
        return sent, came, error

    def close(self):
        for tap in self.taps:
            tap.close()


@pytest.fixture
def stage(place, labs):
    stage = Stage(place, labs)
    yield stage
    stage.close()


def holds(sent, came, error):
    """Nothing but what was sent came, from its beginning, and the end was noticed."""
    assert came == sent[:len(came)], "something altered was delivered"
    assert error is not None and len(came) < max(1, len(sent)), "the attack went unnoticed"


def test_without_an_attack_everything_arrives(stage):
    # Or all that follows would prove nothing.
    tap = stage.tap()
    inlet = stage.inlet(tap.own_port)
    inlet.open()
    sent = stage.push(1) + stage.push(1000)
    assert inlet.drain(len(sent), 5.0) == (sent, None)
    (connection,) = tap.connections
    assert connection.sealed and connection.records(DOWN)[0][0] == 1
    assert all(record[0] == DATA for record in connection.records(DOWN)[1:])


@pytest.mark.parametrize("direction", [DOWN, UP])
def test_every_changed_byte_ends_the_session(stage, direction):
    # Message 2, greeting, answer, first samples; first line, message 1, message 3, request.
    for number in range(5 if direction == DOWN else 4):
        length = [1458, 93, 200, 60, 60][number] if direction == DOWN else [21, 1234, 338, 200][number]
        places = range(0, length, 1 if FULL else max(1, length // 5))
        header = range(HEADER) if number >= HANDSHAKE[direction] else range(2)
        for position in sorted({*header, *places, -1}):
            holds(*stage.under(only(direction, number, flip(position, 1 << position % 8))))


class Rearranged:
    """Keeps what passed, to put it where it does not belong."""

    def __init__(self, name, at, elsewhere):
        self.name, self.at, self.elsewhere, self.kept = name, at, elsewhere, {UP: b"", DOWN: b""}

    def __call__(self, direction, number, unit):
        before, self.kept[direction] = self.kept[direction], unit
        if direction != DOWN or number < self.at:
            return unit
        if self.name == "reordered" and number == self.at + 1:
            return unit + before
        if number > self.at:
            return unit
        return {"dropped": b"", "repeated": unit * 2, "reordered": b"", "reflected": self.kept[UP],
                "spliced": self.elsewhere, "added": bytes(20) + unit, "shortened": unit[:-1],
                "lengthened": unit + b"\0", "emptied": bytes(len(unit))}[self.name]


@pytest.mark.parametrize("name", ["dropped", "repeated", "reordered", "reflected", "spliced", "added", "shortened",
                                  "lengthened", "emptied"])
def test_records_that_are_rearranged_end_the_session(stage, name):
    other = stage.tap()
    inlet = stage.inlet(other.own_port)
    inlet.open()
    sent = stage.push(1)
    assert inlet.drain(1, 5.0) == (sent, None)
    elsewhere = other.connections[0].records(DOWN)
    for at in range(1, 6 if FULL else 4):
        holds(*stage.under(Rearranged(name, at, elsewhere[min(at, len(elsewhere)) - 1])))
    # The session beside it, whose records were stolen, goes on.
    assert inlet.drain(1 + FLOOD, 0.5)[1] is None


def test_a_stream_that_is_cut_anywhere_is_known_to_be_cut(stage):
    log = stage.receiver.log
    # A record of one sample, and the authenticated end: 53 and 28 bytes.
    for number, length in ((4, 61), ("close", 28)):
        for offset in range(0, length, 1 if FULL else 6):
            def cut(direction, at, unit, offset=offset, number=number):
                last = at == number or (number == "close" and is_record(DOWN, at) and unit[0] == CLOSE)
                if direction == DOWN and last:
                    raise Cut(unit[:offset])
                return unit

            seen = len(log.read_text())
            if number == "close":
                tap = stage.tap(cut)
                inlet = stage.inlet(tap.own_port)
                inlet.open()
                sent = stage.push(2)
                assert inlet.drain(2, 5.0) == (sent, None)
                stage.outlet.destroy()
                assert inlet.drain(1, 5.0) == ([], lsl.LOST)
                inlet.destroy()
                stage.renew()
            else:
                holds(*stage.under(cut))
            wait_until(lambda seen=seen: "the stream was cut" in log.read_text()[seen:], 5.0)


def test_an_end_that_is_not_cut_is_no_truncation(stage):
    tap = stage.tap()
    inlet = stage.inlet(tap.own_port)
    inlet.open()
    sent = stage.push(3)
    assert inlet.drain(3, 5.0) == (sent, None)
    stage.outlet.destroy()
    assert inlet.drain(1, 5.0) == ([], lsl.LOST)
    assert tap.connections[0].records(DOWN)[-1][0] == CLOSE
    assert "the stream was cut" not in stage.receiver.log.read_text()


def test_random_attacks_deliver_nothing_altered(stage):
    seed = int(os.environ.get("SCHWANN_ATTACK_SEED", "7"))
    chance, began = random.Random(seed), resident_kib(stage.receiver.process.pid)
    kept, refused = [b"\0" * 40], 0

    def mutate(unit):
        kept.append(unit)
        at = chance.randrange(len(unit))
        return chance.choice([
            lambda: flip(at, 1 << chance.randrange(8))(unit),
            lambda: unit[:at] + chance.randbytes(1 + chance.randrange(40)) + unit[at:],
            lambda: unit[:at] + unit[at + 1:],
            lambda: unit + unit,
            lambda: b"",
            lambda: chance.choice(kept),
            lambda: unit[:at] + unit[at:][::-1],
            lambda: chance.randbytes(len(unit)),
        ])()

    rounds = 2_000 if FULL else 60
    for _ in range(rounds):
        direction, number = chance.choice([(DOWN, n) for n in range(7)] + [(UP, n) for n in range(4)])
        changed = []

        def attack(way, at, unit, direction=direction, number=number, changed=changed):
            if (way, at) != (direction, number):
                return unit
            out = mutate(unit)
            changed.append(out != unit)
            return out

        sent, came, error = stage.under(attack)
        assert came == sent[:len(came)], "something altered was delivered"
        if any(changed):
            assert error is not None or came != sent, "an attack went unnoticed"
            refused += 1
    grown = resident_kib(stage.receiver.process.pid) - began
    print(f"{refused} of {rounds} connections attacked, all refused; the inlet's process grew by {grown} KiB")
    assert refused > rounds * 0.8
    assert grown < 64 * 1024 and resident_kib(stage.sender.process.pid) < 512 * 1024


def test_a_recorded_session_means_nothing_to_a_fresh_outlet_or_inlet(stage):
    tap = stage.tap()
    inlet = stage.inlet(tap.own_port)
    inlet.open()
    sent = stage.push(3)
    assert inlet.drain(3, 5.0) == (sent, None)
    (connection,) = tap.connections
    recorded = {way: connection.wire(way) for way in (UP, DOWN)}
    inlet.destroy()
    wait_until(lambda: not stage.outlet.consumers())
    # To the same outlet and to a new one of the same process; all at once, and in the pace of a handshake.
    for _ in range(2):
        assert say(stage.port, recorded[UP]) == (ALERT, True)
        first = sum(map(len, connection.seen[UP][:2]))
        heard, ended = say(stage.port, recorded[UP][:first], recorded[UP][first:], pause=0.3)
        assert ended and len(heard) == 1458 + 1 and heard[-1:] == ALERT, "more than message 2 and a refusal"
        assert not stage.outlet.consumers()
        stage.renew()
    actor = Actor(lambda fresh: (fresh.sendall(recorded[DOWN]), everything(fresh, 2.0)))
    fresh = stage.inlet(actor.own_port)
    with pytest.raises(lsl.LslError):
        fresh.open(2.0)
    assert actor.count >= 1 and fresh.drain(1, 0.2)[0] == []
    actor.close()


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


def forged(direction, number, datagram):
    """Every answer is a forgery; none of the outlet's own arrives."""
    if direction == UP:
        return [(0, datagram, UP)]
    plain = b" %d 0.0 1000000.0 1000000.0" % number
    return [(0, flip(number)(datagram), DOWN), (0, plain, DOWN), (0, datagram[:20] + plain + bytes(16), DOWN)]


def forged_beside(direction, number, datagram):
    return forged(direction, number, datagram) + [(0, datagram, direction)]


def repeated(direction, number, datagram):
    return [(delay, datagram, direction) for delay in (0, 0, 0.05, 0.2, 0.7)]


def reflected(direction, number, datagram):
    return [(0, datagram, UP), (0, datagram, DOWN)]


def delayed_back(direction, number, datagram):
    return [(0.1 if direction == DOWN else 0, datagram, direction)]


def delayed_often(direction, number, datagram):
    return [(0.1 if direction == DOWN and number % 4 else 0, datagram, direction)]


@pytest.mark.parametrize("attack", [forged, forged_beside, repeated, reflected, delayed_back, delayed_often])
def test_time_cannot_be_shifted(stage, attack):
    # Both processes have one clock, so the true offset is zero.
    tap = ProbeTap(stage.service, attack)
    inlet = stage.inlet(service=tap.own_port)
    try:
        if attack is forged:
            with pytest.raises(lsl.LslError):
                inlet.correction_ex(4.0)
            assert tap.counts[DOWN] > 0
            return
        offset, _, round_trip = inlet.correction_ex(20.0)
        print(f"{attack.__name__}: offset {offset * 1e3:.3f} ms, round trip {round_trip * 1e3:.3f} ms")
        # A delay that looks like a slow network moves the offset by half the round trip at most, and
        # the round trip that is reported says so.
        assert abs(offset) <= round_trip / 2 + 0.001
        if attack is delayed_back:
            assert round_trip >= 0.1
        else:
            assert abs(offset) < 0.005
    finally:
        inlet.destroy()
        tap.close()


@pytest.mark.parametrize("how", ["fork", "clone"])
def test_a_child_seals_nothing_with_its_parents_keys(how, stage):
    tap = stage.tap()
    inlet = stage.inlet(tap.own_port)
    inlet.open()
    sent = stage.push(1)
    assert inlet.drain(1, 5.0) == (sent, None)
    (connection,) = tap.connections
    before = len(connection.records(DOWN))
    # Whether the push fails there or goes nowhere is the library's affair; what counts is the wire.
    stage.outlet.push_in_a_child([5] * CHANNELS, 10, how)
    # The parent's next record is the next on the wire, and opens: its nonce was not used before.
    sent = stage.push(1) + stage.push(1)
    assert inlet.drain(2, 5.0) == (sent, None)
    assert len(connection.records(DOWN)) == before + 2
