"""Two processes, two libraries: fixtures that start agents with a private corner of the network.

Libraries come from the environment: SCHWANN_LIBLSL is ours, REAL_LIBLSL_118 and REAL_LIBLSL_117 are the real
ones (found in the wheels of pylsl and mne-lsl when not given). `--pairs real` runs the real ones against each other,
which shows that a test demands nothing that they do not do; `--pairs ours` (the default when ours is given) runs
every pair with ours in it.
"""

import errno
import glob
import os
import pathlib
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import uuid
from multiprocessing.connection import Connection

import pytest

import lsl
from agent import Remote

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

OURS, REAL_118, REAL_117 = "schwann", "liblsl118", "liblsl117"
REAL_PAIRS = [(REAL_118, REAL_118), (REAL_117, REAL_118), (REAL_118, REAL_117), (REAL_117, REAL_117)]
OUR_PAIRS = [(OURS, OURS), (OURS, REAL_118), (REAL_118, OURS), (OURS, REAL_117), (REAL_117, OURS)]


def paths():
    packages = sysconfig.get_path("purelib")
    found = {
        OURS: os.environ.get("SCHWANN_LIBLSL"),
        REAL_118: os.environ.get("REAL_LIBLSL_118") or first(f"{packages}/pylsl/lib/liblsl.so.1.18.*"),
        REAL_117: os.environ.get("REAL_LIBLSL_117") or first(f"{packages}/mne_lsl/lsl/lib/liblsl.so.1.17.*"),
    }
    return {name: os.path.abspath(path) for name, path in found.items() if path}


def first(pattern):
    return next(iter(sorted(glob.glob(pattern))), None)


PATHS = paths()


def pytest_addoption(parser):
    parser.addoption("--pairs", choices=["ours", "real", "all"], default="ours" if OURS in PATHS else "real")


def pytest_configure(config):
    needed = {"ours": {OURS, REAL_118, REAL_117}, "real": {REAL_118, REAL_117}}
    wanted = config.getoption("pairs")
    if missing := needed.get(wanted, needed["ours"]) - set(PATHS):
        raise pytest.UsageError(f"--pairs {wanted} needs {', '.join(sorted(missing))}: see the head of conftest.py")
    config.addinivalue_line("markers", "ports(count): the test needs more ports than most")
    config.addinivalue_line("markers", "since118(*ends): liblsl 1.17 does not do this as sender, receiver or library")
    config.addinivalue_line("markers", "better: only ours does this; the real libraries are known not to")


def pytest_generate_tests(metafunc):
    wanted = metafunc.config.getoption("pairs")
    pairs = {"ours": OUR_PAIRS, "real": REAL_PAIRS, "all": OUR_PAIRS + REAL_PAIRS}[wanted]
    better = metafunc.definition.get_closest_marker("better")
    since = metafunc.definition.get_closest_marker("since118")
    ends = since.args if since else ()
    if {"sender", "receiver"} & set(metafunc.fixturenames):
        pairs = [(s, r) for s, r in pairs if s in PATHS and r in PATHS]
        pairs = [(s, r) for s, r in pairs
                 if not (REAL_117 == s and "sender" in ends) and not (REAL_117 == r and "receiver" in ends)]
        if better:
            pairs = [(s, r) for s, r in pairs if {"sender": s, "receiver": r}[better.args[0]] == OURS]
        metafunc.parametrize("sender,receiver", pairs, indirect=True, ids=[f"{s}-to-{r}" for s, r in pairs])
    elif "library" in metafunc.fixturenames:
        names = {"ours": [OURS], "real": [REAL_118, REAL_117], "all": [OURS, REAL_118, REAL_117]}[wanted]
        names = [n for n in names if n in PATHS and not (n == REAL_117 and since) and not (better and n != OURS)]
        metafunc.parametrize("library", names, indirect=True)


class Call:
    """A call that runs in a thread of the agent."""

    def __init__(self):
        self.done, self.outcome = threading.Event(), None

    def result(self, timeout=30.0):
        if not self.done.wait(timeout):
            raise TimeoutError("the agent did not answer; the library hangs")
        worked, value = self.outcome
        if not worked:
            raise value
        return value


class Proxy:
    """An object in the agent: methods run there."""

    def __init__(self, agent, number):
        self._agent, self._number = agent, number

    def __getattr__(self, method):
        return lambda *arguments, **names: self._agent.call(self._number, method, arguments, names)

    def start(self, method, *arguments, **names):
        """Calls in a thread of the agent and returns at once."""
        return self._agent.begin(self._number, method, arguments, names, threaded=True)


class Agent(Proxy):
    """A process with a library; itself stands for the library."""

    def __init__(self, path, config, folder):
        super().__init__(self, 0)
        self._calls, self._count, self._lock = {}, 0, threading.Lock()
        ours, theirs = socket.socketpair()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lsl_api.cfg").write_text(config)
        environment = {**os.environ, "LSLAPICFG": str(folder / "lsl_api.cfg"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.log = folder / "log"
        log = self.log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "tools" / "agent.py"), path, str(theirs.fileno())], env=environment, cwd=folder,
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        theirs.close()
        self._channel = Connection(ours.detach())
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self):
        while True:
            try:
                number, worked, value = self._channel.recv()
            except (EOFError, OSError):
                break
            self._finish(number, worked, value)
        for number in list(self._calls):
            self._finish(number, False, ConnectionError(f"the agent ended: {self.log.read_text()[-2000:]}"))

    def _finish(self, number, worked, value):
        call = self._calls.pop(number)
        call.outcome = (worked, self._local(value))
        call.done.set()

    def _local(self, value):
        if isinstance(value, Remote):
            return Proxy(self, value.number)
        if isinstance(value, (list, tuple)):
            return type(value)(self._local(item) for item in value)
        return value

    def begin(self, target, method, arguments, names, threaded):
        def remote(value):
            return Remote(value._number) if isinstance(value, Proxy) else value

        call = Call()
        with self._lock:
            number, self._count = self._count, self._count + 1
            self._calls[number] = call
        try:
            self._channel.send((number, target, method, [remote(a) for a in arguments],
                                {name: remote(a) for name, a in names.items()}, threaded))
        except OSError:
            self._finish(number, False, ConnectionError(f"the agent ended: {self.log.read_text()[-2000:]}"))
        return call

    def call(self, target, method, arguments, names):
        return self.begin(target, method, arguments, names, threaded=False).result(CALL_SECONDS)

    def kill(self):
        """Ends it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.kill()
        # Its listener sees the end first: who closes a descriptor that another thread reads gives its number away.
        self._listener.join()
        self._channel.close()


CALL_SECONDS = 60.0


class Place:
    """A private corner of the network: session, discovery port and service ports of one test."""

    def __init__(self, folder, ports):
        self.folder, self.session, self.agents = folder, f"s{uuid.uuid4().hex[:12]}", []
        self.ports, self.base = ports, free_ports(ports)

    def config(self, changes):
        """The INI text for one agent; `changes` are "section.key": value pairs, None leaves a key out."""
        values = {
            "ports.MulticastPort": self.base, "ports.BasePort": self.base + 1, "ports.PortRange": self.ports - 1,
            "ports.IPv6": "disable", "multicast.ResolveScope": "machine", "lab.KnownPeers": "{127.0.0.1}",
            "lab.SessionID": self.session, "tuning.MulticastMinRTT": 0.1, "tuning.UnicastMinRTT": 0.1,
            "tuning.ContinuousResolveInterval": 0.1, "log.level": -2, **changes,
        }
        lines = {}
        for key, value in values.items():
            section, name = key.split(".")
            if value is not None:
                lines.setdefault(section, []).append(f"{name} = {value}")
        return "".join(f"[{section}]\n" + "\n".join(keys) + "\n" for section, keys in lines.items())

    def start(self, name, config=None, **changes):
        """Starts an agent with the library of that name."""
        text = config if config is not None else self.config({k.replace("__", "."): v for k, v in changes.items()})
        agent = Agent(PATHS[name], text, self.folder / f"{len(self.agents)}-{name}")
        self.agents.append(agent)
        return agent


def free_ports(count):
    """A run of ports below those that the kernel hands out, unused on every address; a worker keeps to its part.

    A port stays busy for a minute after a connection over it, so runs are taken in turn.
    """
    worker, size = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 4, 5_600
    low, high = 10_000 + worker * size, 10_000 + (worker + 1) * size
    base = getattr(free_ports, "next", low + os.getpid() * 61 % (size - count))
    for _ in range(size):
        if base + count > high:
            base = low
        busy = next((port for port in range(base, base + count) if not is_free(port)), None)
        if busy is None:
            free_ports.next = base + count
            return base
        base = busy + 1
    raise RuntimeError("no run of free ports")


def is_free(port):
    try:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with socket.socket(socket.AF_INET, kind) as probe:
                probe.bind(("0.0.0.0", port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        raise
    return True


@pytest.fixture
def place(tmp_path, request):
    wanted = request.node.get_closest_marker("ports")
    place = Place(tmp_path, wanted.args[0] if wanted else 24)
    yield place
    for agent in place.agents:
        agent.stop()


class End:
    """One end of a pair: starts agents with its library."""

    def __init__(self, place, name):
        self.place, self.library_name = place, name

    def __call__(self, config=None, **changes):
        return self.place.start(self.library_name, config, **changes)

    def is_117(self):
        return self.library_name == REAL_117

    def is_ours(self):
        return self.library_name == OURS


@pytest.fixture
def sender(place, request):
    return End(place, request.param)


@pytest.fixture
def receiver(place, request):
    return End(place, request.param)


@pytest.fixture
def library(place, request):
    return End(place, request.param)


@pytest.fixture
def connect(sender, receiver):
    """Makes an outlet and a connected inlet: `connect(format=..., channels=...)` returns both."""

    def make(inlet=None, config=None, **stream):
        config = config or {}
        outlet = sender(**config).outlet(**stream)
        found = receiver(**config).inlet(value=stream.get("source", "interop"), **(inlet or {}))
        found.open()
        assert outlet.wait()
        if sender.is_117():
            # It registers a consumer after the consumer believes that it is connected.
            wait_until(outlet.consumers)
        return outlet, found

    return make


def quick(inlet, seconds, *call):
    """Times a call until it takes less than `seconds`, five times at most: a busy machine holds up one call, not each of five."""
    for _ in range(5):
        took, result = inlet.timed(*call)
        if took < seconds:
            break
    return took, result


def wait_until(condition, timeout=10.0):
    """Asks until the answer is yes; the agents have no other way to tell."""
    import time
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)
