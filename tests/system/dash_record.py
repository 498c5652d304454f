"""Records from the page: what, under which name, the next run, a note, and an end."""

import json
import pathlib
import subprocess
import tempfile

from chromium import Page
from dash_axe import check_axe_rules
from dash_lab import PROGRAMS, SESSION, STATE, dashboard, expect, sender

START = "document.querySelector('#record-dialog .primary').click()"
STATUS = "document.getElementById('recording').textContent"


def info(path: pathlib.Path) -> dict:
    said = subprocess.run([str(PROGRAMS / "schwann"), "info", "--json", str(path)], capture_output=True, check=True).stdout
    return json.loads(said)


def check_refusal(page: Page) -> None:
    """What makes no name, or leads out of the folder, is refused and said."""
    page.value("document.getElementById('record').click()")
    page.value("const naming = document.getElementById('record-naming'); naming.value = 'template'; naming.dispatchEvent(new Event('change'));"
               " document.getElementById('record-template').value = '../out.xdf'")
    check_axe_rules(page, "record dialog")
    page.screenshot(STATE / "dash-record.png")
    page.value(START)
    page.wait("document.getElementById('problem-dialog').open", "a name that leads out of the folder is refused", 20)
    page.value("document.querySelector('#problem-dialog button').click()")
    page.wait(f"/not recording/.test({STATUS})", "and nothing is recorded")


def type_note(page: Page, note: str) -> None:
    """Its letters are keys of the page elsewhere: some mark, others open something."""
    page.value("document.getElementById('note').focus()")
    for letter in note:
        page.press(letter)
    typed = page.value("document.getElementById('note').value")
    expect(typed == note, "a note is typed whole", typed)
    page.press("Enter", "Enter")
    page.wait("document.getElementById('note').value === ''", "a note is taken")


def check_runs(page: Page, folder: pathlib.Path) -> None:
    page.value("document.getElementById('record').click()")
    page.value("document.getElementById('record-naming').value = 'bids';"
               " document.getElementById('record-naming').dispatchEvent(new Event('change'));"
               " [...document.querySelectorAll('#record-streams li')].find(line => line.textContent.includes('Lab'))"
               ".querySelector('[name=required]').click()")
    page.value(START)
    page.wait(f"/recording .* 2 streams/.test({STATUS})", "a recording of both streams begins", 20)
    page.wait("/kB|MB/.test(document.getElementById('recording').textContent)", "its size is told")
    type_note(page, "Sc/abc-3 moved")
    page.value("document.getElementById('next-run').click()")
    page.wait("/run-002/.test(document.getElementById('recording').title)", "the next run is another file", 20)
    page.value("document.getElementById('record').click()")
    page.wait(f"/^recorded /.test({STATUS})", "Stop ends it", 20)
    files = sorted(folder.rglob("*.xdf"))
    expect(len(files) == 2, "there are two files", files)
    found = [info(path) for path in files]
    names = [{stream["name"] for stream in one["streams"]} for one in found]
    expect(all({"Lab", "LabMarkers"} <= one for one in names), "both have both streams", names)
    expect(not any("Dashboard markers" in one for one in names), "and no marker that nobody made", names)


def check_record() -> None:
    folder = pathlib.Path(tempfile.mkdtemp())
    with dashboard("--no-browser", "--session", SESSION, "--folder", str(folder)) as (url, _), sender() as source:
        source.stdout.readline()
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait("document.querySelectorAll('#streams .health.live').length === 2", "both streams are live", 20)
            page.wait(f"/not recording/.test({STATUS})", "the page says that nothing is recorded")
            check_refusal(page)
            check_runs(page, folder)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()
