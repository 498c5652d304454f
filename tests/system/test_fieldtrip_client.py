"""Our Python client against our server, and against the server of eegsynth."""

import socket
import subprocess
import sys
import threading
import time

import pytest

np = pytest.importorskip("numpy")
import fieldtrip_peers as peers  # noqa: E402

if peers.SERVER is None:
    pytest.skip("SCHWANN_FT_SERVER does not name our server: see checks/55-fieldtrip.sh", allow_module_level=True)

import schwann_fieldtrip as ft  # noqa: E402

NUMBERS = [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]


@pytest.fixture(params=["tcp", "unix"])
def server(request, tmp_path):
    address = "127.0.0.1:0" if request.param == "tcp" else tmp_path / "socket"
    with peers.Schwann(address=address) as running:
        yield running


@pytest.fixture
def client(server):
    with ft.Client(server.address) as connected:
        yield connected


def test_nothing_is_there_before_the_header(client):
    assert client.getHeader() is None
    assert client.getData() is None
    assert client.getEvents() == []
    with pytest.raises(ft.Refused, match=r"\(261\)"):
        client.putData(np.zeros((1, 1), np.float32))
    with pytest.raises(ft.Refused, match=r"\(1029\)"):
        client.poll()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_every_type_survives_in_any_layout(client, dtype):
    values = np.arange(60).reshape(20, 3).astype(dtype)
    client.putHeader(3, 100.0, ft.wire.data_type(dtype))
    client.putData(values)
    client.putData(np.asfortranarray(values)[::2])
    client.putData(values.astype(np.dtype(dtype).newbyteorder(">")))
    want = np.concatenate([values, values[::2], values])
    back = client.getData()
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, want)
    np.testing.assert_array_equal(client.getData((20, 29)), values[::2])
    assert client.getData((50, 50)) is None


def test_headers_keep_their_chunks_and_labels(client):
    labels = ["Fz", "", "Kanal µ"]
    chunks = {ft.CHUNK_RESOLUTIONS: np.array([1.0, 2.0, 3.0]).tobytes(), 99: b"?"}
    client.putHeader(3, 250.5, ft.DATATYPE_INT16, labels=labels, chunks=chunks)
    header = client.getHeader()
    assert (header.nChannels, header.fSample, header.dataType) == (3, 250.5, ft.DATATYPE_INT16)
    assert (header.nSamples, header.nEvents, header.labels) == (0, 0, labels)
    assert header.chunks[99] == b"?"
    with pytest.raises(ValueError, match="labels"):
        client.putHeader(3, 1.0, ft.DATATYPE_INT16, labels=["one"])


def test_events_of_every_kind_survive(client):
    client.putHeader(1, 100.0, ft.DATATYPE_UINT8)
    client.putData(np.zeros((50, 1), np.uint8))
    sent = [
        ft.Event("stimulus", "left", 10, -5, 20),
        ft.Event("trigger", 7, 11),
        ft.Event("matrix", np.array([1.5, 2.5]), 12),
        ft.Event(3, b"raw", -7),
        ft.Event("", "", 5),
    ]
    client.putEvents(sent[0])
    client.putEvents(sent[1:])
    back = client.getEvents()
    assert [(e.sample, e.offset, e.duration) for e in back] == [(e.sample, e.offset, e.duration) for e in sent]
    assert [e.type for e in back] == ["stimulus", "trigger", "matrix", 3, ""]
    assert [back[i].value for i in (0, 1, 3, 4)] == ["left", 7, "raw", ""]
    np.testing.assert_array_equal(back[2].value, [1.5, 2.5])
    assert client.getEvents((1, 1))[0].value == 7
    assert client.getEvents((5, 5)) is None
    client.putEvents(ft.Event("now", "", ft.NOW))
    assert client.getEvents((5, 5))[0].sample >= 50


def test_unanswered_writes_and_flushes(client):
    client.putHeader(2, 100.0, ft.DATATYPE_FLOAT64, response=False)
    client.putData(np.ones((4, 2)), response=False)
    client.putEvents(ft.Event("a", "b", 0), response=False)
    assert client.poll() == (4, 1)
    client.flushData()
    client.flushEvents()
    assert client.poll() == (0, 0)
    client.flushHeader()
    assert client.getHeader() is None


def test_waiting_ends_with_samples_with_events_and_with_the_time(server, client):
    client.putHeader(1, 100.0, ft.DATATYPE_UINT8)
    assert client.wait(0, ft.NEVER, 50) == (0, 0)
    with ft.Client(server.address) as writer:
        later = threading.Timer(0.1, writer.putData, [np.zeros((2, 1), np.uint8)])
        later.start()
        assert client.wait(1, ft.NEVER, 0xFFFFFFFF) == (2, 0)
        later.join()
        later = threading.Timer(0.1, writer.putEvents, [ft.Event("a", "b", 0)])
        later.start()
        assert client.wait(ft.NEVER, 0, 20_000) == (2, 1)
        later.join()


def test_big_blocks_pass_in_both_directions(client):
    values = np.random.default_rng(1).standard_normal((20_000, 256)).astype(np.float32)
    client.putHeader(256, 2000.0, ft.DATATYPE_FLOAT32)
    client.putData(values)
    np.testing.assert_array_equal(client.getData((0, 19_999)), values)


def test_following_survives_a_killed_server(server):
    if not server.address.startswith("buffer://127"):
        pytest.skip("one transport is enough")
    blocks = ft.follow(server.address, start="oldest", timeout=20, block=7)
    with ft.Client(server.address) as client:
        client.putHeader(1, 100.0, ft.DATATYPE_INT32)
        client.putData(np.arange(100, dtype=np.int32)[:, None])
    seen = np.concatenate([next(blocks).values for _ in range(15)])
    np.testing.assert_array_equal(seen[:, 0], np.arange(100))
    server.kill()
    with peers.Schwann(address=server.address.removeprefix("buffer://")):
        with ft.Client(server.address, timeout=5) as client:
            client.putHeader(1, 50.0, ft.DATATYPE_INT32)
            client.putData(np.arange(3, dtype=np.int32)[:, None])
        block = next(blocks)
        assert (block.first, block.values[:, 0].tolist()) == (0, [0, 1, 2])


def test_a_silent_server_does_not_hang_us():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with ft.Client(f"127.0.0.1:{listener.getsockname()[1]}", timeout=0.1) as client:
            with pytest.raises(TimeoutError):
                client.getHeader()
            assert not client.isConnected


def test_the_server_of_eegsynth(tmp_path):
    source = pytest.importorskip("importlib.util").find_spec("lib.FieldTrip")
    if source is None:
        pytest.skip("eegsynth is not installed")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {"PYTHONPATH": str(source.origin).rsplit("/", 1)[0], "PATH": "/usr/bin"}
    process = subprocess.Popen([sys.executable, "-c", peers.EEGSYNTH, str(port)], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with ft.Client() as client:
            client.connect("127.0.0.1", port, patience=20)
            client.putHeader(2, 100.0, ft.DATATYPE_FLOAT32)
            values = np.arange(40, dtype=np.float32).reshape(20, 2)
            client.putData(values)
            time.sleep(0.05)
            header = client.getHeader()
            assert (header.nChannels, header.nSamples) == (2, 20)
            np.testing.assert_array_equal(client.getData((5, 19)), values[5:])
            assert client.poll() == (20, 0)
    finally:
        process.kill()
        process.wait()
