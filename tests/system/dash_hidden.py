"""A hidden tab: its title says within two seconds that there is no contact, although browsers slow its timers down."""

import signal

from chromium import Page
from dash_calm import EAR, SILENCE
from dash_lab import SESSION, dashboard, expect, fakes

# What a browser does to a page that has been hidden for minutes, after a second: its timers go once a minute.
SLOW = ("--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/1/grace_period_seconds_loaded/1",)


def check_hidden() -> None:
    with dashboard("--no-browser", "--session", SESSION) as (url, process), fakes("eeg:8@250"):
        page = Page(flags=SLOW)
        try:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=EAR)
            page.call("Page.navigate", url=url)
            page.wait("document.querySelectorAll('#streams .health.live').length >= 2", "a stream is live", 40)
            page.value("window.ticked = performance.now(); setInterval(() => { window.ticked = performance.now(); }, 200); 0")
            page.cover()
            page.wait("document.hidden && performance.now() - ticked > 5000", "the browser slows the timers of the hidden page down", 120)
            expect(page.value("performance.now() - heard < 1000 && /2 streams/.test(document.title)"), "it has contact all the same")
            process.send_signal(signal.SIGSTOP)
            try:
                page.wait("/No contact/.test(document.title)", "without contact its title says so", 90)
                silence = page.value(SILENCE)
                expect(silence < 2000, "within two seconds", f"{silence:.0f} ms")
            finally:
                process.send_signal(signal.SIGCONT)
            page.wait("/2 streams/.test(document.title)", "and goes on with the program", 60)
            expect(not page.problems, "no script has failed", page.problems)
        finally:
            page.close()


if __name__ == "__main__":
    check_hidden()
