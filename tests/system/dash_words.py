"""What is written in the picture: time of day, scale, names, marks, what is under the pointer; and the menu of a name."""

import re
import threading
import time

from chromium import Page, wait_for
from dash_lab import SESSION, STATE, dashboard, expect, fakes, sender
from dash_web import LABELS, Program, feed

# Keeps what is written on the plot: text, place, colour, and the time of day in seconds.
PEN = """
window.words = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  if (this.canvas.id === "plot") words.push({ text, x, y, ink: this.fillStyle, at: Date.now() / 1000, zone: new Date().getTimezoneOffset() * 60 });
  if (words.length > 4000) words.splice(0, 2000);
  return write.apply(this, arguments);
};
"""
LEFT, RIGHT = 108, 18        # pixels of the canvas beside the traces
LEAST_LANE = 14
CHOOSE = "[...document.querySelectorAll('#streams .name')].find(name => name.textContent.startsWith({!r})).closest('button').click()"


class Feeder(threading.Thread):
    """Feeds a stream of six electrodes, of which the last is flat, until it is told to end."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.program, self.is_ending = Program(url), threading.Event()
        opened = self.program.ask("opened", type="outlet", outlet=3, name="Cap", content="EEG", channels=len(LABELS), rate=100,
                                  format="float32", source="cap", labels=LABELS, unit="microvolts", request=2)
        expect(opened["type"] == "opened", "six electrodes are sent", opened)

    def run(self) -> None:
        count = [0, self.program.ask("clock", type="clock", sent=0)["now"]]
        while not self.is_ending.wait(0.1):
            while count[0] / 100 < self.program.ask("clock", type="clock", sent=0)["now"] - count[1]:
                feed(self.program, count)

    def end(self) -> None:
        self.is_ending.set()
        self.join()
        self.program.socket.close()


def words(page: Page) -> list[dict]:
    """What one drawing of the whole picture writes."""
    return page.value("new Promise(done => requestAnimationFrame(() => { words.length = 0;"
                      " document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));"
                      " document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '-', bubbles: true }));"
                      " requestAnimationFrame(() => requestAnimationFrame(() => done(words.slice()))); }))")


def gutter(page: Page, known: str = r"E\d+") -> list[dict]:
    """The names of the channels in sight, from above."""
    found = {word["text"]: word for word in words(page) if re.fullmatch(known, word["text"]) and word["x"] < LEFT}
    return sorted(found.values(), key=lambda word: word["y"])


def leads(page: Page) -> list[float]:
    """By how many seconds each time on the axis places the right edge after the moment of drawing."""
    width = page.value("document.getElementById('plot').width")
    ticks = [word for word in words(page) if re.fullmatch(r"\d\d:\d\d:\d\d", word["text"]) and word["x"] > LEFT]
    expect(len(ticks) >= 4, "the axis has the time of day, with seconds", ticks)
    found = []
    for tick in ticks[:8]:
        hours, minutes, seconds = map(int, tick["text"].split(":"))
        edge = 3600 * hours + 60 * minutes + seconds + (width - RIGHT - tick["x"]) / (width - LEFT - RIGHT) * 10
        found.append((edge - (tick["at"] - tick["zone"]) + 43200) % 86400 - 43200)
    return found


def check_axis(page: Page) -> None:
    # A busy machine draws late, so one of many drawings must be in time.
    wait_for(lambda: all(-1 < seconds < 0.5 for seconds in leads(page)), "each is where it was, and the right edge is now", 20)
    expect(True, "each is where it was, and the right edge is now")
    page.value("document.getElementById('events').open = true")
    page.wait("/^\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$/.test(document.querySelector('#event-list time')?.textContent)", "events have the time of day", 20)
    age = page.value("(text => { const [h, m, s] = text.split(':').map(Number), now = new Date(); return now.getHours() * 3600 + now.getMinutes() * 60 + now.getSeconds()"
                     " - h * 3600 - m * 60 - s; })(document.querySelector('#event-list time').textContent)")
    expect(abs((age + 43200) % 86400 - 43200) < 60, "which is that of now", age)
    page.value("document.getElementById('events').open = false")
    kept = page.value("document.getElementById('kept-note').textContent")
    expect(re.search(r"last 10 min are kept, and at most \d+ MB", kept), "it is said how far one can go back", kept)


def check_lanes(page: Page) -> None:
    for height in (900, 560):
        page.call("Emulation.setDeviceMetricsOverride", width=1400, height=height, deviceScaleFactor=1, mobile=False)
        page.wait(f"innerHeight === {height}", "the window has another size")
        page.wait("/^1 to \\d+ of 64$/.test(document.getElementById('sight').textContent)", "not all lanes are in sight")
        said = int(page.value("document.getElementById('sight').textContent.split(' ')[2]"))
        # The size of the canvas follows that of the window a moment later.
        names = gutter(page)
        for _ in range(20):
            if len(names) == said and all(name["y"] < height for name in names):
                break
            time.sleep(0.1)
            names, said = gutter(page), int(page.value("document.getElementById('sight').textContent.split(' ')[2]"))
        expect([name["text"] for name in names] == [f"E{number}" for number in range(1, said + 1)], f"{said} names are written, as it is said", names)
        least = min(after["y"] - before["y"] for before, after in zip(names, names[1:]))
        expect(least >= LEAST_LANE, f"no lane is below {LEAST_LANE} pixels", least)
        expect(len({name["ink"] for name in names}) == 1, "they have one ink", {name["ink"] for name in names})
    page.call("Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False)
    expect(any(re.fullmatch(r"[\d.e]+ µV", word["text"]) for word in words(page)), "the scale is in the gutter, with its unit")


def hover(page: Page, x: float, y: float) -> tuple[str, str, float]:
    """What is written beside the pointer: channel, value, and seconds of the day."""
    left, top = page.value("(({ left, top }) => [left, top])(document.getElementById('plot').getBoundingClientRect())")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + x, y=top + y)
    page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => { words.length = 0; requestAnimationFrame(() => requestAnimationFrame(done)); }))).then(() => 0)")
    page.wait("words.some(word => /^\\d\\d:\\d\\d:\\d\\d\\.\\d+$/.test(word.text) && word.x < document.getElementById('plot').width)", "a value is written beside the pointer", 20)
    texts = [word["text"] for word in page.value("words.slice()")]
    place = max(at for at, text in enumerate(texts) if re.fullmatch(r"\d\d:\d\d:\d\d\.\d+", text) and at >= 2)
    hours, minutes, seconds = texts[place].split(":")
    return texts[place - 2], texts[place - 1], 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def set_window(page: Page, seconds: float) -> None:
    page.value(f"Object.assign(document.getElementById('window'), {{ value: '{seconds}' }}).dispatchEvent(new Event('change'))")


def check_hover(page: Page) -> None:
    """A counter of 1,000 samples in a second: what is said of a moment is what was sent then."""
    page.value(CHOOSE.format("Fake counter"))
    page.wait("/counter/.test(document.getElementById('view-title').textContent) && document.getElementById('plot-note').hidden", "a counter is shown", 20)
    page.wait("document.getElementById('scale').textContent", "and fits")
    page.value("document.activeElement.blur()")
    # Its numbers have five digits after ten seconds, and all of them are written.
    page.wait("window.since ??= performance.now(), performance.now() - since > 11000", "for some seconds", 30)
    for seconds in (2, 0.1):
        set_window(page, seconds)
        found = look_twice(page)
        (name, first, begin), (_, last, end) = found
        numbers = [float(text.split(" to ")[0]) for text in (first, last)]
        off = (numbers[1] - numbers[0]) - 1000 * (end - begin)
        expect(bool(name), f"in a window of {seconds} s the pointer tells the channel", name)
        expect(end > begin and abs(off) <= 3, "the value, and its time", (found, off))
        expect((" to " in first) == (seconds == 2), "a column of many samples tells their extremes, a sample its value", first)


def look_twice(page: Page) -> list[tuple[str, str, float]]:
    """What is said of two moments of one picture that stands still; then it goes on."""
    page.press(" ", "Space")
    page.wait("document.getElementById('pause').textContent === 'Follow'", "the picture stands still")
    found: list[tuple[str, str, float]] = []
    while len({value for _, value, _ in found}) < 2:
        found = [hover(page, x, 60) for x in (500, 900)]
    page.press("End", "End")
    page.wait("document.getElementById('pause').textContent !== 'Follow'", "the picture goes on")
    return found


def click_name(page: Page, name: str) -> None:
    place = next(word for word in gutter(page, "|".join(LABELS)) if word["text"] == name)
    left, top = page.value("(({ left, top }) => [left, top])(document.getElementById('plot').getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=left + 60, y=top + place["y"], button="left", clickCount=1)
    page.wait(f"document.getElementById('label-menu').checkVisibility() && document.getElementById('label-name').textContent === {name!r}", f"a click on {name} opens its menu", 20)


def choose_of(page: Page, what: str) -> None:
    page.value(f"document.querySelector('#label-menu [data-do={what}]').click()")


def check_names(page: Page) -> None:
    page.value(CHOOSE.format("Cap"))
    page.wait("/Cap/.test(document.getElementById('view-title').textContent) && document.getElementById('plot-note').hidden && document.getElementById('scale').textContent", "electrodes are shown", 20)
    page.wait("words.some(word => word.text === '▬')", "a flat channel is marked in the gutter", 30)
    names = gutter(page, "|".join(LABELS))
    expect([name["text"] for name in names] == LABELS, "all names are written", names)
    inks = [name["ink"] for name in names]
    expect(len(set(inks[:-1])) == 1 and inks[-1] != inks[0], "that of the flat channel in another ink", inks)
    click_name(page, "C3")
    choose_of(page, "mute")
    expect([name["text"] for name in gutter(page, "|".join(LABELS))] == [name for name in LABELS if name != "C3"], "a channel is hidden")
    click_name(page, "Fp2")
    choose_of(page, "bad")
    page.wait("words.some(word => word.text === '×')", "one is marked as bad", 20)
    expect('"bad":[1]' in [sent for sent in page.sent if '"show"' in sent][-1], "and the server knows, for its averages")
    click_name(page, "O1")
    choose_of(page, "solo")
    expect([name["text"] for name in gutter(page, "|".join(LABELS))] == ["O1"], "one is shown alone")
    click_name(page, "O1")
    choose_of(page, "all")
    expect([name["text"] for name in gutter(page, "|".join(LABELS))] == LABELS, "and all are again")


def check_words() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, _), sender("Lab", 64) as source, fakes("counter:2@1000"):
        source.stdout.readline()
        feeder, page = Feeder(url), Page()
        feeder.start()
        try:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=PEN)
            page.call("Page.navigate", url=url)
            page.wait("document.querySelectorAll('#streams .health.live').length === 4", "all streams are live", 40)
            page.value(CHOOSE.format("Lab"))
            page.wait("document.getElementById('scale').textContent && /^1 to/.test(document.getElementById('sight').textContent)", "64 channels are shown", 20)
            check_axis(page)
            check_lanes(page)
            check_hover(page)
            check_names(page)
            page.screenshot(STATE / "dash-words.png")
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            feeder.end()
            page.close()


if __name__ == "__main__":
    check_words()
