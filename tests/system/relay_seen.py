"""Streams of other sites where people look: `schwann`, the dashboard and `schwann doctor`; and what they say when the hub is gone.

Usage: unshare --mount python3 relay_seen.py PROGRAM LIBRARY [WORD...]
"""

import contextlib
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, SCRATCH, Hub, Site, lab, movable_clock, run, wait_for  # noqa: E402

import labs  # noqa: E402
from chromium import Page  # noqa: E402
from disk import Disk  # noqa: E402


def asked(site: Site, *words: str) -> tuple[int, dict]:
    program = site.schwann(*words)
    code = program.process.wait(PATIENCE)
    return code, json.loads(program.text())


def looked(site: Site, knows) -> tuple[int, dict]:
    """A look that had the edge's answer: on a busy machine one may end before that comes."""
    found = []

    def attempt() -> bool:
        found[:] = asked(site, "--json")
        streams = [stream for hub in found[1]["remote"]["hubs"] for stream in hub["streams"]]
        return bool(streams) and all(map(knows, streams))

    wait_for(attempt, lambda: f"no look learns the clock of the edge: {found}")
    return found[0], found[1]


def knows_walls(stream: dict) -> bool:
    """Within 10 ms; a busy machine knows them less exactly for a while."""
    return stream["clock_by_wall"] is not None and stream["clock_by_wall"]["bound"] < 0.01


# What chrony 4.3 printed that followed a server on the same computer.
TRACKING = ("7F000001,127.0.0.1,2,1795636188.748452183,-0.000001499,-0.000000482,0.000000482,-8.361,-0.000,359.299,"
            "0.000009665,0.000346677,0.3,Normal")


def wall_clock_is_wrong() -> None:
    """Both sites have a time service that vouches for their wall clocks; then one of these is wrong all the same."""
    chronyc = SCRATCH / "bin" / "chronyc"
    chronyc.parent.mkdir()
    chronyc.write_text(f"#!/bin/sh\necho '{TRACKING}'\n")
    chronyc.chmod(0o755)
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        remembers(b, hub.url)
        for site in (a, b):
            site.environment["PATH"] = f"{chronyc.parent}:{site.environment['PATH']}"
        clock = movable_clock(b)
        a.sends("Far clock", 10**6, begins="now")
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        code, page = looked(b, knows_walls)
        stream, = page["remote"]["hubs"][0]["streams"]
        by_wall = stream["clock_by_wall"]
        assert code == 0 and stream["state"] == "well" and 0 < by_wall["bound"] < 0.01, page
        assert abs(by_wall["offset"] - stream["clock_offset"]) <= by_wall["bound"] + stream["clock_uncertainty"], stream
        clock.write_text("60")
        code, page = looked(b, knows_walls)
        stream, = page["remote"]["hubs"][0]["streams"]
        assert code == 1 and stream["state"] == "clock" and stream["is_wrong"], page
        code, page = asked(b, "doctor", "--json")
        found, = [one for one in page["findings"] if one["code"] == "far-stream"]
        assert code == 1 and "a wall clock is wrong by more than its time service says" in found["what"], page
    print("ok: the wall clocks of two sites agree with what was measured through the hub; a wrong one is named")


def remembers(site: Site, address: str) -> None:
    """The configuration of the site names the hub."""
    config = pathlib.Path(site.environment["LSLAPICFG"])
    config.write_text(config.read_text().replace("[relay]\n", f"[relay]\nhub={address}\n"))


def hub_is_seen() -> None:
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        remembers(b, hub.url)
        sender = a.sends("Far away", 10**6, begins="now")
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(SCRATCH / "seen.xdf"), "EEG").until("the hub is reached")
        code, page = looked(b, lambda stream: stream["clock_uncertainty"] is not None and stream["receipts"].get("site-b"))
        one, = page["remote"]["hubs"]
        stream, = one["streams"]
        assert code == 0 and one["problem"] is None and page["streams"] == [], page
        assert (stream["name"], stream["site"], stream["state"]) == ("Far away", "site-a", "well"), stream
        assert stream["rate"] and abs(stream["rate"] - 200) < 20 and stream["clock_uncertainty"] > 0, stream
        assert stream["receipts"]["site-b"][0][1] > 0, stream
        with dashboard(b) as browser:
            browser.wait("document.querySelector('#remote')?.innerText.includes('Far away of site-a')", "the stream of the other site")
            browser.wait("document.querySelector('#remote .far .health.live') !== null", "it is well")
            wait_for(lambda: not far_findings(b), lambda: f"the doctor finds something: {far_findings(b)}")
            sender.kill()
            browser.wait("document.querySelector('#remote .far.wrong')?.innerText.includes('silent')", "it is silent")
            hub.kill()
            browser.wait("document.querySelector('#remote .host.wrong')?.innerText.includes('not reached')", "the hub is gone")
            browser.wait("document.querySelector('#summary').innerText.includes('1 hub not reached')", "the line at the top says so")
            assert not browser.value("document.querySelector('#remote').innerText.includes('Far away')")
            assert not browser.problems, browser.problems
        code, page = asked(b, "--json")
        assert code == 1 and "no hub answers" in page["remote"]["hubs"][0]["problem"], page
        code, page = asked(b, "doctor", "--json")
        found, = [one for one in page["findings"] if one["code"] == "hub"]
        assert code == 1 and found["weight"] == "fault" and "is not reached" in found["what"], page
        recorder.kill()
    print("ok: a stream of another site is in the list and in the dashboard; a hub that is gone is said by both and by the doctor")


def backlog_is_seen() -> None:
    """The hub's disk is full: its answer still passes, its blocks wait at the sender, and the viewer far away is told."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        hub.down()
        disk = Disk(hub.folder, 64_000)
        hub.up()
        remembers(b, hub.url)
        a.sends("Kept back", 10**6, begins="now")
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        _, page = looked(b, lambda stream: stream["backlog"] is not None)
        stream, = page["remote"]["hubs"][0]["streams"]
        assert stream["state"] == "well" and not stream["backlog"]["is_behind"], stream
        with dashboard(b) as browser:
            browser.wait("document.querySelector('#remote .far .health.live') !== null", "the stream of the other site is well")
            disk.fill()
            outward.until("the journal keeps everything meanwhile")
            browser.wait("/backlog \\d+ s/.test(document.querySelector('#remote .far')?.innerText)", "it waits at its sender")
            code, page = looked(b, lambda stream: stream["backlog"] is not None and stream["backlog"]["seconds"] > 3)
            stream, = page["remote"]["hubs"][0]["streams"]
            # A block has 20 ms of the stream or more, and less than a second.
            blocks, seconds = stream["backlog"]["blocks"], stream["backlog"]["seconds"]
            assert stream["backlog"]["is_behind"] and 0.02 * blocks * 0.9 < seconds < blocks, stream
            shows(b, r"Kept back of site-a: backlog [\d.]+ s in [\d,]+ blocks?; they wait at its site", "--once")
            shows(b, r"Kept back +EEG +site-a .* [\d.]+ s in [\d,]+ blocks", "relay", "status")
            shows(b, r"schwann relay status    # at that site[^{}]*Kept back of site-a: backlog [\d.]+ s", "doctor", "--json")
            disk.free()
            # A server that found its disk full stays so until it is started again.
            hub.kill()
            hub.up()
            wait_for(lambda: not far_findings(b), lambda: f"the doctor still finds something: {far_findings(b)}")
            browser.wait("!/backlog/.test(document.querySelector('#remote .far')?.innerText ?? 'backlog')", "nothing waits any more")
        _, page = looked(b, lambda stream: stream["backlog"] is not None)
        stream, = page["remote"]["hubs"][0]["streams"]
        assert stream["state"] == "well" and not stream["backlog"]["is_behind"], stream
    print("ok: what waits at the sender is seen at the other site: in the list, the dashboard, the doctor and the status")


def shows(site: Site, pattern: str, *words: str) -> None:
    """A look shows it. A full hub is slow with the keys, so one look may end before the sender has answered."""
    last = [""]

    def attempt() -> bool:
        program = site.schwann(*words)
        program.process.wait(PATIENCE)
        last[0] = program.text()
        return re.search(pattern, last[0]) is not None

    wait_for(attempt, lambda: f"{words} does not show {pattern!r}: {last[0]}")


def revocation_is_seen() -> None:
    """The far device is revoked while its streams are on screen."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        remembers(b, hub.url)
        a.sends("Turned", 10**6, begins="now")
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        with dashboard(b) as browser:
            browser.wait("document.querySelector('#remote .far .health.live') !== null", "the stream of the other site is well")
            labs.keys(authority.keys, "revoke", "site-a")
            browser.wait("document.querySelector('#remote .far.wrong')?.innerText.includes('revoked')", "its device is revoked")
            assert not browser.problems, browser.problems
    print("ok: of a stream whose device was revoked, the dashboard says so")


def stamps_are_wrong() -> None:
    """Senders that stamp with the date, and with seconds of their own: neither is well, however smoothly its samples come."""
    for name, begins, said in [("By the date", str(time.time()), "seconds since 1970"), ("By itself", str(time.monotonic() + 1e5), "a clock of its own")]:
        with lab() as (authority, a, b, _):
            hub = Hub(authority)
            remembers(b, hub.url)
            a.sends(name, 10**6, begins=begins)
            a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
            code, page = looked(b, lambda stream: stream["lag"] is not None)
            stream, = page["remote"]["hubs"][0]["streams"]
            assert code == 1 and stream["state"] == "stamps" and stream["is_wrong"], page
            shows(b, f"{name} of site-a has stamps that are .*{said}", "--once")
            found, = far_findings(b)
            assert said in found["what"] and found["code"] == "far-stream", found
            with dashboard(b) as browser:
                browser.wait("document.querySelector('#remote .far.wrong')?.innerText.includes('stamps')", "its stamps are wrong")
                browser.wait("document.querySelector('#summary').innerText.includes('1 of other sites not well')", "the top says so")
    print("ok: of a far stream that is stamped by another clock, the list, the doctor and the dashboard say so")


def far_findings(site: Site) -> list[dict]:
    """What the doctor finds of hubs."""
    _, page = asked(site, "doctor", "--json")
    return [one for one in page["findings"] if one["code"] in ("hub", "far-stream")]


@contextlib.contextmanager
def dashboard(site: Site):
    program = site.schwann("dash", "--no-browser", "--port", "0", "--folder", str(SCRATCH)).until("token=")
    url = next(word for word in program.text().split() if "token=" in word)
    page = Page()
    try:
        page.call("Page.navigate", url=url)
        yield page
    finally:
        page.close()


if __name__ == "__main__":
    run({"seen": hub_is_seen, "backlog": backlog_is_seen, "revoked": revocation_is_seen, "stamps": stamps_are_wrong, "wall": wall_clock_is_wrong})
