"""Chromium without a window, driven by the WebDriver protocol that its driver speaks over HTTP."""

import base64
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from free_ports import free_port
from patience import HANGS_S, until

PROGRAMS = ("chromium", "chromedriver")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's own name for a reference
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-dev-shm-usage",
]


def missing_programs() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name) is None]


class Browser:
    """One tab. `dark`, `text_scale` and `language` are what a person would choose in the system's settings."""

    def __init__(self, profile: Path, *, dark: bool = False, text_scale: float = 1.0, language: str = "en") -> None:
        port = free_port()
        self._log = (profile.parent / "chromedriver.log").open("wb")
        self._driver = subprocess.Popen(
            [shutil.which("chromedriver") or "chromedriver", f"--port={port}"],
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=HANGS_S, trust_env=False)
        self._session = ""
        try:
            self._wait_for_driver()
            flags = [*_FLAGS, f"--user-data-dir={profile}"]
            if dark:
                flags.append("--force-dark-mode")
            prefs = {
                "webkit": {"webprefs": {"default_font_size": round(16 * text_scale)}},
                "intl": {"accept_languages": language},
            }
            options = {"binary": shutil.which("chromium"), "args": flags, "prefs": prefs}
            wanted = {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
                "timeouts": {"implicit": 5000},
            }
            answer = self._http.post("/session", json={"capabilities": {"alwaysMatch": wanted}}).json()["value"]
            self._session = f"/session/{answer['sessionId']}"
        except BaseException:
            self.close()
            raise

    def open(self, url: str) -> None:
        self._post("/url", url=url)

    @property
    def url(self) -> str:
        url: str = self._get("/url")
        return url

    def text(self, selector: str = "body") -> str:
        text: str = self._get(f"/element/{self._find(selector)}/text")
        return text

    def type(self, selector: str, text: str) -> None:
        element = self._find(selector)
        self._post(f"/element/{element}/clear")
        self._post(f"/element/{element}/value", text=text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("/actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def click(self, selector: str) -> None:
        self._post(f"/element/{self._find(selector)}/click")

    def follow(self, selector: str) -> None:
        """Click what leads to another page, and wait for it."""
        self.leave(lambda: self.click(selector))

    def leave(self, act: Callable[[], None]) -> None:
        """Wait until `act` has brought another page."""
        self.run("document.documentElement.dataset.left = ''")
        act()
        self.wait("return !('left' in document.documentElement.dataset) && document.readyState === 'complete'")

    def wait(self, condition: str) -> None:
        until(lambda: self.run(condition), condition)

    def run(self, script: str) -> Any:
        return self._post("/execute/sync", script=script, args=[])

    def cookies(self) -> list[dict[str, Any]]:
        cookies: list[dict[str, Any]] = self._get("/cookie")
        return cookies

    def complaints(self) -> list[str]:
        """What the browser's console says, refused styles and scripts included."""
        return [entry["message"] for entry in self._post("/se/log", type="browser")]

    def resize(self, width: int, height: int) -> None:
        """The size of the page's own area, also narrower than a window may be."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._post("/goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=metrics)

    def screenshot(self) -> bytes:
        """The whole page, also what is below the fold."""
        params = {"captureBeyondViewport": True}
        answer = self._post("/goog/cdp/execute", cmd="Page.captureScreenshot", params=params)
        return base64.b64decode(answer["data"])

    def close(self) -> None:
        try:
            if self._session:
                self._http.delete(self._session)
        finally:
            self._http.close()
            os.killpg(self._driver.pid, signal.SIGKILL)  # the driver with all that it has started
            self._driver.wait(HANGS_S)
            self._log.close()

    def _wait_for_driver(self) -> None:
        def ready() -> bool:
            assert self._driver.poll() is None, "chromedriver did not start"
            with suppress(httpx.TransportError):
                return bool(self._http.get("/status").json()["value"]["ready"])
            return False

        until(ready, "chromedriver to start", look_every_s=0.05)

    def _find(self, selector: str) -> str:
        element: str = self._post("/element", using="css selector", value=selector)[_ELEMENT]
        return element

    def _get(self, path: str) -> Any:
        return self._value(self._http.get(self._session + path))

    def _post(self, path: str, **body: Any) -> Any:
        return self._value(self._http.post(self._session + path, json=body))

    @staticmethod
    def _value(answer: httpx.Response) -> Any:
        value = answer.json()["value"]
        assert answer.status_code == 200, value
        return value
