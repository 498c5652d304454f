"""`schwann record` and `schwann play` against the real library, pylsl and pyxdf.

Each test has a network of its own: ports, session and machine scope in an `lsl_api.cfg` that both libraries read.
"""

import contextlib
import json
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import time

import numpy
import pytest
import pyxdf

from conftest import free_ports
from test_xdf_crash import small_disk

SCHWANN = os.environ["SCHWANN"]
REAL = os.environ["REAL_LIBLSL_118"]
DATA = pathlib.Path(os.environ["SCHWANN_ROOT"], "..", "shared", "data").resolve()
PATIENCE = 60
SPEED = 32


@pytest.fixture
def lab(tmp_path):
    base = free_ports(20)
    (tmp_path / "lsl_api.cfg").write_text(
        f"[ports]\nMulticastPort={base + 19}\nBasePort={base}\nPortRange=19\nIPv6=disable\n"
        f"[multicast]\nResolveScope=machine\n[lab]\nSessionID=cli{base}\n"
    )
    return Lab(tmp_path)


class Lab:
    """A folder and a network; whatever was started is ended with it."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {**os.environ, "LSLAPICFG": str(folder / "lsl_api.cfg"), "HOME": str(folder)}

    def schwann(self, *arguments):
        return subprocess.Popen([SCHWANN, *map(str, arguments)], cwd=self.folder, env=self.env,
                                stdout=subprocess.PIPE, text=True)

    def real(self, script, *arguments):
        """Runs a script on the real library."""
        return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], cwd=self.folder,
                                env={**self.env, "PYLSL_LIB": REAL}, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)

    def load(self, name, **options):
        streams, _ = pyxdf.load_xdf(str(self.folder / name), **options)
        return {stream["info"]["name"][0]: stream for stream in streams}


def interrupt(recorder, code):
    recorder.send_signal(signal.SIGINT)
    output, _ = recorder.communicate(timeout=PATIENCE)
    assert recorder.returncode == code, output
    return output


def wait_for_samples(recorder, count):
    """Reads the recorder's lines until its streams have so many samples."""
    for line in recorder.stdout:
        if sum(stream["sample_count"] for stream in json.loads(line)["streams"]) >= count:
            return
    raise AssertionError("the recorder ended early")


# What any program does, on whichever library: pull every stream until told to end.
PULL_ALL = """
import sys, threading, pickle, pylsl
assert "schwann" not in pylsl.library_info().lower(), pylsl.library_info()
found = {}
while len(found) < 2:
    for info in pylsl.resolve_streams(wait_time=1.0):
        found[info.name()] = info
result = {}
ended = threading.Event()
def pull(info):
    # With recovery: without, what is still queued is refused once the outlet has gone.
    inlet = pylsl.StreamInlet(info, max_buflen=360)
    inlet.open_stream(timeout=30)
    stamps, rows = result[info.name()] = [], []
    while True:
        row, stamp = inlet.pull_sample(timeout=0.2)
        if stamp is not None:
            stamps.append(stamp)
            rows.append(row)
        elif ended.is_set():
            return
threads = [threading.Thread(target=pull, args=(info,)) for info in found.values()]
[thread.start() for thread in threads]
sys.stdin.read()
ended.set()
[thread.join() for thread in threads]
pickle.dump(result, open("real.pickle", "wb"))
"""


def assert_is_original(name, stamps, rows, original, shift):
    """Compares with the recording that was played: values bit by bit, stamps within the precision of a double."""
    expected = numpy.asarray(original["time_stamps"])
    assert len(stamps) == len(expected), name
    if original["info"]["channel_format"][0] == "string":
        assert [list(row) for row in rows] == [list(row) for row in original["time_series"]]
    else:
        assert numpy.array_equal(numpy.asarray(rows, dtype=original["time_series"].dtype), original["time_series"])
    moved = (numpy.asarray(stamps) - shift) * SPEED
    # Playing faster than real time makes the rounding of the stamps that much larger.
    assert numpy.abs(moved - (expected - original["first_of_file"])).max() < SPEED * 1e-9, name


def test_a_real_recording_comes_back_from_the_network_as_it_was(lab):
    path = DATA / "clock_resets.xdf"
    if not path.exists():
        pytest.skip(f"NO REAL RECORDING: {path} is not there, so this was not tested on real data")
    streams, _ = pyxdf.load_xdf(str(path), synchronize_clocks=True, dejitter_timestamps=False)
    original = {stream["info"]["name"][0]: stream for stream in streams}
    first = min(stream["time_stamps"].min() for stream in original.values())
    for stream in original.values():
        stream["first_of_file"] = first
    count = sum(len(stream["time_stamps"]) for stream in original.values())

    player = lab.schwann("play", path, "--speed", SPEED, "--wait", 2)
    real = lab.real(PULL_ALL)
    recorder = lab.schwann("record", "-o", "ours.xdf", "--json", "--wait", PATIENCE,
                           "--require", "EEG", "--require", "Markers")
    wait_for_samples(recorder, count)
    assert player.wait(timeout=PATIENCE) == 0
    interrupt(recorder, 1)  # The streams it required are over.
    real.communicate("", timeout=PATIENCE)
    assert real.returncode == 0

    ours = lab.load("ours.xdf", synchronize_clocks=False, dejitter_timestamps=False)
    theirs = pickle.loads((lab.folder / "real.pickle").read_bytes())
    # The first sample of all, on the clock on which it was played.
    anchor = min(original, key=lambda name: original[name]["time_stamps"].min())
    place = int(numpy.argmin(original[anchor]["time_stamps"]))
    for name, stream in original.items():
        for stamps, rows, shift in [
            (ours[name]["time_stamps"], ours[name]["time_series"], ours[anchor]["time_stamps"][place]),
            (*theirs[name], theirs[anchor][0][place]),
        ]:
            assert_is_original(name, stamps, rows, stream, shift)
        # LabRecorder measures every 5 s, the first time at once.
        assert len(ours[name]["clock_times"]) >= 2
        assert numpy.abs(ours[name]["clock_values"]).max() < 0.1
    print(f"{count} samples and markers equal, through our recorder and through pylsl on liblsl 1.18")


PUSH_ALL = """
import sys, pylsl
formats = sys.argv[1:]
assert "schwann" not in pylsl.library_info().lower(), pylsl.library_info()
outlets = []
for name in formats:
    channels = 1 if name == "string" else 3
    info = pylsl.StreamInfo(name, "Test", channels, 0.0, name, f"real-{name}")
    info.desc().append_child_value("note", "made by the real library")
    outlets.append(pylsl.StreamOutlet(info))
for outlet in outlets:
    while not outlet.wait_for_consumers(1): pass
for n in range(500):
    for name, outlet in zip(formats, outlets):
        values = [f"marker {n}"] if name == "string" else [n % 120, -n % 7, n % 3]
        outlet.push_sample(values, 1000.0 + n / 100)
sys.stdin.read()
"""


def test_a_recording_of_the_real_library_holds_what_it_sent(lab):
    formats = ["float32", "double64", "string", "int32", "int16", "int8", "int64"]
    sender = lab.real(PUSH_ALL, *formats)
    recorder = lab.schwann("record", "-o", "real.xdf", "--json", "--wait", PATIENCE,
                           *[word for name in formats for word in ("--require", f"name='{name}'")])
    wait_for_samples(recorder, 500 * len(formats))
    # While the sender is there: every required stream is well at the end.
    interrupt(recorder, 0)
    sender.communicate("", timeout=PATIENCE)
    streams = lab.load("real.xdf", synchronize_clocks=False, dejitter_timestamps=False)
    assert sorted(streams) == sorted(formats)
    for name, stream in streams.items():
        assert stream["time_stamps"].tolist() == [1000.0 + n / 100 for n in range(500)], name
        expected = [[f"marker {n}"] if name == "string" else [n % 120, -n % 7, n % 3] for n in range(500)]
        assert [list(row) for row in stream["time_series"]] == expected, name
        assert stream["info"]["desc"][0]["note"] == ["made by the real library"]
        assert stream["footer"]["info"]["sample_count"] == ["500"]


@pytest.mark.timeout(3600)
def test_a_killed_recorder_loses_less_than_a_second(lab):
    sender = lab.schwann("fake", "counter:32@1000")
    worst = 0.0
    try:
        for attempt in range(int(os.environ.get("CLI_KILLS", 5))):
            name = f"killed-{attempt}.xdf"
            recorder = lab.schwann("record", "-o", name, "--json", "--wait", PATIENCE, "--require", "Test")
            wait_for_samples(recorder, 1)
            # The moment is what is random here, not what is waited for.
            time.sleep(random.uniform(0.3, 2.5))
            recorder.kill()
            killed = time.monotonic()
            recorder.communicate(timeout=PATIENCE)
            (stream,) = lab.load(name, synchronize_clocks=False, dejitter_timestamps=False).values()
            values, stamps = stream["time_series"][:, 0], stream["time_stamps"]
            assert (numpy.diff(values) == 1).all(), "a sample is missing before the end"
            worst = max(worst, killed - stamps[-1])
            assert killed - stamps[-1] < 1.0
            check_what_is_left(lab, name, len(stamps))
    finally:
        sender.kill()
        sender.communicate(timeout=PATIENCE)
    print(f"at most {worst:.3f} s were lost")


def check_what_is_left(lab, name, count):
    """Our own commands say that the file did not end well, read as much of it as pyxdf, and mend it."""
    def says(*arguments):
        outcome = subprocess.run([SCHWANN, *arguments], cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
        return outcome.returncode, json.loads(outcome.stdout)

    code, found = says("verify", "--json", name)
    assert code == 1 and not found["sound"]
    # pyxdf gives up a chunk that was torn; we read its whole samples.
    assert found["streams"][0]["sample_count"] >= count
    assert says("repair", "--json", name, "-o", f"mended-{name}")[0] == 1
    code, mended = says("verify", "--json", f"mended-{name}")
    assert code == 0 and mended["streams"][0]["sample_count"] == found["streams"][0]["sample_count"]


def test_a_full_disk_ends_the_recording_with_a_word_and_a_whole_file(lab):
    with small_disk(lab.folder / "disk", "4M"), ended(lab.schwann("fake", "counter:256@4000/int16")):
        recorder = subprocess.run([SCHWANN, "record", "-o", "disk/full.xdf", "--require", "Test", "--wait", str(PATIENCE)],
                                  cwd=lab.folder, env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
        assert recorder.returncode == 3, recorder
        assert "disk/full.xdf" in recorder.stderr and "readable" in recorder.stderr and len(recorder.stderr.splitlines()) == 1
        print(recorder.stderr.strip())
        (stream,) = lab.load("disk/full.xdf", synchronize_clocks=False, dejitter_timestamps=False).values()
        assert len(stream["time_stamps"]) == int(stream["footer"]["info"]["sample_count"][0]) > 4000
        assert (numpy.diff(stream["time_series"][:, 0]) == 1).all()
        verified = subprocess.run([SCHWANN, "verify", "disk/full.xdf"], cwd=lab.folder, capture_output=True, text=True)
        assert verified.returncode == 0, verified.stdout


@contextlib.contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


RUN = "import pylsl; print(pylsl.library_info())"


def test_an_unchanged_program_runs_on_our_library(lab):
    process = subprocess.run([SCHWANN, "run", "--library", os.environ["SCHWANN_LIBLSL"], "--", sys.executable, "-c", RUN],
                             env=lab.env, capture_output=True, text=True, timeout=PATIENCE)
    assert process.returncode == 0, process.stderr
    assert "schwann" in process.stdout.lower(), process.stdout
