"""Filters, against scipy's."""

import threading
import time

import numpy as np
import pytest

import schwann
from conftest import PATIENCE, Connect

signal = pytest.importorskip("scipy.signal")
NOISE = np.random.default_rng(1).normal(0, 50, (5000, 8))


@pytest.mark.parametrize(
    ("own", "sections"),
    [
        (schwann.Filter.highpass(1.0, 500.0, 8), signal.butter(2, 1.0, "highpass", fs=500.0, output="sos")),
        (schwann.Filter.lowpass(40.0, 500.0, 8), signal.butter(2, 40.0, "lowpass", fs=500.0, output="sos")),
        (schwann.Filter.notch(50.0, 500.0, 8), signal.tf2sos(*signal.iirnotch(50.0, 30.0, fs=500.0))),
        (schwann.Filter(2 * (sos := signal.cheby2(9, 60, [1, 45], "bandpass", fs=500.0, output="sos")), 8), sos),
    ],
)
def test_chunks_come_out_as_from_sosfilt_in_one_piece(own: schwann.Filter, sections: np.ndarray) -> None:
    expected = signal.sosfilt(sections, NOISE, axis=0)
    pieces = [own(chunk) for chunk in np.split(NOISE, [1, 7, 7, 2500, 4999])]
    np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    own.reset()
    np.testing.assert_array_equal(own(NOISE[:7]), np.concatenate(pieces[:3]))


def test_a_stream_filters_what_is_pulled(connect: Connect) -> None:
    sections = signal.butter(2, 40.0, "lowpass", fs=500.0, output="sos")
    own = {"filters": [schwann.Filter.lowpass(40.0, 500.0, 8), schwann.Filter(sections, 8)]}
    outlet, stream = connect("EEG", 8, rate=500.0, format="double64", open=own)
    outlet.push(NOISE[:1000])
    chunks = stream.chunks(count=100)
    got = np.concatenate([next(chunks).data for _ in range(10)])
    expected = signal.sosfilt(np.concatenate([sections, sections]), NOISE[:1000], axis=0)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    for channels, kind in [(7, "EEG"), (1, "Markers")]:
        with pytest.raises(schwann.ArgumentError, match="as many channels"):
            connect(kind, 1 if kind == "Markers" else 8, open={"filters": [schwann.Filter.lowpass(40.0, 500.0, channels)]})


def test_a_value_that_is_no_number_does_not_stay() -> None:
    notch = schwann.Filter.notch(50, 250, 2)
    assert np.isnan(notch(np.array([[np.nan, 1.0]]))[0, 0])
    assert np.isfinite(notch(np.ones((3, 2)))).all()


def test_a_filter_serves_one_open_stream(connect: Connect) -> None:
    own = schwann.Filter.lowpass(40.0, 500.0, 1)
    outlet, stream = connect("EEG", 1, open={"filters": [own]})
    with pytest.raises(schwann.ArgumentError, match=f"{outlet.info.name}.*one filter for each"):
        outlet.info.open(filters=[own], timeout=PATIENCE)
    stream.close()
    # Twice in one stream, it would take its own output for what came before.
    with pytest.raises(schwann.ArgumentError, match="one filter for each"):
        outlet.info.open(filters=[own, own], timeout=PATIENCE)
    with outlet.info.open(filters=[own], timeout=PATIENCE) as opened:
        assert not opened.closed


def test_other_threads_run_while_it_filters() -> None:
    own, is_over = schwann.Filter(np.repeat([[1.0, 0, 0, 1, 0, 0]], 300, axis=0), 8), threading.Event()
    longest = [0.0]

    def tick() -> None:
        last = time.monotonic()
        while not is_over.is_set():
            now = time.monotonic()
            longest[0], last = max(longest[0], now - last), now

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        began = time.monotonic()
        own(np.tile(NOISE, (10, 1)))
        took = time.monotonic() - began
    finally:
        is_over.set()
        ticking.join()
    assert longest[0] < took / 2


def test_any_numbers_are_filtered_and_nothing_else() -> None:
    own = schwann.Filter.lowpass(40.0, 500.0, 2)
    assert own(np.ones((4, 2), np.int16)).shape == (4, 2)
    assert own(np.asfortranarray(np.ones((4, 2), np.float32)).T.T).dtype == np.float64
    for wrong in [np.ones((4, 3)), np.ones((2, 2, 2)), np.array([["a", "b"]], object)]:
        with pytest.raises(schwann.ArgumentError):
            own(wrong)


@pytest.mark.parametrize("hertz", [0.0, 250.0, -1.0, float("nan"), float("inf")])
def test_frequencies_that_the_rate_does_not_have_are_refused(hertz: float) -> None:
    for design in [schwann.Filter.highpass, schwann.Filter.lowpass, schwann.Filter.notch]:
        with pytest.raises(schwann.ArgumentError):
            design(hertz, 500.0, 1)


@pytest.mark.parametrize("sections", [[], [1.0] * 6, [[1.0] * 5], [[1, 0, 0, 0, 0, 0]], [[1, 0, 0, 1, 0, float("nan")]]])
def test_sections_that_are_none_are_refused(sections: list[object]) -> None:
    with pytest.raises(schwann.ArgumentError):
        schwann.Filter(sections, 1)  # type: ignore[arg-type]


def test_filters_of_several_threads_do_not_meet() -> None:
    expected = schwann.Filter.notch(50.0, 500.0, 8)(NOISE)
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(schwann.Filter.notch(50.0, 500.0, 8)(NOISE))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(np.array_equal(one, expected) for one in results)
