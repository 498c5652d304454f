"""What a recording from the page holds, and how the page says that something is wrong with it."""

import contextlib
import pathlib
import signal
import tempfile

import numpy
import pyxdf
from chromium import Page, wait_for
from dash_lab import SESSION, STATE, dashboard, expect, sender

START = "document.querySelector('#record-dialog .primary').click()"
STATUS = "document.getElementById('recording').textContent"
LINES = "[...document.querySelectorAll('#record-streams li')]"
# Notes what would be shown beside all windows.
NOTIFICATION = """
window.notified = [];
window.Notification = class { static permission = "granted"; constructor(title, { body }) { notified.push(body); } };
"""


@contextlib.contextmanager
def lab(*streams):
    """A dashboard with senders whose streams are live, its page, its process, and the folder of its recordings."""
    folder = pathlib.Path(tempfile.mkdtemp())
    with dashboard("--no-browser", "--session", SESSION, "--folder", str(folder)) as (url, process), contextlib.ExitStack() as stack:
        senders = [stack.enter_context(sender(name)) for name in streams]
        for one in senders:
            one.stdout.readline()
        page = Page()
        try:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTIFICATION)
            page.call("Page.navigate", url=url)
            page.wait(f"document.querySelectorAll('#streams .health.live').length === {2 * len(streams)}", "all streams are live", 40)
            yield page, process, senders, folder
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


def open_dialog(page: Page, naming: str = "dated") -> None:
    page.value("document.getElementById('record').click()")
    page.value(f"Object.assign(document.getElementById('record-naming'), {{ value: '{naming}' }}).dispatchEvent(new Event('change'))")


def stop(page: Page) -> None:
    page.value("document.getElementById('record').click()")
    page.wait(f"/^recorded /.test({STATUS})", "Stop ends it", 30)


def load(folder: pathlib.Path) -> dict:
    files = list(folder.rglob("*.xdf"))
    expect(len(files) == 1, "there is one file", files)
    streams, _ = pyxdf.load_xdf(str(files[0]))
    return {"path": files[0], **{stream["info"]["name"][0]: stream for stream in streams}}


def check_kept() -> None:
    """As sent, whatever is shown; with notes and markers; and without what was not chosen."""
    with lab("Lab", "Other") as (page, _, _, folder):
        page.wait("/above 0.5 Hz/.test(document.getElementById('processing').textContent)", "the traces are filtered, and it is said")
        for control, value in (("notch", "50"), ("reference", "average")):
            page.value(f"Object.assign(document.getElementById('{control}'), {{ value: '{value}' }}).dispatchEvent(new Event('change'))")
        page.wait("/minus the average of 8/.test(document.getElementById('processing').textContent)", "and so is a reference")
        page.value("document.activeElement.blur()")
        page.press("m", "KeyM")
        page.wait("[...document.querySelectorAll('#streams .name')].some(name => name.textContent === 'Dashboard markers')", "a marker opens its stream", 20)
        open_dialog(page, "template")
        page.value(f"{LINES}.filter(line => line.textContent.includes('Other')).forEach(line => line.querySelector('[name=wanted]').click());"
                   " document.getElementById('record-participant').value = '07'; document.getElementById('record-template').value = 'of-%p.xdf'")
        page.value(START)
        page.wait(f"/recording .* 3 streams/.test({STATUS})", "a recording of what was chosen begins", 30)
        page.wait(f"/disk for/.test({STATUS})", "the time that is left on the disk is told", 60)
        page.value("document.getElementById('mark-keys').click(); document.querySelector('#mark-list [name=\"3\"]').value = 'left hand';"
                   " document.querySelector('#mark-dialog .primary').click(); document.activeElement.blur()")
        # A dialog tells that it has closed a moment later.
        page.wait("/left hand/.test(localStorage.getItem('marks'))", "a key has another text")
        page.press("3", "Digit3")
        page.wait("/Marked “left hand”/.test(document.getElementById('mark-note').textContent)", "a key marks with the text that it was given")
        page.value("document.getElementById('note').value = 'sneezed'; document.getElementById('note-form').requestSubmit(); document.activeElement.blur()")
        page.wait("document.getElementById('note').value === ''", "a note is taken")
        # What was marked comes before what is asked for later, but on another way.
        page.value("document.getElementById('events').open = true")
        page.wait("/left hand/.test(document.getElementById('event-list').textContent)", "the marker is listed", 20)
        page.wait("window.since ??= performance.now(), performance.now() - since > 1500", "and has had the time to be recorded")
        stop(page)
        found = load(folder)
    expect(found["path"].name == "of-07.xdf", "the file is called by the pattern", found["path"].name)
    expect({"Lab", "LabMarkers", "Dashboard markers"} <= set(found) and not {"Other", "OtherMarkers"} & set(found), "what was chosen is in it, and nothing else", set(found))
    means = numpy.asarray(found["Lab"]["time_series"], float).mean(axis=0)
    expect(all(abs(mean - 10 * channel) < 8 for channel, mean in enumerate(means)), "samples are as sent, not as shown", means)
    texts = [text[0] for text in found["Dashboard markers"]["time_series"]]
    expect("left hand" in texts, "a marker of the page is in it", texts)
    expect("sneezed" in str([stream["time_series"] for name, stream in found.items() if name != "path"]), "and so is the note", set(found))


def check_chosen() -> None:
    """Nothing is recorded if nothing is ticked; what is required is; and marks are that come after the choice."""
    untick = f"{LINES}.filter(line => !line.querySelector('[name=wanted]').disabled).forEach(line => line.querySelector('[name=wanted]').click())"
    with lab("Lab") as (page, _, _, folder):
        open_dialog(page)
        page.value(untick)
        page.value(START)
        page.wait("document.getElementById('problem-dialog').open", "a recording of nothing is refused", 20)
        page.value("document.querySelector('#problem-dialog button').click()")
        expect(page.value(f"/not recording/.test({STATUS})"), "and nothing is recorded")
        open_dialog(page)
        page.value(untick)
        page.value(f"{LINES}.find(line => line.textContent.includes('LabMarkers')).querySelector('[name=required]').click()")
        page.value(START)
        page.wait(f"/recording .* 1 stream/.test({STATUS})", "what is required alone is recorded", 30)
        page.value("document.activeElement.blur()")
        page.press("7", "Digit7")
        page.wait(f"/recording .* 2 streams/.test({STATUS})", "a mark opens a stream, which is recorded as well", 30)
        page.value("document.getElementById('events').open = true")
        page.wait("/mark 7/.test(document.getElementById('event-list').textContent)", "the mark is listed", 20)
        page.wait("window.since ??= performance.now(), performance.now() - since > 1500", "and has had the time to be recorded")
        stop(page)
        ended = page.value(STATUS)
        found = load(folder)
    expect("well" not in ended, "it is well", ended)
    expect(set(found) - {"path", "Annotations"} == {"LabMarkers", "Dashboard markers"}, "only what was chosen and the marks are in it", set(found))
    expect(["mark 7"] in found["Dashboard markers"]["time_series"], "with the mark", found["Dashboard markers"]["time_series"])


def check_lost() -> None:
    """A required stream that ends is said beside all windows, in the summary and the title; and so is a program that stands still."""
    with lab("Lab", "Other") as (page, process, (first, _), folder):
        open_dialog(page)
        page.value(f"{LINES}.find(line => line.textContent.startsWith('Lab') && !line.textContent.includes('Markers')).querySelector('[name=required]').click()")
        page.value(START)
        page.wait(f"/recording .* 4 streams/.test({STATUS})", "a recording begins", 30)
        expect(page.value("notified.length === 0 && !/■/.test(document.title)"), "all is calm", page.value("document.title"))
        first.kill()
        page.wait("notified.some(text => /^Lab: .* while it is recorded$/.test(text))", "a stream that is lost is said beside all windows", 40)
        lost = "/2 gone.*2 not well in the recording/"
        page.wait(f"{lost}.test(document.querySelector('#summary strong')?.innerText) && {lost}.test(document.title)", "and in the summary and the title", 40)
        page.wait("/Lab: (lost its connection|has ended)/.test(document.getElementById('recording').title)", "and in words beside the recording")
        page.screenshot(STATE / "dash-record-lost.png")
        process.send_signal(signal.SIGSTOP)
        try:
            page.wait("notified.filter(text => /No contact/.test(text)).length === 1", "a program that records and stands still is said, once", 20)
            page.wait(f"/unknown/.test({STATUS}) && document.getElementById('recording').classList.contains('odd')", "and no line says that it records")
        finally:
            process.send_signal(signal.SIGCONT)
        page.wait(f"/^recording /.test({STATUS})", "it goes on", 20)
        stop(page)
        wait_for(lambda: list(folder.rglob("*.xdf")), "the file is there")


def check_record_kept() -> None:
    check_kept()
    check_chosen()
    check_lost()


if __name__ == "__main__":
    check_record_kept()
