"""Clients of other projects against our server, and what must not bring it down."""

import concurrent.futures
import importlib.util
import os
import pathlib
import random
import re
import resource
import socket
import struct
import subprocess
import threading
import time

import pytest

np = pytest.importorskip("numpy")
import fieldtrip_peers as peers  # noqa: E402

if peers.SERVER is None:
    pytest.skip("SCHWANN_FT_SERVER does not name our server: see checks/55-fieldtrip.sh", allow_module_level=True)

import schwann_fieldtrip as ft  # noqa: E402

MUTATIONS = int(os.environ.get("SCHWANN_FT_MUTATIONS", "20000"))
SOAK_SECONDS = float(os.environ.get("SCHWANN_FT_SOAK_SECONDS", "5"))
CLIENTS = 64
SENDERS = 4


@pytest.fixture
def server():
    with peers.Schwann() as running:
        yield running


def test_the_client_of_eegsynth(server):
    if importlib.util.find_spec("lib.FieldTrip") is None:
        pytest.skip("eegsynth is not installed")
    from lib import FieldTrip

    theirs = FieldTrip.Client()
    theirs.connect("127.0.0.1", server.port)
    with ft.Client(server.address) as ours:
        ours.putHeader(3, 250.0, ft.DATATYPE_FLOAT32, labels=["Fz", "Cz", "Pz"])
        values = np.random.default_rng(2).standard_normal((500, 3)).astype(np.float32)
        ours.putData(values)
        ours.putEvents([ft.Event("stimulus", "left", 3), ft.Event("trigger", 7, 4)])
        header = theirs.getHeader()
        assert (header.nChannels, header.nSamples, header.nEvents) == (3, 500, 2)
        assert header.labels == ["Fz", "Cz", "Pz"]
        np.testing.assert_array_equal(theirs.getData([0, 499]), values)
        assert [event.sample for event in theirs.getEvents()] == [3, 4]
        assert tuple(theirs.poll()) == (500, 2)
        assert tuple(theirs.wait(500, ft.NEVER, 50)) == (500, 2)
    theirs.disconnect()


def test_epochs_of_mne_realtime(server):
    epochs_of_mne_realtime(server, server.port)


def test_epochs_of_mne_realtime_through_a_tunnel(server, tmp_path):
    if peers.PROGRAM is None:
        pytest.skip("SCHWANN_CLI does not name our program: see checks/55-fieldtrip.sh")
    with peers.Tunnel(server.address, tmp_path) as tunnel:
        epochs_of_mne_realtime(server, tunnel.port)


def epochs_of_mne_realtime(server, port):
    """Writes at the server, and reads epochs with mne-realtime at the port."""
    mne_realtime = pytest.importorskip("mne_realtime")
    mne = pytest.importorskip("mne")
    names = ["EEG 001", "EEG 002", "STI 001"]
    block = np.zeros((50, 3), np.float32)
    block[:, 0] = np.arange(50)
    block[25:30, 2] = 1
    with ft.Client(server.address) as ours:
        ours.putHeader(3, 100.0, ft.DATATYPE_FLOAT32, labels=names)
        ours.putData(block)
    stop = threading.Event()

    def write():
        with ft.Client(server.address) as writer:
            while not stop.wait(0.05):
                writer.putData(block)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        info = mne.create_info(names, 100.0, ["eeg", "eeg", "stim"])
        with mne_realtime.FieldTripClient(info=info, host="127.0.0.1", port=port, tmin=0, tmax=20,
                                          wait_max=10) as client:
            epoch = client.get_data_as_epoch(n_samples=50).get_data(copy=True)
            assert epoch.shape == (1, 3, 50)
            # The newest samples begin within a block, and go on with the next one.
            np.testing.assert_array_equal(np.diff(epoch[0, 0]) % 50, 1)
            epochs = mne_realtime.RtEpochs(client, 1, 0.0, 0.1, stim_channel="STI 001", isi_max=10.0,
                                           baseline=None, proj=False)
            epochs.start()
            found = next(iter(epochs.iter_evoked()))
            assert found.data.shape[1] == 11
            np.testing.assert_allclose(found.data[0], np.arange(25, 36))
            epochs.stop(stop_receive_thread=True)
    finally:
        stop.set()
        writing.join()


def test_the_program_prints_as_many_samples_as_it_is_asked_for(server):
    if peers.PROGRAM is None:
        pytest.skip("SCHWANN_CLI does not name our program: see checks/55-fieldtrip.sh")

    def schwann(command, *arguments, text=None):
        return subprocess.run([peers.PROGRAM, "ft", command, server.address, *arguments], input=text, text=True,
                              capture_output=True, timeout=60)

    assert schwann("put", "--rate", "100", text="1 2\n").stdout == "1 sample\n"
    assert schwann("put", text="3 4\n5 6\n7 8\n").stdout == "3 samples\n"
    assert schwann("dump", "--oldest", "--values", "--samples", "2").stdout.splitlines()[-2:] == ["1\t2", "3\t4"]
    assert schwann("get", "--samples", "1:2").stdout == "3\t4\n5\t6\n"
    beyond = schwann("get", "--samples", "2:9")
    assert beyond.returncode != 0 and "its newest sample is 3" in beyond.stderr


def test_a_killed_recorder_has_written_what_it_took(tmp_path):
    folder = tmp_path / "recording"
    with peers.Schwann("--record", folder) as server:
        with ft.Client(server.address) as client:
            client.putHeader(2, 1000.0, ft.DATATYPE_INT16, labels=["a", "b"])
            values = np.arange(20_000, dtype=np.int16).reshape(-1, 2)
            for block in np.split(values, 100):
                client.putData(block)
            client.putEvents(ft.Event("trigger", 7, 5))
            wait_for(lambda: (folder / "0001" / "events").stat().st_size > 0)
            server.kill()
    session = folder / "0001"
    np.testing.assert_array_equal(np.fromfile(session / "samples", np.int16).reshape(-1, 2), values)
    assert "nChans=2" in (session / "header.txt").read_text()
    lines = (session / "timing").read_text().splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["S", "100"]] * 100
    events = ft.wire.decode_events((session / "events").read_bytes())
    assert (events[0].type, events[0].value, events[0].sample) == ("trigger", 7, 5)


def test_a_server_killed_and_started_again_takes_its_socket_over(tmp_path):
    path = tmp_path / "socket"
    first = peers.Schwann(address=path)
    first.kill()
    with peers.Schwann(address=path) as second, ft.Client(second.address) as client:
        assert client.getHeader() is None


def test_an_address_in_use_is_an_error(server):
    again = subprocess.run([peers.SERVER, f"127.0.0.1:{server.port}"], capture_output=True, timeout=20)
    assert again.returncode != 0


def test_running_out_of_descriptors_is_survived():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    with peers.Process([peers.SERVER, "127.0.0.1:0"], preexec_fn=few) as process:
        port = int(re.search(r":(\d+)$", process.first_line)[1])
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        for one in crowd:
            one.close()
        with ft.Client(f"127.0.0.1:{port}") as client:
            assert client.getHeader() is None


@pytest.mark.timeout(max(300, MUTATIONS // 500))
def test_mutated_requests_do_not_bring_it_down_or_make_it_grow(server):
    seeds = requests()
    with ft.Client(server.address) as client:
        client.putHeader(2, 100.0, ft.DATATYPE_INT16)

    def send_share(seed):
        chance, left = random.Random(seed), MUTATIONS // 2 // SENDERS
        while left > 0:
            left -= send_mutated(server.port, seeds, chance)

    with concurrent.futures.ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(send_share, range(SENDERS)))
        before = server.memory
        list(senders.map(send_share, range(SENDERS, 2 * SENDERS)))
    assert server.process.poll() is None
    with ft.Client(server.address) as client:
        client.putHeader(2, 100.0, ft.DATATYPE_INT16)
        client.putData(np.ones((5, 2), np.int16))
        assert client.poll() == (5, 0)
        client.flushHeader()
    # A mutated header can make a ring larger, so there is some room; a leak of 100 bytes per request is beyond it.
    assert server.memory < before + max(64 << 20, MUTATIONS * 50)


def test_many_clients_for_a_while(server):
    with ft.Client(server.address) as client:
        client.putHeader(8, 1000.0, ft.DATATYPE_INT32)
    deadline = time.monotonic() + SOAK_SECONDS
    problems, counts = [], [0, 0]

    def write():
        with ft.Client(server.address) as client:
            number = 0
            while time.monotonic() < deadline:
                client.putData(np.repeat(np.arange(number, number + 20, dtype=np.int32)[:, None], 8, 1))
                number += 20
                time.sleep(0.01)
            counts[0] = number

    def read(start_at):
        time.sleep(start_at)
        for block in ft.follow(server.address, start="newest", timeout=1.0):
            rows = np.arange(block.first, block.first + len(block.values))
            if not (block.values == rows[:, None]).all():
                problems.append(block.first)
            counts[1] += len(block.values)

    def come_and_go():
        while time.monotonic() < deadline:
            with ft.Client(server.address) as client:
                client.getHeader()
            time.sleep(0.02)

    threads = [threading.Thread(target=write)]
    threads += [threading.Thread(target=read, args=[n * 0.01]) for n in range(CLIENTS - 9)]
    threads += [threading.Thread(target=come_and_go) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(SOAK_SECONDS / 2)
    memory = server.memory
    for thread in threads:
        thread.join()
    assert not problems
    assert counts[0] > 0 and counts[1] > 0
    assert server.process.poll() is None
    assert server.memory < memory + (32 << 20)
    wait_for(lambda: descriptors(server) < 16)


def descriptors(server):
    return len(list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()))


def requests():
    found = []
    for order in "<>":
        def pack(form, *values, order=order):
            return struct.pack(order + form, *values)
        header = pack("IIIfII", 2, 0, 0, 100.0, 6, 12) + pack("II", 1, 4) + b"a\0b\0"
        data = pack("IIII", 2, 3, 6, 12) + pack("6h", *range(6))
        event = pack("IIIIiiiI", 0, 4, 7, 1, -1, 0, 0, 8) + b"stim" + pack("i", 7)
        for command, payload in ((0x101, header), (0x102, data), (0x103, event * 2), (0x201, b""), (0x202, b""),
                                 (0x202, pack("II", 1, 2)), (0x203, pack("II", 0, 1)), (0x302, b""), (0x303, b""),
                                 (0x402, pack("III", 1, 1, 2)), (0x501, header), (0x502, data), (0x503, event)):
            found.append(pack("HHI", 1, command, len(payload)) + payload)
    return found


def send_mutated(port, seeds, chance):
    """Several requests on one connection, each with up to three bytes changed, and then the end of it."""
    count = chance.randint(1, 40)
    script = b""
    for _ in range(count):
        request = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(0, 3)):
            request[chance.randrange(len(request))] = chance.choice([0, 1, 2, 127, 128, 255, chance.randrange(256)])
        script += request
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        try:
            connection.sendall(script)
            if chance.random() < 0.7:
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(5)
                while connection.recv(1 << 16):
                    pass
        except OSError:
            pass
    return count


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)
