"""Synchronous outlets: samples go from the pushing thread to the socket."""

import pytest

import lsl
from conftest import wait_until

pytestmark = pytest.mark.since118("sender", "library")


@pytest.fixture
def pair(connect):
    return lambda **stream: connect(flags=lsl.SYNC, **stream)


def test_samples_arrive_one_by_one(pair):
    outlet, inlet = pair(channels=4)
    for number in range(1, 101):
        outlet.push([number, -number, 0.5, 1e30], float(number))
        values, stamp = inlet.pull()
        assert values[:2] == [number, -number] and stamp == number


@pytest.mark.parametrize("format", ["float32", "double64", "int8", "int16", "int32", "int64"])
def test_every_numeric_format_arrives(pair, format):
    outlet, inlet = pair(channels=2, format=format)
    limit = {"int8": 7, "int16": 15, "float32": 24}.get(format, 31)
    for bit in range(limit):
        outlet.push([1 << bit, 1 - (1 << bit)], bit + 1.0)
    values, _ = inlet.pull_all(limit)
    assert values == [[1 << bit, 1 - (1 << bit)] for bit in range(limit)]


def test_a_chunk_arrives_with_deduced_stamps(pair):
    outlet, inlet = pair(channels=2, rate=100.0)
    outlet.push_chunk(list(range(20)), 50.0)
    values, stamps = inlet.pull_chunk(10, 10.0)
    assert values == list(range(20)) and stamps == pytest.approx([49.91 + 0.01 * n for n in range(10)])


def test_two_consumers_each_get_everything(sender, receiver):
    outlet = sender().outlet(channels=2, flags=lsl.SYNC)
    inlets = [receiver().inlet() for _ in range(2)]
    for inlet in inlets:
        inlet.open()
    for number in range(1, 51):
        outlet.push([number, number], float(number))
    for inlet in inlets:
        assert inlet.pull_all(50)[1] == [float(number) for number in range(1, 51)]


def test_strings_are_refused(library):
    with pytest.raises(lsl.LslError):
        library().outlet(format="string", flags=lsl.SYNC)


def test_a_consumer_that_leaves_does_not_hold_up_the_pushes(pair):
    outlet, inlet = pair(channels=2)
    outlet.push([1, 1], 1.0)
    assert inlet.pull()[1] == 1.0
    inlet.destroy()
    assert outlet.start("push_until", 0.5).result(10.0) > 0
    wait_until(lambda: not outlet.consumers(), 5.0)


@pytest.mark.better("sender")
def test_other_types_are_converted(pair):
    outlet, inlet = pair(channels=2, format="int16")
    outlet.push([7.9, -3.2], 1.0, kind="double64")
    assert inlet.pull() == ([7, -3], 1.0)


@pytest.mark.better("sender")
def test_a_stalled_consumer_cannot_block_a_push_for_ever(sender, receiver):
    import signal
    outlet = sender(tuning__SyncSendTimeout=1.0).outlet(channels=1000, format="double64", flags=lsl.SYNC)
    agent = receiver()
    inlet = agent.inlet()
    inlet.open()
    agent.process.send_signal(signal.SIGSTOP)
    # A busy machine takes its time to fill the kernel's buffers.
    for _ in range(20):
        assert outlet.start("push_until", 1.0).result(30.0) > 0
        if not outlet.consumers():
            break
    assert not outlet.consumers()
