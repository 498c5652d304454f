"""Real BitTorrent clients, headless and on this machine only, for the MSE tests.

Each client is a separate program (libtorrent: a library in this process); nothing of theirs is linked to Schwann.
"""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

from mse_torrent import LOCAL


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
