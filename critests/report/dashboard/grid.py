"""Grids of bands, assembled from escaped pieces: a template engine would need a minute for them.

Columns with equal verdicts side by side are one cell. That keeps a page of 900 requirements and 80 columns
small and quick, and a screen reader says `✓` once and not eighty times.
"""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

from critests.report.dashboard.lines import Promise, RuntimeLine
from critests.report.page.templating import SYMBOLS
from critests.report.store.history import BAND, RECENT, Column, bands
from critests.report.store.letters import UNTESTED, WORDS
from critests.report.wording.texts import one_line

MARKS: Final = {letter: SYMBOLS[word] for letter, word in WORDS.items()} | {UNTESTED: ""}
CELL_LIMIT: Final = 6_000
"""Bands on one page; the oldest columns are left out until there are no more."""
FEWEST_COLUMNS: Final = 5
TITLED_LIMIT: Final = 1_200
"""Bands on one page that say on hovering what and when they are."""
QUIET: Final = frozenset({"P", "U", UNTESTED})
TITLE_LENGTH: Final = 110


def safe(text: str, limit: int = 300) -> str:
    """Return a text on one line, harmless and escaped."""
    return str(escape(one_line(text, limit)))


def fitting(line: RuntimeLine) -> list[Column]:
    """Return as many of a line's columns as a page can show."""
    wanted = line.columns
    while len(wanted) > FEWEST_COLUMNS and _bands(line, len(wanted)) > CELL_LIMIT:
        wanted = wanted[: max(FEWEST_COLUMNS, len(wanted) * 4 // 5)]
    return wanted


def grid_body(line: RuntimeLine, promises: Sequence[Promise], wanted: Sequence[Column]) -> Markup:
    """Return the rows of a line's grid, a `tbody` for each group.

    Args:
        line: The runtime and version.
        promises: The requirements, in order; those that no run tested are left out.
        wanted: The columns.
    """
    parts: list[str] = []
    group, width, titled = "", len(wanted) + 1, TITLED_LIMIT
    for promise in promises:
        now = line.states[promise.place]
        if now.letter == UNTESTED:
            continue
        if promise.group != group:
            parts.append("</tbody>" if group else "")
            group = promise.group
            parts.append(
                f'<tbody><tr class="group"><th colspan="{width}" scope="rowgroup">{safe(group)}</th></tr>'
            )
        kinds = "q" + (" dev" if now.deviating else "") + (" chg" if now.changed else "")
        letters = line.shown[promise.place][: len(wanted)]
        cells, titled = cells_of(letters, wanted, titled)
        title = safe(promise.title, TITLE_LENGTH)
        parts.append(
            f'<tr class="{kinds}"><th scope="row"><a'
            f' href="../requirements/{promise.page}.html">{safe(promise.id, 40)}</a>'
            f" <span>{title}</span></th>{cells}</tr>\n"
        )
    parts.append("</tbody>" if group else "")
    return Markup("".join(parts))  # noqa: S704 - every text in it went through `safe`


def cells_of(letters: str, wanted: Sequence[Column], titled: int) -> tuple[str, int]:
    """Return the cells of a row, and how many more may have a title."""
    cells = []
    for letter, start, end in bands(letters):
        span = f' colspan="{end - start}"' if end - start > 1 else ""
        title = ""
        if letter not in QUIET and titled > 0:
            titled -= 1
            newest, oldest = safe(wanted[start].label), safe(wanted[end - 1].label)
            title = f' title="{WORDS[letter]}, {oldest}' + (f" to {newest}" if newest != oldest else "") + '"'
        cells.append(f'<td class="{"n" if letter == UNTESTED else letter}"{span}{title}>{MARKS[letter]}</td>')
    return "".join(cells), titled


def row_cells(line: RuntimeLine, place: int) -> Markup:
    """Return the cells of one requirement's row on its own page: the newest runs, then weeks from a fixed
    place on.
    """
    wanted = line.columns
    recent = line.recent
    letters = line.shown[place]
    cells, _ = cells_of(letters[:recent], wanted[:recent], RECENT)
    if recent < RECENT:
        cells += f'<td class="n" colspan="{RECENT - recent}"></td>'
    older, _ = cells_of(letters[recent:], wanted[recent:], RECENT)
    return Markup(cells + older)  # noqa: S704 - letters and times of ours


def _bands(line: RuntimeLine, width: int) -> int:
    """Count the bands of a grid with so many columns."""
    return sum(len(BAND.findall(letters, 0, width)) for letters in line.shown)
