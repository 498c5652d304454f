"""Knowing that what one gets is old, or that nothing comes."""

import os
import queue
import subprocess
import sys
import threading
import time
import uuid

import pytest

import schwann
from conftest import PATIENCE, Connect


def test_a_program_that_does_not_pull_is_told(connect: Connect) -> None:
    # Without a rate it may be silent.
    outlet, stream = connect("Values", 1)
    told: queue.Queue[schwann.Alarm] = queue.Queue()
    stream.on_alarm(told.put, max_lag=0.4)
    outlet.push(1.0)
    first = told.get(timeout=PATIENCE)
    assert first.event == "behind" and first.lag > 0.4 and first.skipped == 0
    assert stream.pull(1, PATIENCE).data.tolist() == [[1.0]]
    assert told.get(timeout=PATIENCE).event == "caught up"
    stream.on_alarm(None)
    assert stream.events() == ["connected", "behind", "caught up"]


def test_a_stream_with_a_rate_may_not_be_silent(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, rate=100.0)
    told: queue.Queue[schwann.Alarm] = queue.Queue()
    stream.on_alarm(told.put, max_lag=0.4)
    silent = told.get(timeout=PATIENCE)
    assert silent.event == "silent" and silent.lag > 0.4
    outlet.push(1.0)
    stream.pull(1, PATIENCE)
    assert told.get(timeout=PATIENCE).event == "caught up"
    with pytest.raises(schwann.ArgumentError, match="function"):
        stream.on_alarm(5)  # type: ignore[arg-type]
    for limit in [0.0, -1.0, float("nan"), float("inf")]:
        with pytest.raises(schwann.ArgumentError):
            stream.on_alarm(told.put, max_lag=limit)


def test_what_was_skipped_is_counted_exactly(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, rate=100.0, open={"policy": "latest", "max_lag": 0.5})
    told: queue.Queue[schwann.Alarm] = queue.Queue()
    stream.on_alarm(told.put, max_lag=60.0)
    stream.clock_offset(PATIENCE)
    now = schwann.local_clock()
    outlet.push([float(value) for value in range(12)], times=[now - 9.0] * 11 + [now + 60.0])
    assert stream.pull(1, PATIENCE).data.tolist() == [[11.0]]
    alarm = told.get(timeout=PATIENCE)
    assert (alarm.event, alarm.skipped, stream.lost) == ("behind", 11, 11)
    assert told.get(timeout=PATIENCE).event == "caught up"


def test_a_stream_may_be_closed_by_whoever_is_told(connect: Connect) -> None:
    _, stream = connect("EEG", 1, rate=100.0)
    told: queue.Queue[bool] = queue.Queue()

    def close(_: schwann.Alarm) -> None:
        stream.close()
        told.put(stream.closed)

    stream.on_alarm(close, max_lag=0.2)
    assert told.get(timeout=PATIENCE)


def test_no_thread_is_left_of_an_alarm(connect: Connect) -> None:
    _, stream = connect("EEG", 1, rate=100.0)
    before = threading.active_count()
    for _ in range(3):
        stream.on_alarm(print, max_lag=60.0)
    stream.on_alarm(None)
    stream.on_alarm(print, max_lag=60.0)
    stream.close()
    deadline = time.monotonic() + PATIENCE
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_stream_that_goes_away_is_silent(connect: Connect) -> None:
    outlet, stream = connect("Markers", source_id=f"away-{uuid.uuid4()}")
    told: queue.Queue[schwann.Alarm] = queue.Queue()
    stream.on_alarm(told.put, max_lag=5.0)
    outlet.close()
    assert told.get(timeout=PATIENCE).event == "silent"


def test_the_outlet_names_a_program_that_skips(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, rate=100.0, open={"policy": "latest", "max_lag": 0.5})
    assert [one.lost for one in outlet.receivers] == [0] and str(os.getpid()) in outlet.receivers[0].name
    stream.clock_offset(PATIENCE)
    now = schwann.local_clock()
    outlet.push([1.0, 2.0, 3.0], times=[now - 9.0, now - 8.0, now + 60.0])
    assert stream.pull(1, PATIENCE).data.tolist() == [[3.0]]
    deadline = time.monotonic() + PATIENCE
    while outlet.receivers[0].skipped != 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert outlet.receivers[0].skipped == 2


def test_an_error_in_an_alarm_is_printed_and_ends_nothing() -> None:
    code = (
        "import schwann, sys, threading\n"
        "printed = threading.Event()\n"
        # The program must not end while the other thread still prints.
        "class Screen:\n"
        " def write(self, text):\n  sys.__stderr__.write(text)\n  if 'of the program' in text: printed.set()\n"
        " def flush(self): sys.__stderr__.flush()\n"
        "sys.stderr = Screen()\n"
        "def tell(alarm): raise RuntimeError('of the program')\n"
        "outlet = schwann.Outlet('Tells', 'EEG', rate=100.0)\n"
        "stream = outlet.info.open(clock='sender')\n"
        "stream.on_alarm(tell, max_lag=0.1)\n"
        "assert printed.wait(20)\n"
        "outlet.push(1.0); assert len(stream.pull(1, 20)) == 1\n"
        "stream.close(); outlet.close(); print('end')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr
    assert "of the program" in ended.stderr


def test_an_interpreter_ends_with_an_alarm_set() -> None:
    code = (
        "import schwann\n"
        "outlet = schwann.Outlet('Ends', 'EEG', rate=100.0)\n"
        "stream = outlet.info.open(clock='sender')\n"
        "stream.on_alarm(print, max_lag=0.001)\n"
        "print('end')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0 and "end" in ended.stdout, ended.stderr
