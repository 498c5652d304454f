"""A recording in the browser: it is there at once, scrolls, zooms, and goes to a verdict."""

import subprocess

from chromium import Page
from dash_axe import check_axe_rules
from dash_lab import ENVIRONMENT, PROGRAMS, STATE, dashboard, expect

TIME = "(document.getElementById('tape-time')?.textContent ?? '')"


def check_recording() -> None:
    path = STATE / "dash-recording.xdf"
    path.unlink(missing_ok=True)
    line = [PROGRAMS / "schwann", "fake", "eeg:8@250", "counter:2@100", "--seconds", "120", "--fault", "gaps=0.3", "-o", path]
    subprocess.run(line, env=ENVIRONMENT, check=True, capture_output=True)
    page = Page()
    try:
        with dashboard("--no-browser", str(path)) as (url, _):
            page.call("Page.navigate", url=url)
            check_page(page)
            expect(not page.problems, "without an error in the page", page.problems)
    finally:
        page.close()
        path.unlink()


def check_page(page: Page) -> None:
    page.wait(f"{TIME}.startsWith('0:00.0 to 0:10.0 of 1:59.')", "a recording begins at its beginning", 20)
    page.wait("/µV/.test(document.getElementById('scale').textContent)", "and is drawn")
    page.wait("document.querySelectorAll('#verdicts li').length >= 2", "what speaks against it is listed", 20)
    hidden = page.value("['record', 'mark', 'pause'].every(id => getComputedStyle(document.getElementById(id)).display === 'none')")
    expect(hidden, "what only live streams can do is not offered")
    slide = "const s = document.getElementById('tape-place'); s.value = 10000; s.dispatchEvent(new Event('input'))"
    page.value(slide)
    page.wait(f"/^1:4.* to 1:59/.test({TIME})", "the slider goes to the end")
    page.value("document.querySelectorAll('#verdicts button')[0].click()")
    page.wait(f"/^0:00.0 to 0:10/.test({TIME})", "a click on a verdict goes there")
    page.value("const w = document.getElementById('window'); w.value = '120'; w.dispatchEvent(new Event('change'))")
    page.wait(f"/^0:00.0 to /.test({TIME})", "all of it is in one window")
    page.value("document.getElementById('events').open = true")
    page.wait("document.querySelectorAll('#event-list li').length > 3", "its markers are listed")
    page.screenshot(STATE / "dash-recording.png")
    check_axe_rules(page, "recording")


def check_overview() -> None:
    """What is drawn from the overview of a long stretch is as sent, whatever was wished for, and that is what is said."""
    path = STATE / "dash-overview.xdf"
    path.unlink(missing_ok=True)
    subprocess.run([PROGRAMS / "schwann", "fake", "eeg:64@1000", "--seconds", "120", "-o", path], env=ENVIRONMENT, check=True, capture_output=True)
    processing = "document.getElementById('processing').textContent"
    change = "Object.assign(document.getElementById('{}'), {{ value: '{}' }}).dispatchEvent(new Event('change'))"
    page = Page()
    try:
        with dashboard("--no-browser", str(path)) as (url, _):
            page.call("Page.navigate", url=url)
            page.wait(f"{TIME}.startsWith('0:00.0 to 0:10.0')", "a long recording is there", 20)
            page.wait("document.getElementById('reference').options.length === 67", "each channel is offered as a reference", 20)
            for reference, said in (("3", "Shown minus "), ("bipolar", "Shown bipolar"), ("average", "Shown minus the average of 64")):
                page.value(change.format("reference", reference))
                page.wait(f"{processing}.startsWith('{said}')", f"ten seconds of it are as wished: {said}", 20)
                page.value(change.format("window", 120))
                page.wait(f"{processing} === 'Shown as sent.'", "and all of it is as sent, and is called so", 20)
                page.value(change.format("window", 10))
            expect(not page.problems, "long stretches are called as sent, which they are", page.problems)
    finally:
        page.close()
        path.unlink()
