"""Recordings while things go wrong around them: clocks, descriptions, disks."""

import json
import pathlib
import re
import signal
import subprocess

import numpy
import pyxdf

from test_cli_screen import ESCAPE, Terminal
from test_record_control import Recorder, hear, samples, senders  # noqa: F401 (a fixture)
from test_xdf_cli import PATIENCE, SCHWANN, lab  # noqa: F401 (a fixture)
from test_xdf_crash import small_disk

COUNTER = "Fake counter:1@250"
TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"


def verified(lab, path):  # noqa: F811
    done = subprocess.run([SCHWANN, "verify", "--json", path], cwd=lab.folder, env=lab.env, capture_output=True, text=True,
                          timeout=PATIENCE)
    return json.loads(done.stdout)


def test_the_wall_clock_may_step_while_it_is_recorded(lab, senders):  # noqa: F811
    """Back by an hour: names are not taken twice, and neither stamps nor rates notice."""
    library, steps = lab.folder / "stepped_clock.so", lab.folder / "seconds"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, TOOLS / "stepped_clock.c"], check=True)
    steps.write_text("0")
    lab.env |= {"LD_PRELOAD": str(library), "CLOCK_STEPS": str(steps)}
    recorder = Recorder(lab)
    del lab.env["LD_PRELOAD"]
    try:
        socket = recorder.join()
        hear(socket, lambda message: len(message.get("found", [])) == 2)
        assert recorder.post(order="start")[0] == 200
        hear(socket, lambda message: samples(message, COUNTER) > 300)
        steps.write_text("-3600")
        state = hear(socket, lambda message: samples(message, COUNTER) > 900)
        assert 2 < state["recorder"]["recording"]["seconds"] < PATIENCE
        assert all(stream["trouble"] is None for stream in state["recorder"]["recording"]["streams"]), state
        assert recorder.post(order="next")[0] == 200
        steps.write_text("0")
        hear(socket, lambda message: samples(message, COUNTER) > 1200)
        assert recorder.post(order="next")[0] == 200
        # A recording that ends before its streams have brought anything is not well.
        hear(socket, lambda message: samples(message, COUNTER) > 1500)
        assert recorder.post(order="stop")[0] == 200
        assert recorder.end() == 0
    finally:
        recorder.process.kill()
        recorder.process.wait()
    paths = sorted((lab.folder / "data").glob("*.xdf"), key=lambda path: path.stat().st_ino)
    assert len({path.name for path in paths}) == 3
    parts = []
    for path in paths:
        found = verified(lab, path)
        assert found["sound"], found
        counter = next(stream for stream in found["streams"] if stream["name"] == COUNTER)
        assert counter["gap_count"] == 0 and counter["backward_count"] == 0
        parts.append(lab.load(path.relative_to(lab.folder))[COUNTER])
    parts.sort(key=lambda part: part["time_stamps"][0])
    values = numpy.concatenate([part["time_series"][:, 0] for part in parts])
    stamps = numpy.concatenate([part["time_stamps"] for part in parts])
    assert (numpy.diff(values) == 1).all() and (numpy.diff(stamps) > 0).all()


OUTLET = """
import pylsl, sys, time
channels = int(sys.argv[1])
info = pylsl.StreamInfo("Changing", "EEG", channels, 100, "float32", "the same source")
labels = info.desc().append_child("channels")
for n in range(channels):
    labels.append_child("channel").append_child_value("label", f"{channels}-{n}")
outlet = pylsl.StreamOutlet(info)
print("open", flush=True)
while True:
    outlet.push_sample([float(channels)] * channels)
    time.sleep(0.01)
"""


def test_a_stream_that_comes_back_with_other_channels_is_a_stream_of_its_own(lab):  # noqa: F811
    recorder = lab.schwann("record", "-o", "changing.xdf", "--json")
    remarks = []

    def wait_for(condition):
        for line in recorder.stdout:
            if "remark" in (found := json.loads(line)):
                remarks.append(found["remark"])
            elif condition(found):
                return found
        raise AssertionError("the recorder has ended")

    try:
        for channels in [2, 3]:
            sender = lab.real(OUTLET, channels)
            sender.stdout.readline()
            wait_for(lambda found: len(found["streams"]) == channels - 1 and found["streams"][-1]["sample_count"] > 100)
            sender.kill()
            sender.wait()
        recorder.send_signal(signal.SIGINT)
        last = json.loads(recorder.communicate(timeout=PATIENCE)[0].splitlines()[-1])
    finally:
        recorder.kill()
        recorder.wait()
    assert recorder.returncode == 1 and len(last["streams"]) == 2
    assert any("came back with 3 x float32 and not 2 x float32" in remark for remark in remarks), remarks
    streams, _ = pyxdf.load_xdf(str(lab.folder / "changing.xdf"), select_streams=[{"name": "Changing"}])
    assert [int(stream["info"]["channel_count"][0]) for stream in streams] == [2, 3]
    for stream in streams:
        channels = int(stream["info"]["channel_count"][0])
        assert (stream["time_series"] == channels).all() and len(stream["time_series"]) > 100
        labels = [one["label"][0] for one in stream["info"]["desc"][0]["channels"][0]["channel"]]
        assert labels == [f"{channels}-{n}" for n in range(channels)]


def test_a_disk_that_fills_is_said_on_the_screen_before_it_is_full(lab):  # noqa: F811
    with small_disk(lab.folder / "disk", "60M"):
        fake = lab.schwann("fake", "counter:64@1000")
        terminal = Terminal(lab, "record", "-o", "disk/full.xdf")
        try:
            terminal.wait(r"the DISK is nearly full: [0-9.]+ MB left, (\d+) (s|min) at this rate")
            first = left(terminal)
            assert re.search(r"room for \d+", "\n".join(terminal.page())), terminal.page()
            while left(terminal) >= first - 1:
                assert terminal.process.poll() is None, "it runs down while it is recorded"
        finally:
            fake.kill()
            fake.wait()
            terminal.end()


def left(terminal):
    """Megabytes that are left, as the next page says."""
    terminal.painted, pattern = "", r"nearly full: ([0-9.]+) MB left"
    terminal.wait(pattern)
    return float(re.search(pattern, ESCAPE.sub("", terminal.painted))[1])
