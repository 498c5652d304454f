"""MSE against aria2, Transmission and rtorrent (Debian's packages), where they are installed: both roles.

They need no network. `checks/56-mse.sh` runs this in a namespace of its own, whose address 10.77.0.1 makes
Transmission dial us: it never dials 127.0.0.0/8.
"""

import os
import random

import pytest

import mse_clients as clients

RC4, BOTH, WITH_PRIVATE, UNKNOWN = "2", "3", "3000002", "fffffffe"
ADDRESS = os.environ.get("MSE_ADDRESS", clients.LOCAL)
# Unchokes on a ten-second clock, so its tests are few.
SLOW = {"transmission"}


@pytest.fixture(scope="module")
def programs():
    return clients.build()


@pytest.fixture
def started():
    running = []
    yield running
    for one in reversed(running):
        one.close()


def needs(name):
    if not clients.installed(name):
        pytest.skip(f"{name} is not installed")


def data():
    return random.Random(2).randbytes(300_000)


@pytest.mark.parametrize("name", clients.PROGRAMS)
@pytest.mark.parametrize("require", [True, False], ids=["requires-rc4", "prefers"])
def test_we_fetch_from_it(programs, started, tmp_path, name, require):
    needs(name)
    tracker = clients.Tracker()
    started.append(tracker)
    torrent = clients.Torrent(tmp_path, data(), tracker=tracker.url)
    tracker.peer = (clients.LOCAL, 9)
    seeder = clients.PROGRAMS[name][1](torrent, seed=True, require=require)
    started.append(seeder)
    # What each selects: Transmission never plaintext unless nothing else is offered (spec: mse §8).
    both = "rc4" if require or name == "transmission" else "plaintext"
    offers = {RC4: "rc4", BOTH: both, WITH_PRIVATE: "rc4", UNKNOWN: "rc4"}
    if name in SLOW:
        offers = {WITH_PRIVATE: "rc4", BOTH: both} if require else {BOTH: both}
    for offered, selected in offers.items():
        result = retry(lambda offered=offered: clients.fetch(programs, torrent, seeder.port, "--methods", offered))
        assert result["method"] == selected, offered
        assert result["attempt"] == "Mse"


def retry(action, times=20):
    """A client listens before it has hashed its file, and closes on whoever asks until then."""
    import time

    for _ in range(times - 1):
        try:
            return action()
        except AssertionError:
            time.sleep(0.5)
    return action()


@pytest.mark.parametrize("name", clients.PROGRAMS)
@pytest.mark.parametrize(
    ("require", "options", "selected"),
    [
        (True, [], "rc4"),
        (False, ["--methods", WITH_PRIVATE], "rc4"),
        (False, ["--policy", "preferred", "--prefer", "plaintext"], "plaintext"),
    ],
    ids=["requires-rc4", "prefers", "prefers-and-we-select-plaintext"],
)
def test_it_fetches_from_us(programs, started, tmp_path, name, require, options, selected):
    needs(name)
    if name == "transmission":
        if ADDRESS == clients.LOCAL:
            pytest.skip("Transmission never dials 127.0.0.0/8; checks/56-mse.sh gives it another address")
        if selected == "plaintext":
            pytest.skip("Transmission never offers plaintext inside MSE")
    tracker = clients.Tracker()
    started.append(tracker)
    torrent = clients.Torrent(tmp_path, data(), tracker=tracker.url)
    server = clients.Server(programs, torrent, *options, address=ADDRESS)
    started.append(server)
    tracker.peer = (ADDRESS, server.port)
    started.append(clients.PROGRAMS[name][1](torrent, seed=False, require=require, address=ADDRESS))
    assert torrent.wait_for_leech(60)
    assert server.line()["method"] == selected
