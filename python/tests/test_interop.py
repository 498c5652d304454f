"""With pylsl on the real liblsl at the other end, in both directions."""

import math
import uuid

import numpy as np
import pytest

import schwann
from conftest import PATIENCE

pylsl = pytest.importorskip("pylsl")


@pytest.mark.parametrize("format", ["float32", "double64", "int8", "int16", "int32", "int64"])
def test_pylsl_receives_what_we_send(format: str) -> None:
    with schwann.Outlet(f"To pylsl {uuid.uuid4()}", "EEG", ["A", "B"], rate=100.0, format=format) as outlet:  # type: ignore[arg-type]
        info = pylsl.resolve_byprop("name", outlet.info.name, timeout=PATIENCE)[0]
        inlet = pylsl.StreamInlet(info)
        inlet.open_stream(PATIENCE)
        assert outlet.wait_for_consumers(1, PATIENCE)
        outlet.push([[1, 2], [3, 4]], times=[5.0, 6.0])
        got = [inlet.pull_sample(PATIENCE) for _ in range(2)]
        assert got == [([1, 2], 5.0), ([3, 4], 6.0)]
        assert inlet.info(PATIENCE).get_channel_labels() == ["A", "B"]
        inlet.close_stream()


@pytest.mark.parametrize("format", ["float32", "double64", "int8", "int16", "int32", "int64"])
def test_we_receive_what_pylsl_sends(format: str) -> None:
    name = f"From pylsl {uuid.uuid4()}"
    info = pylsl.StreamInfo(name, "EEG", 2, 100.0, format if format != "double64" else "double64", name)
    info.set_channel_labels(["A", "B"])
    outlet = pylsl.StreamOutlet(info)
    found = schwann.resolve(name=name, timeout=PATIENCE)[0]
    assert found.channels.labels == ["A", "B"]
    with found.open(timeout=PATIENCE, clock="sender") as stream:
        assert outlet.wait_for_consumers(PATIENCE)
        outlet.push_sample([1, 2], 5.0)
        outlet.push_sample([3, 4], 6.0)
        chunk = stream.pull(2, PATIENCE)
    np.testing.assert_array_equal(chunk.data, [[1, 2], [3, 4]])
    assert chunk.times.tolist() == [5.0, 6.0]


def test_markers_pass_in_both_directions() -> None:
    name = f"Markers {uuid.uuid4()}"
    theirs = pylsl.StreamOutlet(pylsl.StreamInfo(name, "Markers", 1, 0.0, "string", name))
    with schwann.resolve(name=name, timeout=PATIENCE)[0].open(timeout=PATIENCE, clock="sender") as stream:
        assert theirs.wait_for_consumers(PATIENCE)
        theirs.push_sample(["ä go"], 2.0)
        assert stream.pull(1, PATIENCE).data.tolist() == [["ä go"]]
    with schwann.Outlet(f"Ours {uuid.uuid4()}", "Markers") as outlet:
        inlet = pylsl.StreamInlet(pylsl.resolve_byprop("name", outlet.info.name, timeout=PATIENCE)[0])
        inlet.open_stream(PATIENCE)
        assert outlet.wait_for_consumers(1, PATIENCE)
        outlet.push({"ä": 1}, times=3.0)
        assert inlet.pull_sample(PATIENCE) == (['{"ä": 1}'], 3.0)
        inlet.close_stream()


def test_samples_without_a_time_neither_wait_in_a_merge_nor_hold_up_others() -> None:
    names = [f"Odd {uuid.uuid4()}" for _ in range(2)]
    one, other = (pylsl.StreamOutlet(pylsl.StreamInfo(name, "EEG", 1, 100.0, "float32", name)) for name in names)
    streams = [schwann.resolve(name=name, timeout=PATIENCE)[0].open(timeout=PATIENCE, clock="local") for name in names]
    for outlet, stream in zip((one, other), streams):
        assert outlet.wait_for_consumers(PATIENCE)
        stream.clock_offset(PATIENCE)
    now = pylsl.local_clock()
    merge = schwann.merge(*streams, patience=1e6)
    for value, time in [(1, math.nan), (2, now + 0.02), (5, now + 0.05)]:
        one.push_sample([value], time)
    for value, time in [(3, math.inf), (4, now + 0.01)]:
        other.push_sample([value], time)
    # Closing drops what the merge has not taken.
    while [stream.waiting for stream in streams] != [3, 2]:
        pass
    got: list[float] = []
    while len(got) < 3:
        got += next(merge).chunk.data.ravel().tolist()
    # The rest is newer than all of the second stream, which may still send older ones.
    assert sorted(got[:2]) == [1, 3] and got[2:] == [4]
    for stream in streams:
        stream.close()
    assert [value for _, chunk in merge for value in chunk.data.ravel().tolist()] == [2, 5]
