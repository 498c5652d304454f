"""What the checks of the dashboard share: a network of their own, senders, the program."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAMS, STATE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
AXE = sys.argv[3] if len(sys.argv) > 3 else None
SESSION = f"dash-{os.getpid()}"
CONFIGURATION = pathlib.Path(tempfile.mkdtemp(), "lsl_api.cfg")
CONFIGURATION.write_text(f"[lab]\nSessionID={SESSION}\n[multicast]\nResolveScope=machine\n[ports]\nIPv6=disable\n[log]\nlevel=-1\n")
ENVIRONMENT = {**os.environ, "LSLAPICFG": str(CONFIGURATION)}


def expect(condition, what: str, found=None) -> None:
    if not condition:
        raise SystemExit(f"FAILED: {what}" + (f": {found}" if found is not None else ""))
    print(f"ok: {what}", flush=True)


@contextlib.contextmanager
def running(*command: str, **options):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               **{"env": ENVIRONMENT, **options})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def sender(name: str = "Lab", channels: int = 8, rate: int = 250):
    return running(str(PROGRAMS / "examples" / "send_lab"), name, str(channels), str(rate))


def fakes(*specifications: str):
    return running(str(PROGRAMS / "schwann"), "fake", *specifications)


@contextlib.contextmanager
def dashboard(*arguments: str, **options):
    """A dashboard, and the address that it prints."""
    command = [str(PROGRAMS / "schwann"), "dash", "--port", "0", *arguments]
    with running(*command, **options) as process:
        line = process.stdout.readline()
        url = re.search(r"https?://\S+", line)
        if not url:
            raise SystemExit(f"FAILED: no address of the dashboard in {line!r}")
        yield url[0], process


def origin_of(url: str) -> str:
    return re.match(r"https?://[^/]+", url)[0]


def port_of(url: str) -> int:
    return int(re.search(r":(\d+)/", url)[1])
