"""Measures the Python package beside pylsl, mne-lsl and pyxdf: worker.py STEP SCALE FOLDER

Prints a line of JSON per figure. Every ratio is of pairs that were measured in turns; a control has the same on both sides.
"""

import asyncio
import gc
import json
import multiprocessing
import os
import pathlib
import random
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

STEP, SCALE, FOLDER = sys.argv[1], float(sys.argv[2]), pathlib.Path(sys.argv[3])
# A corner of the network of its own, for every library.
CONFIGURATION = FOLDER / "python-lsl_api.cfg"
if "LSLAPICFG" not in os.environ:
    CONFIGURATION.write_text(
        f"[log]\nlevel=-2\n[multicast]\nResolveScope=machine\n[ports]\nIPv6=disable\n[lab]\nSessionID=bench-{uuid.uuid4()}\n"
    )
    os.environ |= {"LSLAPICFG": str(CONFIGURATION), "SCHWANN_KEYS": str(FOLDER / "no-keys")}

import schwann  # noqa: E402

PATIENCE = 60.0
# Between two pushes of `loop`.
PAUSE = 0.005


def figure(name: str, unit: str, samples: list[float], criterion: str = "") -> None:
    print(json.dumps({"name": name, "unit": unit, "samples": samples, "criterion": criterion}), flush=True)


def timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def rounds(full: int, least: int) -> int:
    return max(least, round(full * SCALE))


class Receivers:
    """Inlets of every library on one stream: how to ask how much has arrived, and how to pull."""

    def __init__(self, outlet: schwann.Outlet) -> None:
        import pylsl

        found = schwann.resolve(name=outlet.info.name, timeout=PATIENCE)[0]
        self.ours = found.open(clock="sender", timeout=PATIENCE)
        theirs = pylsl.resolve_byprop("name", outlet.info.name, timeout=PATIENCE)[0]
        self.pylsl = [pylsl.StreamInlet(theirs, as_numpy=True) for _ in range(2)]
        for inlet in self.pylsl:
            inlet.open_stream(PATIENCE)
        self.mne = self._mne(outlet.info.name)
        outlet.wait_for_consumers(4 if self.mne else 3, PATIENCE)

    @staticmethod
    def _mne(name: str) -> Any:
        try:
            from mne_lsl.lsl import StreamInlet, resolve_streams
        except ImportError:
            return None
        inlet = StreamInlet(resolve_streams(timeout=10, name=name, minimum=1)[0])
        inlet.open_stream(PATIENCE)
        return inlet

    def wait(self, count: int) -> None:
        def have() -> list[int]:
            there = [self.ours.waiting, *(inlet.samples_available() for inlet in self.pylsl)]
            return [*there, self.mne.samples_available] if self.mne else there

        deadline = time.monotonic() + PATIENCE
        while min(have()) < count:
            assert time.monotonic() < deadline, f"only {have()} of {count} samples arrived"
            time.sleep(0.001)


def chunks() -> None:
    """A chunk of 1,000 samples × 64 channels that has arrived, into an array."""
    values = np.random.default_rng(1).normal(size=(1000, 64)).astype(np.float32)
    with schwann.Outlet(f"Chunks {uuid.uuid4()}", "EEG", 64, rate=1000.0) as outlet:
        receivers = Receivers(outlet)
        took: dict[str, list[float]] = {"ours": [], "pylsl": [], "pylsl again": [], "mne-lsl": [], "a bare copy": []}
        source = np.empty_like(values)
        pulls: dict[str, Callable[[], Any]] = {
            "ours": lambda: receivers.ours.pull(1000, PATIENCE).data,
            "pylsl": lambda: receivers.pylsl[0].pull_chunk(PATIENCE, 1000)[0],
            "pylsl again": lambda: receivers.pylsl[1].pull_chunk(PATIENCE, 1000)[0],
            "mne-lsl": lambda: receivers.mne.pull_chunk(timeout=PATIENCE, max_samples=1000)[0],
            "a bare copy": source.copy,
        }
        if receivers.mne is None:
            del pulls["mne-lsl"], took["mne-lsl"]
        # What came before leaves its memory in the processor's caches. So no library may always follow the same one.
        order = random.Random(1)
        for _ in range(rounds(400, 40)):
            np.copyto(source, values)
            outlet.push(values)
            receivers.wait(1000)
            for name in order.sample(list(pulls), len(pulls)):
                got: list[Any] = []
                took[name].append(timed(lambda name=name: got.append(pulls[name]())))  # type: ignore[misc]
                assert np.array_equal(got[0], values), name
        for name, seconds in took.items():
            figure(f"1,000 × 64 float32, {name}", "µs", [1e6 * one for one in seconds])
        ratio("1,000 × 64, ours / pylsl as_numpy", took["ours"], took["pylsl"], "<= 0.2")
        if "mne-lsl" in took:
            ratio("1,000 × 64, ours / mne-lsl", took["ours"], took["mne-lsl"], "<= 0.2")
        ratio("1,000 × 64, a bare copy / pylsl as_numpy", took["a bare copy"], took["pylsl"])
        ratio("1,000 × 64, pylsl / pylsl (A/A)", took["pylsl"], took["pylsl again"])
        receivers.ours.close()


def ratio(name: str, ours: list[float], theirs: list[float], criterion: str = "") -> None:
    """Of medians of a tenth of the rounds each, so that there are ten figures."""
    parts = 10
    pairs = zip(np.array_split(ours, parts), np.array_split(theirs, parts))
    figure(name, "x", [float(np.median(one) / np.median(other)) for one, other in pairs], criterion)


def singles() -> None:
    """Samples of 8 channels that came one by one: as many pulls in pylsl, what has arrived with ours."""
    count = 2000
    with schwann.Outlet(f"Singles {uuid.uuid4()}", "EEG", 8, rate=1000.0) as outlet:
        receivers = Receivers(outlet)
        took: dict[str, list[float]] = {"ours": [], "ours, each": [], "pylsl": [], "pylsl again": []}
        for _ in range(rounds(40, 10)):
            for name in took:
                for value in range(count):
                    outlet.push([float(value)] * 8)
                receivers.wait(count)
                drained = [receivers.ours, *receivers.pylsl]
                if name == "ours":
                    took[name].append(timed(lambda: receivers.ours.pull(count, PATIENCE)))
                elif name == "ours, each":
                    took[name].append(timed(lambda: [receivers.ours.pull(1, PATIENCE) for _ in range(count)]))
                else:
                    inlet = receivers.pylsl[name == "pylsl again"]
                    took[name].append(timed(lambda inlet=inlet: [inlet.pull_sample(PATIENCE) for _ in range(count)]))  # type: ignore[misc]
                for inlet in drained:
                    inlet.flush()
                if receivers.mne:
                    receivers.mne.flush()
        for name, seconds in took.items():
            figure(f"single samples of 8 channels, {name}", "samples/s", [count / one for one in seconds])
        ratio("single samples, speed of ours / pylsl", took["pylsl"], took["ours"], ">= 5")
        ratio("single samples, speed of ours one by one / pylsl", took["pylsl"], took["ours, each"])
        ratio("single samples, pylsl / pylsl (A/A)", took["pylsl"], took["pylsl again"])
        receivers.ours.close()


def filters() -> None:
    """Two streams at once through a filter, each in a thread of its own, beside one. Two processes in the same round say what
    the machine allows."""
    data = np.random.default_rng(1).normal(size=(2000, 64))
    passes = 200

    def work() -> None:
        own = schwann.Filter.notch(50.0, 1000.0, 64)
        for _ in range(passes):
            own(data)

    def together(kind: Callable[..., Any], count: int) -> float:
        workers = [kind(target=work) for _ in range(count)]
        return timed(lambda: [worker.start() for worker in workers] and [worker.join() for worker in workers])

    process = multiprocessing.get_context("fork").Process
    cases = {"one": (threading.Thread, 1), "again": (threading.Thread, 1), "two": (threading.Thread, 2), "alone": (process, 1), "apart": (process, 2)}
    took: dict[str, list[float]] = {name: [] for name in cases}
    order = random.Random(1)
    for _ in range(rounds(150, 10)):
        for name in order.sample(list(cases), len(cases)):
            took[name].append(together(*cases[name]))
    ratio("two streams with a filter / one", took["two"], took["one"], "<= 1.1")
    ratio("two processes with a filter / one (what the machine allows)", took["apart"], took["alone"])
    ratio("two streams with a filter / two processes", took["two"], took["apart"], "<= 1.1")
    ratio("one stream with a filter / one (A/A)", took["again"], took["one"])


def send() -> None:
    """The other end of `loop`: outlets that push one after the other, in a process of their own."""
    count, seconds = int(sys.argv[4]), float(sys.argv[5])
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    outlets = [schwann.Outlet(f"{number}", "Wake", source_id=f"wake-{number}") for number in range(count)]
    for outlet in outlets:
        outlet.wait_for_consumers(1, PATIENCE)
    print("connected", flush=True)
    began = time.monotonic()
    number = 0
    while time.monotonic() - began < seconds:
        outlets[number % count].push(1.0)
        number += 1
        time.sleep(max(0.0, began + number * PAUSE - time.monotonic()))
    sys.stdin.readline()


def sender(count: int, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "send", "1", str(FOLDER), str(count), str(seconds)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def loop() -> None:
    """The time from the push of a sample to the line behind the wait for it: with a blocking pull, with 200 streams in
    one event loop, and with as many bare sockets. Each round has an order of its own, so a burst of other work spoils one."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    seconds, order = max(2.0, 5.0 * SCALE), random.Random(1)
    cases: dict[str, Callable[[], list[float]]] = {
        "a blocking pull": lambda: one_blocking(seconds),
        "another blocking pull": lambda: one_blocking(seconds),
        "200 streams in a loop": lambda: many_in_a_loop(200, seconds),
        "200 bare sockets in a loop": lambda: bare_in_a_loop(200, seconds),
    }
    p99: dict[str, list[float]] = {name: [] for name in cases}
    median: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds(6, 1)):
        for name in order.sample(list(cases), len(cases)):
            latencies = cases[name]()
            p99[name].append(1e6 * float(np.quantile(latencies, 0.99)))
            median[name].append(1e6 * float(np.median(latencies)))
    for name in ("a blocking pull", "200 streams in a loop"):
        figure(f"wake, {name}, median", "µs", median[name])
        figure(f"wake, {name}, p99", "µs", p99[name])

    def against(name: str) -> list[float]:
        return [one / other for one, other in zip(p99[name], p99["a blocking pull"])]

    figure("wake, p99 of 200 streams in a loop / of a blocking pull", "x", against("200 streams in a loop"), "<= 2")
    sockets = against("200 bare sockets in a loop")
    figure("wake, p99 of 200 bare sockets in a loop / of a blocking pull (what asyncio allows)", "x", sockets)
    figure("wake, p99 of a blocking pull / of another (A/A)", "x", against("another blocking pull"))


def one_blocking(seconds: float) -> list[float]:
    with sender(1, seconds) as other:
        stream = schwann.resolve(type="Wake", timeout=PATIENCE)[0].open(clock="sender", timeout=PATIENCE)
        latencies: list[float] = []
        while True:
            chunk = stream.pull(1, 1.0)
            now = schwann.local_clock()
            if not len(chunk):
                break
            latencies.append(now - float(chunk.times[0]))
        stream.close()
        other.communicate("end\n")
    return latencies


def many_in_a_loop(count: int, seconds: float) -> list[float]:
    latencies: list[float] = []

    async def receive(stream: schwann.Stream) -> None:
        async for chunk in stream.chunks():
            now = schwann.local_clock()
            latencies.extend(now - chunk.times)

    async def main() -> None:
        streams = [info.open(clock="sender", timeout=PATIENCE) for info in schwann.resolve(type="Wake", count=count, timeout=PATIENCE)]
        assert len(streams) == count
        threads = threading.active_count()
        tasks = [asyncio.create_task(receive(stream)) for stream in streams]
        await asyncio.sleep(seconds + 1.0)
        assert threading.active_count() == threads
        for stream in streams:
            stream.close()
        await asyncio.gather(*tasks)

    with sender(count, seconds) as other:
        asyncio.run(main())
        other.communicate("end\n")
    return latencies


def bare_in_a_loop(count: int, seconds: float) -> list[float]:
    """The same with sockets of the system and nothing of ours."""
    pairs = [socket.socketpair() for _ in range(count)]
    latencies: list[float] = []

    def readable(end: socket.socket) -> None:
        latencies.append(time.monotonic() - struct.unpack("d", end.recv(8))[0])

    def push() -> None:
        began = time.monotonic()
        for number in range(round(seconds / PAUSE)):
            pairs[number % count][0].send(struct.pack("d", time.monotonic()))
            time.sleep(max(0.0, began + (number + 1) * PAUSE - time.monotonic()))

    async def main() -> None:
        for _, end in pairs:
            asyncio.get_running_loop().add_reader(end.fileno(), readable, end)
        other = multiprocessing.get_context("fork").Process(target=push)
        other.start()
        await asyncio.sleep(seconds + 1.0)
        other.join()

    asyncio.run(main())
    for pair in pairs:
        for end in pair:
            end.close()
    return latencies


def recordings() -> None:
    """A recording of many short chunks, and one of long ones, read by pyxdf and by us in turns."""
    size = max(32, round(1024 * SCALE))
    for name, rows, criterion in [("short", 4, ">= 10"), ("long", 1000, ">= 4")]:
        path = FOLDER / f"{name}.xdf"
        recording(path, rows, size << 20)
        ours, theirs, again, memory = [], [], [], []
        for _ in range(rounds(3, 2)):
            for program, seconds in [("ours", ours), ("pyxdf", theirs), ("ours", again)]:
                read = [sys.executable, __file__, "read", "1", str(FOLDER), str(path), program]
                said = json.loads(subprocess.run(read, check=True, capture_output=True, text=True).stdout)
                seconds.append(said["seconds"])
                if program == "ours":
                    memory.append(said["memory"])
        figure(f"{size} MiB of {name} chunks, ours", "s", ours)
        figure(f"{size} MiB of {name} chunks, pyxdf", "s", theirs)
        figure(f"{name} chunks, speed of ours / pyxdf", "x", [b / a for a, b in zip(ours, theirs)], criterion)
        figure(f"{name} chunks, peak of memory / arrays", "x", memory, "<= 1.2")
        figure(f"{name} chunks, ours / ours (A/A)", "x", [b / a for a, b in zip(ours, again)])
        path.unlink()


def read() -> None:
    """One reading in a process of its own: seconds, and the growth of its memory beside the arrays."""
    path, program = sys.argv[4:6]
    if program == "pyxdf":
        import pyxdf

        took = timed(lambda: pyxdf.load_xdf(path))
        print(json.dumps({"seconds": took, "memory": 0.0}))
        return
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    got: list[schwann.Recording] = []
    took = timed(lambda: got.append(schwann.read_xdf(path)))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    arrays = sum(stream.data.nbytes + stream.times.nbytes for stream in got[0])
    print(json.dumps({"seconds": took, "memory": grown / arrays}))


def recording(path: pathlib.Path, rows: int, size: int) -> None:
    """64 channels of float32 at 1 kHz. Each chunk has a stamp at its head, and a clock offset comes
    every 5 seconds."""
    values = np.random.default_rng(1).normal(size=(rows, 64)).astype("<f4")
    body = np.zeros(rows, [("tag", "u1"), ("values", "<f4", 64)])
    body["values"] = values
    chunk_length = 4 + 1 + 4 + 8 + body.nbytes
    xml = (
        "<?xml version='1.0'?><info><name>Big</name><type>EEG</type><channel_count>64</channel_count>"
        "<nominal_srate>1000</nominal_srate><channel_format>float32</channel_format><created_at>0</created_at></info>"
    ).encode()

    def chunk(tag: int, content: bytes) -> bytes:
        return b"\x04" + struct.pack("<IH", len(content) + 2, tag) + content

    rest = body.tobytes()[1:]
    with path.open("wb") as out:
        out.write(b"XDF:" + chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>"))
        out.write(chunk(2, struct.pack("<I", 1) + xml))
        for number in range(max(1, size // chunk_length)):
            moment = number * rows / 1000
            content = struct.pack("<IBI", 1, 4, rows) + b"\x08" + struct.pack("<d", moment) + rest
            out.write(chunk(3, content))
            if number % max(1, 5000 // rows) == 0:
                out.write(chunk(4, struct.pack("<Idd", 1, moment, 0.001)))


STEPS: dict[str, Callable[[], None]] = {
    "chunks": chunks,
    "singles": singles,
    "filters": filters,
    "loop": loop,
    "recordings": recordings,
    "send": send,
    "read": read,
}
STEPS[STEP]()
