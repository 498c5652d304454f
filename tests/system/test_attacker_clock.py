"""Answers of the clock service that an attacker forges, repeats, reflects or delays.

Run by checks/54-attacker.sh.
"""

import pytest

import lsl
from attacked import MARKS, labs, stage  # noqa: F401
from attacker import DOWN, UP, ProbeTap, flip

pytestmark = MARKS


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
