"""MSE against aria2, Transmission and rtorrent (Debian's packages), where they are installed: both roles.

They need no network. `checks/56-mse.sh` runs this in a namespace of its own, whose address 10.77.0.1 makes
Transmission dial us: it never dials 127.0.0.0/8.
"""

import os
import random
import time

import pytest

import mse_clients as clients
import mse_ours
import mse_torrent

RC4, BOTH, WITH_PRIVATE, UNKNOWN = "2", "3", "3000002", "fffffffe"
RECORDING = mse_ours.ROOT.parent / "shared" / "data" / "clock_resets.xdf"
ADDRESS = os.environ.get("MSE_ADDRESS", mse_torrent.LOCAL)
# Unchokes on a ten-second clock, so its tests are few.
SLOW = {"transmission"}


@pytest.fixture(scope="module")
def programs():
    return mse_ours.programs_of_ours()


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
@pytest.mark.parametrize("crypto", [clients.REQUIRED, clients.PREFERRED])
def test_we_fetch_from_it(programs, started, tmp_path, name, crypto):
    needs(name)
    tracker = mse_torrent.Tracker()
    started.append(tracker)
    torrent = mse_torrent.Torrent(tmp_path, data(), tracker=tracker.url)
    tracker.peer = (mse_torrent.LOCAL, 9)
    seeder = clients.PROGRAMS[name][1](torrent, seed=True, crypto=crypto)
    started.append(seeder)
    # What each selects: Transmission never plaintext unless nothing else is offered (mse §8).
    required = crypto == clients.REQUIRED
    both = "rc4" if required or name == "transmission" else "plaintext"
    offers = {RC4: "rc4", BOTH: both, WITH_PRIVATE: "rc4", UNKNOWN: "rc4"}
    if name in SLOW:
        offers = {WITH_PRIVATE: "rc4", BOTH: both} if required else {BOTH: both}
    for offered, selected in offers.items():
        result = retry(lambda offered=offered: mse_ours.fetch(programs, torrent, seeder.port, "--methods", offered))
        assert result["method"] == selected, offered
        assert result["attempt"] == "Mse"


def retry(action, times=20):
    """A client listens before it has hashed its file, and closes on every peer until then."""
    for _ in range(times - 1):
        try:
            return action()
        except AssertionError:
            time.sleep(0.5)
    return action()


@pytest.mark.parametrize("name", clients.PROGRAMS)
@pytest.mark.parametrize(
    ("crypto", "options", "selected"),
    [
        (clients.REQUIRED, [], "rc4"),
        (clients.PREFERRED, ["--methods", WITH_PRIVATE], "rc4"),
        (clients.PREFERRED, ["--policy", "preferred", "--prefer", "plaintext"], "plaintext"),
    ],
    ids=["requires-rc4", "prefers", "prefers-and-we-select-plaintext"],
)
def test_it_fetches_from_us(programs, started, tmp_path, name, crypto, options, selected):
    needs(name)
    if name == "transmission":
        if ADDRESS == mse_torrent.LOCAL:
            pytest.skip("Transmission never dials 127.0.0.0/8; checks/56-mse.sh gives it another address")
        if selected == "plaintext":
            pytest.skip("Transmission never offers plaintext inside MSE")
    tracker = mse_torrent.Tracker()
    started.append(tracker)
    torrent = mse_torrent.Torrent(tmp_path, data(), tracker=tracker.url)
    server = mse_ours.Server(programs, torrent, *options, address=ADDRESS)
    started.append(server)
    tracker.peer = (ADDRESS, server.port)
    started.append(clients.PROGRAMS[name][1](torrent, seed=False, crypto=crypto, address=ADDRESS))
    assert torrent.wait_for_leech(75)
    assert server.line()["method"] == selected


@pytest.fixture
def recording(tmp_path):
    if not RECORDING.exists():
        pytest.skip(f"the recording {RECORDING.name} is not here")
    tracker = mse_torrent.Tracker()
    tracker.peer = (mse_torrent.LOCAL, 9)
    yield mse_torrent.Torrent(tmp_path, RECORDING.read_bytes(), RECORDING.name, tracker=tracker.url)
    tracker.close()


@pytest.mark.parametrize("name", clients.PROGRAMS)
def test_a_plain_client_gets_a_recording_from_it_through_the_command_proxy(programs, started, recording, name):
    """It requires RC4; the plain client is libtorrent without MSE. `schwann mse check` sees what it requires, and the
    longer group, which it cannot know, ends in an error that says so."""
    needs(name)
    seeder = clients.PROGRAMS[name][1](recording, seed=True, crypto=clients.REQUIRED)
    started.append(seeder)
    expected = {
        probe: "rc4"
        for probe in (
            "rc4", "rc4, no initial payload", "rc4, 512-byte paddings", "rc4 or plaintext", "rc4 and unknown bits",
            "rc4 or aes (private)",
        )
    }  # fmt: skip
    expected |= {"no MSE": "refused", "plaintext": "refused"}

    def check():
        assert mse_ours.check(programs, recording, seeder.port) == (0, expected)

    retry(check)
    longer = ["--group", "1024", "--seconds", "2"]
    assert "1,024-bit group" in mse_ours.refusal(programs, recording, seeder.port, *longer)
    proxy = mse_ours.Proxy(programs, recording.folder, "--outward", "127.0.0.1:0")
    leecher = clients.Libtorrent("none", proxy_port=proxy.port)
    started.extend([proxy, leecher])
    assert leecher.leech(recording, seeder.port)
    assert set(proxy.methods()) == {"rc4"}


@pytest.mark.parametrize("name", clients.PROGRAMS)
def test_it_gives_a_recording_to_a_peer_that_requires_rc4_behind_the_command_proxy(programs, started, recording, name):
    """It is told to do without MSE, and the peer is libtorrent with RC4 or nothing."""
    needs(name)
    seeder = clients.PROGRAMS[name][1](recording, seed=True, crypto=clients.PLAIN)
    proxy = mse_ours.relay(programs, recording, seeder.port)
    started.extend([seeder, proxy])

    def plain():
        assert mse_ours.fetch(programs, recording, seeder.port, "--policy", "disabled")["attempt"] == "Plain"

    retry(plain)
    leecher = clients.Libtorrent("rc4")
    started.append(leecher)
    assert leecher.leech(recording, proxy.port)
    assert set(proxy.methods()) == {"rc4"}
