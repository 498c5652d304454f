"""Other computers: TLS for page and live connection, a link for each role, and what strangers get."""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.parse

import websocket
from chromium import Page, wait_for
from dash_axe import check_axe_rules
from dash_lab import ENVIRONMENT, SESSION, STATE, dashboard, expect, port_of, sender

KEYS = pathlib.Path(tempfile.mkdtemp())
ORDERS = (
    ("look", {"type": "clock", "sent": 1}),
    ("mark", {"type": "mark", "text": "by a link", "request": 7}),
    ("mark", {"type": "outlet", "outlet": 1, "name": "Phone", "content": "Accelerometer", "channels": 1, "rate": 0, "format": "float32", "request": 8}),
    ("mark", {"type": "push", "outlet": 9, "samples": [[1]]}),
    ("record", {"type": "record", "order": "stop", "request": 9}),
    ("record", {"type": "dismiss", "streams": []}),
)
ROLES = ("look", "mark", "record")
UNLINK_NETWORK = ("ip", "link", "del", "dash0")


@contextlib.contextmanager
def lan(*arguments: str):
    """A dashboard for other computers: its links by role, and the fingerprint that it prints."""
    environment = {**ENVIRONMENT, "SCHWANN_KEYS": str(KEYS)}
    with dashboard("--no-browser", "--lan", "--session", SESSION, *arguments, env=environment) as (first, process):
        lines = [first]
        while not (fingerprint := re.fullmatch(r"\s+((?:[0-9A-F]{2}:){31}[0-9A-F]{2})\s*", lines[-1])):
            lines.append(process.stdout.readline())
        links = [url for line in lines for url in re.findall(r"https://\S+", line)]
        expect(len(links) == 3, "there is a link for each role", lines)
        yield dict(zip(ROLES, links)), fingerprint[1]


def context() -> ssl.SSLContext:
    """Trusts the kept certificate and no other."""
    return ssl.create_default_context(cafile=KEYS / "dash.pem")


def ask(url: str, path: str, method: str = "GET", **fields) -> tuple[int, str]:
    """Asks as a program would, with the token of a link."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPSConnection("127.0.0.1", parts.port, context=context(), timeout=20)
    query = urllib.parse.urlencode({**dict(urllib.parse.parse_qsl(parts.query)), **fields})
    connection.request(method, f"{path}?{query}", headers={"Host": parts.netloc})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def check_certificate(links: dict[str, str], fingerprint: str) -> None:
    port = port_of(links["look"])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw, context().wrap_socket(raw, server_hostname="127.0.0.1") as sealed:
        digest = hashlib.sha256(sealed.getpeercert(binary_form=True)).hexdigest().upper()
        expect(digest == fingerprint.replace(":", ""), "the certificate has the fingerprint that is printed")
        expect(sealed.version() == "TLSv1.3", "TLS 1.3 is spoken", sealed.version())
    expect((KEYS / "dash.pem").stat().st_mode & 0o077 == 0, "no other user can read its key")
    older = context()
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
        try:
            older.wrap_socket(raw, server_hostname="127.0.0.1")
            expect(False, "an older TLS is refused")
        except ssl.SSLError as error:
            expect("PROTOCOL_VERSION" in str(error).upper(), "an older TLS is refused", error)


def check_strangers(links: dict[str, str]) -> None:
    port = port_of(links["look"])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
        token = links["record"].partition("?")[2]
        plain.sendall(f"GET /?{token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        answer = plain.makefile("rb").read().decode()
    expect(answer.startswith("HTTP/1.1 400") and "https://" in answer, "plain HTTP hears that TLS is spoken", answer[:200])
    expect("Set-Cookie" not in answer and "streams" not in answer, "and nothing else")
    for noise in (b"\x16\x03\x01\x00\x05noise", b"\x16" * 70_000, b"\x00"):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as raw, contextlib.suppress(OSError):
            raw.sendall(noise)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65536):
                pass
    wrong = links["look"].split("token=")[0] + "token=" + "0" * 32
    expect(ask(wrong, "/")[0] == 403 and ask(wrong, "/api/streams")[0] == 403, "a wrong token opens nothing, also after noise")
    try:
        connect(wrong)
        expect(False, "nor does it open a live connection")
    except websocket.WebSocketBadStatusException as error:
        expect(error.status_code == 403, "nor does it open a live connection", error)


def connect(url: str, host: str = "127.0.0.1") -> websocket.WebSocket:
    parts = urllib.parse.urlsplit(url)
    return websocket.create_connection(f"wss://{host}:{parts.port}/live?{parts.query}", origin="https://experiment.example",
                                       sslopt={"context": context()}, timeout=20)


def check_roles(links: dict[str, str]) -> None:
    """Each link does what its role may, and hears why it may not do more."""
    for role, url in links.items():
        live, may = connect(url), ROLES.index(role)
        expect(json.loads(live.recv())["role"] == role, f"the link of {role} says its role")
        for needed, order in ORDERS:
            live.send(json.dumps(order))
            kinds = ("refused", "clock", "marked", "opened", "recorder") + (("streams",) if order["type"] == "dismiss" and may == 2 else ())
            while (answer := json.loads(live.recv()))["type"] not in kinds:
                pass
            is_refused = "needs role" in answer.get("reason", "")
            expect(is_refused == (may < ROLES.index(needed)), f"{role}: {order['type']} needs {needed}", answer)
            expect(not is_refused or answer.get("request") == order.get("request"), "and the answer belongs to its question", answer)
        live.close()
        expect(ask(url, "/api/streams")[0] == 200, f"{role} may list")
        expect(ask(url, "/api/mark", "POST", text="x")[0] == (403 if role == "look" else 200), f"{role}: a marker by a request")


def check_browser(links: dict[str, str]) -> None:
    with sender() as source:
        source.stdout.readline()
        for role, url in links.items():
            page = Page(*((420, 860) if role == "look" else (1400, 900)))
            try:
                # A person would compare the fingerprint and go on.
                page.call("Security.setIgnoreCertificateErrors", ignore=True)
                page.call("Page.navigate", url=url)
                page.wait("location.search === '' && location.protocol === 'https:'", "the token leaves the address", 20)
                page.wait("[...document.querySelectorAll('#streams .name')].some(name => name.textContent === 'Lab')", f"{role}: the page is live over TLS", 30)
                page.wait("document.getElementById('plot').checkVisibility()", "with traces", 20)
                offered = page.value("['mark', 'record'].filter(id => document.getElementById(id).checkVisibility())")
                wanted = {"look": [], "mark": ["mark"], "record": ["mark", "record"]}[role]
                expect(offered == wanted, f"{role}: the page offers what the link lets it do", offered)
                if role == "look":
                    page.value("document.body.focus()")
                    page.press("m", "KeyM")
                    expect(page.value("document.getElementById('mark-note').hidden"), "and no key does more")
                    check_axe_rules(page, "looking only, on a phone")
                    page.screenshot(STATE / "dash-lan-phone.png")
                expect(not page.problems, "no script has failed", page.problems)
            finally:
                page.close()


def check_given_certificate() -> None:
    """A certificate of an authority that the browsers trust, and one that does not belong to its key."""
    folder = pathlib.Path(tempfile.mkdtemp())
    for name in ("one", "other"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=lab-pc",
                        "-addext", "subjectAltName=DNS:lab-pc.example", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
                       check=True, capture_output=True)
    one, other = str(folder / "one.pem"), str(folder / "other.key")
    with lan("--host", "lab-pc.example", "--certificate", one, "--key", str(folder / "one.key")) as (links, _):
        expect(urllib.parse.urlsplit(links["look"]).hostname == "lab-pc.example", "links have the name that was given", links["look"])
        trusting, port = ssl.create_default_context(cafile=one), port_of(links["look"])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as raw, trusting.wrap_socket(raw, server_hostname="lab-pc.example") as sealed:
            token = links["look"].partition("?")[2]
            sealed.sendall(f"GET /?{token} HTTP/1.1\r\nHost: lab-pc.example:{port}\r\n\r\n".encode())
            expect(sealed.recv(100).startswith(b"HTTP/1.1 303"), "and they open the page under that name")
    program = [str(pathlib.Path(sys.argv[1]).resolve() / "schwann"), "dash", "--no-browser", "--lan"]
    ended = subprocess.run([*program, "--certificate", one, "--key", other], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    expect(ended.returncode not in (0, 101) and "together" in ended.stderr, "a key of another certificate is refused", ended.stderr)
    ended = subprocess.run([*program, "--certificate", str(folder / "none.pem"), "--key", other], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    expect(ended.returncode not in (0, 101) and "none.pem" in ended.stderr, "and a file that is not there is named", ended.stderr)


def check_other_computer(port_and_links) -> None:
    """Another machine, in a network of its own at the other end of a cable."""
    links, port = port_and_links, port_of(port_and_links["look"])
    space = f"dash-{os.getpid()}"
    run = lambda *command: subprocess.run(command, check=True, capture_output=True, timeout=60)
    run("ip", "netns", "add", space)
    try:
        run("ip", "link", "add", "dash0", "type", "veth", "peer", "name", "dash1", "netns", space)
        for where, device, address in (([], "dash0", "10.98.0.1"), (["-n", space], "dash1", "10.98.0.2")):
            run("ip", *where, "addr", "add", f"{address}/24", "dev", device)
            run("ip", *where, "link", "set", device, "up")
        query = links["look"].partition("?")[2]
        script = f"""
import http.client, ssl
trusting = ssl.create_default_context(cafile={str(KEYS / 'dash.pem')!r})
trusting.check_hostname = False
for query in ({query!r}, "token=" + "0" * 32):
    connection = http.client.HTTPSConnection("10.98.0.1", {port}, context=trusting, timeout=20)
    connection.request("GET", "/api/streams?" + query)
    print(connection.getresponse().status)
"""
        def statuses() -> list[str]:
            return subprocess.run(["ip", "netns", "exec", space, sys.executable, "-c", script], capture_output=True, text=True, timeout=60).stdout.split()
        wait_for(lambda: statuses() == ["200", "403"], "another computer gets in by a link, and by nothing else", 30)
        expect(True, "another computer gets in by a link, and by nothing else")
    finally:
        subprocess.run(UNLINK_NETWORK, capture_output=True)
        run("ip", "netns", "del", space)


def check_lan() -> None:
    with lan() as (links, first):
        check_certificate(links, first)
        check_strangers(links)
        check_roles(links)
        check_browser(links)
        if os.environ.get("SCHWANN_NETWORK") == "own" and os.geteuid() == 0:
            check_other_computer(links)
        else:
            print("   no network of one's own: another computer is not tried")
    with lan() as (_, again):
        expect(again == first, "the certificate is the same after a start anew")
    check_given_certificate()


if __name__ == "__main__":
    check_lan()
