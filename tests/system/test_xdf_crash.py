"""Recordings that end badly: killed, out of space, at a size limit. What was recorded must be there.

XDF_KILLS sets how many recordings are killed (10 by default, 100 for the full test).
"""

import contextlib
import os
import random
import resource
import signal
import subprocess
import threading
import time

import numpy
import pytest
import pyxdf

from test_xdf import EXAMPLES, example

CHANNELS, RATE = 64, 1000


def expected_values(count):
    n = numpy.arange(count)[:, None]
    return (n * 7 + numpy.arange(CHANNELS)[None, :]).astype(numpy.int16)


def recorder(path, *arguments, **options):
    command = [EXAMPLES / "record", path, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def signal_count(path):
    """Samples of the first stream that our reader finds, past any damage."""
    count, stream = 0, 0
    for line in example("load", path, "as-recorded").splitlines():
        stream += line.startswith("stream")
        count += stream == 1 and line.startswith("stamp")
    return count


def check_killed(path, pushed):
    kept = signal_count(path)
    assert pushed - kept <= RATE, f"{pushed - kept} samples lost, more than a second"
    streams, _ = pyxdf.load_xdf(path, synchronize_clocks=False, dejitter_timestamps=False)
    if not streams:
        # Killed before anything was written.
        assert kept == 0
        return pushed
    series = streams[0]["time_series"]
    assert numpy.array_equal(series, expected_values(len(series)))
    assert numpy.array_equal(streams[0]["time_stamps"], 1000 + numpy.arange(len(series)) / RATE)
    # pyxdf gives up a torn chunk whole; a chunk is a fraction of a second.
    assert kept - len(series) <= RATE
    return pushed - kept


def test_a_killed_recording_loses_less_than_a_second(tmp_path):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    losses = []
    for run in range(int(os.environ.get("XDF_KILLS", "10"))):
        path = tmp_path / f"{run}.xdf"
        process = recorder(path, CHANNELS, RATE, 3600)
        pushed = [0]

        def follow(lines=process.stdout, pushed=pushed):
            for line in lines:
                if line.endswith("\n"):
                    pushed[0] = int(line)

        follower = threading.Thread(target=follow)
        follower.start()
        while not pushed[0]:
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        follower.join()
        losses.append(check_killed(path, pushed[0]))
        path.unlink()
    print(f"killed {len(losses)} times, lost at most {max(losses)} samples of {RATE} per second")


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True)
    if mount.returncode:
        pytest.skip(f"SKIPPED LOUDLY: no file system can be mounted here: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_said_and_leaves_a_whole_recording(tmp_path):
    with small_disk(tmp_path / "disk", "3M") as folder:
        path = folder / "full.xdf"
        process = recorder(path, CHANNELS, RATE, 3600, "unpaced")
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 1
        assert "Failed(Full)" in errors
        # Not even a byte is left, and yet the footers are there.
        streams, _ = pyxdf.load_xdf(path, synchronize_clocks=False, dejitter_timestamps=False)
        for stream in streams:
            assert int(stream["footer"]["info"]["sample_count"][0]) == len(stream["time_stamps"])
        series = streams[0]["time_series"]
        assert numpy.array_equal(series, expected_values(len(series)))
        assert path.stat().st_size > 1_000_000
        assert example("load", path, "as-recorded").splitlines()[-1] == "damage 0"


def test_a_full_disk_that_others_fill_leaves_room_for_the_footers(tmp_path):
    with small_disk(tmp_path / "disk", "30M") as folder:
        path = folder / "full.xdf"
        process = recorder(path, CHANNELS, RATE, 3600)
        while not path.exists() or path.stat().st_size < 50_000:
            time.sleep(0.01)
        # Someone else takes all that is left.
        with contextlib.suppress(OSError), open(folder / "other", "wb") as other:
            while True:
                other.write(bytes(4096))
                other.flush()
        process.stdout.close()
        process.wait(timeout=120)
        streams, _ = pyxdf.load_xdf(path, synchronize_clocks=False, dejitter_timestamps=False)
        for stream in streams:
            assert int(stream["footer"]["info"]["sample_count"][0]) == len(stream["time_stamps"])
        assert len(streams[0]["time_stamps"]) >= RATE // 10


def test_a_size_limit_is_said_and_leaves_whole_chunks(tmp_path):
    path = tmp_path / "limited.xdf"
    limit = 2_000_000
    process = recorder(
        path, CHANNELS, RATE, 3600, "unpaced",
        # Python ignores SIGXFSZ; its child keeps it so, and gets EFBIG instead.
        restore_signals=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Failed(TooLarge)" in errors
    streams, _ = pyxdf.load_xdf(path, synchronize_clocks=False, dejitter_timestamps=False)
    series = streams[0]["time_series"]
    assert len(series) > 0
    assert numpy.array_equal(series, expected_values(len(series)))
    assert example("load", path, "as-recorded").splitlines()[-1] == "damage 0"
