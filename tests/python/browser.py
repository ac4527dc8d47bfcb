"""browser.py: headless Chromium for tests of pages."""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time


class Browser:
    """Chromium by the DevTools protocol over pipes: JSON, each ended by a NUL."""

    def __init__(self):
        (self.read, theirs_out), (theirs_in, self.write) = os.pipe(), os.pipe()
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        move = f"exec 3<&{theirs_in} 4>&{theirs_out}; exec \"$@\""
        self.process = subprocess.Popen(
            ["sh", "-c", move, "sh", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={self.home.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest, self.count, self.session, self.said = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.read, 1 << 20)
            if not part:
                sys.exit("the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.count += 1
        text = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            text["sessionId"] = self.session
        os.write(self.write, json.dumps(text).encode() + b"\0")
        while True:
            m = self.message()
            if m.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                self.said.append(json.dumps(m["params"])[:400])
            if m.get("id") == self.count:
                if "error" in m:
                    sys.exit(f"{method}: {m['error']}")
                return m["result"]

    def value(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return r["result"].get("value")

    def wait(self, expression, words, seconds=300):
        end = time.time() + seconds
        while not self.value(expression):
            if time.time() > end:
                sys.exit(f"{words}; the page says: {self.value('document.body.innerText.slice(0, 600)')}")
            time.sleep(.1)

    def key(self, key, code=0, text=None, between=None):
        """Presses a key; the page evaluates `between` before it is let go."""
        for kind in ("keyDown", "keyUp"):
            if between and kind == "keyUp":
                self.value(between)
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def tab_to(self, expression, words):
        for _ in range(60):
            if self.value(f"Boolean(document.activeElement?.matches({json.dumps(expression)}))"):
                return
            self.key("Tab", 9)
        sys.exit(f"Tab does not reach {words}")

    def picture(self, file):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(file, "wb") as f:
            f.write(base64.b64decode(data))
