"""The dashboard says no calm word that it cannot vouch for: of a dead sender, of a program that stands still, of many streams."""

import signal
import time

from chromium import Page
from dash_lab import SESSION, STATE, dashboard, expect, fakes, sender

# Notes when a message came last, when the page said that there is no contact, and by how much a busy machine delayed a worker.
EAR = """
window.WebSocket = class extends WebSocket {
  constructor(...given) { super(...given); this.addEventListener("message", () => { [window.heard, window.late] = [performance.now(), 0]; }); }
};
addEventListener("DOMContentLoaded", () => {
  let ticked = performance.now();
  const look = () => { if (!window.cutOff) window.late = Math.max(window.late, performance.now() - ticked - 200); };
  new Worker("/pulse.js").onmessage = () => { look(); ticked = performance.now(); };
  new MutationObserver(() => {
    look();
    window.cutOff = document.body.classList.contains("cut-off") ? performance.now() : null;
  }).observe(document.body, { attributes: true });
});
"""
# Milliseconds from the last message to the word that there is no contact, without what the machine took.
SILENCE = "window.cutOff - window.heard - Math.min(window.late, 5000)"
# Coloured pixels where traces are drawn: all else is grey or elsewhere.
INK = """(() => {
  const plot = document.getElementById("plot"), [left, top] = [110, 32];
  const { data } = plot.getContext("2d").getImageData(left, top, plot.width - left - 20, plot.height - top - 62);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] > 60 && Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 60) count += 1;
  return count;
})()"""
LIVE = "document.querySelectorAll('#streams .health.live').length"


def check_dead_sender(page: Page) -> None:
    """Nothing old is drawn under a present time, whatever redraws the traces."""
    with sender() as source:
        source.stdout.readline()
        page.wait(f"{LIVE} === 2", "both streams are live", 20)
        page.value("document.getElementById('window').value = '2'; document.getElementById('window').dispatchEvent(new Event('change'))")
        page.wait(f"{INK} > 500", "traces are drawn")
        source.kill()
        page.wait("/has stopped/.test(document.getElementById('plot-note').textContent)", "the traces have stopped", 20)
    page.wait(f"{INK} === 0", "what was drawn leaves the plot")
    # More than a turn of the ring, with all that draws it anew: scale, layout, channels and size.
    until, redraws = time.monotonic() + 5, ["'+'", "'-'", "'b'", "'s'", "'f'", "' '", "' '"]
    while time.monotonic() < until:
        key = redraws[0]
        redraws.append(redraws.pop(0))
        page.value(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: {key}, bubbles: true }})); 0")
        page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => 0)")
        old = page.value(INK)
        if old:
            expect(False, f"after {key} nothing old is drawn", old)
    expect(True, "nothing old is drawn under a present time")


def check_standstill(page: Page, process) -> None:
    """A program that stands still keeps its connection, and says nothing."""
    with fakes("eeg:8@250"):
        page.wait(f"{LIVE} >= 2", "a stream is live", 20)
        page.value("[...document.querySelectorAll('#streams .name')].find(name => name.textContent === 'Fake eeg:8@250').closest('button').click()")
        page.wait("document.getElementById('plot-note').hidden", "and is shown")
        process.send_signal(signal.SIGSTOP)
        try:
            page.wait("window.cutOff", "a page without contact says so", 10)
            silence = page.value(SILENCE)
            expect(silence < 2000, "within two seconds", f"{silence:.0f} ms")
            expect(page.value("document.getElementById('offline').checkVisibility() && /No contact/.test(document.title)"), "in the title, too")
            expect(page.value(f"{LIVE} === 0 && !/well/.test(document.getElementById('summary').textContent)"), "and calls nothing live or well")
            page.value("Promise.allSettled(document.getAnimations().map(change => change.finished)).then(() => 0)")
            expect(page.value("/grayscale/.test(getComputedStyle(document.querySelector('main')).filter)"), "and all is grey")
            page.screenshot(STATE / "dash-cut-off.png")
        finally:
            process.send_signal(signal.SIGCONT)
        page.wait(f"!window.cutOff && {LIVE} >= 2", "it goes on with the program")


def check_unwell(page: Page) -> None:
    """A stream that comes, but not as it should, is red in its row, the summary and the title."""
    with fakes("--drift-ppm", "100000", "counter:2@200"):
        row = "document.querySelector('#streams .stream.wrong:not(.stopped-row)')"
        page.wait(f"/not well/.test({row}?.innerText)", "a stream at a wrong rate is not well", 30)
        red = page.value(f"getComputedStyle({row}.querySelector('.health')).color").removeprefix("rgb(").rstrip(")").split(", ")
        expect(int(red[0]) > 150 and int(red[1]) < 90, "and red", red)
        expect(page.value("/1 not well/.test(document.querySelector('#summary strong').innerText) && /■.*not well/.test(document.title)"),
               "in the summary and the title, too", page.value("document.title"))
        page.screenshot(STATE / "dash-unwell.png")


def check_out_of_range() -> None:
    """A trace that leaves its lane is seen at the edge, also in a plot of one lane."""
    with dashboard("--no-browser", "--session", SESSION) as (url, _), fakes("counter:1@50"):
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait("document.getElementById('plot')?.checkVisibility()", "a ramp is shown", 30)
            page.wait(f"{INK} > 0", "a ramp out of range is hatched at the edge", 40)
            expect(True, "a ramp out of range is hatched at the edge")
        finally:
            page.close()


def check_parts_missing() -> None:
    """A page that came in parts, as when a network changes while it loads, says so and begins again."""
    calm = "/Looking for streams/.test(document.body.innerText)"
    with dashboard("--no-browser", "--session", SESSION) as (url, _), fakes("counter:1@50"):
        page = Page()
        try:
            page.call("Network.setBlockedURLs", urls=["*/plot.js"])
            page.call("Page.navigate", url=url)
            page.wait("/Parts of this page did not come/.test(document.getElementById('offline')?.innerText)", "a page without one of its parts says so")
            expect(not page.value(calm), "and not that it looks for streams")
            page.call("Network.setBlockedURLs", urls=[])
            page.wait(f"{LIVE} === 1", "it begins again by itself", 20)
        finally:
            page.close()


def check_many(page: Page) -> None:
    """A hundred streams cost the page no more than it has."""
    count = 100
    # What is gone would be folded away while the mouse is on its way.
    page.wait("(document.getElementById('dismiss-all')?.click(), document.querySelectorAll('#streams .stopped-row').length === 0)",
              "what is gone is dismissed", 30)
    with fakes(*[f"counter:1@{50 + number}" for number in range(count)]):
        page.wait(f"{LIVE} >= {count}", f"{count} streams are live", 90)
        page.call("Performance.enable")

        def layouts() -> tuple[float, float]:
            metrics = {metric["name"]: metric["value"] for metric in page.call("Performance.getMetrics")["metrics"]}
            return metrics["LayoutCount"], metrics["Timestamp"]

        before, then = layouts()
        time.sleep(3)
        after, now = layouts()
        rate = (after - before) / (now - then)
        expect(rate < 60, "the page is laid out no more often than it is drawn", f"{rate:.0f} times a second")
        place = page.value("(() => { const name = [...document.querySelectorAll('#streams .stream:not(.chosen) .name')].find(e => e.textContent.includes('counter'));"
                           " name.scrollIntoView({ block: 'nearest' }); const { x, y, width, height } = name.getBoundingClientRect();"
                           " window.clicked = name.closest('.stream'); return [x + width / 2, y + height / 2]; })()")
        asked = time.monotonic()
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        page.wait("clicked.classList.contains('chosen')", "a click is answered", 60)
        took = time.monotonic() - asked
        expect(True, f"beside {count} streams a click is answered")
        print(f"   {rate:.0f} layouts a second; {took:.2f} s from a click to its answer")
        page.screenshot(STATE / "dash-many.png")


def check_calm() -> None:
    check_out_of_range()
    check_parts_missing()
    with dashboard("--no-browser", "--session", SESSION) as (url, process):
        page = Page()
        try:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=EAR)
            page.call("Page.navigate", url=url)
            check_dead_sender(page)
            check_standstill(page, process)
            check_unwell(page)
            check_many(page)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


if __name__ == "__main__":
    check_calm()
