"""Sealed streams between unchanged programs (pylsl), with an eavesdropper on the wire.

Needs SCHWANN_LIBLSL, and SCHWANN_PROGRAM for the keys. Run by checks/53-sealed.sh.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from conftest import free_ports
from labs import keys, new_device

OURS = os.environ.get("SCHWANN_LIBLSL")
PROGRAM = os.environ.get("SCHWANN_PROGRAM")
REAL = os.environ.get("REAL_LIBLSL_118")
pytestmark = pytest.mark.skipif(not (OURS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set")

SAMPLE, SUBJECT = "canary-sample-5f1b", "canary-subject-77aa"
NAME, KIND, SOURCE = "canary-name-41c2", "canary-type-8d03", "canary-source-e97f"

SENDER = f"""
import pylsl, sys
info = pylsl.StreamInfo("{NAME}", "{KIND}", 1, 0, "string", "{SOURCE}")
info.desc().append_child_value("subject", "{SUBJECT}")
outlet = pylsl.StreamOutlet(info)
print(pylsl.library_info(), flush=True)
for line in sys.stdin:
    if line.strip() == "wait":
        print(outlet.wait_for_consumers(30), flush=True)
    else:
        for number in range(100):
            outlet.push_sample(["{SAMPLE}-%d" % number])
        print("pushed", flush=True)
"""

RECEIVER = f"""
import pylsl, sys
infos = pylsl.resolve_byprop("name", "{NAME}", 1, 30 if len(sys.argv) < 3 else float(sys.argv[1]))
if not infos:
    print("unseen", flush=True)
    sys.exit(0)
print(infos[0].uid(), flush=True)
inlet = pylsl.StreamInlet(infos[0])
try:
    inlet.open_stream(float(sys.argv[1]))
except Exception as error:
    print("refused", flush=True)
    sys.exit(0)
print("open", flush=True)
print(",".join(inlet.pull_sample(30)[0][0] for _ in range(100)), flush=True)
info = inlet.info(30)  # its tree lives as long as it does
print(info.desc().child_value("subject"), flush=True)
print(abs(inlet.time_correction(30)) < 0.001, flush=True)
"""


def machine(folder, network, library, keys=None):
    """The environment of a program on a machine with these keys."""
    config = folder / f"{pathlib.Path(library).parent.name}.cfg"
    config.write_text(network)
    environment = dict(os.environ, PYLSL_LIB=library, LSLAPICFG=str(config), HOME=str(folder / "nobody"))
    environment.pop("XDG_CONFIG_HOME", None)
    environment.pop("SCHWANN_SECURITY", None)
    if keys:
        environment["SCHWANN_KEYS"] = str(keys)
    return environment


def start(script, environment, *arguments):
    return subprocess.Popen([sys.executable, "-c", script, *arguments], env=environment, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def ask(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.fixture
def network():
    base = free_ports(40)
    return (f"[log]\nlevel=-2\n[ports]\nMulticastPort={base + 39}\nBasePort={base}\nIPv6=disable\n"
            f"[multicast]\nResolveScope=machine\n[lab]\nSessionID=sealed-{base}\n")


@pytest.fixture
def lab(tmp_path):
    keys = tmp_path / "keys"
    subprocess.run([PROGRAM, "keys", "init", "--unprotected", "--name", "both ends"], check=True,
                   env=dict(os.environ, SCHWANN_KEYS=str(keys)), stdout=subprocess.DEVNULL)
    return keys


class Listener:
    """Everything on the loopback wire from and to a network's ports, as an attacker with a cable sees it."""

    def __init__(self, network):
        base = int(network.partition("BasePort=")[2].split()[0])
        self.ports = range(base, base + 40)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.2)
        self.heard, self.going = bytearray(), True
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        while self.going:
            try:
                frame = self.socket.recv(1 << 17)
                # Behind the Ethernet header and the IPv4 header, whose length its first byte tells.
                at = 14 + 4 * (frame[14] & 15)
                if any(int.from_bytes(frame[place:place + 2], "big") in self.ports for place in (at, at + 2)):
                    self.heard += frame
            except TimeoutError:
                pass

    def stop(self):
        self.going = False
        self.thread.join()
        return bytes(self.heard)


def exchange(sender_environment, receiver_environment, *arguments):
    """Lets a sender and a receiver run, and returns what the sender said of itself and the receiver of the stream."""
    sender = start(SENDER, sender_environment)
    try:
        info = sender.stdout.readline()
        receiver = start(RECEIVER, receiver_environment, *(arguments or ["30"]))
        uid = receiver.stdout.readline().strip()
        if uid == "unseen":
            return info, [uid]
        info += uid
        opened = receiver.stdout.readline().strip()
        if opened == "open":
            assert ask(sender, "wait") == "True"
            assert ask(sender, "push") == "pushed"
        said = [opened] + receiver.communicate(timeout=120)[0].split()
        return info, said
    finally:
        sender.kill()


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
def test_who_listens_on_the_wire_reads_nothing_of_a_sealed_stream(sealed, lab, network, tmp_path):
    # Between two programs of one computer the samples are on no wire, unless they are told to be.
    environment = machine(tmp_path, network, OURS, lab if sealed else None) | {"SCHWANN_LOCAL_SOCKET": "off"}
    try:
        listener = Listener(network)
    except PermissionError:
        pytest.skip("only root may listen on the wire")
    try:
        info, said = exchange(environment, environment)
    finally:
        heard = listener.stop()
    assert ("security:require as both ends, discovery sealed" in info) == sealed
    assert said[0] == "open" and said[1] == ",".join(f"{SAMPLE}-{n}" for n in range(100))
    assert said[2:] == [SUBJECT, "True"]
    # Without keys the same words are there: the listener can hear.
    assert (SAMPLE.encode() in heard) != sealed
    assert (SUBJECT.encode() in heard) != sealed
    assert (b"LSL:timedata" in heard) != sealed
    # Nor does it read that there is such a stream: neither a query nor an answer to one.
    uid = info.splitlines()[-1]
    session = network.rpartition("SessionID=")[2].strip()
    for word in (NAME, KIND, SOURCE, uid, session, "LSL:shortinfo", "<channel_count>", "<hostname>"):
        assert (word.encode() in heard) != sealed, word


@pytest.mark.parametrize("stranger", ["ours", "real"])
def test_a_program_without_keys_gets_nothing(stranger, lab, network, tmp_path):
    library = OURS if stranger == "ours" else REAL
    _, said = exchange(machine(tmp_path, network, OURS, lab), machine(tmp_path, network, library), "3", "soon")
    assert said == ["unseen"]


@pytest.mark.parametrize("stranger", ["ours", "real"])
def test_a_program_with_keys_takes_nothing_from_a_stranger(stranger, lab, network, tmp_path):
    library = OURS if stranger == "ours" else REAL
    _, said = exchange(machine(tmp_path, network, library), machine(tmp_path, network, OURS, lab), "3", "soon")
    assert said == ["unseen"]


def test_in_migration_a_program_with_keys_talks_to_the_real_library(lab, network, tmp_path):
    prefer = machine(tmp_path, network, OURS, lab) | {"SCHWANN_SECURITY": "prefer"}
    for ends in [(prefer, machine(tmp_path, network, REAL)), (machine(tmp_path, network, REAL), prefer)]:
        _, said = exchange(*ends)
        assert said[0] == "open" and said[2] == SUBJECT


def wait_for(condition, what):
    deadline = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


FOLLOWER = f"""
import pylsl
inlet = pylsl.StreamInlet(pylsl.resolve_byprop("name", "{NAME}", 1, 30)[0])
inlet.open_stream(30)
print("open", flush=True)
while True:
    print(inlet.pull_sample()[0][0], flush=True)
"""


def test_a_device_that_the_lab_revokes_is_out_while_the_others_stream_on(lab, network, tmp_path):
    devices = {name: tmp_path / name for name in ("stays", "leaves")}
    serials = {name: new_device(lab, folder, name) for name, folder in devices.items()}
    log = tmp_path / "security.log"
    sender = start(SENDER, machine(tmp_path, network, OURS, lab) | {"SCHWANN_SECURITY_LOG": str(log)})
    receivers = {}
    try:
        sender.stdout.readline()
        for name, folder in devices.items():
            receivers[name] = start(FOLLOWER, machine(tmp_path, network, OURS, folder))
            assert receivers[name].stdout.readline().strip() == "open"

        def events(kind):
            lines = log.read_text().splitlines() if log.exists() else []
            return [event for event in map(json.loads, lines) if event["event"] == kind]

        assert {event["device"]: event["serial"] for event in events("connect")} == serials
        keys(lab, "revoke", serials["leaves"])
        # Within 10 s the sender has seen the list; it goes on to the devices that stay, and stays on that
        # machine.
        wait_for(lambda: any("revoked" in event["reason"] for event in events("refuse")), "the revoked device is out")
        assert len(events("revoke")) == 1
        listed = lab / "lab.revoked"
        wait_for(lambda: (devices["stays"] / "lab.revoked").read_bytes() == listed.read_bytes(), "the list is handed on")
        assert (devices["leaves"] / "lab.revoked").read_bytes() != listed.read_bytes()
        assert SAMPLE not in log.read_text() and oct(log.stat().st_mode)[-3:] == "600"
        assert ask(sender, "push") == "pushed"
        assert receivers["stays"].stdout.readline().strip() == SAMPLE + "-0"
    finally:
        for process in (sender, *receivers.values()):
            process.kill()
            process.wait()


def test_a_stream_whose_keys_change_every_second_loses_nothing(lab, network, tmp_path):
    log = tmp_path / "security.log"
    environment = machine(tmp_path, network + "[security]\nsession_key_lifetime=1\n", OURS, lab)
    sender = start(SENDER, environment | {"SCHWANN_SECURITY_LOG": str(log)})
    sender.stdout.readline()
    receiver = start(FOLLOWER, environment)

    def events(kind):
        return [event for event in map(json.loads, log.read_text().splitlines()) if event["event"] == kind]

    try:
        assert receiver.stdout.readline().strip() == "open"
        deadline = time.monotonic() + 40
        # The log tells of changes once in ten seconds.
        while max((int(event["count"]) for event in events("rekey")), default=0) < 5:
            assert time.monotonic() < deadline, log.read_text()
            assert ask(sender, "push") == "pushed"
            assert [receiver.stdout.readline().strip() for _ in range(100)] == [f"{SAMPLE}-{n}" for n in range(100)]
        assert len(events("connect")) == 1
    finally:
        for process in (sender, receiver):
            process.kill()
            process.wait()


@pytest.mark.parametrize("restarted", [False, True], ids=["same sender", "sender restarted meanwhile"])
def test_a_laptop_that_sleeps_goes_on_where_it_was(restarted, lab, network, tmp_path):
    # The keys of the session change every second, also while the receiver sleeps.
    environment = machine(tmp_path, network + "[security]\nsession_key_lifetime=1\n", OURS, lab)
    sender = start(SENDER, environment)
    sender.stdout.readline()
    receiver = start(FOLLOWER, environment)
    everything = [f"{SAMPLE}-{number}" for number in range(100)]

    def received():
        return [receiver.stdout.readline().strip() for _ in everything]

    try:
        assert receiver.stdout.readline().strip() == "open"
        assert ask(sender, "push") == "pushed"
        assert received() == everything
        receiver.send_signal(signal.SIGSTOP)
        if restarted:
            sender.kill()
            sender.wait()
            sender = start(SENDER, environment)
            sender.stdout.readline()
        else:
            for _ in range(3):
                time.sleep(1.1)
                assert ask(sender, "push") == "pushed"
        receiver.send_signal(signal.SIGCONT)
        if restarted:
            assert ask(sender, "wait") == "True" and ask(sender, "push") == "pushed"
        for _ in range(1 if restarted else 3):
            assert received() == everything
    finally:
        for process in (sender, receiver):
            process.kill()
            process.wait()


LOCKED = """
import pylsl
try:
    pylsl.StreamOutlet(pylsl.StreamInfo("locked", "EEG", 1, source_id="locked"))
    print("made")
except RuntimeError:
    print("refused")
print(pylsl.resolve_streams(0.5))
"""


def test_a_locked_key_is_told_with_the_command_that_opens_it(network, tmp_path):
    folder = tmp_path / "locked"
    subprocess.run([PROGRAM, "keys", "init"], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, SCHWANN_KEYS=str(folder), SCHWANN_PASSPHRASE="correct horse"))
    environment = machine(tmp_path, network, OURS, folder) | {"XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LOCKED], env=environment, text=True, capture_output=True)
    assert done.stdout.split()[0] == "refused"
    assert "is locked; run `schwann keys unlock`" in done.stderr
    unlocked = environment | {"SCHWANN_PASSPHRASE": "correct horse"}
    done = subprocess.run([sys.executable, "-c", LOCKED], env=unlocked, text=True, capture_output=True)
    assert done.stdout.split()[0] == "made"


SECRETIVE = """
import pylsl, pathlib, ctypes
outlet = pylsl.StreamOutlet(pylsl.StreamInfo("secretive", "EEG", 1, source_id="secretive"))
status = pathlib.Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmLck:")))
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.parametrize("core_dumps", [False, True])
def test_keys_stay_out_of_swap_and_core_dumps(core_dumps, lab, network, tmp_path):
    environment = machine(tmp_path, network + f"[security]\ncore_dumps={int(core_dumps)}\n", OURS, lab)
    said = subprocess.run([sys.executable, "-c", SECRETIVE], env=environment, text=True, stdout=subprocess.PIPE, check=True)
    locked_kib, may_be_dumped = map(int, said.stdout.split())
    assert locked_kib >= 8 and bool(may_be_dumped) == core_dumps
