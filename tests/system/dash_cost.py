"""What the dashboard costs: processor time of page, browser and program, for 64 channels and for a hundred streams.

Usage: dash_cost.py <folder of the program> <folder for the pictures> [seconds] [profile]

Figures are of this machine at this moment. SCHWANN_DASH_COST=1 holds them against those of the notebook, with room for another machine.
"""

import collections
import os
import pathlib
import sys
import time

from chromium import Page
from dash_lab import SESSION, dashboard, expect, fakes

SECONDS = float(next((word for word in sys.argv[3:] if word.replace(".", "").isdigit()), 20))
TICKS = os.sysconf("SC_CLK_TCK")
LIVE = "document.querySelectorAll('#streams .health.live').length"
# Counted after the cost was measured, because to count costs something, too.
COUNT = ("new Promise(done => { let drawn = 0; const begun = performance.now(); const step = now => { drawn += 1;"
         " if (now - begun < 3000) requestAnimationFrame(step); else done(drawn / (now - begun) * 1000); }; requestAnimationFrame(step); })")
# How long a click takes until its line is the chosen one and a picture with it was made; at the place and time of a real click.
CLICK = """new Promise(done => addEventListener("pointerdown", event => {
  const row = event.target.closest(".stream"), look = () => row.classList.contains("chosen")
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - event.timeStamp))) : setTimeout(look);
  look();
}, { once: true, capture: true }))"""
# Processor time in percent of a core, on an idle machine with room for another one.
MOST = {"64 channels": {"browser": 30, "page": 15, "program": 6}, "100 streams": {"page": 30}}
MOST_CLICK = 100         # ms


def tree(pid: int) -> set[int]:
    """A process and all that it started."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    mine = {pid}
    while more := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return mine


def spent(pids: set[int]) -> dict[tuple[int, str, str], float]:
    """Seconds of the processor by process, thread and its name."""
    found = {}
    for path in (path for pid in pids for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")):
        try:
            text = path.read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        found[int(path.parts[2]), path.parts[4], text[text.index("(") + 1:text.rindex(")")]] = (int(fields[11]) + int(fields[12])) / TICKS
    return found


def switches(pid: int) -> int:
    """How often the threads of a process have gone to sleep."""
    return sum(int(line.split()[1]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status")
               for line in path.read_text().splitlines() if line.startswith("voluntary_ctxt_switches"))


def measure(page: Page, program: int) -> collections.Counter:
    """Percent of a core of the browser, of its page's main thread and of the program, over some seconds; and frames per second."""
    before, slept, then = spent(tree(page.browser.pid) | {program}), switches(program), time.monotonic()
    time.sleep(SECONDS)
    after, seconds, woken = spent(tree(page.browser.pid) | {program}), time.monotonic() - then, switches(program) - slept
    costs, threads = collections.Counter(), collections.Counter()
    for key, value in after.items():
        percent = (value - before.get(key, 0)) / seconds * 100
        costs["program" if key[0] == program else "browser"] += percent
        # Chromium calls the process of a page so, and its main thread by the same name.
        costs["page"] += percent if key[2] == "chromium" and key[0] != page.browser.pid and str(key[0]) == key[1] and is_page(key[0]) else 0
        threads[key[2], key[0] == program] += percent
    costs["frames"], costs["wake-ups"] = page.value(COUNT), woken / seconds
    print("   " + ", ".join(f"{what} {value:.1f}" for what, value in costs.items()) + f"; load {os.getloadavg()[0]:.1f}")
    print("   " + ", ".join(f"{'program: ' if is_own else ''}{name} {value:.1f}" for (name, is_own), value in threads.most_common(14)))
    return costs


def is_page(pid: int) -> bool:
    return b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


def hold(costs: dict, what: str) -> None:
    for kind, most in MOST[what].items():
        print(f"   {what}: {kind} {costs[kind]:.1f} % of a core")
        if os.environ.get("SCHWANN_DASH_COST"):
            expect(costs[kind] <= most, f"{what}: {kind} costs no more than {most} % of a core", costs[kind])


def profile(page: Page) -> None:
    """Where the page's own time goes."""
    page.call("Profiler.enable")
    page.call("Profiler.setSamplingInterval", interval=500)
    page.call("Profiler.start")
    time.sleep(SECONDS)
    found = page.call("Profiler.stop")["profile"]
    nodes, own = {node["id"]: node["callFrame"] for node in found["nodes"]}, collections.Counter()
    for node, took in zip(found["samples"], found["timeDeltas"]):
        frame = nodes[node]
        own[f"{frame['functionName'] or 'nameless'} {frame['url'].split('/')[-1]}:{frame['lineNumber'] + 1}"] += took
    for name, took in own.most_common(25):
        print(f"   {took / sum(found['timeDeltas']) * 100:5.2f} % {name}")


def open_page(url: str) -> Page:
    page = Page()
    page.call("Page.navigate", url=url)
    return page


def quieten(page: Page) -> None:
    """What listens to a page costs it time."""
    for domain in ("Network", "Log", "Accessibility"):
        page.call(f"{domain}.disable")


def check_64_channels() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, process), fakes("eeg:64@1000"):
        page = open_page(url)
        try:
            page.wait("/64 channels/.test(document.getElementById('plot')?.getAttribute('aria-label')) && document.getElementById('scale').textContent", "64 channels are shown")
            quieten(page)
            time.sleep(12)
            hold(measure(page, process.pid), "64 channels")
            if "profile" in sys.argv:
                profile(page)
        finally:
            page.close()


def check_100_streams() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, process), fakes(*[f"counter:1@{50 + number}" for number in range(100)]):
        page = open_page(url)
        try:
            page.wait(f"{LIVE} >= 100", "a hundred streams are live", 120)
            quieten(page)
            time.sleep(5)
            hold(measure(page, process.pid), "100 streams")
            if "profile" in sys.argv:
                profile(page)
            took = sorted(click(page) for _ in range(9))
            print(f"   a click is answered in {took[4]:.0f} ms (median of nine, {took[0]:.0f} to {took[-1]:.0f})")
            if os.environ.get("SCHWANN_DASH_COST"):
                expect(took[4] <= MOST_CLICK, f"in no more than {MOST_CLICK} ms", took)
        finally:
            page.close()


def click(page: Page) -> float:
    """Clicks at a line that is not chosen; milliseconds until it is, and drawn so."""
    x, y = page.value("(() => { const lines = [...document.querySelectorAll('#streams .stream:not(.chosen)')]"
                      ".map(line => [line, line.querySelector('.name').getBoundingClientRect()]).filter(([line, { left, top }]) => document.elementFromPoint(left + 10, top + 8)?.closest('.stream') === line);"
                      " const [, { left, top }] = lines[Math.floor(Math.random() * lines.length)]; return [left + 10, top + 8]; })()")
    page.value(f"window.answer = {CLICK}; 0")
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    return page.value("answer")


def check_cost() -> None:
    check_64_channels()
    check_100_streams()


if __name__ == "__main__":
    check_cost()
