"""Sealed and compressed recordings of ours in age and pyxdf, and theirs in ours."""

import gzip
import json
import os
import pathlib
import subprocess
import threading
import time

import numpy
import pytest
import pyxdf

from conftest import free_ports

SCHWANN = os.environ["SCHWANN"]
PATIENCE = 120
STREAM = "Fake counter:8@2000"


@pytest.fixture
def lab(tmp_path):
    base = free_ports(20)
    (tmp_path / "lsl_api.cfg").write_text(
        f"[ports]\nMulticastPort={base + 19}\nBasePort={base}\nPortRange=19\nIPv6=disable\n"
        f"[multicast]\nResolveScope=machine\n[lab]\nSessionID=archive{base}\n"
    )
    environment = {**os.environ, "LSLAPICFG": str(tmp_path / "lsl_api.cfg"), "HOME": str(tmp_path),
                   "SCHWANN_KEYS": str(tmp_path / "keys")}

    def run(*command, code=0):
        done = subprocess.run(list(map(str, command)), cwd=tmp_path, env=environment, capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    run.environment, run.folder = environment, tmp_path
    return run


def record(lab, *arguments):
    """Records a counter until it has some thousand samples; the recorder still runs."""
    fake = subprocess.Popen([SCHWANN, "fake", "counter:8@2000"], cwd=lab.folder, env=lab.environment,
                            stdout=subprocess.PIPE, text=True)
    next(line for line in fake.stdout if "sending" in line)
    recorder = subprocess.Popen([SCHWANN, "record", "--json", "--wait", "60", "--require", STREAM, *arguments],
                                cwd=lab.folder, env=lab.environment, stdout=subprocess.PIPE, text=True)
    for line in recorder.stdout:
        if sum(stream["sample_count"] for stream in json.loads(line)["streams"]) > 8000:
            break
    return fake, recorder


def end(fake, recorder):
    recorder.send_signal(2)
    recorder.communicate(timeout=PATIENCE)
    fake.kill()
    fake.wait()


def counted(path):
    """Loads a recording with pyxdf and checks that nothing is missing in it."""
    streams, _ = pyxdf.load_xdf(str(path), synchronize_clocks=False, dejitter_timestamps=False)
    [stream] = [stream for stream in streams if stream["info"]["name"][0] == STREAM]
    steps = numpy.diff(stream["time_series"].astype(numpy.int64)[:, 0])
    assert len(set(steps.tolist())) == 1, "a counter counts"
    return stream["time_series"]


def test_age_opens_what_we_seal_and_pyxdf_reads_it(lab):
    lab(SCHWANN, "keys", "archive", "--unprotected")
    end(*record(lab, "--seal", "-o", "x.xdf"))
    lab(SCHWANN, "keys", "archive", "--export", "safe.txt")
    lab("age", "-d", "-i", "safe.txt", "-o", "x.xdf", "x.xdf.age")
    assert len(counted(lab.folder / "x.xdf")) > 8000
    assert "bit by bit" in lab(SCHWANN, "verify", "x.xdf"), "the certificate is that of the content"
    lab(SCHWANN, "export", "x.xdf.age", "--to", "xdf", "-o", "ours.xdf")
    assert (lab.folder / "ours.xdf").read_bytes() == (lab.folder / "x.xdf").read_bytes()


def test_a_killed_recorder_leaves_what_age_opens_up_to_its_end(lab):
    lab("age-keygen", "-o", "key.txt")
    key = lab("age-keygen", "-y", "key.txt").strip()
    fake, recorder = record(lab, "--to", key, "-o", "x.xdf")
    recorder.kill()
    recorder.wait()
    fake.kill()
    fake.wait()
    # age writes the whole chunks, and says that the end is missing.
    opened = subprocess.run(["age", "-d", "-i", "key.txt", "x.xdf.age"], cwd=lab.folder, capture_output=True, timeout=PATIENCE)
    assert opened.returncode != 0 and opened.stdout.startswith(b"XDF:")
    lab(SCHWANN, "repair", "x.xdf.age", "--identity", "key.txt", "-o", "rescued.xdf", code=1)
    rescued = counted(lab.folder / "rescued.xdf")
    # A row takes 32 or 40 bytes and its stamp.
    assert abs(len(rescued) - len(opened.stdout) / 36) < 0.35 * len(rescued), (len(rescued), len(opened.stdout))


def test_a_killed_recorder_of_a_slow_stream_lacks_five_seconds_at_most(lab):
    """Samples too few to fill a chunk of age leave memory every five seconds; the kill comes just before they would."""
    lab("age-keygen", "-o", "key.txt")
    key, path = lab("age-keygen", "-y", "key.txt").strip(), lab.folder / "x.xdf.age"
    pipes = {"cwd": lab.folder, "env": lab.environment, "stdout": subprocess.PIPE, "text": True}
    fake = subprocess.Popen([SCHWANN, "fake", "counter:1@100"], **pipes)
    next(line for line in fake.stdout if "sending" in line)
    line = [SCHWANN, "record", "--json", "--wait", "60", "--require", "Fake counter:1@100", "--to", key, "-o", "x.xdf"]
    recorder = subprocess.Popen(line, **pipes)
    told, written = [], []
    reader = threading.Thread(target=lambda: told.extend(time.monotonic() for _ in recorder.stdout))
    reader.start()
    try:
        size, began = 0, time.monotonic()
        while len(written) < 4:
            assert time.monotonic() < began + PATIENCE and recorder.poll() is None
            if path.exists() and (now := path.stat().st_size) > size:
                size = now
                written.append(time.monotonic())
            time.sleep(0.01)
        pauses = [later - earlier for earlier, later in zip(written[1:], written[2:])]
        while time.monotonic() < written[-1] + pauses[-1] - 0.3:
            time.sleep(0.01)
        killed = time.monotonic()
    finally:
        recorder.kill()
        recorder.wait()
        fake.kill()
        fake.wait()
        reader.join()
    # A second apart, unless the computer is busy: so late may the recorder have been with its file, too.
    late = max(later - earlier for earlier, later in zip(told, told[1:])) - 1
    found = json.loads(lab(SCHWANN, "verify", "--json", "x.xdf.age", "--identity", "key.txt", code=1))
    [stream] = [stream for stream in found["streams"] if stream["name"] == "Fake counter:1@100"]
    # One clock for all on this computer: that of LSL is the monotonic one.
    lost = killed - stream["last_stamp"]
    print(f"killed {killed - written[-1]:.2f} s after it was written to: lost {lost:.2f} s; the recorder was late by {late:.2f} s")
    assert path.stat().st_size >= size and found["truncated"] and stream["gap_count"] == 0
    # A busy computer makes the pauses longer, too. Two of them are more than that.
    assert 2 < lost < 8 + late, (lost, late, pauses)


def test_we_open_what_age_seals(lab):
    lab("age-keygen", "-o", "key.txt")
    lab("age-keygen", "-o", "other.txt")
    key, other = (lab("age-keygen", "-y", name).strip() for name in ("key.txt", "other.txt"))
    lab(SCHWANN, "fake", "counter:8@2000", "--seconds", "20", "-o", "x.xdf")
    lab("age", "-r", other, "-r", key, "-o", "theirs.xdf.age", "x.xdf")
    assert "whole" in lab(SCHWANN, "verify", "theirs.xdf.age", "--identity", "key.txt")
    lab(SCHWANN, "verify", "theirs.xdf.age", code=3)


def test_pyxdf_reads_our_compressed_recordings_and_we_read_gzips(lab):
    lab(SCHWANN, "fake", "counter:8@2000", "--seconds", "20", "-o", "x.xdf")
    lab(SCHWANN, "export", "x.xdf", "--to", "xdfz")
    assert numpy.array_equal(counted(lab.folder / "x.xdfz"), counted(lab.folder / "x.xdf"))
    theirs = pathlib.Path(lab.folder / "theirs.xdfz")
    theirs.write_bytes(gzip.compress((lab.folder / "x.xdf").read_bytes()))
    assert "whole" in lab(SCHWANN, "verify", theirs)
