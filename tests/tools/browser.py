"""Drives Chromium and Firefox as Debian packages them, without a library: DevTools over a pipe, and Marionette.

Both have open(), run() for a piece of JavaScript that may await and return, screenshot(), and what went wrong in the
page: `errors` (console errors and exceptions) and `requests` (addresses beyond the page itself).
"""
import base64
import json
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time

WAIT_S = 60


class Fault(Exception):
    """The browser did not do what was asked."""


def ended(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Chromium:
    name = "Chromium"
    programs = ("chromium", "chromium-browser")

    def __init__(self, program, dark=False):
        self.profile = tempfile.mkdtemp(prefix="pdhost chromium ")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        # The browser reads on 3 and writes on 4.
        wrapped = ["sh", "-c", f"exec 3<&{to_read} 4>&{to_write} \"$@\"", "sh", program, "--headless=new",
                   "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb",
                   f"--user-data-dir={self.profile}", "about:blank"]
        self.process = subprocess.Popen(wrapped, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.session = None
        self.buffer, self.number, self.errors, self.requests = b"", 0, [], []
        target = self.call("Target.getTargets", session=None)["targetInfos"]
        page = next(one for one in target if one["type"] == "page")["targetId"]
        self.session = self.call("Target.attachToTarget", session=None, targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def messages(self, until):
        """Reads what comes, up to `until`; yields each message."""
        while True:
            while b"\0" in self.buffer:
                text, self.buffer = self.buffer.split(b"\0", 1)
                yield json.loads(text)
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise Fault("Chromium gave no answer")
            piece = os.read(self.from_browser, 1 << 20)
            if not piece:
                raise Fault("Chromium ended")
            self.buffer += piece

    def noticed(self, message):
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(given["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "assert"):
            self.errors.append(str([one.get("value", one.get("description")) for one in given["args"]]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])

    def call(self, method, session="", **given):
        self.number += 1
        message = {"id": self.number, "method": method, "params": given}
        if session is not None:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        for answer in self.messages(time.monotonic() + WAIT_S):
            self.noticed(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Fault(f"{method}: {answer['error']['message']}")
                return answer["result"]
        return None

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.requests.clear()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + WAIT_S
        while not self.run("return location.href !== 'about:blank' && document.readyState === 'complete';"):
            if time.monotonic() > until:
                raise Fault(f"{url} was not loaded")
            time.sleep(0.02)
        self.requests = [one for one in self.requests if one.split("#")[0] not in (url.split("#")[0], "about:blank")]

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=f"(async () => {{ {script} }})()", awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise Fault(answer["exceptionDetails"].get("exception", {}).get("description", "failed") + "\nin " + script[:200])
        return answer["result"].get("value")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        try:
            self.call("Browser.close", session=None)
        except (Fault, OSError):
            pass
        ended(self.process)
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)


class Firefox:
    name = "Firefox"
    programs = ("firefox-esr", "firefox")

    def __init__(self, program, dark=False):
        self.profile = tempfile.mkdtemp(prefix="pdhost firefox ")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(os.path.join(self.profile, "user.js"), "w", encoding="ascii") as file:
            file.write(f'user_pref("marionette.port", {port});\n'
                       f'user_pref("layout.css.prefers-color-scheme.content-override", {0 if dark else 1});\n'
                       'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
                       'user_pref("app.update.disabledForTesting", true);\n'
                       'user_pref("network.captive-portal-service.enabled", false);\n'
                       'user_pref("network.connectivity-service.enabled", false);\n'
                       'user_pref("browser.shell.checkDefaultBrowser", false);\n')
        self.process = subprocess.Popen([program, "--headless", "--marionette", "-remote-allow-system-access",
                                         "--no-remote", "--profile", self.profile,
                                         "--width=1280", "--height=800"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self.profile))
        self.number, self.errors, self.requests = 0, [], []
        until = time.monotonic() + WAIT_S
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
                break
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise Fault("Firefox did not start") from None
                time.sleep(0.1)
        self.stream = self.socket.makefile("rb")
        self.read()
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"unhandledPromptBehavior": "ignore"}})
        self.call("WebDriver:SetTimeouts", script=WAIT_S * 1000, pageLoad=WAIT_S * 1000)
        self.call("WebDriver:SetWindowRect", width=1280, height=800)

    def read(self):
        digits = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise Fault("Firefox ended")
            digits += byte
        return json.loads(self.stream.read(int(digits)))

    def call(self, command, **given):
        self.number += 1
        text = json.dumps([0, self.number, command, given]).encode()
        self.socket.sendall(str(len(text)).encode() + b":" + text)
        while True:
            answer = self.read()
            if answer[0] == 1 and answer[1] == self.number:
                if answer[2]:
                    raise Fault(f"{command}: {answer[2].get('message')}")
                return answer[3]

    def open(self, url):
        self.call("WebDriver:Navigate", url="about:blank")
        self.call("Marionette:SetContext", value="chrome")
        self.call("WebDriver:ExecuteScript", script="Services.console.reset();", args=[])
        self.call("Marionette:SetContext", value="content")
        self.call("WebDriver:Navigate", url=url)
        self.requests = self.run("return performance.getEntriesByType('resource').map((one) => one.name);")
        self.notice()

    def notice(self):
        """Errors of the page's own script, which Marionette keeps in the browser's console."""
        self.call("Marionette:SetContext", value="chrome")
        found = self.call("WebDriver:ExecuteScript", args=[], script="""
            return Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError)
              .filter((one) => !(one.flags & 1) && /^file:/.test(one.sourceName)).map((one) => one.errorMessage);""")
        self.call("Marionette:SetContext", value="content")
        self.errors = found["value"]

    def run(self, script):
        text = ("const done = arguments[arguments.length - 1]; (async () => { " + script +
                " })().then((value) => done([value]), (error) => done([null, String(error)]));")
        value = self.call("WebDriver:ExecuteAsyncScript", script=text, args=[], sandbox=None)["value"]
        if len(value) > 1:
            raise Fault(f"{value[1]}\nin {script[:200]}")
        self.notice()
        return value[0]

    def screenshot(self, path):
        value = self.call("WebDriver:TakeScreenshot", full=False)["value"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(value))

    def close(self):
        try:
            self.call("Marionette:Quit", flags=["eForceQuit"])
        except (Fault, OSError):
            pass
        self.socket.close()
        ended(self.process)
        shutil.rmtree(self.profile, ignore_errors=True)


def program_of(kind):
    """The browser's program, or None."""
    return next((found for found in map(shutil.which, kind.programs) if found), None)


def installed(test):
    """(kind, program) of the browsers that are here; prints which are not, and where none is, that `test` is skipped."""
    found = [(kind, program_of(kind)) for kind in (Chromium, Firefox)]
    here = [(kind, program) for kind, program in found if program]
    if not here:
        print(f"SKIPPED: {test}: neither Chromium nor Firefox is installed; scripts/setup --lint installs them")
        return []
    for kind, program in found:
        if not program:
            print(f"left out: {kind.name} is not installed")
    return here
