"""A pull that a signal breaks off loses nothing."""

import time
from collections.abc import Callable

import pytest

from conftest import PATIENCE, Connect, Interrupted


def test_what_a_signal_broke_off_comes_with_the_next_pull(connect: Connect, interrupt: Callable[[], None]) -> None:
    outlet, stream = connect("EEG", 2, rate=100.0)
    outlet.push([[float(number), -float(number)] for number in range(10)])
    wait_for(lambda: stream.waiting == 10)
    interrupt()
    with pytest.raises(Interrupted):
        stream.pull(20, PATIENCE)
    assert stream.waiting == 10
    first = stream.pull(4, PATIENCE)
    outlet.push([[float(number), -float(number)] for number in range(10, 20)])
    rest = stream.pull(16, PATIENCE)
    assert [*first.data[:, 0], *rest.data[:, 0]] == list(range(20)) and len(rest.times) == 16
    assert stream.lost == 0


def test_so_do_texts(connect: Connect, interrupt: Callable[[], None]) -> None:
    outlet, stream = connect("Markers")
    for text in "abc":
        outlet.push(text)
    wait_for(lambda: stream.waiting == 3)
    interrupt()
    with pytest.raises(Interrupted):
        stream.pull(5, PATIENCE)
    outlet.push("d")
    assert [text for chunk in (stream.pull(2, PATIENCE), stream.pull(2, PATIENCE)) for text in chunk.data] == list("abcd")


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
