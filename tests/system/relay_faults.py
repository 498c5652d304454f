"""Faults of disks and clocks: what arrives is what was sent, or what is missing is said exactly.

Usage: unshare --mount python3 relay_faults.py PROGRAM LIBRARY [WORD...]

A disk that fills is a small file system of its own, mounted where no other program sees it.
"""

import json
import os
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, RATE, SCRATCH, Hub, Site, ended, lab, movable_clock, recorded, run, same, wait_for  # noqa: E402

# It sets where they find the program.
import labs  # noqa: E402
from disk import Disk  # noqa: E402


def began(hub: Hub, a: Site, b: Site, name: str, seconds: float, target: pathlib.Path, *options: str):
    """A recording, and then a stream that goes through the hub from its first sample on."""
    record = ("record", "--hub", hub.url, "-o", str(target), "EEG")
    recorder = b.schwann(*record).until("the hub is reached")
    sender = a.sends(name, int(seconds * RATE))
    outward = a.schwann("relay", "out", "--hub", hub.url, *options, "type='EEG'").until("is relayed")
    return record, recorder, sender, outward


def bit_flips() -> None:
    """A bit of the hub's store flips before the block is read: the edge's journal fills the hole."""
    with lab() as (authority, a, b, _):
        hub, target, chance, flips = Hub(authority), SCRATCH / "bit.xdf", random.Random(11), 0
        record, recorder, sender, outward = began(hub, a, b, "Bit", 20, target)
        time.sleep(2)
        recorder.kill()
        for _ in range(2):
            time.sleep(3)
            hub.down()
            log = next(hub.folder.glob("store/jetstream/*/streams/*_blocks/msgs"))
            block = max(log.glob("*.blk"), key=lambda path: path.stat().st_size)
            content = bytearray(block.read_bytes())
            place = chance.randrange(len(content) // 3, len(content))
            content[place] ^= 1 << chance.randrange(8)
            block.write_bytes(content)
            flips += 1
            hub.up()
        recorder = b.schwann(*record).until("the hub is reached")
        ended(sender, outward, recorder, target, "Bit", 20)
    print(f"ok: {flips} bits flipped in the hub's .blk files: every sample is in the recording")


def hub_disk_is_full() -> None:
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "hub-full.xdf"
        hub.down()
        disk = Disk(hub.folder, 64_000)
        hub.up()
        _, recorder, sender, outward = began(hub, a, b, "Hub full", 20, target)
        time.sleep(3)
        disk.fill()
        outward.until("the journal keeps everything meanwhile")
        hub.program.until("MB left; make room on it")
        disk.free()
        hub.program.until("the hub could not store a message")
        # A server that found its disk full stays so until it is started again.
        hub.kill()
        hub.up()
        ended(sender, outward, recorder, target, "Hub full", 20)
    print("ok: the hub's disk was full: it was said, and every sample is in the recording")


def edge_disk_is_full() -> None:
    with lab() as (authority, a, b, _):
        hub, target, disk = Hub(authority), SCRATCH / "edge-full.xdf", Disk(SCRATCH / "edge-disk", 4_000)
        _, recorder, sender, outward = began(hub, a, b, "Edge full", 16, target, "--journal", str(disk.folder / "journal"))
        time.sleep(3)
        disk.fill()
        outward.until("No space left")
        time.sleep(3)
        disk.free()
        ended(sender, outward, recorder, target, "Edge full", 16)
    print("ok: the edge's disk was full: it was said, and every sample is in the recording")


def edge_disk_stays_full() -> None:
    with lab() as (authority, a, b, _):
        hub, target, disk = Hub(authority), SCRATCH / "edge-lost.xdf", Disk(SCRATCH / "lost-disk", 4_000)
        _, recorder, sender, outward = began(hub, a, b, "Edge lost", 8, target, "--journal", str(disk.folder / "journal"))
        time.sleep(3)
        disk.fill()
        outward.until("No space left")
        sender.until("sent")
        assert outward.end() == 1, outward.text()
        lost = int(re.search(r"LOST: (\d+) samples never reached the journal", outward.text())[1])
        assert "the hub has all of it" not in outward.text(), outward.text()
        recorder.end()
        assert "complete to its end" not in recorder.text(), recorder.text()
        values, _ = recorded(target, "Edge lost")
        numbers = [int(value) for value in values[:, 0]]
        assert numbers == list(range(8 * RATE - lost)) and lost > 0, (len(numbers), lost, outward.text())
    print(f"ok: the edge's disk stayed full to the end: it says that {lost} samples are lost, and exactly those are missing")


def edge_begins_on_a_full_disk() -> None:
    with lab() as (authority, a, b, _):
        hub, target, disk = Hub(authority), SCRATCH / "edge-begins.xdf", Disk(SCRATCH / "full-disk", 4_000)
        options = ("--journal", str(disk.folder / "journal"))
        _, recorder, sender, outward = began(hub, a, b, "Edge begins", 20, target, *options)
        time.sleep(2)
        outward.end()
        disk.fill()
        outward = a.schwann("relay", "out", "--hub", hub.url, *options, "type='EEG'").until("No space left")
        time.sleep(2)
        disk.free()
        sender.until("sent")
        time.sleep(1)
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
        recorder.end()
        values, _ = recorded(target, "Edge begins")
        numbers = [int(value) for value in values[:, 0]]
        jumps = [number for number, following in zip(numbers, numbers[1:]) if following != number + 1]
        assert len(jumps) == 1 and numbers[-1] == 20 * RATE - 1, (jumps, numbers[-1], outward.text())
    print("ok: an edge that begins on a full disk keeps samples in memory until there is room")


def journal_is_moved() -> None:
    with lab() as (authority, a, _, _):
        hub, journal = Hub(authority), SCRATCH / "deleted-journal"
        sender = a.sends("Deleted", 60 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "--journal", str(journal), "type='EEG'").until("the hub is reached")
        hub.kill()
        outward.until("the journal keeps everything meanwhile")
        journal.rename(journal.with_name("moved-journal"))
        outward.until("was moved or deleted; end this program once the hub has all")
        assert outward.end() == 1, outward.text()
        assert re.search(r"LOST: (\d+ .*; )?\d+ blocks are not at the hub, and their journal was moved", outward.text()), outward.text()
        assert "wait in the journal" not in outward.text(), outward.text()
        sender.kill()
    print("ok: the journal was moved away while it was needed: it is said, and what it had counts as lost")


def recorder_disk_is_full() -> None:
    with lab() as (authority, a, b, _):
        hub, disk = Hub(authority), Disk(SCRATCH / "recorder-disk", 4_000)
        target = disk.folder / "recorder-full.xdf"
        record, recorder, sender, outward = began(hub, a, b, "Recorder full", 16, target)
        time.sleep(3)
        disk.fill()
        assert recorder.process.wait(PATIENCE) == 3 and "give it room" in recorder.text(), recorder.text()
        time.sleep(2)
        disk.free()
        recorder = b.schwann(*record).until("goes on").until("the hub is reached")
        ended(sender, outward, recorder, target, "Recorder full", 16)
    print("ok: the recorder's disk was full: it ended with what to do, went on, and every sample is in the recording")


def clock_steps() -> None:
    """The calendars of both ends are set on by an hour and back by two, while the recorder has holes to ask for."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "steps.xdf"
        clocks = [movable_clock(site) for site in (a, b)]
        record, recorder, sender, outward = began(hub, a, b, "Steps", 24, target)
        for seconds in (3600, -3600):
            for clock in clocks:
                time.sleep(2)
                clock.write_text(str(seconds))
            recorder.kill()
            time.sleep(2)
            hub.kill()
            for path in (hub.folder / "store").glob("jetstream/*/streams/*_blocks/msgs/*.blk"):
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            hub.up()
            recorder = b.schwann(*record).until("goes on").until("the hub is reached")
        ended(sender, outward, recorder, target, "Steps", 24)
    print("ok: wall clocks stepped by an hour to and fro: every sample is in the recording")


def history_is_handed_on() -> None:
    """A recorder gets a new wrapping key when an epoch has ended: `none` gives it the present epoch, the others all of them."""
    for policy in ("none", "7d", "all"):
        with lab(f"history={policy}") as (authority, a, b, _):
            hub, target = Hub(authority), SCRATCH / f"history-{policy}.xdf"
            record = ("record", "--hub", hub.url, "-o", str(target), "EEG")
            b.schwann(*record).until("the hub is reached").kill()
            sender = a.sends("History", 16 * RATE)
            outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
            time.sleep(4)
            # A revocation begins an epoch, and reaches the edge through the hub.
            labs.keys(authority.keys, "revoke", "site-c")
            wait_for(lambda: (a.keys / "relay" / "revoked").exists(), "the edge does not learn of the revocation")
            time.sleep(2)
            for salt in (b.keys / "relay").glob("*.salt"):
                salt.unlink()
            recorder = b.schwann(*record).until("goes on").until("the hub is reached")
            sender.until("sent")
            time.sleep(1)
            assert outward.end() == 0, outward.text()
            code, text = recorder.end(), recorder.text()
            if policy != "none":
                assert code == 0 and "complete to its end" in text, text
                same(target, "History", range(16 * RATE))
                continue
            # What is missing is said, and it is what is not in the file.
            first, last = map(int, re.search(r"blocks (\d+) to (\d+) are missing", text).groups())
            values, _ = recorded(target, "History")
            numbers = [int(value) for value in values[:, 0]]
            assert code == 1 and first == 0 and numbers == list(range(numbers[0], 16 * RATE)) and numbers[0] > 2 * RATE, (text, numbers[:2])
            assert last + 1 <= numbers[0], (last, numbers[0])
    print("ok: history=none gives a new key the present epoch, and what is missing is said; 7d and all give everything")


def wrapping_keys_are_renewed() -> None:
    """After 30 days a member has a new wrapping key and goes on with its recording; the old key is wiped after 31."""
    with lab() as (authority, a, b, _):
        hub, target, clocks = Hub(authority), SCRATCH / "renewed.xdf", [movable_clock(site) for site in (authority, a, b)]
        hub.down()
        hub.up()
        record, recorder, sender, outward = began(hub, a, b, "Renewed", 14, target)
        time.sleep(4)
        recorder.kill()
        salts = set((b.keys / "relay").glob("*.salt"))
        assert len(salts) == 1, salts
        for clock in clocks:
            clock.write_text(str(30 * 86_400 + 3600))
        recorder = b.schwann(*record).until("goes on").until("the hub is reached")
        after = set((b.keys / "relay").glob("*.salt"))
        assert len(after) == 2 and salts < after, after
        ended(sender, outward, recorder, target, "Renewed", 14)
        for clock in clocks:
            clock.write_text(str(32 * 86_400))
        status = b.schwann("relay", "status", "--hub", hub.url, "--json")
        assert status.process.wait(PATIENCE) == 0 and json.loads(status.text().splitlines()[-1])["streams"], status.text()
        assert set((b.keys / "relay").glob("*.salt")) == after - salts
    print("ok: a wrapping key of 30 days is replaced while the recording goes on, and wiped when nothing can need it")


if __name__ == "__main__":
    if os.geteuid():
        sys.exit("only root mounts a disk that fills")
    run({"bit": bit_flips, "hub-full": hub_disk_is_full, "edge-full": edge_disk_is_full, "edge-lost": edge_disk_stays_full,
         "edge-begins": edge_begins_on_a_full_disk, "moved": journal_is_moved, "recorder-full": recorder_disk_is_full,
         "steps": clock_steps, "history": history_is_handed_on, "renewed": wrapping_keys_are_renewed})
