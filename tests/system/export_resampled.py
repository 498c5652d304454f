"""Resamples recordings with `schwann export --resample`, and compares the result with the truth, SciPy and MNE.

Run by checks/67-export.sh: SCHWANN names the program.
"""

import math
import subprocess

import numpy
import pytest

from export import SCHWANN, Stream, exported, write

# How far samples next to a filter's end may differ: it reaches so many samples of the lower rate.
EDGE = 40


class Wave(Stream):
    """Sums of sines, from a computer whose clock is off, and drifts."""

    def __init__(self, number, name, rate, offset, drift):
        at = 5000.1234 + numpy.arange(40 * rate) / rate
        values = numpy.stack([wave(at), numpy.sin(2 * numpy.pi * 130 * at)], axis=1)
        super().__init__(number, name, "EEG", rate, "double64", values, at)
        self.offset, self.drift = offset, drift

    def own_clock(self, time):
        return time - self.offset - self.drift * (time - 5000)


@pytest.fixture(scope="session")
def waves(tmp_path_factory):
    """At 1000 Hz and 512 Hz, with clocks that are 3.7 s and 12.25 s off; the second one drifts by 100 ppm."""
    path = tmp_path_factory.mktemp("waves") / "waves.xdf"
    write(path, [Wave(1, "Fast", 1000, 3.7, 0), Wave(2, "Slow", 512, 12.25, 1e-4)])
    return path


def wave(at):
    return numpy.sin(2 * numpy.pi * 7.3 * at) + 0.5 * numpy.sin(2 * numpy.pi * 91 * at + 1)


@pytest.mark.parametrize("rate", [250, 256, 400])
def test_resampled_streams_have_the_same_times_and_what_the_rate_holds(waves, tmp_path, rate):
    import mne
    import scipy.interpolate
    import scipy.signal

    report = exported(waves, tmp_path, "brainvision", "--resample", rate)
    assert [(one["stream"], one["to"]) for one in report["resampled"]] == [("Fast", rate), ("Slow", rate)]
    assert math.isclose(report["resampled"][0]["from"], 1000, rel_tol=1e-6) and report["resampled"][0]["stop"] == rate / 2
    assert math.isclose(report["resampled"][1]["from"], 512, rel_tol=1e-6)
    # The same grid for both: whole multiples of the period on the recorder's clock.
    csv = exported(waves, tmp_path, "csv", "--resample", rate)
    grids = {file["stream"]: numpy.loadtxt(file["path"], delimiter=",", skiprows=1) for file in csv["files"]}
    assert numpy.max(numpy.abs(grids["Fast"][:, 0] * rate - numpy.round(grids["Fast"][:, 0] * rate))) < 1e-4 * rate
    shared = min(map(len, grids.values()))
    assert numpy.max(numpy.abs(grids["Fast"][:shared, 0] - grids["Slow"][:shared, 0])) < 2e-5
    for file in report["files"]:
        grid = grids[file["stream"]]
        inner = slice(EDGE, -EDGE)
        assert numpy.max(numpy.abs(grid[inner, 1] - wave(grid[inner, 0]))) < 2e-3, "to the truth"
        if rate / 2 < 130:
            assert numpy.max(numpy.abs(grid[inner, 2])) < 2e-4, "no alias of 130 Hz"
        raw = mne.io.read_raw_brainvision(file["path"], preload=True, verbose="error")
        assert raw.info["sfreq"] == rate and len(raw) == len(grid) == file["sample_count"]
    # What scipy and MNE make of the same samples, at their own places. MNE's default method rounds the number of samples with their
    # padding, so that its times drift by a part of a sample.
    at = 5000.1234 + numpy.arange(40_000) / 1000
    up, down = (rate // math.gcd(rate, 1000), 1000 // math.gcd(rate, 1000))
    raw = mne.io.RawArray([wave(at)], mne.create_info(1, 1000.0), verbose="error")
    theirs = [scipy.signal.resample_poly(wave(at), up, down),
              raw.resample(rate, method="polyphase", verbose="error").get_data()[0]]
    for found in theirs:
        places = at[0] + numpy.arange(len(found)) / rate
        # Ours lie between theirs by a part of a sample; both are compared where ours are.
        grid = grids["Fast"]
        truth = scipy.interpolate.CubicSpline(places, found - wave(places))(grid[:, 0]) + wave(grid[:, 0])
        inner = slice(2 * EDGE, -2 * EDGE)
        assert numpy.max(numpy.abs(grid[inner, 1] - truth[inner])) < 3e-3, "theirs is 0.1 % off the truth, too"


@pytest.mark.parametrize("step", [0, 1e-9, -0.01])
def test_stamps_without_a_rate_are_said_and_no_file_is_made(tmp_path, step):
    stamps = 5000 + step * numpy.arange(1000)
    write(tmp_path / "still.xdf", [Stream(1, "Still", "EEG", 100, "double64", numpy.zeros((1000, 1)), stamps)])
    command = [SCHWANN, "export", tmp_path / "still.xdf", "--to", "csv", "--resample", "50"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3 and "no rate to resample from" in done.stderr, done
    assert [path.name for path in tmp_path.iterdir()] == ["still.xdf"]
