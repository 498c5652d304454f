"""Interpreters that end in the middle of something: soon, without a crash, and with whole files."""

import pathlib
import signal
import subprocess
import sys
import time

import pytest

import schwann
from conftest import PATIENCE

BEGIN = """
import asyncio, os, signal, sys, threading, time, uuid
import schwann
outlet = schwann.Outlet(f"Ends {uuid.uuid4()}", "EEG", 2, rate=100.0, source_id=str(uuid.uuid4()))
stream = outlet.info.open(timeout=30)
outlet.push([1.0, 2.0])
def other_thread(call):
    threading.Thread(target=call, daemon=True).start()
class Slow:
    sleep = time.sleep
    def __del__(self):
        self.sleep(0.2)
# The interpreter takes its time to end, so threads that wait come back while it does.
slow = Slow()
"""
ENDS = {
    "a recording": """
recorder = schwann.record(sys.argv[1], outlet.info.name, timeout=30)
outlet.push([3.0, 4.0])
while [one.samples for one in recorder.streams] != [1]: pass
""",
    "a recording in with": """
with schwann.record(sys.argv[1], outlet.info.name, timeout=30):
    outlet.push([3.0, 4.0])
    print("end", flush=True)
    sys.exit()
""",
    "a recording that waits": "other_thread(lambda: schwann.record(sys.argv[1], 'nobody', timeout=1e6))",
    "a merge": """
merge = schwann.merge(stream)
next(merge)
other_thread(lambda: next(merge))
""",
    "an async iteration": """
async def first():
    global chunks
    chunks = stream.chunks()
    await chunks.__anext__()
loop = asyncio.new_event_loop()
loop.run_until_complete(first())
waits = loop.create_task(chunks.__anext__())
loop.run_until_complete(asyncio.sleep(0.01))
""",
    "a loop in another thread": """
arrived = threading.Event()
async def receive():
    async for chunk in stream.chunks():
        arrived.set()
other_thread(lambda: asyncio.run(receive()))
arrived.wait(30)
""",
    "a merge in another loop": """
arrived = threading.Event()
async def receive():
    async for of, chunk in schwann.merge(stream):
        arrived.set()
other_thread(lambda: asyncio.run(receive()))
arrived.wait(30)
""",
    "an exit within async for": """
async def receive():
    async for chunk in stream.chunks():
        print("end", flush=True)
        sys.exit()
asyncio.run(receive())
""",
    "arrays that are made": """
made = threading.Event()
def receive():
    while True:
        stream.pull(1000, timeout=0.0)
        made.set()
other_thread(receive)
made.wait(30)
""",
    "an array that is filtered": """
from schwann import Filter
import numpy
made = threading.Event()
def filter():
    low = Filter.lowpass(10.0, rate=100.0, channels=2)
    while True:
        low(numpy.zeros((1000, 2)))
        made.set()
other_thread(filter)
made.wait(30)
""",
    "an alarm that is told": """
told = threading.Event()
def tell(alarm):
    told.set()
    while True:
        time.sleep(0.001)
stream.on_alarm(tell, max_lag=0.01)
told.wait(30)
""",
    "everything that waits": """
for call in [stream.pull, lambda: stream.pull(1000), lambda: outlet.wait_for_consumers(9), lambda: schwann.resolve(name="nobody", timeout=None)]:
    other_thread(call)
stream.on_alarm(print, max_lag=60.0)
""",
}


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A test that passes never comes near the limit: it is for what hangs.
    return subprocess.run([sys.executable, "-c", BEGIN + code, *arguments], capture_output=True, text=True, timeout=3 * PATIENCE)


@pytest.mark.parametrize("what", ENDS)
def test_an_interpreter_ends_with_it_open(what: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "open.xdf"
    code = ENDS[what] if "sys.exit()" in ENDS[what] else ENDS[what] + "\nprint('end', flush=True)\n"
    ended = run(code, str(path))
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr
    assert "Fatal" not in ended.stderr and "panicked" not in ended.stderr, ended.stderr
    if what in ("a recording", "a recording in with"):
        read = schwann.read_xdf(path)
        assert len(read) >= 1 and read[0].data.tolist() == [[3.0, 4.0]], read.damage


@pytest.mark.parametrize("wait", ["asyncio.run(receive())", "next(schwann.merge(silent))", "[0 for _ in schwann.merge(silent)]"])
def test_ctrl_c_ends_a_program_in_the_middle_of_it(wait: str) -> None:
    code = f"""
silent = stream
stream.pull(1, 30)
# A program that began in the background of a shell ignores Ctrl-C, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
async def receive():
    async for chunk in stream.chunks():
        pass
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
{wait}
"""
    ended = run(code)
    # The system's word for a program that Ctrl-C has ended.
    assert ended.returncode in (-signal.SIGINT, 128 + signal.SIGINT, 1) and "KeyboardInterrupt" in ended.stderr, ended
    assert "Fatal" not in ended.stderr and "panicked" not in ended.stderr, ended.stderr


def test_ctrl_c_does_not_break_off_what_completes_a_recording(tmp_path: pathlib.Path) -> None:
    """However far it is: Ctrl-C comes at once, and a little later."""
    for number, delay in enumerate(("0", "0.05", "0.2")):
        code = f"""
signal.signal(signal.SIGINT, signal.default_int_handler)
# Its rate makes a buffer that holds all.
big = schwann.Outlet(f"Big {{uuid.uuid4()}}", "EEG", 2, rate=1e4)
with schwann.record(sys.argv[1], big.info.name, timeout=30) as recorder:
    big.push([[3.0, 4.0]] * 2_000_000)
    threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
    recorder.close()
    print("closed", flush=True)
    time.sleep(30)
"""
        path = tmp_path / f"{number}.xdf"
        ended = run(code, str(path))
        assert "KeyboardInterrupt" in ended.stderr and "Fatal" not in ended.stderr, ended
        stream = schwann.read_xdf(path)[0]
        assert f"<sample_count>{len(stream)}</sample_count>" in stream.footer_xml, (ended.stdout, len(stream), stream.footer_xml)


def test_a_killed_program_leaves_a_recording_that_can_be_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "killed.xdf"
    code = BEGIN + ENDS["a recording"] + "\nprint('recorded', flush=True)\ntime.sleep(1e6)\n"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "recorded\n"
            deadline = time.monotonic() + PATIENCE
            while not any(len(stream) for stream in schwann.read_xdf(path)) and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            program.kill()
    assert program.returncode == -signal.SIGKILL
    assert schwann.read_xdf(path)[0].data.tolist() == [[3.0, 4.0]]
