"""Programs that are not ours: Foxglove's protocol; and what the dashboard sends and says with other sessions and keys."""

import json
import os
import pathlib
import struct
import tempfile
import time

import websocket
from chromium import Page, wait_for
from dash_lab import ENVIRONMENT, PROGRAMS, SESSION, dashboard, expect, origin_of, sender
from dash_web import api


def connect(url: str, protocol: str) -> websocket.WebSocket:
    address = f"{origin_of(url).replace('http', 'ws')}/foxglove?{url.partition('?')[2]}"
    return websocket.create_connection(address, subprotocols=[protocol], origin="https://app.foxglove.dev", timeout=30)


def read(socket: websocket.WebSocket, op: str) -> dict:
    while True:
        message = socket.recv()
        if isinstance(message, str) and (found := json.loads(message))["op"] == op:
            return found


def data(socket: websocket.WebSocket, subscription: int) -> tuple[float, dict]:
    """The next message of a subscription: its time in seconds since 1970, and what it says."""
    while True:
        message = socket.recv()
        if isinstance(message, bytes):
            code, found, nanoseconds = struct.unpack_from("<BIQ", message)
            expect(code == 1, "a binary message is data", code) if code != 1 else None
            if found == subscription:
                return nanoseconds / 1e9, json.loads(message[13:])


def check_foxglove() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, _), sender("Fox", 4, 250) as source:
        source.stdout.readline()
        wait_for(lambda: sum(stream["health"] == "live" for stream in api(url, "streams")[1]["streams"]) == 2, "both streams are live", 30)
        for protocol in ("foxglove.sdk.v1", "foxglove.websocket.v1"):
            client = connect(url, protocol)
            expect(client.getsubprotocol() == protocol, f"{protocol} is spoken")
            expect(read(client, "serverInfo")["name"] == "Schwann", "the server says who it is")
            channels = {channel["topic"]: channel for channel in read(client, "advertise")["channels"]}
            expect(set(channels) == {"/Fox", "/FoxMarkers"}, "each stream is a channel", channels)
            expect(all(channel["encoding"] == "json" and json.loads(channel["schema"])["type"] == "object" for channel in channels.values()), "of JSON")
            client.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": 5, "channelId": channels["/Fox"]["id"]}, {"id": 6, "channelId": channels["/FoxMarkers"]["id"]}]}))
            stamps = []
            while len(stamps) < 500:
                at, message = data(client, 5)
                stamps.append(at)
            expect(len(message["values"]) == 4 and all(isinstance(value, (int, float)) for value in message["values"]), "samples have a number per channel", message)
            steps = [after - before for before, after in zip(stamps, stamps[1:])]
            expect(all(abs(step - 1 / 250) < 1e-4 for step in steps), "every sample comes, with its stamp", (min(steps), max(steps)))
            expect(abs(stamps[-1] - time.time()) < 30, "in seconds since 1970", stamps[-1] - time.time())
            expect(data(client, 6)[1]["text"].startswith("event "), "and so do markers")
            client.send(json.dumps({"op": "unsubscribe", "subscriptionIds": [5]}))
            client.send("nonsense")
            expect("no message" in read(client, "status")["message"], "nonsense is answered")
            client.close()
        for address, protocol, status in ((url, "foxglove.sdk.v9", 400), (url.replace("token=", "token=0"), "foxglove.sdk.v1", 403)):
            try:
                connect(address, protocol)
                expect(False, f"refused with {status}")
            except websocket.WebSocketBadStatusException as error:
                expect(error.status_code == status, f"{protocol} is refused with {status}", error)


def check_session() -> None:
    """What the dashboard sends is of the session that it shows, also where the configuration has another one."""
    with dashboard("--no-browser", "--session", f"{SESSION}-pilot") as (url, _):
        expect(api(url, "mark", post=True, text="of the pilot")[0] == 200, "a marker is written")
        wait_for(lambda: [(stream["name"], stream["session"]) for stream in api(url, "streams")[1]["streams"]] == [("Dashboard markers", f"{SESSION}-pilot")],
                 "it is of the session that is shown", 30)
        expect(True, "it is of the session that is shown")


def check_key() -> None:
    """The page says that this device's certificate expires soon."""
    os.environ["SCHWANN_PROGRAM"] = str(PROGRAMS / "schwann")
    from labs import keys, last_word, new_lab
    lab, device = (pathlib.Path(tempfile.mkdtemp()) for _ in range(2))
    new_lab(lab)
    request = last_word(keys(device, "new-device", "dash-pc"), "keys issue")
    keys(device, "trust", said=keys(lab, "issue", "--yes", "--days", "9", request))
    # Nine days less the seconds since: within the first second they are still nine.
    for folder, texts in ((device, ("key expires in 8 days", "key expires in 9 days")), (lab, ("",))):
        with dashboard("--no-browser", "--session", SESSION, env={**ENVIRONMENT, "SCHWANN_KEYS": str(folder)}) as (url, _):
            page = Page()
            try:
                page.call("Page.navigate", url=url)
                page.wait("document.getElementById('recording')?.textContent === 'not recording'", "the page is live", 30)
                said = page.value("document.getElementById('key').textContent")
                expect(said in texts, "the page says when this device's certificate expires, if that is soon", said)
            finally:
                page.close()


def check_others() -> None:
    check_foxglove()
    check_session()
    check_key()


if __name__ == "__main__":
    check_others()
