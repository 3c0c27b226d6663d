"""A headless Chromium, driven over its own protocol."""

import contextlib
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS = 90


class Tab:
    """One page of the browser.

    Args:
        address: Of its debugging socket.
    """

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=SECONDS)
        self._number = 0
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Log", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol; events that come meanwhile are kept."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def open(self, address: str, *, width: int = 1400, dark: bool = False, scripts: bool = True) -> None:
        """Open a page and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call(
            "Emulation.setEmulatedMedia",
            features=[*features, {"name": "prefers-reduced-motion", "value": "reduce"}],
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(json.loads(self._socket.recv()))

    def value(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page says
        """Evaluate an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def asked_for(self) -> list[str]:
        """Every address that the page asked for since it was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """What the browser wrote into its log since the page was opened."""
        return [
            event["params"]["entry"]["text"] for event in self.events if event["method"] == "Log.entryAdded"
        ]


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Start a browser with an empty profile and end it again."""
    assert CHROMIUM is not None
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-port=0",
        "--remote-allow-origins=*",
    ]
    process = subprocess.Popen(
        [CHROMIUM, *options, f"--user-data-dir={profile}", "about:blank"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = next((line for line in process.stderr if "DevTools listening on" in line), "")
        port = line.partition("127.0.0.1:")[2].partition("/")[0]
        if not port:
            pytest.skip("Chromium is installed and does not start here")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=SECONDS) as answer:
            targets = json.load(answer)
        with contextlib.closing(
            Tab(next(target for target in targets if target["type"] == "page")["webSocketDebuggerUrl"])
        ) as tab:
            yield tab
    finally:
        process.terminate()
        process.wait(SECONDS)
        if process.stderr is not None:
            process.stderr.close()
