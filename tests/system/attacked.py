"""Two real processes with a sealed stream between them, for an attacker on the wire to stand there.

SCHWANN_ATTACK=full makes the attacks longer. Needs SCHWANN_LIBLSL, and SCHWANN_PROGRAM for the keys.
"""

import os
import subprocess

import pytest

import lsl
from attacker import Tap, led_astray, pass_on, ports_of
from conftest import OURS, PATHS

PROGRAM = os.environ.get("SCHWANN_PROGRAM")
FULL = os.environ.get("SCHWANN_ATTACK") == "full"
MARKS = [pytest.mark.skipif(not (OURS in PATHS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set"),
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
