"""An attacker on the wire where a lab's revocation list is handed on, and where streams are searched over TCP.

The short form takes some seconds; SCHWANN_ATTACK=full runs every offset. Needs SCHWANN_LIBLSL and SCHWANN_PROGRAM. Run by
checks/54-attacker.sh. A member that is an attacker itself is in engine/tests/disloyal_member.rs.
"""

import os
import shutil
import time

import pytest

import lsl
from attacked import start
from attacker import ALERT, DOWN, UP, Actor, Anew, Tap, cut_at, everything, flip, only, pass_on, ports_of, resident_kib, say
from attacker import led_astray
from conftest import OURS, PATHS, wait_until
from labs import PROGRAM, keys, new_device, new_lab

FULL = os.environ.get("SCHWANN_ATTACK") == "full"
pytestmark = [pytest.mark.skipif(not (OURS in PATHS and PROGRAM), reason="SCHWANN_LIBLSL and SCHWANN_PROGRAM are not set"),
              pytest.mark.timeout(1800 if FULL else 120)]

# Which unit of which direction brings the update: behind the welcome, or behind message 3.
UPDATE = {"outlet": (DOWN, 2), "inlet": (UP, 3)}
REQUEST, ANSWER, CLOSE = (UP, 3), (DOWN, 2), (DOWN, 3)


def places(length, count):
    """So many places in so many bytes, or every one."""
    return range(length) if FULL else sorted({0, 1, 3, *range(0, length, max(1, length // count)), length - 1})


def alterations(elsewhere):
    """What can be done to a record in whose place another session has this one: names and changes."""
    flips = {f"byte {at} changed": flip(at, 1 << at % 8) for at in places(len(elsewhere), 4)}
    cuts = {f"cut at {at}": cut_at(at) for at in places(len(elsewhere), 4)}
    return {**flips, **cuts, "withheld": lambda own: b"", "replayed": lambda own: elsewhere,
            "replayed before": lambda own: elsewhere + own, "shortened": lambda own: own[:-1],
            "reversed": lambda own: own[:4] + own[:3:-1]}


class Lab:
    """A lab with a device that has not heard of the newest revocation list."""

    def __init__(self, folder):
        self.authority, self.behind, self.before = new_lab(folder / "authority"), folder / "behind", folder / "before"
        new_device(self.authority, self.behind, "behind")
        keys(self.authority, "revoke", new_device(self.authority, folder / "leaves", "leaves"))
        shutil.copytree(self.behind, self.before)

    def lists(self):
        return [(folder / "lab.revoked").read_bytes() for folder in (self.authority, self.behind)]


def meet(outlet, receiver, attack, unit):
    """An inlet's attempts until the attacker has had the unit in hand; returns it."""
    tap = Tap(ports_of(outlet.info().xml())[0], attack)
    inlet = receiver.inlet_of(receiver.info_from_xml(led_astray(outlet.info().xml(), tap.own_port)), recover=False)
    direction, number = unit
    try:
        end = time.monotonic() + 20
        while not (reached := [c.seen[direction][number] for c in tap.connections if len(c.seen[direction]) > number]):
            assert time.monotonic() < end, "the attack was never reached"
            try:
                inlet.open(0.05)
            except lsl.LslError:
                pass
        return reached[0]
    finally:
        inlet.destroy()
        tap.close()


@pytest.mark.parametrize("newer", UPDATE)
def test_a_revocation_list_that_is_attacked_on_its_way_is_not_taken_in(newer, place, tmp_path):
    lab, (direction, number) = Lab(tmp_path), UPDATE[newer]
    ends = [lab.authority, lab.behind] if newer == "outlet" else [lab.behind, lab.authority]
    sender, receiver = (start(place, folder, log__level=0) for folder in ends)
    behind = receiver if newer == "outlet" else sender
    outlet = sender.outlet(channels=1, format="int32", source="attacked")
    new, old = lab.lists()
    assert new != old
    # The same update in another session, which never arrived.
    elsewhere = meet(outlet, receiver, only(direction, number, cut_at(0)), (direction, number))
    assert len(elsewhere) > 200
    attacks = alterations(elsewhere)
    for name, change in attacks.items():
        meet(outlet, receiver, only(direction, number, change), (direction, number))
        assert lab.lists() == [new, old] and "revocation list 2" not in behind.log.read_text(), name
    print(f"{len(attacks)} attacks on the list from the {newer}, none taken in")
    meet(outlet, receiver, pass_on, (direction, number + 1))
    wait_until(lambda: lab.lists() == [new, new])
    assert "revocation list 2" in behind.log.read_text()


def test_an_old_revocation_list_does_not_come_back(place, tmp_path):
    lab = Lab(tmp_path)
    receiver = start(place, lab.authority)
    new, old = lab.lists()
    # A device that was away, or was set back, learns of the newer list, and no device of the older one.
    restored = start(place, lab.before)
    outlet = restored.outlet(channels=1, format="int32", source="attacked")
    meet(outlet, receiver, pass_on, (DOWN, 2))
    wait_until(lambda: (lab.before / "lab.revoked").read_bytes() == new)
    assert lab.lists() == [new, old]


class Search:
    """A stream that is found over TCP alone, through whatever listens at one port."""

    def __init__(self, place, keys):
        self.place, self.keys, self.port = place, keys, place.base + 16
        self.sender = start(place, keys, ports__PortRange=8)
        self.outlet = self.sender.outlet(name="Found", channels=1, format="int32", source="searched")
        self.outlet_port = ports_of(self.outlet.info().xml())[0]
        # No program listens to its datagrams.
        self.receiver = start(place, keys, ports__BasePort=self.port, ports__PortRange=2, lab__ResolveOverTCP=1,
                              ports__MulticastPort=place.base + 20, lab__KnownPeers="{}", multicast__MachineAddresses="{}",
                              multicast__AddressesOverride="{127.0.0.99}", tuning__UnicastMaxRTT=0.5,
                              tuning__MulticastMinRTT=0.02, tuning__ContinuousResolveInterval=0.02)

    def tap(self, attack, port=None):
        return Tap(port or self.outlet_port, attack, self.port)

    def under(self, attacks, patience=60.0):
        """Lets one search meet all attacks, each on its unit; nothing may be found before they cease."""
        tap = self.tap(Anew([only(*unit, change) for unit, change in attacks]))
        resolver = self.receiver.resolver(predicate="channel_count=1")
        try:
            def done():
                assert resolver.names() == [], "something altered was believed"
                # A connection may end for another reason, before the attack's turn; then that attack has another.
                return all(any(len(connection.seen[way]) > number for connection in tap.connections[index::len(attacks)])
                           for index, ((way, number), _) in enumerate(attacks))

            wait_until(done, patience)
            # The last one may still be on its way.
            count = len(tap.connections)
            wait_until(lambda: len(tap.connections) > count)
            assert resolver.names() == []
            tap.attack = pass_on
            wait_until(lambda: resolver.names() == ["Found"], 20.0)
        finally:
            resolver.destroy()
            tap.close()

    def recorded(self):
        """What both ends said in one honest search."""
        tap = self.tap(pass_on)
        try:
            assert [info.name() for info in self.receiver.resolve_predicate("channel_count=1")] == ["Found"]
            wait_until(lambda: tap.connections[0].over.is_set())
            return tap.connections[0]
        finally:
            tap.close()

    def finds_nothing_at(self, actor, least=3):
        """Lets a search meet the actor that plays the outlet, a few times."""
        resolver = self.receiver.resolver(predicate="channel_count=1")
        try:
            wait_until(lambda: actor.count > least, 20.0)
            assert resolver.names() == []
        finally:
            resolver.destroy()
            actor.close()


@pytest.fixture
def search(place, tmp_path):
    return Search(place, new_lab(tmp_path / "authority"))


def test_a_sealed_search_over_tcp_believes_nothing_that_was_altered(search):
    honest = search.recorded()
    attacks = []
    for way, numbers in ((DOWN, range(4)), (UP, range(4))):
        for number in numbers:
            unit = honest.seen[way][number]
            attacks += [((way, number), flip(at, 1 << at % 8)) for at in places(len(unit), 3)]
    search.under(attacks)
    print(f"{len(attacks)} changed bytes, nothing found")


def test_a_sealed_search_over_tcp_believes_no_answer_that_was_cut(search):
    honest = search.recorded()
    attacks = []
    for unit in ((DOWN, 0), (DOWN, 1), ANSWER, CLOSE):
        length = len(honest.seen[DOWN][unit[1]])
        attacks += [(unit, cut_at(at)) for at in places(length, 4)]
    search.under(attacks)
    print(f"{len(attacks)} cuts, nothing found")


def test_a_sealed_search_over_tcp_believes_nothing_from_another_session(search):
    honest = search.recorded()
    attacks = []
    for unit in ((DOWN, 1), ANSWER, CLOSE, REQUEST):
        way, number = unit
        elsewhere = honest.seen[way][number]
        attacks += [(unit, lambda own, elsewhere=elsewhere: elsewhere),
                    (unit, lambda own, elsewhere=elsewhere: elsewhere + own), (unit, lambda own: b"")]
    attacks += [(unit, lambda own: own * 2) for unit in ((DOWN, 1), ANSWER, REQUEST)]
    attacks += [(ANSWER, lambda own, request=honest.seen[UP][3]: request)]
    search.under(attacks)
    # All that the outlet said, to an inlet that it was not said to; and all that the inlet said, to the outlet.
    heard = honest.wire(DOWN)
    search.finds_nothing_at(Actor(lambda fresh: (fresh.recv(4096), fresh.sendall(heard), everything(fresh, 0.3)), search.port))
    answer, ended = say(search.outlet_port, honest.wire(UP))
    assert ended and answer[-1:] == ALERT and b"Found" not in answer


def test_a_sealed_search_over_tcp_takes_no_answer_in_the_clear(search):
    plain = start(search.place, ports__PortRange=8).outlet(name="Plain", channels=1, format="int32", source="searched")
    tap = search.tap(pass_on, ports_of(plain.info().xml())[0])
    resolver = search.receiver.resolver(predicate="channel_count=1")
    wait_until(lambda: len(tap.connections) > 3, 20.0)
    assert resolver.names() == []
    assert all(not connection.wire(UP) or connection.sealed for connection in tap.connections)
    resolver.destroy()
    tap.close()
    document = plain.info().xml().encode()
    for head in (b"", b"LSL/110 200 OK\r\n\r\n", ALERT):
        search.finds_nothing_at(
            Actor(lambda fresh, head=head: (fresh.recv(4096), fresh.sendall(head + document)), search.port))


def test_a_sealed_search_over_tcp_bounds_what_a_stranger_sends(search):
    # What a first search needs is not the stranger's doing.
    search.recorded()
    began, sent = resident_kib(search.receiver.process.pid), []

    def endless(head):
        def play(fresh):
            fresh.recv(4096)
            fresh.sendall(head)
            for _ in range(256):
                fresh.sendall(bytes(1 << 18))
                sent.append(1 << 18)
        return play

    # How much the system takes of one answer depends on how soon the search hangs up.
    for _ in range(8):
        for head in (b"", b"\x05\xb0" + b"\x07" * 1456, b"\xff\xff", b"LSL/110 200 OK\r\n"):
            search.finds_nothing_at(Actor(endless(head), search.port), least=1)
        if sum(sent) >> 10 > 8 * 1024:
            break
    grown = resident_kib(search.receiver.process.pid) - began
    print(f"{sum(sent) >> 10} KiB taken by the system, the searching process grew by {grown} KiB")
    assert sum(sent) >> 10 > 8 * 1024
    assert grown < 2 * 1024


def test_an_outlet_of_another_lab_is_not_found_over_tcp(search, tmp_path):
    other = start(search.place, new_lab(tmp_path / "other"), ports__PortRange=8)
    outlet = other.outlet(name="Other", channels=1, format="int32", source="searched")
    tap = search.tap(pass_on, ports_of(outlet.info().xml())[0])
    resolver = search.receiver.resolver(predicate="channel_count=1")
    wait_until(lambda: len(tap.connections) > 3, 20.0)
    assert resolver.names() == []
    resolver.destroy()
    tap.close()
