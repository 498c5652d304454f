"""Every value of every format arrives as it was pushed, in every shape of call."""

import math
import struct

import pytest

import lsl

NUMBERS = {
    "float32": [0.0, -0.0, 1.5, -1e-40, math.inf, -math.inf, 3.4028234663852886e38, 2.0**-126],
    "double64": [0.0, -0.0, 0.1, 5e-324, -1.7976931348623157e308, math.inf, -math.inf, 2.0**53 + 2],
    "int8": [-128, -1, 0, 1, 2, 64, 100, 127],
    "int16": [-(2**15), -1, 0, 1, 255, 256, 12345, 2**15 - 1],
    "int32": [-(2**31), -1, 0, 1, 65535, 65536, 123456789, 2**31 - 1],
    "int64": [-(2**63), -1, 0, 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1],
}
TEXTS = [b"", b"plain", "grün 脑".encode(), b"with\0two\0NULs\0", b"x" * 255, b"y" * 256, b"\xff\xfe not UTF-8", b"<&>'\""]


@pytest.mark.parametrize("format", NUMBERS)
def test_numbers_arrive_bit_by_bit(connect, format):
    outlet, inlet = connect(format=format, channels=8, rate=100.0)
    outlet.push(NUMBERS[format], 12.5)
    outlet.push(NUMBERS[format][::-1], 13.5)
    first, second = inlet.pull(), inlet.pull()
    assert (lsl.bits(first[0], format), first[1]) == (lsl.bits(NUMBERS[format], format), 12.5)
    assert (lsl.bits(second[0], format), second[1]) == (lsl.bits(NUMBERS[format][::-1], format), 13.5)


@pytest.mark.parametrize("format", ["float32", "double64"])
def test_the_payload_of_a_nan_survives(connect, format):
    outlet, inlet = connect(format=format, channels=2)
    raw = struct.pack("<II", 0x7FC12345, 0xFFC54321) if format == "float32" else struct.pack("<QQ", 0x7FF8000012345678, 0xFFF8000087654321)
    outlet.push_raw(raw, 1.0)
    assert inlet.pull_raw(len(raw)) == (raw, 1.0)


def test_strings_arrive_with_their_nuls_and_any_bytes(connect):
    outlet, inlet = connect(format="string", channels=8)
    outlet.push(TEXTS, 1.0)
    assert inlet.pull() == (TEXTS, 1.0)


def test_a_string_of_a_mebibyte_arrives(connect):
    outlet, inlet = connect(format="string", channels=2)
    large = bytes(range(256)) * 4096
    outlet.push([large, b"short"], 1.0)
    assert inlet.pull() == ([large, b"short"], 1.0)


@pytest.mark.parametrize("format", list(NUMBERS) + ["string"])
def test_a_chunk_arrives_with_stamps_deduced_from_the_rate(connect, format):
    outlet, inlet = connect(format=format, channels=3, rate=100.0)
    values = [number % 120 for number in range(30)]
    if format == "string":
        values = [str(value).encode() for value in values]
    outlet.push_chunk(values, 1000.0)
    found, stamps = inlet.pull_chunk(10, timeout=10.0)
    assert found == values
    assert stamps == pytest.approx([999.91 + 0.01 * number for number in range(10)], abs=1e-9)


@pytest.mark.parametrize("format", ["float32", "int8", "string"])
def test_a_chunk_arrives_with_a_stamp_of_its_own_for_each_sample(connect, format):
    outlet, inlet = connect(format=format, channels=2)
    values = [1, 2, 3, 4, 5, 6] if format != "string" else [b"a", b"b", b"c", b"d", b"e", b"f"]
    outlet.push_chunk(values, stamps=[7.0, 7.5, 9.25])
    assert inlet.pull_chunk(3, timeout=10.0) == (values, [7.0, 7.5, 9.25])


def test_a_chunk_of_an_irregular_stream_has_one_stamp(connect):
    outlet, inlet = connect(channels=1, rate=0.0)
    outlet.push_chunk([1, 2, 3], 50.0)
    assert inlet.pull_chunk(3, timeout=10.0) == ([1.0, 2.0, 3.0], [50.0] * 3)


@pytest.mark.parametrize("shape", [(1, 1), (1, 1000), (500, 1), (7, 13), (1000, 64)], ids=str)
def test_chunks_of_every_shape_arrive_whole_and_in_order(connect, shape):
    samples, channels = shape
    outlet, inlet = connect(format="int32", channels=channels, rate=1000.0)
    values = list(range(samples * channels))
    outlet.push_chunk(values, 10.0)
    found, stamps = inlet.pull_chunk(samples, timeout=10.0)
    assert found == values and len(stamps) == samples


def test_samples_pushed_without_pushthrough_arrive_with_the_next_that_has_it(connect):
    outlet, inlet = connect(channels=1)
    for number in range(1, 5):
        outlet.push([number], float(number), through=0)
    outlet.push([5], 5.0, through=1)
    assert inlet.pull_all(5) == ([[1.0], [2.0], [3.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 4.0, 5.0])


def test_samples_without_a_stamp_get_the_clock_of_the_push(connect):
    outlet, inlet = connect(channels=1)
    before = outlet._agent.clock()
    outlet.push([1.0])
    after = outlet._agent.clock()
    assert before <= inlet.pull()[1] <= after


def test_a_deduced_stamp_continues_from_the_last_at_the_nominal_rate(connect):
    outlet, inlet = connect(channels=1, rate=50.0)
    outlet.push([1.0], 100.0)
    outlet.push([2.0], lsl.DEDUCED)
    outlet.push([3.0], lsl.DEDUCED)
    assert inlet.pull_all(3)[1] == pytest.approx([100.0, 100.02, 100.04])


def test_values_are_converted_on_both_sides(connect):
    outlet, inlet = connect(format="int16", channels=2)
    outlet.push([300.7, -2.9], 1.0, kind="double64")
    assert inlet.pull(kind="float32") == ([300.0, -2.0], 1.0)


def test_integers_pass_through_a_string_stream_and_back(connect):
    outlet, inlet = connect(format="string", channels=1)
    values = [1 << bit for bit in range(31)]
    outlet.push_chunk(values, 1.0, kind="int32")
    found, _ = inlet.pull_chunk(31, timeout=10.0, kind="int32")
    assert found == values


def test_negative_bytes_keep_their_sign_in_wider_types(connect):
    outlet, inlet = connect(format="int8", channels=3)
    outlet.push([-128, -1, 127], 1.0)
    assert inlet.pull(kind="int32") == ([-128, -1, 127], 1.0)
    outlet.push([-128, -1, 127], 1.0)
    assert inlet.pull(kind="double64") == ([-128.0, -1.0, 127.0], 1.0)


def test_several_inlets_all_get_every_sample(sender, receiver):
    outlet = sender().outlet(channels=2, format="int32")
    inlets = [receiver().inlet() for _ in range(3)]
    for inlet in inlets:
        inlet.open()
    # Real 1.17 registers late; what counts here is that no inlet takes from another.
    for number in range(1, 200):
        outlet.push([number, -number], float(number))
    for inlet in inlets:
        values, _ = inlet.pull_all(199, timeout=3.0 if sender.is_117() else 10.0)
        assert values[-1] == [199, -199]
        assert [value for value, _ in values] == list(range(values[0][0], 200))


def test_the_oldest_samples_are_dropped_when_the_queue_is_full(connect):
    outlet, inlet = connect(inlet={"buffer": 50, "flags": lsl.SAMPLES}, channels=1, rate=100.0)
    for number in range(1, 201):
        outlet.push([number], float(number))
    values, stamps = [], []
    value, stamp = inlet.pull(10.0)
    while stamp != 200.0:
        values.append(value[0])
        value, stamp = inlet.pull(10.0)
    values.append(value[0])
    assert values == sorted(values) and len(values) <= 200
