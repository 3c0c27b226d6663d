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
SHAPES = [(1280, False), (390, False), (1280, True), (390, True)]
"""Width of the window and whether the dark scheme is wanted."""
SCREEN = 900
"""Pixels of height of what is seen first."""
CONTRAST = """(() => {
  const parse = (text) => {
    const numbers = text.match(/[\\d.]+(e-?\\d+)?/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers.length > 3 ? numbers[3] : 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (colour) => {
    const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.slice(0, 3).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const poor = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest("svg, .say, .skip, script, .hide")) continue;
    if (!element.getClientRects().length) continue;
    const below = ground(element), text = over(parse(getComputedStyle(element).color), below);
    const [high, low] = [light(text), light(below)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    const named = `${element.tagName}.${element.className}`;
    if (ratio < 4.5) poor.add(`${named} ${ratio.toFixed(2)} ${element.textContent.slice(0, 20)}`);
  }
  return [...poor];
})()"""
"""Texts of poor contrast."""
CUT_OFF = """(() => {
  const scrolls = (element) => {
    for (let each = element.parentElement; each && each !== document.body; each = each.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
    return false;
  };
  const cut = [];
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest(".say, .skip, script, svg, .hide") || !element.getClientRects().length) continue;
    if (getComputedStyle(element).clipPath !== "none" || scrolls(element)) continue;
    const box = element.getBoundingClientRect();
    const hidden = ["hidden", "clip"].includes(getComputedStyle(element).overflowX);
    const beyond = box.right > innerWidth + 1 || box.left < -1;
    if (beyond || (hidden && element.scrollWidth > element.clientWidth + 1))
      cut.push(`${element.tagName}.${element.className} ${element.textContent.trim().slice(0, 40)}`);
  }
  return cut;
})()"""
"""What lies beyond the window, or is hidden by what it lies in, where no scrolling shows it."""


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
        """Call a method of the protocol; collect the events that arrive meanwhile."""
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
            height=SCREEN,
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

    def open_all(self) -> None:
        """Open whatever is folded."""
        self.value("document.querySelectorAll('details').forEach((each) => { each.open = true })")

    def press(self, key: str, code: int) -> None:
        """Press a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind, more in (("keyDown" if text else "rawKeyDown", text), ("keyUp", {})):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more
            )

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


def faults(tab: Tab, address: str, width: int, *, dark: bool, headline: str = "#headline") -> dict[str, Any]:
    """Open a page in one shape, and return what a reader would hold against it; nothing of a good one.

    Args:
        tab: Of the browser.
        address: The page.
        width: Of the window.
        dark: Whether the dark scheme is wanted.
        headline: Selects what has to be on the first screen, whole.
    """
    tab.open(address, width=width, dark=dark)
    box = f"document.querySelector({headline!r})?.getBoundingClientRect().bottom ?? 1e9"
    found = {
        "headline ends at": max(tab.value(box) - SCREEN, 0),
        "wider than the window by": max(tab.value("document.documentElement.scrollWidth") - width, 0),
        "cut off": tab.value(CUT_OFF),
        "poor contrast": tab.value(CONTRAST),
        "the browser says": tab.complaints(),
    }
    return {name: what for name, what in found.items() if what}


def height(tab: Tab) -> int:
    """Return the height of the open page in pixels."""
    return int(tab.value("document.documentElement.scrollHeight"))


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
