"""A line between two network namespaces with delay and loss, for kernels without netem: packets leave one through a tunnel device,
wait here, and enter the other.

`line.py NAMESPACE ADDRESS NAMESPACE ADDRESS DELAY_MS LOSS SEED CUT` carries packets until it is ended; while the file CUT exists, none.
Addresses are such as 10.97.1.1/24. It prints "carries" once it does, and at its end how many it carried and lost.
"""

import ctypes
import fcntl
import heapq
import os
import pathlib
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000
# Longer than a queue of a router would be, in packets.
QUEUE = 20_000


def enter(namespace: str) -> None:
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"no way into {namespace}")


def tunnel(namespace: str, address: str, number: int) -> int:
    """An end of the line, in a namespace."""
    enter(namespace)
    name = f"line{number}"
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    for words in (("addr", "add", address, "dev", name), ("link", "set", name, "mtu", "1400", "up")):
        subprocess.run(("ip", *words), check=True)
    return device


def carry(ends: list[int], delay: float, loss: float, seed: int, cut: pathlib.Path) -> None:
    chance, waiting, counted, number = random.Random(seed), [], [0, 0], 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"carried {counted[0]}, lost {counted[1]}"))
    print("carries", flush=True)
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
        for end in select.select(ends, [], [], left)[0]:
            packet = os.read(end, 65536)
            if chance.random() < loss or len(waiting) >= QUEUE or cut.exists():
                counted[1] += 1
                continue
            number += 1
            heapq.heappush(waiting, (time.monotonic() + delay, number, ends[end == ends[0]], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to, packet = heapq.heappop(waiting)
            counted[0] += 1
            os.write(to, packet)


def main() -> None:
    near, near_address, far, far_address, delay, loss, seed, cut = sys.argv[1:]
    ends = [tunnel(near, near_address, int(seed)), tunnel(far, far_address, int(seed))]
    carry(ends, float(delay) / 1000, float(loss), int(seed), pathlib.Path(cut))


if __name__ == "__main__":
    main()
