"""The dashboard in Firefox: it loads, draws, measures, marks, records, and says when it has no contact.

Usage: dash_firefox.py <folder of the program> <folder for the screenshots>
"""

import pathlib
import signal
import tempfile

from chromium import wait_for
from dash_lab import SESSION, STATE, dashboard, expect, sender
from dash_looks import check_flat, check_looks, shown
from firefox import Firefox

PICTURE = "document.getElementById('plot').toDataURL()"
STATUS = "document.getElementById('recording').textContent"


def check_plot(page: Firefox) -> None:
    page.wait("document.querySelectorAll('#streams .health.live').length === 2", "both streams are live", 40)
    page.wait("/8 channels/.test(document.getElementById('plot').getAttribute('aria-label'))", "eight channels are shown")
    first = page.value(PICTURE)
    wait_for(lambda: page.value(PICTURE) != first, "traces move")
    expect(True, "traces move")
    page.press("a")
    page.wait("document.querySelectorAll('#bands li').length === 5 && document.getElementById('quality').children.length > 0", "bands and channels are judged", 30)
    page.screenshot(STATE / "dash-firefox.png")
    page.press("a")
    page.press(" ")
    page.wait("document.getElementById('pause').textContent === 'Follow'", "Space pauses")
    page.press(" ")


def check_hands(page: Firefox) -> None:
    page.wait("/µV/.test(document.getElementById('scale').textContent)", "the scale has fitted itself")
    page.press("m")
    page.wait("/Marked/.test(document.getElementById('mark-note').textContent)", "M writes a marker")
    page.value("document.getElementById('events').open = true")
    page.wait("/\\bmark/.test(document.getElementById('event-list').textContent)", "which is listed", 20)
    page.value("document.getElementById('record').click()")
    # It asks for notifications, which takes a hand.
    page.value("document.querySelector('#record-dialog .primary').click()", by_hand=True)
    page.wait(f"/recording .* streams/.test({STATUS})", "a recording begins", 30)
    page.value("document.getElementById('record').click()")
    page.wait(f"/^recorded /.test({STATUS})", "and ends", 30)


def open_firefox(url: str) -> Firefox:
    page = Firefox()
    print(f"   Firefox {page.version}")
    page.open(url)
    return page


def check_same_looks() -> None:
    """What is measured in pictures of Chromium is so here, too."""
    with shown(open_firefox) as (page, process, source, url):
        def resize(width: int, height: int) -> None:
            page.call("browsingContext.setViewport", context=page.context, viewport={"width": width, "height": height})
        check_looks(page, process, source, resize, themes=("light",))
        check_flat(page, url)


def check_firefox() -> None:
    folder = pathlib.Path(tempfile.mkdtemp())
    with dashboard("--no-browser", "--session", SESSION, "--folder", str(folder)) as (url, process), sender() as source:
        source.stdout.readline()
        page = open_firefox(url)
        try:
            check_plot(page)
            check_hands(page)
            expect(len(list(folder.glob("*.xdf"))) == 1, "there is one file")
            expect(not page.problems, "no script has failed", page.problems)
            process.send_signal(signal.SIGSTOP)
            page.wait("document.body.classList.contains('cut-off') && /No contact/.test(document.title)", "without contact it says so", 10)
            process.send_signal(signal.SIGCONT)
            page.wait("!document.body.classList.contains('cut-off')", "and goes on with the program", 20)
        finally:
            page.close()
    check_same_looks()
    expect(True, "the dashboard is whole in Firefox")


if __name__ == "__main__":
    check_firefox()
