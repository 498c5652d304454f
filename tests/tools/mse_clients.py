"""Real BitTorrent clients, headless and on this machine only, for the MSE tests.

Each client is a separate program (libtorrent: a library in this process); nothing of theirs is linked to Schwann.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import typing
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIECE = 64 * 1024
LOCAL = "127.0.0.1"


class Programs(typing.NamedTuple):
    """What of ours takes part: a small peer for tests, and the program itself."""

    peer: pathlib.Path
    schwann: pathlib.Path


def programs_of_ours():
    """Where `checks/56-mse.sh` has built them."""
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    return Programs(built / "examples" / "mse_peer", built / "schwann")


def free_port():
    with socket.socket() as probe:
        probe.bind((LOCAL, 0))
        return probe.getsockname()[1]


def wait_for_port(port, address=LOCAL, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no program listens on port {port}")


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


class Libtorrent:
    """libtorrent-rasterbar in this process. `mode`: rc4, plaintext (MSE handshake, plain payload), default, none."""

    MODES = {"rc4": (0, 2, True), "plaintext": (0, 1, False), "default": (1, 3, False), "none": (2, 3, False)}

    def __init__(self, mode, proxy_port=None):
        import libtorrent

        self.lt = libtorrent
        policy, level, prefer = self.MODES[mode]
        settings = {
            "listen_interfaces": f"{LOCAL}:0",
            "enable_dht": False,
            "enable_lsd": False,
            "enable_upnp": False,
            "enable_natpmp": False,
            "enable_incoming_utp": False,
            "enable_outgoing_utp": False,
            "allow_multiple_connections_per_ip": True,
            "in_enc_policy": policy,
            "out_enc_policy": policy,
            "allowed_enc_level": level,
            "prefer_rc4": prefer,
            "unchoke_interval": 1,
            "min_reconnect_time": 1,
            "alert_mask": libtorrent.alert.category_t.error_notification,
        }
        if proxy_port:
            settings |= {
                "proxy_type": int(libtorrent.proxy_type_t.socks5),
                "proxy_hostname": LOCAL,
                "proxy_port": proxy_port,
                "proxy_peer_connections": True,
                "proxy_tracker_connections": False,
            }
        self.session = libtorrent.session(settings)

    @property
    def port(self):
        deadline = time.monotonic() + 10
        while not self.session.listen_port() and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.session.listen_port()

    def add(self, torrent, seed):
        params = self.lt.add_torrent_params()
        params.ti = self.lt.torrent_info(self.lt.bdecode(torrent.meta))
        params.save_path = str(torrent.seed_folder if seed else torrent.leech_folder)
        flags = self.lt.torrent_flags
        params.flags &= ~(flags.auto_managed | flags.paused)
        if seed:
            params.flags |= flags.seed_mode
        handle = self.session.add_torrent(params)
        # Until then it knows no such torrent and closes on every peer that asks.
        states = self.lt.torrent_status.states
        wanted = {states.seeding} if seed else {states.downloading, states.finished, states.seeding}
        deadline = time.monotonic() + 10
        while handle.status().state not in wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        return handle

    def leech(self, torrent, port, seconds=75):
        """Fetches the torrent from one peer; says whether all of it came. Dials again while there is no connection:
        a peer that has just been started may close on the first, and libtorrent by itself waits a minute then."""
        handle = self.add(torrent, seed=False)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            handle.connect_peer((LOCAL, port))
            if torrent.wait_for_leech(5):
                return True
        return False

    def close(self):
        self.session.pause()
        del self.session


class Program:
    """A client that runs as a program."""

    def __init__(self, args, folder, port, address=LOCAL):
        self.port, self.address = port, address
        self.log = open(pathlib.Path(folder) / f"{pathlib.Path(args[0]).name}-{port}.log", "wb")
        env = {**os.environ, "HOME": str(folder), "TERM": "xterm"}
        self.process = subprocess.Popen(
            args, cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=env
        )
        wait_for_port(port, address)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


# What a client is told: RC4 or nothing; whatever it prefers by itself; no MSE, as far as it can be told so.
REQUIRED, PREFERRED, PLAIN = "required", "preferred", "plain"


def aria2(torrent, seed, crypto, address=LOCAL):
    """aria2: independent code, and strict about what comes before step 4. Nothing turns its MSE off."""
    port = free_port()
    folder = torrent.seed_folder if seed else torrent.leech_folder
    options = (
        ["--bt-require-crypto=true", "--bt-min-crypto-level=arc4"]
        if crypto == REQUIRED
        else ["--bt-require-crypto=false", "--bt-min-crypto-level=plain"]
    )
    args = [
        "aria2c", "--no-conf=true", "--enable-dht=false", "--enable-dht6=false", "--bt-enable-lpd=false",
        "--enable-peer-exchange=false", "--disable-ipv6=true", f"--interface={address}", f"--listen-port={port}",
        "--async-dns=false", "--file-allocation=none", "--check-integrity=true", "--bt-hash-check-seed=true",
        "--seed-ratio=0.0", "--seed-time=1000", *options, "-d", str(folder), str(torrent.file),
    ]  # fmt: skip
    return Program(args, torrent.folder, port, address)


def transmission(torrent, seed, crypto, address=LOCAL):
    """Transmission: independent code with useful quirks. It never dials 127.0.0.0/8."""
    port, rpc = free_port(), free_port()
    folder = torrent.seed_folder if seed else torrent.leech_folder
    config = torrent.folder / f"transmission-{port}"
    config.mkdir()
    settings = {
        "encryption": [PLAIN, PREFERRED, REQUIRED].index(crypto), "bind-address-ipv4": address, "peer-port": port,
        "peer-port-random-on-start": False, "port-forwarding-enabled": False, "dht-enabled": False,
        "lpd-enabled": False, "pex-enabled": False, "utp-enabled": False, "rpc-bind-address": LOCAL,
        "rpc-port": rpc, "rpc-authentication-required": False, "rpc-host-whitelist-enabled": False,
    }  # fmt: skip
    (config / "settings.json").write_text(json.dumps(settings))
    client = Program(["transmission-daemon", "-f", "-g", str(config)], torrent.folder, port, address)
    wait_for_port(rpc)
    arguments = {"metainfo": base64.b64encode(torrent.meta).decode(), "download-dir": str(folder)}
    body = json.dumps({"method": "torrent-add", "arguments": arguments}).encode()
    request = urllib.request.Request(f"http://{LOCAL}:{rpc}/transmission/rpc", body)
    try:
        urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as refused:
        # The first call answers 409 with the session's name.
        request.add_header("X-Transmission-Session-Id", refused.headers["X-Transmission-Session-Id"])
        urllib.request.urlopen(request, timeout=10)
    return client


def rtorrent(torrent, seed, crypto, address=LOCAL):
    """rtorrent: independent code with the strictest parser."""
    port = free_port()
    folder = torrent.seed_folder if seed else torrent.leech_folder
    state = torrent.folder / f"rtorrent-{port}"
    state.mkdir()
    options = {
        REQUIRED: "require,require_RC4",
        PREFERRED: "allow_incoming,try_outgoing,enable_retry,prefer_plaintext",
        PLAIN: "none",
    }[crypto]
    config = torrent.folder / f"rtorrent-{port}.rc"
    config.write_text(
        f"""system.daemon.set = true
network.port_range.set = {port}-{port}
network.bind_address.set = {address}
network.local_address.set = {address}
dht.mode.set = disable
protocol.pex.set = no
trackers.use_udp.set = no
protocol.encryption.set = {options}
session.path.set = {state}
directory.default.set = {folder}
schedule2 = load, 1, 0, ((load.start, "{torrent.file}"))
"""
    )
    return Program(["rtorrent", "-n", "-o", f"import={config}"], torrent.folder, port, address)


PROGRAMS = {
    "aria2": ("aria2c", aria2),
    "transmission": ("transmission-daemon", transmission),
    "rtorrent": ("rtorrent", rtorrent),
}


def installed(name):
    return shutil.which(PROGRAMS[name][0]) is not None


def fields(line):
    """Reads a line of `key=value` pairs."""
    return dict(pair.split("=", 1) for pair in line.split() if "=" in pair)


def fetch(programs, torrent, port, *options, address=LOCAL, seconds=60):
    """Fetches the torrent with our peer; returns what it printed. The data are compared."""
    out = torrent.folder / "fetched"
    where = f"{address}:{port}"
    command = [programs.peer, "fetch", where, torrent.info_hash, len(torrent.data), PIECE, out]
    done = subprocess.run([*map(str, command), *options], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == torrent.data
    return fields(done.stdout)


def refusal(programs, torrent, port, *options, address=LOCAL):
    """What our peer says when it fails to fetch."""
    where, out = f"{address}:{port}", torrent.folder / "not-fetched"
    command = [programs.peer, "fetch", where, torrent.info_hash, len(torrent.data), PIECE, out]
    done = subprocess.run([*map(str, command), *options], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0, done.stdout
    return done.stderr


class Server:
    """Our peer, seeding."""

    def __init__(self, programs, torrent, *options, address=LOCAL):
        where = f"{address}:0"
        command = [programs.peer, "serve", where, torrent.info_hash, torrent.seed_file, PIECE]
        self.process = subprocess.Popen([*map(str, command), *options], stdout=subprocess.PIPE, text=True)
        self.port = int(self.line()["listening"].rsplit(":", 1)[1])

    def line(self):
        return fields(self.process.stdout.readline())

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def check(programs, torrent, port, address=LOCAL):
    """Runs `schwann mse check`; returns its exit code and what it found: by probe, the method or "refused"."""
    command = [programs.schwann, "mse", "check", f"{address}:{port}", torrent.info_hash, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if not done.stdout:
        return done.returncode, done.stderr
    report = json.loads(done.stdout)
    return done.returncode, {found["probe"]: found.get("method", "refused") for found in report["probes"]}


class Proxy:
    """Our sidecar: `schwann mse proxy`."""

    def __init__(self, programs, folder, *options):
        self.log = pathlib.Path(folder) / "proxy.log"
        with open(self.log, "wb") as log:
            command = [programs.schwann, "mse", "proxy", *options]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        _, address = self.process.stdout.readline().split()
        self.port = int(address.rsplit(":", 1)[1])

    def logs(self, *words, seconds=20):
        """Whether it writes a line with all these words in time."""
        deadline = time.monotonic() + seconds
        while True:
            if any(all(word in line for word in words) for line in self.log.read_text().splitlines()):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)

    def methods(self):
        """The methods of the connections it has opened, in their order."""
        opened = [line for line in self.log.read_text().splitlines() if " opened, " in line]
        return [line.split(" opened, ")[1].split(",")[0] for line in opened]

    def close(self):
        self.process.terminate()
        try:
            assert self.process.wait(10) == 0, self.log.read_text()
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


def relay(programs, torrent, port, address=LOCAL):
    """Our sidecar in front of a plain client that listens on `port`."""
    client = f"{address}:{port}"
    options = ["--inward", f"{LOCAL}:0", "--client", client, "--torrent", torrent.info_hash]
    return Proxy(programs, torrent.folder, *options)
