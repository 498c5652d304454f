"""Receives several streams in one event loop, without a thread for each: many.py [SECONDS]"""

import asyncio
import sys

import schwann


async def count(info: schwann.StreamInfo, seconds: float) -> None:
    samples = 0
    with info.open() as stream:
        # A program that waits in `async for` goes on when the stream is closed.
        asyncio.get_running_loop().call_later(seconds, stream.close)
        async for chunk in stream.chunks():
            samples += len(chunk)
    print(f"{info.name}: {samples} samples in {seconds:g} s")


async def main(seconds: float) -> None:
    found = schwann.resolve(count=0, timeout=2)
    await asyncio.gather(*(count(info, seconds) for info in found))


asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0))
