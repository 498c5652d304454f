"""Records of a sealed stream that an attacker changes, moves, cuts, makes up or plays again.

The short form takes some seconds; SCHWANN_ATTACK=full runs every offset and thousands of random attacks. Run by
checks/54-attacker.sh. What needs a million records is in session/src/session/tests/attacker.rs: there the same code runs without
processes.
"""

import os
import random

import pytest

import lsl
from attacked import CHANNELS, FLOOD, FULL, MARKS, holds, labs, stage  # noqa: F401
from attacker import (ALERT, CLOSE, DATA, DOWN, HANDSHAKE, HEADER, UP, Actor, Cut, everything, flip, is_record, only,
                      resident_kib, say)
from conftest import wait_until

pytestmark = MARKS


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
