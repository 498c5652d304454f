"""A corner of the network of their own for the tests, and what several of them share."""

import os
import pathlib
import signal
import tempfile
import threading
import types
import uuid
from collections.abc import Callable, Iterator

import pytest

# Before anything loads a configuration, ours or liblsl's. Each worker has ports of its own: where an outlet has gone, an
# inlet must not meet that of another worker or check.
FOLDER = pathlib.Path(tempfile.mkdtemp())
BASE_PORT = 17000 + 100 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
(FOLDER / "lsl_api.cfg").write_text(
    f"[log]\nlevel=-2\n[multicast]\nResolveScope=machine\n[ports]\nBasePort={BASE_PORT}\nIPv6=disable\n[lab]\nSessionID=python-{uuid.uuid4()}\n"
)
os.environ |= {"LSLAPICFG": str(FOLDER / "lsl_api.cfg"), "SCHWANN_KEYS": str(FOLDER / "keys"), "HOME": str(FOLDER)}

import schwann

PATIENCE = 30.0
"""Seconds after which a test gives up; one that passes never waits for it."""

Connect = Callable[..., tuple[schwann.Outlet, schwann.Stream]]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes an outlet of these arguments, and a stream of it with the options in `open`."""
    made: list[schwann.Outlet | schwann.Stream] = []

    def connected(*arguments: object, open: dict[str, object] | None = None, **options: object) -> tuple[schwann.Outlet, schwann.Stream]:
        outlet = schwann.Outlet(f"Test {uuid.uuid4()}", *arguments, **options)  # type: ignore[arg-type]
        made.append(outlet)
        stream = schwann.resolve(name=outlet.info.name, timeout=PATIENCE)[0].open(**{"timeout": PATIENCE, "clock": "sender"} | (open or {}))  # type: ignore[arg-type]
        made.append(stream)
        return outlet, stream

    yield connected
    for one in made:
        one.close()


class Interrupted(Exception):
    """Raised by the handler of a signal."""


@pytest.fixture
def interrupt() -> Iterator[Callable[[], None]]:
    """Has a signal come a moment later; only a call that looks for signals ends by it."""

    def handler(number: int, frame: types.FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, handler)
    timers: list[threading.Timer] = []

    def soon() -> None:
        timers.append(threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)))
        timers[-1].start()

    yield soon
    for timer in timers:
        timer.cancel()
        timer.join()
    signal.signal(signal.SIGUSR1, before)
