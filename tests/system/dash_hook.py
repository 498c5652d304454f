"""The web-hook: a real server hears that a stream is lost and back, also after it failed, and holds up nothing."""

import contextlib
import http.server
import json
import queue
import socket
import subprocess
import threading

from chromium import wait_for
from dash_lab import ENVIRONMENT, PROGRAMS, SESSION, dashboard, expect, sender
from dash_web import api

FAILURES = 2


@contextlib.contextmanager
def receiver():
    """A server that fails at first, and then takes posts."""
    posts, left = queue.Queue(), [FAILURES]

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
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/lab?key=1", posts
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


def check_wrong_address() -> None:
    for address in ("https://example.org/", "lab-pc"):
        command = [str(PROGRAMS / "schwann"), "dash", "--no-browser", "--web-hook", address]
        ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
        expect(ended.returncode not in (0, 101) and address in ended.stderr and "http" in ended.stderr, f"{address} is refused", ended.stderr)


def check_hook() -> None:
    check_posts()
    check_deaf_receiver()
    check_wrong_address()


if __name__ == "__main__":
    check_hook()
