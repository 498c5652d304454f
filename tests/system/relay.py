"""Streams through a real hub, which is killed, rolled back and emptied: what arrives is what was sent.

Usage: relay.py PROGRAM LIBRARY [WORD...]
"""

import base64
import json
import os
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, RATE, RECEIVE, SCRATCH, Hub, far_streams, is_recorded, lab, recorded, run, same, wait_for  # noqa: E402

# They find the program where the line above has put it.
import labs  # noqa: E402
import pyxdf  # noqa: E402


def from_end_to_end() -> None:
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        target = SCRATCH / "end.xdf"
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        inward = b.schwann("relay", "in", "--hub", hub.web_url).until("the hub is reached")
        sender = a.sends("Near", 2000)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        received = b.runs(sys.executable, "-c", RECEIVE, "Near", "500")
        assert received.process.wait(PATIENCE) == 0, (received.text(), inward.text())
        got = json.loads(received.text().splitlines()[-1])
        assert got["description"] == ["Near", "EEG", 2, 200.0, 1, "Near-source"] and got["serial"] == "4711", got
        assert got["site"] == "site-a", got
        begin = int(got["samples"][0][0])
        assert got["samples"] == [[n, -n, 1000 + n / RATE] for n in range(begin, begin + 500)]
        sender.until("sent")
        status = b.schwann("relay", "status", "--hub", hub.url, "--json")
        assert status.process.wait(PATIENCE) == 0, status.text()
        stream, = json.loads(status.text().splitlines()[-1])["streams"]
        assert stream["name"] == "Near" and stream["site"] == "site-a" and "site-b" in stream["receipts"], stream
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        same(target, "Near", range(2000))
        verified = b.schwann("verify", str(target))
        assert verified.process.wait(PATIENCE) == 0 and "signed by site-b" in verified.text(), verified.text()
        assert "it certifies, bit by bit" in verified.text(), verified.text()
        certificate = json.loads(pathlib.Path(f"{target}.cert.json").read_text())
        said = json.loads(base64.b64decode(certificate["payload"]))["predicate"]
        stream, = said["streams"]
        assert stream["origin"]["sender"]["name"] == "site-a" and stream["origin"]["travelled"] == "sealed", stream
        assert stream["completeness"]["written"] == 2000 and stream["completeness"]["gaps"] == 0, stream
        happened = [event["what"] for event in said["events"]]
        assert happened[0] == "start" and "came: Near of site-a" in happened and happened[-1] == "stop", happened
        assert not target.with_name("end.xdf.blocks").exists()
    print("ok: samples, stamps and description are those of the other site, live and in the file")


def everything_is_killed() -> None:
    """kill -9 of recorder, hub and edge in turn, while samples flow."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        target = SCRATCH / "killed.xdf"
        record = ("record", "--hub", hub.url, "-o", str(target), "EEG")
        recorder = b.schwann(*record).until("the hub is reached")
        count = 30 * RATE
        sender = a.sends("Killed", count)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        time.sleep(3)
        recorder.kill()
        time.sleep(2)
        recorder = b.schwann(*record).until("the hub is reached")
        assert "goes on" in recorder.text(), recorder.text()
        time.sleep(2)
        hub.kill()
        time.sleep(4)
        hub.up()
        time.sleep(4)
        killed = time.monotonic()
        outward.kill()
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        # What was not yet synced, 200 ms at most, may be lost besides what no edge took in.
        longest = (time.monotonic() - killed + 1) * RATE
        sender.until("sent")
        time.sleep(1)
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
        code = recorder.end()
        text = recorder.text()
        assert "are missing" not in text, text
        values, stamps = recorded(target, "Killed")
        numbers = [int(value) for value in values[:, 0]]
        gaps = [(one, other) for one, other in zip(numbers, numbers[1:]) if other != one + 1]
        assert numbers[0] == 0 and numbers[-1] == count - 1 and len(set(numbers)) == len(numbers), (numbers[0], numbers[-1])
        # While no edge ran, none took samples in: that is the one gap there may be.
        assert len(gaps) == 1 and 0 < gaps[0][1] - gaps[0][0] <= longest, (gaps, longest)
        assert all(stamp == 1000 + number / RATE for stamp, number in zip(stamps, numbers, strict=True))
        assert code in (0, 1), text
    print(f"ok: kill -9 of recorder, hub and edge: {len(numbers)} of {count} samples, none lost but while no edge ran")


def hub_forgets() -> None:
    """The hub's store is rolled back to an older copy, and then taken away altogether, while samples flow."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        target = SCRATCH / "forgets.xdf"
        sender = a.sends("Forgets", 25 * RATE)
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        time.sleep(3)
        hub.down()
        shutil.copytree(hub.folder / "store", SCRATCH / "older")
        hub.up()
        time.sleep(4)
        recorder.kill()
        time.sleep(2)
        hub.kill()
        shutil.rmtree(hub.folder / "store")
        shutil.copytree(SCRATCH / "older", hub.folder / "store")
        hub.up()
        outward.until("the hub is reached")
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        time.sleep(3)
        hub.kill()
        shutil.rmtree(hub.folder / "store")
        hub.up()
        sender.until("sent")
        time.sleep(1)
        assert outward.end() == 0, outward.text()
        assert recorder.end() == 0, recorder.text()
        assert "complete to its end" in recorder.text(), recorder.text()
        same(target, "Forgets", range(25 * RATE))
    print("ok: a hub that is rolled back and one that forgets everything: the edge's journal fills the holes")


def records_in(path: pathlib.Path) -> int:
    """How many whole records a file of the edge's journal has: each is its length, a checksum, and the bytes."""
    content, count, at = path.read_bytes(), 0, 0
    while at + 8 <= len(content):
        at += 8 + int.from_bytes(content[at:at + 4], "little")
        count += at <= len(content)
    return count


def edge_starts_again_and_again() -> None:
    """An edge has sealed many runs, and the hub forgets them all: their blocks get there again, with the words that open them."""
    starts, seconds = 24, 120
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "again.xdf"
        record = ("record", "--hub", hub.url, "-o", str(target), "EEG")
        recorder = b.schwann(*record).until("the hub is reached")
        hub.knows_a_member()
        recorder.kill()
        sender = a.sends("Again", seconds * RATE)
        relay = ("relay", "out", "--hub", hub.url, "type='EEG'")
        for number in range(starts):
            outward = a.schwann(*relay).until("is relayed")
            runs = lambda: sorted((a.keys / "relay" / "out").glob("*/*.words"))
            # Its announcement, its key for no member, and its key for the recorder.
            wait_for(lambda: len(runs()) > number and records_in(runs()[-1]) >= 3, "no key is wrapped for the recorder")
            outward.kill()
        assert sender.said.read_text().count("sent") == 0, "the sender ended before the last start"
        hub.kill()
        shutil.rmtree(hub.folder / "store")
        hub.up()
        recorder = b.schwann(*record).until("goes on").until("the hub is reached")
        outward = a.schwann(*relay).until("is relayed")
        sender.until("sent", seconds + PATIENCE)
        time.sleep(1)
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
        recorder.end()
        assert "are missing" not in recorder.text(), recorder.text()
        numbers = [int(value) for value in recorded(target, "Again")[0][:, 0]]
        gaps = [(one, other) for one, other in zip(numbers, numbers[1:]) if other != one + 1]
        # While no edge ran, none took samples in.
        assert numbers[-1] == seconds * RATE - 1 and len(gaps) == starts and all(one < other for one, other in gaps), gaps
    print(f"ok: {starts + 1} runs of one edge, and a hub that forgot them: every sample that an edge took in is there")


def journal_of_a_stream_that_is_away() -> None:
    """The hub is away, and so is the sender when it is back: the next `relay out` hands the journal over without the stream.

    Another stream of the same name is relayed meanwhile: it has a journal of its own."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "away.xdf"
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "Away-source").until("the hub is reached")
        sender = a.sends("Away", 8 * RATE)
        relay = ("relay", "out", "--hub", hub.url, "type='EEG'")
        outward = a.schwann(*relay).until("is relayed")
        wait_for(lambda: a.edge_status().get("receipts"), "the recorder gives no receipt")
        hub.kill()
        sender.until("sent")
        outward.until("the journal keeps everything meanwhile")
        assert outward.end() == 0 and "wait in the journal for the next" in outward.text(), outward.text()
        sender.kill()
        waits = a.edge_status()
        assert waits["waiting_blocks"] > 0 and waits["name"] == "Away", waits
        hub.up()
        elsewhere = a.schwann("relay", "out", "--hub", hub.web_url, "type='EEG'")
        elsewhere.until(f"blocks wait in its journal for the hub {hub.url.split('#')[0]}; `schwann relay out --hub` with its address").kill()
        a.sends("Away", 10**6, source="other")
        outward = a.schwann(*relay).until("is relayed").until("its journal was handed over; the hub has all of it")
        assert outward.end() == 0, outward.text()
        assert not a.edge_status(), a.edge_status()
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        same(target, "Away", range(8 * RATE))
    print("ok: what waited in the journal of a stream that is away got to the hub, and every sample is in the recording")


def twin_is_told() -> None:
    """Two senders of one name, type and source id: one is relayed, and the other is no secret."""
    with lab() as (authority, a, _, _):
        hub = Hub(authority)
        first = a.sends("Twin", 10**6)
        a.sends("Twin", 10**6)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed").until("only one of them is relayed")
        assert outward.end() == 1 and "Twin: was not relayed" in outward.text(), outward.text()
        first.kill()
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed").until("the hub is reached")
        assert outward.end() == 0, outward.text()
    print("ok: of two streams that are called alike, one is relayed, and the other is told")


def delivered_goes_with_time() -> None:
    """Three runs, of which the first is delivered and the second is not; then 91 days are over."""
    with lab() as (authority, a, b, _):
        hub, journal = Hub(authority), a.keys / "relay" / "out"
        relay = ("relay", "out", "--hub", hub.url, "type='EEG'")
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(SCRATCH / "old.xdf"), "EEG").until("the hub is reached")
        a.sends("Old", 10**6)
        files = []
        for is_delivered in (True, False):
            outward = a.schwann(*relay).until("is relayed")
            wait_for(lambda: a.edge_status().get("blocks", 0) > 20, "the edge seals nothing")
            assert outward.end() == 0, outward.text()
            if is_delivered:
                wait_for(lambda: is_recorded(a, b, hub), lambda: f"not all is receipted: {far_streams(b, hub)}")
                recorder.kill()
            file, = set(journal.glob("*/*.blocks")) - set(files)
            files.append(file)
        for file in files:
            then = time.time() - 91 * 86_400
            os.utime(file, (then, then))
        outward = a.schwann(*relay).until("is relayed")
        delivered, owed = files
        wait_for(lambda: not delivered.exists(), "what is delivered stays")
        wait_for(a.edge_status, "the edge tells nothing of itself")
        assert owed.exists() and a.edge_status()["lost"] is None, a.edge_status()
        assert outward.end() == 0, outward.text()
        assert owed.exists() and "LOST" not in outward.text(), outward.text()
    print("ok: what is delivered leaves the journal after 90 days; what is not stays")


def device_has_a_new_key() -> None:
    """The sender's device gets another key while it relays: a new run begins, and no sample is lost."""
    with lab() as (authority, a, b, _):
        hub, target, seconds = Hub(authority), SCRATCH / "rekeyed.xdf", 10
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        sender = a.sends("Rekeyed", seconds * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        wait_for(lambda: a.edge_status().get("receipts"), "the recorder gives no receipt")
        new = SCRATCH / "new-key"
        labs.new_device(authority.keys, new, "site-a-again")
        for name in ("device.key", "device.certificate"):
            (new / name).replace(a.keys / name)
        outward.until("a new run of the stream begins")
        sender.until("sent")
        time.sleep(1)
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
        recorder.end()
        assert "are missing" not in recorder.text(), recorder.text()
        streams, _ = pyxdf.load_xdf(str(target), synchronize_clocks=False, dejitter_timestamps=False)
        parts = sorted([int(value) for value in stream["time_series"][:, 0]] for stream in streams)
        assert len(parts) == 2 and parts[0] + parts[1] == list(range(seconds * RATE)), [(part[0], part[-1]) for part in parts]
    print("ok: a device with a new key goes on under a new run, and every sample is in the recording")


def sample_is_too_long() -> None:
    """A sample of more than a block holds is lost, and that is said: by the exit code, too."""
    with lab() as (authority, a, _, _):
        hub = Hub(authority)
        a.runs(sys.executable, "-c", LONG).until("ready")
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed").until("more than 1 MiB")
        wait_for(lambda: a.edge_status().get("lost"), "the status does not say what is lost")
        assert outward.end() == 1 and "LOST: 1 samples have more than 1 MiB; the hub has the rest" in outward.text(), outward.text()
    print("ok: a sample that is too long for a block is named as lost")


LONG = r"""
import sys, pylsl
outlet = pylsl.StreamOutlet(pylsl.StreamInfo("Long", "EEG", 1, 0, "string", "long-source"))
print("ready", flush=True)
outlet.wait_for_consumers(60)
for text in ("short", "x" * (1 << 21), "short again"):
    outlet.push_sample([text])
sys.stdin.read()
"""


def receipts_are_said_again() -> None:
    """The hub forgets all receipts, and no block comes any more: the recorder says again what it has."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        b.schwann("record", "--hub", hub.url, "-o", str(SCRATCH / "receipts.xdf"), "EEG").until("the hub is reached")
        sender = a.sends("Receipts", 3 * RATE)
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        sender.until("sent")
        newest = lambda: a.edge_status()["blocks"] - 1
        wait_for(lambda: a.edge_status().get("receipts") == {"site-b": newest()}, lambda: f"not all is receipted: {a.edge_status()}")
        hub.kill()
        shutil.rmtree(hub.folder / "store")
        hub.up()
        wait_for(lambda: is_recorded(a, b, hub), lambda: f"the receipts are gone: {far_streams(b, hub)}", 40)
    print("ok: a recorder says its receipts again to a hub that forgot them, without a new block")


def revoked_reads_no_more() -> None:
    """A revoked member gets the keys of no new epoch, though the hub still lets it in."""
    with lab() as (authority, a, b, c):
        hub = Hub(authority)
        sender = a.sends("Secret", 60 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        assert far_streams(c, hub)[0]["name"] == "Secret"
        labs.keys(authority.keys, "revoke", "site-c")
        # The hub carries the authority's list to the edge.
        wait_for(lambda: (a.keys / "relay" / "revoked").exists(), "the edge does not learn of the revocation")
        time.sleep(1)
        spy = c.schwann("relay", "status", "--hub", hub.url, "--json", "--seconds", "5")
        spy.process.wait(PATIENCE)
        streams = json.loads(spy.text().splitlines()[-1])["streams"]
        assert streams and all(stream["latest_block"] is None for stream in streams), streams
        friend = far_streams(b, hub)
        assert friend and friend[0]["name"] == "Secret" and friend[0]["latest_block"] is not None, friend
        assert outward.process.poll() is None and sender.process.poll() is None
    print("ok: a revoked member opens no block of a new epoch; the others go on")


def revoked_edge_is_heard_no_more() -> None:
    """The device of an edge is revoked while its stream comes: the outlet goes, and no further block is recorded."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "revoked-edge.xdf"
        inward = b.schwann("relay", "in", "--hub", hub.url).until("the hub is reached")
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        sender = a.sends("Revoked", 300 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        inward.until("Revoked of site-a is here")
        wait_for(lambda: a.edge_status().get("receipts"), "the recorder gives no receipt")
        labs.keys(authority.keys, "revoke", "site-a")
        inward.until("Revoked is taken away, because its device was revoked")
        recorder.until("Revoked of site-a: its device was revoked, and nothing more of it is taken")
        receipts = a.edge_status()["receipts"]["site-b"]
        wait_for(lambda: a.edge_status()["blocks"] > receipts + 200, "the edge seals no more")
        assert outward.process.poll() is None and sender.process.poll() is None
        recorder.end()
        numbers = [int(value) for value in recorded(target, "Revoked")[0][:, 0]]
        # Some 4 samples a block, and a second until the list is there.
        assert numbers == list(range(len(numbers))) and len(numbers) < (receipts + 200) * 4, (len(numbers), receipts)
        events = [event for event in b.events() if event["event"] == "relay" and event["what"] == "run"]
        assert events and events[0]["reason"] == "its device was revoked", events
    print("ok: a revoked sender's outlet goes, nothing more of it is recorded, and both programs say so")


if __name__ == "__main__":
    run({"end": from_end_to_end, "killed": everything_is_killed, "forgets": hub_forgets, "again": edge_starts_again_and_again, "away":
         journal_of_a_stream_that_is_away, "twin": twin_is_told, "rekeyed": device_has_a_new_key, "old": delivered_goes_with_time, "long": sample_is_too_long,
         "receipts": receipts_are_said_again, "revoked": revoked_reads_no_more, "revoked-edge": revoked_edge_is_heard_no_more})
