"""What a push takes, and what it refuses."""

import json
import sys
import threading
import uuid
from typing import Any

import numpy as np
import pytest

import schwann
from conftest import PATIENCE, Connect
from schwann._outlet import _as_numbers

FORMATS = ["float32", "double64", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_carries_every_type(connect: Connect, format: str) -> None:
    outlet, stream = connect("Numbers", 3, format=format)
    values = np.arange(12).reshape(4, 3)
    for dtype in ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "f2", ">f4", ">i8"]:
        outlet.push(values.astype(dtype))
        chunk = stream.pull(4, PATIENCE)
        assert chunk.data.dtype == stream.info.dtype
        np.testing.assert_array_equal(chunk.data, values)


def test_contiguous_numbers_are_not_copied() -> None:
    for dtype in ["f4", "f8", "i1", "i2", "i4", "i8"]:
        values = np.zeros((5, 3), dtype)
        assert np.shares_memory(_as_numbers(values, np.dtype(np.float32)), values)


def test_any_strides_arrive_in_order(connect: Connect) -> None:
    outlet, stream = connect("EEG", 3, rate=100.0)
    whole = np.arange(60, dtype=np.float32).reshape(10, 6)
    for view in [whole[:, ::2], whole[::-1, :3], np.asfortranarray(whole[:, :3]), whole.T[:3].T]:
        outlet.push(view)
        np.testing.assert_array_equal(stream.pull(len(view), PATIENCE).data, view)
    unaligned = np.frombuffer(b"x" + np.arange(6, dtype=np.float32).tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3)
    outlet.push(unaligned)
    np.testing.assert_array_equal(stream.pull(2, PATIENCE).data, [[0, 1, 2], [3, 4, 5]])


def test_samples_and_chunks_are_told_apart(connect: Connect) -> None:
    outlet, stream = connect("EEG", 2)
    outlet.push([1, 2])
    outlet.push([[3, 4], [5, 6]])
    outlet.push(np.empty((0, 2)))
    np.testing.assert_array_equal(stream.pull(3, PATIENCE).data, [[1, 2], [3, 4], [5, 6]])
    outlet, stream = connect("EEG", 1)
    outlet.push(1.5)
    outlet.push([2.5])
    outlet.push([3.5, 4.5])
    np.testing.assert_array_equal(stream.pull(4, PATIENCE).data, [[1.5], [2.5], [3.5], [4.5]])


def test_times_are_one_for_each_or_that_of_the_last(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, rate=10.0)
    outlet.push([1, 2, 3], times=7.0)
    np.testing.assert_allclose(stream.pull(3, PATIENCE).times, [6.8, 6.9, 7.0])
    outlet.push([1, 2, 3], times=[8.0, 9.5, 9.75])
    np.testing.assert_array_equal(stream.pull(3, PATIENCE).times, [8.0, 9.5, 9.75])
    before = schwann.local_clock()
    outlet.push(1.0)
    assert before <= stream.pull(1, PATIENCE).times[0] <= schwann.local_clock()
    for times in [[1.0], [1.0, 2.0, float("nan")], [[1.0, 2.0, 3.0]], float("inf")]:
        with pytest.raises(schwann.ArgumentError):
            outlet.push([1, 2, 3], times=times)
    assert stream.pull(timeout=0.0).data.size == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (np.zeros((3, 5)), r"transpose it with \.T"),
        (np.zeros((5, 4)), r"\(samples, 3\)"),
        (np.zeros(4), r"\(samples, 3\)"),
        (np.zeros((2, 3, 1)), r"\(samples, 3\)"),
        (1.0, r"\(samples, 3\)"),
        (np.zeros((2, 3), complex), "complex128.*astype"),
        (np.zeros((2, 3), np.uint64), "uint64.*astype"),
        (np.zeros((2, 3), object), "object.*astype"),
        ([["a", "b", "c"]], "no numbers"),
        ([[1, 2, 3], [4, 5]], "no numbers"),
        (None, "no numbers|samples"),
    ],
)
def test_wrong_data_are_refused_and_nothing_is_sent(connect: Connect, data: object, reason: str) -> None:
    outlet, stream = connect("EEG", 3)
    with pytest.raises(schwann.ArgumentError, match=reason):
        outlet.push(data)
    outlet.push([1, 2, 3])
    assert len(stream.pull(1, PATIENCE)) == 1 and stream.waiting == 0


@pytest.mark.parametrize("format", ["int8", "int16", "int32", "int64"])
def test_integers_arrive_as_they_are_or_are_refused(connect: Connect, format: str) -> None:
    outlet, stream = connect("Counts", 2, format=format)
    least, most = int(np.iinfo(format).min), int(np.iinfo(format).max)
    wrong: list[object] = [[1.5, 2], [1, float("nan")], [1, float("inf")], [None, 1], ["1", "2"], [1, 1j], [2.0**63, 0], [most + 1, 0], [least - 1, 0]]
    wrong += [np.array([[0.0, 1.0], [2.0, 2.5]], "f4"), np.array([1e300, 0]), np.array([2**63, 0], "u8"), np.array([0, np.nan], "f2")]
    wrong += [np.ma.array([1, 2], format, mask=[False, True]), np.ma.array([1, 2]), np.array([1, None]), np.array(["1", "2"])]
    wrong += [np.array([1, most + 1]), np.array([least - 1, 1])] if format != "int64" else []
    for data in wrong:
        for shaped in [data, [data, data]] if isinstance(data, list) else [data]:
            with pytest.raises(schwann.ArgumentError):
                outlet.push(shaped)
                pytest.fail(repr(shaped))
    right: list[Any] = [[least, most], [1.0, -2.0], [True, False], [np.uint64(1), np.uint64(2)], np.array([100.0, -0.0]), np.array([7, 8], ">u4")]
    for data in right:
        outlet.push(data)
        assert stream.pull(1, PATIENCE).data.tolist() == [list(data)]


def test_markers_take_any_value_that_json_has(connect: Connect) -> None:
    outlet, stream = connect("Markers")
    values = ["left", "", "ä\u0000"[:1], {"trial": 3, "kind": "go"}, None, 1.5, True]
    for value in values:
        outlet.push(value)
    outlet.push([["a"], [np.float32(2.5)], [np.arange(2)]])
    texts = [text for (text,) in stream.pull(10, PATIENCE).data]
    assert texts == [*values[:3], *(json.dumps(value) for value in values[3:]), "a", "2.5", "[0, 1]"]
    for value in [object(), {1, 2}, [["a", "b"]], float("nan"), {"level": float("-inf")}, np.full(2, np.nan)]:
        with pytest.raises(schwann.ArgumentError):
            outlet.push(value)


def test_strings_of_several_channels_keep_their_rows(connect: Connect) -> None:
    outlet, stream = connect("Words", 2, format="string")
    outlet.push(["a", "b"])
    outlet.push([["c", "d"], ["e", {"f": 1}]], times=[3.0, 4.0])
    chunk = stream.pull(3, PATIENCE)
    assert chunk.data.tolist() == [["a", "b"], ["c", "d"], ["e", '{"f": 1}']]
    assert chunk.times[1:].tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("x", "EEG", 2), {"rate": float("nan")}),
        (("x", "EEG", 2), {"rate": float("inf")}),
        (("x", "EEG", 2), {"rate": -1.0}),
        (("x", "EEG", 0), {}),
        (("x", "EEG", []), {}),
        (("x", "EEG", "Fp1"), {}),
        (("x", "EEG", ["Fp1", "Fp2"]), {"unit": ["µV"]}),
        (("", "EEG", 1), {}),
        (("x", "EEG", 1), {"format": "float16"}),
    ],
)
def test_a_stream_that_cannot_be_is_refused(arguments: tuple[object, ...], options: dict[str, object]) -> None:
    with pytest.raises(schwann.ArgumentError):
        schwann.Outlet(*arguments, **options)  # type: ignore[arg-type]


def test_a_closed_outlet_says_so() -> None:
    outlet = schwann.Outlet("Closed")
    outlet.close()
    outlet.close()
    assert outlet.closed
    for call in [lambda: outlet.push(1.0), outlet.flush, outlet.wait_for_consumers, lambda: outlet.info, lambda: outlet.backlog]:
        with pytest.raises(schwann.ClosedError):
            call()  # type: ignore[operator]


def test_closing_ends_the_stream_while_another_thread_waits() -> None:
    outlet = schwann.Outlet(f"Waited for {uuid.uuid4()}")
    name = outlet.info.name
    begun, ended = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        with pytest.raises(schwann.ClosedError):
            outlet.wait_for_consumers()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    assert begun.wait(PATIENCE) and not ended.wait(0.2)
    outlet.close()
    assert ended.wait(PATIENCE)
    with pytest.raises(schwann.TimedOutError):
        schwann.resolve(name=name, timeout=0.5)


def test_the_backlog_is_visible_and_flushed(connect: Connect) -> None:
    outlet, stream = connect("EEG", 64, rate=1000.0)
    assert outlet.wait_for_consumers(1, PATIENCE) and outlet.consumers == 1
    assert not outlet.wait_for_consumers(2, 0.0)
    outlet.push(np.zeros((1000, 64)))
    outlet.flush(PATIENCE)
    assert (outlet.backlog, outlet.lost) == (0, 0)
    assert len(stream.pull(1000, PATIENCE)) == 1000


@pytest.mark.parametrize("format", ["float32", "string"])
def test_samples_go_out_by_chunks_and_none_stays_behind(connect: Connect, format: str) -> None:
    outlet, stream = connect("Chunks", 1, format=format, chunk=3)

    def pulled(count: int, timeout: float = PATIENCE) -> list[float]:
        return [float(value) for value in stream.pull(count, timeout).data[:, 0]]

    outlet.push(1)
    outlet.push([[2]])
    assert pulled(1, 0.05) == []
    outlet.push([[3], [4]], times=[5.0, 6.0])
    assert pulled(4) == [1, 2, 3, 4]
    outlet.push(5)
    outlet.flush(PATIENCE)
    assert pulled(1) == [5]
    outlet.push([[6], [7]], times=[8.0, 9.0])
    assert pulled(1, 0.05) == []
    outlet.close()
    assert pulled(2) == [6, 7]


def test_the_same_arguments_make_the_same_source() -> None:
    with schwann.Outlet("Same", "EEG", 2) as one, schwann.Outlet("Same", "EEG", 2) as two, schwann.Outlet("Same", "EEG", 3) as other:
        assert one.info.source_id == two.info.source_id != other.info.source_id != ""


def test_another_program_makes_another_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def made_by(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", list(arguments))
        with schwann.Outlet("Same", "EEG", 2) as outlet:
            return outlet.info.source_id

    programs = [("a.py",), ("b.py",), ("a.py", "left"), ("a.py", "right"), ("other/a.py",), ("\udc80.py",), ()]
    made = [made_by(*program) for program in programs]
    assert len(set(made)) == len(programs) and made == [made_by(*program) for program in programs]
    assert made_by("./a.py") == made_by("a.py")
