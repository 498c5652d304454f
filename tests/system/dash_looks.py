"""Each state of the dashboard in pictures: what must be seen is measured in them, in light and dark, in Chromium and Firefox."""

import contextlib
import signal
import time

from chromium import Page, wait_for
from dash_lab import SESSION, STATE, dashboard, expect, sender
from dash_words import Feeder
from pixels import Part, Picture

EDGES = {"left": 112, "top": 34, "right": 22, "bottom": 44}   # of the canvas, beside the traces: names, events, strip, ribbon and axis
ROW = "#streams .stream.chosen"   # of the signal; that of its markers may be listed first
LIVE = "document.querySelectorAll('#streams .health.live').length"


def set_theme(page, theme: str) -> None:
    page.value(f"(() => {{ while (!document.getElementById('theme').title.includes('{theme}')) document.getElementById('theme').click(); return 0; }})()")
    settle(page)


def settle(page) -> None:
    """Until changes of the style are over, and two frames more."""
    page.value("Promise.allSettled(document.getAnimations().map(change => change.finished))"
               ".then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))).then(() => 0)")


def choose(page, control: str, value: str) -> None:
    page.value(f"(() => {{ const one = document.getElementById('{control}'); one.value = '{value}'; one.dispatchEvent(new Event('change')); return 0; }})()")


class State:
    """One state in one picture, and what is measured of it."""

    def __init__(self, page, name: str) -> None:
        self.name, self.picture = name, Picture(page, STATE / f"dash-look-{name.replace(' ', '-')}.png")

    def part(self, element: str, **edges: int) -> Part:
        return self.picture.part(element, **edges)

    def traces(self) -> Part:
        return self.part("#plot", **EDGES)

    def has(self, condition: bool, what: str, found=None) -> None:
        expect(condition, f"{self.name}: {what}", found)

    def is_calm(self) -> bool:
        return all(self.part(place).count("red") == 0 for place in ("#summary", ROW, "#recording")) and self.part("#summary").count("green") > 20

    def check_wrong(self, *places: str) -> None:
        for place in places:
            self.has(self.part(place).count("red") > 20, f"{place} is red", self.part(place).count("red"))


def calm(page, name: str) -> State:
    """A state in which nothing is red. On a busy machine samples are late for a while, and the page says so."""
    def look() -> State | None:
        state = State(page, name)
        return state if state.is_calm() else None

    return wait_for(look, f"{name}: nothing is red at the top or in the row, and the light of the summary is green", 90)


def check_well(page, theme: str) -> None:
    state = calm(page, f"well {theme}")
    traces = state.traces()
    state.has(traces.ground == {"light": "bright", "dark": "dark"}[theme], "the ground of the traces is that of the theme")
    green, coloured = traces.count("green"), traces.coloured()
    state.has(green > 2000, "traces have the ink of an EEG", green)
    # The line of an event may cross a trace, and mix with its ink.
    state.has(traces.count("red") < coloured / 50, "and none of them is red", (traces.count("red"), coloured))
    time.sleep(0.3)
    state.has(not traces.equals(State(page, f"well {theme}").traces()), "and they move")


def check_reference(page, theme: str) -> None:
    """Eight channels of one wave, minus their average: eight straight lines."""
    before = State(page, f"without a reference {theme}").traces().count("green")
    choose(page, "reference", "average")
    page.wait("/minus the average/.test(document.getElementById('processing').textContent)", "a reference is said", 20)
    page.wait("window.until_then ??= performance.now() + 1500, performance.now() > until_then", "traces are drawn with it", 20)
    page.value("delete window.until_then")
    settle(page)
    state = State(page, f"reference {theme}")
    after = state.traces().count("green")
    state.has(0 < after < before / 2, "what all channels have is gone from the traces", (before, after))
    state.has(state.part("#processing").coloured() == 0, "the words beside them are no alarm")
    choose(page, "reference", "")
    page.wait("!/minus/.test(document.getElementById('processing').textContent)", "and it is off again", 20)


def check_paused(page, theme: str) -> None:
    page.press(" ")
    page.wait("document.getElementById('pause').textContent === 'Follow'", "the picture stands still", 20)
    # What was asked for of the past may come a moment later.
    deadline = time.monotonic() + 20
    while True:
        first = State(page, f"paused {theme}")
        time.sleep(0.5)
        if first.traces().equals(State(page, f"paused {theme}").traces()):
            break
        if time.monotonic() > deadline:
            first.has(False, "two pictures of it are the same")
    first.has(first.traces().count("green") > 2000, "two pictures of it are the same, with traces")
    page.press(" ")
    page.wait("document.getElementById('pause').textContent === 'Pause'", "and goes on", 20)


def check_no_contact(page, process, theme: str) -> None:
    process.send_signal(signal.SIGSTOP)
    try:
        page.wait("document.body.classList.contains('cut-off')", "there is no contact", 20)
        settle(page)
        state = State(page, f"no contact {theme}")
        state.has(state.part("main").coloured() == 0, "no pixel of streams and traces has a colour", state.part("main").coloured())
        state.check_wrong("#offline", "#summary")
        state.has(state.part("#summary").count("green") == 0 and page.value("document.getElementById('wall').textContent") == "", "no green light and no time of day")
    finally:
        process.send_signal(signal.SIGCONT)
    page.wait("!document.body.classList.contains('cut-off')", "contact is back", 20)
    page.wait("document.querySelector('#plot-note').hidden", "and traces go on", 20)
    # A browser may say that the connection broke, which is what was done to it.
    page.problems[:] = [problem for problem in page.problems if "/live" not in str(problem)]
    settle(page)


def check_gap(page, source) -> None:
    source.stdin.write("miss\n")
    source.stdin.flush()
    page.wait("/with gaps/.test(document.getElementById('summary').innerText)", "a second is missing", 20)
    for theme in ("light", "dark"):
        set_theme(page, theme)
        state = State(page, f"gap {theme}")
        # A second of ten is a tenth of the width. In its ribbon of seven pixels red begins again and again.
        stripes = state.part("#plot", left=112, right=22, bottom=34).cut(rows=slice(-7, None)).stripes("red")
        state.has(stripes >= 8, "what is missing is hatched in red below the traces", stripes)
        state.check_wrong("#summary", ROW)


def check_gone(page, source) -> None:
    source.kill()
    page.wait("/1 gone|2 gone/.test(document.getElementById('summary').innerText)", "a sender is gone", 40)
    # The summary counts its markers, too, which may go first.
    page.wait("document.getElementById('plot-note').matches('.stopped:not([hidden])')", "and its traces say so", 40)
    for theme in ("light", "dark"):
        set_theme(page, theme)
        state = State(page, f"gone {theme}")
        state.check_wrong("#summary", ROW, "#plot-note")
        state.has(state.part("#summary").count("green") == 0, "no light is green")


def check_flat(page, url: str) -> None:
    """A channel that is flat is red in the gutter, and it alone."""
    feeder = Feeder(url)
    feeder.start()
    try:
        page.wait(f"(document.querySelectorAll('#streams .name').forEach(name => name.textContent === 'Cap' && name.closest('button').click()), /Cap/.test(document.getElementById('view-title').textContent))",
                  "electrodes are shown", 40)

        def is_last_red():
            gutter = State(page, "flat channel").part("#plot", top=34, bottom=44).cut(columns=slice(0, 108))
            rows = gutter.mask("red").any(axis=1).nonzero()[0]
            return gutter.count("red") > 20 and rows.max() - rows.min() < 20 and rows.min() > 0.8 * gutter.pixels.shape[0]

        wait_for(is_last_red, "a flat channel is red in the gutter, and it alone, the last of six", 40)
    finally:
        feeder.end()


def check_phone(page, resize) -> None:
    resize(390, 844)
    page.wait("innerWidth === 390 && document.getElementById('plot').clientWidth <= 390", "a phone is held upright", 20)
    page.value("new Promise(done => setTimeout(done, 800)).then(() => 0)")
    state = calm(page, "phone")
    traces = state.traces()
    state.has(traces.pixels.shape[1] > 200 and traces.count("green") > 1000, "traces are seen", traces.pixels.shape)
    state.has(page.value("document.documentElement.scrollWidth <= innerWidth"), "and nothing is beside the screen")
    resize(1400, 900)
    page.wait("innerWidth === 1400", "a large window is back", 20)
    page.value("new Promise(done => setTimeout(done, 800)).then(() => 0)")


def check_looks(page, process, source, resize, themes=("light", "dark")) -> None:
    """All states of one stream, in a page of either browser."""
    page.wait(f"{LIVE} === 2 && /8 channels/.test(document.getElementById('plot').getAttribute('aria-label')) && document.getElementById('plot-note').hidden", "eight channels are shown", 40)
    page.wait("/all is well/.test(document.getElementById('summary').innerText) && document.getElementById('scale').textContent", "all is well", 40)
    page.value("document.activeElement.blur()")
    page.wait("window.until_then ??= performance.now() + 4000, performance.now() > until_then", "for some seconds", 20)
    page.value("delete window.until_then")
    for theme in themes:
        set_theme(page, theme)
        check_well(page, theme)
        check_reference(page, theme)
        page.value("document.activeElement.blur()")
        check_paused(page, theme)
        check_no_contact(page, process, theme)
    check_phone(page, resize)
    check_gap(page, source)
    check_gone(page, source)


@contextlib.contextmanager
def shown(open_page):
    """A dashboard with one sender, a page of it by `open_page(url)`, and the processes."""
    with dashboard("--no-browser", "--session", SESSION) as (url, process), sender() as source:
        source.stdout.readline()
        page = open_page(url)
        try:
            yield page, process, source, url
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


def in_chromium(url: str) -> Page:
    page = Page()
    page.call("Page.navigate", url=url)
    return page


def check_dash_looks() -> None:
    with shown(in_chromium) as (page, process, source, url):
        resize = lambda width, height: page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        check_looks(page, process, source, resize)
        check_flat(page, url)


if __name__ == "__main__":
    check_dash_looks()
