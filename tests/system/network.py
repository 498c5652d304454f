"""Finds streams between two network namespaces that are joined by a cable (a veth pair).

Usage: network.py <folder of the examples> <scratch folder> <name of namespace A> <name of namespace B>
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

EXAMPLES, SCRATCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
A, B = sys.argv[3:5]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def configuration(text: str) -> dict[str, str]:
    path = SCRATCH / "lsl_api.cfg"
    path.write_text("[log]\nlevel=-2\n" + text)
    return {**os.environ, "LSLAPICFG": str(path)}


def example(space: str, name: str, *arguments: str) -> list[str]:
    return ["ip", "netns", "exec", space, str(EXAMPLES / name), *arguments]


@contextlib.contextmanager
def streams(space: str, count: int, text: str = ""):
    """Sends streams named Sine-<number> from a namespace."""
    sender = subprocess.Popen(example(space, "send_sines", "Sine", str(count)), env=configuration(text),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if sender.stdout.readline() != "sending\n":
            raise SystemExit(f"the sender has ended: {sender.wait()}")
        yield
    finally:
        sender.communicate(timeout=20)


def find(space: str, text: str = "", *arguments: str) -> list[str]:
    command = example(space, "find_streams", "1.5", *arguments)
    return subprocess.run(command, env=configuration(text), check=True, capture_output=True, text=True,
                          timeout=60).stdout.splitlines()


def expect(what: str, count: int, found: list[str]) -> None:
    names = sorted({line.split(":")[0] for line in found})
    if len(names) != count or len(found) != count:
        raise SystemExit(f"FAILED: {what}: {count} streams expected, found {found}")
    print(f"ok: {what}")


def connect() -> None:
    run("ip", "link", "add", "cable", "netns", A, "type", "veth", "peer", "name", "cable", "netns", B)
    for space, number in ((A, 1), (B, 2)):
        run("ip", "-n", space, "addr", "add", f"10.99.0.{number}/24", "dev", "cable")
        run("ip", "-n", space, "addr", "add", f"fd99::{number}/64", "dev", "cable", "nodad")
        run("ip", "-n", space, "link", "set", "cable", "up")
    deadline = time.monotonic() + 20
    while any("tentative" in run("ip", "-n", space, "addr", "show", "cable") for space in (A, B)):
        if time.monotonic() > deadline:
            raise SystemExit("the link-local addresses stay tentative")
        time.sleep(0.05)


def check_one_computer() -> None:
    with streams(A, 40):
        expect("40 streams of a computer without a network are found", 40, find(A))
        expect("so are they if the search stays on the computer", 40, find(A, "[multicast]\nResolveScope=machine\n"))
    with streams(A, 40, "[ports]\nIPv6=disable\n"):
        expect("40 streams are found over IPv4 alone", 40, find(A, "[ports]\nIPv6=disable\n"))
    # Without a network Linux has no IPv6 multicast, so there can be no more than the service range has ports.
    with streams(A, 32, "[ports]\nIPv6=force\n"):
        expect("32 streams are found over IPv6 alone", 32, find(A, "[ports]\nIPv6=force\n"))


def check_two_computers() -> None:
    with streams(A, 3):
        expect("streams of another computer are found by multicast", 3, find(B))
        for version in ("disable", "force"):
            found = find(B, f"[ports]\nIPv6={version}\n", "--clocks")
            expect(f"with IPv6={version}", 3, found)
            if unknown := [line for line in found if "clock +0.00" not in line and "clock -0.00" not in line]:
                raise SystemExit(f"FAILED: their clocks are not measured: {unknown}")
        expect("a search of the machine stays there", 0, find(B, "[multicast]\nResolveScope=machine\n"))
        peer = "[multicast]\nResolveScope=machine\n[lab]\nKnownPeers={%s}\n"
        expect("a known peer is asked by unicast", 3, find(B, peer % "10.99.0.1"))
        expect("also over IPv6", 3, find(B, peer % "fd99::1"))
        expect("a wrong interface is skipped", 3, find(B, "[multicast]\nInterfaces={203.0.113.1, 10.99.0.2}\n"))
        expect("another session is another world", 0, find(B, "[lab]\nSessionID=other\n"))


def check_network_that_comes_back() -> None:
    with streams(A, 1):
        run("ip", "-n", B, "link", "del", "cable")
        expect("nothing is found without the cable, and nothing fails", 0, find(B))
        connect()
        expect("a stream whose network has come back is found by unicast", 1,
               find(B, "[lab]\nKnownPeers={10.99.0.1}\n"))
        deadline = time.monotonic() + 30
        # Not the group of all hosts, which every computer hears without joining it.
        site = "[multicast]\nAddressesOverride={239.255.172.215}\n"
        while not (found := find(B, site)) and time.monotonic() < deadline:
            pass
        expect("and soon by multicast, too", 1, found)


def main() -> None:
    for space in (A, B):
        run("ip", "netns", "add", space)
    try:
        for space in (A, B):
            run("ip", "-n", space, "link", "set", "lo", "up")
        check_one_computer()
        connect()
        check_two_computers()
        check_network_that_comes_back()
    finally:
        for space in (A, B):
            run("ip", "netns", "del", space)


if __name__ == "__main__":
    main()
