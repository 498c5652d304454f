"""A stream of a later protocol beside a good one: nobody calls that well, and its row says why it is not received."""

import subprocess
import threading

from chromium import Page
from dash_lab import ENVIRONMENT, PROGRAMS, SESSION, dashboard, expect, fakes
from dash_many import INFO, answer_for

LATER = INFO.replace("<version>1.10<", "<version>2.50<")
SUMMARY = "document.getElementById('summary')"


def check_terminal() -> None:
    """`schwann --once` counts it."""
    for _ in range(3):
        seen = subprocess.run([PROGRAMS / "schwann", "--once"], env=ENVIRONMENT, text=True, capture_output=True, timeout=60)
        if "Fake" in seen.stdout and "Far 0" in seen.stdout:
            break
    expect("1 NOT RECEIVED" in seen.stdout and "Far 0: The stream speaks a newer protocol" in seen.stdout, "schwann --once counts it and says why", seen.stdout)
    expect(seen.returncode == 1, "and its exit code says that not all is well", seen.returncode)


def check_page(page: Page) -> None:
    page.wait(f"document.querySelectorAll('#streams .stream').length === 2 && /1 not well/.test({SUMMARY}?.textContent)", "the summary counts it", 30)
    page.value(f"{SUMMARY}.click()")
    page.wait("/newer protocol/.test(document.getElementById('details-sentence').textContent)", "its details say why", 20)
    page.wait("/newer protocol/.test(document.getElementById('plot-note').textContent)", "and so does the picture in its place", 20)


def check_unreceived() -> None:
    over = threading.Event()
    answers = threading.Thread(target=answer_for, args=(1, over, LATER))
    answers.start()
    try:
        with fakes("counter:2@100"), dashboard("--no-browser", "--session", SESSION) as (url, _):
            check_terminal()
            page = Page()
            try:
                page.call("Page.navigate", url=url)
                check_page(page)
                expect(not page.problems, "no script has failed", page.problems)
            finally:
                page.close()
    finally:
        over.set()
        answers.join()


if __name__ == "__main__":
    check_unreceived()
