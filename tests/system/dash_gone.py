"""Streams that are gone: what the dashboard still holds of them, and how they leave the list."""

import os
import pathlib
import re

from chromium import Page, wait_for
from dash_axe import check_axe_rules
from dash_lab import SESSION, STATE, dashboard, expect, fakes

COUNT = 40


def sockets(pid: int) -> list[str]:
    """Inodes of the sockets that a process holds."""
    links = []
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(path))
        except OSError:
            continue
    return [link for link in links if link.startswith("socket:")]


def service_ports(pid: int) -> list[int]:
    """Ports of the service range (16572 to 16603) that a process holds."""
    held = set(re.findall(r"\d+", " ".join(sockets(pid))))
    ports = []
    for name in ("udp", "udp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            columns = line.split()
            port = int(columns[1].rpartition(":")[2], 16)
            if columns[9] in held and 16572 <= port < 16604:
                ports.append(port)
    return ports


def threads(pid: int) -> int:
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


def check_gone() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, process):
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait("document.getElementById('empty')?.checkVisibility()", "the page waits for streams", 20)
            idle = len(sockets(process.pid)), threads(process.pid)
            rows = "[...document.querySelectorAll('#streams .stream')].filter(row => row.checkVisibility())"
            with fakes(*[f"counter:1@{100 + number}" for number in range(COUNT)]):
                page.wait(f"{rows}.filter(row => row.querySelector('.health').textContent === 'live').length === {COUNT}", f"{COUNT} streams are live", 60)
                page.wait("document.getElementById('plot').checkVisibility()", "one of them is shown")
            page.wait(f"/{COUNT} gone/.test(document.querySelector('#summary strong')?.innerText)", "the summary counts them in red", 30)
            expect(page.value("/^■/.test(document.title)"), "and so does the title of the tab", page.value("document.title"))
            # Free at once, not only when all is folded: a new outlet needs a port of the range.
            wait_for(lambda: len(service_ports(process.pid)) <= 1, "their ports are free")
            wait_for(lambda: len(sockets(process.pid)) <= idle[0] + 2, f"their sockets are closed: {sockets(process.pid)}")
            wait_for(lambda: threads(process.pid) <= idle[1] + 2, "their threads have ended", 20)
            expect(True, f"{COUNT} gone streams hold no socket, no port and no thread")
            page.wait(f"{rows}.length <= 1", "all but the stream that is shown are folded away", 40)
            fold = "document.querySelector('#gone-fold button')"
            expect(f"{COUNT - 1} gone streams" in page.value("document.getElementById('gone-fold').innerText"), "one line counts them")
            page.screenshot(STATE / "dash-gone.png")
            page.value("document.getElementById('summary').click()")
            page.wait("document.querySelector('#streams .chosen')?.classList.contains('stopped-row') && document.getElementById('unfold').ariaExpanded === 'true'",
                      "a click on the summary finds them behind it")
            page.value(f"{fold}.click()")
            page.wait(f"{rows}.length <= 1", "and it folds again")
            page.value(f"{fold}.click()")
            page.wait(f"{rows}.length === {COUNT}", "it unfolds them")
            check_axe_rules(page, "gone streams, unfolded")
            page.value("document.querySelector('.gone .row').click()")
            page.wait("document.getElementById('dismiss').checkVisibility()", "details of a gone stream offer to dismiss it")
            page.value("document.getElementById('dismiss').click()")
            page.wait(f"{rows}.length === {COUNT - 1}", "one is dismissed")
            page.value("document.getElementById('dismiss-all').click()")
            page.wait(f"{rows}.length === 0 && !document.querySelector('#summary strong')", "all are dismissed, and nothing is red")
            expect(not page.value("/■/.test(document.title)"), "nor is the title")
            with fakes("counter:1@100"):
                page.wait(f"{rows}.length === 1 && {rows}[0].querySelector('.health').textContent === 'live'", "a stream that comes back is listed anew", 20)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


if __name__ == "__main__":
    check_gone()
