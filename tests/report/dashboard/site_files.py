"""The files of a site, parsed: what nests, what links where, what is text."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote


class Page(HTMLParser):
    """Collects tags, attributes and text; refuses tags that do not nest and attributes that come twice."""

    VOID = frozenset({"meta", "input", "br", "link", "col"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), self.get_starttag_text()
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, name: str) -> list[str]:
        """Every value of an attribute."""
        return [value for _, found, value in self.attributes if found == name]


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
