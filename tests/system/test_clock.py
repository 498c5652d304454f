"""Clock offsets and the smoothing of time stamps."""

import pytest

import lsl
from conftest import quick, wait_until


def test_two_processes_of_one_machine_agree_within_a_millisecond(connect):
    outlet, inlet = connect()
    took, _ = inlet.timed("correction", 5.0)
    assert took < 5.0

    def agree() -> bool:
        correction, remote, uncertainty = inlet.correction_ex(5.0)
        # A busy machine makes the answer less certain, and never wrong.
        assert abs(correction) <= uncertainty and remote < outlet._agent.clock()
        return uncertainty < 1e-3

    wait_until(agree, 60.0)
    took, _ = quick(inlet, 0.1, "correction", 5.0)
    assert took < 0.1, "once known, the answer is there"


def test_a_clock_that_does_not_answer_times_out(sender, receiver):
    agent = sender()
    agent.outlet()
    inlet = receiver().inlet()
    agent.kill()
    took, result = quick(inlet, 2.0, "correction", 0.5)
    assert isinstance(result, lsl.LslError) and result.code == lsl.TIMEOUT and 0.4 < took < 2.0


def test_the_clock_is_the_machines_monotonic_one(library):
    import time
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    clock = library().clock()
    assert before <= clock <= time.clock_gettime(time.CLOCK_MONOTONIC)


def test_synchronised_stamps_are_on_the_receivers_clock(connect):
    outlet, inlet = connect(channels=1)
    inlet.postprocess(lsl.CLOCKSYNC)
    outlet.push([1.0], 1000.0)
    values, stamp = inlet.pull(10.0)
    assert values == [1.0] and stamp == pytest.approx(1000.0, abs=1e-3) and stamp != 1000.0


def test_monotone_stamps_never_go_back(connect):
    outlet, inlet = connect(channels=1)
    inlet.postprocess(lsl.MONOTONIZE)
    for stamp in (5.0, 3.0, 4.0, 6.0):
        outlet.push([0.0], stamp)
    assert inlet.pull_all(4)[1] == [5.0, 5.0, 5.0, 6.0]


def test_without_postprocessing_stamps_pass_unchanged(connect):
    outlet, inlet = connect(channels=1, rate=10.0)
    inlet.postprocess(0)
    for stamp in (5.0, 3.0, 4.123456789):
        outlet.push([0.0], stamp)
    assert inlet.pull_all(3)[1] == [5.0, 3.0, 4.123456789]


def smoothed(stamps, rate, halftime=90.0):
    """The filter of the reference, section 20, in plain double arithmetic."""
    base = int(stamps[0])
    w0, w1, p00, p01, p11 = 0.0, 1.0 / rate, 1e10, 0.0, 1e10
    forget = 2.0 ** (-1.0 / (rate * halftime))
    for u, t in enumerate(stamps):
        t -= base
        q0, q1 = p00 + u * p01, p01 + u * p11
        e = t - (w0 + u * w1)
        g = 1.0 / (forget + q0 + q1 * u)
        i = 1.0 / forget
        p00, p01, p11 = i * (p00 - q0 * q0 * g), i * (p01 - q0 * q1 * g), i * (p11 - q1 * q1 * g)
        w0, w1 = w0 + e * (p00 + p01 * u), w1 + e * (p01 + p11 * u)
        yield w0 + u * w1 + base


def test_jitter_is_smoothed_as_the_filter_says(connect):
    outlet, inlet = connect(channels=1, rate=100.0)
    inlet.postprocess(lsl.DEJITTER)
    jitter = [((number * 7919) % 101 - 50) / 20_000 for number in range(500)]
    stamps = [1000.0 + number / 100 + jitter[number] for number in range(500)]
    outlet.push_chunk([0.0] * 500, stamps=stamps)
    _, found = inlet.pull_all(500)
    assert found == pytest.approx(list(smoothed(stamps, 100.0)), abs=1e-7)
    steps = [b - a for a, b in zip(found[250:], found[251:])]
    assert max(abs(step - 0.01) for step in steps) < 2e-4


def test_a_flush_does_not_throw_the_filter_off(connect):
    outlet, inlet = connect(channels=1, rate=100.0, format="double64")
    inlet.postprocess(lsl.DEJITTER)
    # Stamps without jitter: whatever the filter is not told of shows.
    stamps = [1000.0 + number / 100 for number in range(100)]
    outlet.push_chunk(stamps[:40], stamps=stamps[:40])
    inlet.pull_all(20)
    wait_until(lambda: inlet.available() == 20)
    assert inlet.flush() == 20
    outlet.push_chunk(stamps[40:], stamps=stamps[40:])
    values, found = inlet.pull_all(60)
    assert [value[0] for value in values] == stamps[40:]
    assert found == pytest.approx(stamps[40:], abs=1e-4)


def mostly_within(found, expected, tolerance):
    """A busy machine makes pushes late, and the filter is there to not follow them."""
    near = sum(abs(a - b) <= tolerance for a, b in zip(found, expected, strict=True))
    return near >= 0.5 * len(found)


def test_all_processing_at_once_keeps_time(connect):
    outlet, inlet = connect(channels=1, rate=200.0, format="double64")
    inlet.postprocess(lsl.ALL)
    pushing = outlet.start("push_clock", 300, 0.005)
    values, stamps = inlet.pull_all(300, 20.0)
    assert len(stamps) == 300 and stamps == sorted(stamps)
    assert mostly_within([v[0] for v in values[50:]], stamps[50:], 0.02)
    pushing.result()


def test_a_restart_of_the_sender_resets_the_clock_once(sender, receiver):
    first = sender()
    first.outlet()
    inlet = receiver().inlet()
    inlet.open()
    inlet.correction(10.0)
    assert inlet.clock_was_reset() == 0
    first.kill()
    again = sender().outlet()
    wait_until(again.consumers, 30.0)
    inlet.correction(15.0)
    assert inlet.clock_was_reset() == 1
    assert inlet.clock_was_reset() == 0
