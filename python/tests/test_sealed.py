"""Sealed streams between two devices of a lab, and who is refused. `SCHWANN_PROGRAM` is the program that makes keys."""

import json
import os
import pathlib
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator

import pytest

from conftest import PATIENCE

PROGRAM = os.environ.get("SCHWANN_PROGRAM", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="SCHWANN_PROGRAM is not set")

SENDER = """
import sys, schwann
with schwann.Outlet(sys.argv[1], "EEG", 2, rate=100.0, source_id=sys.argv[1]) as outlet:
    print("sends", flush=True)
    if outlet.wait_for_consumers(timeout=float(sys.argv[2])):
        # Before the receiver has what it came for, and leaves.
        print(outlet.receivers[0].name, flush=True)
        outlet.push([[1.0, 2.0], [3.0, 4.0]])
    input()
"""
RECEIVER = """
import json, sys, schwann

def opened(info):
    # A refusal is told when the time is over, and there is one as soon as the other end has answered.
    end = schwann.local_clock() + 30
    while True:
        try:
            return info.open(timeout=3, clock="sender")
        except schwann.TimedOutError:
            if schwann.local_clock() > end:
                raise

status = schwann.keys.status()
told = {"device": status.device and status.device.name, "key": status.device and status.device.fingerprint, "problem": status.problem}
try:
    told["policy"] = schwann.keys.policy(sys.argv[1])
    with opened(schwann.resolve(name=sys.argv[1], timeout=float(sys.argv[2]))[0]) as stream:
        told |= {"data": stream.pull(2, 30).data.tolist(), "sealed": stream.sealed, "peer": stream.peer, "refusal": stream.refusal}
except schwann.Error as error:
    told |= {"error": type(error).__name__, "says": str(error)}
print(json.dumps(told))
"""
Environment = dict[str, str]


def device(folder: pathlib.Path, **more: str) -> Environment:
    """The surroundings of a program with the keys in this folder, perhaps none."""
    return os.environ | {"SCHWANN_KEYS": str(folder), "SCHWANN_PASSPHRASE": "a lab of tests"} | more


def keys(environment: Environment, *words: str, said: str = "") -> str:
    done = subprocess.run([PROGRAM, "keys", *words], env=environment, input=said, capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == 0, (words, done)
    return done.stdout


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Environment]:
    """Two devices of one lab, one of another, and one without keys."""
    folder = tmp_path_factory.mktemp("labs")
    made = {name: device(folder / name) for name in ("Desk", "EEG room", "Elsewhere", "nobody")}
    for name in ("Desk", "Elsewhere"):
        keys(made[name], "init", "--unprotected", "--name", name)
    request = keys(made["EEG room"], "new-device", "EEG room").split()[-1]
    keys(made["EEG room"], "trust", said=keys(made["Desk"], "issue", "--yes", request))
    return made


@pytest.fixture
def send() -> Iterator[Callable[[Environment, str], subprocess.Popen[str]]]:
    senders: list[subprocess.Popen[str]] = []

    def begin(environment: Environment, name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SENDER, name, str(PATIENCE)]
        senders.append(subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert said(senders[-1]) == "sends"
        return senders[-1]

    yield begin
    for one in senders:
        one.kill()
        one.communicate()


Send = Callable[[Environment, str], "subprocess.Popen[str]"]


def said(program: "subprocess.Popen[str]") -> str:
    assert program.stdout is not None
    return program.stdout.readline().rstrip("\n")


def receive(environment: Environment, name: str, patience: float = PATIENCE) -> dict[str, object]:
    command = [sys.executable, "-c", RECEIVER, name, str(patience)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=4 * PATIENCE)
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(("sender", "receiver"), [("Desk", "EEG room"), ("EEG room", "Desk")])
def test_members_receive_from_each_other_sealed(lab: dict[str, Environment], send: Send, sender: str, receiver: str) -> None:
    name = f"Sealed {uuid.uuid4()}"
    program = send(lab[sender], name)
    told = receive(lab[receiver], name)
    assert told.pop("key") and told == {
        "device": receiver,
        "policy": "require",
        "problem": None,
        "data": [[1.0, 2.0], [3.0, 4.0]],
        "sealed": True,
        "peer": sender,
        "refusal": None,
    }
    assert receiver in said(program)


@pytest.mark.parametrize("stranger", ["Elsewhere", "nobody"])
def test_strangers_do_not_find_it(lab: dict[str, Environment], send: Send, stranger: str) -> None:
    name = f"Hidden {uuid.uuid4()}"
    program = send(lab["Desk"], name)
    told = receive(lab[stranger], name, patience=2.0)
    assert told["error"] == "TimedOutError" and name in str(told["says"]) and "`schwann doctor`" in str(told["says"]), told
    # It was there all the time.
    assert receive(lab["EEG room"], name)["sealed"] is True and "EEG room" in said(program)


def test_a_stranger_that_must_seal_is_told_what_brings_a_key(lab: dict[str, Environment]) -> None:
    told = receive(lab["nobody"] | {"SCHWANN_SECURITY": "require"}, "Any", patience=2.0)
    assert told["error"] == "UnsealedError" and "`schwann keys join`" in str(told["says"]) and told["problem"] == told["says"], told


def test_another_device_than_the_pinned_one_is_refused(lab: dict[str, Environment], send: Send, tmp_path: pathlib.Path) -> None:
    name = f"Pinned-{uuid.uuid4()}"
    send(lab["Desk"], name)
    own = str(receive(lab["EEG room"], "nobody", patience=0.1)["key"])
    pinned = tmp_path / "lsl_api.cfg"
    pinned.write_text(pathlib.Path(os.environ["LSLAPICFG"]).read_text() + f"[security]\npin = name='{name}' -> {own}\n")
    told = receive(lab["EEG room"] | {"LSLAPICFG": str(pinned)}, name)
    assert told["error"] == "UnsealedError" and "pinned to another device" in str(told["says"]), told
    assert "`schwann keys pin STREAM`" in str(told["says"]), told


def test_with_the_policy_prefer_a_plain_stream_comes_and_says_so(lab: dict[str, Environment], send: Send) -> None:
    name = f"Plain-{uuid.uuid4()}"
    send(lab["nobody"], name)
    told = receive(lab["Desk"] | {"SCHWANN_SECURITY": "prefer"}, name)
    assert (told["policy"], told["sealed"], told["peer"], told["data"]) == ("prefer", False, None, [[1.0, 2.0], [3.0, 4.0]]), told
    told = receive(lab["Desk"] | {"SCHWANN_SECURITY": "require"}, name, patience=2.0)
    assert told["error"] == "TimedOutError", told
