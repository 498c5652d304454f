"""MSE against libtorrent, the most used client: both roles, every method, no 40 ms stall, and the sidecar."""

import random
import socket

import pytest

import mse_clients as clients
import mse_ours
import mse_torrent

pytest.importorskip("libtorrent", reason="the package libtorrent is not installed")

RECORDING = mse_ours.ROOT.parent / "shared" / "data" / "clock_resets.xdf"
RC4, BOTH, WITH_PRIVATE, UNKNOWN = "2", "3", "3000002", "fffffffe"


@pytest.fixture(scope="module")
def programs():
    return mse_ours.programs_of_ours()


@pytest.fixture
def torrent(tmp_path):
    return mse_torrent.Torrent(tmp_path, random.Random(1).randbytes(1_000_000))


@pytest.fixture
def started():
    running = []
    yield running
    for one in running:
        one.close()


@pytest.mark.parametrize(
    ("mode", "methods", "selected"),
    [
        ("rc4", RC4, "rc4"),
        ("rc4", BOTH, "rc4"),
        ("rc4", WITH_PRIVATE, "rc4"),
        ("rc4", UNKNOWN, "rc4"),
        ("plaintext", BOTH, "plaintext"),
        ("default", RC4, "rc4"),
        ("default", BOTH, "plaintext"),
        ("default", WITH_PRIVATE, "rc4"),
    ],
)
def test_we_fetch_from_it(programs, torrent, started, mode, methods, selected):
    seeder = clients.Libtorrent(mode)
    started.append(seeder)
    seeder.add(torrent, seed=True)
    result = mse_ours.fetch(programs, torrent, seeder.port, "--methods", methods)
    assert result["method"] == selected
    assert result["attempt"] == "Mse"


def test_we_go_plain_over_a_new_connection_when_it_has_no_mse(programs, torrent, started):
    seeder = clients.Libtorrent("none")
    started.append(seeder)
    seeder.add(torrent, seed=True)
    assert mse_ours.fetch(programs, torrent, seeder.port, "--policy", "preferred")["attempt"] == "Plain"


@pytest.mark.parametrize(
    ("mode", "options", "selected"),
    [
        ("rc4", [], "rc4"),
        ("default", [], "rc4"),
        ("default", ["--policy", "preferred"], "rc4"),
        ("default", ["--policy", "preferred", "--prefer", "plaintext"], "plaintext"),
        ("plaintext", ["--policy", "preferred"], "plaintext"),
        ("rc4", ["--methods", WITH_PRIVATE], "rc4"),
    ],
)
def test_it_fetches_from_us(programs, torrent, started, mode, options, selected):
    server = mse_ours.Server(programs, torrent, *options)
    leecher = clients.Libtorrent(mode)
    started.extend([server, leecher])
    assert leecher.leech(torrent, server.port)
    assert server.line()["method"] == selected


def test_it_knows_no_longer_group_in_either_role_and_we_say_so(programs, torrent, started):
    """The wire cannot negotiate the group (mse §9.2): a clear error, and the next handshake as if nothing were."""
    longer = ["--group", "1024", "--seconds", "2"]
    seeder = clients.Libtorrent("rc4")
    started.append(seeder)
    seeder.add(torrent, seed=True)
    assert "1,024-bit group" in mse_ours.refusal(programs, torrent, seeder.port, *longer)
    assert mse_ours.fetch(programs, torrent, seeder.port)["method"] == "rc4"

    server = mse_ours.Server(programs, torrent, *longer)
    leecher = clients.Libtorrent("rc4")
    started.extend([server, leecher])
    leecher.add(torrent, seed=False).connect_peer(("127.0.0.1", server.port))
    assert "1,024-bit group" in server.process.stdout.readline()


def test_neither_role_stalls_for_a_delayed_acknowledgement(programs, torrent, started):
    """libtorrent splits its steps over several writes: 40 ms each, unless we acknowledge at once."""
    seeder = clients.Libtorrent("rc4")
    started.append(seeder)
    seeder.add(torrent, seed=True)
    answered = sorted(float(mse_ours.fetch(programs, torrent, seeder.port)["answered_ms"]) for _ in range(9))
    print("we dial, until its handshake is here, ms:", answered)
    # Each stall takes 40 ms, also on an idle machine; a busy one only adds to some.
    assert answered[0] < 20

    server = mse_ours.Server(programs, torrent)
    started.append(server)
    shaken = []
    for _ in range(5):
        leecher = clients.Libtorrent("rc4")
        leecher.add(torrent, seed=False).connect_peer(("127.0.0.1", server.port))
        shaken.append(float(server.line()["shaken_ms"]))
        assert torrent.wait_for_leech(30)
        leecher.close()
        assert "bytes" in server.line()
        (torrent.leech_folder / torrent.name).unlink()
    shaken.sort()
    print("it dials, until its step 3 is complete, ms:", shaken)
    assert shaken[0] < 20


ANY_RC4 = {
    name: "rc4"
    for name in ("rc4", "rc4, no initial payload", "rc4, 512-byte paddings", "rc4 and unknown bits", "rc4 or aes (private)")
}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("rc4", {**ANY_RC4, "no MSE": "refused", "rc4 or plaintext": "rc4", "plaintext": "refused"}),
        ("default", {**ANY_RC4, "no MSE": "plaintext", "rc4 or plaintext": "plaintext", "plaintext": "plaintext"}),
    ],
)
def test_the_command_check_reports_what_it_accepts(programs, torrent, started, mode, expected):
    seeder = clients.Libtorrent(mode)
    started.append(seeder)
    seeder.add(torrent, seed=True)
    assert mse_ours.check(programs, torrent, seeder.port) == (0, expected)


def test_the_command_check_tells_a_peer_without_mse_from_nobody(programs, torrent, started):
    seeder = clients.Libtorrent("none")
    started.append(seeder)
    seeder.add(torrent, seed=True)
    code, found = mse_ours.check(programs, torrent, seeder.port)
    assert (code, found["no MSE"], found["rc4"]) == (1, "plaintext", "refused")
    code, _ = mse_ours.check(programs, torrent, clients.free_port())
    assert code == 3


@pytest.fixture
def recording(tmp_path):
    if not RECORDING.exists():
        pytest.skip(f"the recording {RECORDING.name} is not here")
    return mse_torrent.Torrent(tmp_path, RECORDING.read_bytes(), RECORDING.name)


def test_a_plain_client_alone_gets_nothing_from_a_peer_that_requires_rc4(recording, started):
    seeder, leecher = clients.Libtorrent("rc4"), clients.Libtorrent("none")
    started.extend([seeder, leecher])
    seeder.add(recording, seed=True)
    leecher.add(recording, seed=False).connect_peer(("127.0.0.1", seeder.port))
    assert not recording.wait_for_leech(4)


def test_a_recording_reaches_a_plain_client_through_the_command_proxy(programs, recording, started):
    seeder = clients.Libtorrent("rc4")
    proxy = mse_ours.Proxy(programs, recording.folder, "--outward", "127.0.0.1:0")
    leecher = clients.Libtorrent("none", proxy_port=proxy.port)
    started.extend([seeder, proxy, leecher])
    seeder.add(recording, seed=True)
    assert leecher.leech(recording, seeder.port)
    assert set(proxy.methods()) == {"rc4"}


@pytest.mark.parametrize("policy", ["preferred", "required"])
def test_a_peer_that_wants_a_plain_payload_is_reached_unless_rc4_is_required(programs, torrent, started, policy):
    seeder = clients.Libtorrent("plaintext")
    proxy = mse_ours.Proxy(programs, torrent.folder, "--outward", "127.0.0.1:0", "--policy", policy)
    leecher = clients.Libtorrent("none", proxy_port=proxy.port)
    started.extend([seeder, proxy, leecher])
    seeder.add(torrent, seed=True)
    if policy == "preferred":
        assert leecher.leech(torrent, seeder.port)
        assert set(proxy.methods()) == {"plaintext"}
    else:
        leecher.add(torrent, seed=False).connect_peer(("127.0.0.1", seeder.port))
        # The line names the peer, and what may be the matter.
        assert proxy.logs(f"outward: 127.0.0.1:{seeder.port} failed: ", "wants the payload in the clear")
        assert not proxy.methods()


def test_a_torrent_is_added_to_a_relay_that_runs(programs, torrent, started):
    listed = torrent.folder / "torrents.txt"
    listed.write_text("# none yet\n")
    seeder = clients.Libtorrent("none")
    seeder.add(torrent, seed=True)
    proxy = mse_ours.Proxy(programs, torrent.folder, "--inward", "127.0.0.1:0", "--client", f"127.0.0.1:{seeder.port}",
                           "--torrents-file", str(listed))
    leecher = clients.Libtorrent("rc4")
    started.extend([seeder, proxy, leecher])
    leecher.add(torrent, seed=False).connect_peer(("127.0.0.1", proxy.port))
    assert proxy.logs("inward: 127.0.0.1:", "a torrent that is not here")
    listed.write_text(f"{torrent.info_hash}\n")
    assert proxy.logs("inward: torrents: 1")
    assert leecher.leech(torrent, proxy.port)


def test_the_attempts_of_one_address_are_as_many_as_the_command_was_told(programs, torrent, started):
    proxy = mse_ours.Proxy(programs, torrent.folder, "--inward", "127.0.0.1:0", "--client", "127.0.0.1:9", "--torrent",
                           torrent.info_hash, "--attempts", "2")
    started.append(proxy)
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", proxy.port)) as peer:
            peer.sendall(bytes(96))
            assert peer.recv(1) == b""
    assert not proxy.logs("tries too often", seconds=0)
    with socket.create_connection(("127.0.0.1", proxy.port)) as peer:
        assert peer.recv(1) == b""
        assert proxy.logs(f"inward: 127.0.0.1:{peer.getsockname()[1]} failed: this address tries too often")


def test_a_recording_leaves_a_plain_client_through_the_command_proxy(programs, recording, started):
    seeder = clients.Libtorrent("none")
    seeder.add(recording, seed=True)
    proxy = mse_ours.relay(programs, recording, seeder.port)
    leecher = clients.Libtorrent("rc4")
    started.extend([seeder, proxy, leecher])
    assert leecher.leech(recording, proxy.port)
    assert set(proxy.methods()) == {"rc4"}
