"""Reads what `schwann export` wrote with the libraries that people use, and compares it with what pyxdf reads.

Run by checks/67-export.sh: SCHWANN names the program.
"""

import datetime
import json
import math
import os
import struct
import subprocess
from pathlib import Path

import numpy
import pytest
import pyxdf

SCHWANN = os.environ["SCHWANN"]
OFFSET, DRIFT = 1000.0, 20e-6
# As the metadata conventions of XDF have it.
ACQUIRED = ("<reference><label>Mastoids</label></reference><cap><name>C-4</name><manufacturer>Cap &amp; Co</manufacturer>"
            "<labelscheme>10-20</labelscheme></cap><acquisition><manufacturer>ACME</manufacturer><model>A4</model></acquisition>")
# What bids-validator recommends and no recording of live streams can know, with who does.
UNKNOWN = {
    "the authors, whom to cite, the terms": {"NO_AUTHORS Authors", "TOO_FEW_AUTHORS None", "JSON_KEY_RECOMMENDED License"},
    "where the data come from, for a derived dataset": {"JSON_KEY_RECOMMENDED SourceDatasets"},
    "a vocabulary for events, for who tags them with it": {"JSON_KEY_RECOMMENDED HEDVersion"},
    "the task: what was said, shown, asked": {
        f"SIDECAR_KEY_RECOMMENDED {key}"
        for key in ["TaskDescription", "Instructions", "CogAtlasID", "CogPOID", "StimulusPresentation"]},
    "the place": {f"SIDECAR_KEY_RECOMMENDED {key}"
                  for key in ["InstitutionName", "InstitutionAddress", "InstitutionalDepartmentName"]},
    "the person": {f"SIDECAR_KEY_RECOMMENDED {key}" for key in ["HeadCircumference", "SubjectArtefactDescription"]},
    "the device, for which the conventions of XDF have no name": {
        f"SIDECAR_KEY_RECOMMENDED {key}" for key in ["DeviceSerialNumber", "SoftwareVersions", "EEGGround"]},
    "filters, of which the conventions do not say whether they are hardware": {"SIDECAR_KEY_RECOMMENDED HardwareFilters"},
    "landmarks that were not measured": {
        f"JSON_KEY_RECOMMENDED {key}"
        for part in ["AnatomicalLandmark", "Fiducials"]
        for key in [f"{part}Coordinates", f"{part}CoordinateSystem", f"{part}CoordinateSystemDescription", f"{part}CoordinateUnits"]},
}
AUX, AUX_GAP = (5001.1, 100, 55), (10, 13)


def chunk(tag, content):
    length = len(content) + 2
    return b"\x04" + struct.pack("<IH", length, tag) + content


def varlen(number):
    return b"\x04" + struct.pack("<I", number)


class Stream:
    """A stream of a recording that is written here, and not by the program under test."""

    def __init__(self, number, name, kind, rate, form, values, stamps, drifts=False, channels=None):
        self.number, self.values, self.stamps, self.drifts, self.form = number, values, stamps, drifts, form
        described = "".join(
            f"<channel><label>{label}</label><unit>microvolts</unit><type>EEG</type>"
            f"<location><X>{at}</X><Y>{-at}</Y><Z>{at * 2}</Z></location></channel>"
            for at, label in enumerate(channels or [])
        )
        desc = f"<desc><channels>{described}</channels>{ACQUIRED}</desc>" if described else "<desc/>"
        count = 1 if form == "string" else values.shape[1]
        self.header = (
            f"<?xml version='1.0'?><info><name>{name}</name><type>{kind}</type><channel_count>{count}</channel_count>"
            f"<nominal_srate>{rate}</nominal_srate><channel_format>{form}</channel_format>"
            f"<source_id>{name}</source_id>{desc}</info>"
        )

    def own_clock(self, time):
        """When the recorder's clock says `time`, this stream's clock says what is returned."""
        return (time - OFFSET) * (1 + DRIFT) if self.drifts else time

    def chunks(self):
        yield chunk(2, struct.pack("<I", self.number) + self.header.encode())
        for time in numpy.arange(self.stamps[0], self.stamps[-1] + 5, 5):
            own = self.own_clock(time)
            yield chunk(4, struct.pack("<Idd", self.number, own, time - own))
        for first in range(0, len(self.stamps), 100):
            rows = range(first, min(first + 100, len(self.stamps)))
            body = b"".join(self.row(row) for row in rows)
            yield chunk(3, struct.pack("<I", self.number) + varlen(len(rows)) + body)
        footer = f"<?xml version='1.0'?><info><sample_count>{len(self.stamps)}</sample_count></info>"
        yield chunk(6, struct.pack("<I", self.number) + footer.encode())

    def row(self, row):
        stamp = b"\x08" + struct.pack("<d", self.own_clock(self.stamps[row]))
        if self.form == "string":
            text = self.values[row].encode()
            return stamp + varlen(len(text)) + text
        return stamp + self.values[row].tobytes()


def write(path, streams):
    header = "<?xml version='1.0'?><info><version>1.0</version><datetime>2024-11-25T11:11:12+0100</datetime></info>"
    with open(path, "wb") as file:
        file.write(b"XDF:" + chunk(1, header.encode()))
        for stream in streams:
            for piece in stream.chunks():
                file.write(piece)


def even(begin, rate, seconds, gap=None):
    stamps = begin + numpy.arange(int(rate * seconds)) / rate
    if gap:
        stamps = stamps[(stamps < begin + gap[0]) | (stamps >= begin + gap[1])]
    return stamps


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "session.xdf"
    dice = numpy.random.default_rng(1)
    amplifier = even(5000, 250, 60, gap=(20, 22.5))
    eeg = dice.integers(-32768, 32768, (len(amplifier), 4)).astype("<i2")
    gaze = even(5003.37, 60, 50)
    aux = even(*AUX, gap=AUX_GAP)
    wide = even(5002, 50, 50)
    tiny = even(5002.5, 20, 50)
    times = 5004.0 + numpy.cumsum(dice.uniform(0.3, 2, 30))
    texts = ["left, right", 'say "go"', "größe µ"] + [f"stimulus {n}" for n in range(27)]
    streams = [
        Stream(1, "Amplifier", "EEG", 250, "int16", eeg, amplifier, True, ["Fp1", "Fp2", "Cz", "Oz"]),
        Stream(2, "Gaze", "Gaze", 60, "float32", dice.normal(0, 30, (len(gaze), 2)).astype("<f4"), gaze, True),
        Stream(3, "Aux", "Force", 100, "double64", dice.normal(5, 1e-3, (len(aux), 3)).astype("<f8"), aux),
        Stream(4, "Wide", "Count", 50, "int32", dice.integers(-8388608, 8388608, (len(wide), 8)).astype("<i4"), wide),
        Stream(5, "Tiny", "Count", 20, "int8", dice.integers(-128, 128, (len(tiny), 1)).astype("<i1"), tiny),
        Stream(6, "Markers", "Markers", 0, "string", texts, times, True),
        Stream(7, "Free", "Misc", 0, "float32", dice.normal(0, 1, (30, 2)).astype("<f4"), times + 0.1),
        Stream(8, "Codes", "Markers", 0, "int32", numpy.arange(30).reshape(30, 1).astype("<i4"), times + 0.05),
    ]
    write(path, streams)
    return path


@pytest.fixture(scope="session")
def expected(recording):
    streams, _ = pyxdf.load_xdf(str(recording))
    found = {stream["info"]["name"][0]: stream for stream in streams}
    # pyxdf takes 3 s at 100 Hz for no gap, and spreads them over all samples.
    found["Aux"]["time_stamps"] = even(*AUX, gap=AUX_GAP)
    return found


def schwann(*arguments, code=0):
    done = subprocess.run([SCHWANN, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def exported(recording, folder, form, *more, code=0):
    return json.loads(schwann("export", recording, "--to", form, "-o", folder / "x", "--json", *more, code=code))


def numbers(stream):
    return numpy.asarray(stream["time_series"])


def markers(expected):
    found = [(at, text[0]) for at, text in zip(expected["Markers"]["time_stamps"], expected["Markers"]["time_series"])]
    codes = zip(expected["Codes"]["time_stamps"], expected["Codes"]["time_series"][:, 0])
    return sorted(found + [(at, str(code)) for at, code in codes])


def places(stream, rate, count):
    """Where each sample must be in a file without stamps: within half a sample of its time."""
    stamps = stream["time_stamps"]
    at = numpy.round((stamps - stamps[0]) * rate).astype(int)
    assert at[-1] < count
    assert numpy.max(numpy.abs(at / rate + stamps[0] - stamps)) <= 0.5 / rate + 1e-9
    return at


SIGNALS = ["Amplifier", "Gaze", "Aux", "Wide", "Tiny"]


def test_each_name_that_is_printed_is_documented(recording, tmp_path):
    report = exported(recording, tmp_path, "brainvision", "--resample", 125, code=1)
    printed = {name for name in report if not isinstance(report[name], list)}
    printed |= {f"{name}[].{key}" for name in ("files", "resampled", "left_out") for one in report[name] for key in one}
    section = Path("docs/json.md").read_text().split("## `schwann export --json`")[1].split("\n## ")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    assert printed == {name.strip("` ") for row in rows for name in row.split(",")}


def test_brainvision_is_read_by_mne(recording, expected, tmp_path):
    import mne

    report = exported(recording, tmp_path, "brainvision", code=1)
    assert [left["stream"] for left in report["left_out"]] == ["Free"]
    assert [file["stream"] for file in report["files"]] == SIGNALS
    for file in report["files"]:
        stream = expected[file["stream"]]
        raw = mne.io.read_raw_brainvision(file["path"], preload=True, verbose="error")
        data, rate = raw.get_data().T, raw.info["sfreq"]
        assert math.isclose(rate, file["rate"], rel_tol=1e-9)
        if file["stream"] == "Amplifier":
            assert raw.ch_names == ["Fp1", "Fp2", "Cz", "Oz"]
            data = numpy.round(data * 1e6, 6)
        values = numbers(stream)
        found = data[places(stream, rate, len(data))]
        if values.dtype.kind == "i":
            assert numpy.array_equal(found, values) and file["value_error"] == 0
        else:
            error = numpy.max(numpy.abs(found - values))
            assert error <= file["value_error"] * 1.001 + 1e-9
            assert file["stream"] != "Gaze" or file["value_error"] == 0
        begin = stream["time_stamps"][0]
        wanted = [(at - begin, text) for at, text in markers(expected) if 0 <= at - begin < len(data) / rate]
        had = [(one["onset"], one["description"].removeprefix("Comment/")) for one in raw.annotations
               if one["description"].startswith("Comment/")]
        assert [text for _, text in wanted] == [text.replace("\\1", ",") for _, text in had]
        assert numpy.max(numpy.abs(numpy.subtract([at for at, _ in wanted], [at for at, _ in had]))) <= 0.5 / rate + 1e-6
        gaps = [one for one in raw.annotations if "BAD_gap" in one["description"]]
        known = {"Amplifier": (20, 2.5), "Aux": (10, 3)}.get(file["stream"])
        assert len(gaps) == (known is not None)
        if known:
            onset, seconds = known
            assert abs(gaps[0]["onset"] - onset) < 1 / rate and abs(gaps[0]["duration"] - seconds) < 2 / rate
            assert abs(file["filled"] - seconds * rate) < 1.5
        assert file["time_error"] <= 0.5 / rate and (file["filled"] > 0) == (known is not None)


@pytest.mark.parametrize("form", ["edf", "bdf"])
def test_edf_and_bdf_pass_pyedflibs_checker(recording, expected, tmp_path, form):
    import mne
    import pyedflib

    report = exported(recording, tmp_path, form, code=1)
    for file in report["files"]:
        stream, reader = expected[file["stream"]], pyedflib.EdfReader(file["path"])
        values = numbers(stream)
        rate = reader.getSampleFrequency(0)
        assert math.isclose(rate, file["rate"], rel_tol=1e-6)
        at = places(stream, file["rate"], reader.getNSamples()[0])
        exact = values.dtype.kind == "i" and (form == "bdf" or values.dtype.itemsize <= 2)
        for channel in range(values.shape[1]):
            found = reader.readSignal(channel, digital=exact)[at]
            if exact:
                assert numpy.array_equal(found, values[:, channel]), file
            else:
                assert numpy.max(numpy.abs(found - values[:, channel])) <= file["value_error"] * 1.001 + 1e-9
        assert (file["value_error"] == 0) == exact
        begin = stream["time_stamps"][0]
        onsets, _, texts = reader.readAnnotations()
        had = sorted((at, text) for at, text in zip(onsets, texts) if text != "BAD_gap" and at >= 0)
        wanted = [(at - begin, text) for at, text in markers(expected) if at >= begin]
        assert len(had) == len(wanted)
        assert max(abs(one[0] - other[0]) for one, other in zip(had, wanted)) < 1e-4
        reader.close()
        read = mne.io.read_raw_edf if form == "edf" else mne.io.read_raw_bdf
        raw = read(file["path"], verbose="error")
        assert len(raw.ch_names) == values.shape[1]


def test_npz_and_csv_have_every_value_and_stamp(recording, expected, tmp_path):
    exported(recording, tmp_path, "npz")
    exported(recording, tmp_path, "csv")
    arrays = numpy.load(tmp_path / "x.npz")
    for name, stream in expected.items():
        values, stamps = stream["time_series"], stream["time_stamps"]
        assert numpy.max(numpy.abs(arrays[f"{name}/stamps"] - stamps)) < 1e-6
        if isinstance(values, list):
            assert arrays[f"{name}/values"].tolist() == values
            continue
        assert arrays[f"{name}/values"].dtype == values.dtype
        assert numpy.array_equal(arrays[f"{name}/values"], values)
        table = numpy.loadtxt(tmp_path / f"x_{name}.csv", delimiter=",", skiprows=1, ndmin=2)
        assert numpy.array_equal(table[:, 1:].astype(values.dtype), values)
        assert numpy.max(numpy.abs(table[:, 0] - stamps)) < 1e-6


def test_mcap_is_read_by_its_library(recording, expected, tmp_path):
    from mcap.reader import make_reader

    exported(recording, tmp_path, "mcap")
    found = {name: ([], []) for name in expected}
    with open(tmp_path / "x.mcap", "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        for _, channel, message in reader.iter_messages():
            sample = json.loads(message.data)
            assert abs(message.log_time / 1e9 - sample["stamp"]) < 1e-6
            found[channel.topic][0].append(sample["stamp"])
            found[channel.topic][1].append(sample["values"])
    for name, stream in expected.items():
        stamps, values = found[name]
        order = numpy.argsort(stamps, kind="stable")
        assert numpy.max(numpy.abs(numpy.asarray(stamps)[order] - stream["time_stamps"])) < 1e-6
        if isinstance(stream["time_series"], list):
            assert values == stream["time_series"]
        else:
            assert numpy.array_equal(numpy.asarray(values, dtype=stream["time_series"].dtype)[order], stream["time_series"])


def test_nwb_is_accepted_by_pynwb_and_nwbinspector(recording, expected, tmp_path):
    import pynwb
    from nwbinspector import Importance, inspect_nwbfile

    exported(recording, tmp_path, "nwb")
    path = str(tmp_path / "x.nwb")
    errors = pynwb.validate(path=path)
    errors = errors[0] if isinstance(errors, tuple) else errors
    assert not errors, errors
    complaints = [one for one in inspect_nwbfile(nwbfile_path=path) if one.importance.value >= Importance.BEST_PRACTICE_VIOLATION.value]
    # A recording does not say who took part.
    assert {one.message for one in complaints} <= {"Subject is missing."}, complaints
    with pynwb.NWBHDF5IO(path, "r") as file:
        nwb = file.read()
        now = datetime.datetime.now(datetime.UTC)
        assert nwb.session_start_time == datetime.datetime(2024, 11, 25, 10, 11, 12, tzinfo=datetime.UTC)
        assert abs(now - nwb.file_create_date[0]) < datetime.timedelta(minutes=10)
        first = min(expected[name]["time_stamps"][0] for name in SIGNALS)
        for name, stream in expected.items():
            series, values = nwb.acquisition[name], stream["time_series"]
            if isinstance(values, list):
                assert [[text] for text in series.data[:]] == values
            else:
                found = series.data[:]
                assert found.dtype == values.dtype
                assert numpy.array_equal(found.reshape(values.shape), values)
            stamps = series.timestamps[:] if series.timestamps is not None else (
                series.starting_time + numpy.arange(len(values)) / series.rate)
            assert numpy.max(numpy.abs(stamps + first - stream["time_stamps"])) < 1e-6


def test_a_dataset_is_accepted_by_bids_validator_and_read_by_mne_bids(recording, expected, tmp_path):
    import mne_bids

    root = tmp_path / "study"
    for subject in ["01", "02"]:
        schwann("export", recording, "--bids", root, "--subject", subject, "--task", "rest", code=1)
    done = subprocess.run(["bids-validator-deno", "--json", str(root)], capture_output=True, text=True)
    issues = json.loads(done.stdout)["issues"]["issues"]
    errors = [one for one in issues if one["severity"] == "error"]
    assert done.returncode == 0 and not errors, errors
    warnings = {f"{one['code']} {one.get('subCode')}" for one in issues if one["severity"] == "warning"}
    assert warnings == set().union(*UNKNOWN.values())
    said = json.loads((root / "sub-01/eeg/sub-01_task-rest_run-001_eeg.json").read_text())
    assert said["EEGReference"] == "Mastoids" and said["CapManufacturer"] == "Cap & Co" and said["Manufacturer"] == "ACME"
    place = mne_bids.BIDSPath(subject="01", task="rest", run="001", datatype="eeg", suffix="eeg", root=root)
    raw = mne_bids.read_raw_bids(place, verbose="error")
    stream = expected["Amplifier"]
    data = numpy.round(raw.get_data().T * 1e6, 6)
    assert numpy.array_equal(data[places(stream, raw.info["sfreq"], len(data))], numbers(stream))
    begin = stream["time_stamps"][0]
    wanted = [at - begin for at, _ in markers(expected)]
    had = sorted(one["onset"] for one in raw.annotations if "BAD" not in one["description"])
    assert numpy.max(numpy.abs(numpy.subtract(wanted, had))) <= 0.5 / raw.info["sfreq"] + 1e-6
    assert (root / "sourcedata/sub-01/eeg/sub-01_task-rest_run-001_eeg.xdf").read_bytes() == recording.read_bytes()


@pytest.mark.skipif("SCHWANN_EXPORT_BYTES" not in os.environ, reason="asked for by SCHWANN_EXPORT_BYTES")
def test_memory_and_speed_of_a_large_recording(tmp_path):
    import resource
    import time

    size = int(os.environ["SCHWANN_EXPORT_BYTES"])
    path, rows = tmp_path / "large.xdf", 10_000
    values = numpy.random.default_rng(1).normal(0, 50, (rows, 64)).astype("<f4")
    body = b"".join(b"\x00" + row.tobytes() for row in values)
    stream = Stream(1, "Large", "EEG", 1000, "float32", values, numpy.zeros(1))
    with open(path, "wb") as file:
        file.write(b"XDF:" + chunk(2, struct.pack("<I", 1) + stream.header.encode()))
        part = 0
        while file.tell() < size:
            first = b"\x08" + struct.pack("<d", 100 + part * rows / 1000) + values[0].tobytes()
            file.write(chunk(3, struct.pack("<I", 1) + varlen(rows) + first + body[len(first) - 8:]))
            part += 1
    for form in ["brainvision", "edf", "nwb", "npz", "csv", "mcap"]:
        began = time.monotonic()
        report = json.loads(schwann("export", path, "--to", form, "-o", tmp_path / "x", "--json"))
        took = time.monotonic() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{form}: {size / took / 1e6:.0f} MB/s of XDF, at most {peak:.0f} MB so far")
        assert report["files"][0]["sample_count"] == part * rows
        assert peak < 200, form
        for made in tmp_path.glob("x*"):
            made.unlink()
