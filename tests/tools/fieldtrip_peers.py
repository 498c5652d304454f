"""The servers that the FieldTrip tests start, each a process of its own on this machine."""

import os
import pathlib
import re
import subprocess
import sys

SERVER = os.environ.get("SCHWANN_FT_SERVER")
"""The example program `buffer` of the crate."""

PROGRAM = os.environ.get("SCHWANN_CLI")
"""The program `schwann`."""

EEGSYNTH = """
import sys
import FieldTrip
server = FieldTrip.Server()
server.connect("127.0.0.1", int(sys.argv[1]))
print("ready", flush=True)
while True:
    server.loop()
"""


class Process:
    """A server; leaving the block ends it."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
        self.first_line = self.process.stdout.readline().strip()
        assert self.first_line, f"{command} ended at once"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.kill()

    def kill(self):
        """As `kill -9` does."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Schwann(Process):
    """Our server on a free port, or at a given address."""

    def __init__(self, *arguments, address="127.0.0.1:0"):
        super().__init__([SERVER, str(address), *map(str, arguments)])
        self.address = self.first_line

    @property
    def port(self):
        return int(re.search(r":(\d+)$", self.address)[1])

    @property
    def memory(self):
        """Resident memory in bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


class Tunnel:
    """A buffer as a program at the other end of a sealed session finds it: both ends, and the port there."""

    def __init__(self, address, folder):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SCHWANN_")}
        self.environment = kept | {"SCHWANN_KEYS": str(folder / "keys"), "XDG_RUNTIME_DIR": str(folder)}
        subprocess.run([PROGRAM, "keys", "init", "--unprotected"], env=self.environment, check=True, capture_output=True)
        self.shared = self.start("share", address, "--listen", "127.0.0.1:0")
        try:
            self.joined = self.start("join", self.shared.first_line.split()[-1], "127.0.0.1:0")
        except BaseException:
            self.shared.kill()
            raise
        self.port = int(re.search(r":(\d+)$", self.joined.first_line)[1])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.joined.kill()
        self.shared.kill()

    def start(self, *arguments):
        return Process([PROGRAM, "ft", "tunnel", *arguments], env=self.environment)
