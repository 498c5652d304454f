"""Our program and library for Windows, under Wine: with the original's library for Windows, and with this system's.

Needs a prefix whose drive C: has a folder `tests` with `schwann.exe`, `counter.exe`, and a `lsl.dll` in `ours` and in `original`,
and the program `counter` here. Run by checks/26-wine.sh.
"""

import getpass
import json
import os
import pathlib
import shutil
import subprocess
import urllib.request
import uuid

import pytest

from labs import PROGRAM, keys, last_word, new_lab

DRIVE = pathlib.Path(os.environ.get("WINEPREFIX", "/nowhere")) / "drive_c"
COUNTER = os.environ.get("SCHWANN_COUNTER")
LIBRARIES = {"linux": os.environ.get("SCHWANN_LIBLSL"), "linux-original": os.environ.get("REAL_LIBLSL_118")}
pytestmark = pytest.mark.skipif(not (COUNTER and DRIVE.exists()), reason="WINEPREFIX and SCHWANN_COUNTER are not set")

WINDOWS, ORIGINAL, LINUX = "windows", "windows-original", "linux"
PAIRS = [(WINDOWS, LINUX), (LINUX, WINDOWS), (WINDOWS, ORIGINAL), (ORIGINAL, WINDOWS), (WINDOWS, WINDOWS),
         (WINDOWS, "linux-original"), ("linux-original", WINDOWS)]
FAST_PAIRS = PAIRS[:4]
SECONDS = 60


class Machine:
    """A computer with Windows, or this one: the folder of a test there, with libraries and a configuration."""

    def __init__(self, place, kind):
        self.place, self.is_windows = place, kind.startswith(WINDOWS)
        self.folder = (DRIVE / "tests" if self.is_windows else place.folder) / f"{kind}-{uuid.uuid4().hex[:8]}"
        self.folder.mkdir(parents=True)
        if self.is_windows:
            library = "original" if kind == ORIGINAL else "ours"
            for file in ("schwann.exe", "counter.exe", f"{library}/lsl.dll"):
                source = DRIVE / "tests" / file
                os.link(source, self.folder / source.name)
        else:
            (self.folder / "liblsl.so.2").symlink_to(LIBRARIES[kind])

    def path(self, name):
        """A file of the folder, as programs of this machine call it."""
        return f"C:\\tests\\{self.folder.name}\\{name}" if self.is_windows else str(self.folder / name)

    def keys(self):
        """The folder of its keys; Windows has them in the profile of their user alone."""
        return f"C:\\users\\{getpass.getuser()}\\{self.folder.name}" if self.is_windows else self.path("keys")

    def start(self, program, *arguments, settings=None, **environment):
        (self.folder / "lsl_api.cfg").write_text(self.place.config({k.replace("__", "."): v for k, v in (settings or {}).items()}))
        here = {"counter": COUNTER, "schwann": PROGRAM}
        command = ["wine", self.path(f"{program}.exe")] if self.is_windows else [here[program]]
        environment = {"LSLAPICFG": self.path("lsl_api.cfg"), "SCHWANN_KEYS": self.keys(), "LD_LIBRARY_PATH": str(self.folder),
                       **environment}
        return subprocess.Popen([*command, *arguments], cwd=self.folder, env={**os.environ, **environment}, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, program, *arguments, said="", **environment):
        """Runs a program to its end; returns what it prints."""
        process = self.start(program, *arguments, **environment)
        out, error = process.communicate(said, timeout=SECONDS)
        assert process.returncode == 0, (arguments, process.returncode, out, error)
        return out


@pytest.fixture
def machine(place):
    machines = []

    def make(kind):
        machines.append(Machine(place, kind))
        return machines[-1]

    yield make
    for one in machines:
        shutil.rmtree(one.folder)
        shutil.rmtree(DRIVE / "users" / getpass.getuser() / one.folder.name, ignore_errors=True)


def ended(process):
    out, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, (out, error)
    return out


def exchange(sender, receiver, channels, rate, seconds, **more):
    name = uuid.uuid4().hex
    sending = sender.start("counter", "send", name, str(channels), str(rate), str(seconds), **more)
    received = ended(receiver.start("counter", "receive", name, str(rate * seconds), **more))
    assert f"sent {rate * seconds} samples" in ended(sending)
    return received


@pytest.mark.parametrize("sends,receives", PAIRS)
def test_every_sample_arrives(machine, sends, receives):
    received = exchange(machine(sends), machine(receives), 64, 1000, 2)
    assert ("Schwann" in received) == ("original" not in receives)


@pytest.mark.parametrize("sends,receives", FAST_PAIRS)
def test_fast_streams_lose_nothing(machine, sends, receives):
    exchange(machine(sends), machine(receives), 384, 30_000, 2)


@pytest.mark.parametrize("sends,receives", FAST_PAIRS)
def test_known_peers_are_found_without_multicast(machine, sends, receives):
    sender, receiver, name = machine(sends), machine(receives), uuid.uuid4().hex
    # Nothing that is asked by multicast reaches the outlet.
    sending = sender.start("counter", "send", name, "8", "100", "1", settings={"multicast__AddressesOverride": "{239.255.77.1}"})
    ended(receiver.start("counter", "receive", name, "100"))
    ended(sending)


@pytest.mark.parametrize("sends,receives", FAST_PAIRS)
def test_an_inlet_goes_on_with_a_sender_that_was_started_anew(machine, sends, receives):
    sender, receiver, name = machine(sends), machine(receives), uuid.uuid4().hex
    first = sender.start("counter", "send", name, "8", "100", "60")
    receiving = receiver.start("counter", "receive", name, "500")
    while receiving.stdout.readline() != "receiving\n":
        assert receiving.poll() is None
    first.kill()
    first.communicate()
    second = sender.start("counter", "send", name, "8", "100", "5")
    assert "from 2 senders, 0 wrong values" in ended(receiving)
    ended(second)


@pytest.mark.parametrize("sends,receives", [(WINDOWS, LINUX), (LINUX, WINDOWS)])
def test_two_members_of_a_lab_exchange_sealed_samples(machine, sends, receives):
    sender, receiver = machine(sends), machine(receives)
    windows, linux = sorted((sender, receiver), key=lambda one: one.is_windows, reverse=True)
    lab = new_lab(linux.folder / "keys")
    request = windows.run("schwann", "keys", "new-device", "amplifier", "--unprotected")
    issued = keys(lab, "issue", "--yes", last_word(request, "keys issue"))
    windows.run("schwann", "keys", "trust", "--unprotected", said=issued)
    exchange(sender, receiver, 64, 1000, 2, SCHWANN_SECURITY="require")
    # A stranger to the lab sees nothing of it.
    stranger, name = machine(LINUX), uuid.uuid4().hex
    sending = sender.start("counter", "send", name, "8", "100", "1", SCHWANN_SECURITY="require")
    seen = stranger.start("schwann", "--once", "--json")
    assert name not in seen.communicate(timeout=SECONDS)[0]
    ended(receiver.start("counter", "receive", name, "100", SCHWANN_SECURITY="require"))
    ended(sending)


def test_the_program_records_what_the_other_system_sends_and_both_verify_it(machine):
    windows, linux = machine(WINDOWS), machine(LINUX)
    for sender, recorder in ((windows, linux), (linux, windows)):
        sending = sender.start("schwann", "fake", "--seconds", "20", "sine:8@250")
        recorder.run("schwann", "record", "--seconds", "3", "-o", recorder.path("a.xdf"), "name='Fake sine:8@250'")
        sending.kill()
        sending.communicate()
        for judge in (windows, linux):
            file = judge.folder / "judged.xdf"
            shutil.copy(recorder.folder / "a.xdf", file)
            assert "whole" in judge.run("schwann", "verify", judge.path("judged.xdf"))


def test_the_demo_sends_receives_and_finds_every_value_right(machine):
    judged = json.loads(machine(WINDOWS).run("schwann", "demo", "--seconds", "3", "--json"))
    assert judged["good"] and judged["samples"]["right"] == judged["samples"]["sent"] > 2000


def test_another_program_runs_on_our_library(machine):
    ours, bare = machine(WINDOWS), machine(ORIGINAL)
    (bare.folder / "lsl.dll").unlink()
    name = uuid.uuid4().hex
    sending = ours.start("counter", "send", name, "8", "100", "1")
    received = ours.run("schwann", "run", "--", bare.path("counter.exe"), "receive", name, "100")
    assert "Schwann" in received
    ended(sending)


def test_the_dashboard_serves_its_page(machine):
    serving = machine(WINDOWS).start("schwann", "dash", "--no-browser", "--port", "0")
    address = next(word for line in serving.stdout for word in line.split() if word.startswith("http://"))
    # As a browser: the address of the first visit is worth a cookie.
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(address, timeout=SECONDS) as page:
        assert b"<title>" in page.read()
    serving.kill()
    serving.communicate()


def test_doctor_says_what_it_looked_at(machine):
    checkup = machine(WINDOWS).start("schwann", "doctor")
    out, error = checkup.communicate(timeout=SECONDS)
    assert checkup.returncode in (0, 1) and out.strip(), (out, error)
    print(out)


def test_a_recording_is_played_to_the_other_system(machine):
    windows, linux, name = machine(WINDOWS), machine(LINUX), uuid.uuid4().hex
    sending = windows.start("counter", "send", name, "8", "100", "60")
    linux.run("schwann", "record", "--seconds", "4", "-o", linux.path("a.xdf"), f"name='{name}'")
    sending.kill()
    sending.communicate()
    shutil.copy(linux.folder / "a.xdf", windows.folder)
    playing = windows.start("schwann", "play", windows.path("a.xdf"), "--wait", "1", "--as", f"again-{name}")
    ended(linux.start("counter", "receive", f"again-{name}", "200"))
    ended(playing)
