"""What an open stream costs in threads: the engine's, and none of this package's."""

import asyncio
import pathlib
import threading
import time
import uuid
from collections import Counter

import pytest

import schwann
from conftest import PATIENCE


def running() -> Counter[str]:
    """The threads of this process by the names that the system knows."""
    found: Counter[str] = Counter()
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            found[(task / "comm").read_text().strip()] += 1
        except OSError:
            # It ended just now.
            continue
    return found


def without_searches() -> Counter[str]:
    """The threads of this process once those of searches and of closed streams have ended, which they do a moment later."""
    deadline = time.monotonic() + PATIENCE
    while (found := running()).keys() & {"lsl-inlet", "lsl-clock", "lsl-resolver", "lsl-silence"} and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("count", [1, 50])
@pytest.mark.parametrize(("clock", "names"), [("local", ["lsl-inlet", "lsl-clock"]), ("sender", ["lsl-inlet"])])
def test_a_stream_has_the_engines_threads_and_no_other(count: int, clock: str, names: list[str]) -> None:
    with schwann.Outlet(f"Threads {uuid.uuid4()}", "EEG", source_id=str(uuid.uuid4())) as outlet:
        info = schwann.resolve(name=outlet.info.name, timeout=PATIENCE)[0]
        before, pythons = without_searches(), threading.active_count()
        streams = [info.open(timeout=PATIENCE, clock=clock) for _ in range(count)]  # type: ignore[arg-type]
        wanted = Counter({name: count for name in names})

        async def receive(stream: schwann.Stream, samples: int) -> None:
            async for chunk in stream.chunks():
                samples -= len(chunk)
                if samples == 0:
                    return

        async def main() -> None:
            assert outlet.wait_for_consumers(count, PATIENCE)
            outlet.push(1.0)
            await asyncio.gather(*(receive(stream, 1) for stream in streams))
            # Once more, with threads looked at while every stream is waited for.
            waiting = [asyncio.create_task(receive(stream, 1)) for stream in streams]
            await asyncio.sleep(0)
            assert running() - before == wanted and threading.active_count() == pythons
            outlet.push(2.0)
            await asyncio.gather(*waiting)

        try:
            asyncio.run(asyncio.wait_for(main(), PATIENCE))
        finally:
            for stream in streams:
                stream.close()
        assert without_searches() - before == Counter()
