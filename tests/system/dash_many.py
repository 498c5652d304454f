"""A thousand streams: all are listed, some are received, and the page stays quick."""

import contextlib
import pathlib
import socket
import threading
import time

from chromium import Page, wait_for
from dash_axe import check_axe_rules
from dash_lab import SESSION, STATE, dashboard, expect, fakes
from dash_web import api

COUNT, RECEIVED, LISTED = 1000, 200, 2000
SUMMARY = "document.getElementById('summary').textContent.replace(/\\s/g, '')"
INFO = ('<?xml version="1.0"?><info><name>Far {number}</name><type>EEG</type><channel_count>1</channel_count><channel_format>float32</channel_format>'
        "<source_id>far-{number}</source_id><nominal_srate>100</nominal_srate><version>1.10</version><created_at>1.0</created_at>"
        "<uid>11111111-2222-4333-8444-{number:012}</uid><session_id>{session}</session_id><hostname>far</hostname><v4address>127.0.0.1</v4address>"
        "<v4data_port>9</v4data_port><v4service_port>9</v4service_port><v6address></v6address><v6data_port>0</v6data_port>"
        "<v6service_port>0</v6service_port><desc></desc></info>")
SHOWN = "document.querySelectorAll('#streams .stream').length"


def processor_seconds(page: Page) -> float:
    """What the main thread of the page has used."""
    return next(metric["value"] for metric in page.call("Performance.getMetrics")["metrics"] if metric["name"] == "TaskDuration")


def find(page: Page, text: str) -> None:
    page.value(f"Object.assign(document.getElementById('search'), {{ value: {text!r} }}).dispatchEvent(new Event('input'))")


def check_thousand() -> None:
    # The name of each tells its rate; none is the beginning of another.
    rates = [f"{1000 + number}" for number in range(COUNT)]
    with dashboard("--no-browser", "--session", SESSION) as (url, process), fakes(*[f"counter:1@{rate[0]}.{rate[1:]}" for rate in rates]):
        page = Page()
        try:
            page.call("Performance.setTimeDomain", timeDomain="threadTicks")
            page.call("Performance.enable")
            page.call("Page.navigate", url=url)
            page.wait(f"document.getElementById('summary') && {SUMMARY}.startsWith('{COUNT}streams')", f"{COUNT} streams are listed", 120)
            expect(True, f"{COUNT} streams are listed")
            threads = lambda: len(list(pathlib.Path(f"/proc/{process.pid}/task").iterdir()))
            expect(threads() < 5 * RECEIVED, "but most of them take no thread", threads())
            shown = page.value(SHOWN)
            expect(0 < shown < 200, "the page holds only the lines in sight, and near it", shown)
            page.value("document.getElementById('streams').scrollTop = 1e9")
            page.wait("document.querySelector('#streams .stream:last-of-type, #streams li:nth-last-child(2)').getAttribute('aria-posinset') === '1000'", "the last one is reached")
            check_axe_rules(page, "a thousand streams")
            before, begun = processor_seconds(page), time.monotonic()
            page.value("new Promise(done => setTimeout(done, 4000)).then(() => 0)")
            print(f"   main thread beside {COUNT} streams: {(processor_seconds(page) - before) / (time.monotonic() - begun):.0%} of a processor")
            # One that is found and not received.
            listed = "[...document.querySelectorAll('#streams .stream')].find(row => row.querySelector('.health').textContent === 'listed')"
            # In one step: the page paints its lines anew whenever something is told of them.
            page.wait(f"Boolean(window.chosen = {listed}) && (chosen.querySelector('.row').click(), true)", "some are listed alone, and one is chosen")
            page.wait("chosen.classList.contains('chosen')", "a click is answered")
            page.wait("['live', 'silent', 'not well'].includes(chosen.querySelector('.health').textContent)", "and the stream is received then", 60)
            page.value("chosen.querySelector('.row').focus()")
            place = int(page.value("chosen.getAttribute('aria-posinset')"))
            for _ in range(60):
                page.press("ArrowUp", "ArrowUp")
            reached = page.value("document.activeElement.closest('.stream')?.getAttribute('aria-posinset')")
            expect(reached == str(place - 60), "the arrow keys go on beyond what is in sight", (place, reached))
            name = "Fake counter:1@1.501"
            find(page, name)
            page.wait(f"{SHOWN} === 1 && document.querySelector('#streams .name').textContent.startsWith({name!r})", "a search finds one of them")
            page.screenshot(STATE / "dash-thousand.png")
            find(page, "")
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


def answer_for(count: int, until: threading.Event, info: str = INFO) -> None:
    """Answers every search as that many streams would, whose outlets are not there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as service:
        service.bind(("127.0.0.1", 16571))
        service.settimeout(0.2)
        while not until.is_set():
            with contextlib.suppress(TimeoutError):
                datagram, (host, _) = service.recvfrom(2048)
                lines = datagram.decode().split("\r\n")
                if lines[0] == "LSL:shortinfo":
                    port, identity = lines[2].split()
                    for number in range(count):
                        service.sendto(f"{identity}\r\n{info.format(number=number, session=SESSION)}".encode(), (host, int(port)))
                        time.sleep(0.0002)


def check_beyond() -> None:
    """What the list has no room for is counted, and all is not called well."""
    over = threading.Event()
    answers = threading.Thread(target=answer_for, args=(LISTED + 50, over))
    answers.start()
    try:
        with dashboard("--no-browser", "--session", SESSION) as (url, _):
            found = lambda: (told := api(url, "streams")[1]) and (len(told["streams"]), told["unlisted"]) == (LISTED, 50)
            wait_for(found, f"{LISTED} streams are listed, and 50 more are counted", 120)
            page = Page()
            try:
                page.call("Page.navigate", url=url)
                page.wait(f"document.getElementById('summary') && /50morenotlisted/.test({SUMMARY})", "the page says so", 60)
                expect(True, f"of {LISTED + 50} streams the page lists {LISTED}, and says that there are 50 more")
            finally:
                page.close()
    finally:
        over.set()
        answers.join()


if __name__ == "__main__":
    check_thousand()
    check_beyond()
