"""An attacker who owns the wire between two processes: sees, changes, drops, repeats, reorders and makes up bytes.

A `Tap` sits between an inlet and an outlet's data port; a `ProbeTap` before its clock service. What an attack does is a
function of (direction, number, unit), which returns what is sent in the unit's place. Units of a sealed connection are
UP: first line, message 1, message 3, then records; DOWN: message 2, then records (secure-session §3, §4).
"""

import re
import select
import socket
import threading
import time

UP, DOWN = "inlet to outlet", "outlet to inlet"
# Units before the first record, and the outlet's first record: its greeting.
HANDSHAKE = {UP: 3, DOWN: 1}
HEADER, TAG = 4, 16
DATA, CONTROL, REKEY, CLOSE = range(4)
ALERT = b"\xff"


class Cut(Exception):
    """Ends the connection after these last bytes."""

    def __init__(self, last=b""):
        self.last = last


def pass_on(direction, number, unit):
    return unit


def only(direction, number, change):
    """Changes one unit; everything else passes."""
    return lambda way, at, unit: change(unit) if (way, at) == (direction, number) else unit


def flip(position, mask=0x01):
    def change(unit):
        changed = bytearray(unit)
        changed[position % len(unit)] ^= mask
        return bytes(changed)
    return change


def cut_at(offset):
    """Ends the connection within a unit."""
    def change(unit):
        raise Cut(unit[:offset])
    return change


def is_record(direction, number):
    return number >= HANDSHAKE[direction]


class Units:
    """Cuts what arrives on a socket into the protocol's units; a plain connection's are whatever one read gives."""

    def __init__(self, source, direction):
        self.source, self.direction, self.buffer, self.number, self.sealed = source, direction, b"", 0, True

    def __iter__(self):
        while (unit := self.next()) is not None:
            yield self.number, unit
            self.number += 1

    def next(self):
        if not self.sealed:
            return self.some()
        if self.direction == UP and self.number == 0:
            line = self.until(lambda b: b.find(b"\n") + 1)
            self.sealed = bool(line) and line.startswith(b"LSL:secure/")
            if not self.sealed:
                line, self.buffer = (line or b"") + self.buffer, b""
                return line or None
            return line
        if self.number < HANDSHAKE[self.direction]:
            return self.until(lambda b: 2 + int.from_bytes(b[:2], "big") if len(b) >= 2 else 0)
        return self.until(lambda b: HEADER + int.from_bytes(b[1:HEADER], "little") + TAG if len(b) >= HEADER else 0)

    def some(self):
        if self.buffer:
            got, self.buffer = self.buffer, b""
            return got
        try:
            return self.source.recv(1 << 16) or None
        except OSError:
            return None

    def until(self, length):
        """Takes `length(buffer)` bytes, once that is known and they are there; what is left at the end otherwise."""
        while not (wanted := length(self.buffer)) or len(self.buffer) < wanted:
            try:
                more = self.source.recv(1 << 16)
            except OSError:
                more = b""
            if not more:
                rest, self.buffer = self.buffer, b""
                return rest or None
            self.buffer += more
        unit, self.buffer = self.buffer[:wanted], self.buffer[wanted:]
        return unit


class Connection:
    """One inlet and one outlet with the attacker between them."""

    def __init__(self, inlet, outlet, attack):
        self.ends = {UP: (inlet, outlet), DOWN: (outlet, inlet)}
        self.attack, self.seen, self.lock, self.sealed = attack, {UP: [], DOWN: []}, threading.Lock(), None
        self.threads = [threading.Thread(target=self.carry, args=(way,), daemon=True) for way in (UP, DOWN)]
        self.over = threading.Event()

    def start(self):
        for thread in self.threads:
            thread.start()

    def carry(self, direction):
        source, target = self.ends[direction]
        units = Units(source, direction)
        if direction == DOWN:
            # A plain outlet's bytes have no records; it speaks after the inlet, so that is known by then.
            ready = select.poll()
            ready.register(source, select.POLLIN)
            ready.poll()
            units.sealed = self.sealed is not False
        try:
            for number, unit in units:
                if direction == UP and number == 0:
                    self.sealed = units.sealed
                with self.lock:
                    self.seen[direction].append(unit)
                target.sendall(self.attack(direction, number, unit) or b"")
        except Cut as cut:
            try:
                target.sendall(cut.last)
            except OSError:
                pass
        except OSError:
            pass
        self.end()

    def end(self):
        for end, _ in self.ends.values():
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.over.set()

    def close(self):
        self.end()
        for thread in self.threads:
            thread.join()
        for end, _ in self.ends.values():
            end.close()

    def wire(self, direction):
        with self.lock:
            return b"".join(self.seen[direction])

    def records(self, direction):
        with self.lock:
            return self.seen[direction][HANDSHAKE[direction]:]


class Anew:
    """Another attack for every connection, in turn."""

    def __init__(self, attacks):
        self.attacks, self.count = attacks, 0

    def next(self):
        self.count += 1
        return self.attacks[(self.count - 1) % len(self.attacks)]


class Tap:
    """Listens where the inlet believes the outlet to be."""

    def __init__(self, port, attack=pass_on, own_port=0):
        self.port, self.attack, self.connections = port, attack, []
        self.listener = socket.create_server(("127.0.0.1", own_port))
        self.own_port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    def accept(self):
        while True:
            try:
                inlet, _ = self.listener.accept()
                outlet = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            for end in (inlet, outlet):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            attack = self.attack.next() if isinstance(self.attack, Anew) else self.attack
            # Listed before its first byte passes: its receivers look here.
            self.connections.append(Connection(inlet, outlet, attack))
            self.connections[-1].start()

    def close(self):
        hang_up(self.listener)
        self.acceptor.join()
        for connection in self.connections:
            connection.close()


def hang_up(listener):
    """Closes a listener; shut down first, or a thread that waits in `accept` would wait on."""
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


class Actor:
    """Listens where the inlet believes the outlet to be, and plays the outlet itself: `play(socket)`."""

    def __init__(self, play, own_port=0):
        self.play, self.listener = play, socket.create_server(("127.0.0.1", own_port))
        self.own_port = self.listener.getsockname()[1]
        self.count = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                inlet, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            with inlet:
                inlet.settimeout(10)
                try:
                    self.play(inlet)
                except OSError:
                    pass

    def close(self):
        hang_up(self.listener)


class ProbeTap:
    """Stands before an outlet's clock service; `attack(direction, number, datagram)` returns a list of (delay in seconds,
    datagram, to whom: UP goes to the outlet, DOWN to the inlet)."""

    def __init__(self, port, attack):
        self.port, self.attack = port, attack
        self.front, self.back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for end in (self.front, self.back):
            end.bind(("127.0.0.1", 0))
        self.own_port, self.inlet, self.counts, self.late = self.front.getsockname()[1], None, {UP: 0, DOWN: 0}, []
        self.going = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.going:
            now = time.monotonic()
            for due in [one for one in self.late if one[0] <= now]:
                self.late.remove(due)
                self.send(*due[1:])
            wait = min([due[0] - now for due in self.late], default=0.05)
            for end in select.select([self.front, self.back], [], [], max(0.0, min(wait, 0.05)))[0]:
                datagram, peer = end.recvfrom(1 << 16)
                direction = UP if end is self.front else DOWN
                if direction == UP:
                    self.inlet = peer
                number, self.counts[direction] = self.counts[direction], self.counts[direction] + 1
                for delay, bytes_, way in self.attack(direction, number, datagram):
                    if delay:
                        self.late.append((time.monotonic() + delay, bytes_, way))
                    else:
                        self.send(bytes_, way)

    def send(self, datagram, direction):
        if direction == UP:
            self.back.sendto(datagram, ("127.0.0.1", self.port))
        elif self.inlet:
            self.front.sendto(datagram, self.inlet)

    def close(self):
        self.going = False
        self.thread.join()
        self.front.close()
        self.back.close()


def ports_of(xml):
    """The outlet's data and service port."""
    return tuple(int(re.search(f"<{name}>(\\d+)</{name}>", xml)[1]) for name in ("v4data_port", "v4service_port"))


def led_astray(xml, data=None, service=None):
    """The description as the attacker wants the inlet to have it: the same stream, elsewhere."""
    for name, port in (("v4data_port", data), ("v4service_port", service)):
        if port:
            xml = re.sub(f"<{name}>\\d+</{name}>", f"<{name}>{port}</{name}>", xml)
    return re.sub(r"<v4address\s*/>|<v4address>[^<]*</v4address>", "<v4address>127.0.0.1</v4address>", xml)


def say(port, *parts, pause=0.0, patience=3.0, address="127.0.0.1"):
    """Connects, says the parts, and returns all that is answered until the other end closes or patience ends."""
    with socket.create_connection((address, port), timeout=patience) as stranger:
        try:
            for part in parts:
                stranger.sendall(part)
                time.sleep(pause)
        except OSError:
            pass
        return everything(stranger, patience)


def everything(connection, patience):
    """All that comes until the end, and whether the end came."""
    heard, end = b"", time.monotonic() + patience
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            more = connection.recv(1 << 16)
        except TimeoutError:
            break
        except OSError:
            return heard, True
        if not more:
            return heard, True
        heard += more
    return heard, False


def resident_kib(process):
    """Peak resident memory of a process, KiB."""
    with open(f"/proc/{process}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])
