#!/usr/bin/env python3
"""Take screenshots of pages in a headless Chromium: in all four shapes for review, or for docs/.

    python tools/take_pictures.py OUT PAGE...      every page wide and narrow, light and dark, below OUT
    python tools/take_pictures.py --docs PAGES     the pictures in docs/, of the pages in a folder

For docs/, the folder holds `run.html` (`critests report RUN --html` of a run with failures), `compare.html`
and `bench.html` (`critests compare containerd crio --html`, and the `report.html` of the run that it made),
and `site/` (`critests dashboard RESULTS -o PAGES/site`), whose runtime with most runs is shown.
"""

import argparse
import base64
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the browser of the tests of this checkout

from tests.report.browser import CHROMIUM, SHAPES, Tab, browser  # noqa: E402 - after the line above

TALLEST = 12_000
"""Largest height of a screenshot in pixels."""
DOCS = {
    "report.png": ("run.html", 900, ""),
    "compare.png": ("compare.html", 1150, ""),
    "benchmark.png": ("bench.html", 1300, ""),
    "dashboard.png": ("site/index.html", 900, ""),
    "dashboard-grid.png": ("site/grids/*.html", 1000, "#grid"),
}
"""Screenshot to page, height, and the selector of the element at its top."""


def take(
    tab: Tab, page: Path, target: Path, *, width: int, dark: bool = False, height: int = 0, begin: str = ""
) -> None:
    """Write a screenshot of a page.

    Args:
        tab: A tab of the browser.
        page: The page.
        target: The file.
        width: Width of the window.
        dark: Whether to use the dark colour scheme.
        height: Height of the screenshot; the whole page by default.
        begin: Selector of the element at its top; the top of the page by default.
    """
    tab.open(page.absolute().as_uri(), width=width, dark=dark)
    tab.call("Emulation.setScrollbarsHidden", hidden=True)
    whole = min(int(tab.value("document.documentElement.scrollHeight")), TALLEST)
    top = int(tab.value(f"document.querySelector({begin!r}).getBoundingClientRect().top")) if begin else 0
    clip = {"x": 0, "y": top, "width": width, "height": min(height or whole, whole - top), "scale": 1}
    shot = tab.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    target.write_bytes(base64.b64decode(shot["data"]))


def look_over(tab: Tab, out: Path, pages: list[Path]) -> None:
    """Write a screenshot of every page in every shape."""
    out.mkdir(parents=True, exist_ok=True)
    for page in pages:
        for width, dark in SHAPES:
            target = out / f"{page.stem}-{width}-{'dark' if dark else 'light'}.png"
            take(tab, page, target, width=width, dark=dark)
            print(target)


def for_docs(tab: Tab, pages: Path) -> None:
    """Write the screenshots in docs/, each of the largest page that matches its pattern."""
    for name, (pattern, height, begin) in DOCS.items():
        page = max(pages.glob(pattern), key=lambda path: path.stat().st_size, default=None)
        if page is None:
            print(f"docs/{name}: no page matches {pattern}; not changed")
            continue
        take(tab, page, ROOT / "docs" / name, width=1280, height=height, begin=begin)
        print(f"docs/{name}: {page}, {(ROOT / 'docs' / name).stat().st_size:,} bytes")


def main() -> None:
    """Take the screenshots."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=Path, metavar="PAGES", help="folder of the pages shown in docs/")
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT", help="folder of the pictures")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    given = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("there is no Chromium on the PATH")
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as tab:
        if given.docs:
            for_docs(tab, given.docs)
        elif given.out and given.pages:
            look_over(tab, given.out, given.pages)
        else:
            parser.error("give OUT and pages, or --docs")


if __name__ == "__main__":
    main()
