"""A phone: cards, one sheet of controls, nothing that a finger misses; on its side the plot alone, and what is wrong."""

import signal

from chromium import Page
from dash_axe import check_axe_rules
from dash_lab import SESSION, STATE, dashboard, expect, sender

FINGER = 44              # pixels
# What a finger aims at, and is smaller than it: its name, its width and its height.
SMALL = f"""[...document.querySelectorAll("button, select, summary, input:not([type=radio], [type=checkbox]), .choice span, .record-streams label, .boxes label")]
  .filter(one => one.checkVisibility({{ visibilityProperty: true }})).map(one => [one, one.getBoundingClientRect()])
  .filter(([one, {{ width, height }}]) => width > 1 && (height < {FINGER} || width < {FINGER}))
  .map(([one, {{ width, height }}]) => `${{one.id || one.className || one.tagName}} ${{width.toFixed(0)}}x${{height.toFixed(0)}}`)"""
SEEN = "document.getElementById('{}').checkVisibility()"


def turn(page: Page, width: int, height: int) -> None:
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)
    page.wait(f"innerWidth === {width}", "the phone is turned")


def check_upright(page: Page) -> None:
    expect(page.value("document.documentElement.scrollWidth <= innerWidth"), "nothing is beside the screen")
    expect(page.value("getComputedStyle(document.querySelector('#streams .stream')).borderTopWidth !== '0px'"), "streams are cards")
    expect(not page.value(SEEN.format("high-pass")) and page.value(SEEN.format("sheet-button")), "the controls are behind one button")
    page.value("document.getElementById('events').open = true")
    page.wait("document.querySelectorAll('#event-list button').length > 1", "events are listed", 20)
    small = page.value(SMALL)
    expect(not small, f"a finger has {FINGER} pixels for everything", small)
    page.value("document.getElementById('sheet-button').click()")
    page.wait(SEEN.format("high-pass"), "the sheet opens")
    small = page.value(SMALL)
    expect(not small, "and so it has in the sheet", small)
    check_axe_rules(page, "sheet of a phone")
    page.screenshot(STATE / "dash-phone-sheet.png")
    page.value("document.getElementById('sheet-button').click()")
    page.wait(f"!{SEEN.format('high-pass')}", "and closes")
    for dialog, button in (("record-dialog", "record"), ("channel-dialog", "channels"), ("mark-dialog", "mark-keys"), ("help-dialog", "help")):
        page.value(f"document.getElementById('{button}').click()")
        small = page.value(SMALL)
        expect(page.value(f"document.getElementById('{dialog}').open") and not small, f"and in the dialog of {button}", small)
        page.value(f"document.getElementById('{dialog}').close()")


def check_side(page: Page, process, source) -> None:
    turn(page, 844, 390)
    page.wait("document.getElementById('plot').clientHeight > 0.9 * innerHeight && document.getElementById('plot').clientWidth > 0.98 * innerWidth", "on its side a phone shows the plot alone", 20)
    page.screenshot(STATE / "dash-phone-side.png")
    process.send_signal(signal.SIGSTOP)
    try:
        page.wait(SEEN.format("offline"), "but says there, too, that it has no contact", 20)
    finally:
        process.send_signal(signal.SIGCONT)
    page.wait(f"!{SEEN.format('offline')}", "until it has", 20)
    source.kill()
    page.wait(f"{SEEN.format('plot-note')} && /has stopped/.test(document.getElementById('plot-note').textContent)", "and that the stream has stopped", 30)


def check_phone() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, process), sender("Lab", 64) as source:
        source.stdout.readline()
        page = Page(390, 844)
        try:
            page.call("Page.navigate", url=url)
            turn(page, 390, 844)
            page.wait("document.getElementById('plot')?.checkVisibility() && document.getElementById('scale').textContent", "a stream is shown", 40)
            check_upright(page)
            check_side(page, process, source)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


if __name__ == "__main__":
    check_phone()
