"""Plays a recording, mirrors it into a FieldTrip buffer, and compares what clients read: see 62-cli-net.sh."""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pyxdf
from lib.FieldTrip import Client as TheirClient
from schwann_fieldtrip import Client as OurClient

PROGRAM, RECORDING = (os.path.abspath(path) for path in sys.argv[1:3])
SPEED = 20


def main():
    streams, _ = pyxdf.load_xdf(RECORDING, synchronize_clocks=True, dejitter_timestamps=False)
    signal_stream = next(s for s in streams if s["info"]["type"] == ["EEG"])
    markers = next(s for s in streams if s["info"]["type"] == ["Markers"])
    wanted = np.asarray(signal_stream["time_series"])
    with tempfile.TemporaryDirectory() as folder:
        lab = private_lab(folder)
        mirror = start(lab, "ft", "mirror", "EEG", "localhost:0", stdout=subprocess.PIPE, text=True)
        address = mirror.stdout.readline().strip()
        player = start(lab, "play", RECORDING, "--wait", "--speed", str(SPEED), stdout=subprocess.DEVNULL)
        publisher = start(lab, "ft", "publish", address, stdout=subprocess.PIPE, text=True)
        share, join, elsewhere = tunnel(lab, folder, address)
        try:
            schwann(lab, "ft", "wait", address, "--samples", str(len(wanted)), "--timeout", "60")
            for client in (TheirClient(), OurClient()):
                read_back(client, address, wanted)
            for client in (TheirClient(), OurClient()):
                read_back(client, elsewhere, wanted)
            events = kept_events(address)
            assert kept_events(elsewhere) == events
            assert publisher.stdout.readline().startswith("FieldTrip: 8 channels of float32"), "not published"
        finally:
            codes = [end(process) for process in (join, share, publisher, mirror, player)]
    assert codes == [0] * 5, codes
    compare_events(events, signal_stream, markers)
    nobody = subprocess.run([PROGRAM, "mse", "check", "127.0.0.1:9", "0" * 40], capture_output=True, text=True)
    assert nobody.returncode == 3 and "127.0.0.1:9" in nobody.stderr, nobody
    clock_that_never_answers()
    print(f"{len(wanted)} samples x {wanted.shape[1]} channels and {len(events)} events: all are there, all in place")


def clock_that_never_answers():
    """A firewall takes the datagrams that ask a sender for its clock; samples come by TCP, and it is found by multicast."""
    with tempfile.TemporaryDirectory() as folder:
        lab = private_lab(folder)
        base = int(re.search(r"BasePort=(\d+)", pathlib.Path(lab["LSLAPICFG"]).read_text())[1])
        fake = start(lab, "fake", "eeg:4@250", stdout=subprocess.DEVNULL)
        # The two streams have the first two ports; answers to searches go to the ones behind them.
        rule = ["INPUT", "-p", "udp", "--dport", f"{base}:{base + 1}", "-j", "DROP"]
        try:
            eventually(lambda: once(lab) == (0, []))
            subprocess.run(["iptables", "-A", *rule], check=True)
            code, troubles = once(lab)
            assert code == 1 and troubles == ["no-clock-offsets"] * 2, troubles
            subprocess.run(["iptables", "-D", *rule], check=True)
            eventually(lambda: once(lab) == (0, []))
        finally:
            end(fake)


def once(lab):
    """How `schwann --json` ends, and what it says is wrong; nothing counts that is not two streams."""
    looked = subprocess.run([PROGRAM, "--json"], env=lab, capture_output=True, text=True)
    streams = json.loads(looked.stdout)["streams"]
    return looked.returncode if len(streams) == 2 else None, [one["code"] for stream in streams for one in stream["troubles"]]


def eventually(is_so):
    """A busy computer may be found to stutter, and is looked at again."""
    for _ in range(20):
        if is_so():
            return
    raise AssertionError(is_so)


def private_lab(folder):
    base = random.randrange(20000, 30000, 20)
    config = pathlib.Path(folder, "lsl_api.cfg")
    config.write_text(f"[ports]\nMulticastPort={base + 19}\nBasePort={base}\nPortRange=19\nIPv6=disable\n"
                      f"[multicast]\nResolveScope=machine\n[lab]\nSessionID=cli-net-{base}\n")
    return dict(os.environ, LSLAPICFG=str(config))


def tunnel(lab, folder, address):
    """Both ends of a tunnel to the buffer, and where a program at the other end finds it."""
    lab = dict(lab, SCHWANN_KEYS=os.path.join(folder, "keys"))
    schwann(lab, "keys", "init", "--unprotected")
    share = start(lab, "ft", "tunnel", "share", address, "--listen", "127.0.0.1:0", stdout=subprocess.PIPE, text=True)
    there = share.stdout.readline().split()[-1]
    join = start(lab, "ft", "tunnel", "join", there, "127.0.0.1:0", stdout=subprocess.PIPE, text=True)
    return share, join, join.stdout.readline().strip()


def start(lab, *arguments, **pipes):
    return subprocess.Popen([PROGRAM, *arguments], env=lab, **pipes)


def schwann(lab, *arguments):
    return subprocess.run([PROGRAM, *arguments], env=lab, check=True, capture_output=True, text=True).stdout


def end(process):
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=20)


def kept_events(address):
    """The ring keeps the last hundred events."""
    host, port = address.removeprefix("buffer://").rsplit(":", 1)
    with OurClient() as client:
        client.connect(host, int(port))
        return [(event.sample, event.type, event.value) for event in client.getEvents()]


def read_back(client, address, wanted):
    host, port = address.removeprefix("buffer://").rsplit(":", 1)
    client.connect(host, int(port))
    header = client.getHeader()
    assert (header.nChannels, header.nSamples) == (wanted.shape[1], len(wanted)), vars(header)
    values = np.asarray(client.getData([0, header.nSamples - 1]))
    assert values.dtype == wanted.dtype and np.array_equal(values, wanted), "samples differ"
    client.disconnect()


def compare_events(events, stream, markers):
    stamps = np.maximum.accumulate(stream["time_stamps"])
    expected = []
    for stamp, (value,) in zip(markers["time_stamps"], markers["time_series"]):
        after = min(np.searchsorted(stamps, stamp), len(stamps) - 1)
        before = max(after - 1, 0)
        nearest = before if stamp - stamps[before] < stamps[after] - stamp else after
        expected.append((int(nearest), "MyMarkerStream", value))
    expected = expected[-len(events):]
    wrong = [pair for pair in zip(sorted(events), sorted(expected)) if pair[0] != pair[1]]
    assert len(events) == min(100, len(markers["time_series"])) and not wrong, (len(events), wrong[:10])


if __name__ == "__main__":
    main()
