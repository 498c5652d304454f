"""The web-hook: a real server hears that a stream is lost and back, also after it failed, and holds up nothing."""

import contextlib
import http.server
import json
import pathlib
import queue
import socket
import ssl
import subprocess
import tempfile
import threading

from chromium import wait_for
from dash_lab import ENVIRONMENT, PROGRAMS, SESSION, dashboard, expect, sender
from dash_web import api

FAILURES = 2


@contextlib.contextmanager
def receiver(failures: int = FAILURES, tls: ssl.SSLContext | None = None):
    """A server that fails at first, and then takes posts."""
    posts, left = queue.Queue(), [failures]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fails = left[0] > 0
            left[0] -= fails
            posts.put((fails, self.headers["Content-Type"], json.loads(body)))
            self.send_response(503 if fails else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls:
            # Each connection shakes hands in a thread of its own, so that one that ends it holds up no other.
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/lab?key=1", posts
        finally:
            server.shutdown()


def is_live(url: str, name: str) -> bool:
    return any(stream["name"] == name and stream["health"] == "live" for stream in api(url, "streams")[1]["streams"])


def check_posts() -> None:
    with receiver() as (address, posts), dashboard("--no-browser", "--session", SESSION, "--web-hook", address) as (url, _):
        with sender("Hooked") as source:
            source.stdout.readline()
            wait_for(lambda: is_live(url, "Hooked") and is_live(url, "HookedMarkers"), "both streams are live", 30)
            expect(posts.empty(), "while all is well nothing is posted")
        got = [posts.get(timeout=60) for _ in range(FAILURES + 2)]
        expect([fails for fails, _, _ in got] == [True] * FAILURES + [False] * 2, "what failed is tried again", got)
        expect(all(kind == "application/json" for _, kind, _ in got), "as JSON")
        first = got[0][2]
        expect(all(post == first for _, _, post in got[:FAILURES + 1]), "the same post, by its number", got)
        names = sorted(post["stream"]["name"] for _, _, post in got[FAILURES:])
        expect(names == ["Hooked", "HookedMarkers"] and first["event"] == "lost" and first["skipped"] == 0, "both streams are lost", got)
        with sender("Hooked") as source:
            source.stdout.readline()
            back = [posts.get(timeout=60)[2] for _ in range(2)]
            expect(sorted((post["event"], post["stream"]["name"]) for post in back) == [("back", "Hooked"), ("back", "HookedMarkers")], "and both are back", back)
            expect([post["number"] for post in back] == [3, 4], "posts are counted", back)


def check_deaf_receiver() -> None:
    """One that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        with dashboard("--no-browser", "--session", SESSION, "--web-hook", address) as (url, process):
            with sender("Unheard") as source:
                source.stdout.readline()
                wait_for(lambda: is_live(url, "Unheard"), "a stream is live", 30)
            connection, _ = deaf.accept()
            with connection, sender("Unheard") as source:
                source.stdout.readline()
                wait_for(lambda: is_live(url, "Unheard"), "beside a deaf receiver streams go on", 30)
                expect(True, "beside a deaf receiver streams go on")
                process.terminate()
                expect(process.wait(timeout=20) == 0, "and the program ends at once when it is told to")


def refusal(*arguments: str, **environment: str) -> str:
    """What the program says when it does not begin."""
    command = [str(PROGRAMS / "schwann"), "dash", "--no-browser", *arguments]
    ended = subprocess.run(command, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, timeout=60)
    expect(ended.returncode not in (0, 101), f"{arguments[1]} is refused", ended.stderr)
    return ended.stderr


def check_wrong_address(folder: pathlib.Path) -> None:
    for address in ("ftp://example.org/", "lab-pc"):
        said = refusal("--web-hook", address)
        expect(address in said and "http" in said, "and the address is named", said)
    empty = folder / "empty.pem"
    empty.write_text("no certificate")
    sealed = "https://127.0.0.1:9/"
    expect(str(empty) in refusal("--web-hook", sealed, "--web-hook-ca", str(empty)), "a file without a certificate is named")
    expect("cannot be read" in refusal("--web-hook", sealed, "--web-hook-ca", str(folder / "none.pem")), "and one that is missing")
    expect("--web-hook-ca" in refusal("--web-hook", sealed, SSL_CERT_FILE=str(empty), SSL_CERT_DIR=""), "a system without authorities says what to do")
    expect("https" in refusal("--web-hook", "http://127.0.0.1:9/", "--web-hook-ca", str(empty)), "an authority for plain HTTP is refused")


def openssl(folder: pathlib.Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def certified(folder: pathlib.Path, name: str) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate of this name by the authority of the folder."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    stem = name.replace(":", "-")
    if not (folder / "ca.pem").exists():
        openssl(folder, "req", "-x509", *curve, "-subj", "/CN=Lab authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(folder, "req", "-x509", *curve, "-subj", "/CN=receiver", "-addext", f"subjectAltName={name}", "-addext", "basicConstraints=critical,CA:FALSE",
            "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", f"{stem}.key", "-out", f"{stem}.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{stem}.pem", folder / f"{stem}.key")
    return context


def check_sealed(folder: pathlib.Path) -> None:
    """By HTTPS: posts reach a receiver for which an authority vouches, and no other one hears anything."""
    right, wrong, authority = certified(folder, "IP:127.0.0.1"), certified(folder, "DNS:elsewhere"), str(folder / "ca.pem")
    shown = ("--no-browser", "--session", SESSION, "--web-hook")
    with contextlib.ExitStack() as stack:
        receivers = [stack.enter_context(receiver(0, tls)) for tls in (right, right, right, wrong)]
        logs = [stack.enter_context(open(folder / f"{number}.log", "w+")) for number in range(len(receivers))]
        settings = [(("--web-hook-ca", authority), {}), ((), {"SSL_CERT_FILE": authority, "SSL_CERT_DIR": ""}), ((), {}), (("--web-hook-ca", authority), {})]
        urls = [stack.enter_context(dashboard(*shown, address, *more, env={**ENVIRONMENT, **environment}, stderr=log))[0]
                for (address, _), (more, environment), log in zip(receivers, settings, logs)]
        with sender("Sealed") as source:
            source.stdout.readline()
            wait_for(lambda: all(is_live(url, "Sealed") for url in urls), "the stream is live", 30)
        for (_, posts), what in zip(receivers, ("a given authority vouches for a receiver", "and so does one that the system trusts")):
            expect(posts.get(timeout=60)[2]["event"] == "lost", what)
        for (_, posts), log, what in zip(receivers[2:], logs[2:], ("an unknown receiver", "and one with another name")):
            wait_for(lambda: "invalid peer certificate" in pathlib.Path(log.name).read_text(), f"{what} is refused, and the log says so", 30)
            said = pathlib.Path(log.name).read_text()
            expect("--web-hook-ca" in said and "key=1" not in said, f"{what} is refused, and the log says what to do", said)
            expect(posts.empty(), "it hears nothing")


def check_hook() -> None:
    check_posts()
    check_deaf_receiver()
    with tempfile.TemporaryDirectory() as folder:
        check_wrong_address(pathlib.Path(folder))
        check_sealed(pathlib.Path(folder))


if __name__ == "__main__":
    check_hook()
