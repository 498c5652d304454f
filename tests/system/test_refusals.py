"""What people read when two programs have no session: the reason and the command that mends it, on the screens of both.

Unchanged programs (pylsl) at both ends; a screen is the standard error stream. Needs SCHWANN_LIBLSL, and SCHWANN_PROGRAM
for the keys. Run by checks/53-sealed.sh.
"""

import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import time

import pytest

from labs import keys, last_word
from test_sealed import OURS, PROGRAM, lab, machine, network  # noqa: F401

pytestmark = pytest.mark.skipif(not (OURS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set")

SENDER = """
import pylsl, sys
outlet = pylsl.StreamOutlet(pylsl.StreamInfo("Refused", "EEG", 1, 0, "string", "refused"))
print(outlet.get_info().uid(), flush=True)
sys.stdin.read()
"""
RECEIVER = """
import pylsl, sys
infos = pylsl.resolve_byprop("name", "Refused", 1, 30)
if infos:
    inlet = pylsl.StreamInlet(infos[0])
    print("found", flush=True)
    sys.stdin.readline()
    try:
        inlet.open_stream(30)
        print("open", flush=True)
    except Exception:
        pass
sys.stdin.read()
"""


class Screen:
    """A program and what its person reads."""

    def __init__(self, script, folder, name, environment):
        self.path = folder / f"screen of the {name}"
        with self.path.open("wb") as file:
            self.process = subprocess.Popen([sys.executable, "-c", script], env=environment, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file)

    def text(self):
        return self.path.read_text()

    def wait_for(self, reason, command):
        """Until one line says both."""
        deadline = time.monotonic() + 25
        while not any(reason in line and f"`{command}" in line for line in self.text().splitlines()):
            assert time.monotonic() < deadline, f"{self.path.name} lacks {reason!r} with `{command}`:\n{self.text()}"
            time.sleep(0.05)

    def says(self):
        return self.process.stdout.readline().strip()


@pytest.fixture
def meet(tmp_path, network):  # noqa: F811
    """Starts a sender and a receiver on machines of their own: `meet(sender's changes, receiver's)`."""
    screens = []

    def start(sending, receiving, wait=True):
        for name, script, (folder, changes) in (("outlet", SENDER, sending), ("inlet", RECEIVER, receiving)):
            place = tmp_path / name
            place.mkdir(exist_ok=True)
            text = network.replace("level=-2", "level=0")
            environment = machine(place, text, OURS, folder or place / "no keys") | changes
            screens.append(Screen(script, place, name, environment))
            if name == "outlet" and wait:
                assert screens[0].says(), screens[0].text()
        return screens

    yield start
    for screen in screens:
        screen.process.kill()
        screen.process.communicate()


@pytest.fixture(scope="session")
def wrong_clock(tmp_path_factory):
    """The environment of a program whose clock is wrong."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = pathlib.Path(__file__).resolve().parents[1] / "tools" / "wrong_clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return lambda seconds: {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(seconds)}


@pytest.fixture
def other_lab(tmp_path):
    keys(tmp_path / "other lab", "init", "--name", "elsewhere")
    return tmp_path / "other lab"


def device(lab, folder, *how, **environment):  # noqa: F811
    """The key folder of one more machine of a lab, and the serial of its certificate."""
    request = last_word(keys(folder, "new-device", folder.name), "keys issue")
    said = keys(lab, "issue", "--yes", request, *how, **environment)
    keys(folder, "trust", said=said)
    return folder


def looked_at(folder, network, tmp_path, *arguments):  # noqa: F811
    """What `schwann` shows on a machine."""
    done = subprocess.run([PROGRAM, *arguments], env=machine(tmp_path, network, OURS, folder or tmp_path / "no keys"),
                          text=True, capture_output=True, timeout=60)
    return done.stdout


def test_wrong_lab(meet, lab, other_lab, network, tmp_path):  # noqa: F811
    outlet, inlet = meet((lab, {}), (other_lab, {}))
    outlet.wait_for("gets no answer: the peer belongs to another lab", "schwann keys status`")
    inlet.wait_for("is not found: the peer belongs to another lab", "schwann keys status`")
    seen = looked_at(other_lab, network, tmp_path, "--once")
    assert "REFUSED" in seen and re.search(r"the outlet at 127.0.0.1:\d+: the peer belongs to another lab; .*`schwann keys", seen)
    findings = json.loads(looked_at(other_lab, network, tmp_path, "doctor", "127.0.0.1", "--json"))["findings"]
    assert any(one["code"] == "sealed" and "another lab" in one["what"] for one in findings), findings


def test_no_key_at_the_receiver(meet, lab, network, tmp_path):  # noqa: F811
    outlet, inlet = meet((lab, {}), (None, {}))
    outlet.wait_for("gets no answer: the peer speaks plain LSL", "schwann keys join`")
    inlet.wait_for("speaks to members of its lab alone; join its lab", "schwann keys join`")
    seen = looked_at(None, network, tmp_path, "--once")
    assert "NO STREAM" in seen and "REFUSED" in seen and "members of its lab alone; join its lab" in seen


def test_a_plain_peer_while_we_require_sealing(meet, lab, network, tmp_path):  # noqa: F811
    outlet, inlet = meet((None, {}), (lab, {}))
    outlet.wait_for("this program has no keys; join its lab", "schwann keys join`")
    inlet.wait_for("is not found: the peer speaks plain LSL", "schwann keys join`")
    seen = looked_at(lab, network, tmp_path, "--once")
    assert "REFUSED" in seen and "the peer speaks plain LSL" in seen


@pytest.mark.parametrize("policy", ["sender", "receiver"])
def test_no_key_although_it_is_required(meet, policy, lab):  # noqa: F811
    require = {"SCHWANN_SECURITY": "require"}
    outlet, inlet = meet((None, require) if policy == "sender" else (lab, {}), (None, require), wait=policy != "sender")
    for screen in [outlet, inlet] if policy == "sender" else [inlet]:
        screen.wait_for("there is no key in", "schwann keys init`")


def test_a_locked_key(meet, tmp_path, lab):  # noqa: F811
    folder = tmp_path / "locked"
    subprocess.run([PROGRAM, "keys", "init"], check=True, stdout=subprocess.DEVNULL,
                   env=machine(tmp_path, "", OURS, folder) | {"SCHWANN_PASSPHRASE": "correct horse"})
    locked = (folder, {"XDG_RUNTIME_DIR": str(tmp_path)})
    for screen in meet(locked, locked, wait=False):
        screen.wait_for("is locked", "schwann keys unlock`")


def test_an_expired_certificate(meet, lab, tmp_path, wrong_clock):  # noqa: F811
    # Made a day ago for a day and some seconds: it holds when the program starts, and not when it connects.
    folder = device(lab, tmp_path / "expires", "--days", "1", **wrong_clock(8 - 86_400))
    outlet, inlet = meet((lab, {}), (folder, {}))
    ends = time.time() + 10
    assert inlet.says() == "found"
    time.sleep(max(0.0, ends - time.time()))
    inlet.process.stdin.write("\n")
    inlet.process.stdin.flush()
    for screen in (outlet, inlet):
        screen.wait_for("the certificate has expired", "schwann keys join`")


@pytest.mark.parametrize("days, reason, command",
                         [(4_000, "has expired", "schwann keys join`"),
                          (-10, "is not valid yet; a clock is wrong", "date -u`")])
def test_a_certificate_that_does_not_hold_now(meet, lab, wrong_clock, days, reason, command):  # noqa: F811
    end = (lab, wrong_clock(days * 86_400))
    outlet, inlet = meet(end, (lab, {}), wait=False)
    outlet.wait_for(reason, command)


def test_a_revoked_device(meet, lab, tmp_path):  # noqa: F811
    folder = device(lab, tmp_path / "leaves")
    serial = re.search(r"(?:number|serial|certificate)\D*(\d+)", keys(folder, "status"))[1]
    keys(lab, "revoke", serial)
    outlet, inlet = meet((lab, {}), (folder, {}))
    for screen in (outlet, inlet):
        screen.wait_for("the certificate has been revoked", "schwann keys join`")


def test_the_wrong_role(meet, lab, network, tmp_path):  # noqa: F811
    # A device that may not send makes no outlet; one that may not receive makes no inlet: nothing goes over
    # the wire.
    listener = device(lab, tmp_path / "listener", "--subscribe-only")
    talker = device(lab, tmp_path / "talker", "--publish-only")
    (outlet, _) = meet((listener, {}), (lab, {}), wait=False)
    outlet.wait_for("does not permit this role", "schwann keys issue`")
    outlet.process.kill()
    more = meet((lab, {}), (talker, {}), wait=False)
    more[-1].wait_for("does not permit this role", "schwann keys issue`")
    # A program that tries again and again says so once.
    done = subprocess.run([PROGRAM, "--once"], env=machine(tmp_path, network, OURS, talker), text=True, capture_output=True, timeout=60)
    assert "does not permit this role" in done.stdout and done.stderr.count("does not permit this role") == 1, done.stderr


def test_a_wrong_clock(meet, lab, network, tmp_path, wrong_clock):  # noqa: F811
    outlet, inlet = meet((lab, {}), (lab, wrong_clock(120)))
    outlet.wait_for("its time is more than 30 s from this clock", "date -u`")
    inlet.wait_for("does not answer its search: one of the two is too busy", "date -u`")
    environment = machine(tmp_path, network, OURS, lab) | wrong_clock(120)
    seen = subprocess.run([PROGRAM, "--once"], env=environment, text=True, capture_output=True, timeout=60).stdout
    assert "REFUSED" in seen and "their clocks differ by more than 30 s" in seen and "date -u" in seen, seen
    done = subprocess.run([PROGRAM, "doctor", "127.0.0.1", "--json"], env=environment, text=True, capture_output=True)
    assert any(one["code"] == "clock-differs" for one in json.loads(done.stdout)["findings"]), done.stdout


def test_a_peer_that_is_too_old(meet, lab, network):  # noqa: F811
    base = int(network.partition("BasePort=")[2].split()[0])
    (outlet, inlet) = meet((lab, {}), (lab, {}))
    assert inlet.says() == "found"
    for version, word in ((0, "an earlier version"), (2, "a later version")):
        for port in range(base, base + 39):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as old:
                old.sendall(b"LSL:secure/%d hybrid\r\n" % version)
                old.recv(1)
        outlet.wait_for(word, "schwann --version`")


@pytest.mark.parametrize("answer, reason, command", [(b"", "speaks plain LSL", "schwann run PROGRAM`"),
                                                     (b"\xff", "the peer refused", "schwann --version`")])
def test_an_outlet_that_is_too_old(meet, lab, network, answer, reason, command):  # noqa: F811
    # An outlet of a time without sessions closes on the first line; one of an earlier version refuses it.
    base = int(network.partition("BasePort=")[2].split()[0])
    with socket.create_server(("127.0.0.1", base)) as old:
        old.settimeout(20)
        outlet, inlet = meet((None, {}), (lab, {}), wait=False)
        outlet.process.kill()
        connection, _ = old.accept()
        with connection:
            assert connection.recv(100).startswith(b"LSL:secure/1 hybrid\r\n")
            connection.sendall(answer)
        inlet.wait_for(reason, command)
