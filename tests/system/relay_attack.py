"""A hub that is the attacker's, on the real protocol: it reads everything, and publishes what no honest hub would.

Usage: relay_attack.py PROGRAM LIBRARY [WORD...]

Messages are altered, cut, made longer, swapped, repeated, of another lab, and of an earlier run, as `docs/spec/relay.md` lays them out.
RELAY_ATTACKS says how many; 100000 take ten minutes.
"""

import contextlib
import json
import os
import pathlib
import random
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from relay_sites import PATIENCE, RATE, SCRATCH, Hub, Site, far_streams, is_recorded, lab, recorded, run, same, wait_for  # noqa: E402

import nats_raw  # noqa: E402

COUNT = int(os.environ.get("RELAY_ATTACKS", "2000"))
# No faster than a member checks signatures on a machine that does other things, too.
PER_SECOND = 200
KINDS = ("altered", "cut", "longer", "swapped", "repeated", "foreign", "older")
# Where a block has its number, and wrapped keys their epoch and the count of their members (relay §4, §6).
NUMBER, EPOCH, MEMBERS = 64, 52, 64
# Where a receipt has its range (relay §7).
RANGE = 256


def run_of(payload: bytes) -> bytes:
    """The name of the run that a message belongs to (relay §4 to §7)."""
    return payload[40:56] if payload.startswith(b"SRB") else payload[36:52]


def taken_over(hub: Hub, site: Site):
    """The server of the hub goes on with a user that may do everything; returns that user's connection."""
    hub.down()
    configuration = hub.folder / "hub.conf"
    text = configuration.read_text().replace("users: [", 'users: [\n      { user: attacker, password: "it is my hub" }', 1)
    configuration.write_text(text)
    server = site.runs("nats-server", "--config", str(configuration))
    found = []

    def attempt() -> bool:
        with contextlib.suppress(OSError):
            found.append(nats_raw.Client(hub.port, "attacker", "it is my hub"))
        return bool(found)

    wait_for(attempt, "the server does not listen")
    found[0].subscribe("schwann.>")
    return server, found[0]


def gathered(authority: Site, a: Site) -> list[tuple[str, bytes]]:
    """Messages of another lab."""
    hub = Hub(authority)
    server, listener = taken_over(hub, a)
    sender = a.sends("Foreign", 20 * RATE)
    outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'")
    messages = list(listener.messages(60))
    for program in (outward, sender, server):
        program.kill()
    return messages


class Attack:
    """Draws bad messages, and knows which of them a member must name in its security log."""

    def __init__(self, seen, earlier, elsewhere) -> None:
        self.chance = random.Random(7)
        # Keys that were wrapped for no member say nothing to one.
        is_for_a_member = lambda subject, payload: not subject.endswith(".k") or payload[MEMBERS:MEMBERS + 2] != b"\0\0"
        seen = [one for one in seen if is_for_a_member(*one)]
        self.groups = {end: [one for one in seen if one[0].endswith(end)] for end in (".b", ".m", ".k", ".r", ".c")}
        # The recorder said its wrapping key when it joined; the edge alone hears it.
        self.groups["members"] = [one for one in [*earlier, *seen] if one[0].endswith("members")]
        assert all(self.groups.values()), {end: len(group) for end, group in self.groups.items()}
        self.earlier, self.elsewhere = earlier, elsewhere
        self.kinds, self.ahead = dict.fromkeys(KINDS, 0), 10**6
        # How many the recorder must name, and how many the edge.
        self.named = {"recorder": 0, "edge": 0}

    def draw(self) -> tuple[str, bytes]:
        """Subject and payload of the next message."""
        subject, payload = self.chance.choice(self.groups[self.chance.choice(list(self.groups))])
        kind = self.chance.choice(KINDS)
        self.kinds[kind] += 1
        bad_subject, bad, is_named = getattr(self, kind)(subject, payload)
        self.named["edge" if bad_subject.endswith("members") else "recorder"] += is_named
        return bad_subject, bad

    def fresh(self, payload: bytes) -> bytes:
        """The message with a number that the member lacks: one that it has is dropped as a repeat, before it costs anything."""
        self.ahead += 1
        if payload.startswith(b"SRB"):
            return payload[:NUMBER] + struct.pack("<Q", self.ahead) + payload[NUMBER + 8:]
        if payload.startswith(b"SRK"):
            return payload[:EPOCH] + struct.pack("<I", self.ahead) + payload[EPOCH + 4:]
        return payload

    def altered(self, subject, payload):
        payload = self.fresh(payload)
        # Behind the names of lab, stream and run: a run that was not announced is not known, and not named.
        place = self.chance.randrange(80, len(payload))
        return subject, payload[:place] + bytes([payload[place] ^ (1 << self.chance.randrange(8))]) + payload[place + 1:], True

    def cut(self, subject, payload):
        # Wrapped keys without a run belong to nothing; all others are no messages.
        return subject, payload[:self.chance.randrange(4, len(payload))], not subject.endswith(".k")

    def longer(self, subject, payload):
        return subject, self.fresh(payload) + self.chance.randbytes(self.chance.randrange(1, 64)), True

    def swapped(self, subject, payload):
        """The head of one block with the body of another, on any subject."""
        (_, head), (_, body) = self.chance.choice(self.groups[".b"]), self.chance.choice(self.groups[".b"])
        return subject, self.fresh(head[:116] + body[116:]), True

    def repeated(self, subject, payload):
        return subject, payload, False

    def foreign(self, subject, payload):
        lab_name = subject.split(".")[1]
        other, content = self.chance.choice(self.elsewhere)
        return other.replace(other.split(".")[1], lab_name), content, content.startswith(b"SRA")

    def older(self, subject, payload):
        """What the device said itself, in an earlier run."""
        return *self.chance.choice(self.earlier), False


def earlier_run(hub: Hub, a: Site, b: Site, listener) -> list[tuple[str, bytes]]:
    """A run of the same stream before the recording, whose keys the recorder's device has; its numbers are those of no later sample."""
    sender = a.sends("Attacked", 40 * RATE, 10**6)
    outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
    status = b.schwann("relay", "status", "--hub", hub.url, "--json")
    assert status.process.wait(PATIENCE) == 0, status.text()
    assert json.loads(status.text().splitlines()[-1])["streams"][0]["latest_block"], status.text()
    messages = list(listener.messages(200))
    # The calendars of two sites may differ by 5 s: a run that is older began before the recording.
    time.sleep(3)
    for program in (outward, sender):
        program.kill()
    return messages


def said(site: Site) -> tuple[int, set[str]]:
    """How many messages of the hub the security log names, and as what."""
    events = [event for event in site.events() if event["event"] == "relay"]
    return sum(1 + int(event.get("left_out", 0)) for event in events), {event["what"] for event in events}


def hub_attacks() -> None:
    with lab() as (authority, a, b, _), lab() as (foreign, fa, _, _):
        hub = Hub(authority)
        server, attacker = taken_over(hub, a)
        elsewhere, earlier = gathered(foreign, fa), earlier_run(hub, a, b, attacker)
        target, seconds = SCRATCH / "attacked.xdf", COUNT // PER_SECOND + 12
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        sender = a.sends("Attacked", seconds * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        # What the earlier run said after it was listened to is no news either.
        before_this = {run_of(payload) for _, payload in earlier}
        news = (one for one in attacker.messages(10**9) if run_of(one[1]) not in before_this)
        attack = Attack([next(news) for _ in range(250)], earlier, elsewhere)
        attacker.unsubscribe()
        before = {"recorder": said(b)[0], "edge": said(a)[0]}
        begun = time.monotonic()
        for number in range(COUNT):
            attacker.publish(*attack.draw())
            attacker.idle()
            time.sleep(max(0.0, begun + number / PER_SECOND - time.monotonic()))
        sender.until("sent", PATIENCE + seconds)
        # The next event of a kind says how many were left out before it.
        time.sleep(2)
        attacker.publish(*attack.draw())
        attacker.publish(attack.groups[".b"][0][0], b"SRB")
        time.sleep(1)
        assert outward.end() == 0, outward.text()
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        same(target, "Attacked", range(seconds * RATE))
        named = {}
        for who, site, kinds in (("recorder", b, {"block", "announcement", "wrapped key", "note", "clock answer"}),
                                 ("edge", a, {"wrapping key", "note", "clock probe"})):
            count, found = said(site)
            named[who] = count - before[who]
            # One in a hundred may hit what makes it another's message, or one that counts as expired.
            assert named[who] >= attack.named[who] * 0.99 and found >= kinds, (who, named, attack.named, found, attack.kinds)
        assert server.process.poll() is None
    print(f"ok: {COUNT} messages of a hostile hub ({attack.kinds}): none delivered, {named} named in the security logs "
          f"(at least {attack.named} had to be), every sample of the sender is there")


def earlier_run_is_not_offered() -> None:
    """The hub gives an earlier run again, block by block, as if it went on: no screen shows it as a stream of now."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        _, attacker = taken_over(hub, a)
        earlier = earlier_run(hub, a, b, attacker)
        inward = b.schwann("relay", "in", "--hub", hub.url).until("the hub is reached")
        status = b.schwann("relay", "status", "--hub", hub.url, "--json", "--seconds", "9")
        blocks = [(subject, payload) for subject, payload in earlier if subject.endswith(".b")]
        for message in [one for one in earlier if one not in blocks] + blocks:
            attacker.publish(*message)
            attacker.idle()
            if "not offered" in inward.text() and status.process.poll() is not None:
                break
            time.sleep(0.05)
        assert "its sender does not answer; they may be old" in inward.text() and "is here" not in inward.text(), inward.text()
        assert status.process.wait(PATIENCE) == 0, status.text()
        stream, = json.loads(status.text().splitlines()[-1])["streams"]
        assert stream["latest_block"] is not None and stream["sender_answers"] is False, stream
    print("ok: an earlier run that the hub gives again is not offered, and `relay status` says that its sender does not answer")


def joined_late() -> None:
    """A recorder joins a run, and is then given blocks of before: it records from where it joined, and receipts no others."""
    with lab() as (authority, a, b, _):
        hub = Hub(authority)
        _, attacker = taken_over(hub, a)
        a.sends("Joined", 120 * RATE)
        a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        news = attacker.messages(10**9)
        early = [one for one in (next(news) for _ in range(100)) if one[0].endswith(".b")][:20]
        # The calendars of two sites may differ by 5 s: a run that is older began before the recording.
        time.sleep(8)
        target = SCRATCH / "joined.xdf"
        recorder = b.schwann("record", "--hub", hub.url, "-o", str(target), "EEG").until("the hub is reached")
        samples, receipts = {}, []
        for _, payload in news:
            if payload.startswith(b"SRB"):
                number, earlier = struct.unpack_from("<QQ", payload, NUMBER)
                samples[number] = earlier
            elif payload.startswith(b"SRR"):
                receipts.append(struct.unpack_from("<Q", payload, RANGE)[0])
                if len(receipts) == 2:
                    for one in early:
                        attacker.publish(*one)
                if len(receipts) == 12:
                    break
        assert recorder.end() == 0, recorder.text()
        values = [int(value) for value in recorded(target, "Joined")[0][:, 0]]
        assert values == list(range(values[0], values[-1] + 1)), (values[0], values[-1], len(values))
        assert samples[min(receipts)] == values[0] > 5 * RATE, (min(receipts), samples[min(receipts)], values[0])
    print(f"ok: a recorder joined at sample {values[0]}: its receipts begin there, and {len(early)} blocks of before are left out")


def logs_are_deleted() -> None:
    """The hub's owner deletes both logs of the lab while samples flow and no recorder runs."""
    with lab() as (authority, a, b, _):
        hub, target = Hub(authority), SCRATCH / "deleted.xdf"
        _, owner = taken_over(hub, a)
        record = ("record", "--hub", hub.url, "-o", str(target), "EEG")
        recorder = b.schwann(*record).until("the hub is reached")
        sender = a.sends("Deleted", 14 * RATE)
        outward = a.schwann("relay", "out", "--hub", hub.url, "type='EEG'").until("is relayed")
        wait_for(lambda: a.edge_status().get("receipts"), "the recorder gives no receipt")
        recorder.kill()
        left = a.edge_status()["blocks"]
        wait_for(lambda: a.edge_status()["blocks"] > left + 50, "the edge seals no more")
        of_lab = next(owner.messages(1))[0].split(".")[1]
        owner.unsubscribe()
        owner.flush()
        for kind in ("blocks", "words"):
            answer = json.loads(owner.request(f"$JS.API.STREAM.DELETE.schwann_{of_lab}_{kind}"))
            assert answer.get("success"), answer
        recorder = b.schwann(*record).until("goes on").until("the hub is reached")
        sender.until("sent")
        assert outward.end() == 0 and "the hub has all of it" in outward.text(), outward.text()
        wait_for(lambda: is_recorded(a, b, hub), lambda: f"not all is receipted: {far_streams(b, hub)}")
        assert recorder.end() == 0 and "complete to its end" in recorder.text(), recorder.text()
        same(target, "Deleted", range(14 * RATE))
    print("ok: the logs of a lab are deleted at the hub: the edge's journal fills the holes, and every sample is in the recording")


if __name__ == "__main__":
    run({"attacked": hub_attacks, "replayed": earlier_run_is_not_offered, "joined": joined_late, "deleted": logs_are_deleted})
