"""Hostile streams: names with HTML, no numbers, huge markers, a million events."""

import json
import pathlib
import re
import sys

from chromium import Page
from dash_lab import ENVIRONMENT, SESSION, STATE, dashboard, expect, running

NAME = "<img src=x onerror=\"window.caught = 1\"> & 'quotes'"
EVENTS = 1_000_000
LIVE = "[...document.querySelectorAll('#streams .stream')].find(row => row.querySelector('.name').textContent === {})"
# Each line on its standard input is an order; it says when it is done.
SENDER = f"""
import math, sys, threading, time
import pylsl
values = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0]
def outlet(name, content, channels, rate, format):
    return pylsl.StreamOutlet(pylsl.StreamInfo(name, content, channels, rate, format, "hostile-" + content))
edges = outlet({NAME!r}, "EEG", 7, 250, pylsl.cf_double64)
partly = outlet("Partly", "EEG", 4, 250, pylsl.cf_float32)
marks = outlet("<script>window.caught = 2</script>", "Markers", 1, 0, pylsl.cf_string)
def stream():
    number, start = 0, pylsl.local_clock()
    while True:
        # What a busy machine held up is sent later, with the times at which it was due.
        while number < 250 * (pylsl.local_clock() - start):
            number += 1
            due = start + number / 250
            edges.push_sample(values[number % 7:] + values[:number % 7], due)
            wave = [math.sin(number / (4 + channel)) for channel in range(4)]
            partly.push_sample([*wave[:2], math.nan, wave[3]], due)
        time.sleep(0.004)
threading.Thread(target=stream, daemon=True).start()
print("ready", flush=True)
for order in sys.stdin:
    if order == "huge\\n":
        for number in range(40):
            marks.push_sample(["<b onclick='window.caught = 3'>" + "x" * (1 << 20)])
    else:
        for first in range(0, {EVENTS}, 1000):
            marks.push_chunk([["event %d" % number] for number in range(first, first + 1000)])
    print("done", flush=True)
"""


def memory(pid: int) -> int:
    """What a process has in memory, in MB."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) >> 10


def heap(page: Page) -> int:
    """What the scripts of the page hold, in MB."""
    page.call("HeapProfiler.collectGarbage")
    return int(page.call("Runtime.getHeapUsage")["usedSize"]) >> 20


def order(sender, what: str) -> None:
    sender.stdin.write(f"{what}\n")
    sender.stdin.flush()
    expect(sender.stdout.readline() == "done\n", f"sent: {what}")


def check_partly(page: Page) -> None:
    """One channel of four has no numbers: the others are judged, and it is named."""
    page.value(f"{LIVE.format(json.dumps('Partly'))}.querySelector('.row').click(); document.body.focus()")
    page.press("a", "KeyA")
    quality = "document.getElementById('quality').textContent"
    page.wait(f"/3 of 4/.test({quality}) && /3: some values are no numbers/.test({quality})", "a channel without numbers is named, and the others are judged", 30)
    page.wait("document.querySelectorAll('#bands li').length === 5 && /mean of/.test(document.getElementById('spectrum-note').textContent)",
              "and have a spectrum", 30)
    expect(True, "a channel without numbers takes nothing from the others")
    page.press("a", "KeyA")


def check_hostile_streams() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, process), running(sys.executable, "-c", SENDER, env=ENVIRONMENT) as sender:
        expect(sender.stdout.readline() == "ready\n", "a sender of the original library is there")
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            row = LIVE.format(json.dumps(NAME))
            # Its sender sleeps a while after each sample, so that its rate may not be quite what it says.
            comes = f"['live', 'not well'].includes({row}?.querySelector('.health').textContent)"
            page.wait(comes, "a name with HTML is shown as text", 60)
            expect(True, "a name with HTML is shown as text")
            page.value(f"{row}.querySelector('.row').click(); document.getElementById('events').open = true")
            page.wait("document.getElementById('plot').checkVisibility() && !document.getElementById('plot-note').checkVisibility()", "what is no number is shown, too", 30)
            check_partly(page)
            page.value(f"{row}.querySelector('.row').click()")
            before, held = memory(process.pid), heap(page)
            order(sender, "huge")
            page.wait("/onclick/.test(document.getElementById('event-list').textContent)", "a marker of 1 MB is in the list", 60)
            longest = page.value("Math.max(...[...document.querySelectorAll('#event-list span')].map(span => span.textContent.length))")
            expect(longest <= 200, "cut to what a person reads", longest)
            order(sender, "million")
            page.value("document.activeElement?.blur()")
            page.wait(f"document.getElementById('event-list').textContent.includes('event {EVENTS - 1}')", "of a million events the newest are in the list", 120)
            count = page.value("document.querySelectorAll('#event-list li').length")
            expect(count <= 50, "and not all of them", count)
            grown = memory(process.pid) - before, heap(page) - held
            expect(grown[0] < 120 and grown[1] < 30, "neither the program nor the page grows by them", f"{grown} MB")
            print(f"   program +{grown[0]} MB, page +{grown[1]} MB after 40 MB of markers and {EVENTS:,} events")
            expect(page.value(comes), "the other stream comes all the time")
            expect(page.value("window.caught === undefined && !document.querySelector('main img, main script, main b')"), "and nothing of it ran")
            page.screenshot(STATE / "dash-hostile.png")
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


if __name__ == "__main__":
    check_hostile_streams()
