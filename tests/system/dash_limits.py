"""The limits that docs/web.md tells are those that a program meets."""

import json
import re
import struct
import time

import websocket
from chromium import wait_for
from dash_lab import SESSION, dashboard, expect, fakes
from dash_others import connect, read
from dash_web import Program, api

RATE_LIMIT = 4e6         # bytes per second of traces of one view
LONGEST = 128 << 10      # bytes of a message
WIDE, RATE = 300, 5000


def signals(program: Program) -> list[dict]:
    return [stream for stream in program.ask("streams", type="clock", sent=0)["streams"] if stream["kind"] == "signal" and stream["health"] == "live"]


def check_rate(program: Program, stream: dict) -> None:
    """A view that asks for every sample of 256 channels gets 4 MB/s, by wider columns."""
    wish = dict(type="show", stream=stream["id"], columns=4096, window=0.1)
    view = program.ask("view", generation=1, **wish)
    expect(len(view["channels"]) == 64, "without a choice the first 64 channels are shown", len(view["channels"]))
    view = program.ask("view", generation=2, channels=list(range(WIDE)), **wish)
    expect(view["channels"] == list(range(256)), "and of more than 256 chosen ones the first 256", len(view["channels"]))
    column = 8 + 8 * 256
    expect(view["column_seconds"] >= column / RATE_LIMIT > 1 / RATE, "columns are wider than asked for, and that is said", view["column_seconds"])
    expect(view["columns"] <= (4 << 20) // column, "and no frame is longer than 4 MiB", view["columns"])
    begun, got = None, 0
    while begun is None or time.monotonic() - begun < 4:
        message = program.receive()
        if isinstance(message, bytes) and struct.unpack_from("<I", message)[0] == 2:
            # What had come before is in the first.
            begun, got = (time.monotonic(), 0) if begun is None else (begun, got + len(message))
    rate = got / (time.monotonic() - begun)
    expect(0 < rate < 1.15 * RATE_LIMIT, "no more than 4 MB come in a second", f"{rate / 1e6:.2f} MB/s")
    past = program.ask("view", generation=3, channels=list(range(WIDE)), until=time.monotonic(), **wish)
    expect(past["column_seconds"] < column / RATE_LIMIT, "the past, which is sent once, is as fine as asked for", past["column_seconds"])


def check_views(program: Program, stream: dict) -> None:
    wish = dict(type="show", stream=stream["id"], channels=[0], columns=10, window=10)
    kinds = [program.ask("view", view=view, generation=10 + view, **wish)["type"] for view in range(9)]
    expect(kinds == ["view"] * 8 + ["refused"], "eight streams are shown at a time, and the ninth is refused", kinds)
    program.socket.send(json.dumps({"type": "hide", "views": [0]}))
    expect(program.ask("view", view=8, generation=20, **wish)["type"] == "view", "with one less there is room")
    unknown = program.ask("view", view=7, generation=21, **{**wish, "stream": 99_999})
    expect(unknown["type"] == "refused" and "99999" in unknown["reason"], "a stream that is not there is refused", unknown)


def check_times(program: Program, url: str) -> None:
    now = program.ask("clock", type="clock", sent=0)["now"]
    taken = [program.ask("marked", type="mark", text="x", time=now - age, request=1)["type"] for age in (590, 610, -30)]
    expect(taken == ["marked", "refused", "refused"], "a marker is of the last 600 s", taken)
    expect(api(url, "mark", post=True, text="y")[0] == 200, "also by a request")


def check_outlets(program: Program) -> None:
    opened = dict(type="outlet", content="Test", rate=0, format="float32", source="")
    wide = [program.ask("opened", outlet=1, name="Wide", channels=channels, request=2, **opened)["type"] for channels in (0, 1025, 1024)]
    expect(wide == ["refused", "refused", "opened"], "a stream has 1 to 1,024 channels", wide)
    kinds = [program.ask("opened", outlet=number, name=f"Small {number}", channels=1, request=3, **opened)["type"] for number in range(2, 18)]
    expect(kinds == ["opened"] * 15 + ["refused"], "16 streams are sent at a time", kinds)


def check_foxglove(url: str, stream: dict) -> None:
    """What does not go out is told, and so is why."""
    client = connect(url, "foxglove.sdk.v1")
    client.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": number, "channelId": stream["id"]} for number in range(65)]}))
    expect("64 subscriptions at most" in read(client, "status")["message"], "a client of Foxglove has 64 subscriptions")
    client.send(json.dumps({"op": "unsubscribe", "subscriptionIds": list(range(1, 64))}))
    told = read(client, "status")["message"]
    expect(re.search(rf"{re.escape(stream['name'])} is faster .*: \d+ samples were left out", told), "and hears how many samples were left out", told)
    client.close()


def check_long_message(url: str) -> None:
    for size, is_kept in ((LONGEST - 1000, True), (LONGEST + 1000, False)):
        program = Program(url)
        try:
            answer = program.ask("refused", type="nonsense", text="x" * size)["type"]
        except (websocket.WebSocketException, OSError):
            answer = None
        expect((answer == "refused") == is_kept, f"a message of {size} bytes is {'answered' if is_kept else 'the end'}", answer)


def check_limits() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, _), fakes(f"counter:{WIDE}@{RATE}/int16"):
        program = Program(url)
        found = wait_for(lambda: signals(program), "a wide stream is live", 30)
        check_rate(program, found[0])
        check_views(program, found[0])
        check_times(program, url)
        check_outlets(program)
        check_foxglove(url, found[0])
        check_long_message(url)


if __name__ == "__main__":
    check_limits()
