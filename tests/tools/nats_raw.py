"""A client of NATS in its own words, for those who are no members: it publishes and reads whatever it likes."""

import base64
import contextlib
import json
import socket
import ssl


class Client:
    """A connection to a server over TLS, whose certificate does not matter here."""

    def __init__(self, port: int, user: str, password: str) -> None:
        raw = socket.create_connection(("127.0.0.1", port), 20)
        self.info = json.loads(self._line(raw).split(b" ", 1)[1])
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(raw)
        self.buffer = b""
        options = {"verbose": False, "pedantic": False, "user": user, "pass": password, "headers": True, "no_responders": True,
                   "protocol": 1, "name": "", "lang": "", "version": "1"}
        self.send(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())
        while (line := self.line()) != b"PONG":
            assert not line.startswith(b"-ERR"), line

    @staticmethod
    def _line(raw: socket.socket) -> bytes:
        line = b""
        while not line.endswith(b"\r\n"):
            line += raw.recv(1)
        return line

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self, count: int) -> bytes:
        while len(self.buffer) < count:
            self.buffer += self.socket.recv(1 << 16) or self._closed()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def line(self) -> bytes:
        while b"\r\n" not in self.buffer:
            self.buffer += self.socket.recv(1 << 16) or self._closed()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def _closed(self):
        raise ConnectionError("the hub closed the connection")

    def publish(self, subject: str, payload: bytes) -> None:
        self.send(f"PUB {subject} {len(payload)}\r\n".encode() + payload + b"\r\n")

    def subscribe(self, subject: str, number: int = 1) -> None:
        self.send(f"SUB {subject} {number}\r\n".encode())

    def unsubscribe(self, number: int = 1) -> None:
        self.send(f"UNSUB {number}\r\n".encode())

    def idle(self) -> None:
        """Answers the server's questions and drops what else came: one that is not read is thrown out."""
        self.socket.settimeout(0)
        with contextlib.suppress(ssl.SSLWantReadError):
            while True:
                self.buffer += self.socket.recv(1 << 16) or self._closed()
        self.socket.settimeout(20)
        asked, self.buffer = b"PING\r\n" in self.buffer, b""
        if asked:
            self.send(b"PONG\r\n")

    def flush(self) -> None:
        """Returns once the server has all that was published."""
        self.send(b"PING\r\n")
        while self.line() != b"PONG":
            pass

    def messages(self, count: int):
        """The next messages of all subscriptions: subject and payload."""
        while count:
            words = self.line().split()
            if words[:1] == [b"MSG"]:
                payload = self.read(int(words[-1]))
                self.read(2)
                count -= 1
                yield words[1].decode(), payload
            elif words[:1] == [b"HMSG"]:
                head, total = int(words[-2]), int(words[-1])
                payload = self.read(total)[head:]
                self.read(2)
                count -= 1
                yield words[1].decode(), payload
            elif words[:1] == [b"PING"]:
                self.send(b"PONG\r\n")

    def request(self, subject: str, payload: bytes = b"") -> bytes:
        inbox = "_INBOX.attacker"
        self.send(f"SUB {inbox} 99\r\nUNSUB 99 1\r\nPUB {subject} {inbox} {len(payload)}\r\n".encode() + payload + b"\r\n")
        return next(answer for to, answer in self.messages(1) if to == inbox)


def decode(text: str) -> bytes:
    return base64.b64decode(text)
