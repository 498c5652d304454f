"""Follows one page of the guide literally, as a newcomer would: `guide_page.py PAGE SCRATCH`.

Runs in a network of its own, in an empty folder and an empty home. What the page says decides what happens:

    ```sh                    is typed, in the page's folder
    ```text                  is what the command before it shows. `…` is anything, a number is any number, and lines may lie between
    ```python, c, toml …     is saved under the name in the sentence before it: "Save this as `send.py`"

In the sentence before an `sh` block:

    "leave it running"       it runs until the page ends
    "second computer"        it runs in another home; so does "third computer"
    "passphrase"             it runs in a terminal, where a passphrase is typed when it is asked for; so are the six words that
                             a running command shows, the twelve of a sheet, and "y" to a question
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
import threading
import time
import typing

PATIENCE = 60
NOT_RUN = re.compile(r"\*Not run by our checks: .+\*")
NUMBER = r"[-+]?\d[\d,.]*"
UNITS = r"(?:ns|µs|ms|s|[kM]?B|kB)"
ASKED = re.compile(r"a passphrase for|the same once more|passphrase: |The six words: |The twelve words of the sheet: |\[y/N\] ")
WORDS = re.compile(r"^  ((?:[a-z]+ ){5}[a-z]+)\r?$", re.MULTILINE)
# A recovery sheet has four in each of three lines.
SHEET = re.compile(r"^  (?:words)? +((?:[a-z]+ ){3}[a-z]+)$", re.MULTILINE)


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
        self.running: list[tuple[subprocess.Popen, typing.Callable[[], str]]] = []
        self.saved: dict[str, bool] = {}
        # What a person types when asked so; all else that is asked for is a passphrase.
        self.answers = {"The six words: ": self.words, "The twelve words of the sheet: ": self.sheet, "[y/N] ": lambda: "y"}
        self.sheets: list[str] = []

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
        others = [which for which in ("second", "third") if f"{which} computer" in before]
        environment = self.environment(others[0] if others else "first")
        shell = ["bash", "-euo", "pipefail", "-c", command]
        if "leave it running" in before and "passphrase" in before:
            terminal = Terminal(shell, self.folder, environment, self.answers)
            threading.Thread(target=terminal.attend, args=(float("inf"),), daemon=True).start()
            self.running.append((terminal.process, terminal.screen))
            return terminal.screen
        if "leave it running" in before:
            log = self.scratch / f"running-{len(self.running)}"
            with log.open("wb") as out:
                process = subprocess.Popen(shell, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=out, start_new_session=True)
            self.running.append((process, lambda: log.read_text(errors="replace")))
            return self.running[-1][1]
        code, screen = self.at_terminal(shell, environment) if "passphrase" in before else ran(shell, self.folder, environment)
        wanted = re.search(r"exit code (\d+)", before)
        if code != int(wanted[1] if wanted else 0):
            raise Failed(f"exit code {code} of:\n{command}\nthe screen:\n{screen}")
        return lambda: screen

    def at_terminal(self, shell: list[str], environment: dict[str, str]) -> tuple[int, str]:
        terminal = Terminal(shell, self.folder, environment, self.answers)
        terminal.attend(PATIENCE)
        screen = terminal.screen()
        if printed := SHEET.findall(screen):
            self.sheets.append(" ".join(printed))
        return terminal.process.wait(PATIENCE), screen

    def sheet(self) -> str:
        """What the reader has on paper."""
        if not self.sheets:
            raise Failed("no screen has shown twelve words")
        return self.sheets[-1]

    def words(self) -> str:
        """What the reader sees on the other screen, and types."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for _, screen in reversed(self.running):
                if shown := WORDS.search(screen()):
                    return shown[1]
            time.sleep(0.1)
        raise Failed("no screen shows six words")

    def environment(self, computer: str) -> dict[str, str]:
        home, runtime = self.scratch / computer, self.scratch / f"{computer}-runtime"
        home.mkdir(exist_ok=True)
        runtime.mkdir(mode=0o700, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCHWANN_", "LSL", "XDG_", "RUSTFLAGS"))}
        return kept | {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "TERM": "dumb"}

    def end(self) -> None:
        for process, screen in reversed(self.running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise Failed(f"Ctrl-C did not end this:\n{screen()}") from None


def ran(command: list[str], folder: pathlib.Path, environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=5 * PATIENCE)
    return done.returncode, done.stdout.decode(errors="replace")


class Terminal:
    """A command with a person at the keyboard, whose passphrase is `correct horse`."""

    def __init__(self, command: list[str], folder: pathlib.Path, environment: dict[str, str],
                 answers: dict[str, typing.Callable[[], str]]) -> None:
        self.far, own = pty.openpty()
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=own, stdout=own, stderr=own, start_new_session=True)
        os.close(own)
        self.text, self.answers = "", answers

    def screen(self) -> str:
        return self.text.replace("\r", "")

    def attend(self, patience: float) -> None:
        """Answers until the command ends."""
        deadline, seen = time.monotonic() + patience, 0
        while time.monotonic() < deadline:
            if not select.select([self.far], [], [], 1)[0]:
                continue
            # When the last program on it has ended, a terminal answers with an error.
            try:
                self.text += os.read(self.far, 65536).decode(errors="replace")
            except OSError:
                break
            while asked := ASKED.search(self.text, seen):
                seen = asked.end()
                os.write(self.far, f"{self.answer(asked[0])}\n".encode())
        os.close(self.far)

    def answer(self, question: str) -> str:
        return self.answers.get(question, lambda: "correct horse")()


if __name__ == "__main__":
    # A shell starts what it puts in the background with Ctrl-C ignored, and programs inherit that unless it is handled here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print(f"{sys.argv[1]}: {Page(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])).follow()} blocks")
    except Failed as failed:
        sys.exit(f"FAILED: {failed}")
