"""Sealed streams between unchanged programs (pylsl), with somebody on the wire who listens.

Needs SCHWANN_LIBLSL, and SCHWANN_PROGRAM for the keys. Run by checks/53-sealed.sh.
"""

import os
import pathlib
import socket
import subprocess
import sys
import threading

import pytest

OURS = os.environ.get("SCHWANN_LIBLSL")
PROGRAM = os.environ.get("SCHWANN_PROGRAM")
REAL = os.environ.get("REAL_LIBLSL_118")
pytestmark = pytest.mark.skipif(not (OURS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set")

SAMPLE, SUBJECT = "canary-sample-5f1b", "canary-subject-77aa"

SENDER = f"""
import pylsl, sys
info = pylsl.StreamInfo("sealed-test", "Markers", 1, 0, "string", "sealed-test")
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

RECEIVER = """
import pylsl, sys
infos = pylsl.resolve_byprop("name", "sealed-test", 1, 30)
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
def network(request):
    base = 34000 + (os.getpid() * 7 + hash(request.node.name)) % 700 * 40
    return (f"[log]\nlevel=-2\n[ports]\nMulticastPort={base + 39}\nBasePort={base}\nIPv6=disable\n"
            f"[multicast]\nResolveScope=machine\n[lab]\nSessionID=sealed-{base}\n")


@pytest.fixture
def lab(tmp_path):
    keys = tmp_path / "keys"
    subprocess.run([PROGRAM, "keys", "init", "--unprotected", "--name", "both ends"], check=True,
                   env=dict(os.environ, SCHWANN_KEYS=str(keys)), stdout=subprocess.DEVNULL)
    return keys


class Listener:
    """Everything on the loopback wire, as somebody with a cable sees it."""

    def __init__(self):
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
                self.heard += self.socket.recv(1 << 17)
            except TimeoutError:
                pass

    def stop(self):
        self.going = False
        self.thread.join()
        return bytes(self.heard)


def exchange(sender_environment, receiver_environment, patience="30"):
    """Lets a sender and a receiver run, and returns what the receiver said."""
    sender = start(SENDER, sender_environment)
    try:
        info = sender.stdout.readline()
        receiver = start(RECEIVER, receiver_environment, patience)
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
    environment = machine(tmp_path, network, OURS, lab if sealed else None)
    try:
        listener = Listener()
    except PermissionError:
        pytest.skip("only root may listen on the wire")
    try:
        info, said = exchange(environment, environment)
    finally:
        heard = listener.stop()
    assert ("security:require as both ends" in info) == sealed
    assert said[0] == "open" and said[1] == ",".join(f"{SAMPLE}-{n}" for n in range(100))
    assert said[2:] == [SUBJECT, "True"]
    # Without keys the same words are there: the listener can hear.
    assert (SAMPLE.encode() in heard) != sealed
    assert (SUBJECT.encode() in heard) != sealed
    assert (b"LSL:timedata" in heard) != sealed


@pytest.mark.parametrize("stranger", ["ours", "real"])
def test_a_program_without_keys_gets_nothing(stranger, lab, network, tmp_path):
    library = OURS if stranger == "ours" else REAL
    _, said = exchange(machine(tmp_path, network, OURS, lab), machine(tmp_path, network, library), "3")
    assert said == ["refused"]


@pytest.mark.parametrize("stranger", ["ours", "real"])
def test_a_program_with_keys_takes_nothing_from_a_stranger(stranger, lab, network, tmp_path):
    library = OURS if stranger == "ours" else REAL
    _, said = exchange(machine(tmp_path, network, library), machine(tmp_path, network, OURS, lab), "3")
    assert said == ["refused"]


def test_in_migration_a_program_with_keys_talks_to_the_real_library(lab, network, tmp_path):
    prefer = machine(tmp_path, network, OURS, lab) | {"SCHWANN_SECURITY": "prefer"}
    for ends in [(prefer, machine(tmp_path, network, REAL)), (machine(tmp_path, network, REAL), prefer)]:
        _, said = exchange(*ends)
        assert said[0] == "open" and said[2] == SUBJECT
