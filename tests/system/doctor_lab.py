"""Two computers in network namespaces, what is between them, and the programs that run on them.

Each lab has a namespace A that sends and a namespace B that looks. The first argument of the program that imports this is the
folder of ours.
"""

import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
NUMBERS = itertools.count()
SCRATCH = pathlib.Path(tempfile.mkdtemp())


def output(command: str) -> str:
    done = subprocess.run(command.split(), capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def run(command: str) -> None:
    output(command)


class Lab:
    """Two computers and what is between them."""

    def __init__(self) -> None:
        number = next(NUMBERS)
        self.a, self.b, self.router = (f"doctor-{os.getpid()}-{number}{letter}" for letter in "abr")
        self.stack = contextlib.ExitStack()
        # What both ends have, and what the one that looks has besides.
        self.ports, self.configuration = "[ports]\nIPv6=disable\n", ""
        self.more: dict[str, str] = {}

    def __enter__(self):
        for space in (self.a, self.b, self.router):
            run(f"ip netns add {space}")
            self.stack.callback(run, f"ip netns del {space}")
            run(f"ip -n {space} link set lo up")
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def cable(self, name: str = "cable") -> None:
        run(f"ip link add {name} netns {self.a} type veth peer name {name} netns {self.b}")
        for space, number in ((self.a, 1), (self.b, 2)):
            run(f"ip -n {space} addr add 10.99.0.{number}/24 dev {name}")
            run(f"ip -n {space} link set {name} up")
            run(f"ip -n {space} route add 224.0.0.0/4 dev {name}")
        self.wait_until_plugged(name)

    def wait_until_plugged(self, name: str, wanted: bool = True, spaces: tuple[str, ...] = ()) -> None:
        """The system takes up to a second to notice that a cable was plugged in, or is not any more."""
        deadline = time.monotonic() + 20
        for space in spaces or ((self.a, self.b) if wanted else (self.b,)):
            while ("NO-CARRIER" in output(f"ip -n {space} link show {name}")) == wanted:
                assert time.monotonic() < deadline, name
                time.sleep(0.02)

    def cable_of_ipv6(self) -> None:
        """A cable without IPv4, and the configuration that every computer has by itself."""
        self.ports = ""
        run(f"ip link add cable netns {self.a} type veth peer name cable netns {self.b}")
        for space, number in ((self.a, 1), (self.b, 2)):
            run(f"ip -n {space} addr add fd99::{number}/64 dev cable nodad")
            run(f"ip -n {space} link set cable up")
        self.wait_until_plugged("cable")

    def routed(self) -> None:
        """A router between two subnets, which passes on no multicast."""
        for space, net in ((self.a, 1), (self.b, 2)):
            run(f"ip link add cable netns {space} type veth peer name cable{net} netns {self.router}")
            run(f"ip -n {space} addr add 10.99.{net}.2/24 dev cable")
            run(f"ip -n {self.router} addr add 10.99.{net}.1/24 dev cable{net}")
            run(f"ip -n {space} link set cable up")
            run(f"ip -n {self.router} link set cable{net} up")
            run(f"ip -n {space} route add default via 10.99.{net}.1")
        run(f"ip netns exec {self.router} sysctl -qw net.ipv4.ip_forward=1")

    def in_a(self, command: str) -> None:
        run(f"ip netns exec {self.a} {command}")

    def in_b(self, command: str) -> None:
        run(f"ip netns exec {self.b} {command}")

    def environment(self, text: str) -> dict[str, str]:
        path = SCRATCH / f"{next(NUMBERS)}.cfg"
        path.write_text("[log]\nlevel=-2\n" + text)
        return {**os.environ, "LSLAPICFG": str(path)}

    def keys(self) -> dict[str, str]:
        """The environment of a computer that has just founded a lab."""
        environment = {**os.environ, "SCHWANN_KEYS": str(SCRATCH / f"keys{next(NUMBERS)}")}
        subprocess.run([PROGRAMS / "schwann", "keys", "init", "--unprotected"], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        return {"SCHWANN_KEYS": environment["SCHWANN_KEYS"]}

    def send(self, more: dict[str, str] = {}, space: str = "") -> None:
        """The stream Lab, in A unless another namespace is named."""
        process = subprocess.Popen(["ip", "netns", "exec", space or self.a, str(PROGRAMS / "examples" / "send_lab"), "Lab", "4", "100"],
                                   env=self.environment(self.ports) | more, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.communicate, timeout=20)
        if process.stdout.readline() != "sending\n":
            raise RuntimeError(f"the sender has ended: {process.wait()}")

    def device(self, days: int) -> dict[str, str]:
        """The environment of a new member of the lab whose authority `more` names, certified for so many days."""
        device = SCRATCH / f"keys{next(NUMBERS)}"

        def keys(folder, *words, said=None):
            return subprocess.run([PROGRAMS / "schwann", "keys", *words], env={**os.environ, "SCHWANN_KEYS": str(folder)}, check=True,
                                  input=said, capture_output=True, text=True).stdout
        request = keys(device, "new-device", device.name, "--unprotected").split()[-1]
        keys(device, "trust", said=keys(self.more["SCHWANN_KEYS"], "issue", "--yes", "--days", str(days), request))
        return {"SCHWANN_KEYS": str(device)}

    def fake(self, *arguments: str) -> None:
        """A made-up stream in A."""
        process = subprocess.Popen(["ip", "netns", "exec", self.a, str(PROGRAMS / "schwann"), "fake", "eeg:8@250", *arguments],
                                   env=self.environment(self.ports), stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.communicate, timeout=20)
        self.stack.callback(process.terminate)
        if not process.stdout.readline():
            raise RuntimeError(f"the sender has ended: {process.wait()}")

    def python(self, space: str, program: str, *arguments: str) -> None:
        """A program that says that it is ready, and ends with its input."""
        process = subprocess.Popen(["ip", "netns", "exec", space, sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.communicate, timeout=20)
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the helper has ended")

    def doctor(self, *arguments: str):
        return self.schwann("doctor", *arguments, "--json")

    def schwann(self, *arguments: str):
        """The exit code of a command in B, and the JSON that it prints."""
        command = ["ip", "netns", "exec", self.b, str(PROGRAMS / "schwann"), *arguments]
        environment = self.environment(self.ports + self.configuration) | self.more
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        try:
            return done.returncode, json.loads(done.stdout)
        except json.JSONDecodeError:
            raise RuntimeError(f"no JSON: {done.stdout!r} {done.stderr!r}") from None
