"""Waiting for many streams in one thread: by an event loop, or without one."""

from __future__ import annotations

import asyncio
import math
import select
import selectors
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import _schwann
from ._errors import Error

_AGAIN = 1.0
"""Seconds after which a stream without a connection is looked at in any case."""


def wait_for_any(natives: Iterable[_schwann.Inlet], bell: _schwann.Bell, timeout: float | None) -> None:
    """Waits until one of the streams may have samples, or something else has happened to it."""
    bell.clear()
    sources: list[Any] = [bell]
    for native in natives:
        is_ready, readable = native.watch(bell)
        if is_ready:
            return
        if readable is not None:
            sources.append(readable)
    # On Windows, Ctrl-C does not end this wait, and is seen between two.
    looks_again = len(sources) == 1 or sys.platform == "win32"
    left = _AGAIN if looks_again else timeout
    if left is not None and timeout is not None:
        left = min(left, timeout)
    with selectors.DefaultSelector() as selector:
        for source in sources:
            selector.register(source.fileno(), selectors.EVENT_READ)
        selector.select(left)


class Hub:
    """What the streams of one event loop share: the bell, and who waits for which descriptor."""

    _of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._bell = _schwann.Bell()
        self._waits: dict[int, list[asyncio.Future[None]]] = {}
        # Each wait, its streams, and their descriptors. They are kept, so no descriptor is closed and reused during the
        # wait.
        self._listening: dict[asyncio.Future[None], tuple[Sequence[_schwann.Inlet], Sequence[_schwann.Readable | None]]] = {}
        self._readers: _Readers = _LoopsOwn(loop)
        try:
            self._readers.add(self._bell.fileno(), self._rung)
        except NotImplementedError:
            # The proactor of Windows waits for no readiness: one thread does it for all streams of the loop.
            self._readers = _OneThread(loop)
            self._readers.add(self._bell.fileno(), self._rung)

    @classmethod
    def of_running_loop(cls) -> Hub:
        """The hub of the running loop; made at the first call."""
        loop = asyncio.get_running_loop()
        hub = cls._of_loops.get(loop)
        if hub is None:
            hub = cls._of_loops[loop] = cls(loop)
        return hub

    async def wait(self, natives: Sequence[_schwann.Inlet], timeout: float | None = None) -> None:
        """Returns once a pull of one of the streams may find samples, or after `timeout` seconds. Or says why none will
        come."""
        readables: list[_schwann.Readable | None] = []
        for native in natives:
            is_ready, readable = native.watch(self._bell)
            if is_ready:
                return
            readables.append(readable)
        if None in readables:
            timeout = min(_AGAIN, math.inf if timeout is None else timeout)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._listening[future] = natives, readables
        timer = None if timeout is None else loop.call_later(timeout, _done, future)
        numbers = _numbers(readables)
        for number in numbers:
            self._begin(number, future)
        try:
            await future
        finally:
            if timer is not None:
                timer.cancel()
            for number in numbers:
                self._end(number, future)
            del self._listening[future]

    def _begin(self, number: int, future: asyncio.Future[None]) -> None:
        waits = self._waits.setdefault(number, [])
        waits.append(future)
        if len(waits) == 1:
            self._readers.add(number, self._wake, number)

    def _end(self, number: int, future: asyncio.Future[None]) -> None:
        waits = self._waits[number]
        waits.remove(future)
        if not waits:
            del self._waits[number]
            self._readers.remove(number)

    def _wake(self, number: int) -> None:
        for future in self._waits.get(number, ()):
            _done(future)

    def _rung(self) -> None:
        """Something has happened to one of the streams. Looks which, as waking all of many for each would take up the
        loop."""
        self._bell.clear()
        for future, (natives, readables) in self._listening.items():
            if not future.done() and self._has_changed(natives, readables):
                _done(future)

    def _has_changed(self, natives: Sequence[_schwann.Inlet], readables: Sequence[_schwann.Readable | None]) -> bool:
        try:
            watches = [native.watch(self._bell) for native in natives]
        except Error:
            # What is wrong, the next pull says.
            return True
        return any(is_ready for is_ready, _ in watches) or _numbers(readable for _, readable in watches) != _numbers(readables)


def _numbers(readables: Iterable[_schwann.Readable | None]) -> list[int]:
    return [readable.fileno() for readable in readables if readable is not None]


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Readers:
    """Calls back in the loop's thread as long as a descriptor can be read."""

    def add(self, number: int, call: Callable[..., None], *arguments: Any) -> None:
        raise NotImplementedError

    def remove(self, number: int) -> None:
        raise NotImplementedError


class _LoopsOwn(_Readers):
    """By the loop itself."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # The loop owns the hub, by what it calls back.
        self._loop = weakref.ref(loop)

    def add(self, number: int, call: Callable[..., None], *arguments: Any) -> None:
        loop = self._loop()
        if loop is not None:
            loop.add_reader(number, call, *arguments)

    def remove(self, number: int) -> None:
        loop = self._loop()
        if loop is not None and not loop.is_closed():
            loop.remove_reader(number)


class _OneThread(_Readers):
    """A thread waits for all descriptors of the loop, for loops that cannot wait for them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._calls: dict[int, tuple[Callable[..., None], tuple[Any, ...]]] = {}
        self._lock = threading.Lock()
        # Rung by the loop's thread when there is something else to wait for.
        self._changed = _schwann.Bell()
        threading.Thread(target=self._run, name="schwann-asyncio", daemon=True).start()

    def add(self, number: int, call: Callable[..., None], *arguments: Any) -> None:
        with self._lock:
            self._calls[number] = (call, arguments)
        self._changed.ring()

    def remove(self, number: int) -> None:
        with self._lock:
            self._calls.pop(number, None)
        self._changed.ring()

    def _run(self) -> None:
        while True:
            self._changed.clear()
            with self._lock:
                numbers = list(self._calls)
            loop = self._loop()
            if loop is None or loop.is_closed():
                return
            del loop
            try:
                readable, _, _ = select.select([self._changed.fileno(), *numbers], [], [], _AGAIN)
            except (OSError, ValueError):
                # One of them was closed just now, and is no longer in the list.
                time.sleep(0.001)
                continue
            self._call(readable)

    def _call(self, readable: list[int]) -> None:
        loop = self._loop()
        for number in readable:
            with self._lock:
                # Once: it is asked for again when it was dealt with.
                found = self._calls.get(number)
            if found is None or loop is None:
                continue
            done = threading.Event()
            try:
                loop.call_soon_threadsafe(_call_and_tell, found, done)
            except RuntimeError:
                return
            # Level-triggered: the descriptor is readable until the loop has dealt with it.
            done.wait(_AGAIN)


def _call_and_tell(found: tuple[Callable[..., None], tuple[Any, ...]], done: threading.Event) -> None:
    try:
        call, arguments = found
        call(*arguments)
    finally:
        done.set()
