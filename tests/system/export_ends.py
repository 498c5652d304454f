"""Exports that are refused or ended: they leave nothing that looks whole.

Run by checks/67-export.sh: SCHWANN names the program.
"""

import signal
import subprocess
import time

import numpy

from export import SCHWANN, Stream, even, write


def test_a_name_that_a_copy_does_not_heed_is_refused(tmp_path):
    recording = tmp_path / "session.xdf"
    write(recording, [Stream(1, "EEG", "EEG", 100, "int16", numpy.zeros((100, 1), "<i2"), even(5000, 100, 1))])
    for more in [["--stream", "Gaze"], ["--resample", "100"]]:
        command = [SCHWANN, "export", recording, "--to", "xdfz", "-o", tmp_path / "x.xdfz", *more]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 3 and f"leave out {more[0]}" in done.stderr, done
    assert list(tmp_path.iterdir()) == [recording]


def test_ctrl_c_leaves_no_file(tmp_path):
    rows = 100_000
    stream = Stream(1, "Wide", "EEG", 1000, "float32", numpy.full((rows, 64), 0.1, "<f4"), even(5000, 1000, rows / 1000))
    write(tmp_path / "wide.xdf", [stream])
    running = subprocess.Popen([SCHWANN, "export", tmp_path / "wide.xdf", "--to", "csv"], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "wide.csv").exists():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 3 and "stopped before it was done; no file is left" in errors, errors
    assert [path.name for path in tmp_path.iterdir()] == ["wide.xdf"]
