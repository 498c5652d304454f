"""Pairs two computers, each a network namespace, over what lies between them: pairing.py FOLDER [WORD].

FOLDER is that of our programs. A is the lab's machine and B the new one. They meet over IPv4, over IPv6 without IPv4, over link-local
addresses alone, and across a router without multicast: found like a stream, or by the address that the screen of A shows.
"""

import contextlib
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from cases import case, run_cases  # noqa: E402
from doctor_lab import NUMBERS, PROGRAMS, SCRATCH, Lab, output, run  # noqa: E402

PATIENCE = 60


class Machine:
    """A folder of keys in a namespace."""

    def __init__(self, lab: Lab, space: str, config: str = "") -> None:
        self.name = f"machine {next(NUMBERS)}"
        self.folder = SCRATCH / self.name
        self.before = ["ip", "netns", "exec", space, str(PROGRAMS / "schwann"), "keys"]
        kept = {name: value for name, value in lab.environment(config).items() if not name.startswith("SCHWANN")}
        self.environment = kept | {"SCHWANN_KEYS": str(self.folder / "keys"), "HOME": str(self.folder)}

    def keys(self, *words: str, said: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([*self.before, *words], env=self.environment, input=said, capture_output=True, text=True, timeout=PATIENCE)

    def does(self, *words: str, said: str = "") -> str:
        done = self.keys(*words, said=said)
        assert done.returncode == 0, (words, done)
        return done.stdout

    @contextlib.contextmanager
    def serves(self, *words: str):
        process = subprocess.Popen([*self.before, *words], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


class Invited:
    """What the screen of `schwann keys invite` shows."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process, self.screen = process, ""
        while "three tries" not in self.screen:
            line = process.stdout.readline()
            assert line, f"the invitation has ended: {self.screen}"
            self.screen += line
        self.words = re.search(r"^  ((?:[a-z]+ ){5}[a-z]+)$", self.screen, re.MULTILINE)[1]
        self.places = re.findall(r"join --at (\S+)$", self.screen, re.MULTILINE)

    def ends_with(self, joined: str, name: str) -> None:
        """Both screens show the same six words, and the new machine is a member."""
        said, _ = self.process.communicate(timeout=PATIENCE)
        both = [re.search(r"Both screens show: (.+)", screen)[1] for screen in (said, joined)]
        assert self.process.returncode == 0 and both[0] == both[1] and f"in force   require as {name}" in joined, (said, joined)


@contextlib.contextmanager
def founded(config: str = "", config_of_guest: str | None = None):
    """Two computers; the first has founded a lab. The caller joins them by a network."""
    with Lab() as lab:
        control = Machine(lab, lab.a, config)

        def guest() -> Machine:
            return Machine(lab, lab.b, config if config_of_guest is None else config_of_guest)

        control.does("init", "--unprotected")
        yield lab, control, guest


@contextlib.contextmanager
def invited(control: Machine, guest: Machine):
    with control.serves("invite", guest.name, "--minutes", "2") as process:
        yield Invited(process)


def pairs(control: Machine, guest: Machine, at=lambda invitation: None) -> Invited:
    with invited(control, guest) as invitation:
        place = at(invitation)
        joined = guest.does("join", "--unprotected", *(("--at", place) if place else ()), said=invitation.words + "\n")
        invitation.ends_with(joined, guest.name)
    return invitation


def cable_without_ipv4(lab: Lab) -> None:
    lab.cable_of_ipv6()
    for space in (lab.a, lab.b):
        run(f"ip -n {space} -4 addr flush dev lo")
        assert "inet " not in output(f"ip -n {space} addr"), "there is IPv4"


@case
def two_computers_by_multicast_and_by_address():
    with founded() as (lab, control, guest):
        lab.cable()
        found = pairs(control, guest())
        assert found.places[0].startswith("10.99.0.1:"), found.places
        pairs(control, guest(), lambda invitation: invitation.places[0])
        pairs(control, guest(), lambda invitation: "10.99.0.1")


@case
def a_network_without_ipv4():
    with founded() as (lab, control, guest):
        cable_without_ipv4(lab)
        found = pairs(control, guest())
        assert found.places and all(place.startswith("[fd99::1]:") for place in found.places), found.places
        pairs(control, guest(), lambda invitation: invitation.places[0])
        pairs(control, guest(), lambda invitation: "fd99::1")
        pairs(control, guest(), lambda invitation: "[fd99::1]")
        # As a scanner types it.
        with invited(control, new := guest()) as invitation:
            joined = new.does("join", "--unprotected", said=f"{invitation.words} at {invitation.places[0]}\n")
            invitation.ends_with(joined, new.name)


@case
def a_network_of_link_local_addresses_alone():
    with founded() as (lab, control, guest):
        run(f"ip link add cable netns {lab.a} type veth peer name cable netns {lab.b}")
        for space in (lab.a, lab.b):
            run(f"ip -n {space} -4 addr flush dev lo")
            run(f"ip -n {space} link set cable up")
        lab.wait_until_plugged("cable")
        own = settled(lab.a)
        settled(lab.b)
        found = pairs(control, guest())
        # Its zone has another name on the other computer.
        assert not found.places and "same cable or switch" in found.screen, found.screen
        pairs(control, guest(), lambda invitation: f"{own}%cable")


def settled(space: str) -> str:
    """The link-local address, once the system has made sure that no other computer has it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        cards = json.loads(output(f"ip -n {space} -j -6 addr show dev cable"))
        ready = [one["local"] for card in cards for one in card.get("addr_info", []) if not one.get("tentative")]
        if ready:
            return ready[0]
        assert time.monotonic() < deadline, cards
        time.sleep(0.05)


@case
def one_of_both_versions_of_ip_and_one_of_ipv6_alone():
    with founded(config_of_guest="[ports]\nIPv6=force\n") as (lab, control, guest):
        lab.cable()
        for space, number in ((lab.a, 1), (lab.b, 2)):
            run(f"ip -n {space} addr add fd99::{number}/64 dev cable nodad")
        found = pairs(control, guest())
        assert [place.rpartition(":")[0] for place in found.places] == ["10.99.0.1", "[fd99::1]"], found.places
        pairs(control, guest(), lambda invitation: invitation.places[1])


@case
def no_place_is_shown_at_which_nothing_listens():
    with founded("[ports]\nIPv6=disable\n") as (lab, control, guest):
        lab.cable()
        run(f"ip -n {lab.a} addr add fd99::1/64 dev cable nodad")
        found = pairs(control, guest(), lambda invitation: invitation.places[-1])
        assert [place.rpartition(":")[0] for place in found.places] == ["10.99.0.1"], found.places


@case
def a_network_that_takes_no_multicast():
    with founded() as (lab, control, guest):
        lab.cable()
        lab.in_a("iptables -A INPUT -i cable -m pkttype ! --pkt-type unicast -j DROP")
        lab.in_a("ip6tables -A INPUT -i cable -j DROP")
        with invited(control, new := guest()) as invitation:
            done = new.keys("join", "--unprotected", said=invitation.words + "\n")
            assert done.returncode == 3 and "`--at`" in done.stderr and not (new.folder / "keys").exists(), done
            # That search has cost no try.
            joined = new.does("join", "--unprotected", "--at", "10.99.0.1", said=invitation.words + "\n")
            invitation.ends_with(joined, new.name)


@case
def two_subnets_with_a_router_between():
    with founded() as (lab, control, guest):
        lab.routed()
        pairs(control, guest(), lambda invitation: "10.99.1.2")
        pairs(control, guest(), lambda invitation: invitation.places[0])
        with invited(control, new := guest()) as invitation:
            # Nothing listens beside it.
            beside = f"10.99.1.2:{int(invitation.places[0].rpartition(':')[2]) - 1}"
            done = new.keys("join", "--unprotected", "--at", beside, said=invitation.words + "\n")
            assert done.returncode == 3 and "schwann keys invite" in done.stderr, done


@case
def a_certificate_is_renewed_without_ipv4():
    with founded() as (lab, control, guest):
        cable_without_ipv4(lab)
        places = {guest(): (), guest(): ("--at", "fd99::1")}
        for device in places:
            request = device.does("new-device", device.name, "--unprotected").split()[-1]
            device.does("trust", said=control.does("issue", "--yes", "--days", "20", request))
        with control.serves("renew", "--serve") as process:
            assert "Certificates are renewed" in process.stdout.readline()
            for device, place in places.items():
                assert "Renewed: certificate" in (said := device.does("renew", *place)), said




if __name__ == "__main__":
    run_cases(sys.argv[2:])
