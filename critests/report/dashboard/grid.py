"""Grids of bands, assembled from escaped strings, as a template engine would take a minute.

Adjacent columns with equal verdicts are one cell, a band. That makes a page of 900 requirements and 80
columns small and fast, and a screen reader reads `✓` once, not eighty times.
"""

from collections.abc import Callable, Sequence
from typing import Final

from markupsafe import Markup, escape

from critests.report.dashboard.lines import Promise, RuntimeLine
from critests.report.page.templating import SYMBOLS
from critests.report.store import RunEntry
from critests.report.store.history import BAND, RECENT, Column, bands
from critests.report.store.letters import BROKEN, UNTESTED, WORDS
from critests.report.wording.texts import one_line

MARKS: Final = {letter: SYMBOLS[word] for letter, word in WORDS.items()} | {UNTESTED: ""}
CELL_LIMIT: Final = 6_000
"""Bands on one page; the oldest columns are dropped until they fit."""
FEWEST_COLUMNS: Final = 5
TITLED_LIMIT: Final = 1_200
"""Bands on one page with a tooltip of verdict and time."""
QUIET: Final = frozenset({"P", "U", UNTESTED})
TITLE_LENGTH: Final = 110


def safe(text: str, limit: int = 300) -> str:
    """Return a text on one line, escaped for HTML."""
    return str(escape(one_line(text, limit)))


def fitting(line: RuntimeLine) -> list[Column]:
    """Return as many of a line's columns as fit a page."""
    visible = line.columns
    while len(visible) > FEWEST_COLUMNS and _bands(line, len(visible)) > CELL_LIMIT:
        visible = visible[: max(FEWEST_COLUMNS, len(visible) * 4 // 5)]
    return visible


def grid_body(
    line: RuntimeLine,
    promises: Sequence[Promise],
    wanted: Sequence[Column],
    link: Callable[[RunEntry], str],
) -> Markup:
    """Return the rows of a line's grid, a `tbody` per group.

    Args:
        line: The runtime and version.
        promises: The requirements, in order; untested ones are left out.
        wanted: The columns.
        link: Returns the address of a run's report, or an empty text.
    """
    addresses = [escape(link(line.runs[column.first])) for column in wanted]
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
        anchored: list[str] = []
        if BROKEN.intersection(letters):
            anchored = [f"{address}#r-{safe(promise.id)}" if address else "" for address in addresses]
        cells, titled = cells_of(letters, wanted, titled, anchored)
        title = safe(promise.title, TITLE_LENGTH)
        parts.append(
            f'<tr class="{kinds}"><th scope="row"><a'
            f' href="../requirements/{promise.page}.html">{safe(promise.id, 40)}</a>'
            f" <span>{title}</span></th>{cells}</tr>\n"
        )
    parts.append("</tbody>" if group else "")
    return Markup("".join(parts))  # noqa: S704 - every text in it went through `safe`


def cells_of(
    letters: str, wanted: Sequence[Column], titled: int, addresses: Sequence[str] = ()
) -> tuple[str, int]:
    """Return the cells of a row, and how many more cells may have a tooltip.

    Args:
        letters: Of the columns.
        wanted: The columns.
        titled: How many cells may have a tooltip.
        addresses: Of the requirement in the report of each column's run, escaped; empty ones for no link. A
            band of broken runs links to its newest.
    """
    cells = []
    for letter, start, end in bands(letters):
        span = f' colspan="{end - start}"' if end - start > 1 else ""
        title = ""
        if letter not in QUIET and titled > 0:
            titled -= 1
            newest, oldest = safe(wanted[start].label), safe(wanted[end - 1].label)
            title = f' title="{WORDS[letter]}, {oldest}' + (f" to {newest}" if newest != oldest else "") + '"'
        mark = MARKS[letter]
        if letter in BROKEN and addresses and addresses[start] and not wanted[start].week:
            mark = f'<a href="{addresses[start]}">{mark}</a>'
        cells.append(f'<td class="{"n" if letter == UNTESTED else letter}"{span}{title}>{mark}</td>')
    return "".join(cells), titled


def row_cells(line: RuntimeLine, place: int) -> Markup:
    """Return the cells of a line on a requirement's page: the newest runs, then weeks in aligned columns."""
    wanted = line.columns
    recent = line.recent
    letters = line.shown[place]
    cells, _ = cells_of(letters[:recent], wanted[:recent], RECENT)
    if recent < RECENT:
        cells += f'<td class="n" colspan="{RECENT - recent}"></td>'
    older, _ = cells_of(letters[recent:], wanted[recent:], RECENT)
    return Markup(cells + older)  # noqa: S704 - letters and times of ours


def _bands(line: RuntimeLine, width: int) -> int:
    """Return the number of bands in a grid of `width` columns."""
    return sum(len(BAND.findall(letters, 0, width)) for letters in line.shown)
