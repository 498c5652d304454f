"""pylsl and mne-lsl run on the library, with the programs that their documentation shows."""

import os
import re
import subprocess
import sys

import pytest

from conftest import PATHS, REAL_117

PYLSL_SEND = """
import time
from pylsl import StreamInfo, StreamOutlet, local_clock
info = StreamInfo("BioSemi", "EEG", 8, 100, "float32", "myuid34234")
chns = info.desc().append_child("channels")
for label in ["C3", "C4", "Cz", "FPz", "POz", "CPz", "O1", "O2"]:
    ch = chns.append_child("channel")
    ch.append_child_value("label", label)
    ch.append_child_value("unit", "microvolts")
    ch.append_child_value("type", "EEG")
info.desc().append_child_value("manufacturer", "SCCN")
outlet = StreamOutlet(info, 32, 360)
assert outlet.wait_for_consumers(20)
for number in range(100):
    outlet.push_sample([float(number)] * 8, 1000 + number / 100)
outlet.push_chunk([[float(n)] * 8 for n in range(100, 150)], 1001.49)
input()
"""

PYLSL_RECEIVE = """
import time
from pylsl import StreamInlet, resolve_byprop, resolve_bypred, resolve_streams, ContinuousResolver
streams = resolve_byprop("type", "EEG", timeout=20)
assert len(streams) == 1, streams
assert [s.name() for s in resolve_bypred("name='BioSemi' and count(desc/channels/channel)=8", timeout=10)] == ["BioSemi"]
inlet = StreamInlet(streams[0])
info = inlet.info()
labels, ch = [], info.desc().child("channels").child("channel")
for _ in range(info.channel_count()):
    labels.append(ch.child_value("label"))
    ch = ch.next_sibling()
assert labels == ["C3", "C4", "Cz", "FPz", "POz", "CPz", "O1", "O2"], labels
assert info.desc().child_value("manufacturer") == "SCCN"
first, stamp = inlet.pull_sample(timeout=10)
assert first == [0.0] * 8 and stamp == 1000.0, (first, stamp)
samples, stamps = [], []
while len(samples) < 149:
    chunk, times = inlet.pull_chunk(timeout=1.0, max_samples=64)
    samples += chunk
    stamps += times
assert [s[0] for s in samples] == [float(n) for n in range(1, 150)]
assert all(abs(t - (1000 + n / 100)) < 1e-6 for n, t in enumerate(stamps, 1))
end = time.monotonic() + 60
while abs(inlet.time_correction(timeout=5)) >= 1e-3:
    # A busy machine measures it better the next time.
    assert time.monotonic() < end
    time.sleep(0.1)
assert inlet.samples_available() == 0 and inlet.flush() == 0
print("received all")
"""

PYLSL_STRINGS = """
import pylsl
info = pylsl.StreamInfo("Markers", "Markers", 1, 0, "string", "marks")
outlet = pylsl.StreamOutlet(info)
inlet = pylsl.StreamInlet(pylsl.resolve_byprop("source_id", "marks", timeout=20)[0], recover=False)
inlet.open_stream(timeout=10)
assert outlet.wait_for_consumers(10)
words = ["Test", "Blah", "Marker", "XXX", "Testtest", "Test-1-2-3", "äöü 脑"]
for word in words:
    outlet.push_sample([word])
got = [inlet.pull_sample(timeout=5)[0][0] for _ in words]
assert got == words, got
outlet.push_chunk([["a"], ["b"]])
assert inlet.pull_chunk(timeout=2, max_samples=2)[0] == [["a"], ["b"]]
inlet.close_stream()
print("received all", pylsl.library_version(), pylsl.library_info())
"""

PYLSL_FORMATS = """
import pylsl
import numpy as np
for format, dtype in {"float32": np.float32, "double64": np.float64, "int32": np.int32, "int16": np.int16,
                      "int8": np.int8, "int64": np.int64}.items():
    info = pylsl.StreamInfo(f"N-{format}", "Test", 4, 100, format, f"id-{format}")
    outlet = pylsl.StreamOutlet(info)
    inlet = pylsl.StreamInlet(pylsl.resolve_byprop("source_id", f"id-{format}", timeout=20)[0])
    inlet.open_stream(timeout=10)
    outlet.wait_for_consumers(10)
    data = np.arange(40, dtype=dtype).reshape(10, 4)
    outlet.push_chunk(data)
    buffer = np.zeros((10, 4), dtype=dtype)
    chunk, stamps = inlet.pull_chunk(timeout=2, max_samples=10, dest_obj=buffer)
    assert len(stamps) == 10 and (buffer == data).all(), (format, buffer)
    del outlet, inlet
print("received all")
"""

MNE_LSL = """
import time
import numpy as np
from mne_lsl.lsl import StreamInfo, StreamInlet, StreamOutlet, local_clock, resolve_streams, library_version
sinfo = StreamInfo("my-stream", "eeg", 3, 1024, "float32", "uuid-mne")
sinfo.set_channel_names(["Fp1", "Cz", "TRIG"])
sinfo.set_channel_types(["eeg", "eeg", "stim"])
sinfo.set_channel_units(["microvolts", "microvolts", "none"])
outlet = StreamOutlet(sinfo, chunk_size=10)
found = resolve_streams(timeout=10, source_id="uuid-mne", minimum=1)
assert len(found) == 1, found
inlet = StreamInlet(found[0])
inlet.open_stream(timeout=10)
assert outlet.wait_for_consumers(10)
assert inlet.get_sinfo().get_channel_names() == ["Fp1", "Cz", "TRIG"]
assert inlet.get_sinfo().get_channel_units() == ["microvolts", "microvolts", "none"]
data = np.arange(300, dtype=np.float32).reshape(100, 3)
outlet.push_chunk(data, timestamp=local_clock())
chunk, stamps = inlet.pull_chunk(timeout=3, max_samples=100)
assert (chunk == data).all() and len(stamps) == 100
outlet.push_sample(data[0])
sample, stamp = inlet.pull_sample(timeout=3)
assert (sample == data[0]).all() and abs(local_clock() - stamp) < 3
end = time.monotonic() + 60
while abs(inlet.time_correction(timeout=5)) >= 1e-3:
    # A busy machine measures it better the next time.
    assert time.monotonic() < end
    time.sleep(0.1)
inlet.close_stream()
print("received all", library_version())
"""

MNE_LSL_STREAM = """
import numpy as np, time, uuid
from mne import create_info
from mne.io import RawArray
from mne_lsl.player import PlayerLSL
from mne_lsl.stream import StreamLSL
raw = RawArray(np.random.default_rng(1).normal(size=(4, 4000)), create_info(4, 1000, "eeg"), verbose="error")
source = uuid.uuid4().hex
with PlayerLSL(raw, chunk_size=50, name="player", source_id=source):
    stream = StreamLSL(2, name="player", source_id=source).connect(acquisition_delay=0.05, timeout=15)
    assert stream.info["sfreq"] == 1000 and len(stream.ch_names) == 4
    end = time.monotonic() + 20
    while stream.n_new_samples < 500:
        assert time.monotonic() < end
        time.sleep(0.05)
    data, times = stream.get_data(winsize=0.5)
    stream.disconnect()
assert data.shape == (4, 500)
# Some stretch of the recording, exactly: find where it begins.
start = int(np.argmin(np.abs(raw.get_data()[0] - data[0, 0])))
expected = np.take(raw.get_data(), np.arange(start, start + 500), axis=1, mode="wrap")
assert np.allclose(data, expected), "samples lost or changed"
assert np.allclose(np.diff(times), 0.001, atol=2e-3)
print("received all")
"""


@pytest.fixture
def program(place, library):
    started = []

    def start(text):
        config = place.folder / "lsl_api.cfg"
        config.write_text(place.config({"tuning.MulticastMinRTT": 0.1}))
        path = PATHS[library.library_name]
        environment = {**os.environ, "LSLAPICFG": str(config), "PYLSL_LIB": path, "MNE_LSL_LIB": path,
                       "MNE_DONTWRITE_HOME": "true", "HOME": str(place.folder)}
        command = ["-m", f"pylsl.examples.{text}"] if text.isidentifier() else ["-c", text]
        process = subprocess.Popen([sys.executable, "-u", *command], env=environment, cwd=place.folder, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def finished(process, seconds=80):
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"does not end\n{process.communicate()[0]}")
    assert process.returncode == 0, out
    return out


def test_pylsl_sends_and_receives_between_processes(program):
    program(PYLSL_SEND)
    assert "received all" in finished(program(PYLSL_RECEIVE))


@pytest.mark.parametrize("text", [PYLSL_STRINGS, PYLSL_FORMATS], ids=["strings", "formats"])
def test_pylsl_in_one_process(program, text):
    assert "received all" in finished(program(text))


def lines(process, pattern, count):
    """Reads a program's output until so many lines match; the test's time limit guards it."""
    found = []
    for line in process.stdout:
        found += [line] if re.match(pattern, line) else []
        if len(found) == count:
            return found
    pytest.fail(f"ended with {process.wait()}")


@pytest.mark.parametrize("sends, receives, prints", [
    ("SendData", "ReceiveData", r"[\d.]+ \["), ("SendData", "ReceiveDataInChunks", r"\[[\d.]+"),
    ("SendData", "GetTimeCorrection", "Offset: "), ("SendDataAdvanced", "ReceiveData", r"[\d.]+ \["),
    ("SendStringMarkers", "ReceiveStringMarkers", r"got \S+ at time [\d.]+")],
    ids=["data", "chunks", "clock", "advanced", "markers"])
def test_the_examples_of_pylsl(program, sends, receives, prints):
    program(sends)
    found = lines(program(receives), prints, 3)
    if receives == "GetTimeCorrection":
        assert all(abs(float(line.split()[1])) < 1e-3 for line in found)


def test_the_metadata_example_of_pylsl(program):
    out = finished(program("HandleMetadata"))
    assert "The manufacturer is: SCCN" in out and "Cap circumference is: 54" in out
    assert [line.strip() for line in out.splitlines()][-8:] == ["C3", "C4", "Cz", "FPz", "POz", "CPz", "O1", "O2"]


@pytest.mark.parametrize("text", [MNE_LSL, MNE_LSL_STREAM], ids=["inlet-outlet", "player-stream"])
def test_mne_lsl(program, text):
    assert "received all" in finished(program(text))


def test_pylsl_really_loaded_the_library_under_test(program, library):
    text = "import pylsl\nprint('received all', pylsl.library_version(), pylsl.library_info())"
    out = finished(program(text))
    if library.is_ours():
        assert "Schwann" in out
    else:
        assert ("117" if library.library_name == REAL_117 else "118") in out
