"""What hands do: look at a value, go back, zoom to single samples, put streams side by side."""

import json

from chromium import Page, wait_for
from dash_axe import check_axe_rules
from dash_lab import SESSION, STATE, dashboard, expect, sender

CENTER = "(({ left, top, width, height }) => [left + width / 2, top + height / 2])(document.getElementById('plot').getBoundingClientRect())"
LIVE = "document.querySelectorAll('#streams .health.live').length"


def wheel(page: Page, x: float, y: float, delta: float, modifiers: int = 0) -> None:
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta, modifiers=modifiers)


def check_time(page: Page) -> None:
    x, y = page.value(CENTER)
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    for step in range(1, 6):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 20 * step, y=y, button="left")
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + 100, y=y, button="left", clickCount=1)
    page.wait("document.getElementById('pause').textContent === 'Follow'", "a drag goes back, and no longer follows")
    for _ in range(7):
        wheel(page, x, y, -120, modifiers=2)
    page.wait("Number(document.getElementById('window').value) <= 0.1", "Ctrl and wheel zoom in")
    page.screenshot(STATE / "dash-zoomed.png")
    for _ in range(7):
        wheel(page, x, y, 120, modifiers=2)
    page.wait("Number(document.getElementById('window').value) >= 5", "and out")
    page.value("document.activeElement.blur()")
    page.press("End", "End")
    page.wait("document.getElementById('pause').textContent === 'Pause'", "End follows again")
    page.value("document.getElementById('events').open = true")
    page.wait("document.querySelectorAll('#event-list button').length > 3", "events are listed", 20)
    # One so old that it is in the middle of a picture that ends before now.
    age = "(events => Number(events[0].dataset.time) - Number(events.at(-1).dataset.time))([...document.querySelectorAll('#event-list button')])"
    page.wait(f"{age} > Number(document.getElementById('window').value)", "there are old events", 60)
    page.value("window.event = [...document.querySelectorAll('#event-list button')].at(-1); event.click()")
    page.wait("document.getElementById('pause').textContent === 'Follow'", "a click on an event no longer follows")
    time = page.value("Number(event.dataset.time)")

    def middle() -> float | None:
        """The time in the middle of what the page has asked for at last."""
        shown = [message for message in map(json.loads, page.sent) if message["type"] == "show"][-1]
        return shown["until"] - shown["window"] / 2 if shown["until"] else None

    def is_there() -> bool:
        page.value("0")
        return middle() is not None and abs(middle() - time) < 0.001

    wait_for(is_there, "and goes there")
    expect(True, "its time is in the middle of the picture")
    page.press("End", "End")


def check_two(page: Page) -> None:
    page.value("[...document.querySelectorAll('#streams .beside')].filter(button => button.getAttribute('aria-pressed') === 'false' && button.checkVisibility({ visibilityProperty: true }))[0].click()")
    page.wait("/Traces of .*, .*:/.test(document.getElementById('plot').getAttribute('aria-label'))", "two streams are on one axis")
    page.wait("[...document.querySelectorAll('#streams .beside')].filter(button => button.getAttribute('aria-pressed') === 'true').length === 2", "and marked so")
    page.screenshot(STATE / "dash-two.png")


def check_layout(page: Page) -> None:
    """A layout is saved by its name, and shared by its address."""
    choose = "const e = document.getElementById('layout'); e.value = '{}'; e.dispatchEvent(new Event('change'))"
    page.value(f"(() => {{ {choose.format('save')} }})()")
    page.value("document.getElementById('layout-name').value = 'mine'; document.querySelector('#layout-dialog .primary').click()")
    page.wait("[...document.getElementById('layout').options].some(option => option.value === '=mine')", "a layout is saved")
    page.value(f"(() => {{ {choose.format('share')} }})()")
    page.wait("location.hash.startsWith('#layout=')", "its address tells it")
    page.value("document.querySelector('#streams .chosen .row').click()")
    two = "/Traces of .*, .*:/.test(document.getElementById('plot').getAttribute('aria-label'))"
    page.wait(f"!{two}", "one stream is shown again")
    page.value(f"(() => {{ {choose.format('=mine')} }})()")
    page.wait(two, "a saved layout comes back")
    page.call("Page.reload")
    page.wait(f"document.getElementById('plot') && {two}", "and so does the one of an address", 20)


def check_markers_alone() -> None:
    """Where no signal is, its place is for the markers."""
    seen = "document.getElementById('{}').checkVisibility()"
    with dashboard("--no-browser", "--session", SESSION) as (url, _):
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait(f"document.getElementById('empty') && {seen.format('empty')}", "the page waits for streams", 20)
            page.wait("document.getElementById('wall').textContent", "and has contact")
            page.press("m", "KeyM")
            page.wait("/mark/.test(document.getElementById('event-list').innerText)", "markers without a signal are seen", 20)
            expect(not page.value(seen.format("plot")), "and no empty plot")
            check_axe_rules(page, "markers alone")
            page.screenshot(STATE / "dash-markers.png")
            with sender("Late", 8) as source:
                source.stdout.readline()
                page.wait(f"{seen.format('plot')} && !{seen.format('event-list')}", "a signal takes the place when it comes", 20)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


def check_hands() -> None:
    check_markers_alone()
    with dashboard("--no-browser", "--session", SESSION) as (url, _), sender("One", 8) as one, sender("Two", 64) as two:
        one.stdout.readline(), two.stdout.readline()
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait(f"{LIVE} === 4", "four streams are live", 20)
            page.wait("/1 to \\d+ of 64/.test(document.getElementById('sight').textContent)", "64 lanes are not squeezed, but scroll")
            page.value("document.body.focus()")
            page.press("PageDown", "PageDown")
            page.wait("!/^1 to/.test(document.getElementById('sight').textContent)", "PgDn shows others")
            check_time(page)
            check_two(page)
            check_layout(page)
            page.value("Object.assign(document.getElementById('search'), { value: 'twomark' }).dispatchEvent(new Event('input'))")
            page.wait("document.querySelectorAll('#streams .stream').length === 1", "a search finds a stream")
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()
