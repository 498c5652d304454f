"""Event loops: many streams, no thread for each."""

import asyncio
import gc
import os
import threading
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import pytest

import schwann
from conftest import PATIENCE, Connect
from schwann import _waiting


class Proactor(asyncio.SelectorEventLoop):
    """A loop that cannot wait for descriptors, like Windows' own."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:
        # The loop's own waker is registered by a method without the underscore's check.
        raise NotImplementedError


def run_in(make_loop: Callable[[], asyncio.AbstractEventLoop], main: Coroutine[Any, Any, None]) -> None:
    loop = make_loop()
    try:
        loop.run_until_complete(asyncio.wait_for(main, PATIENCE))
    finally:
        loop.close()


LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop, Proactor]


@pytest.mark.parametrize("make_loop", LOOPS)
def test_chunks_come_in_an_event_loop(connect: Connect, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    outlet, stream = connect("EEG", 2, rate=100.0)

    async def main() -> None:
        async def push() -> None:
            for number in range(20):
                outlet.push([number, -number])
                await asyncio.sleep(0.002)

        pushing = asyncio.create_task(push())
        got: list[float] = []
        async for chunk in stream.chunks():
            got += chunk.data[:, 0].tolist()
            if len(got) == 20:
                break
        assert got == list(range(20))
        await pushing

    run_in(make_loop, main())


@pytest.mark.parametrize("make_loop", LOOPS)
def test_chunks_of_a_length_are_whole(connect: Connect, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    outlet, stream = connect("EEG", 1, rate=100.0)

    async def main() -> None:
        chunks = stream.chunks(count=7)
        waits = asyncio.create_task(chunks.__anext__())
        for number in range(14):
            outlet.push(float(number))
            await asyncio.sleep(0.001)
        assert (await waits).data.ravel().tolist() == list(range(7))
        assert (await chunks.__anext__()).data.ravel().tolist() == list(range(7, 14))

    run_in(make_loop, main())


def test_a_wait_that_is_cancelled_loses_nothing(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)

    async def main() -> None:
        chunks = stream.chunks(count=4)
        for number in range(6):
            outlet.push(float(number))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_never(chunks, number), 0.02)
        outlet.push([6.0, 7.0])
        got: list[float] = []
        while len(got) < 8:
            got += (await chunks.__anext__()).data.ravel().tolist()
        assert got == list(range(8))

    async def _never(chunks: schwann.Chunks, number: int) -> None:
        # Cancelled in the middle of a chunk of four: the fourth sample is not requested.
        if number < 3:
            await chunks.__anext__()
        await asyncio.sleep(PATIENCE)

    run_in(asyncio.new_event_loop, main())


def test_two_hundred_streams_need_no_thread_of_their_own() -> None:
    count, each = 200, 8
    # An outlet has several descriptors, and many systems permit 1,024.
    kind = f"Many {uuid.uuid4()}"
    outlets = [schwann.Outlet(f"{number}", kind, source_id=f"many-{number}") for number in range(count // each)]
    found = schwann.resolve(type=kind, count=len(outlets), timeout=PATIENCE)
    streams = [info.open(timeout=PATIENCE, clock="sender") for info in found for _ in range(each)]
    for outlet in outlets:
        assert outlet.wait_for_consumers(each, PATIENCE)
    before = threading.active_count()
    threads = len(os.listdir("/proc/self/task"))
    got: dict[int, list[float]] = {number: [] for number in range(count)}

    async def receive(number: int) -> None:
        async for chunk in streams[number].chunks():
            got[number] += chunk.data.ravel().tolist()
            if len(got[number]) >= 3:
                return

    async def main() -> None:
        receiving = [asyncio.create_task(receive(number)) for number in range(count)]
        for value in range(3):
            await asyncio.sleep(0.01)
            for outlet in outlets:
                outlet.push(float(value))
        await asyncio.gather(*receiving)
        assert threading.active_count() == before and len(os.listdir("/proc/self/task")) <= threads

    try:
        run_in(asyncio.new_event_loop, main())
        assert all(values == [0.0, 1.0, 2.0] for values in got.values())
    finally:
        for one in [*streams, *outlets]:
            one.close()


def test_closing_ends_the_loop_and_a_loss_is_raised(connect: Connect) -> None:
    _, closed = connect("EEG", 1)
    outlet, lost = connect("EEG", 1, source_id="", open={"recover": False})

    async def main() -> None:
        async def receive(stream: schwann.Stream) -> int:
            return len([chunk async for chunk in stream.chunks()])

        waits = asyncio.create_task(receive(closed))
        other = asyncio.create_task(receive(lost))
        await asyncio.sleep(0.05)
        closed.close()
        assert await waits == 0
        outlet.push(1.0)
        outlet.close()
        with pytest.raises(schwann.LostError):
            await other

    run_in(asyncio.new_event_loop, main())


def test_a_stream_that_comes_back_goes_on(connect: Connect) -> None:
    source = f"comes-back-{uuid.uuid4()}"
    first = schwann.Outlet("Comes back", source_id=source)
    stream = schwann.resolve(source_id=source, timeout=PATIENCE)[0].open(timeout=PATIENCE, clock="sender")

    async def main() -> None:
        chunks = stream.chunks()
        waits = asyncio.create_task(chunks.__anext__())
        await asyncio.sleep(0.05)
        first.close()
        with schwann.Outlet("Comes back", source_id=source) as second:
            while not second.consumers:
                await asyncio.sleep(0.01)
            second.push(5.0)
            assert (await waits).data.tolist() == [[5.0]]

    try:
        run_in(asyncio.new_event_loop, main())
    finally:
        stream.close()


def test_times_on_this_clock_come_in_a_loop(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1, open={"clock": "local"})

    async def main() -> None:
        outlet.push(1.0)
        sent = schwann.local_clock()
        chunk = await stream.chunks().__anext__()
        assert abs(chunk.times[0] - sent) < 0.1

    run_in(asyncio.new_event_loop, main())


def test_what_the_inlet_took_in_itself_wakes_the_loop(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)

    async def main() -> None:
        waits = asyncio.create_task(stream.chunks(count=200).__anext__())
        await asyncio.sleep(0.05)
        for number in range(200):
            outlet.push(float(number))
        # The loop is blocked, and the inlet takes the samples in meanwhile.
        deadline = threading.Event()
        deadline.wait(0.3)
        assert (await waits).data.ravel().tolist() == list(range(200))

    run_in(asyncio.new_event_loop, main())


def test_loops_leave_nothing_behind(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)

    async def main() -> None:
        outlet.push(1.0)
        await stream.chunks().__anext__()

    for _ in range(3):
        run_in(asyncio.new_event_loop, main())
    gc.collect()
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(20):
        run_in(asyncio.new_event_loop, main())
    gc.collect()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    assert len(_waiting.Hub._of_loops) == 0


def test_merging_orders_by_time(connect: Connect) -> None:
    one, first = connect("EEG", 1, rate=100.0, open={"clock": "local"})
    other, second = connect("EMG", 2, rate=50.0, open={"clock": "local"})
    marks, third = connect("Markers", open={"clock": "local"})
    for stream in (first, second, third):
        stream.clock_offset(PATIENCE)
    now = schwann.local_clock()
    one.push(np.arange(4.0), times=now + np.array([0.00, 0.02, 0.04, 0.06]))
    other.push([[10.0, 0.0], [11.0, 0.0]], times=now + np.array([0.01, 0.05]))
    marks.push("go", times=now + 0.03)
    merge = schwann.merge(first, second, third, patience=0.3)
    got: list[Any] = []
    times: list[float] = []
    for stream, chunk in merge:
        got += [(stream.info.type, value) for value in chunk.data[:, 0].tolist()]
        times += chunk.times.tolist()
        if len(got) == 7:
            break
    assert got == [("EEG", 0.0), ("EMG", 10.0), ("EEG", 1.0), ("Markers", "go"), ("EEG", 2.0), ("EMG", 11.0), ("EEG", 3.0)]
    assert times == sorted(times) and merge.late == 0
    # What is later than the patience is delivered all the same, and counted.
    one.push(9.0, times=now - 1.0)
    assert next(merge).chunk.data.tolist() == [[9.0]] and merge.late == 1
    for stream in (first, second, third):
        stream.close()
    assert list(merge) == []


def test_merging_works_in_a_loop(connect: Connect) -> None:
    one, first = connect("EEG", 1, rate=100.0, open={"clock": "local"})
    other, second = connect("EEG", 1, rate=100.0, open={"clock": "local"})

    async def main() -> None:
        now = schwann.local_clock()
        one.push([1.0, 3.0], times=now + np.array([0.01, 0.03]))
        other.push([2.0, 4.0], times=now + np.array([0.02, 0.04]))
        got: list[float] = []
        async for merged in schwann.merge(first, second, patience=0.2):
            got += merged.chunk.data.ravel().tolist()
            if len(got) == 4:
                break
        assert got == [1.0, 2.0, 3.0, 4.0]

    run_in(asyncio.new_event_loop, main())


def test_a_loss_ends_a_merge_after_what_came_before(connect: Connect) -> None:
    one, first = connect("EEG", 1, open={"clock": "local"})

    def lose_another() -> tuple[schwann.Merge, list[float]]:
        other, second = connect("EEG", 1, source_id="", open={"clock": "local", "recover": False})
        second.clock_offset(PATIENCE)
        now = schwann.local_clock()
        one.push([1.0, 3.0], times=now + np.array([0.01, 0.03]))
        other.push([2.0, 4.0], times=now + np.array([0.02, 0.04]))
        while first.waiting < 2:
            pass
        other.close()
        return schwann.merge(first, second, patience=1e6), []

    async def main() -> None:
        merge, got = lose_another()
        with pytest.raises(schwann.LostError):
            async for merged in merge:
                got += merged.chunk.data.ravel().tolist()
        assert got == [1.0, 2.0, 3.0, 4.0]

    merge, got = lose_another()
    with pytest.raises(schwann.LostError):
        for merged in merge:
            got += merged.chunk.data.ravel().tolist()
    assert got == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(schwann.LostError):
        next(merge)
    run_in(asyncio.new_event_loop, main())


def test_what_cannot_be_merged_is_refused(connect: Connect) -> None:
    _, stream = connect("EEG", 1)
    with pytest.raises(schwann.ArgumentError, match="clock"):
        schwann.merge(stream)
    with pytest.raises(schwann.ArgumentError, match="give streams"):
        schwann.merge()
    with pytest.raises(schwann.ArgumentError, match="patience"):
        schwann.merge(stream, patience=float("nan"))
    _, local = connect("EEG", 1, open={"clock": "local"})
    with pytest.raises(schwann.ArgumentError, match="twice"):
        schwann.merge(local, local)


def test_what_happens_to_one_stream_wakes_no_other(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    (outlet, stream), (_, idle) = connect("EEG", 1, rate=100.0), connect("EEG", 1, rate=100.0)
    pulls = {stream: 0, idle: 0}
    pull = schwann.Stream.pull

    def counted(self: schwann.Stream, count: int | None = None, timeout: float | None = None) -> schwann.Chunk:
        pulls[self] += 1
        return pull(self, count, timeout)

    monkeypatch.setattr(schwann.Stream, "pull", counted)

    async def take(chunks: schwann.Chunks) -> None:
        await anext(chunks)

    async def main() -> None:
        waits = asyncio.create_task(take(idle.chunks()))
        hub = _waiting.Hub.of_running_loop()
        while not hub._listening:
            await asyncio.sleep(0)
        before = pulls[idle]
        for _ in range(20):
            hub._bell.ring()
            outlet.push([1.0])
            await take(stream.chunks())
        assert pulls[idle] == before
        waits.cancel()

    run_in(asyncio.new_event_loop, main())
