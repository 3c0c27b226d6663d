"""Pages, parsed: what nests, what links where, what is text, and whether anything in them could act."""

import re
from html.parser import HTMLParser

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""What a terminal or a browser would act upon."""

LEADING = frozenset({"href", "for", "aria-labelledby", "aria-describedby"})
"""Attributes that name a place of the page."""


class Page(HTMLParser):
    """Collects tags, attributes and text; refuses tags that do not nest and attributes that come twice."""

    VOID = frozenset({"meta", "input", "br", "link", "col"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
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

    @property
    def text(self) -> str:
        """All text, its white space as a browser shows it."""
        return " ".join(" ".join(self.texts).split())

    def all(self, name: str) -> list[str]:
        """Every value of an attribute."""
        return [value for _, found, value in self.attributes if found == name]


def is_inert(page: Page, *, scripts: int = 0) -> None:
    """Hold a page of one file against what it must not do: ask for anything, run what is not ours, lead
    nowhere.
    """
    assert page.tags.count("script") == scripts
    assert page.tags.count("style") == 1
    assert not {"link", "img", "image", "iframe", "object", "form", "base", "use"} & set(page.tags)
    asking = {"src", "action", "srcset", "xlink:href"}
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in asking]
    assert {address[0] for address in page.all("href")} <= {"#"}
    assert "url(" not in page.source
    assert "@import" not in page.source
    assert not FORBIDDEN.search(page.source)
    ids = page.all("id")
    assert len(ids) == len(set(ids))
    targets = {value for _, name, value in page.attributes if name in LEADING}
    assert {target.lstrip("#") for target in targets} <= set(ids)
    (policy,) = [value for _, name, value in page.attributes if name == "content" and "default-src" in value]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
