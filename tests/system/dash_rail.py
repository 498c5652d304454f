"""The list of streams: which one is shown first, its order, its hosts, long names, small pictures, locks."""

import contextlib
import os

from chromium import Page, wait_for
from dash_lab import PROGRAMS, SESSION, STATE, dashboard, expect, fakes, running, sender
from dash_web import Program, api

LONG = "A name that no row shows to its end " * 6
NAMES = "[...document.querySelectorAll('#streams .stream .name')].map(name => name.textContent.replace(/ #\\d$/, ''))"
SORT = "Object.assign(document.getElementById('sort'), {{ value: '{}' }}).dispatchEvent(new Event('change'))"


def elsewhere(name: str):
    """A sender on a computer of another name, where this user may make one."""
    program = [str(PROGRAMS / "examples" / "send_lab"), name, "2", "100"]
    return running("unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$@"', "sh", *program)


def is_live(url: str, count: int) -> bool:
    return sum(stream["health"] == "live" for stream in api(url, "streams")[1]["streams"]) == count


def check_first() -> None:
    """What people measure is shown before what runs beside it, although that came first and has more data."""
    with dashboard("--no-browser", "--session", SESSION) as (url, _), contextlib.ExitStack() as stack:
        program = Program(url)
        for outlet, name, content in ((1, "Room", "Audio"), (2, LONG, "Misc")):
            program.ask("opened", type="outlet", outlet=outlet, name=name, content=content, channels=2, rate=0, format="float32", source=name[:5], request=outlet)
        def are_live(count: int) -> bool:
            for outlet in (1, 2):
                program.socket.send('{"type":"push","outlet":%d,"samples":[[1,2],[3,4]]}' % outlet)
            return is_live(url, count)
        wait_for(lambda: are_live(2), "audio is live", 40)
        stack.enter_context(sender("Cap", 2, 100)).stdout.readline()
        wait_for(lambda: are_live(4), "and then EEG", 40)
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait("/^Cap/.test(document.getElementById('view-title')?.textContent)", "EEG is shown before audio", 20)
            check_long_name(page)
            page.wait("[...document.querySelectorAll('#streams .stream')].find(row => /^Cap$/.test(row.querySelector('.name').textContent)).querySelector('.spark path').getAttribute('d')?.length > 100",
                      "a line has a small picture of its stream", 20)
            page.wait("/4 plain/.test(document.getElementById('locks').textContent)", "the status line tells the locks")
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()
            program.socket.close()


def check_long_name(page: Page) -> None:
    row = f"[...document.querySelectorAll('#streams .stream')].find(row => row.querySelector('.name').textContent.startsWith({LONG[:30]!r}))"
    cut, title = page.value(f"(row => [row.querySelector('.name').scrollWidth > row.querySelector('.name').clientWidth, row.querySelector('.row').title])({row})")
    expect(cut and LONG.strip() in title, "a long name is cut, and whole in the tooltip", (cut, title))
    expect(page.value("document.documentElement.scrollWidth <= innerWidth"), "and makes the page no wider")


def check_order() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, _), fakes("counter:1@50", "counter:3@400"), sender("Zeta", 2, 100) as zeta:
        zeta.stdout.readline()
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            page.wait("document.querySelectorAll('#streams .health.live').length === 4", "four streams are live", 40)
            page.value(SORT.format("name"))
            expect(page.value(NAMES) == ["Fake counter:1@50", "Fake counter:3@400", "Zeta", "ZetaMarkers"], "streams are sorted by name", page.value(NAMES))
            page.value(SORT.format("rate"))
            expect(page.value(NAMES)[:3] == ["Fake counter:3@400", "Zeta", "Fake counter:1@50"], "by their data", page.value(NAMES))
            zeta.kill()
            page.wait("/2 gone/.test(document.getElementById('summary').textContent)", "two are gone", 30)
            page.value(SORT.format("trouble"))
            page.wait(f"{NAMES}.slice(0, 2).sort().join() === 'Zeta,ZetaMarkers'", "and those in trouble first")
            if os.geteuid() == 0:
                check_hosts(page)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


def check_hosts(page: Page) -> None:
    with elsewhere("Far") as far:
        far.stdout.readline()
        page.wait("[...document.querySelectorAll('#streams .host')].some(host => host.textContent === 'elsewhere')", "streams of two computers are in groups", 30)
        below = ("(lines => lines.slice(lines.findIndex(line => line.textContent === 'elsewhere') + 1).slice(0, 2)"
                 ".map(line => line.querySelector('.name')?.textContent))([...document.querySelectorAll('#streams > li')])")
        page.wait(f"{below}.sort().join() === 'Far,FarMarkers'", "each below the name of its computer", 30)
        page.screenshot(STATE / "dash-hosts.png")


def check_rail() -> None:
    check_first()
    check_order()


if __name__ == "__main__":
    check_rail()
