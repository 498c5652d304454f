"""A blocking client with time-outs."""

import socket
import time
from dataclasses import dataclass

import numpy as np

from . import wire
from .wire import NEVER, Malformed


class Refused(Exception):
    """The server refused a request. ``code`` is its reply: 261 put, 517 get, 773 flush, 1029 wait."""

    def __init__(self, code):
        super().__init__(f"the buffer returned an error ({code})")
        self.code = code


@dataclass
class Block:
    """Samples with the number of the first of them; ``values`` is samples × channels."""

    first: int
    values: np.ndarray


class Client:
    """Talks to a FieldTrip buffer.

    ``timeout`` is the longest time for a reply, in seconds, besides what a wait takes. One connection serves all
    requests; if it breaks, the request that notices raises ``ConnectionError`` and the next one connects again.
    """

    def __init__(self, address=None, timeout=10.0):
        self.timeout = timeout
        self._address = None
        self._socket = None
        if address is not None:
            self.connect(address)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.disconnect()

    @property
    def isConnected(self):
        return self._socket is not None

    def connect(self, hostname="localhost", port=None, patience=1.0):
        """Connects to ``HOST``, ``HOST:PORT``, ``buffer://HOST:PORT`` or the path of a UNIX socket.

        Tries for ``patience`` seconds, for a server that is about to start.
        """
        self.disconnect()
        self._address = _parse_address(hostname, port)
        deadline = time.monotonic() + patience
        while True:
            try:
                return self._open()
            except OSError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)

    def disconnect(self):
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def getHeader(self):
        """The header with the current counts, or None while no acquisition is running."""
        payload = self._ask(wire.GET_HDR)
        return None if payload is None else wire.decode_header(payload)

    def putHeader(self, nChannels, fSample, dataType, labels=None, chunks=None, response=True):
        """Replaces the header; drops all samples and events."""
        payload = wire.encode_header(nChannels, fSample, dataType, labels, chunks)
        self._tell(wire.PUT_HDR, payload, response=response)

    def getData(self, index=None):
        """Samples ``first, last`` (both included), or all in the ring: samples × channels. None if they are not there."""
        selection = b"" if index is None else wire.PAIR.pack(index[0], index[1])
        payload = self._ask(wire.GET_DAT, selection)
        return None if payload is None else wire.decode_samples(payload)

    def putData(self, D, response=True):
        """Appends samples: a matrix of samples × channels of the header's data type."""
        self._tell(wire.PUT_DAT, *wire.encode_samples(D), response=response)

    def getEvents(self, index=None):
        """Events ``first, last`` (both included), or all that are kept. None if there are none."""
        selection = b"" if index is None else wire.PAIR.pack(index[0], index[1])
        payload = self._ask(wire.GET_EVT, selection)
        if payload is None:
            return [] if index is None else None
        return wire.decode_events(payload)

    def putEvents(self, E, response=True):
        """Appends one event or several."""
        events = [E] if isinstance(E, wire.Event) else E
        self._tell(wire.PUT_EVT, b"".join(wire.encode_event(event) for event in events), response=response)

    def flushHeader(self):
        """Removes header, samples and events."""
        self._tell(wire.FLUSH_HDR)

    def flushData(self):
        """Removes the samples; their numbering starts again at 0."""
        self._tell(wire.FLUSH_DAT)

    def flushEvents(self):
        """Removes the events; their numbering starts again at 0."""
        self._tell(wire.FLUSH_EVT)

    def poll(self):
        """How many samples and events were written."""
        return self.wait(0, 0, 0)

    def wait(self, nsamples, nevents, timeout):
        """Waits until there are more samples or more events than given (``NEVER`` leaves one out), or ``timeout``
        milliseconds are over. Returns how many there are then."""
        payload = wire.WAIT.pack(nsamples, nevents, timeout)
        code, payload = self._exchange(wire.WAIT_DAT, payload, patience=self.timeout + timeout / 1000)
        if code != 0x0404:
            # One server says this at every time-out; with a header it means no more than that.
            header = self.getHeader()
            if header is None:
                raise Refused(code)
            return header.nSamples, header.nEvents
        if len(payload) < wire.PAIR.size:
            raise Malformed("a wait ended without the counts")
        return wire.PAIR.unpack_from(payload)

    def _ask(self, command, payload=b""):
        code, payload = self._exchange(command, payload, patience=self.timeout)
        return payload if code == 0x0204 else None

    def _tell(self, command, *parts, response=True):
        if not response:
            self._send(command + 0x0400, parts)
            return
        code, _ = self._exchange(command, *parts, patience=self.timeout)
        if code != (command & 0xFF00) | 0x04:
            raise Refused(code)

    def _exchange(self, command, *parts, patience):
        self._send(command, parts)
        try:
            # A socket's own clock starts again with each piece that arrives; a wait may also be very long.
            deadline = time.monotonic() + patience
            definition = self._receive(wire.DEFINITION.size, deadline)
            version, code, length = wire.DEFINITION.unpack(definition)
            if version != 1:
                raise Malformed("the server speaks another protocol")
            if code & 0xFF not in (4, 5):
                raise Malformed(f"a reply has the code {code:#x}")
            return code, self._receive(length, deadline)
        except BaseException:
            # The rest of this reply must not be taken for the next one.
            self.disconnect()
            raise

    def _send(self, command, parts):
        if self._socket is None:
            if self._address is None:
                raise ConnectionError("not connected")
            self._open()
        length = sum(len(part) for part in parts)
        try:
            self._socket.settimeout(self.timeout)
            definition = wire.DEFINITION.pack(1, command, length)
            # One write: a payload sent apart would wait for the acknowledgement of its definition.
            if length <= 1 << 16:
                self._socket.sendall(b"".join([definition, *parts]))
            else:
                self._send_parts([memoryview(part) for part in (definition, *parts) if len(part)])
        except BaseException:
            self.disconnect()
            raise

    def _send_parts(self, parts):
        while parts:
            sent = self._socket.sendmsg(parts) if hasattr(self._socket, "sendmsg") else self._socket.send(parts[0])
            while parts and sent >= len(parts[0]):
                sent -= len(parts.pop(0))
            if sent:
                parts[0] = parts[0][sent:]

    def _receive(self, length, deadline):
        # Memory grows with what arrives, not with what was announced.
        received = bytearray(min(length, 1 << 24))
        filled = 0
        while filled < length:
            if filled == len(received):
                received.extend(bytes(min(length - filled, len(received))))
            left = deadline - time.monotonic()
            if left <= 0:
                raise socket.timeout("no reply in time")
            self._socket.settimeout(min(left, 86400.0))
            try:
                count = self._socket.recv_into(memoryview(received)[filled:])
            except socket.timeout:
                continue
            if count == 0:
                raise ConnectionError("the server closed the connection")
            filled += count
        return received

    def _open(self):
        family, target = self._address
        if family == "unix":
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(self.timeout)
            try:
                self._socket.connect(target)
            except OSError:
                self.disconnect()
                raise
        else:
            self._socket = socket.create_connection(target, self.timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def follow(address, start="newest", timeout=None, block=None):
    """Yields each block of samples once, through restarts of the acquisition and of the server.

    ``start`` is "newest" (what comes from now on) or "oldest" (what the ring still has). Ends when nothing has come
    for ``timeout`` seconds. ``block`` is the longest block, in samples. What the ring has overwritten
    because this program was too slow is missing: ``first`` of the next block tells.
    """
    client = Client(timeout=10.0)
    client._address = _parse_address(address, None)
    header, following = None, 0
    quiet_since = time.monotonic()
    while timeout is None or time.monotonic() - quiet_since < timeout:
        try:
            if header is None:
                header = client.getHeader()
                if header is None:
                    time.sleep(0.02)
                    continue
                following = header.nSamples if start == "newest" else 0
                start = "oldest"
            total, _ = client.wait(following, NEVER, 200)
            if total < following:
                header = None
                continue
            if total == following:
                continue
            last = total - 1 if block is None else min(total, following + block) - 1
            values = client.getData((following, last))
            if values is None:
                current = client.getHeader()
                if current is None or not current.describes_the_same_as(header):
                    header = None
                else:
                    following = current.nSamples
                continue
            first, following = following, last + 1
            quiet_since = time.monotonic()
            yield Block(first, values)
        except Refused:
            header = None
        except OSError:
            time.sleep(0.05)
            try:
                current = client.getHeader()
                if current is None or not current.describes_the_same_as(header) or current.nSamples < following:
                    header = None
            except OSError:
                pass


def _parse_address(text, port):
    text = str(text)
    text = text[len("buffer://"):] if text.startswith("buffer://") else text
    if "/" in text:
        return "unix", text[:-2] if text.endswith(":0") else text
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        own_port = rest[1:]
    elif text.count(":") == 1:
        host, _, own_port = text.partition(":")
    else:
        host, own_port = text, ""
    return "tcp", (host, int(own_port) if own_port else port if port is not None else wire.PORT)
