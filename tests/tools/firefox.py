"""Drives a headless Firefox through WebDriver BiDi, the protocol of all browsers (w3.org/TR/webdriver-bidi)."""

import base64
import json
import pathlib
import shutil
import subprocess
import tempfile

import websocket
from chromium import wait_for

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """One page in a browser of its own, with a new profile; used as `chromium.Page` is."""

    def __init__(self, width: int = 1400, height: int = 900) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.browser = subprocess.Popen([PROGRAM, "--headless", "--no-remote", "--profile", self.profile.name, "--remote-debugging-port=0", "about:blank"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        address = pathlib.Path(self.profile.name, "WebDriverBiDiServer.json")
        wait_for(lambda: address.exists() and address.read_text().strip().endswith("}"), "Firefox starts", 90)
        # A page of the web would say where it comes from, and be refused.
        self.socket = websocket.create_connection(f"ws://127.0.0.1:{json.loads(address.read_text())['ws_port']}/session", timeout=60, suppress_origin=True)
        self.number, self.problems = 0, []
        self.version = self.call("session.new", capabilities={})["capabilities"]["browserVersion"]
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("session.subscribe", events=["log.entryAdded"])
        self.call("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def call(self, method: str, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.problems.append(message["params"]["text"])

    def open(self, url: str) -> None:
        self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def value(self, expression: str, by_hand: bool = False):
        """The value of an expression, once it is there, as JSON has it; `by_hand` as if a person had just done it."""
        outcome = self.call("script.evaluate", target={"context": self.context}, awaitPromise=True, userActivation=by_hand,
                            expression=f"(async () => ({expression}))().then(value => JSON.stringify(value ?? null))")
        if outcome["type"] == "exception":
            raise RuntimeError(outcome["exceptionDetails"]["text"])
        return json.loads(outcome["result"]["value"])

    def press(self, key: str) -> None:
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.call("input.performActions", context=self.context, actions=[{"type": "key", "id": "keys", "actions": keys}])

    def wait(self, expression: str, what: str, seconds: float = 15):
        return wait_for(lambda: self.value(expression), what, seconds)

    def screenshot(self, path: pathlib.Path) -> None:
        path.write_bytes(base64.b64decode(self.call("browsingContext.captureScreenshot", context=self.context)["data"]))

    def close(self) -> None:
        self.socket.close()
        self.browser.terminate()
        self.browser.wait(timeout=30)
        self.profile.cleanup()
