"""What goes wrong while one looks on is said: a disk that fills, a program that dies, a stream that has another name, a clock that is set."""

import pathlib
import re
import subprocess
import tempfile

from chromium import Page, wait_for
from dash_lab import ENVIRONMENT, PROGRAMS, SESSION, dashboard, expect, fakes, port_of, running, sender
from dash_looks import State
from dash_record_kept import NOTIFICATION, START, STATUS
from dash_web import Program
from disk import Disk

SUMMARY = "document.querySelector('#summary strong')?.innerText"
LIVE = "document.querySelectorAll('#streams .health.live').length"
ALL_LIVE = "[...document.querySelectorAll('#streams .health')].every(one => one.classList.contains('live'))"
NAMES = "[...document.querySelectorAll('#streams .stream')].map(row => [row.querySelector('.name').textContent, row.querySelector('.health').textContent])"


def open_page(url: str, live: int) -> Page:
    page = Page()
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTIFICATION)
    page.call("Page.navigate", url=url)
    page.wait(f"{LIVE} >= {live}", "all streams are live", 40)
    return page


def said_everywhere(page: Page, words: str) -> None:
    """In red at the top, and in the title of the tab."""
    page.wait(f"/{words}/.test({SUMMARY}) && /■.*{words}/.test(document.title)", f"“{words}” is in the summary and the title", 40)
    red = [int(part) for part in re.findall(r"\d+", page.value("getComputedStyle(document.querySelector('#summary strong')).color"))[:3]]
    expect(red[0] > 150 and max(red[1:]) < 90, "in red", red)
    expect(not page.value("/all is well/.test(document.getElementById('summary').innerText)"), "and nothing is called well")
    page.wait("document.getElementById('recording').classList.contains('odd')", "as is the line of the recording")


def check_full_disk() -> None:
    folder = pathlib.Path(tempfile.mkdtemp(), "small")
    try:
        disk = Disk(folder, 300_000)
    except (subprocess.CalledProcessError, OSError):
        return print("   only root can mount a small disk: a full one is not tried")
    with disk, dashboard("--no-browser", "--session", SESSION, "--folder", str(folder)) as (url, _), fakes("eeg:64@1000"):
        page = open_page(url, 1)
        try:
            page.value("document.getElementById('record').click()")
            page.value(START)
            page.wait(f"/^recording /.test({STATUS})", "a recording begins", 30)
            said_everywhere(page, "little disk left")
            page.wait("notified.filter(text => /^Little disk is left for the recording: \\d+ MB/.test(text)).length === 1", "and said once beside all windows")
            page.wait(f"/disk for/.test({STATUS})", "with the time that is left", 60)
            disk.fill()
            page.wait(f"/^Recording failed: .*small/.test({STATUS})", "a recording whose disk is full has failed, and the line says so", 60)
            said_everywhere(page, "recording failed")
            page.wait("notified.filter(text => /^Recording failed: /.test(text)).length === 1", "and it is said once beside all windows")
            expect(page.value("/the disk is full/.test(document.getElementById('recording').title) && document.getElementById('record').textContent === 'Record'"),
                   "with the reason, and with the way to begin again", page.value("document.getElementById('recording').title"))
            expect(page.value(ALL_LIVE), "the streams themselves are live still")
            State(page, "failed recording").check_wrong("#summary", "#recording")
            file = next(folder.glob("*.xdf"))
            told = subprocess.run([str(PROGRAMS / "schwann"), "info", str(file)], capture_output=True, text=True, timeout=60)
            expect("eeg" in told.stdout, "what was recorded before is readable", told)
            disk.free()
            page.value("document.getElementById('record').click()")
            page.value(START)
            page.wait(f"/^recording /.test({STATUS}) && !/recording failed/.test(document.title)", "with room again a recording begins, and the old failure is said no longer", 30)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


def check_killed() -> None:
    """The program dies while it records and one looks on; another one takes its place."""
    folder = tempfile.mkdtemp()
    with sender() as source:
        source.stdout.readline()
        with dashboard("--no-browser", "--session", SESSION, "--folder", folder) as (url, process):
            page = open_page(url, 2)
            page.value("document.getElementById('record').click()")
            page.value(START)
            page.wait(f"/^recording /.test({STATUS})", "a recording begins", 30)
            process.kill()
        try:
            page.wait("/^■ No contact/.test(document.title) && /has ended or cannot be reached/.test(document.getElementById('offline').innerText)",
                      "a program that was killed is said, in the title, too", 10)
            # The time of day is looked at four times a second.
            page.wait("document.getElementById('wall').textContent === ''", "no time of day is told", 5)
            said = page.value(f"[{SUMMARY}, {LIVE}, {STATUS}]")
            expect(said == ["no contact", 0, "recording: unknown"], "nothing is live, or well, or recorded", said)
            expect(page.value("notified.filter(text => /No contact/.test(text)).length") == 1, "and it is said beside all windows that the recording is unknown")
            page.problems.clear()
            command = [str(PROGRAMS / "schwann"), "dash", "--no-browser", "--session", SESSION, "--port", str(port_of(url))]
            with running(*command) as _:
                page.wait("/This dashboard is locked/.test(document.body?.innerText)", "a new program at the same port does not take the page for its own", 30)
        finally:
            page.close()


def check_renamed() -> None:
    """A sender that comes back under another name is another stream, and no trace is shown under a name that is not its own."""
    opened = dict(type="outlet", content="Force", channels=1, rate=0, format="float32", source="grip")
    with dashboard("--no-browser", "--session", SESSION) as (url, _):
        program, page = Program(url), None
        try:
            program.ask("opened", outlet=1, name="Left hand", request=1, **opened)
            page = open_page(url, 1)
            page.wait("/Left hand/.test(document.getElementById('view-title').textContent)", "a stream is shown under its name")
            program.socket.send('{"type": "close", "outlet": 1}')
            program.ask("opened", outlet=2, name="Right hand", request=2, **opened)
            wait_for(lambda: sorted(page.value(NAMES)) == [["Left hand", "stopped"], ["Right hand", "live"]], "the old name has stopped, the new one is live", 40)
            expect(page.value("/Left hand/.test(document.getElementById('view-title').textContent) && /Left hand has stopped/.test(document.getElementById('plot-note').textContent)"),
                   "and the picture says of the old one that it has stopped")
            expect(page.value(f"/1 gone/.test({SUMMARY})"), "as does the summary")
            page.value("[...document.querySelectorAll('#streams .name')].find(name => name.textContent === 'Right hand').closest('button').click()")
            page.wait("/^Right hand/.test(document.getElementById('view-title').textContent) && /Traces of Right hand:/.test(document.getElementById('plot').getAttribute('aria-label'))",
                      "the new one is shown under its own")
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            if page:
                page.close()
            program.socket.close()


def seconds_of(clock: str) -> int:
    hours, minutes, seconds = (int(part) for part in clock.split(".")[0].split(":"))
    return 3600 * hours + 60 * minutes + seconds


def check_set_clock() -> None:
    """The wall clock of the computer is set while one looks on: times of day follow it, also those of before, and no sample moves."""
    work = pathlib.Path(tempfile.mkdtemp())
    library, ahead = work / "clock.so", work / "ahead"
    ahead.write_text("0")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, pathlib.Path(__file__).resolve().parents[1] / "tools" / "wrong_clock.c"], check=True)
    environment = {**ENVIRONMENT, "LD_PRELOAD": str(library), "CLOCK_AHEAD_FILE": str(ahead)}
    with dashboard("--no-browser", "--session", SESSION, env=environment) as (url, _), fakes("counter:2@250"):
        page = open_page(url, 1)
        try:
            page.press("m", "KeyM")
            page.wait("/Marked/.test(document.getElementById('mark-note').textContent)", "a marker is written")
            page.value("document.getElementById('events').open = true")
            event, clock = "document.querySelector('#event-list li:last-child time')?.textContent", "document.getElementById('wall').textContent"
            first = page.wait(event, "an event is listed", 30)
            before = page.value(clock)
            # No other marker comes that would write the list anew.
            for step in (7200, -3600):
                ahead.write_text(str(step))
                wait_for(lambda: abs((seconds_of(page.value(clock)) - seconds_of(before) - step + 43200) % 86400 - 43200) < 60, "the page tells the time that was set", 10)
                wait_for(lambda: (seconds_of(page.value(event)) - seconds_of(first) - step) % 86400 in (0, 1, 86399), "also of an event of before", 10)
            expect(page.value(f"{ALL_LIVE} && !/■/.test(document.title) && document.getElementById('plot-note').hidden"), "no stream is called unwell for it", page.value("document.title"))
            expect(page.value("document.querySelector('dd[data-of=gaps]').innerText") in ("none", "0"), "and nothing is missing", page.value("document.querySelector('dd[data-of=gaps]').innerText"))
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


def check_truth() -> None:
    check_full_disk()
    check_killed()
    check_renamed()
    check_set_clock()


if __name__ == "__main__":
    check_truth()
