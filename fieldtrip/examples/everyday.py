#!/usr/bin/env python3
"""Compares builds of the example `everyday`: one writer at a device's rate, readers that wait and get.

    everyday.py SECONDS RESTARTS KIND-READERS-CHANNELSxRATExSAMPLES NAME=PROGRAM NAME=PROGRAM ...

KIND is tcp or unix (server, writer and each reader are processes), embed or memory. With embed the
writer is in the server's process, and readers come over TCP. With memory all are in one process.
Name the first program twice: a gain below its difference from itself is not resolved. All builds
run at once, each with its own server, in slots of the block's interval. A gain is that of the first
build over another, in percent of the other's figure. Its 95 % bootstrap interval is over the
restarts.
"""
import os
import random
import statistics
import subprocess
import sys
import time

UNCOUNTED = 20  # blocks of a restart, until everything is warm


def start(program, *words):
    words = [program, *map(str, words)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def finish(process):
    """Processor seconds, and times in microseconds, a list for each writer and reader."""
    lines = process.communicate("x")[0].splitlines()
    if process.returncode != 0:
        sys.exit(f"{process.args} failed")
    return float(lines[0]), [[int(word) / 1e3 for word in line.split()] for line in lines[1:]]


def start_all(kind, readers, program, series, path):
    """Processes in the order server, writer, readers; none where the writer is in the server's process."""
    if kind == "memory":
        processes = [start(program, kind, readers, *series)]
        processes[0].stdout.readline()
        return processes
    place = path if kind == "unix" else "127.0.0.1:0"
    server = start(program, *(("embed", place, *series) if kind == "embed" else ("serve", place)))
    address = server.stdout.readline().strip()
    processes = [server]
    for role in ["write"] * (kind != "embed") + ["read"] * readers:
        processes.append(start(program, role, address, *series))
        processes[-1].stdout.readline()
    return processes


def restart(cell, builds, seconds):
    """What each build showed: p50 and p99 from put to got, p50 of a put, processor time; in microseconds."""
    kind, readers, channels, samples, period = cell
    blocks = UNCOUNTED + int(seconds * 1e9 / period)
    first = time.monotonic_ns() + 300_000_000 + 20_000_000 * len(builds) * readers
    running = {}
    for slot, name in enumerate(random.sample(list(builds), len(builds))):
        series = (channels, samples, period, first + slot * period // len(builds), blocks)
        running[name] = start_all(kind, readers, builds[name], series, f"/tmp/everyday-{os.getpid()}-{slot}")
    figures = {}
    for name, processes in running.items():
        # Readers end first: the server waits for its word.
        ends = [finish(process) for process in reversed(processes)][::-1]
        times = [one for _, lists in ends for one in lists]
        got = sorted(value for one in times[1:] for value in one[UNCOUNTED:])
        figures[name] = (
            statistics.median(got),
            got[len(got) * 99 // 100],
            statistics.median(times[0][UNCOUNTED:]),
            sum(cpu for cpu, _ in ends) / blocks * 1e6,
        )
    return figures


def gain(ours, theirs):
    gains = [100 * (1 - our / their) for our, their in zip(ours, theirs)]
    draws = sorted(statistics.median(random.choices(gains, k=len(gains))) for _ in range(2000))
    return f"{statistics.median(gains):+.1f} ({draws[50]:+.1f} to {draws[1949]:+.1f})"


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    seconds, restarts, (kind, readers, shape) = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split("-")
    channels, rate, samples = map(int, shape.split("x"))
    cell = (kind, int(readers), channels, samples, samples * 10**9 // rate)
    builds = dict(word.split("=", 1) for word in sys.argv[4:])
    runs = [restart(cell, builds, seconds) for _ in range(restarts)]
    base = next(iter(builds))
    for name in builds:
        print(name)
        for index, what in enumerate(["put to got, p50", "put to got, p99", "put, p50", "processor time a block"]):
            ours, theirs = [run[base][index] for run in runs], [run[name][index] for run in runs]
            print(f"  {what:24} {statistics.median(theirs):8.1f} us   gain of {base}: {gain(ours, theirs)} %")


if __name__ == "__main__":
    main()
