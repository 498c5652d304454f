"""Old devices in a sealed lab: plain streams become sealed, sealed ones plain for one user, and every other way is refused.

Usage: gateway.py PROGRAM LIBRARY ORIGINAL

Three computers, each a network namespace: B is the lab's, A has an old device, C is a stranger. A's clock is 5,000 s ahead.
Programs without keys run on the original library, as old devices do.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM, LIBRARY, ORIGINAL = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:4])
SCRATCH = pathlib.Path(tempfile.mkdtemp())
A, B, C = (f"gateway-{os.getpid()}{letter}" for letter in "abc")
AHEAD = 5000
PATIENCE = 60

SEND = r"""
import sys, time, pylsl
name, source, format = sys.argv[1:4]
info = pylsl.StreamInfo(name, "EEG", 3, 100, format, source)
info.desc().append_child("amplifier").append_child_value("serial", "4711").append_child_value("maker", "ä & <Söhne>")
for label in ("Fp1", "Fp2", "Cz"):
    info.desc().append_child("channels").append_child("channel").append_child_value("label", label)
outlet = pylsl.StreamOutlet(info)
print("ready", flush=True)
number, value = 0, str if format == "string" else int
while True:
    number = number % 30000 + 1
    outlet.push_sample([value(number), value(-number), value(7)], number / 100 + 7)
    time.sleep(0.01)
"""
RECEIVE = r"""
import json, sys, pylsl
name, patience = sys.argv[1], float(sys.argv[2])
found = pylsl.resolve_byprop("name", name, 1, patience)
if not found:
    print(json.dumps(None)); sys.exit()
inlet = pylsl.StreamInlet(found[0])
info = inlet.info(10)
offset = inlet.time_correction(10)
samples, stamps = [], []
while len(stamps) < 100:
    sample, stamp = inlet.pull_sample(10)
    samples.append(sample); stamps.append(stamp)
# Numbers of every format, and of texts.
samples = [[float(value) for value in sample] for sample in samples]
print(json.dumps({"samples": samples, "stamps": stamps, "offset": offset, "desc": info.as_xml().partition("<desc>")[2],
    "description": [info.name(), info.type(), info.channel_count(), info.nominal_srate(), info.channel_format(), info.source_id()],
    "count": len(found)}))
"""
# A thief asks each port for the description and the samples, without looking for the stream first.
TAKE = r"""
import contextlib, json, socket, sys
host, ports, got = sys.argv[1], json.loads(sys.argv[2]), ""
for port in ports:
    for question in (b"LSL:fullinfo\r\n", b"LSL:streamfeed\r\n0 0\r\n", b"LSL:streamfeed/110 \r\nData-Protocol-Version: 110\r\n\r\n"):
        with contextlib.suppress(OSError), socket.create_connection((host, port), 2) as link:
            link.settimeout(2)
            link.sendall(question)
            got += link.recv(4096).decode(errors="replace")
print(json.dumps(got))
"""
# Takes a stream, and says what comes of it within a few seconds.
TRY = r"""
import contextlib, json, sys, pylsl
found = pylsl.resolve_byprop("name", sys.argv[1], 1, 15)
samples = []
if found:
    inlet = pylsl.StreamInlet(found[0], recover=False)
    with contextlib.suppress(RuntimeError):
        inlet.open_stream(10)
        while len(samples) < 20 and (pulled := inlet.pull_sample(5))[1]:
            samples.append(pulled[0])
print(json.dumps({"found": len(found), "samples": samples}))
"""
# A man on the way from a member to the gateway. He passes connections on, or strips them of what seals them: he asks the device for its
# plain stream, and gives that.
MAN = r"""
import contextlib, socket, struct, sys, threading
how, gateway, device, port, device_port = *sys.argv[1:4], *map(int, sys.argv[4:6])
listener = socket.create_server(("", port))
print("ready", flush=True)

def carry(source, target):
    with contextlib.suppress(OSError):
        while part := source.recv(1 << 16):
            target.sendall(part)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

def serve(link):
    # What the connection was made to, before it came here.
    wanted = struct.unpack("!2xH12x", link.getsockopt(socket.SOL_IP, 80, 16))[0]
    asked = link.recv(1 << 16)
    if how == "pass":
        far = socket.create_connection((gateway, wanted))
    else:
        far = socket.create_connection((device, device_port))
        if asked.startswith(b"LSL:secure"):
            print("stripped", flush=True)
            asked = b"LSL:streamfeed/110\r\nNative-Byte-Order: 1234\r\nData-Protocol-Version: 110\r\n\r\n"
        # The device has another UID than the gateway's stream.
        line, _, rest = asked.partition(b"\r\n")
        asked = line.partition(b" ")[0] + b" \r\n" + rest
    far.sendall(asked)
    threading.Thread(target=carry, args=(link, far), daemon=True).start()
    carry(far, link)

while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
MANS_PORT, MANS_USER = 17000, 1234


def run(command: str) -> None:
    done = subprocess.run(command.split(), capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")


class Computer:
    def __init__(self, space: str, keys: pathlib.Path | None = None, text: str = "", ahead: int = 0, user: int | None = None) -> None:
        self.space, self.ahead, self.user = space, ahead, user
        config = SCRATCH / f"{space}-{len(list(SCRATCH.iterdir()))}.cfg"
        config.write_text("[log]\nlevel=-2\n[ports]\nIPv6=disable\n" + text)
        config.chmod(0o644)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCHWANN", "LSL"))}
        self.environment = kept | {"LSLAPICFG": str(config), "PYLSL_LIB": LIBRARY if keys else ORIGINAL, "HOME": str(SCRATCH),
                                   "SCHWANN_KEYS": str(keys or SCRATCH / "no keys")}

    def command(self, *words: str) -> list[str]:
        user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"] if self.user else []
        clock = ["unshare", "--time", "--fork", "--kill-child", f"--monotonic={self.ahead}"] if self.ahead else []
        return ["ip", "netns", "exec", self.space, *clock, *user, *words]

    @contextlib.contextmanager
    def running(self, *words: str, until: str):
        process = subprocess.Popen(self.command(*words), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, start_new_session=True)
        try:
            line = process.stdout.readline()
            assert until in line, f"{words}: {line}{process.stdout.read() if process.poll() is not None else ''}"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 2 if "gateway" in words else 9)
            process.wait(20)
            process.stdout.close()

    def sends(self, name: str, source: str, format: str = "float32"):
        return self.running(sys.executable, "-c", SEND, name, source, format, until="ready")

    def gateway(self, *options: str):
        return self.running(PROGRAM, "gateway", *options, until="Ctrl-C")

    def receives(self, name: str, patience: float = 15):
        return self.answers(RECEIVE, name, str(patience))

    def takes(self, host: str, ports: list[int]) -> str:
        return self.answers(TAKE, host, json.dumps(ports))

    def answers(self, script: str, *words: str):
        done = subprocess.run(self.command(sys.executable, "-c", script, *words), env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


def says(process, text: str) -> bool:
    """Whether it says this before it ends, which it must do in time."""
    late = threading.Timer(PATIENCE, process.kill)
    late.start()
    try:
        return any(text in line for line in process.stdout)
    finally:
        late.cancel()


def same(original, copy) -> None:
    assert original["description"] == copy["description"] and original["desc"] == copy["desc"], (original, copy)
    assert "4711" in copy["desc"] and "Söhne" in copy["desc"] and copy["desc"].count("<label>") == 3, copy
    assert abs(original["offset"] - copy["offset"]) < 0.05, (original["offset"], copy["offset"])
    for sample, stamp in zip(copy["samples"], copy["stamps"], strict=True):
        assert stamp == sample[0] / 100 + 7 and sample[1] == -sample[0], (sample, stamp)
    numbers = [sample[0] for sample in copy["samples"]]
    assert numbers == [numbers[0] + number for number in range(len(numbers))], numbers


def connect() -> None:
    """All three at one switch in B."""
    run(f"ip -n {B} link add switch type bridge")
    run(f"ip -n {B} addr add 10.99.0.2/24 dev switch")
    run(f"ip -n {B} link set switch up")
    for space, number in ((A, 1), (C, 3)):
        run(f"ip link add cable netns {space} type veth peer name cable{number} netns {B}")
        run(f"ip -n {B} link set cable{number} master switch up")
        run(f"ip -n {space} addr add 10.99.0.{number}/24 dev cable")
        run(f"ip -n {space} link set cable up")
        run(f"ip -n {space} route add 224.0.0.0/4 dev cable")
    run(f"ip -n {B} route add 224.0.0.0/4 dev switch")


def check_inward(lab: Computer, guest: Computer) -> None:
    with guest.sends("Near", "near-1"):
        assert lab.receives("Near", 3) is None, "a sealed lab takes no plain stream"
        original = guest.receives("Near")
        with lab.gateway():
            same(original, lab.receives("Near"))
            assert lab.receives("Near")["count"] == 1, "one gateway makes one stream"
            with lab.gateway() as second:
                assert says(second, "in both forms"), "a second gateway leaves it alone: no loop"
    print("ok: plain streams of this computer are sealed, with stamps, clock and description")


def check_far(lab: Computer, guest: Computer) -> None:
    device, stranger = Computer(A, ahead=AHEAD), Computer(C)
    with device.sends("Far", "far-1"), stranger.sends("Strange", "strange-1"):
        original = guest.receives("Far")
        assert abs(original["offset"] + AHEAD) < 1, original["offset"]
        with lab.gateway():
            assert lab.receives("Far", 5) is None, "no other computer's stream comes in unless it is named"
        with lab.gateway("--from", "10.99.0.9") as waiting:
            assert says(waiting, "No plain stream answers at 10.99.0.9 yet"), "a computer that is down is named"
        with lab.gateway("--from", "10.99.0.1"):
            same(original, lab.receives("Far"))
            assert lab.receives("Strange", 4) is None, "only the named computer brings a stream in"
            assert Computer(C).receives("Far")["count"] == 1, "a stranger sees the device alone"
    print("ok: plain streams of one named computer are sealed, and its clock is the device's")


def check_outward(lab: Computer, guest: Computer) -> None:
    with lab.sends("Sealed", "sealed-1"):
        assert guest.receives("Sealed", 3) is None, "a stranger sees no sealed stream"
        original = lab.receives("Sealed")
        with lab.gateway("--out") as gateway:
            same(original, guest.receives("Sealed"))
            ports = ports_of(gateway)
            assert "<name>Sealed</name>" in guest.takes("127.0.0.1", ports), "the thief knows how to ask"
            other = Computer(B, user=1234)
            assert other.takes("127.0.0.1", ports) == "", "another user gets nothing at the port itself"
            assert Computer(C).takes("10.99.0.2", ports) == "", "another computer gets nothing at the port itself"
            assert other.receives("Sealed", 5) is None, "another user of the computer gets nothing"
            assert Computer(C).receives("Sealed", 5) is None, "another computer gets nothing"
            with lab.gateway() as inward, contextlib.suppress(TimeoutError):
                time.sleep(4)
                assert lab.receives("Sealed")["count"] == 1, "both directions at once make no loop"
                assert inward.poll() is None
    print("ok: sealed streams are plain for this user on this computer, and for no one else")


def check_formats(lab: Computer, guest: Computer) -> None:
    for format in ("int16", "string"):
        with guest.sends(f"Of {format}", f"{format}-1", format):
            original = guest.receives(f"Of {format}")
            with lab.gateway():
                same(original, lab.receives(f"Of {format}"))
        with lab.sends(f"Out {format}", f"out-{format}-1", format):
            original = lab.receives(f"Out {format}")
            with lab.gateway("--out"):
                same(original, guest.receives(f"Out {format}"))
    print("ok: whole numbers and texts pass in both directions")


def ports_of(process, space: str = B) -> list[int]:
    """Where a program listens, on TCP."""
    shown = subprocess.run(["ip", "netns", "exec", space, "ss", "-Htlnp"], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in shown.splitlines() if f"pid={process.pid}," in line]
    return sorted({int(line[3].rpartition(":")[2]) for line in lines})


def check_stripped(lab: Computer, guest: Computer) -> None:
    with guest.sends("Near", "near-1"):
        done = subprocess.run(lab.command(PROGRAM, "gateway"), env=lab.environment | {"SCHWANN_SECURITY": "prefer"}, capture_output=True,
                              text=True, timeout=PATIENCE)
        assert done.returncode == 3 and "does not seal its streams" in done.stderr, done
    print("ok: where plain streams are permitted, a gateway would seal nothing, and ends")


@contextlib.contextmanager
def man(how: str, port: int):
    """Every connection from C to the gateway passes through a man, who has no keys."""
    rule = f"OUTPUT -p tcp -d 10.99.0.2 -m owner ! --uid-owner {MANS_USER} -j REDIRECT --to-ports {MANS_PORT}"
    with Computer(C, user=MANS_USER).running(sys.executable, "-c", MAN, how, "10.99.0.2", "10.99.0.1", str(MANS_PORT), str(port),
                                                 until="ready") as process:
        run(f"ip netns exec {C} iptables -t nat -A {rule}")
        try:
            yield process
        finally:
            run(f"ip netns exec {C} iptables -t nat -F OUTPUT")


def check_man(lab: Computer, keys: pathlib.Path) -> None:
    member = Computer(C, keys)
    with Computer(A).sends("Far", "far-1") as device, lab.gateway("--from", "10.99.0.1"):
        port = ports_of(device, A)[0]
        with man("pass", port):
            assert len(member.answers(TRY, "Far")["samples"]) == 20, "the man is on the way, and a sealed stream passes him"
        with man("strip", port) as process:
            assert "LSL/110 200 OK" in Computer(C).takes("10.99.0.2", [16572]), "what he gives is a plain stream"
            came = member.answers(TRY, "Far")
            assert came["found"] == 1 and not came["samples"], came
            assert says(process, "stripped"), "he was asked for a sealed stream, and gave a plain one"
        assert len(member.answers(TRY, "Far")["samples"]) == 20, "without him it comes again"
    print("ok: who strips a gateway's stream of its seal on the way to a member is refused")


def main() -> None:
    SCRATCH.chmod(0o755)
    keys = SCRATCH / "keys"
    subprocess.run([PROGRAM, "keys", "init", "--unprotected"], env={**os.environ, "SCHWANN_KEYS": str(keys)}, check=True,
                   stdout=subprocess.DEVNULL)
    for space in (A, B, C):
        run(f"ip netns add {space}")
    try:
        for space in (A, B, C):
            run(f"ip -n {space} link set lo up")
            run(f"ip -n {space} link set lo multicast on")
        connect()
        lab, guest = Computer(B, keys), Computer(B)
        check_inward(lab, guest)
        check_outward(lab, guest)
        check_far(lab, guest)
        check_formats(lab, guest)
        check_stripped(lab, guest)
        check_man(lab, keys)
    finally:
        for space in (A, B, C):
            run(f"ip netns del {space}")
    print("test result: ok. 6 passed; 0 failed")


if __name__ == "__main__":
    main()
