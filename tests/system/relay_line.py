"""Two sites and a hub in three networks, joined by lines with 40 ms each way and 1 % loss: the guide's page is followed literally there, and
a line is cut under load.

Usage: relay_line.py PROGRAM LIBRARY [WORD...]

RELAY_CUT_SECONDS says how long the line is cut; 10 minutes are 600.
"""

import os
import pathlib
import shlex
import subprocess
import sys
import time

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"
sys.path.insert(0, str(TOOLS))

from relay_sites import PATIENCE, PROGRAM, SCRATCH, Hub, Program, far_streams, is_recorded, lab, run, wait_for  # noqa: E402

import guide_page  # noqa: E402
import pyxdf  # noqa: E402

PAGE = TOOLS.parents[1] / "docs" / "guide" / "src" / "beyond-one-network.md"
HUB_AT_A, HUB_AT_B = "10.97.1.2", "10.97.2.2"
DELAY_MS, LOSS = 40, 0.01
# What a site has besides the line: loopback and one interface like Ethernet, with multicast on both.
NETWORK = """ip link set lo up && ip link set lo multicast on
ip link add eth0 type veth peer name eth0-far && ip addr add 10.77.0.1/24 dev eth0
ip link set eth0 up && ip link set eth0-far up && ip route add default dev eth0"""
SEND = r"""
import sys, time, numpy, pylsl
seconds, rate, channels, block = int(sys.argv[1]), 1000, 16, 20
outlet = pylsl.StreamOutlet(pylsl.StreamInfo("Load", "EEG", channels, rate, "float32", "load-source"))
print("ready", flush=True)
outlet.wait_for_consumers(60)
begin, numbers = pylsl.local_clock(), numpy.arange(block)[:, None] + numpy.zeros(channels)
for first in range(0, seconds * rate, block):
    outlet.push_chunk((numbers + first).astype(numpy.float32), 1000 + (first + block - 1) / rate)
    late = begin + first / rate - pylsl.local_clock()
    if late > 0:
        time.sleep(late)
print("sent", flush=True)
sys.stdin.read()
"""


class Networks:
    """Networks of site A, of the hub and of site B, and the lines between them."""

    def __enter__(self):
        self.names = [f"relay-{place}-{os.getpid()}" for place in ("a", "hub", "b")]
        self.cuts = [SCRATCH / f"cut-{number}" for number in (1, 2)]
        a, hub, b = self.names
        for name in self.names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            subprocess.run(["ip", "netns", "exec", name, "bash", "-c", NETWORK], check=True)
        ends = (("1", a, "10.97.1.1/24", hub, f"{HUB_AT_A}/24"), ("2", b, "10.97.2.1/24", hub, f"{HUB_AT_B}/24"))
        self.lines = [Program(dict(os.environ), sys.executable, str(TOOLS / "line.py"), near, near_address, far, far_address,
                              str(DELAY_MS), str(LOSS), number, str(cut)).until("carries")
                      for (number, near, near_address, far, far_address), cut in zip(ends, self.cuts)]
        # Both sites know the hub by one address.
        subprocess.run(["ip", "-n", b, "route", "add", f"{HUB_AT_A}/32", "via", HUB_AT_B], check=True)
        return self

    def __exit__(self, *_):
        for line in self.lines:
            line.process.terminate()
            line.process.wait(PATIENCE)
            print(f"a line with {DELAY_MS} ms each way and {LOSS:.0%} loss: {line.text().splitlines()[-1]}")
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=True)


class Everywhere(guide_page.Page):
    """The page, with each computer in its network. The lab is founded in one room, before the second computer goes to its site; the first
    one is sender and hub at once, so its sender has a network of its own here."""

    def __init__(self, networks: Networks, scratch: pathlib.Path) -> None:
        super().__init__(PAGE, scratch)
        self.networks = networks

    def type(self, command: str, before: str):
        a, hub, b = self.networks.names
        where = b if "second computer" in before else a
        if command.startswith(("schwann keys", "schwann hub")):
            where = hub
        command = command.replace("--public 127.0.0.1", f"--public {HUB_AT_A}")
        return super().type(f"exec ip netns exec {where} bash -euo pipefail -c {shlex.quote(command)}", before)


def guide_is_followed() -> None:
    os.environ["PATH"] = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
    with Networks() as networks:
        scratch = SCRATCH / "guide"
        scratch.mkdir()
        count = Everywhere(networks, scratch).follow()
    print(f"ok: {count} blocks of the guide's page, followed by two sites and a hub in three networks")


def line_is_cut() -> None:
    cut, load = float(os.environ.get("RELAY_CUT_SECONDS", "8")), 8
    seconds = int(cut) + 2 * load
    with Networks() as networks, lab() as (authority, a, b, _):
        for site, name in zip((a, authority, b), networks.names):
            site.prefix = ("ip", "netns", "exec", name)
        hub, target = Hub(authority, HUB_AT_A), SCRATCH / "cut.xdf"
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        sender = a.runs(sys.executable, "-c", SEND, str(seconds)).until("ready")
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        time.sleep(load)
        networks.cuts[0].touch()
        time.sleep(cut)
        behind = a.edge_status()["waiting_blocks"]
        networks.cuts[0].unlink()
        healed = time.monotonic()
        sender.until("sent", PATIENCE + seconds)
        # The newest blocks go first, so receipts of them say nothing of the hole behind.
        wait_for(lambda: a.edge_status()["waiting_blocks"] <= 2, lambda: f"the hub lacks: {a.edge_status()}", PATIENCE + seconds)
        caught_up = time.monotonic() - healed
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
        wait_for(lambda: is_recorded(a, b, hub), lambda: f"not all is receipted: {far_streams(b, hub)}")
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        streams, _ = pyxdf.load_xdf(str(target), synchronize_clocks=False, dejitter_timestamps=False)
        values = streams[0]["time_series"]
        assert len(values) == seconds * 1000 and all((values[:, channel] == range(len(values))).all() for channel in (0, 15)), values.shape
    print(f"ok: a line cut for {cut:.0f} s under load: {behind} blocks waited, all {seconds * 1000} samples at the hub {caught_up:.0f} s after it healed")


if __name__ == "__main__":
    run({"guide": guide_is_followed, "cut": line_is_cut})
