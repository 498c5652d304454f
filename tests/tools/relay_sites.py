"""Sites and a hub for tests of the relay: each site has keys and a network session of its own, so nothing but the hub joins them.

A test that imports this has the program and the library as its first two arguments.
"""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM, LIBRARY = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
os.environ["SCHWANN_PROGRAM"] = PROGRAM

import labs  # noqa: E402
import pyxdf  # noqa: E402

SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="relay-"))
PATIENCE = 120
KEEPERS: list[socket.socket] = []
RATE = 200

SEND = r"""
import sys, time, pylsl
name, first, count, begins, source = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
info = pylsl.StreamInfo(name, "EEG", 2, 200, "float32", name + "-" + source)
info.desc().append_child_value("serial", "4711")
outlet = pylsl.StreamOutlet(info)
print("ready", flush=True)
outlet.wait_for_consumers(60)
begin = pylsl.local_clock()
zero = begin - first / 200 if begins == "now" else float(begins)
for number in range(first, first + count):
    outlet.push_sample([number, -number], zero + number / 200)
    late = begin + (number - first) / 200 - pylsl.local_clock()
    if late > 0:
        time.sleep(late)
print("sent", flush=True)
sys.stdin.read()
"""
RECEIVE = r"""
import json, sys, pylsl
name, count = sys.argv[1], int(sys.argv[2])
found = pylsl.resolve_byprop("name", name, 1, 30)
inlet = pylsl.StreamInlet(found[0])
info = inlet.info(30)
samples = []
while len(samples) < count:
    sample, stamp = inlet.pull_sample(30)
    samples.append([sample[0], sample[1], stamp])
relay = info.desc().child("relay")
print(json.dumps({"samples": samples, "serial": info.desc().child_value("serial"), "site": relay.child_value("device"),
    "description": [info.name(), info.type(), info.channel_count(), info.nominal_srate(), info.channel_format(), info.source_id()]}))
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def own_ports() -> int:
    """The first of 40 ports that no other test of this network has: a socket on the last one keeps them for this process."""
    # Below those that the system gives out.
    for first in random.sample(range(10_000, 32_000, 40), 550):
        keeper = socket.socket()
        try:
            keeper.bind(("127.0.0.1", first + 39))
        except OSError:
            keeper.close()
            continue
        KEEPERS.append(keeper)
        return first
    raise AssertionError("every port is taken")


class Program:
    """A program that runs, and all that it said."""

    def __init__(self, environment: dict, *words: str) -> None:
        self.words, self.said = words, SCRATCH / f"said-{len(list(SCRATCH.iterdir()))}"
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=self.said.open("w"),
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def text(self) -> str:
        return self.said.read_text()

    def until(self, text: str, patience: float = PATIENCE):
        wait_for(lambda: text in self.text(), f"{self.words[:4]} does not say {text!r}: {self.text()!r}", patience,
                 lambda: self.process.poll() is None or text in self.text())
        return self

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        return code


def wait_for(condition, what, patience: float = PATIENCE, goes_on=lambda: True) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end and goes_on(), what() if callable(what) else what
        time.sleep(0.05)


class Site:
    """A device of the lab, on a network of its own."""

    def __init__(self, keys: pathlib.Path, relay: str = "") -> None:
        port = own_ports()
        # Words before each command, such as those that enter another network.
        self.prefix: tuple[str, ...] = ()
        config = SCRATCH / f"{keys.name}.cfg"
        config.write_text(f"[log]\nlevel=-2\n[ports]\nMulticastPort={port + 38}\nBasePort={port}\nPortRange=32\nIPv6=disable\n"
                          f"[multicast]\nResolveScope=machine\n[lab]\nSessionID={keys.name}-{port}\n[relay]\n{relay}\n")
        self.keys, self.log, self.programs = keys, SCRATCH / f"{keys.name}.security", []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCHWANN", "LSL"))}
        self.environment = kept | {"LSLAPICFG": str(config), "PYLSL_LIB": LIBRARY, "HOME": str(SCRATCH), "SCHWANN_KEYS": str(keys),
                                   "SCHWANN_SECURITY_LOG": str(self.log)}

    def runs(self, *words: str) -> Program:
        program = Program(self.environment, *self.prefix, *words)
        self.programs.append(program)
        return program

    def schwann(self, *words: str) -> Program:
        return self.runs(PROGRAM, *words)

    def sends(self, name: str, count: int, first: int = 0, begins: str = "1000", source: str = "source") -> Program:
        """A sender of 200 samples a second. Sample 0 has the stamp `begins`, by which tests know each sample; or "now"."""
        return self.runs(sys.executable, "-c", SEND, name, str(first), str(count), begins, source).until("ready")

    def edge_status(self) -> dict:
        """What `relay out` last wrote of itself; empty before it did."""
        files = list((self.keys / "relay" / "out").glob("*/status.json"))
        return json.loads(files[0].read_text()) if files else {}

    def events(self) -> list[dict]:
        files = [self.log, self.log.with_name(self.log.name + ".strangers")]
        return [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]


def movable_clock(site: Site) -> pathlib.Path:
    """The wall clock of the site's programs from now on: the file says by how many seconds it is ahead."""
    library, file = SCRATCH / "wrong_clock.so", SCRATCH / f"{site.keys.name}.clock"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(pathlib.Path(__file__).with_name("wrong_clock.c"))], check=True)
    file.write_text("0")
    site.environment |= {"LD_PRELOAD": str(library), "CLOCK_AHEAD_FILE": str(file)}
    return file


class Hub:
    """The hub, which `schwann hub up` runs."""

    def __init__(self, site: Site, address: str = "127.0.0.1", limit_gb: float = 1) -> None:
        self.address, self.limit = address, str(limit_gb)
        self.site, self.folder, self.port, self.web = site, SCRATCH / f"hub-{free_port()}", free_port(), free_port()
        self.up()

    def up(self) -> None:
        self.program = self.site.schwann("hub", "up", "--dir", str(self.folder), "--public", self.address, "--listen", self.address,
                                         "--port", str(self.port), "--websocket-port", str(self.web), "--limit", self.limit)
        self.program.until("relay in")
        lines = self.program.text().splitlines()
        self.url, self.web_url = (next(line.strip() for line in lines if line.strip().startswith(begin)) for begin in ("tls:", "wss:"))

    def server(self) -> int:
        """The process of nats-server itself."""
        children = pathlib.Path(f"/proc/{self.program.process.pid}/task/{self.program.process.pid}/children").read_text().split()
        return int(children[0])

    def knows_a_member(self) -> None:
        """Waits until a member's wrapping key is at the hub; a program that is killed before leaves none."""
        words = lambda: (self.folder / "store").glob("jetstream/*/streams/*_words/msgs/*.blk")
        wait_for(lambda: any(b".members" in path.read_bytes() for path in words()), "no member makes its key known")

    def kill(self) -> None:
        os.kill(self.server(), signal.SIGKILL)
        self.program.process.wait(20)

    def down(self) -> None:
        assert self.program.end() == 0, self.program.text()


@contextlib.contextmanager
def lab(history: str = "history=none"):
    """A lab of three: the hub's computer, a site A that sends, and a site B that receives."""
    root = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
    labs.new_lab(root / "authority")
    serials = {name: labs.new_device(root / "authority", root / name, name) for name in ("site-a", "site-b", "site-c")}
    sites = [Site(root / name, history) for name in ("authority", "site-a", "site-b", "site-c")]
    sites[0].serials = serials
    try:
        yield sites
    finally:
        for program in (program for site in sites for program in site.programs):
            if program.process.poll() is None:
                os.killpg(program.process.pid, signal.SIGKILL)
                program.process.wait(20)


def recorded(path: pathlib.Path, name: str):
    streams, _ = pyxdf.load_xdf(str(path), synchronize_clocks=False, dejitter_timestamps=False)
    stream, = [stream for stream in streams if stream["info"]["name"][0] == name]
    return stream["time_series"], stream["time_stamps"]


def same(path: pathlib.Path, name: str, numbers) -> None:
    """The file has exactly these samples, in order."""
    values, stamps = recorded(path, name)
    numbers = list(numbers)
    assert [int(value) for value in values[:, 0]] == numbers, (len(values), len(numbers), values[:3], values[-3:])
    assert all(value[1] == -value[0] for value in values)
    assert all(stamp == 1000 + number / RATE for stamp, number in zip(stamps, numbers, strict=True))


def far_streams(site: Site, hub: Hub) -> list[dict]:
    """The streams at the hub, as a site sees them."""
    status = site.schwann("relay", "status", "--hub", hub.url, "--json")
    status.process.wait(PATIENCE)
    return json.loads(status.text().splitlines()[-1])["streams"]


def is_recorded(sends: Site, records: Site, hub: Hub) -> bool:
    """Whether a recorder has receipted every block that the newest run of the sender's journal has."""
    file = max((sends.keys / "relay" / "out").glob("*/*.blocks"), key=lambda path: path.name)
    content, at, count = file.read_bytes(), 0, int(file.stem.rsplit("-", 1)[1], 16)
    while at < len(content):
        at, count = at + 8 + int.from_bytes(content[at:at + 4], "little"), count + 1
    return {records.keys.name: [[0, count - 1]]} in [stream["receipts"] for stream in far_streams(records, hub)]


def ended(sender, outward, recorder, target: pathlib.Path, name: str, seconds: float) -> None:
    """All of it arrives, and both ends say so."""
    sender.until("sent")
    time.sleep(1)
    assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
    assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
    same(target, name, range(int(seconds * RATE)))


def run(tests: dict) -> None:
    """Runs the tests that the command line names; all, if it names none."""
    try:
        for name in sys.argv[3:] or list(tests):
            tests[name]()
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(SCRATCH, ignore_errors=True)
