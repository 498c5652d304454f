"""Makes the pictures of the dashboard that the README and the guide show, from the program as it is.

Usage: dash_pictures.py <folder of the program> <folder for scratch files> (docs/images/make.sh does it)
"""

import base64
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("SCHWANN_PROGRAM", str(pathlib.Path(sys.argv[1]).resolve() / "schwann"))

from chromium import Page  # noqa: E402: `labs` reads the name of the program when it is loaded
from dash_lab import CONFIGURATION, ENVIRONMENT, PROGRAMS, SESSION, dashboard, running  # noqa: E402
from labs import new_device, new_lab  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 150_000          # bytes of a picture
LIVE = "document.querySelectorAll('#streams .health.live').length"
PRESS = "document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: {!r}, bubbles: true }}))"


def save(page: Page, path: pathlib.Path) -> None:
    for quality in range(90, 20, -5):
        picture = base64.b64decode(page.call("Page.captureScreenshot", format="webp", quality=quality)["data"])
        if len(picture) <= LIMIT:
            break
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(picture)
    print(f"{path.relative_to(ROOT)}: {len(picture) / 1000:.0f} kB")


def choose(page: Page, name: str) -> None:
    page.value(f"[...document.querySelectorAll('#streams .name')].find(found => found.textContent === {name!r}).closest('button').click()")


def let_pass(page: Page, seconds: float) -> None:
    page.value(f"new Promise(done => setTimeout(done, {1000 * seconds})).then(() => 0)")


def take_main(page: Page) -> None:
    """Sealed EEG that is recorded, with its spectrum and the map of the head while the eyes are closed."""
    page.wait(f"{LIVE} === 2", "the streams are live", 40)
    page.value("document.getElementById('theme').click()")
    page.value("document.getElementById('record').click(); document.querySelector('#record-dialog .primary').click()")
    page.value(PRESS.format("a"))
    page.wait("[...document.getElementById('signal-row').options].some(option => option.textContent === 'Oz')", "channels have names", 20)
    page.value("const row = document.getElementById('signal-row'); row.value = [...row.options].find(option => option.textContent === 'Oz').value;"
               " row.dispatchEvent(new Event('change'))")
    page.value("document.getElementById('events').open = true")
    page.wait("/eyes closed/.test(document.querySelector('#event-list li span')?.textContent)", "the eyes close", 60)
    page.value("document.getElementById('events').open = false; document.activeElement.blur()")
    let_pass(page, 5)
    save(page, ROOT / "docs/images/dashboard.webp")


def take_together(page: Page) -> None:
    """Streams of three kinds on one time axis, in the dark."""
    page.wait(f"{LIVE} === 5", "more streams are live", 40)
    page.value(PRESS.format("a"))
    page.value("document.getElementById('theme').click()")
    for name in ("Fake eeg:8@250", "Fake sine:3@100"):
        page.value(f"[...document.querySelectorAll('#streams .stream')].find(row => row.querySelector('.name').textContent.startsWith({name!r}))"
                   ".querySelector('.beside').click()")
    let_pass(page, 12)
    save(page, ROOT / "docs/guide/src/images/dashboard-together.webp")


def take_phone(page: Page) -> None:
    page.value("document.getElementById('theme').click(); document.getElementById('theme').click()")
    choose(page, "Fake eeg:8@250")
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    let_pass(page, 12)
    save(page, ROOT / "docs/guide/src/images/dashboard-phone.webp")


def main() -> None:
    # What people read is no number of a process.
    CONFIGURATION.write_text(CONFIGURATION.read_text().replace(SESSION, "study"))
    with tempfile.TemporaryDirectory() as folder:
        lab, room = pathlib.Path(folder, "lab"), pathlib.Path(folder, "room")
        new_lab(lab, "desk")
        new_device(lab, room, "EEG room")
        sealed = {**ENVIRONMENT, "SCHWANN_KEYS": str(room)}

        def fakes(*streams: str):
            return running(str(PROGRAMS / "schwann"), "fake", *streams, env=sealed)

        with dashboard("--no-browser", "--session", "study", "--folder", folder, env={**ENVIRONMENT, "SCHWANN_KEYS": str(lab)}) as (url, _), \
                fakes("eeg:64@500"):
            page = Page(1500, 900)
            try:
                page.call("Page.navigate", url=url)
                take_main(page)
                with fakes("eeg:8@250", "sine:3@100"):
                    take_together(page)
                    take_phone(page)
            finally:
                page.close()


if __name__ == "__main__":
    main()
