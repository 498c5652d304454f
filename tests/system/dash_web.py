"""What programs and other pages do with the dashboard: list, mark, send; and what the page shows of it."""

import json
import math
import queue
import threading
import time
import urllib.parse
import urllib.request

import websocket
from chromium import Page, wait_for
from dash_axe import check_axe_rules
from dash_lab import SESSION, STATE, dashboard, expect, origin_of

RATE, CHANNELS = 100, 6
LABELS = ["Fp1", "Fp2", "C3", "C4", "O1", "O2"]


def api(url: str, path: str, post: bool = False, **fields) -> tuple[int, dict]:
    """Asks as a program would."""
    token = url.partition("token=")[2]
    query = urllib.parse.urlencode({"token": token, **fields}, quote_via=urllib.parse.quote)
    request = urllib.request.Request(f"{origin_of(url)}/api/{path}?{query}", data=b"" if post else None)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, {}


class Program:
    """A page of another origin that was given the token. It always reads: who does not for five seconds is sent away."""

    def __init__(self, url: str) -> None:
        address = f"{origin_of(url).replace('http', 'ws')}/live?{url.partition('?')[2]}"
        self.socket = websocket.create_connection(address, origin="http://experiment.example", timeout=10)
        self.socket.settimeout(None)
        self.heard = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            while True:
                self.heard.put(self.socket.recv())
        except (websocket.WebSocketException, OSError):
            self.heard.put("")

    def receive(self) -> str | bytes:
        """The next message of the dashboard, which no longer comes once it ended the connection."""
        message = self.heard.get(timeout=60)
        if message == "":
            raise websocket.WebSocketConnectionClosedException("the dashboard ended the connection")
        return message

    def ask(self, answer: str, **message) -> dict:
        self.socket.send(json.dumps(message))
        until = time.monotonic() + 60
        # Traces come between answers, as bytes.
        while isinstance(text := self.receive(), bytes) or (found := json.loads(text))["type"] not in (answer, "refused"):
            if time.monotonic() > until:
                expect(False, f"{answer} is the answer to a message", message)
        return found

    def samples(self, first: int, count: int) -> list[list[float]]:
        """Waves of 10 Hz with mains on the first channel; the last channel is flat."""
        def row(n: int) -> list[float]:
            wave = [20 * math.sin(math.tau * 10 * n / RATE + channel) for channel in range(CHANNELS - 1)]
            return [*wave, 7.0]
        return [row(n) for n in range(first, first + count)]


def check_programs(url: str) -> Program:
    status, found = api(url, "streams")
    expect(status == 200 and found["streams"] == [], "a program gets the list of streams", found)
    expect(api(url, "nothing")[0] == 404 and api(url, "mark")[0] == 405, "other requests are refused")
    expect(api(url.replace("token=", "token=0"), "streams")[0] == 403, "and all without the token")
    program = Program(url)
    answers = [program.ask("clock", type="clock", sent=n) for n in range(10)]
    expect(all(answer["now"] >= answer["received"] for answer in answers), "the clock of the lab is told")
    refused = program.ask("marked", type="mark", text="tomorrow", time=answers[0]["now"] + 86400, request=1)
    expect(refused["type"] == "refused" and refused["request"] == 1, "a marker of tomorrow is refused", refused)
    expect(program.ask("x", type="nonsense")["type"] == "refused", "and so is a message that is none")
    opened = program.ask("opened", type="outlet", outlet=3, name="Phone", content="EEG", channels=CHANNELS, rate=RATE,
                         format="float32", source="phone", labels=LABELS, unit="microvolts", request=2)
    expect(opened["type"] == "opened", "a page opens a stream of its own", opened)
    return program


def feed(program: Program, count: list[int]) -> None:
    """Sends a quarter of a second of samples, whose stamps go on where they were."""
    samples = program.samples(count[0], RATE // 4)
    times = [count[1] + n / RATE for n in range(count[0], count[0] + len(samples))]
    program.socket.send(json.dumps({"type": "push", "outlet": 3, "samples": samples, "times": times}))
    count[0] += len(samples)


def check_signal(page: Page, program: Program) -> None:
    start = program.ask("clock", type="clock", sent=0)["now"]
    count = [0, start]

    def wait(condition: str, what: str, seconds: float = 20) -> None:
        def look():
            while count[0] / RATE < program.ask("clock", type="clock", sent=0)["now"] - start:
                feed(program, count)
            return page.value(condition)
        wait_for(look, what, seconds)
        expect(True, what)

    wait("document.querySelectorAll('#streams .health.live').length === 1", "what a page sends is a stream of the list")
    page.value("document.body.focus()")
    page.press("a", "KeyA")
    wait("/flat/.test(document.getElementById('quality').textContent) && /5 of 6/.test(document.getElementById('quality').textContent)",
         "a flat channel is told from good ones")
    wait("document.querySelectorAll('#bands li').length === 5", "the power of bands is told")
    wait("Math.max(...[...document.querySelectorAll('#bands meter')].map(bar => bar.value)) === document.querySelectorAll('#bands meter')[2].value",
         "a wave of 10 Hz is alpha")
    wait("document.getElementById('head-part').checkVisibility()", "electrodes with known names are mapped")
    page.value("const choose = (id, value) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event('change')); };"
               " window.choose = choose; choose('notch', '0'); choose('low-pass', '30'); choose('reference', 'average')")
    wait("/average of 6/.test(document.getElementById('processing').textContent) && /below 30 Hz/.test(document.getElementById('processing').textContent)",
         "montage and filters are said beside the plot")
    page.value("choose('reference', 'bipolar')")
    wait("/bipolar/.test(document.getElementById('processing').textContent)", "a bipolar montage is shown")
    page.value("choose('reference', '')")
    for theme in ("light", "dark"):
        page.value(f"while (!document.getElementById('theme').textContent.includes('{theme}')) document.getElementById('theme').click()")
        page.value("Promise.allSettled(document.getAnimations().map(change => change.finished)).then(() => 0)")
        check_axe_rules(page, f"signal, {theme}")
        page.screenshot(STATE / f"dash-signal-{theme}.png")
    page.press("l", "KeyL")
    wait("document.getElementById('label-menu').checkVisibility() && document.activeElement.dataset.do === 'solo'", "L opens the menu of a channel")
    check_axe_rules(page, "menu of a channel")
    page.press("Escape", "Escape")
    wait("!document.getElementById('label-menu').checkVisibility()", "Escape closes it, wherever the focus was before")
    page.press("l", "KeyL")
    page.press("Enter", "Enter")
    wait("!document.getElementById('label-menu').checkVisibility()", "and Enter shows the channel alone")
    # From here on nothing is fed.
    page.wait("/Not judged/.test(document.getElementById('quality').textContent)", "what sends nothing is not called good")
    page.wait("document.querySelectorAll('#bands li').length === 0 && /Too few/.test(document.getElementById('spectrum-note').textContent)",
              "and has no spectrum of now")


def check_hostile(page: Page, program: Program) -> None:
    """A name is text, whatever it holds; so are markers, and values that are hardly numbers."""
    name = "<img src=x onerror=\"window.caught = 1\"> & 'quotes'"
    program.ask("opened", type="outlet", outlet=4, name=name, content="<b>Markers</b>", channels=1, rate=0, format="string", request=3)
    program.ask("opened", type="outlet", outlet=5, name="Edges", content="EEG", channels=2, rate=0, format="double64", request=4)
    page.wait(f"[...document.querySelectorAll('#streams .name')].some(e => e.textContent === {json.dumps(name)})", "a name with HTML is shown as text", 20)
    program.socket.send(json.dumps({"type": "push", "outlet": 4, "samples": [["<script>window.caught = 2</script>" + "x" * 90_000]]}))
    program.socket.send(json.dumps({"type": "push", "outlet": 5, "samples": [[1e308, -1e308], [5e-324, 0]]}))
    page.value(f"[...document.querySelectorAll('#streams .name')].find(e => e.textContent === {json.dumps(name)}).closest('button').click()")
    page.wait("/<script>/.test(document.getElementById('event-list').textContent)", "and so is a marker", 20)
    page.value("[...document.querySelectorAll('#streams .name')].find(e => e.textContent === 'Edges').closest('button').click()")
    page.wait("/Edges/.test(document.getElementById('view-title').textContent)", "extreme values are shown")
    expect(page.value("window.caught === undefined && !document.querySelector('main img, main script')"), "nothing of it ran")


def check_clock(page: Page) -> None:
    """What a page takes for the time of the lab is right to its bound, also after its computer slept."""
    def is_right() -> bool:
        before = time.monotonic()
        now, bound = page.value("[lab.now, lab.bound]")
        # A page that lost its connection knows no time.
        return bound is not None and before - bound <= now <= time.monotonic() + bound

    expect(is_right(), "the page's time of the lab is right to its bound")
    expect(page.value("crossOriginIsolated"), "and it may ask its own clock to the microsecond")
    page.value("{ const real = performance.now.bind(performance); window.slept = 5000; performance.now = () => real() - slept; }")
    expect(not is_right(), "the clock of a page stands still while its computer sleeps")
    wait_for(is_right, "soon after that its time of the lab is right again", 20)
    at = page.value("new Promise(done => { window.slept = 8000; lab.mark('awake').then(marked => done(marked.time), error => done(`${error}`)); })")
    expect(isinstance(at, float) and -1 < at - time.monotonic() <= 0, "a marker of the moment in which it wakes has its true time", at)
    page.value("window.slept = 0")
    wait_for(is_right, "also if its clock is set", 20)
    size, is_alone = page.value("fetch('/schwann.js').then(answer => answer.text()).then(text => [text.length, !/^import |import\\(/m.test(text)])")
    expect(size < 10_000 and is_alone, "all that by a client of less than 10 KB that needs nothing else", size)


def check_marks(page: Page, url: str) -> None:
    bound = page.value("new Promise(done => setTimeout(done, 1000)).then(() => import('/schwann.js')).then(({ Schwann }) => new Promise(done => {"
                       " const lab = new Schwann(location.origin, { streams() { if (lab.bound < Infinity) { done(lab.bound); lab.close(); } } }); }))")
    print(f"   clock of the browser: within {bound * 1e3:.2f} ms at first")
    # The page keeps the quickest of its answers, so that one quiet moment of this computer suffices.
    page.wait("import('/schwann.js').then(({ Schwann }) => new Promise(done => { const lab = window.lab ??= new Schwann(location.origin); setTimeout(() => done(lab.bound <= 0.001), 500); }))",
              "the page says that it knows the clock of the lab to 1 ms", 120)
    expect(True, "the page says that it knows the clock of the lab to 1 ms")
    check_clock(page)
    page.value("document.activeElement.blur()")
    page.press("m", "KeyM")
    page.wait("/Marked/.test(document.getElementById('mark-note').textContent)", "M writes a marker")
    status, told = api(url, "mark", post=True, text="Grüße & more")
    expect(status == 200 and told["text"] == "Grüße & more", "a program writes one by a single request", told)
    page.value("document.getElementById('events').open = true")
    page.wait("/Grüße & more/.test(document.getElementById('event-list').textContent) && /\\bmark/.test(document.getElementById('event-list').textContent)",
              "both are in the stream of the dashboard's markers")
    expect(page.value("[...document.querySelectorAll('#streams .name')].some(name => name.textContent === 'Dashboard markers')"), "which is listed as any other")


def check_web() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, _):
        program = check_programs(url)
        page = Page()
        try:
            page.call("Page.navigate", url=url)
            check_signal(page, program)
            check_marks(page, url)
            check_hostile(page, program)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()
            program.socket.close()


if __name__ == "__main__":
    check_web()
