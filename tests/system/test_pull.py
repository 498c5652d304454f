"""Pulling keeps its promises about time, size and what it leaves behind."""

import pytest

import lsl
from conftest import quick, wait_until


@pytest.mark.parametrize("timeout", [0.0, 0.2, 0.7])
def test_a_pull_from_a_silent_stream_takes_its_timeout_and_not_more(connect, timeout):
    _, inlet = connect(channels=2)
    took, result = quick(inlet, timeout + 0.3, "pull", timeout)
    assert result == (None, 0.0) and timeout - 0.05 <= took < timeout + 0.3
    inlet.pull_chunk(1)
    took, result = quick(inlet, timeout + 0.3, "pull_chunk", 10, timeout)
    assert result == ([], []) and timeout - 0.05 <= took < timeout + 0.3


@pytest.mark.better("receiver")
def test_the_first_pull_of_a_chunk_keeps_its_timeout_though_the_sender_hangs(sender, receiver):
    import signal
    agent = sender()
    agent.outlet()
    inlet = receiver().inlet()
    inlet.open()
    agent.process.send_signal(signal.SIGSTOP)
    took, result = inlet.timed("pull_chunk", 10, 0.2)
    agent.process.send_signal(signal.SIGCONT)
    assert result == ([], []) and took < 10.0


def test_a_chunk_takes_what_is_there_when_the_time_is_up(connect):
    outlet, inlet = connect(channels=2)
    inlet.pull_chunk(1)
    outlet.push_chunk([1, 2, 3, 4], stamps=[1.0, 2.0])
    took, (values, stamps) = inlet.timed("pull_chunk", 100, 0.5)
    assert (values, stamps) == ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0]) and took < 10.0


def test_a_chunk_returns_as_soon_as_it_is_full(connect):
    outlet, inlet = connect(channels=1)
    inlet.pull_chunk(1)
    outlet.push_chunk([1, 2, 3], stamps=[1.0, 2.0, 3.0])
    took, (values, _) = inlet.timed("pull_chunk", 3, 20.0)
    assert values == [1.0, 2.0, 3.0] and took < 5.0


def test_a_chunk_may_be_pulled_without_stamps(connect):
    outlet, inlet = connect(channels=2)
    outlet.push_chunk([1, 2, 3, 4], stamps=[1.0, 2.0])
    assert inlet.pull_chunk(2, 10.0, stamps=False) == ([1.0, 2.0, 3.0, 4.0], None)


def test_a_chunk_buffer_of_a_wrong_size_is_refused(connect):
    outlet, inlet = connect(channels=2)
    outlet.push([1, 2], 1.0)
    for arguments in ({"values": 3}, {"values": 6}):
        with pytest.raises(lsl.LslError) as error:
            inlet.pull_chunk(2, 1.0, **arguments)
        assert error.value.code == lsl.INTERNAL


def test_a_sample_buffer_of_a_wrong_size_is_refused(connect):
    outlet, inlet = connect(channels=3)
    outlet.push([1, 2, 3], 1.0)
    with pytest.raises(lsl.LslError) as error:
        inlet.pull(5.0, elements=2)
    assert error.value.code == lsl.ARGUMENT
    outlet.push([4, 5, 6], 2.0)
    with pytest.raises(lsl.LslError) as error:
        inlet.pull_raw(5, 5.0)
    assert error.value.code == lsl.ARGUMENT


@pytest.mark.better("receiver")
def test_a_sample_buffer_of_a_wrong_size_does_not_cost_the_sample(connect):
    outlet, inlet = connect(channels=3)
    outlet.push([1, 2, 3], 1.0)
    with pytest.raises(lsl.LslError):
        inlet.pull(5.0, elements=2)
    assert inlet.pull(5.0) == ([1.0, 2.0, 3.0], 1.0)


def test_raw_values_cannot_be_pulled_from_strings(connect):
    outlet, inlet = connect(format="string", channels=1)
    outlet.push([b"x"], 1.0)
    with pytest.raises(lsl.LslError) as error:
        inlet.pull_raw(32, 5.0)
    assert error.value.code == lsl.ARGUMENT
    with pytest.raises(lsl.LslError) as error:
        outlet.push_raw(b"x" * 32)
    assert error.value.code == lsl.ARGUMENT


@pytest.mark.since118("receiver")
@pytest.mark.parametrize("function", ["pull_chunk_str", "pull_chunk_buf"])
def test_unfilled_string_slots_are_null(connect, function):
    outlet, inlet = connect(format="string", channels=2)
    outlet.push_chunk([b"a", b"", b"ccc", b"d"], stamps=[1.0, 2.0])
    written, slots, lengths = inlet.string_slots(4, 1.0, function)
    assert written == 4 and slots == [b"a", b"", b"ccc", b"d", None, None, None, None]
    assert lengths in (None, [1, 0, 3, 1, 0, 0, 0, 0])


@pytest.mark.since118("receiver")
@pytest.mark.parametrize("function", ["pull_chunk_str", "pull_chunk_buf"])
def test_pulling_no_strings_leaves_only_nulls(connect, function):
    _, inlet = connect(format="string", channels=2)
    written, slots, lengths = inlet.string_slots(3, 0.1, function)
    assert written == 0 and slots == [None] * 6 and lengths in (None, [0] * 6)


@pytest.mark.since118("receiver")
def test_strings_in_chunks_keep_their_nuls(connect):
    outlet, inlet = connect(format="string", channels=1)
    outlet.push_chunk([b"a\0b", b"\0"], stamps=[1.0, 2.0])
    written, slots, lengths = inlet.string_slots(3, 1.0, "pull_chunk_buf")
    assert (written, slots, lengths) == (2, [b"a\0b", b"\0", None], [3, 1, 0])


@pytest.mark.since118("library")
def test_string_arrays_are_destroyed_as_documented(library):
    assert library().string_array_is_destroyed() == b"one"


def test_a_flush_drops_what_is_queued_and_says_how_much(connect):
    outlet, inlet = connect(channels=1)
    for number in range(1, 8):
        outlet.push([number], float(number))
    wait_until(lambda: inlet.available() == 7)
    assert inlet.pull() == ([1.0], 1.0)
    assert inlet.flush() == 6 and inlet.available() == 0 and inlet.flush() == 0
    outlet.push([9.0], 9.0)
    assert inlet.pull() == ([9.0], 9.0)


def test_nothing_pushed_is_success_and_nothing_received(connect):
    outlet, inlet = connect(channels=2)
    outlet.push_chunk([], 1.0)
    assert inlet.pull(0.2) == (None, 0.0)


def test_a_chunk_that_is_no_whole_number_of_samples_is_refused(connect):
    outlet, _ = connect(channels=2)
    with pytest.raises(lsl.LslError) as error:
        outlet.push_chunk([1, 2, 3], 1.0)
    assert error.value.code == lsl.INTERNAL


def test_pushes_without_a_consumer_succeed_and_are_not_kept(sender, receiver):
    outlet = sender().outlet()
    outlet.push([1.0], 1.0)
    outlet.push_chunk([2.0, 3.0], 2.0)
    inlet = receiver().inlet()
    inlet.open()
    wait_until(outlet.consumers)
    outlet.push([4.0], 4.0)
    assert inlet.pull() == ([4.0], 4.0)
