"""Recording."""

import os
import pathlib
import subprocess
import sys
import uuid

import numpy as np
import pytest

import schwann
from conftest import PATIENCE


def test_what_was_sent_is_in_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "own.xdf"
    name, late = f"Rec {uuid.uuid4()}", f"Late {uuid.uuid4()}"
    sent = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    with schwann.Outlet(name, "EEG", ["A", "B", "C"], rate=1000, unit="µV") as outlet:
        with schwann.record(path, name, f"name='{name}'", timeout=PATIENCE) as recorder:
            assert [(one.name, one.state) for one in recorder.streams] == [(name, "recording")]
            outlet.push(sent)
            before = schwann.local_clock()
            recorder.annotate("baseline")
            recorder.annotate({"block": 2}, time=before + 1)
            streams = recorder.close()
        assert streams == [schwann.RecordedSoFar(name, "recording", 1000, 0)]
        assert recorder.closed and recorder.close() == []
        with pytest.raises(schwann.ClosedError):
            recorder.annotate("late")
    read = schwann.read_xdf(path)
    assert read.damage == [] and read[name].channels.labels == ["A", "B", "C"]
    np.testing.assert_array_equal(read[name].data, sent)
    assert read["Annotations"].data.tolist() == [["baseline"], ['{"block": 2}']]
    assert before <= read["Annotations"].times[0] <= before + PATIENCE and read["Annotations"].times[1] == before + 1
    assert late not in [stream.name for stream in read]


def test_streams_that_come_later_join(tmp_path: pathlib.Path) -> None:
    kind = str(uuid.uuid4())
    with schwann.Outlet("First", kind) as first, schwann.record(tmp_path / "joined.xdf", f"type='{kind}'", timeout=PATIENCE) as recorder:
        first.push(1.0)
        with schwann.Outlet("Second", kind) as second:
            assert second.wait_for_consumers(1, PATIENCE)
            second.push(2.0)
            while [one.samples for one in recorder.streams] != [1, 1]:
                pass
    read = schwann.read_xdf(tmp_path / "joined.xdf")
    assert (read["First"].data.tolist(), read["Second"].data.tolist()) == ([[1.0]], [[2.0]])


def test_a_recording_that_cannot_be_says_why(tmp_path: pathlib.Path) -> None:
    taken = tmp_path / "taken.xdf"
    taken.write_text("mine")
    with pytest.raises(FileExistsError):
        schwann.record(taken)
    assert taken.read_text() == "mine"
    with pytest.raises(FileNotFoundError):
        schwann.record(tmp_path / "no folder" / "new.xdf")
    new = tmp_path / "new.xdf"
    with pytest.raises(schwann.TimedOutError, match="nobody"):
        schwann.record(new, "nobody", timeout=0.2)
    with pytest.raises(schwann.ArgumentError):
        schwann.record(new, "name=")
    with pytest.raises(schwann.ArgumentError):
        schwann.record(new, 3)  # type: ignore[arg-type]
    for timeout in [-1.0, float("nan"), float("inf")]:
        with pytest.raises(schwann.ArgumentError):
            schwann.record(new, "nobody", timeout=timeout)
    assert not new.exists()


def test_a_recording_that_was_not_closed_warns_and_is_whole(tmp_path: pathlib.Path) -> None:
    with schwann.Outlet("Dropped", "EEG", source_id=str(uuid.uuid4())) as outlet:
        recorder = schwann.record(tmp_path / "dropped.xdf", outlet.info.source_id, timeout=PATIENCE)
        outlet.push(3.0)
        with pytest.warns(ResourceWarning, match="not closed"):
            del recorder
    assert schwann.read_xdf(tmp_path / "dropped.xdf")["Dropped"].data.tolist() == [[3.0]]


def test_a_recording_that_must_be_sealed_says_that_there_is_no_key(tmp_path: pathlib.Path) -> None:
    configuration = tmp_path / "lsl_api.cfg"
    configuration.write_text("[security]\nrecordings = sealed\n[multicast]\nResolveScope = machine\n[log]\nlevel = -2\n")
    script = "import schwann; schwann.record('new.xdf')"
    environment = {**os.environ, "LSLAPICFG": str(configuration), "SCHWANN_KEYS": str(tmp_path / "keys")}
    done = subprocess.run([sys.executable, "-P", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "no key to seal them to" in done.stderr, done.stderr
    configuration.write_text("[security]\nrecordings = perhaps\n[log]\nlevel = -2\n")
    done = subprocess.run([sys.executable, "-P", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "not \"perhaps\"" in done.stderr, done.stderr
    assert not list(tmp_path.glob("*.xdf*"))


@pytest.mark.parametrize("query", ["", " \t"])
def test_an_empty_query_is_refused(tmp_path: pathlib.Path, query: str) -> None:
    path = tmp_path / "empty.xdf"
    with schwann.Outlet("Empty") as outlet, pytest.raises(schwann.ArgumentError, match="empty"):
        schwann.record(path, query, outlet.info.name, timeout=PATIENCE)
    assert not path.exists()


def test_a_file_that_cannot_be_completed_is_closed_all_the_same(tmp_path: pathlib.Path) -> None:
    """The second close does nothing, so that the end of `with` says nothing of its own."""
    code = """
import resource, signal, sys, uuid, schwann
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
name = f"Full {uuid.uuid4()}"
with schwann.Outlet(name, "EEG", 2, rate=1e4) as outlet, schwann.record(sys.argv[1], name, timeout=30) as recorder:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    outlet.push([[3.0, 4.0]] * 10_000)
    try:
        recorder.close()
    except schwann.Error as error:
        print(error)
    print(recorder.closed, recorder.close())
"""
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "full.xdf")], capture_output=True, text=True, timeout=3 * PATIENCE)
    assert ended.returncode == 0 and ended.stdout.splitlines()[1:] == ["True []"], ended
