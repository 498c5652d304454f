"""What no stream can have: an exception of the package with a sentence on what to do, and nothing else happens."""

import contextlib
import datetime
import inspect
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import schwann
import schwann.pylsl
from conftest import PATIENCE, Connect

NAN = float("nan")


@pytest.mark.parametrize(
    "options",
    [
        {"chunk": -1},
        {"chunk": 2**31},
        {"buffer": -1},
        {"buffer": 2**40},
        {"channels": 2**40},
        {"channels": -1},
        {"rate": NAN},
        {"rate": float("inf")},
        {"metadata": [("amplifier", "X")]},
        {"metadata": {"note": "a\0b"}},
        {"metadata": {"outer": [{"note": "\x01"}]}},
        {"metadata": {"note": "\ud800"}},
        {"channels": ["Fp1\x02"]},
        {"channels": 2, "unit": "\x03V"},
        {"source_id": "id\0"},
    ],
)
def test_an_outlet_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(schwann.ArgumentError):
        schwann.Outlet("Bad", "EEG", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [("a\0b", "EEG"), ("a\x1b", "EEG"), ("\udc80", "EEG"), ("Bad", "E\0G")])
def test_names_that_no_description_holds_are_refused(arguments: tuple[str, str]) -> None:
    with pytest.raises(schwann.ArgumentError, match="leave it out"):
        schwann.Outlet(*arguments)


def test_texts_with_all_else_arrive_as_they_are(connect: Connect) -> None:
    text = "<µV & \t\n]]> \U0001f9e0"
    outlet, _ = connect("EEG", ["Fp1 <&>"], metadata={"note": text})
    found = schwann.resolve(name=outlet.info.name, timeout=PATIENCE)[0]
    assert found.metadata["note"] == text and found.channels.labels == ["Fp1 <&>"]


def test_numpys_numbers_count_channels() -> None:
    with schwann.Outlet("Numbers", "EEG", np.int64(3), chunk=np.int32(1), buffer=np.uint8(9)) as outlet:  # type: ignore[arg-type]
        assert outlet.info.channel_count == 3


@pytest.mark.parametrize("times", ["now", ["a"], 1j, datetime.datetime(2026, 1, 1), [1.0, 2.0], NAN, [[None]]])
def test_times_that_are_none_are_refused(connect: Connect, times: object) -> None:
    outlet, stream = connect("EEG", 2)
    with pytest.raises(schwann.ArgumentError):
        outlet.push([1.0, 2.0], times)  # type: ignore[arg-type]
    with pytest.raises(schwann.ArgumentError):
        outlet.push(np.ones((3, 2)), times)  # type: ignore[arg-type]
    outlet.push([3.0, 4.0])
    assert stream.pull(1, PATIENCE).data.tolist() == [[3.0, 4.0]]


@pytest.mark.parametrize("time", [0, 0.0, -0.0, -1, -1.0, np.float32(-1)])
def test_times_that_lsl_takes_for_others_are_refused(connect: Connect, tmp_path: pathlib.Path, time: float) -> None:
    outlet, stream = connect("EEG", 1)
    words, _ = connect("Markers")
    with schwann.record(tmp_path / "a.xdf", outlet.info.name, timeout=PATIENCE) as recorder:
        calls: list[Callable[[], object]] = [
            lambda: outlet.push(1.0, time),
            lambda: outlet.push([1.0, 2.0], time),
            lambda: outlet.push([1.0, 2.0], [5.0, time]),
            lambda: words.push("a", time),
            lambda: words.push([["a"], ["b"]], [time, 5.0]),
            lambda: recorder.annotate("a", time),
        ]
        for call in calls:
            with pytest.raises(schwann.ArgumentError, match="stand for no time"):
                call()
                pytest.fail(inspect.getsource(call))
        recorder.annotate("b", -2.0)
    assert schwann.read_xdf(tmp_path / "a.xdf")["Annotations"].times.tolist() == [-2.0]
    outlet.push([1.0, 2.0], times=[-2.0, 0.5])
    assert stream.pull(2, PATIENCE).times.tolist() == [-2.0, 0.5]


def test_counts_that_are_none_are_refused(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, rate=100.0)
    calls: list[Callable[[], object]] = [
        lambda: stream.pull(-1),
        lambda: stream.pull(2**62, 0.0),
        lambda: stream.chunks(count=0),
        lambda: stream.chunks(count=-3),
        lambda: stream.chunks(seconds=1e30),
        lambda: outlet.wait_for_consumers(-1),
        lambda: outlet.info.open(buffer=0),
        lambda: outlet.info.open(buffer=2**40),
        lambda: schwann.Filter.lowpass(10.0, 100.0, 1)(np.ones((2, 1)) * 1j),
    ]
    for call in calls:
        with pytest.raises(schwann.ArgumentError):
            call()
            pytest.fail(inspect.getsource(call))


def test_values_of_other_types_are_refused(connect: Connect, tmp_path: pathlib.Path) -> None:
    outlet, stream = connect("EEG", 2, rate=100.0)
    words, local = connect("Markers", open={"clock": "local"})
    low = schwann.Filter.lowpass(10.0, 100.0, 2)
    make: Any = schwann.Outlet
    find: Any = schwann.resolve
    begin: Any = outlet.info.open
    design: Any = schwann.Filter
    with schwann.record(tmp_path / "a.xdf", outlet.info.name, timeout=PATIENCE) as recorder:
        calls: list[Callable[[], object]] = [
            lambda: make(5),
            lambda: make("a", 5),
            lambda: make("a", channels=2.0),
            lambda: make("a", channels=2, unit=5),
            lambda: make("a", channels=[schwann.Channel("x", 5)]),  # type: ignore[arg-type]
            lambda: make("a", rate="5"),
            lambda: make("a", rate=1j),
            lambda: make("a", format=np.float32),
            lambda: make("a", format=[]),
            lambda: make("a", format=""),
            lambda: make("a", source_id=5),
            lambda: make("a", source_id=0),
            lambda: make("a", chunk=1.5),
            lambda: words.push("\ud800"),
            lambda: words.push({"a": "\ud800"}),
            lambda: words.push(np.array("x")),
            lambda: outlet.push([1.0, 2.0], "1"),
            lambda: outlet.push(np.ones((2, 2)), ["1", "2"]),
            lambda: outlet.push([1.0, 2.0], True),
            lambda: outlet.wait_for_consumers(1.5),  # type: ignore[arg-type]
            lambda: outlet.wait_for_consumers(1, "1"),  # type: ignore[arg-type]
            lambda: outlet.flush("1"),  # type: ignore[arg-type]
            lambda: find(name=5),
            lambda: find(5),
            lambda: find(source_id="\ud800"),
            lambda: find(count="1"),
            lambda: find(timeout="1"),
            lambda: stream.pull(1.5),  # type: ignore[arg-type]
            lambda: stream.pull(1, "1"),  # type: ignore[arg-type]
            lambda: stream.chunks(seconds="1"),  # type: ignore[arg-type]
            lambda: stream.chunks(count=1.5),  # type: ignore[arg-type]
            lambda: stream.clock_offset("1"),  # type: ignore[arg-type]
            lambda: begin(policy="latest", max_lag="1"),
            lambda: begin(filters=low),
            lambda: begin(filters=[1]),
            lambda: begin(filters="x"),
            lambda: begin(timeout="1"),
            lambda: begin(buffer=1.5),
            lambda: low(np.zeros((2, 2, 2))),
            lambda: low([[1.0, 2.0], [3.0]]),  # type: ignore[arg-type]
            lambda: low([[1.0, 2.0j]]),  # type: ignore[arg-type]
            lambda: design("x", 2),
            lambda: design([[1, 0, 0, 1, 0, 0]], 2.0),
            lambda: design.notch("50", 100.0, 2),
            lambda: design.notch(50.0, "100", 2),
            lambda: design.notch(40.0, 100.0, 2, "1"),
            lambda: schwann.merge(1),  # type: ignore[arg-type]
            lambda: schwann.merge(local, patience="1"),  # type: ignore[arg-type]
            lambda: recorder.annotate("\ud800"),
            lambda: recorder.annotate("x", "1"),  # type: ignore[arg-type]
            lambda: schwann.record(b"path"),  # type: ignore[arg-type]
            lambda: schwann.record(5),  # type: ignore[arg-type]
            lambda: schwann.record(tmp_path / "b.xdf", "\ud800"),
            lambda: schwann.record(tmp_path / "b.xdf", timeout="1"),  # type: ignore[arg-type]
        ]
        for call in calls:
            with pytest.raises(schwann.ArgumentError) as raised:
                call()
                pytest.fail(inspect.getsource(call))
            assert len(str(raised.value)) > 20, inspect.getsource(call)
        words.push("\ud83e\udde0".encode("utf-16", "surrogatepass").decode("utf-16"))
    assert not (tmp_path / "b.xdf").exists()


@pytest.mark.parametrize(("channels", "format"), [(1, "int8"), (3, "float32")])
def test_more_samples_than_memory_are_an_error_and_no_panic(connect: Connect, channels: int, format: str) -> None:
    outlet, stream = connect("Values", channels, format=format)
    for count in (2**62, 2**61 - 1, 2**47):
        with pytest.raises((MemoryError, ValueError)):
            stream._native.pull(count, 0.0)
    # There may be memory for the values, and none for the times.
    with contextlib.suppress(MemoryError):
        stream._native.pull(2**34, 0.0)
    outlet.push(np.ones((2, channels)))
    assert stream.pull(2, PATIENCE).data.tolist() == [[1] * channels] * 2


def test_a_description_that_is_no_xml_is_told() -> None:
    sender = schwann.pylsl.StreamInfo("Broken", "EEG", source_id="broken")
    sender.desc().append_child_value("note", "\x01")
    outlet = schwann.pylsl.StreamOutlet(sender)
    found = schwann.resolve(source_id="broken", timeout=PATIENCE)[0]
    for ask in (lambda: found.channels, lambda: found.metadata):
        with pytest.raises(schwann.Error, match="Broken is no XML"):
            ask()
    assert "Broken" in found.xml
    del outlet
