"""A torrent of one file, and the tracker that names its peer, for the MSE tests."""

import hashlib
import http.server
import pathlib
import socket
import threading
import time
import urllib.parse

LOCAL = "127.0.0.1"
PIECE = 64 * 1024


def bencode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, str):
        return bencode(value.encode())
    if isinstance(value, list):
        return b"l" + b"".join(map(bencode, value)) + b"e"
    return b"d" + b"".join(bencode(k) + bencode(v) for k, v in sorted(value.items())) + b"e"


class Torrent:
    """A private torrent of one file, with its data."""

    def __init__(self, folder, data, name="recording.xdf", tracker=None):
        self.folder, self.data, self.name = pathlib.Path(folder), data, name
        pieces = b"".join(hashlib.sha1(data[at : at + PIECE]).digest() for at in range(0, len(data), PIECE))
        info = {"length": len(data), "name": name, "piece length": PIECE, "pieces": pieces, "private": 1}
        self.info_hash = hashlib.sha1(bencode(info)).hexdigest()
        self.meta = bencode({"info": info, **({"announce": tracker} if tracker else {})})
        self.seed_folder, self.leech_folder = self.folder / "seed", self.folder / "leech"
        for path in (self.seed_folder, self.leech_folder):
            path.mkdir(parents=True)
        self.file = self.folder / "recording.torrent"
        self.file.write_bytes(self.meta)
        self.seed_file = self.seed_folder / name
        self.seed_file.write_bytes(data)

    def wait_for_leech(self, seconds):
        """Waits until the leeching client's file equals the seeded one."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.leeched():
                return True
            time.sleep(0.1)
        return False

    def leeched(self):
        path = self.leech_folder / self.name
        return path.exists() and path.read_bytes() == self.data


class Tracker:
    """Hands out one peer, and keeps the queries."""

    def __init__(self):
        tracker = self
        self.peer, self.queries = None, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                tracker.queries.append(urllib.parse.urlparse(self.path).query)
                host, port = tracker.peer
                body = bencode({"interval": 60, "peers": socket.inet_aton(host) + port.to_bytes(2, "big")})
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((LOCAL, 0), Handler)
        self.url = f"http://{LOCAL}:{self.server.server_port}/announce"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
