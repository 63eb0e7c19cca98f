"""Headless Chromium for tests, driven over its debugging protocol; nothing but this machine can be reached.

A plugin of pytest: a test module that names it in `pytest_plugins` has the fixture `tab`.
"""

import json
import os
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from importlib.resources import files

import pytest

from katayori_tools.doctor import find_browser

# No wait is decided by a clock: each is for a state. This only ends what would never end.
GUARD = 600.0
OFF = "gpu quic background-networking component-update sync default-apps extensions".split()


class Tab:
    """One page. Since it was last opened: `asked` addresses, `failed` requests, and what it `said` as (level, text)."""

    def __init__(self, address):
        import websocket

        self.socket = websocket.create_connection(address, timeout=GUARD, suppress_origin=True)
        self.number = 0
        self.forget()
        for domain in ("Page", "Network", "Log", "Runtime", "DOM", "CSS"):
            self.call(f"{domain}.enable")
        # JupyterLab's current widget is what has focus.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def forget(self):
        self.asked, self.failed, self.said, self.arrived = [], [], [], False

    @property
    def errors(self):
        return [text for level, text in self.said if level == "error"]

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while (told := self._hear()).get("id") != self.number:
            pass
        assert "error" not in told, (method, told["error"])
        return told["result"]

    def _hear(self):
        told = json.loads(self.socket.recv())
        params = told.get("params", {})
        match told.get("method"):
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])
            case "Network.loadingFailed":
                self.failed.append(params["errorText"])
            case "Page.loadEventFired":
                self.arrived = True
            case "Log.entryAdded":
                entry = params["entry"]
                self.said.append((entry["level"], f"{entry['text']} {entry.get('url')}"))
            case "Runtime.consoleAPICalled":
                words = (str(a.get("value", a.get("description"))) for a in params["args"])
                self.said.append((params["type"], " ".join(words)))
            case "Runtime.exceptionThrown":
                thrown = params["exceptionDetails"]
                words = thrown.get("exception", {}).get("description") or thrown["text"]
                self.said.append(("error", words))
        return told

    def js(self, code):
        """The value of an expression."""
        made = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in made, made
        return made["result"].get("value")

    def wait(self, code):
        """The value of an expression once it is true."""
        end = time.monotonic() + GUARD
        while not (value := self.js(code)):
            assert time.monotonic() < end, f"not within {GUARD} s: {code}; console: {self.errors}"
            time.sleep(0.1)
        return value

    def open(self, address, width=1280, height=800):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.forget()
        # Else it is another place of the same page.
        if "loaderId" in self.call("Page.navigate", url=address):
            self.loaded()

    def loaded(self):
        """Waits for a page to come, asked for since the last `forget`, and for its fonts."""
        while not self.arrived:
            self._hear()
        self.js("document.fonts.ready.then(() => true)")

    def barriers(self):
        """What axe finds for keyboards and readers of screens: impact, rule, HTML of three places."""
        script = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
        self.js(f"{script}; true")
        return self.js("axe.run().then(r => r.violations.map(v => [v.impact, v.id, "
                       "v.nodes.map(n => n.html.slice(0, 200)).slice(0, 3)]))")  # fmt: skip

    def press(self, key, code):
        for kind in ("rawKeyDown", "keyUp"):
            about = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", **about)


@contextmanager
def running(*command, log, **options):
    """A process that is stopped at the end; what it prints goes to the file `log`."""
    with open(log, "wb") as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(ready, process, log):
    """What `ready()` gives as soon as it does not fail; at once an error if the process has ended.

    The error shows the last lines that the process printed to the file `log`.
    """
    end = time.monotonic() + GUARD
    while True:
        ended = process.poll() is not None
        try:
            return ready()
        except (OSError, ValueError, IndexError) as error:
            waiting = not ended and time.monotonic() < end
            if not waiting:
                printed = log.read_text(encoding="utf-8", errors="replace")[-4000:]
                how = f"ended with {process.poll()}" if ended else f"not ready in {GUARD} s"
                pytest.fail(f"{process.args[0]} {how} ({error}); it printed:\n{printed}")
            time.sleep(0.1)


@contextmanager
def started(found, folder):
    """The address at which a browser without extensions or a way to the network takes orders."""
    profile, log = folder / "profile", folder / "log.txt"
    profile.mkdir()
    command = [found, "--headless", "--no-sandbox", "--no-first-run", "--hide-scrollbars"]
    command += ["about:blank", f"--user-data-dir={profile}", "--remote-debugging-port=0"]
    command += [f"--disable-{name}" for name in OFF]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with running(*command, log=log) as process:
        file = profile / "DevToolsActivePort"
        port = until(lambda: int(file.read_text().split()[0]), process, log)
        yield f"http://127.0.0.1:{port}/json"


@contextmanager
def new_tab(browser):
    """A new page of a browser, which is closed at the end."""
    asked = urllib.request.Request(f"{browser}/new", method="PUT")
    with urllib.request.urlopen(asked, timeout=GUARD) as told:
        made = json.load(told)
    page = Tab(made["webSocketDebuggerUrl"])
    try:
        yield page
    finally:
        urllib.request.urlopen(f"{browser}/close/{made['id']}", timeout=GUARD).close()
        page.socket.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """The address of a browser."""
    found = find_browser()
    if found is None:
        assert not os.environ.get("KATAYORI_CI"), "no browser found: install chromium"
        pytest.skip("no browser found: install chromium to see the pages in it")
    with started(found, tmp_path_factory.mktemp("browser")) as address:
        yield address


@pytest.fixture
def tab(browser):
    with new_tab(browser) as page:
        yield page
