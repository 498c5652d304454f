"""Recordings that lack something say so, exit with 1, and delete nothing that is not in the file.

Usage: relay_records.py PROGRAM LIBRARY [WORD...]
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, RATE, SCRATCH, Hub, Site, lab, movable_clock, recorded, run, same, wait_for  # noqa: E402

# It sets where they find the program.
import labs  # noqa: E402


def records(site: Site, hub: Hub, target: pathlib.Path, *words: str):
    return site.schwann("record", "--hub", hub.url, "-o", str(target), *(words or ("EEG",))).until("the hub is reached")


def blocks(target: pathlib.Path) -> list[pathlib.Path]:
    return list(target.with_name(f"{target.name}.blocks").glob("*.blocks"))


def keeps(target: pathlib.Path, bytes_at_least: int) -> None:
    """The recorder's disk has so much of a stream."""
    wait_for(lambda: any(path.stat().st_size >= bytes_at_least for path in blocks(target)), "no block comes")


def without_keys() -> None:
    """The keys of what is kept are gone: it is neither written nor deleted."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "locked.xdf"
        recorder = records(b, hub, target)
        sender = a.sends("Locked", 5 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        keeps(target, 20_000)
        recorder.kill()
        sender.until("sent")
        assert outward.end() == 0, outward.text()
        hub.down()
        for salt in (b.keys / "relay").glob("*.salt"):
            salt.unlink()
        kept = {path.name: path.read_bytes() for path in blocks(target)}
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("whose keys are not here")
        assert recorder.end() == 1, recorder.text()
        assert "cannot be opened, because their keys are not here" in recorder.text(), recorder.text()
        assert str(blocks(target)[0].parent) in recorder.text().splitlines()[-2], recorder.text()
        assert "the hub was not reached at the end" in recorder.text().splitlines()[-1], recorder.text()
        assert not target.exists() and kept == {path.name: path.read_bytes() for path in blocks(target)}
    print("ok: blocks whose keys are not here stay where they are, and are told")


def damaged_disk() -> None:
    """A bit of a kept block flips before the file is written, and another one while no recorder runs."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "damaged.xdf"
        recorder = records(b, hub, target)
        sender = a.sends("Damaged", 6 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        keeps(target, 20_000)
        recorder.kill()
        file, = blocks(target)
        flip(file, 0)
        recorder = records(b, hub, target)
        assert "1 places of" in recorder.text() and "asked for again" in recorder.text(), recorder.text()
        sender.until("sent")
        assert outward.end() == 0, outward.text()
        time.sleep(1)
        # It is in no block's length: the recorder does not look at what it has kept.
        flip(file, 2000)
        assert recorder.end() == 1, recorder.text()
        lines = recorder.text().splitlines()
        assert re.search(r"blocks (\d+) to \1 are missing", recorder.text()), lines
        assert "1 blocks are damaged on this disk, and count as missing; they are not in the file" in lines, lines
        assert file.exists() and target.exists() and f"rename {target}" in lines[-1], lines
        # As the last line says. The hub has the block, and gives it again.
        target.rename(target.with_name("lacks-one.xdf"))
        size = file.stat().st_size
        recorder = records(b, hub, target)
        # What was asked for again is appended.
        wait_for(lambda: file.stat().st_size > size, "the block does not come again")
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        same(target, "Damaged", range(6 * RATE))
        assert not file.exists()
    print("ok: a damaged block of the recorder's disk counts as missing, is told, and comes again")


def flip(file: pathlib.Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 4
    with file.open("r+b") as whole:
        whole.seek(at)
        whole.write(content[at:at + 1])


def hole_below_the_lowest() -> None:
    """A recorder that wanted block 0 and lost it with its disk's first blocks does not call the rest complete."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "lowest.xdf"
        recorder = records(b, hub, target)
        sender = a.sends("Lowest", 5 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        keeps(target, 20_000)
        recorder.kill()
        file, = blocks(target)
        whole = file.read_bytes()
        # The first two records go, as if the newest blocks had come first.
        second = 8 + int.from_bytes(whole[:4], "little")
        third = second + 8 + int.from_bytes(whole[second:second + 4], "little")
        file.write_bytes(whole[third:])
        recorder = records(b, hub, target)
        sender.until("sent")
        assert outward.end() == 0, outward.text()
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        same(target, "Lowest", range(5 * RATE))
    print("ok: a recorder that goes on asks for what is missing below its lowest block")


def hub_is_lost() -> None:
    """The hub is gone until the end: exit code 1, and the last line says what is not known; so does JSON."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        targets = [SCRATCH / "lost-words.xdf", SCRATCH / "lost-json.xdf"]
        words = records(b, hub, targets[0])
        script = b.schwann("record", "--hub", hub.url, "-o", str(targets[1]), "--json", "EEG").until('"hub":"connected"')
        a.sends("Lost", 60 * RATE)
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        for target in targets:
            keeps(target, 10_000)
        hub.kill()
        words.until("broke")
        script.until("broke")
        assert words.end() == 1 and script.end() == 1, (words.text(), script.text())
        lines = words.text().splitlines()
        assert "its end is not known, because its sender does not answer" in lines[-2], lines
        assert "the hub was not reached at the end" in lines[-1], lines
        page = json.loads(script.text().splitlines()[-1])
        assert page["hub"] != "connected" and not page["is_well"] and page["is_over"], page
        assert page["streams"][0]["runs"][0]["end"] == "unknown", page
        remarks = [remark for line in script.text().splitlines() for remark in json.loads(line)["remarks"]]
        assert "the hub is reached" in remarks and any("broke" in remark for remark in remarks), remarks
    print("ok: a hub that is lost until the end is told in words and in JSON, and the exit code is 1")


def queries_and_profiles() -> None:
    """A query without a stream gives exit code 1; what a profile asks for and --hub cannot do is refused."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "query.xdf"
        a.sends("Query", 60 * RATE)
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        recorder = records(b, hub, target, "EEG", "Markers")
        keeps(target, 10_000)
        assert recorder.end() == 1, recorder.text()
        assert "no stream matches Markers" in recorder.text() and "no stream matches EEG" not in recorder.text(), recorder.text()
        recorder = records(b, hub, SCRATCH / "runs-on.xdf")
        keeps(SCRATCH / "runs-on.xdf", 10_000)
        second = b.schwann("record", "--hub", hub.url, "-o", str(SCRATCH / "runs-on.xdf"), "EEG")
        assert second.process.wait(PATIENCE) == 3 and "another program records into this file" in second.text(), second.text()
        assert recorder.end() == 0, recorder.text()
        for word, text in (("require", '[record]\nrequire = ["EEG"]'), ("split", "[record]\nsplit = 5"), ("limits", "[record]\n[limits]\ngaps = 3")):
            profile = SCRATCH / f"{word}.toml"
            profile.write_text(f"{text}\n")
            refused = b.schwann("record", "--hub", hub.url, "--profile", str(profile), "-o", str(SCRATCH / "refused.xdf"))
            assert refused.process.wait(PATIENCE) == 3, refused.text()
            assert word in refused.text() and "does not go with --hub" in refused.text() and "relay in" in refused.text(), refused.text()
    print("ok: a query that finds no stream is told; a profile that --hub cannot follow, and a second recorder, are refused")


def run_of_which_nothing_is_left() -> None:
    """All blocks of a run are lost at the hub and at its edge: the recording says so, beside the whole run behind it."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "nothing.xdf"
        recorder = records(b, hub, target)
        # The first run must be sealed for it.
        hub.knows_a_member()
        recorder.kill()
        sender = a.sends("Nothing", 30 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        journal = a.keys / "relay" / "out"
        wait_for(lambda: sum(path.stat().st_size for path in journal.glob("*/*.blocks")) > 20_000, "nothing is sealed")
        outward.kill()
        for path in journal.glob("*/*.blocks"):
            # The newest block says how far the run came.
            content = path.read_bytes()
            at = last = 0
            while at < len(content):
                last, at = at, at + 8 + int.from_bytes(content[at:at + 4], "little")
            path.write_bytes(bytes(last) + content[last:])
        hub.down()
        for path in (hub.folder / "store").glob("jetstream/*/streams/*_blocks/msgs/*"):
            path.unlink()
        hub.up()
        recorder = records(b, hub, target)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed").until("damaged")
        time.sleep(4)
        wait_for(lambda: a.edge_status()["damaged_blocks"] > 0, "the edge does not tell of the damage")
        assert outward.end() == 1 and "LOST" in outward.text(), outward.text()
        time.sleep(1)
        assert recorder.end() == 1, recorder.text()
        line, = [line for line in recorder.text().splitlines() if line.startswith("Nothing of ")]
        assert re.search(r"run 1 of 2: blocks 0 to \d+ are missing; of these the sender no longer has 0 to \d+; its sender was cut off", line), line
        assert "run 2 of 2: complete to its end" in line, line
        assert sender.process.poll() is None
    print("ok: a run of which nearly nothing is left is told with its own numbers, also before a whole one")


def stream_without_key() -> None:
    """An edge does not serve this member: its stream is not passed over in silence."""
    with lab() as (authority, a, b, c):
        hub = Hub(authority)
        labs.keys(authority.keys, "revoke", "site-c")
        targets = {site: SCRATCH / f"{site.keys.name}-key.xdf" for site in (b, c)}
        # A friend brings the list to the edge, which serves site-c no more.
        hub.down()
        hub.up()
        recorders = {site: site.schwann("record", "--hub", hub.url, "-o", str(target)).until("the hub is reached")
                     for site, target in targets.items()}
        sender = a.sends("Key", 60 * RATE)
        first = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        wait_for(lambda: (a.keys / "relay" / "revoked").exists(), "the edge does not learn of the revocation")
        keeps(targets[b], 10_000)
        assert first.end() == 0, first.text()
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed").until("the hub is reached")
        wait_for(lambda: len(blocks(targets[b])) == 2, "the other member gets no key")
        # As long as a key may take.
        time.sleep(5)
        # Its key for the first moments may be late: the revocation began an epoch.
        recorders[b].end()
        assert "did not come" not in recorders[b].text(), recorders[b].text()
        assert recorders[c].end() == 1, recorders[c].text()
        assert "what site-a sends is not all recorded, because a key did not come" in recorders[c].text(), recorders[c].text()
        assert sender.process.poll() is None
    print("ok: a stream whose key does not come is told, and the exit code is 1")


def looks_wipe_nothing() -> None:
    """`schwann` keeps wrapping keys that `history=all` needs, though they are long past."""
    with lab("history=all") as (authority, _, b, _):
        hub, clocks = Hub(authority), [movable_clock(site) for site in (authority, b)]
        hub.down()
        hub.up()
        first = records(b, hub, SCRATCH / "keys.xdf")
        first.kill()
        salts = set((b.keys / "relay").glob("*.salt"))
        assert len(salts) == 1, salts
        for clock in clocks:
            clock.write_text(str(80 * 86_400))
        look = b.schwann("--once", "--hub", hub.url)
        look.process.wait(PATIENCE)
        after = set((b.keys / "relay").glob("*.salt"))
        assert salts < after, (salts, after, look.text())
    print("ok: a look at a hub wipes no wrapping key")


def sender_hesitates() -> None:
    """A computer that is too busy to answer at the end of the recording is waited for."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "hesitates.xdf"
        recorder = records(b, hub, target, "EEG", "--seconds", "7")
        sender = a.sends("Hesitates", 60 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        keeps(target, 20_000)
        # An answer is old after 5 s. The recorder ends after 7, and then waits at most 10 for a newer one.
        outward.process.send_signal(signal.SIGSTOP)
        time.sleep(9)
        assert recorder.process.poll() is None, recorder.text()
        outward.process.send_signal(signal.SIGCONT)
        assert recorder.end() == 0 and "its end is not known" not in recorder.text(), recorder.text()
        # Its relay still answers.
        target = SCRATCH / "silent.xdf"
        recorder = records(b, hub, target)
        keeps(target, 20_000)
        sender.process.send_signal(signal.SIGSTOP)
        time.sleep(8)
        assert recorder.end() == 1, recorder.text()
        assert "no sample came in the last seconds, although its sender answers" in recorder.text(), recorder.text()
        sender.kill()
    print("ok: a sender that hesitates at the end of a recording is waited for, and one that sends nothing is told")


def no_program_reads() -> None:
    """What reads the output of recorders and edge ends after a line: all goes on, and the exit code is that of the work."""
    with lab() as (authority, a, b, _):
        hub, target, other = Hub(authority), SCRATCH / "unread.xdf", SCRATCH / "unread-lines.xdf"
        recorders = [unread(b, "record", "--hub", hub.url, "-o", str(path), "EEG", *words)
                     for path, words in ((target, ["--json"]), (other, []))]
        sender = a.sends("Unread", 5 * RATE)
        outward = unread(a, "relay", "out", "--hub", hub.url, "type='EEG'")
        sender.until("sent")
        assert ends(outward) == 0 and not a.edge_status(), a.edge_status()
        assert [ends(recorder) for recorder in recorders] == [0, 0]
        for path in (target, other):
            same(path, "Unread", range(5 * RATE))
        recorder = unread(b, "record", "--hub", hub.url, "-o", str(SCRATCH / "unread-lost.xdf"), "EEG")
        hub.kill()
        assert ends(recorder) == 1
    print("ok: a recorder and an edge whose output no program reads go on to their end, with the exit code of their work")


def unread(site: Site, *words: str) -> subprocess.Popen:
    """A program whose first line is read, and no other."""
    process = subprocess.Popen([sys.argv[1], *words], env=site.environment, stdout=subprocess.PIPE, start_new_session=True)
    site.programs.append(types.SimpleNamespace(process=process))
    assert process.stdout.readline()
    process.stdout.close()
    return process


def ends(process: subprocess.Popen) -> int:
    assert process.poll() is None, process.returncode
    process.send_signal(signal.SIGINT)
    return process.wait(PATIENCE)


if __name__ == "__main__":
    run({"locked": without_keys, "damaged": damaged_disk, "lowest": hole_below_the_lowest, "hub-lost": hub_is_lost,
         "queries": queries_and_profiles, "nothing": run_of_which_nothing_is_left, "key": stream_without_key,
         "looks": looks_wipe_nothing, "hesitates": sender_hesitates, "unread": no_program_reads})
