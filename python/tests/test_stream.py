"""Receiving."""

import inspect
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import schwann
from conftest import PATIENCE, Connect


def test_chunks_have_the_length_that_was_asked_for(connect: Connect) -> None:
    outlet, stream = connect("EEG", 2, rate=100.0)
    outlet.push(np.arange(60.0).reshape(30, 2))
    chunks = stream.chunks(seconds=0.1)
    got = [next(chunks) for _ in range(3)]
    assert [chunk.data.shape for chunk in got] == [(10, 2)] * 3
    np.testing.assert_array_equal(np.concatenate([chunk.data for chunk in got]).ravel(), np.arange(60.0))
    for options in [{"seconds": 0.0}, {"seconds": 1.0, "count": 3}, {"seconds": float("nan")}]:
        with pytest.raises(schwann.ArgumentError):
            next(stream.chunks(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["float32", "string"])
def test_a_chunk_is_the_programs_own(connect: Connect, format: str) -> None:
    outlet, stream = connect("Values", 2, format=format)
    kept: list[schwann.Chunk] = []
    for number in range(20):
        outlet.push([[number, number], [number, number]])
        # Room for more than comes: then it is the beginning of a larger array.
        kept.append(stream.pull(2, PATIENCE) if number % 2 else stream.pull(timeout=PATIENCE))
        while sum(map(len, kept)) < 2 * number + 2:
            kept.append(stream.pull(timeout=PATIENCE))
        kept[-1].data.flags.writeable = True
    assert [float(value) for chunk in kept for value in chunk.data[:, 1]] == [number for number in range(20) for _ in range(2)]
    assert not any(np.shares_memory(one.times, other.times) for one in kept for other in kept if one is not other)


def test_a_pull_returns_what_came_when_the_time_is_over(connect: Connect) -> None:
    outlet, stream = connect("EEG", 2)
    assert stream.pull(timeout=0.0).data.shape == (0, 2)
    outlet.push(np.ones((3, 2)))
    assert len(stream.pull(3, PATIENCE)) == 3
    outlet.push(np.ones((2, 2)))
    chunk = stream.pull(5, 0.5)
    assert chunk.data.shape == (2, 2) and len(chunk.times) == 2
    with pytest.raises(schwann.ArgumentError):
        stream.pull(-1)
    with pytest.raises(schwann.ArgumentError):
        stream.pull(1, float("nan"))


def test_a_waiting_pull_lets_other_threads_run(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)
    pulled: list[schwann.Chunk] = []
    puller = threading.Thread(target=lambda: pulled.append(stream.pull(1)))
    puller.start()
    outlet.push(4.0)
    puller.join(PATIENCE)
    assert pulled[0].data.tolist() == [[4.0]]


@pytest.mark.parametrize("kind", ["EEG", "Markers"])
def test_closing_ends_the_waits_of_other_threads(connect: Connect, kind: str) -> None:
    _, stream = connect(kind)
    ended: list[BaseException] = []
    waits = threading.Event()

    def pull() -> None:
        waits.set()
        try:
            stream.pull(1)
        except schwann.ClosedError as error:
            ended.append(error)

    puller = threading.Thread(target=pull)
    puller.start()
    waits.wait(PATIENCE)
    stream.close()
    puller.join(PATIENCE)
    assert len(ended) == 1
    calls: list[Callable[[], object]] = [stream.pull, stream.flush, stream.clock_offset, lambda: stream.on_alarm(print)]
    for call in calls:
        with pytest.raises(schwann.ClosedError):
            call()
    assert list(stream.chunks()) == [] and stream.closed


def test_a_description_opens_a_stream_with_every_option_that_a_stream_has() -> None:
    own, opened = (list(inspect.signature(one).parameters.values())[1:] for one in (schwann.Stream, schwann.StreamInfo.open))
    assert own == opened


def test_the_policy_latest_shows_the_present(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, rate=100.0, open={"policy": "latest", "max_lag": 0.5})
    outlet.push(0.0)
    stream.clock_offset(PATIENCE)
    now = schwann.local_clock()
    # What was measured in the past counts by its stamps, whenever it arrives.
    outlet.push(np.arange(1.0, 6.0), times=np.array([now - 9, now - 8, now - 7, now - 0.1, now]))
    deadline = time.monotonic() + PATIENCE
    got: list[float] = []
    while 5.0 not in got and time.monotonic() < deadline:
        got += stream.pull(timeout=PATIENCE).data.ravel().tolist()
    assert [value for value in got if value] == [4.0, 5.0]
    assert stream.lost >= 3
    lag = stream.lag
    assert lag is not None and 0 <= lag < PATIENCE


def test_the_policy_complete_keeps_what_is_old(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)
    outlet.push([1.0, 2.0], times=[1.0, 2.0])
    assert stream.pull(2, PATIENCE).times.tolist() == [1.0, 2.0]
    assert stream.lost == 0


@pytest.mark.parametrize(
    "options", [{"policy": "newest"}, {"max_lag": 1.0}, {"policy": "latest", "max_lag": 0.0}, {"policy": "latest", "max_lag": float("nan")}, {"clock": "mine"}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with schwann.Outlet("Options") as outlet, pytest.raises(schwann.ArgumentError):
        outlet.info.open(**options)


def test_the_clock_offset_comes_with_its_bound(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, open={"clock": "local"})
    offset = stream.clock_offset(PATIENCE)
    # One computer, one clock.
    assert abs(offset.seconds) <= offset.bound < 0.1
    sent = schwann.local_clock()
    outlet.push(1.0, times=sent)
    assert abs(stream.pull(1, PATIENCE).times[0] - sent) <= 2 * offset.bound + 1e-3


def test_events_tell_what_happened(connect: Connect) -> None:
    _, stream = connect("EEG", 1)
    deadline = time.monotonic() + PATIENCE
    while not (events := stream.events()) and time.monotonic() < deadline:
        pass
    assert (events, stream.events()) == (["connected"], [])
    assert stream.sealed is False and stream.peer is None and stream.refusal is None


def test_a_stream_that_does_not_come_back_is_lost(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, source_id="", open={"recover": False})
    outlet.push(5.0)
    outlet.close()
    assert stream.pull(1, PATIENCE).data.tolist() == [[5.0]]
    with pytest.raises(schwann.LostError, match="re-resolve"):
        stream.pull(1, PATIENCE)


def test_a_stream_that_nobody_sends_times_out() -> None:
    with schwann.Outlet("Gone", source_id="gone") as outlet:
        info = outlet.info
        found = schwann.resolve(source_id="gone", timeout=PATIENCE)[0]
    with pytest.raises(schwann.TimedOutError, match="'Gone'.*within 0.5 s.*schwann doctor"):
        found.open(timeout=0.5)
    del info


def test_flushing_drops_what_has_arrived(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)
    outlet.push([1.0, 2.0, 3.0])
    deadline = time.monotonic() + PATIENCE
    while stream.waiting < 3 and time.monotonic() < deadline:
        pass
    assert stream.flush() == 3 and stream.waiting == 0


def test_a_stream_that_was_not_closed_warns_once(connect: Connect) -> None:
    outlet, _ = connect("EEG", 1)
    stream = outlet.info.open(timeout=PATIENCE)
    with pytest.warns(ResourceWarning, match="not closed") as warned:
        del stream
    assert len(warned) == 1
