"""A receiver whose program stands still: what waits for it is visible, and it holds up no other."""

import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import schwann
from conftest import PATIENCE, Connect, Interrupted

CHANNELS, ROWS = 64, 1000
# More than the buffers of the system hold (bytes).
HELD_BYTES = 40 << 20
RECEIVER = """
import sys, schwann
with schwann.resolve(name=sys.argv[1], timeout=30)[0].open(timeout=30, clock="sender") as stream:
    print("open", flush=True)
    wanted = int(input())
    got = [stream.pull(1, 30).data[0, 0]]
    while len(got) < wanted and (chunk := stream.pull(wanted - len(got), 30)):
        got += chunk.data[:, 0].tolist()
    print(len(got), got == sorted(got), int(got[0]), int(got[-1]), stream.lost, flush=True)
"""


class Receiver:
    """A receiving process that can be stopped."""

    def __init__(self, name: str) -> None:
        command = [sys.executable, "-c", RECEIVER, name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said()

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self, wanted: int) -> None:
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{wanted}\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def receiver() -> Iterator[Callable[[str], Receiver]]:
    started: list[Receiver] = []

    def start(name: str) -> Receiver:
        started.append(Receiver(name))
        return started[-1]

    yield start
    for one in started:
        one.end()


def push(outlet: schwann.Outlet, first: int) -> None:
    """Pushes a chunk that is numbered from `first`."""
    chunk = np.zeros((ROWS, CHANNELS), np.float32)
    chunk[:, 0] = np.arange(first, first + ROWS)
    outlet.push(chunk)


def push_until(outlet: schwann.Outlet, done: Callable[[], object], pushed: int = 0) -> int:
    """Pushes numbered chunks until `done`; returns how many samples were pushed in all, with those `pushed` before."""
    while not done():
        assert pushed < 400 * ROWS, "nothing waits for a receiver that takes nothing"
        push(outlet, pushed)
        pushed += ROWS
    return pushed


def test_what_waits_for_a_stalled_receiver_is_visible_and_comes_later(
    connect: Connect, receiver: Callable[[str], Receiver], interrupt: Callable[[], None]
) -> None:
    outlet, other = connect("EEG", CHANNELS, rate=1000.0)
    stalled = receiver(outlet.info.name)
    assert outlet.wait_for_consumers(2, PATIENCE)
    stalled.stop()
    taken = 0

    def is_behind() -> bool:
        nonlocal taken
        # A receiver that works gets everything meanwhile.
        taken += len(other.pull(timeout=0.0))
        waiting = [one.waiting_bytes for one in outlet.receivers if str(stalled.process.pid) in one.name]
        # A busy computer sends late what still has room. So more waits than could ever find it.
        return outlet.backlog > 0 and max(waiting) > HELD_BYTES

    pushed = push_until(outlet, is_behind)
    with pytest.raises(schwann.TimedOutError):
        outlet.flush(0.2)
    # Only a call that looks for signals ends by one.
    interrupt()
    with pytest.raises(Interrupted):
        outlet.flush(None)
    assert outlet.backlog > 0 and outlet.lost == 0
    while taken < pushed:
        came = len(other.pull(pushed - taken, PATIENCE))
        assert came > 0, "a stalled receiver holds up another one"
        taken += came
    stalled.go_on(pushed)
    assert stalled.said() == f"{pushed} True 0 {pushed - 1} 0\n"
    outlet.flush(PATIENCE)
    assert outlet.backlog == 0 and outlet.lost == 0


def test_what_a_stalled_receiver_loses_is_counted(connect: Connect, receiver: Callable[[str], Receiver]) -> None:
    outlet, other = connect("EEG", CHANNELS, rate=1000.0, buffer=1)
    other.close()
    stalled = receiver(outlet.info.name)
    assert outlet.wait_for_consumers(1, PATIENCE)
    # The receiver is told that it is open before the outlet's thread is done with telling it, and meanwhile pushes wait. On a busy
    # computer they may be more than the buffer holds. So the first ones are on their way before the receiver stands still.
    push(outlet, 0)
    outlet.flush(PATIENCE)
    stalled.stop()
    pushed = push_until(outlet, lambda: outlet.lost, ROWS)
    deadline = time.monotonic() + PATIENCE
    while outlet.consumers != 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    (slow,) = outlet.receivers
    assert slow.lost == outlet.lost > 0 and str(stalled.process.pid) in slow.name
    stalled.go_on(pushed - outlet.lost)
    count, in_order, first, last, _ = stalled.said().split()
    assert (int(count), in_order, int(first), int(last)) == (pushed - outlet.lost, "True", 0, pushed - 1)
