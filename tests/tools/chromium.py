"""Drives a headless Chromium through its DevTools protocol."""

import base64
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.request

import websocket

FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --remote-debugging-port=0 --remote-allow-origins=*").split()

LEAVING = {"Inspected target navigated or closed", "Execution context was destroyed."}


class PageLeft(RuntimeError):
    """The browser went to another page before it could answer."""


class Page:
    """One page in a browser of its own, with a new profile."""

    def __init__(self, width: int = 1400, height: int = 900, flags: tuple[str, ...] = ()) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.browser = subprocess.Popen(["chromium", *FLAGS, *flags, f"--user-data-dir={self.profile.name}", "about:blank"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        address = pathlib.Path(self.profile.name, "DevToolsActivePort")
        wait_for(lambda: address.exists() and "\n" in address.read_text(), "the browser starts", 40)
        port = address.read_text().split()[0]
        self.door = f"http://127.0.0.1:{port}/json"
        with urllib.request.urlopen(self.door, timeout=10) as tabs:
            page = next(tab for tab in json.load(tabs) if tab["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=30)
        self.number, self.problems, self.requests, self.sent = 0, [], [], []
        for domain in ("Runtime", "Page", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method: str, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if "error" in message:
                    raise (PageLeft if message["error"]["message"] in LEAVING else RuntimeError)(f"{method}: {message['error']}")
                return message["result"]
            self.take_event(message)

    def take_event(self, message) -> None:
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(message["params"]["exceptionDetails"])
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.problems.append(message["params"]["entry"])
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            case "Network.webSocketFrameSent":
                self.sent.append(message["params"]["response"]["payloadData"])
            case "Network.webSocketCreated":
                self.requests.append(message["params"]["url"])

    def value(self, expression: str):
        outcome = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in outcome:
            raise RuntimeError(outcome["exceptionDetails"])
        return outcome["result"].get("value")

    def press(self, key: str, code: str = "", text: str = "") -> None:
        named = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36}
        number = named.get(key, ord(key.upper()[0]))
        text = text or ("\r" if key == "Enter" else key if len(key) == 1 else "")
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def value_once_there(self, expression: str):
        """The value; None while the browser goes from one page to the next."""
        try:
            return self.value(expression)
        except PageLeft:
            return None

    def wait(self, expression: str, what: str, seconds: float = 60):
        try:
            return wait_for(lambda: self.value_once_there(expression), what, seconds)
        except SystemExit:
            print("the page said:", self.value("document.body?.innerText"), *self.problems, sep="\n")
            raise

    def cover(self) -> None:
        """Opens another tab, which hides this one."""
        with urllib.request.urlopen(urllib.request.Request(f"{self.door}/new?about:blank", method="PUT"), timeout=10) as answer:
            urllib.request.urlopen(f"{self.door}/activate/{json.load(answer)['id']}", timeout=10).close()

    def screenshot(self, path: pathlib.Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        self.socket.close()
        self.browser.terminate()
        try:
            self.browser.wait(timeout=20)
        except subprocess.TimeoutExpired:
            # A busy computer: what it would still write is thrown away.
            self.browser.kill()
            self.browser.wait()
        self.profile.cleanup()


def wait_for(condition, what: str, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (outcome := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(f"FAILED: {what}: not within {seconds} s")
        time.sleep(0.05)
    return outcome
