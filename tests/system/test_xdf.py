"""XDF recordings of ours in pyxdf and MNE-Python, and recordings of others in ours."""

import os
import pathlib
import subprocess

import numpy
import pytest
import pyxdf

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = pathlib.Path(os.environ.get("XDF_EXAMPLES", ROOT / "target" / "debug" / "examples"))
SHARED = ROOT.parent / "shared" / "data"
REFERENCES = ["minimal.xdf", "empty_streams.xdf", "clock_resets.xdf"]


def example(name, *arguments):
    """Runs one of the crate's example programs and returns what it prints."""
    command = [EXAMPLES / name, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def reference(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"SKIPPED LOUDLY: no reference recording {name} on this machine")
    return path


def load_ours(path, *how):
    """Returns what the example `load` prints, per stream id."""
    streams, current = {}, None
    for line in example("load", path, *how).splitlines():
        what, *rest = line.split()
        if what == "stream":
            current = streams[int(rest[0])] = {"stamps": [], "segments": [], "clock_segments": [], "rate": 0.0}
        elif what == "rate":
            current["rate"] = float(rest[0])
        elif what == "segment":
            current["segments"].append(tuple(map(int, rest)))
        elif what == "clock-segment":
            current["clock_segments"].append(tuple(map(int, rest)))
        elif what == "stamp":
            current["stamps"].append(float(rest[0]))
        else:
            assert (what, rest) == ("damage", ["0"])
    return streams


def assert_same_series(ours, theirs):
    if isinstance(theirs, list):
        assert ours == theirs
    else:
        assert ours.dtype == theirs.dtype
        assert numpy.array_equal(ours, theirs)


def strip(info):
    """A header without what pyxdf adds to it."""
    return {key: value for key, value in info.items()
            if key not in ("stream_id", "effective_srate", "segments", "clock_segments")}


def robust_fit_exactly(a, y, rho=1, iters=1000):
    """pyxdf's _robust_fit, step by step, in 80-bit arithmetic: what pyxdf would give without rounding."""
    long = numpy.longdouble
    x, y = a[:, 1].astype(long), y.astype(long)
    offset = x.min()
    x = x - offset
    n, sums, squares = long(len(x)), x.sum(), (x * x).sum()
    z = u = numpy.zeros_like(y)
    for _ in range(iters):
        target = y + (z - u)
        right = target.sum(), (x * target).sum()
        slope = (n * right[1] - sums * right[0]) / (n * squares - sums * sums)
        intercept = (right[0] - slope * sums) / n
        d = intercept + slope * x - y + u
        inverse = numpy.divide(1, d, out=numpy.zeros_like(d), where=d != 0)
        shrunk = numpy.maximum(0, 1 - (1 + 1 / rho) * numpy.abs(inverse))
        z = rho / (1 + rho) * d + 1 / (1 + rho) * shrunk * d
        u = d - z
    return [intercept - slope * offset, slope]


def assert_loaded_alike(name, path, tolerance):
    ours = load_ours(path)
    theirs, _ = pyxdf.load_xdf(path)
    assert len(theirs) == len(ours)
    for stream in theirs:
        mine = ours[stream["info"]["stream_id"]]
        assert len(mine["stamps"]) == len(stream["time_stamps"])
        worst = numpy.abs(numpy.array(mine["stamps"]) - stream["time_stamps"]).max(initial=0)
        print(name, stream["info"]["stream_id"], "worst difference", worst, "s")
        assert worst <= tolerance
        assert mine["segments"] == [tuple(s) for s in stream["info"]["segments"]]
        assert mine["clock_segments"] == [tuple(s) for s in stream["info"]["clock_segments"]]
        assert mine["rate"] == pytest.approx(stream["info"]["effective_srate"], rel=1e-9)


# On clock_resets.xdf, whose clocks differ by 7.5 days, pyxdf's own rounding reaches 8e-9 s; ours 1e-10 s.
@pytest.mark.parametrize("name, tolerance", zip(REFERENCES, [1e-9, 1e-9, 2e-8]))
def test_loading_gives_the_stamps_that_pyxdf_gives(name, tolerance):
    assert_loaded_alike(name, reference(name), tolerance)


@pytest.mark.parametrize("name", REFERENCES)
def test_loading_gives_the_stamps_that_pyxdf_would_without_rounding(name, monkeypatch):
    monkeypatch.setattr(pyxdf.pyxdf, "_robust_fit", robust_fit_exactly)
    assert_loaded_alike(name, reference(name), 1e-9)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_reference_recording_survives_our_reader_and_writer(name, tmp_path):
    path, copy = reference(name), tmp_path / "copy.xdf"
    example("copy", path, copy)
    plain = {"synchronize_clocks": False, "dejitter_timestamps": False}
    for how in (plain, {}):
        ours, our_header = pyxdf.load_xdf(copy, **how)
        theirs, _ = pyxdf.load_xdf(path, **how)
        assert our_header["info"]["version"] == ["1.0"]
        assert [s["info"]["stream_id"] for s in ours] == [s["info"]["stream_id"] for s in theirs]
        for mine, other in zip(ours, theirs):
            assert strip(mine["info"]) == strip(other["info"])
            assert_same_series(mine["time_series"], other["time_series"])
            assert mine["time_stamps"].tobytes() == other["time_stamps"].tobytes()
            assert mine["clock_times"] == other["clock_times"]
            assert mine["clock_values"] == other["clock_values"]
            assert int(mine["footer"]["info"]["sample_count"][0]) == len(other["time_stamps"])


def test_a_recording_of_ours_is_whole_in_pyxdf_and_mne(tmp_path):
    import mne

    path = tmp_path / "ours.xdf"
    channels, rate, seconds = 8, 500, 3
    example("record", path, channels, rate, seconds, "unpaced")
    streams, _ = pyxdf.load_xdf(path)
    signal, marks = streams
    count = rate * seconds
    n = numpy.arange(count)[:, None]
    expected = (n * 7 + numpy.arange(channels)[None, :]).astype(numpy.int16)
    assert numpy.array_equal(signal["time_series"], expected)
    assert numpy.allclose(signal["time_stamps"], 1000 - 0.125 + numpy.arange(count) / rate, atol=1e-6)
    assert signal["info"]["effective_srate"] == pytest.approx(rate)
    assert marks["time_series"] == [[f"second {n}"] for n in range(seconds)]
    assert numpy.allclose(marks["time_stamps"], 1000 + 0.25 + numpy.arange(seconds), atol=1e-6)
    for stream, samples in ((signal, count), (marks, seconds)):
        footer = stream["footer"]["info"]
        assert int(footer["sample_count"][0]) == samples
        assert len(footer["clock_offsets"][0]["offset"]) == seconds

    # As MNE-Python's own tutorial reads XDF: through pyxdf into a RawArray.
    info = mne.create_info(channels, signal["info"]["effective_srate"], "eeg")
    raw = mne.io.RawArray(signal["time_series"].T * 1e-6, info, verbose="error")
    first = signal["time_stamps"][0]
    raw.set_annotations(mne.Annotations(marks["time_stamps"] - first, 0, [m[0] for m in marks["time_series"]]))
    assert raw.n_times == count
    assert list(raw.annotations.description) == ["second 0", "second 1", "second 2"]
    assert raw.annotations.onset[1] == pytest.approx(1.375, abs=1e-3)
