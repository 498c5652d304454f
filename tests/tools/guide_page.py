"""Follows one page of the guide literally, as a newcomer would: `guide_page.py PAGE SCRATCH`.

Runs in a network of its own, in an empty folder and an empty home. What the page says decides what happens:

    ```sh                    is typed, in the page's folder
    ```text                  is what the command before it shows. `…` is anything, a number is any number, and lines may lie between
    ```python, c, toml …     is saved under the name in the sentence before it: "Save this as `send.py`"

In the sentence before an `sh` block:

    "leave it running"       it runs until the page ends
    "second computer"        it runs in another home
    "passphrase"             it runs in a terminal, where a passphrase is typed when it is asked for
    "exit code N"            it must end so
    "*Not run by our checks: REASON*"    leaves this block out, and the reader sees it
"""

import contextlib
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time
import typing

PATIENCE = 60
NOT_RUN = re.compile(r"\*Not run by our checks: .+\*")
NUMBER = r"[-+]?\d[\d,.]*"
UNITS = r"(?:ns|µs|ms|s|[kM]?B|kB)"
ASKED = re.compile(r"a passphrase for|the same once more|passphrase: ")


class Failed(Exception):
    """What on the page is not as it says."""


class Block(typing.NamedTuple):
    language: str
    before: str
    lines: list[str]
    line: int


def blocks(text: str) -> list[Block]:
    found, lines, fence, start, paragraph = [], text.splitlines(), None, 0, []
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if fence is None:
                fence, start = line[3:].strip(), number
            else:
                found.append(Block(fence, " ".join(paragraph), lines[start:number - 1], start))
                fence, paragraph = None, []
        elif fence is None and line:
            # The paragraph right before a block; an empty line behind text begins a new one.
            paragraph = [line] if not lines[number - 2] and number > 1 else [*paragraph, line]
    if fence is not None:
        raise Failed(f"line {start}: the block does not end")
    return found


def pattern(line: str) -> re.Pattern:
    """A line of a screen as the guide prints it: spaces are one, numbers with their units are any."""
    parts = re.split(rf"(…|{NUMBER}(?: {UNITS}\b)?|\s+)", line.strip())
    kinds = {"…": ".*"}
    regex = ""
    for part in parts:
        if part in kinds:
            regex += kinds[part]
        elif re.fullmatch(r"\s+", part):
            regex += r"\s+"
        elif re.match(NUMBER, part):
            regex += rf"{NUMBER}(?: {UNITS}\b)?"
        else:
            regex += re.escape(part)
    return re.compile(regex)


def unseen(expected: list[str], screen: str) -> str | None:
    """The first expected line that the screen does not show behind those before it."""
    shown = iter(screen.splitlines())
    for line in filter(str.strip, expected):
        if line.strip() != "…" and not any(pattern(line).search(one) for one in shown):
            return line
    return None


class Page:
    def __init__(self, path: pathlib.Path, scratch: pathlib.Path) -> None:
        self.path, self.folder, self.scratch = path, scratch / "work", scratch
        self.folder.mkdir(parents=True)
        self.running: list[tuple[subprocess.Popen, pathlib.Path]] = []
        self.saved: dict[str, bool] = {}

    def follow(self) -> int:
        previous, count = None, 0
        try:
            for block in blocks(self.path.read_text()):
                if NOT_RUN.search(block.before):
                    previous = None
                    continue
                try:
                    previous = self.take(block, previous)
                except Failed as reason:
                    raise Failed(f"{self.path}:{block.line}: {reason}") from None
                count += 1
            if idle := [name for name, used in self.saved.items() if not used]:
                raise Failed(f"{self.path}: no command uses {', '.join(idle)}")
        finally:
            self.end()
        return count

    def take(self, block: Block, previous) -> typing.Callable[[], str] | None:
        if block.language == "sh":
            return self.type("\n".join(block.lines), block.before)
        if block.language != "text":
            name = re.search(r"[Ss]ave this as `([^`]+)`", block.before)
            if not name:
                raise Failed(f"a block of {block.language or 'no language'} has neither a name nor a reason not to run")
            path = self.folder / name[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(block.lines) + "\n")
            self.saved[name[1]] = False
            return None
        if previous is None:
            raise Failed("no command shows this")
        deadline = time.monotonic() + (PATIENCE if self.running else 0)
        while missing := unseen(block.lines, screen := previous()):
            if time.monotonic() > deadline:
                raise Failed(f"not on the screen: {missing}\nthe screen:\n{screen}")
            time.sleep(0.1)
        return previous

    def type(self, command: str, before: str) -> typing.Callable[[], str]:
        for name in self.saved:
            self.saved[name] |= any(part in command for part in pathlib.Path(name).with_suffix("").parts)
        environment = self.environment("second" if "second computer" in before else "first")
        shell = ["bash", "-euo", "pipefail", "-c", command]
        if "leave it running" in before:
            log = self.scratch / f"running-{len(self.running)}"
            with log.open("wb") as out:
                process = subprocess.Popen(shell, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=out, start_new_session=True)
            self.running.append((process, log))
            return lambda: log.read_text(errors="replace")
        code, screen = in_terminal(shell, self.folder, environment) if "passphrase" in before else ran(shell, self.folder, environment)
        wanted = re.search(r"exit code (\d+)", before)
        if code != int(wanted[1] if wanted else 0):
            raise Failed(f"exit code {code} of:\n{command}\nthe screen:\n{screen}")
        return lambda: screen

    def environment(self, computer: str) -> dict[str, str]:
        home, runtime = self.scratch / computer, self.scratch / f"{computer}-runtime"
        home.mkdir(exist_ok=True)
        runtime.mkdir(mode=0o700, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCHWANN_", "LSL", "XDG_", "RUSTFLAGS"))}
        return kept | {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "TERM": "dumb"}

    def end(self) -> None:
        for process, log in reversed(self.running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise Failed(f"Ctrl-C did not end this:\n{log.read_text(errors='replace')}") from None


def ran(command: list[str], folder: pathlib.Path, environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=5 * PATIENCE)
    return done.returncode, done.stdout.decode(errors="replace")


def in_terminal(command: list[str], folder: pathlib.Path, environment: dict[str, str]) -> tuple[int, str]:
    """The same with a person at the keyboard, whose passphrase is `correct horse`."""
    screen, own = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=own, stdout=own, stderr=own, start_new_session=True)
    os.close(own)
    deadline, text, seen = time.monotonic() + PATIENCE, "", 0
    while time.monotonic() < deadline:
        if not select.select([screen], [], [], 1)[0]:
            continue
        # When the last program on it has ended, a terminal answers with an error.
        try:
            text += os.read(screen, 65536).decode(errors="replace")
        except OSError:
            break
        while asked := ASKED.search(text, seen):
            seen = asked.end()
            os.write(screen, b"correct horse\n")
    os.close(screen)
    return process.wait(PATIENCE), text.replace("\r", "")


if __name__ == "__main__":
    # A shell starts what it puts in the background with Ctrl-C ignored, and programs inherit that unless it is handled here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print(f"{sys.argv[1]}: {Page(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])).follow()} blocks")
    except Failed as failed:
        sys.exit(f"FAILED: {failed}")
