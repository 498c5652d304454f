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
SECONDS = 150


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
    receiving = receiver.start("counter", "receive", name, "1500")
    while receiving.stdout.readline() != "receiving\n":
        assert receiving.poll() is None
    first.kill()
    first.communicate()
    second = sender.start("counter", "send", name, "8", "100", "15")
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


def test_the_keyring_of_windows_opens_the_key_for_every_program(machine):
    windows = machine(WINDOWS)
    founded = windows.run("schwann", "keys", "init", SCHWANN_PASSPHRASE="correct horse")
    assert "schwann keys remember" in founded
    locked = windows.start("counter", "send", uuid.uuid4().hex, "8", "100", "1")
    out, error = locked.communicate(timeout=SECONDS)
    assert locked.returncode != 0 and "run `schwann keys remember`" in error, (out, error)
    windows.run("schwann", "keys", "remember", SCHWANN_PASSPHRASE="correct horse")
    exchange(windows, windows, 64, 1000, 2)
    assert "in force   require" in windows.run("schwann", "keys", "status")
    windows.run("schwann", "keys", "forget")
    assert "is locked" in windows.start("schwann", "keys", "status").communicate(timeout=SECONDS)[0]


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
    recording = linux.start("schwann", "record", "--seconds", "4", "-o", linux.path("a.xdf"), f"name='{name}'")
    out, error = recording.communicate(timeout=SECONDS)
    # A sender that a busy machine holds up leaves a gap, and the recording says so.
    assert recording.returncode == 0 or (recording.returncode == 1 and " with about " in out + error), (out, error)
    sending.kill()
    sending.communicate()
    shutil.copy(linux.folder / "a.xdf", windows.folder)
    playing = windows.start("schwann", "play", windows.path("a.xdf"), "--wait", "1", "--as", f"again-{name}")
    ended(linux.start("counter", "receive", f"again-{name}", "200"))
    ended(playing)


REGISTRY = r"HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules"
VERSION = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"


def registry(*arguments):
    subprocess.run(["wine", "reg", *arguments], check=True, capture_output=True, timeout=SECONDS)


def test_doctor_names_a_program_that_the_firewall_blocks_and_the_command_of_windows(machine):
    program, rule = r"C:\lab\python.exe", f"rule-{uuid.uuid4()}"
    registry("add", REGISTRY, "/v", rule, "/d",
             f"v2.30|Action=Block|Active=TRUE|Dir=In|Protocol=17|Profile=Public|App={program}|Name=python|", "/f")
    try:
        checkup = machine(WINDOWS).start("schwann", "doctor", "--json")
        out, error = checkup.communicate(timeout=SECONDS)
        findings = {finding["code"]: finding for finding in json.loads(out)["findings"]}
        blocked = findings["firewall-blocks-program"]
        assert program in blocked["what"] and blocked["fix"].startswith("netsh advfirewall firewall set rule"), (blocked, error)
        # Wine's netsh takes every command and changes nothing.
        mending = machine(WINDOWS).start("schwann", "doctor", "--fix")
        _, asked = mending.communicate("y\n" * 9, timeout=SECONDS)
        assert "Run: netsh advfirewall firewall set rule name=" in asked and "schwann: netsh" not in asked, asked
    finally:
        registry("delete", REGISTRY, "/v", rule, "/f")


def test_an_old_windows_is_told_so_in_one_sentence(machine):
    windows = machine(WINDOWS)

    def complaint():
        asking = windows.start("schwann", "info", "absent.xdf")
        return asking.communicate(timeout=SECONDS)[1].splitlines()

    assert len(complaint()) == 1
    registry("add", VERSION, "/v", "CurrentBuildNumber", "/d", "17763", "/f")
    try:
        assert "older than Windows 10, version 2004" in complaint()[0]
    finally:
        registry("add", VERSION, "/v", "CurrentBuildNumber", "/d", "19045", "/f")


def test_programs_are_told_of_the_library_by_a_path_that_they_take(machine):
    said = machine(WINDOWS).run("schwann", "run", "--", "cmd", "/c", "set")
    told = {line.split("=")[0]: line.split("=")[1] for line in said.splitlines() if "=" in line}
    for variable in ("PYLSL_LIB", "MNE_LSL_LIB", "LSL_LIB"):
        assert told[variable].startswith("C:\\tests\\"), told


def test_a_newer_library_takes_the_place_of_one_that_a_program_has_loaded(machine):
    ours, bare, linux = machine(WINDOWS), machine(ORIGINAL), machine(LINUX)
    (bare.folder / "lsl.dll").unlink()

    def send(seconds):
        name = uuid.uuid4().hex
        sending = ours.start("schwann", "run", "--", bare.path("counter.exe"), "send", name, "8", "100", seconds)
        ended(linux.start("counter", "receive", name, "50"))
        return sending

    first = send("60")
    library = ours.folder / "lsl.dll"
    newer = library.read_bytes() + bytes(16)
    library.unlink()
    library.write_bytes(newer)
    ended(send("1"))
    copies = (DRIVE / "users").glob("*/AppData/Local/schwann/lib/*/lsl.dll")
    assert first.poll() is None and newer in [copy.read_bytes() for copy in copies]
    # Its program keeps the output open for a minute; no test waits for that.
    first.kill()
    first.wait(timeout=SECONDS)


def test_keys_are_not_written_where_other_users_read_them(machine):
    windows = machine(WINDOWS)
    founding = windows.start("schwann", "keys", "init", "--unprotected", SCHWANN_KEYS=windows.path("keys"))
    out, error = founding.communicate(timeout=SECONDS)
    assert founding.returncode != 0 and "outside your user profile" in error, (out, error)
    assert not (windows.folder / "keys").exists() and "founded" not in out


def test_a_folder_with_spaces_and_umlauts_is_one_like_any_other(machine):
    windows = machine(WINDOWS)
    (windows.folder / "Büro Köln").mkdir()
    file = windows.path("Büro Köln\\Größe 1.xdf")
    windows.run("schwann", "demo", "--seconds", "2", "--no-dash", "-o", file, LC_ALL="C.UTF-8")
    assert "whole" in windows.run("schwann", "verify", file, LC_ALL="C.UTF-8")
