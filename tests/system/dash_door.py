"""Knocks at the door of the dashboard, as pages from elsewhere and other users of the computer would."""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import tempfile

from chromium import wait_for
from dash_lab import ENVIRONMENT, PROGRAMS, dashboard, expect, origin_of, port_of

NOBODY = 65534
UPGRADE = ("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")


def ask(port: int, path: str = "/", host: str | None = None, headers: str = "", raw: bytes | None = None) -> str:
    """Answers of the server to a request made by hand."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{port}'}\r\n{headers}\r\n"
        connection.sendall(raw if raw is not None else head.encode())
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                answer += part
                if answer.startswith(b"HTTP/1.1 101"):
                    break
    return answer.decode(errors="replace")


def enter(port: int, query: str) -> str:
    """The header with the cookie that the server gives for a token or a ticket."""
    welcome = ask(port, f"/?{query}")
    expect(welcome.startswith("HTTP/1.1 303") and re.search(r"Location: /\r", welcome), "the browser is sent on to a plain address",
           welcome[:60])
    return f"Cookie: {re.search(r'Set-Cookie: ([^;]+); HttpOnly; SameSite=Strict', welcome)[1]}\r\n"


def check_strangers(url: str) -> None:
    port = port_of(url)
    cookie = enter(port, url.partition("?")[2])
    origin = f"Origin: http://127.0.0.1:{port}\r\n"
    page = ask(port, headers=cookie)
    expect(page.startswith("HTTP/1.1 200"), "our own page is answered", page[:60])
    expect("default-src 'none'" in page and "nosniff" in page, "with headers that keep it in its place")
    for what, answer, status in (
        ("a name that points here is refused", ask(port, host=f"evil.example:{port}", headers=cookie), 403),
        ("another port in the host is refused", ask(port, host="127.0.0.1:1", headers=cookie), 403),
        ("a page of another origin is refused", ask(port, headers=f"Origin: http://evil.example\r\n{cookie}"), 403),
        ("its WebSocket is refused", ask(port, "/live", headers=f"Origin: http://evil.example\r\n{UPGRADE}{cookie}"), 403),
        ("a WebSocket without an origin is refused", ask(port, "/live", headers=f"{UPGRADE}{cookie}"), 403),
        ("our own WebSocket is opened", ask(port, "/live", headers=f"{origin}{UPGRADE}{cookie}"), 101),
        ("a path upwards leads nowhere", ask(port, "/../../etc/passwd", headers=cookie), 404),
        ("a request to change something is refused", ask(port, raw=b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"), 405),
        ("an endless head is refused", ask(port, raw=b"GET / HTTP/1.1\r\n" + b"a: " + b"b" * 40000), 431),
        ("noise is refused", ask(port, raw=b"\x16\x03\x01\x00\x00\r\n\r\n"), 400),
    ):
        expect(answer.startswith(f"HTTP/1.1 {status}"), what, answer[:60])
    for path in ("/", "/app.js", "/style.css", "/icon.svg", "/nothing"):
        expect(ask(port, path).startswith("HTTP/1.1 403"), f"without the token {path} is refused")
    expect(ask(port, "/live", headers=f"{origin}{UPGRADE}").startswith("HTTP/1.1 403"), "and so is its WebSocket")


def check_token() -> None:
    with dashboard("--no-browser") as (url, _):
        port, token = re.search(r":(\d+)/\?token=(\w{32})$", url).groups()
        port = int(port)
        locked = ask(port)
        expect(locked.startswith("HTTP/1.1 403"), "without the token nothing is answered")
        expect("schwann dash" in locked and "terminal" in locked, "but what to do")
        expect(token not in locked, "and the token is not told")
        expect(ask(port, f"/?token={token[::-1]}").startswith("HTTP/1.1 403"), "nor with a wrong one")
        cookie = enter(port, f"token={token}")
        expect(ask(port, headers=cookie).startswith("HTTP/1.1 200"), "and remembers it")
    command = [str(PROGRAMS / "schwann"), "dash", "--no-browser", "--bind", "0.0.0.0"]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    expect(ended.returncode != 0 and "--lan" in ended.stderr, "other computers are let in by TLS alone", ended.stderr)


def as_nobody(work) -> str:
    """What `work` returns in a process of another user."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def command_lines() -> str:
    """The arguments of all processes that this user can read."""
    lines = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes().decode(errors="replace"))
    return "\n".join(lines)


def check_other_user() -> None:
    """What another user finds in the list of processes opens nothing."""
    if os.geteuid() != 0:
        print("   not root: another user is not tried")
        return
    # A browser that was started by its address, as everybody sees it, and that takes its time.
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "xdg-open").write_text("#!/bin/sh\nsleep 60\n")
    (folder / "xdg-open").chmod(0o755)
    environment = {**ENVIRONMENT, "PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":0"}
    with dashboard(env=environment) as (url, _):
        port, token = port_of(url), url.partition("token=")[2]
        line = wait_for(lambda: re.search(rf"{re.escape(origin_of(url))}/\?\w+=\w+", as_nobody(command_lines)), "a browser is opened")[0]
        expect(token not in as_nobody(command_lines), "the token is on no command line")
        query = line.partition("?")[2]
        expect(as_nobody(lambda: ask(port, f"/?{query}")).startswith("HTTP/1.1 403"), "a ticket that another user saw is refused")
        expect(as_nobody(lambda: ask(port)).startswith("HTTP/1.1 403"), "as is a plain request")
        expect(ask(port, headers=enter(port, query)).startswith("HTTP/1.1 200"), "the ticket opens the page to its user")
        expect(ask(port, f"/?{query}").startswith("HTTP/1.1 403"), "and is used up then")
