"""A headless Chromium, driven over a pipe by the DevTools protocol. It needs no package besides the browser."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import unittest

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
TIMEOUT = 120
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
           "--remote-debugging-pipe")


def needs_browser(test):
    return unittest.skipUnless(BROWSER, f"SKIPPED: none of {', '.join(NAMES)} is on PATH")(test)


class Browser:
    """One page of a browser. Requests over a network are counted, and answered by an error."""

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="rulemill-browser-")
        to_browser, self._commands = os.pipe()
        self._replies, from_browser = os.pipe()
        # The browser reads from descriptor 3 and writes to descriptor 4.
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(["bash", "-c", shell, "bash", BROWSER, *OPTIONS, f"--user-data-dir={self._profile}"],
                                         pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._pending, self._number, self._session, self.errors, self.requests = b"", 0, None, [], []
        self._seen = set()
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self._call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._commands)
        os.close(self._replies)
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _read(self):
        while b"\0" not in self._pending:
            if not select.select([self._replies], [], [], TIMEOUT)[0]:
                raise AssertionError(f"the browser does not answer within {TIMEOUT} s")
            data = os.read(self._replies, 1 << 20)
            if not data:
                raise AssertionError("the browser has ended")
            self._pending += data
        line, self._pending = self._pending.split(b"\0", 1)
        message = json.loads(line)
        event, details = message.get("method", ""), message.get("params", {})
        self._seen.add(event)
        if event == "Runtime.exceptionThrown":
            self.errors.append(details["exceptionDetails"])
        if event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        return message

    def _call(self, command, **arguments):
        self._number += 1
        message = {"id": self._number, "method": command, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (reply := self._read()).get("id") != self._number:
            pass
        if "error" in reply:
            raise AssertionError(f"{command}: {reply['error']}")
        return reply["result"]

    def open(self, path, width=1200, height=900, dark=False, media=""):
        """Shows a file at a size of the window, in light or dark colours, on a screen or in print."""
        self.errors.clear()
        self.requests.clear()
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", media=media,
                   features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self._seen.discard("Page.loadEventFired")
        self._call("Page.navigate", url=f"file://{path}")
        while "Page.loadEventFired" not in self._seen:
            self._read()

    def run(self, script):
        """Returns the value of an expression in the page; promises are awaited."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def screenshot(self, path):
        data = self._call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self):
        """Returns the page as printed."""
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True)["data"])
