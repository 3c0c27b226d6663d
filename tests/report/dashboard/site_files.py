"""The files of a site, parsed, and whether their links lead anywhere."""

from pathlib import Path
from urllib.parse import unquote

from tests.report.pages import Page


def pages_of(site: Path) -> dict[str, Page]:
    """Every HTML page of a site, by its name."""
    return {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }


def broken_links(site: Path, pages: dict[str, Page]) -> list[str]:
    """Links that lead to no file of the site, or to no place on a page."""
    broken = []
    for name, page in pages.items():
        for address in [*page.all("href"), *page.all("src")]:
            path, _, anchor = address.partition("#")
            target = (site / name).parent / unquote(path) if path else site / name
            known = (
                target.resolve().relative_to(site.resolve()).as_posix()
                if target.resolve().is_relative_to(site.resolve())
                else ""
            )
            if known not in pages:
                broken += [] if target.is_file() and known else [f"{name}: {address}"]
            elif anchor and anchor not in pages[known].all("id"):
                broken.append(f"{name}: {address}")
    return broken
