"""A page that stays open: neither it nor its program grows, whatever hands do meanwhile.

Half a minute by default; SCHWANN_DASH_MINUTES=30 says how long.
"""

import os
import pathlib
import re
import time

from chromium import Page
from dash_lab import SESSION, dashboard, expect, fakes

MINUTES = float(os.environ.get("SCHWANN_DASH_MINUTES", "0.5"))
CHANNELS, RATE = 64, 1000
KEPT_SECONDS = 600                     # what the program keeps of a stream, at most
KEPT_PER_SECOND = RATE * (4 * CHANNELS + 8)
SETTLE = 15                            # seconds until views, names and caches are there
# What may be more at the end than at the beginning: noise of allocators, and holes between blocks while ten minutes of them come.
MOST = {"heap": 8e6, "nodes": 500, "listeners": 50, "renderer": 80e6, "program": 100e6}
# In the last third all is full. A program that goes on to grow then has a leak.
MOST_AT_LAST = 15e6


def resident(pid: int) -> int:
    """Memory of a process, in bytes."""
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def renderer_of(page: Page) -> int:
    """The process that has the page: the largest of those below the browser that draw pages."""
    parents = {int(path.parent.name): int(path.read_text().rpartition(")")[2].split()[1]) for path in pathlib.Path("/proc").glob("[0-9]*/stat") if path.exists()}
    mine = {page.browser.pid}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return max((pid for pid in mine if b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()), key=resident)


def let_run(page: Page, seconds: float) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        page.value(f"new Promise(done => setTimeout(done, {1000 * min(left, 5)})).then(() => 0)")


def measure(page: Page, renderer: int, program: int, age: float) -> dict[str, float]:
    page.call("HeapProfiler.collectGarbage")
    counters = page.call("Memory.getDOMCounters")
    # What is kept to look back at is bounded, and no leak.
    kept = KEPT_PER_SECOND * min(age, KEPT_SECONDS)
    return {"heap": page.call("Runtime.getHeapUsage")["usedSize"], "nodes": counters["nodes"], "listeners": counters["jsEventListeners"],
            "renderer": resident(renderer), "program": resident(program) - kept}


def use(page: Page) -> None:
    """What people do: other layouts, times and scales, a marker, the dialog of channels."""
    for key in ("b", "s", "[", "]", "+", "-", "a", "ArrowLeft", "ArrowLeft", "End", "a", "m"):
        page.press(key, key if len(key) > 1 else "")
    page.press("c")
    page.value("document.getElementById('channel-dialog').close()")
    page.value("document.activeElement.blur()")


def check_long() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, process), fakes(f"eeg:{CHANNELS}@{RATE}", "eeg:8@250"):
        begun, page = time.monotonic(), Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait("/64/.test(document.getElementById('view-title')?.textContent)", "64 channels are shown", 30)
            for domain in ("Network", "Log", "Accessibility"):
                page.call(f"{domain}.disable")
            let_run(page, SETTLE)
            use(page)
            renderer, seen, until = renderer_of(page), [], begun + 60 * MINUTES
            while time.monotonic() < until or len(seen) < 2:
                seen.append(measure(page, renderer, process.pid, time.monotonic() - begun))
                print(f"   {(time.monotonic() - begun) / 60:5.1f} min: " + ", ".join(
                    f"{name} {value / 1e6:.1f} MB" if value > 1e5 else f"{value:.0f} {name}" for name, value in seen[-1].items()), flush=True)
                let_run(page, min(60, max(5, 15 * MINUTES)))
                use(page)
            seen.append(measure(page, renderer, process.pid, time.monotonic() - begun))
            for name, most in MOST.items():
                grown = seen[-1][name] - seen[0][name]
                expect(grown < most, f"in {(time.monotonic() - begun) / 60:.1f} minutes growth of {name} is within its bound", f"{grown:.0f}")
            late = seen[-1]["program"] - seen[2 * len(seen) // 3]["program"]
            expect(late < MOST_AT_LAST or 60 * MINUTES < 2 * KEPT_SECONDS, "and in the last third the program does not grow", f"by {late:.0f}")
            page.wait("document.querySelectorAll('#streams .health.live').length >= 3 && document.getElementById('plot-note').hidden", "and all goes on")
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


if __name__ == "__main__":
    check_long()
