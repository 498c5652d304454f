"""A lab's day, for an attacker who records the wire: all that happens in one, each thing once or a few times.

What takes hours is made short: a session's key lives a second instead of an hour, streams send some hundred samples instead of
some hundred million, and everybody starts, leaves and fails within seconds. Nothing is left out for it.
"""

import struct
import time

import lsl
from attacked import start
from attacker import ports_of
from conftest import wait_until
from labs import keys, new_device, new_lab

NAME, KIND, SOURCE = "canary-name-31c9", "canary-type-88d0", "canary-source-e2f4"
SUBJECT, TEXT = "canary-subject-77aa", "canary-sample-5f1b"
NUMBER, REAL = 0x5EC2_E7CA_11A4_1E55, 1234.5678901234
# What a listener must not find of samples, descriptions and clock probes.
CONTENT = {"subject": SUBJECT.encode(), "text": TEXT.encode(), "probe": b"LSL:timedata", "request": b"LSL:streamfeed",
           "description": b"LSL:fullinfo", "integer": struct.pack("=q", NUMBER), "real": struct.pack("=d", REAL)}
# Of discovery.
NAMES = {"name": NAME.encode(), "kind": KIND.encode(), "source": SOURCE.encode(), "query": b"LSL:shortinfo"}
# Markers, and numbers of two kinds.
STREAMS = {"string": [TEXT.encode()], "int64": [NUMBER], "double64": [REAL]}
# A number that is sent once the guest is out.
AFTERWARDS = [-REAL]
# Seconds for which samples flow besides what happens, so that keys change.
FLOW = 2.2


def forget(inlet, timeout):
    """Pulls samples until none comes for so long: however many wait."""
    while inlet.drain(1000, timeout)[0]:
        pass


class Lab:
    """Key folders of the devices that take part; of none, where streams are plain."""

    def __init__(self, folder=None):
        self.devices = {name: folder / name if folder else None for name in ("authority", "amplifier", "late", "guest")}
        if folder:
            new_lab(self.devices["authority"])
            serials = {name: new_device(self.devices["authority"], self.devices[name], name)
                       for name in ("amplifier", "late", "guest")}
            self.guest = serials["guest"]
        self.is_sealed = bool(folder)

    def folders(self):
        return list(self.devices.values()) if self.is_sealed else []

    def has_newest(self, name):
        lists = [(self.devices[device] / "lab.revoked").read_bytes() for device in ("authority", name)]
        return lists[0] == lists[1]


class Day:
    """What happens, in order; `ports` are those that were used."""

    def __init__(self, place, lab, version):
        self.place, self.lab, self.ports, self.outlets = place, lab, set(range(place.base, place.base + place.ports)), {}
        self.changes = {"tuning__UseProtocolVersion": version}
        if lab.is_sealed:
            self.journal = place.folder / "security.log"
            self.changes |= {"security__session_key_lifetime": 1, "security__log": self.journal}

    def program(self, device, **changes):
        return start(self.place, self.lab.devices[device], **self.changes, **changes)

    def send(self):
        """The amplifier's program starts, for the first time or after a crash."""
        sender = self.program("amplifier")
        for format in STREAMS:
            outlet = sender.outlet(name=NAME, type=KIND, channels=1, format=format, source=f"{SOURCE}-{format}",
                                   desc=[("subject", SUBJECT)])
            self.ports |= set(ports_of(outlet.info().xml()))
            self.outlets[format] = outlet
        return sender

    def join(self, receiver, format, recover=True):
        found = receiver.resolve_predicate(f"name='{NAME}' and source_id='{SOURCE}-{format}'")
        inlet = receiver.inlet_of(found[0], recover=recover)
        inlet.open()
        return inlet

    def pass_samples(self, inlets):
        """Samples one by one and in a chunk, to every inlet that has joined."""
        for format, inlet in inlets.items():
            outlet, value = self.outlets[format], STREAMS[format]
            assert outlet.wait()
            for _ in range(20):
                outlet.push(value)
            outlet.push_chunk(value * 100)
            assert inlet.drain(120, 10.0) == ([value] * 120, None)

    def look_closer(self, inlets):
        """Descriptions and clock probes."""
        for inlet in inlets.values():
            assert SUBJECT in inlet.info().xml()
            assert abs(inlet.correction()) < 0.01

    def run(self):
        sender, receiver = self.send(), self.program("authority")
        inlets = {format: self.join(receiver, format) for format in STREAMS}
        self.pass_samples(inlets)
        self.look_closer(inlets)
        guest = self.join(self.program("guest"), "double64")
        self.flow(inlets)
        late = self.arrive_late()
        # The amplifier's program crashes; its listeners find it again.
        sender.kill()
        sender = self.send()
        for format, inlet in [*inlets.items(), ("string", late), ("double64", guest)]:
            self.find_again(inlet, format)
        receiver.stop()
        if self.lab.is_sealed:
            keys(self.lab.devices["authority"], "revoke", self.lab.guest)
        # The receiver comes again, and brings the newest list to the others.
        inlets = {format: self.join(receiver, format, recover=False)
                  for receiver in [self.program("authority")] for format in STREAMS}
        if self.lab.is_sealed:
            self.see_the_guest_off(guest, inlets)
        return self.see_through(inlets)

    def see_through(self, inlets):
        """Samples, descriptions and clock probes, and the end of every stream; returns all ports that were used."""
        self.pass_samples(inlets)
        self.look_closer(inlets)
        for format, outlet in self.outlets.items():
            outlet.destroy()
            assert inlets[format].drain(1, 10.0) == ([], lsl.LOST)
        return self.ports

    def flow(self, inlets):
        """Samples one by one, for longer than a key lives."""
        end = time.monotonic() + (FLOW if self.lab.is_sealed else 0)
        while time.monotonic() < end:
            for format, inlet in inlets.items():
                self.outlets[format].push(STREAMS[format])
                assert inlet.drain(1, 10.0) == ([STREAMS[format]], None)

    def find_again(self, inlet, format):
        """Samples until they come through again."""
        def has_come():
            self.outlets[format].push(STREAMS[format])
            return inlet.drain(1, 0.1) == ([STREAMS[format]], None)

        forget(inlet, 0.0)
        wait_until(has_come, 30.0)

    def arrive_late(self):
        """A device behind a network that lets no datagram through, while everybody streams."""
        late = self.program("late", lab__ResolveOverTCP=1, ports__MulticastPort=self.place.base + self.place.ports - 1,
                            lab__KnownPeers="{}", multicast__MachineAddresses="{}", multicast__AddressesOverride="{127.0.0.99}")
        inlet = self.join(late, "string")
        # One alone, which the others take as well.
        self.outlets["string"].push(STREAMS["string"])
        assert inlet.drain(1, 10.0) == ([STREAMS["string"]], None)
        return inlet

    def see_the_guest_off(self, guest, inlets):
        """The list reaches everybody whom it does not name; that one is out, is told so, and gets nothing that is sent afterwards."""
        wait_until(lambda: self.lab.has_newest("amplifier") and self.lab.has_newest("late"), 20.0)
        wait_until(lambda: "revoked" in "".join(line for line in self.journal.read_text().splitlines() if "refuse" in line), 20.0)
        assert not self.lab.has_newest("guest")
        # What was sent before the list may still wait: the guest has pulled nothing of what flowed.
        forget(guest, 0.2)
        for _ in range(20):
            self.outlets["double64"].push(AFTERWARDS)
        assert inlets["double64"].drain(20, 10.0) == ([AFTERWARDS] * 20, None)
        assert guest.drain(1, 0.5)[0] == []
