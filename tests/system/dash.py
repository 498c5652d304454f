"""Opens the dashboard in Chromium, and knocks at its door as others would.

Usage: dash.py <folder of the program> <folder for the screenshots> [<axe.min.js>]
"""

import hashlib
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import time

import websocket
from chromium import Page, wait_for
from dash_axe import check_axe_rules
from dash_calm import check_calm
from dash_code import check_code
from dash_door import check_other_user, check_strangers, check_token, enter
from dash_gone import check_gone
from dash_hands import check_hands
from dash_hidden import check_hidden
from dash_hook import check_hook
from dash_hostile import check_hostile_streams
from dash_lab import AXE, CONFIGURATION, PROGRAMS, SESSION, STATE, dashboard, expect, origin_of, port_of, running, sender
from dash_lan import check_lan
from dash_limits import check_limits
from dash_looks import check_dash_looks
from dash_many import check_beyond, check_thousand
from dash_others import check_others
from dash_phone import check_phone
from dash_rail import check_rail
from dash_record import check_record
from dash_record_kept import check_record_kept
from dash_recording import check_overview, check_recording
from dash_strip import check_strip_and_reference
from dash_truth import check_truth
from dash_types import check_types
from dash_unreceived import check_unreceived
from dash_web import check_web
from dash_words import check_words


ROWS = "document.querySelectorAll('#streams .stream')"
SIGNAL = f"[...{ROWS}].find(row => row.querySelector('.name').textContent === 'Lab')"
ALL_LIVE = f"{ROWS}.length > 0 && [...document.querySelectorAll('#streams .health')].every(cell => cell.textContent === 'live')"


def picture(page: Page) -> str:
    return hashlib.sha256(page.value("document.getElementById('plot').toDataURL()").encode()).hexdigest()


def stands_still(page: Page) -> bool:
    before = picture(page)
    time.sleep(0.5)
    return picture(page) == before


def check_page(page: Page, url: str, source: subprocess.Popen) -> None:
    page.call("Page.navigate", url=origin_of(url))
    page.wait("/This dashboard is locked/.test(document.body?.innerText)", "a bare address says what to do")
    check_axe_rules(page, "locked page")
    page.screenshot(STATE / "dash-locked.png")
    page.problems.clear()
    page.call("Page.navigate", url=url)
    page.wait("location.search === '' && location.hash === ''", "the token leaves the address")
    page.wait(f"{ROWS}.length === 2", "both streams are listed", 20)
    page.wait(ALL_LIVE, "both are live")
    page.wait(f"{SIGNAL}.classList.contains('chosen')", "the signal is chosen by itself")
    said = page.value("document.getElementById('details').innerText")
    expect(all(word in said for word in ("8 channels", "plain", "250.0 Hz")), "its details say what it is, and that it is plain", said)
    page.wait("/^\\d\\d:\\d\\d:\\d\\d$/.test(document.getElementById('wall').textContent)", "the page tells the time of day")
    page.wait("/µV/.test(document.getElementById('scale').textContent)", "the scale has fitted itself, with the unit of the stream")
    first = picture(page)
    wait_for(lambda: picture(page) != first, "traces move")
    expect(True, "traces move")
    page.value("document.getElementById('events').open = true")
    page.wait("document.querySelectorAll('#event-list li').length > 0", "markers are listed")
    expect("event " in page.value("document.getElementById('event-list').textContent"), "markers are listed by their text")


def check_keys(page: Page) -> None:
    page.value("document.body.focus()")
    page.press("b", "KeyB")
    expect(page.value("document.querySelector('input[value=butterfly]').checked"), "B chooses butterfly")
    page.press("s", "KeyS")
    # A scale that was never chosen fits itself, perhaps just now.
    page.press("+")
    scale = page.value("document.getElementById('scale').textContent")
    page.press("+")
    expect(page.value("document.getElementById('scale').textContent") != scale, "+ changes the scale", scale)
    page.press("f", "KeyF")
    page.press("c", "KeyC")
    expect(page.value("document.getElementById('channel-dialog').open"), "C opens the channels")
    page.value("document.getElementById('channel-none').click()")
    page.value("document.querySelector('#channel-list input').click()")
    page.value("document.querySelector('#channel-dialog button.primary').click()")
    page.wait("document.getElementById('channels').textContent.includes('1 of 8')", "one channel is shown")
    page.value("document.activeElement.blur()")
    page.press(" ", "Space")
    expect(page.value("document.getElementById('pause').getAttribute('aria-pressed')") == "true", "Space pauses")
    # What was asked for of the past, and what is found of the channels, may come a moment later.
    wait_for(lambda: stands_still(page), "a paused picture stands still")
    still = picture(page)
    page.press(" ", "Space")
    wait_for(lambda: picture(page) != still, "it goes on")
    page.value("document.querySelector('#streams .row').focus()")
    page.press("ArrowDown", "ArrowDown")
    expect(page.value("document.activeElement === document.querySelectorAll('#streams .row')[1]"), "↓ goes to the next stream")
    focused = "document.activeElement.matches(':focus-visible')"
    expect(page.value(focused), "and the focus is seen")


def check_reader(page: Page) -> None:
    """What a screen reader gets."""
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    seen = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored")]
    nameless = [role for role, name in seen if role in ("button", "combobox", "radio", "checkbox", "img", "dialog") and not name]
    expect(not nameless, "everything that can be used has a name", nameless)
    roles = [role for role, _ in seen]
    expect("list" in roles and any(role == "button" and "live" in name and "Lab" in name for role, name in seen),
           "a line of the list is one button that says the state and the name")
    expect("status" in roles, "there is a live region")


def rgb(page: Page, element: str) -> list[int]:
    """The colour of the words of an element."""
    return [int(part) for part in re.findall(r"\d+", page.value(f"getComputedStyle({element}).color"))[:3]]


def is_red(color: list[int]) -> bool:
    return color[0] > 150 and max(color[1:]) < 90


def check_gap_and_stop(page: Page, source: subprocess.Popen, url: str) -> None:
    page.value("window.announced = []; new MutationObserver(() => announced.push(document.getElementById('announcer').textContent))"
               ".observe(document.getElementById('announcer'), { childList: true, characterData: true, subtree: true })")
    source.stdin.write("miss\n")
    source.stdin.flush()
    page.wait("/^1\\s*2\\d\\d samples/.test(document.querySelector('dd[data-of=gaps]').innerText)", "a missing second is a gap of about 250 samples")
    expect(True, "a missing second is a gap of about 250 samples")
    page.wait(f"{SIGNAL}.querySelector('.rate').textContent === '1 gap'", "its line says so")
    red = rgb(page, f"{SIGNAL}.querySelector('.rate')")
    expect(is_red(red), "in red", red)
    expect(page.value("/1 with gaps/.test(document.querySelector('#summary strong').innerText) && /■.*with gaps/.test(document.title)"), "as do the summary and the title")
    page.value("[...document.querySelectorAll('#streams .row')].find(row => /Markers/.test(row.innerText)).click()")
    page.wait(f"!{SIGNAL}.classList.contains('chosen')", "another stream is chosen")
    page.value("document.getElementById('summary').click()")
    page.wait(f"{SIGNAL}.classList.contains('chosen')", "a click on the summary goes to the stream with the gap")
    source.kill()
    page.wait(f"{SIGNAL}.querySelector('.health').textContent === 'stopped'", "a killed sender is stopped", 20)
    red = rgb(page, f"{SIGNAL}.querySelector('.health')")
    expect(is_red(red), "a stopped stream is red, and says so in a word", red)
    expect(page.value(f"{SIGNAL}.querySelector('.health rect') !== null"), "and by its shape")
    expect(any("stopped" in text for text in page.value("announced")), "and it is announced")
    expect("2 gone" in page.value("document.getElementById('summary').textContent"), "the summary counts it")
    expect("has stopped" in page.value("document.getElementById('plot-note').textContent"), "the traces say it")


def check_return(page: Page) -> None:
    page.wait(ALL_LIVE, "a stream that comes back is live again", 25)
    expect(page.value(f"{ROWS}.length") == 2, "a stream that comes back is in its old row")


def connect(url: str, **options) -> websocket.WebSocket:
    """A live connection as a page makes it."""
    cookie = enter(port_of(url), url.partition("?")[2]).strip().partition(": ")[2]
    origin = origin_of(url)
    return websocket.create_connection(origin.replace("http", "ws") + "/live", origin=origin, cookie=cookie, timeout=10, **options)


def check_slow_browser(url: str, process: subprocess.Popen) -> None:
    """A browser that takes nothing must cost neither memory nor the others' pictures."""
    def view(buffer: int | None):
        options = [(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)] if buffer else []
        live = connect(url, sockopt=options)
        while (message := json.loads(live.recv()))["type"] != "streams" or not message["streams"]:
            pass
        stream = next(stream for stream in message["streams"] if stream["kind"] == "signal")
        live.send(json.dumps({"type": "show", "generation": 7, "stream": stream["id"], "columns": 4096, "window": 1}))
        return live

    def memory() -> int:
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1])

    slow = [view(4096) for _ in range(4)]
    quick = view(None)
    before, until, frames, newest = memory(), time.monotonic() + 4, 0, 0.0
    while time.monotonic() < until:
        message = quick.recv()
        if isinstance(message, bytes):
            generation, channels, columns, _, now = struct.unpack_from("<IIIId", message)
            expect((generation, channels) == (7, 8), "frames are of the view that was asked for") if not frames else None
            frames, newest = frames + 1, now
    expect(frames > 20, "beside four browsers that read nothing a fifth gets its frames", frames)
    grown = memory() - before
    expect(grown < 20_000, "and the memory does not grow", f"{grown} KiB")
    for live in [*slow, quick]:
        live.close()


def check_focus(page: Page) -> None:
    """The Tab key goes through everything that can be used, in the order in which it is seen."""
    # From the beginning of the page, not from where the focus was before.
    page.value("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    seen = []
    for _ in range(60):
        page.press("Tab", "Tab")
        found = page.value("(e => [e.id || e.name || e.className || e.tagName,"
                           " e.matches(':focus-visible')])(document.activeElement)")
        if found[0] == "BODY" or found[0] in seen[:1]:
            break
        seen.append(found[0])
        if not found[1]:
            expect(False, f"the focus on {found[0]} is seen")
    wanted = ["skip", "record", "mark", "mark-keys", "theme", "help", "search", "sort", "row", "layout", "smaller", "larger", "fit", "window", "channels", "analyse", "pause", "high-pass", "low-pass", "notch", "reference", "layout", "plot"]
    rest = iter(seen)
    expect(all(name in rest for name in wanted), "Tab goes through everything in its order", seen)


def check_axe(page: Page) -> None:
    """The rules of axe-core, which knows the guidelines for accessibility (WCAG 2.2 A and AA, and good practice)."""
    for theme in ("light", "dark"):
        page.value(f"while (!document.getElementById('theme').textContent.includes('{theme}')) document.getElementById('theme').click()")
        page.value("Promise.allSettled(document.getAnimations().map(change => change.finished)).then(() => 0)")
        for dialog in (None, "help-dialog", "channel-dialog", "mark-dialog", "layout-dialog", "record-dialog", "problem-dialog"):
            page.value(f"document.getElementById({json.dumps(dialog)})?.showModal()")
            check_axe_rules(page, f"{theme}, {dialog or 'page'}")
            page.value(f"document.getElementById({json.dumps(dialog)})?.close()")
        page.screenshot(STATE / f"dash-{theme}.png")
    page.value("document.getElementById('theme').click()")


def frame_rate(page: Page) -> float:
    """Frames per second of the page, counted over two seconds."""
    return page.value("new Promise(done => { let count = 0; const begun = performance.now(); const step = now => {"
                      " count += 1; if (now - begun < 2000) requestAnimationFrame(step); else done(count / (now - begun) * 1000); };"
                      " requestAnimationFrame(step); })")


def check_recorder(url: str, process: subprocess.Popen) -> None:
    """Neither slow browsers nor a dashboard that stands still cost a recorder a sample."""
    path = CONFIGURATION.parent / "beside.xdf"

    def wait_for_samples(count: int) -> int:
        for line in recorder.stdout:
            if (got := sum(stream["sample_count"] for stream in json.loads(line)["streams"])) >= count:
                return got
        raise SystemExit("FAILED: the recorder has ended")

    with running(str(PROGRAMS / "schwann"), "fake", "counter:64@2000/int16") as _, running(
            str(PROGRAMS / "schwann"), "record", "-o", str(path), "--json", "--wait", "60", "--require", "Test", "Test") as recorder:
        count = wait_for_samples(1)
        slow = [connect(url, sockopt=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)]) for _ in range(8)]
        count = wait_for_samples(count + 4000)
        process.send_signal(signal.SIGSTOP)
        count = wait_for_samples(count + 8000)
        process.send_signal(signal.SIGCONT)
        wait_for_samples(count + 2000)
        recorder.send_signal(signal.SIGINT)
        recorder.stdout.read()
        expect(recorder.wait(timeout=30) == 0, "beside slow browsers and a dashboard that stands still a recording is well")
        for live in slow:
            live.close()
    said = subprocess.run([str(PROGRAMS / "schwann"), "info", "--json", str(path)], capture_output=True, check=True).stdout
    stream = next(stream for stream in json.loads(said)["streams"] if stream["type"] == "Test")
    expected = round((stream["last_stamp"] - stream["first_stamp"]) * 2000) + 1
    expect(stream["sample_count"] == expected, f"and has every one of {expected} samples", stream["sample_count"])


def check_one_page() -> None:
    """A page from its first stream until its program ends."""
    with dashboard("--no-browser", "--session", SESSION) as (url, process):
        check_strangers(url)
        page = Page()
        try:
            with sender() as source:
                source.stdout.readline()
                check_page(page, url, source)
                check_keys(page)
                check_reader(page)
                check_focus(page)
                if AXE:
                    check_axe(page)
                print(f"   {frame_rate(page):.0f} frames per second")
                check_gap_and_stop(page, source, url)
                page.screenshot(STATE / "dash-stopped.png")
            with sender() as source:
                source.stdout.readline()
                check_return(page)
                check_slow_browser(url, process)
                check_recorder(url, process)
                page.screenshot(STATE / "dash.png")
            expect(not page.problems, "no script has failed", page.problems)
            own = origin_of(url)
            others = [request for request in page.requests if not request.startswith((f"{own}/", f"{own}/".replace("http", "ws")))]
            expect(not others, "nothing was asked of anybody else", others)
            process.terminate()
            page.wait("!document.getElementById('offline').hidden", "a page without its program says so")
            lights = page.value("[...document.querySelectorAll('#streams .health')].map(cell => cell.textContent)")
            expect("live" not in lights, "and shows no stream as live", lights)
            expect(process.wait(timeout=10) == 0, "the program ends when it is told to")
        finally:
            page.close()


def main() -> None:
    check_types()
    check_token()
    check_other_user()
    check_one_page()
    check_hands()
    check_words()
    check_strip_and_reference()
    check_dash_looks()
    check_rail()
    check_web()
    check_limits()
    check_record()
    check_record_kept()
    check_recording()
    check_overview()
    check_calm()
    check_hidden()
    check_gone()
    check_truth()
    check_lan()
    check_code()
    check_phone()
    check_hook()
    check_others()
    check_hostile_streams()
    check_unreceived()
    check_thousand()
    check_beyond()


if __name__ == "__main__":
    main()
