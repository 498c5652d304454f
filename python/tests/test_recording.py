"""Reading recordings: equal to pyxdf, and what is damaged or no recording at all."""

import os
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import schwann

pyxdf = pytest.importorskip("pyxdf")

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
# What pyxdf rounds away: `test_times_are_what_pyxdf_means` has it reckon more precisely, and leaves 1e-10 s of it. It fits the
# line through the offsets in float64 and in units of 1e-4 s from the clock's zero. A week's difference is 6.5e9 of these, which
# float64 has to 1e-6. Sums of their products with as large times lose two digits more: 1e-8 s.
REFERENCES = {"minimal.xdf": 1e-9, "empty_streams.xdf": 1e-9, "clock_resets.xdf": 2e-8}


def chunk(tag: int, content: bytes) -> bytes:
    return b"\x04" + struct.pack("<IH", len(content) + 2, tag) + content


def header(stream: int, name: str, count: int, format: str, rate: float, kind: str, labels: str = "") -> bytes:
    channels = "".join(f"<channel><label>{one}</label><unit>uV</unit><type>EEG</type></channel>" for one in labels)
    xml = (f"<info><name>{name}</name><type>{kind}</type><channel_count>{count}</channel_count><nominal_srate>{rate}"
           f"</nominal_srate><channel_format>{format}</channel_format><created_at>0</created_at>"
           f"<desc><channels>{channels}</channels></desc></info>")
    return chunk(2, struct.pack("<I", stream) + xml.encode())


def samples(stream: int, times: list[float], rows: list[bytes]) -> bytes:
    content = b"".join(b"\x08" + struct.pack("<d", time) + row for time, row in zip(times, rows))
    return chunk(3, struct.pack("<I", stream) + b"\x04" + struct.pack("<I", len(rows)) + content)


@pytest.fixture
def recording(tmp_path: pathlib.Path) -> pathlib.Path:
    """Two channels of EEG with a gap of a minute and jitter, markers, and offsets of a clock that drifts."""
    random = np.random.default_rng(7)
    eeg = np.arange(1200) / 100 + 5000 + random.normal(0, 0.001, 1200)
    eeg[600:] += 60
    content = b"XDF:" + chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")
    content += header(1, "Cap", 2, "float32", 100, "EEG", "AB") + header(2, "Go", 1, "string", 0, "Markers")
    for first in range(0, 1200, 50):
        rows = [struct.pack("<ff", number, -number) for number in range(first, first + 50)]
        content += samples(1, eeg[first : first + 50].tolist(), rows)
    content += samples(2, [5001.0, 5066.0], [b"\x01\x02go", "\u00fc".encode().join([b"\x01\x02", b""])])
    for number in range(15):
        offset = 100 + 1e-5 * number + random.normal(0, 1e-5)
        content += chunk(4, struct.pack("<Idd", 1, 5000 + 5 * number, offset) )
    for stream, count in [(1, 1200), (2, 2)]:
        xml = f"<info><first_timestamp>5000</first_timestamp><last_timestamp>5072</last_timestamp><sample_count>{count}</sample_count></info>"
        content += chunk(6, struct.pack("<I", stream) + xml.encode())
    path = tmp_path / "recording.xdf"
    path.write_bytes(content)
    return path


def assert_equal(path: pathlib.Path, tolerance: float, **how: bool) -> None:
    ours = schwann.read_xdf(path, **how)
    on = how.get("synchronize", True)
    theirs, _ = pyxdf.load_xdf(path, synchronize_clocks=on, dejitter_timestamps=how.get("dejitter", True))
    assert {stream.id for stream in ours} == {stream["info"]["stream_id"] for stream in theirs}
    for their in theirs:
        our = next(stream for stream in ours if stream.id == their["info"]["stream_id"])
        assert (our.name, our.type) == (their["info"]["name"][0], their["info"]["type"][0])
        np.testing.assert_allclose(our.times, their["time_stamps"], rtol=0, atol=tolerance)
        if isinstance(their["time_series"], list):
            assert our.data.tolist() == their["time_series"]
        else:
            # Of nothing, pyxdf forgets the type.
            assert our.data.dtype == their["time_series"].dtype or len(our) == 0
            np.testing.assert_array_equal(our.data.reshape(their["time_series"].shape), their["time_series"])
        assert [(one.start, one.stop - 1) for one in our.segments] == [tuple(one) for one in their["info"]["segments"]]
        assert our.effective_rate == pytest.approx(their["info"]["effective_srate"], rel=1e-9)


HOWS: list[dict[str, bool]] = [{}, {"synchronize": False}, {"dejitter": False}, {"synchronize": False, "dejitter": False}]


@pytest.mark.parametrize("how", HOWS)
def test_values_and_times_are_pyxdfs(recording: pathlib.Path, how: dict[str, bool]) -> None:
    assert_equal(recording, 1e-9, **how)


@pytest.mark.parametrize("name", REFERENCES)
def test_recordings_of_others_are_read_as_pyxdf_reads_them(name: str) -> None:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no reference recording {name} on this machine")
    assert_equal(path, REFERENCES[name])


Wide = np.longdouble


def straight(x: Any, y: Any) -> Any:
    """The least-squares line: its value at 0, and its slope."""
    middle, mean = x.mean(), y.mean()
    squares = ((x - middle) ** 2).sum()
    slope = ((x - middle) * (y - mean)).sum() / squares if squares else Wide(0)
    return mean - slope * middle, slope


def robust(design: Any, values: Any) -> Any:
    """The line with the Huber loss, in as many rounds as pyxdf takes."""
    x, z, u = design[:, 1], Wide(0), Wide(0)
    assert x.dtype == values.dtype == Wide
    for _ in range(1000):
        at_zero, slope = straight(x, values + z - u)
        distance = at_zero + slope * x - values + u
        size = np.abs(distance)
        shrunk = np.maximum(0, size - 2) / np.where(size == 0, 1, size)
        z = (distance + shrunk * distance) / 2
        u = distance - z
    return np.array([at_zero, slope])


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has pyxdf fit its two lines with 64 bits of mantissa instead of 53, from the same numbers."""
    if np.finfo(Wide).eps > 1e-18:
        pytest.skip("longdouble is no wider than float64 here")
    sync: Callable[..., Any] = pyxdf.pyxdf._clock_sync

    def wide_sync(streams: dict[int, Any], *more: Any, **options: Any) -> Any:
        for stream in streams.values():
            stream.clock_times, stream.clock_values = ([Wide(one) for one in numbers] for numbers in (stream.clock_times, stream.clock_values))
        return sync(streams, *more, **options)

    def line(design: Any, values: Any, rcond: Any) -> Any:
        return np.array(straight(design[:, 1].astype(Wide), values.ravel().astype(Wide))).reshape(2, 1), None

    monkeypatch.setattr(pyxdf.pyxdf, "_clock_sync", wide_sync)
    monkeypatch.setattr(pyxdf.pyxdf, "_robust_fit", robust)
    monkeypatch.setattr(np.linalg, "lstsq", line)
    yield


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", [*REFERENCES, "recording"])
def test_times_are_what_pyxdf_means(recording: pathlib.Path, wide: None, name: str, how: dict[str, bool]) -> None:
    path = recording if name == "recording" else SHARED / name
    if not path.exists():
        pytest.skip(f"no reference recording {name} on this machine")
    on, even = how.get("synchronize", True), how.get("dejitter", True)
    theirs, _ = pyxdf.load_xdf(path, synchronize_clocks=on, dejitter_timestamps=even)
    ours = {stream.id: stream for stream in schwann.read_xdf(path, **how)}
    for their in theirs:
        our = ours[their["info"]["stream_id"]]
        largest = max([0.0, *np.abs(our.times), *np.abs(their["time_stamps"]), *np.abs(our.clock_offsets[:, 1])])
        # Three sums are rounded to float64: the offset of a clock, its line at the stamp, the line of the stamps.
        np.testing.assert_allclose(our.times, their["time_stamps"], rtol=0, atol=1.5 * np.spacing(largest))


def test_streams_gaps_and_descriptions_are_explicit(recording: pathlib.Path) -> None:
    read = schwann.read_xdf(recording)
    cap = read["Cap"]
    assert cap is read[0] and len(read) == 2 and read.damage == []
    assert cap.channels.labels == ["A", "B"] and cap.channels.units == ["uV", "uV"]
    assert [gap.row for gap in cap.gaps] == [600]
    assert cap.gaps[0].stop - cap.gaps[0].start == pytest.approx(60, abs=0.1)
    assert cap.clock_offsets.shape == (15, 2)
    assert read["Go"].data.tolist() == [["go"], ["\u00fc"]]
    with pytest.raises(schwann.ArgumentError, match="Cup.*Cap, Go"):
        read["Cup"]
    assert "1200 samples × 2 channels, 100 Hz" in repr(read)


def test_it_says_which_samples_have_no_time_and_which_are_left_out(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "odd.xdf"
    rows = [struct.pack("<f", number) for number in range(5)]
    content = b"XDF:" + header(1, "Odd", 1, "float32", 100, "EEG") + samples(1, [1.0, 1.01, float("nan"), 1.03, 9.0], rows)
    for collected, offset in [(1.0, 0.5), (2.0, 0.5), (60.0, -90000.0)]:
        content += chunk(4, struct.pack("<Idd", 1, collected, offset))
    content += chunk(6, struct.pack("<I", 1) + b"<info><sample_count>4</sample_count></info>")
    path.write_bytes(content)
    odd = schwann.read_xdf(path)["Odd"]
    assert (odd.invalid_stamps, odd.corrupt_samples, odd.data.ravel().tolist()) == (1, 1, [0, 1, 2, 3])
    np.testing.assert_allclose(odd.times, [1.5, 1.51, 1.52, 1.53], atol=1e-9)
    assert "1 with a stamp that is no time, without 1 corrupt ones at the end" in repr(odd)
    odd = schwann.read_xdf(path, synchronize=False, dejitter=False)["Odd"]
    assert (odd.invalid_stamps, odd.corrupt_samples, len(odd)) == (1, 0, 5) and np.isnan(odd.times[2])


def test_mne_and_pandas_get_what_they_need(recording: pathlib.Path) -> None:
    read = schwann.read_xdf(recording)
    mne = pytest.importorskip("mne")
    with pytest.warns(UserWarning, match="2 events before the first sample of 'Cap' or after its last"):
        raw = read.to_mne("Cap")
    assert raw.ch_names == ["A", "B"] and raw.get_channel_types() == ["eeg", "eeg"]
    np.testing.assert_allclose(raw.get_data()[0], np.arange(1200) * 1e-6)
    # The recorder's clock is a hundred seconds ahead of the cap's; markers were stamped by the recorder's.
    assert [str(one["description"]) for one in raw.annotations] == ["EDGE boundary"]
    assert isinstance(raw, mne.io.BaseRaw)
    marks = {str(one["description"]): one["onset"] for one in schwann.read_xdf(recording, synchronize=False).to_mne("Cap").annotations}
    assert marks["go"] == pytest.approx(1.0, abs=0.02) and marks["\u00fc"] == pytest.approx(6.0, abs=0.02)
    with pytest.raises(schwann.ArgumentError, match="no rate"):
        read.to_mne("Go")
    # Triggers that are numbers are events, too.
    triggers = header(3, "Triggers", 1, "float32", 0, "Markers") + samples(3, [5002.0], [struct.pack("<f", 0.1)])
    recording.write_bytes(recording.read_bytes() + triggers)
    raw = schwann.read_xdf(recording, synchronize=False).to_mne("Cap")
    assert {"0.1", "go"} < {str(one["description"]) for one in raw.annotations}
    pandas = pytest.importorskip("pandas")
    table = read["Cap"].to_pandas()
    assert isinstance(table, pandas.DataFrame) and list(table.columns) == ["A", "B"] and len(table) == 1200


@pytest.mark.parametrize(("back", "event", "row"), [(3.0, 5008.5, 11500), (9.0, 4997.5, 6500), (1000.0, 4007.0, 7000)])
def test_mne_gets_the_events_after_a_clock_was_set_back(tmp_path: pathlib.Path, back: float, event: float, row: int) -> None:
    pytest.importorskip("mne")
    times = 5000.0 + np.arange(12000) / 1000
    times[6000:] -= back
    content = b"XDF:" + header(1, "Cap", 1, "float32", 1000, "EEG") + header(2, "Go", 1, "float32", 0, "Markers")
    for first in range(0, 12000, 200):
        content += samples(1, times[first : first + 200].tolist(), [struct.pack("<f", first)] * 200)
    content += samples(2, [5000.5, event, 6000.0], [struct.pack("<f", number) for number in range(3)])
    path = tmp_path / "back.xdf"
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="1 events"):
        raw = schwann.read_xdf(path).to_mne("Cap")
    marks = {str(one["description"]): one["onset"] for one in raw.annotations}
    assert marks == pytest.approx({"0": 0.5, "1": row / 1000, "EDGE boundary": 6.0}, abs=1e-3)


def test_damage_costs_what_is_damaged(recording: pathlib.Path) -> None:
    content = bytearray(recording.read_bytes())
    whole = len(schwann.read_xdf(recording)["Cap"])
    recording.write_bytes(content[:-40])
    torn = schwann.read_xdf(recording)
    assert len(torn["Cap"]) == whole and any("ends within a chunk" in line for line in torn.damage)


def test_what_is_no_recording_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        schwann.read_xdf(tmp_path / "nothing.xdf")
    with pytest.raises(IsADirectoryError):
        schwann.read_xdf(tmp_path)
    for name, content in {"text.xdf": b"hello", "empty.xdf": b"", "zipped.xdfz": b"\x1f\x8b" + bytes(50)}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(schwann.ArgumentError, match=name):
            schwann.read_xdf(tmp_path / name)
    if os.getuid() != 0:
        shutil.copy(tmp_path / "text.xdf", tmp_path / "closed.xdf")
        (tmp_path / "closed.xdf").chmod(0)
        with pytest.raises(PermissionError):
            schwann.read_xdf(tmp_path / "closed.xdf")


@pytest.mark.parametrize("path", [3.5, b"a.xdf", ["a.xdf"]])
def test_a_path_that_is_none_is_refused_and_no_descriptor_is_closed(tmp_path: pathlib.Path, path: object) -> None:
    number = os.open(tmp_path, os.O_RDONLY)
    for wrong in (path, number):
        with pytest.raises(schwann.ArgumentError, match="no path"):
            schwann.read_xdf(wrong)  # type: ignore[arg-type]
        with pytest.raises(schwann.ArgumentError, match="no path"):
            schwann.read_xdf(tmp_path / "none.xdf", identity=wrong)  # type: ignore[arg-type]
    os.close(number)


@pytest.mark.skipif(shutil.which("age") is None, reason="age seals")
def test_a_sealed_recording_opens_with_its_key(recording: pathlib.Path, tmp_path: pathlib.Path) -> None:
    keys = [tmp_path / "own.key", tmp_path / "other.key"]
    for key in keys:
        subprocess.run(["age-keygen", "-o", key], check=True, capture_output=True)
    public = next(line.split()[-1] for line in keys[0].read_text().splitlines() if "public key" in line)
    sealed = tmp_path / "recording.xdf.age"
    subprocess.run(["age", "-r", public, "-o", sealed, recording], check=True)
    read, plain = schwann.read_xdf(sealed, identity=keys[0]), schwann.read_xdf(recording)
    assert np.array_equal(read["Cap"].data, plain["Cap"].data)
    with pytest.raises(schwann.ArgumentError, match="identity="):
        schwann.read_xdf(sealed)
    with pytest.raises(schwann.ArgumentError):
        schwann.read_xdf(sealed, identity=keys[1])
    with pytest.raises(schwann.ArgumentError):
        schwann.read_xdf(sealed, identity=recording.with_name("recording.xdf.age"))
    with pytest.raises(FileNotFoundError):
        schwann.read_xdf(sealed, identity=tmp_path / "none.key")
