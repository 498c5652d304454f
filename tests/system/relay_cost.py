"""What the relay costs here: age of samples at the far end, processor at both ends, rate, catching up, many receivers.

It judges nothing but that every sample arrives.

Usage: relay_cost.py PROGRAM LIBRARY [WORD...]

RELAY_SECONDS says how long each measurement lasts, RELAY_CHANNELS how many channels `rate` has, and RELAY_RECEIVERS how many
receive in `fan-out`.
Everything runs on this computer, over loopback. The machine's load is beside each figure.
"""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, SCRATCH, Hub, Program, lab, run, wait_for  # noqa: E402

SECONDS = float(os.environ.get("RELAY_SECONDS", "30"))
CHANNELS = int(os.environ.get("RELAY_CHANNELS", "384"))
RECEIVERS = int(os.environ.get("RELAY_RECEIVERS", "200"))
SEND = r"""
import sys, time, numpy, pylsl
channels, rate, form, seconds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
chunk = max(1, rate // 1000)
outlet = pylsl.StreamOutlet(pylsl.StreamInfo("Cost", "EEG", channels, rate, form, "cost-source"))
values = numpy.zeros((chunk, channels), "int16" if form == "int16" else "float32")
print("ready", flush=True)
outlet.wait_for_consumers(60)
begin = pylsl.local_clock()
for first in range(0, int(seconds * rate), chunk):
    late = begin + (first + chunk) / rate - pylsl.local_clock()
    if late > 0:
        time.sleep(late)
    outlet.push_chunk(values, begin + (first + chunk - 1) / rate)
print("sent", int(seconds * rate), flush=True)
sys.stdin.read()
"""
RECEIVE = r"""
import json, sys, time, numpy, pylsl
rate, seconds = int(sys.argv[1]), float(sys.argv[2])
inlet = pylsl.StreamInlet(pylsl.resolve_byprop("name", "Cost", 1, 60)[0], max_buflen=30)
inlet.open_stream(20)
offset, ages, end = inlet.time_correction(20), [], time.monotonic() + seconds
time.sleep(0.5)
inlet.flush()
while time.monotonic() < end:
    # A chunk that may wait does so until it is full: it would age the samples that have come.
    _, first = inlet.pull_sample(0.2)
    if first is not None:
        stamps = [first, *inlet.pull_chunk(0.0, max_samples=rate)[1]]
        ages.append(pylsl.local_clock() - numpy.array(stamps) - offset)
ages = numpy.concatenate(ages)
print(json.dumps({"count": len(ages), "p50": float(numpy.quantile(ages, 0.5)) * 1e3, "p99": float(numpy.quantile(ages, 0.99)) * 1e3}))
"""


def processor(program: Program) -> float:
    """Seconds of processor that it took so far."""
    fields = pathlib.Path(f"/proc/{program.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(program: Program) -> float:
    """Resident memory in MB."""
    return int(pathlib.Path(f"/proc/{program.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def age() -> None:
    for block_ms in (20, 5):
        with lab() as (authority, a, b, _):
            hub = Hub(authority)
            inward = b.schwann("relay", "in", "--hub", hub.url).until("the hub is reached")
            a.runs(sys.executable, "-c", SEND, "64", "1000", "float32", str(SECONDS + 30)).until("ready")
            outward = a.schwann("relay", "out", "--hub", hub.url, "--block-ms", str(block_ms), "type='EEG'").until("is relayed")
            inward.until("is here")
            before = [processor(one) for one in (outward, inward)]
            begun = time.monotonic()
            receiver = b.runs(sys.executable, "-c", RECEIVE, "1000", str(SECONDS))
            assert receiver.process.wait(PATIENCE + SECONDS) == 0, receiver.text()
            took = [(processor(one) - first) / (time.monotonic() - begun) for one, first in zip((outward, inward), before)]
            got = json.loads(receiver.text().splitlines()[-1])
            print(f"age, 64 ch x 1 kHz, blocks of {block_ms} ms: p50 {got['p50']:.1f} ms, p99 {got['p99']:.1f} ms of {got['count']} samples; "
                  f"{took[0]:.1%} of a core at the edge, {took[1]:.1%} at the far end; {load()}", flush=True)


def rate() -> None:
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority, limit_gb=8 + int(SECONDS / 30)), SCRATCH / "rate.xdf"
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        sender = a.runs(sys.executable, "-c", SEND, str(CHANNELS), "30000", "int16", str(SECONDS)).until("ready")
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        begun, before = time.monotonic(), [processor(one) for one in (outward, recorder)]
        sender.until("sent", PATIENCE + 4 * SECONDS)
        sent = time.monotonic() - begun
        took = [(processor(one) - first) / sent for one, first in zip((outward, recorder), before)]
        room = [memory(one) for one in (outward, recorder)]
        behind = a.edge_status()["waiting_seconds"]
        wanted = int(SECONDS * 30000)
        # What the edge has not sealed yet waits in its inlet.
        has_all = lambda: a.edge_status()["samples"] >= wanted and a.edge_status()["waiting_blocks"] <= 2
        wait_for(has_all, lambda: f"the hub does not get it: {a.edge_status()}", PATIENCE + 20 * SECONDS)
        wait_for(lambda: a.edge_status()["receipts"].get("site-b", 0) + 60 >= a.edge_status()["blocks"], "no receipt", PATIENCE)
        settled = time.monotonic() - begun
        assert outward.end() == 0, outward.text()
        recorder.end()
        assert f"{wanted:,} samples" in recorder.text() and "are missing" not in recorder.text(), recorder.text()
        print(f"rate, {CHANNELS} ch x 30 kHz int16 for {SECONDS:.0f} s: sent in {sent:.1f} s, {behind:.1f} s behind then, all at the hub after "
              f"{settled:.1f} s; no loss; {took[0]:.2f} core and {room[0]:.0f} MB at the edge, {took[1]:.2f} core and {room[1]:.0f} MB at the "
              f"recorder; {load()}", flush=True)


def catch_up() -> None:
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(SCRATCH / "catch.xdf"), "EEG").until("the hub is reached")
        a.runs(sys.executable, "-c", SEND, "64", "1000", "float32", str(SECONDS + 200)).until("ready")
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        time.sleep(3)
        hub.kill()
        time.sleep(SECONDS)
        hub.up()
        reached, newest = time.monotonic(), a.edge_status()["blocks"]
        wait_for(lambda: a.edge_status()["hub"] == "connected", "the edge does not come back")
        connected = time.monotonic()
        wait_for(lambda: a.edge_status()["receipts"].get("site-b", 0) > newest, "no new block is receipted")
        live = time.monotonic() - connected
        wait_for(lambda: a.edge_status()["waiting_blocks"] <= 3, "it does not catch up", PATIENCE)
        took = time.monotonic() - connected
        assert outward.end() == 0, outward.text()
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        print(f"catch up, 64 ch x 1 kHz: {SECONDS:.0f} s without the hub made good in {took:.1f} s or less ({SECONDS / took:.0f} x real time; the "
              f"status is told once a second); connected {connected - reached:.1f} s after the hub, a new block on the recorder's disk "
              f"{live:.1f} s later; {load()}", flush=True)


def fan_out() -> None:
    costs = {}
    for receivers in (1, RECEIVERS):
        with lab() as (authority, a, b, _):
            hub = Hub(authority)
            a.runs(sys.executable, "-c", SEND, "8", "250", "float32", str(2 * SECONDS + 120)).until("ready")
            outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
            far = [b.schwann("relay", "status", "--hub", hub.url, "--json", "--seconds", str(SECONDS + 60)) for _ in range(receivers)]
            time.sleep(30 if receivers > 1 else 5)
            begun, before, blocks = time.monotonic(), processor(outward), a.edge_status()["blocks"]
            time.sleep(SECONDS)
            made = a.edge_status()["blocks"] - blocks
            costs[receivers] = (processor(outward) - before) / max(made, 1) * 1e3
            there = sum(one.process.poll() is None for one in far)
            print(f"fan-out, 8 ch x 250 Hz, {there} receivers: {costs[receivers]:.2f} ms of processor a block at the edge "
                  f"({made} blocks in {time.monotonic() - begun:.0f} s); {load()}", flush=True)
            assert there == receivers, far[0].text()
    print(f"fan-out: {RECEIVERS} receivers cost the edge {costs[RECEIVERS] / costs[1]:.2f} x what one does", flush=True)


if __name__ == "__main__":
    run({"age": age, "rate": rate, "catch-up": catch_up, "fan-out": fan_out})
