"""What of ours meets the BitTorrent clients: the peer `mse_peer`, `schwann mse check` and `schwann mse proxy`."""

import json
import os
import pathlib
import subprocess
import time
import typing

from mse_torrent import LOCAL, PIECE

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Programs(typing.NamedTuple):
    """What of ours takes part: a small peer for tests, and the program itself."""

    peer: pathlib.Path
    schwann: pathlib.Path


def programs_of_ours():
    """Where `checks/56-mse.sh` has built them."""
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    return Programs(built / "examples" / "mse_peer", built / "schwann")


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
