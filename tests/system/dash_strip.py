"""The strip at the right of many lanes: a click or a drag in it shows others. And a reference that a person chooses."""

import json

from chromium import Page, wait_for
from dash_lab import SESSION, dashboard, expect, sender

SIGHT = "document.getElementById('sight').textContent"
PLOT = "(({ left, top, width, height }) => [left, top, width, height])(document.getElementById('plot').getBoundingClientRect())"
# Notes all that comes in frames: rows, and the extremes of the newest column.
EAR = """
window.frames_seen = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      if (!(data instanceof ArrayBuffer)) return;
      const head = new DataView(data), [generation, rows, columns] = [0, 4, 8].map(at => head.getUint32(at, true));
      if (columns) frames_seen.push({ generation, values: [...new Float32Array(data, 24 + 8 * columns, 2 * rows)] });
      frames_seen.splice(0, frames_seen.length - 50);
    });
  }
};
"""


def mouse(page: Page, kind: str, x: float, y: float) -> None:
    page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def check_strip(page: Page) -> None:
    page.wait(f"/^1 to \\d+ of 64$/.test({SIGHT})", "not all of 64 lanes are in sight", 20)
    left, top, width, height = page.value(PLOT)
    x, end = left + width - 9, top + height - 60
    mouse(page, "mouseMoved", x, end)
    page.wait("getComputedStyle(document.getElementById('plot')).cursor === 'ns-resize'", "the pointer says that the strip can be moved")
    mouse(page, "mousePressed", x, end)
    page.wait(f"/ to 64 of 64$/.test({SIGHT})", "a click at the end of the strip shows the last lanes", 20)
    expect(page.value("document.getElementById('pause').textContent === 'Pause'"), "and the traces go on")
    mouse(page, "mouseMoved", x, top + height / 2)
    page.wait(f"!/^1 to| to 64 of/.test({SIGHT})", "a drag to the middle shows those in the middle", 20)
    mouse(page, "mouseMoved", left + width / 2, top + 40)
    page.wait(f"/^1 to/.test({SIGHT})", "and on to the top the first ones, also beside the strip", 20)
    mouse(page, "mouseReleased", left + width / 2, top + 40)
    mouse(page, "mouseMoved", x, end)
    # The words come four times a second.
    page.value("new Promise(done => setTimeout(done, 600)).then(() => 0)")
    expect(page.value(f"/^1 to/.test({SIGHT})"), "a pointer that is not pressed moves nothing")


def check_reference(page: Page) -> None:
    """One channel is taken from all others, and it is said."""
    offered = page.value("[...document.getElementById('reference').options].map(option => option.textContent)")
    expect(offered[:3] == ["as sent", "common average", "bipolar"] and len(offered) == 3 + 64, "each channel is offered as a reference", offered[:6])
    page.value("document.getElementById('high-pass').value = '0'; document.getElementById('high-pass').dispatchEvent(new Event('change'))")
    page.value("document.getElementById('reference').focus()")
    for key in ("End", "Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"):
        page.press(key, key)
    name = page.value("document.getElementById('reference').selectedOptions[0].textContent")
    expect(name == "minus E2", "keys alone choose one", name)
    page.wait("document.getElementById('processing').textContent === 'Shown minus E2 (itself as sent); recorded as sent.'", "it is said beside the plot")
    shown = [message for message in map(json.loads, page.sent) if message["type"] == "show"][-1]
    expect(shown["reference"] == 1, "the second channel is subtracted", shown)

    def newest() -> list[float] | None:
        return page.value(f"frames_seen.findLast(frame => frame.generation >= {shown['generation']})?.values")

    values = wait_for(newest, "traces come with it", 20)
    # All channels of the sender have one wave, and each 10 more than the one before it.
    lows = values[::2]
    expect(len(lows) == 64 and all(low == 10 * (row - 1) for row, low in enumerate(lows) if row != 1), "the others have lost what it has", values)
    page.value("document.getElementById('reference').value = ''; document.getElementById('reference').dispatchEvent(new Event('change'))")
    page.wait("document.getElementById('processing').textContent === 'Shown as sent.'", "without it, it is said that traces are as sent")


def check_strip_and_reference() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, _), sender("Many", 64) as source:
        source.stdout.readline()
        page = Page()
        try:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=EAR)
            page.call("Page.navigate", url=url)
            page.wait("document.querySelectorAll('#streams .health.live').length === 2", "both streams are live", 30)
            check_strip(page)
            check_reference(page)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


if __name__ == "__main__":
    check_strip_and_reference()
