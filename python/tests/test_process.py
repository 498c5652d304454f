"""Signals, forks, interpreters that end, and what stays behind."""

import asyncio
import importlib.metadata
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable

import pytest

import schwann
import schwann.pylsl
from conftest import PATIENCE, Connect, Interrupted


CALLS: dict[str, Callable[[schwann.Outlet, schwann.Stream], object]] = {
    "resolve": lambda outlet, stream: schwann.resolve(name="nobody", timeout=None),
    "pull": lambda outlet, stream: stream.pull(),
    "pull a count": lambda outlet, stream: stream.pull(5),
    "chunks": lambda outlet, stream: next(stream.chunks(seconds=1.0)),
    "wait_for_consumers": lambda outlet, stream: outlet.wait_for_consumers(9),
    "merge": lambda outlet, stream: next(schwann.merge(stream)),
    "record": lambda outlet, stream: schwann.record(f"/tmp/{uuid.uuid4()}.xdf", "nobody", timeout=100.0),
    "pylsl's pull": lambda outlet, stream: pylsl_inlet(stream).pull_sample(),
    "async for": lambda outlet, stream: asyncio.run(first(stream)),
    "pylsl's chunk": lambda outlet, stream: pylsl_inlet(stream).pull_chunk(timeout=1e6),
    "pylsl's consumers": lambda outlet, stream: schwann.pylsl.StreamOutlet(schwann.pylsl.StreamInfo("Alone")).wait_for_consumers(1e6),
    "pylsl's search": lambda outlet, stream: schwann.pylsl.resolve_byprop("name", "nobody"),
}


async def first(stream: schwann.Stream) -> schwann.Chunk:
    async for chunk in stream.chunks():
        return chunk
    raise AssertionError("the stream has ended")


def pylsl_inlet(stream: schwann.Stream) -> schwann.pylsl.StreamInlet:
    return schwann.pylsl.StreamInlet(schwann.pylsl.StreamInfo(handle=stream.info._native))


@pytest.mark.parametrize("name", CALLS)
def test_a_signal_ends_every_wait(connect: Connect, interrupt: Callable[[], None], name: str) -> None:
    outlet, stream = connect("EEG", 1, rate=100.0, open={"clock": "local"})
    began = time.monotonic()
    interrupt()
    with pytest.raises(Interrupted):
        CALLS[name](outlet, stream)
    assert time.monotonic() - began < 5.0
    outlet.push(1.0)
    assert len(stream.pull(1, PATIENCE)) == 1


def test_a_signal_ends_opening_and_asking(interrupt: Callable[[], None]) -> None:
    with schwann.Outlet("Asleep", source_id="asleep") as outlet:
        found = schwann.resolve(source_id="asleep", timeout=PATIENCE)[0]
        other = schwann.resolve(source_id="asleep", timeout=PATIENCE)[0]
        del outlet
    # The outlet is away, and its source id keeps the inlet looking for it.
    for call in [lambda: found.open(timeout=None), lambda: other._native and schwann._schwann.Inlet(other._native, 1, True).clock_offset(None)]:
        interrupt()
        with pytest.raises(Interrupted):
            call()


def test_a_signal_ends_reading_a_file_that_does_not_come(interrupt: Callable[[], None], tmp_path: pathlib.Path) -> None:
    # The other end of a pipe that no program opens, as a folder of a network that hangs.
    pipe = tmp_path / "pipe.xdf"
    os.mkfifo(pipe)
    # Ends a wait that no signal ends, and so lets the test fail.
    late = threading.Timer(PATIENCE, lambda: os.close(os.open(pipe, os.O_RDWR)))
    late.start()
    interrupt()
    with pytest.raises(Interrupted):
        schwann.read_xdf(pipe)
    late.cancel()
    # Ends the thread that still waits.
    os.close(os.open(pipe, os.O_RDWR))


def test_a_signal_ends_asking_a_program_that_stands_still(interrupt: Callable[[], None]) -> None:
    code = "import schwann, time; outlet = schwann.Outlet('Still', source_id='still'); print('here', flush=True); time.sleep(1e6)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "here\n"
            info = schwann.resolve(source_id="still", timeout=PATIENCE)[0]
            program.send_signal(signal.SIGSTOP)
            # Until each of its threads has stopped.
            os.waitpid(program.pid, os.WUNTRACED)
            interrupt()
            with pytest.raises(Interrupted):
                info.metadata
        finally:
            program.kill()


def python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=PATIENCE)


def test_an_interpreter_ends_with_streams_open() -> None:
    ended = python(
        "import schwann, threading\n"
        "outlet = schwann.Outlet('Ends', source_id='ends')\n"
        "stream = outlet.info.open()\n"
        "threading.Thread(target=stream.pull, daemon=True).start()\n"
        "print('end')",
        "-Wdefault",
    )
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr


def test_ctrl_c_ends_a_program_that_waits() -> None:
    # A program that began in the background of a shell ignores Ctrl-C, and so do its children.
    heeds = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heeds}; import schwann; print('waits', flush=True); schwann.resolve(name='nobody', timeout=None)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "waits\n"
        program.send_signal(signal.SIGINT)
        # Leaving `with` waits for the program's end, however long that takes.
        killer = threading.Timer(PATIENCE, program.kill)
        killer.start()
        _, errors = program.communicate()
        killer.cancel()
    assert "KeyboardInterrupt" in errors and program.returncode != 0


def test_a_child_of_a_fork_is_refused_and_the_parent_goes_on(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            calls: list[Callable[[], object]] = [lambda: outlet.push(1.0), lambda: stream.pull(timeout=0.0)]
            for call in calls:
                try:
                    call()
                except schwann.ForkedError:
                    continue
                os._exit(2)
            with schwann.Outlet("Child") as own:
                own.push(1.0)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    outlet.push(2.0)
    assert stream.pull(1, PATIENCE).data.tolist() == [[2.0]]


def test_a_child_of_a_fork_leaves_the_recording_to_its_parent(connect: Connect, tmp_path: pathlib.Path) -> None:
    outlet, _ = connect("EEG", 1)
    recorder = schwann.record(tmp_path / "forked.xdf", outlet.info.name, timeout=PATIENCE)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            calls: list[Callable[[], object]] = [lambda: recorder.annotate("child"), lambda: recorder.streams, recorder.close]
            for call in calls:
                with pytest.raises(schwann.ForkedError):
                    call()
            del recorder, calls, call
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    recorder.annotate("parent")
    recorder.close()
    assert schwann.read_xdf(tmp_path / "forked.xdf")["Annotations"].data.tolist() == [["parent"]]


@pytest.mark.parametrize("ends", ["sys.exit(7)", "with outlet, stream, recorder: sys.exit(7)"])
def test_a_child_of_a_fork_ends_without_a_word(tmp_path: pathlib.Path, ends: str) -> None:
    code = f"""
import os, sys, schwann
outlet = schwann.Outlet("Parent", source_id="parent")
stream = outlet.info.open(timeout=30)
recorder = schwann.record({str(tmp_path / "parent.xdf")!r}, "Parent", timeout=30)
child = os.fork()
if child == 0:
    {ends}
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
with outlet, stream, recorder:
    outlet.push(1.0)
    assert stream.pull(1, 30).data.tolist() == [[1.0]]
"""
    ended = python(code, "-Wdefault")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_second_interpreter_gets_a_clear_error() -> None:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    attempt = "try:\n import schwann\nexcept ImportError as error:\n print(error, flush=True)"
    ended = python(
        f"import {name} as interpreters, schwann\n"
        f"other = interpreters.create()\n"
        f"for _ in range(2):\n interpreters.run_string(other, {attempt!r})"
    )
    assert ended.returncode == 0 and ended.stdout.count("main interpreter") == 2, ended


def test_the_package_has_the_version_that_it_was_installed_with() -> None:
    assert schwann.__version__ == importlib.metadata.version("schwann")


def test_opening_and_closing_leaves_nothing_behind(connect: Connect) -> None:
    outlet, _ = connect("EEG", 1)
    info = schwann.resolve(name=outlet.info.name, timeout=PATIENCE)[0]
    rounds = int(os.environ.get("SCHWANN_LEAK_ROUNDS", "3000"))

    def once() -> None:
        with info.open(timeout=PATIENCE, clock="sender"):
            pass
        with schwann.Outlet("Leak", source_id="leak"):
            pass

    for _ in range(30):
        once()
    before = resources()
    for _ in range(rounds):
        once()
    deadline = time.monotonic() + PATIENCE
    while (after := resources())[:2] > before[:2] and time.monotonic() < deadline:
        pass
    print(f"{rounds} rounds; threads, descriptors and KiB before {before}, after {after}")
    assert after[0] <= before[0] and after[1] <= before[1], "threads or descriptors"
    # Allocators keep some memory for later. 16 MiB are a leak of no more than 6 KiB a round at 3,000 rounds.
    assert after[2] - before[2] < 16 * 1024, "KiB of memory"


def resources() -> tuple[int, int, int]:
    """Threads, descriptors, and KiB of memory of this process."""
    status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
    threads, memory = int(status["Threads"]), int(status["VmRSS"].split()[0])
    return threads, len(os.listdir("/proc/self/fd")), memory


def test_many_threads_share_one_stream(connect: Connect) -> None:
    outlet, stream = connect("EEG", 1)
    got: list[float] = []
    pullers = [threading.Thread(target=lambda: got.extend(stream.pull(25, PATIENCE).data.ravel())) for _ in range(4)]
    for puller in pullers:
        puller.start()
    for value in range(100):
        outlet.push(float(value))
    for puller in pullers:
        puller.join(PATIENCE)
    assert sorted(got) == list(range(100))
