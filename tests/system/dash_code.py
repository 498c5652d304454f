"""The code for a camera that `dash --lan` shows on a terminal: it leads to the link of the role that is asked for."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from dash_lab import ENVIRONMENT, PROGRAMS, SESSION, expect
from dash_lan import KEYS

FINGERPRINT = re.compile(r"(?:[0-9A-F]{2}:){31}[0-9A-F]{2}")


def shown(columns: int, *arguments: str) -> str:
    """What a person sees in a window of so many columns, until the fingerprint, which is the end."""
    far, own = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 80, columns, 0, 0))
    command = [str(PROGRAMS / "schwann"), "dash", "--port", "0", "--no-browser", "--lan", "--session", SESSION, *arguments]
    process = subprocess.Popen(command, stdin=own, stdout=own, stderr=own, env={**ENVIRONMENT, "SCHWANN_KEYS": str(KEYS), "TERM": "xterm"})
    os.close(own)
    seen = b""
    try:
        while not FINGERPRINT.search(seen.decode(errors="replace")):
            seen += os.read(far, 65536)
    finally:
        process.terminate()
        process.wait(timeout=30)
        os.close(far)
    return seen.decode().replace("\r\n", "\n")


def check_code() -> None:
    for role in ("look", "mark", "record"):
        text = shown(120, "--qr", role) if role != "look" else shown(120)
        links = dict(re.findall(r"(look|mark|record):\s+(https://\S+)", text))
        expect(len(links) == 3, "a terminal shows a link for each role", text)
        code = "\n".join(line for line in text.splitlines() if re.fullmatch("[ █▀▄]{20,}", line))
        read = subprocess.run([str(PROGRAMS / "examples" / "read_code")], input=code, capture_output=True, text=True, timeout=60)
        expect(read.stdout.strip() == links[role], f"a camera reads the link of {role} there", (read.stdout, read.stderr, links[role]))
    text = shown(30)
    expect("█" not in text and len(re.findall(r"https://", text)) == 3, "a window that is too narrow shows the links alone", text)


if __name__ == "__main__":
    check_code()
