#!/usr/bin/env python3
"""Update the quotes in README and docs: results of published runs, tests and faults.

    python tools/generate_doc_quotes.py            write the pages
    python tools/generate_doc_quotes.py --check    write nothing; exit 1 if a page is out of date

A page marks a quote by `<!-- quote WHAT -->` and `<!-- /quote -->`, where WHAT is `runtimes`,
`FILE.py::FUNCTION` or `FILE.faults.toml::ID`.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # import critests of this checkout, not an installed one

from critests import toml_file  # noqa: E402 - after sys.path
from critests.record.files import read  # noqa: E402 - after sys.path
from critests.record.identity import RuntimeIdentity  # noqa: E402 - after sys.path
from critests.record.run_layout import COMPRESSED_RUN_FILE  # noqa: E402 - after sys.path
from critests.record.run_record import RunRecord  # noqa: E402 - after sys.path
from critests.report.facts.musts import musts  # noqa: E402 - after sys.path

QUOTE = re.compile(r"(<!-- quote (?P<what>\S+) -->)(?P<old>.*?)(<!-- /quote -->)", re.DOTALL)


class QuoteNotFound(LookupError):
    """The quoted function, fault or file does not exist."""


def runtimes() -> str:
    """Return a table of the MUSTs that each runtime meets, from the published runs of the newest catalogue
    that cover all of them; the numbers of each row add up to the same sum.
    """
    paths = (ROOT / "results/published").glob(f"*/*/*/{COMPRESSED_RUN_FILE}")
    records = sorted(filter(_has_every_must, map(read, paths)), key=lambda record: record.started)
    newest = [record for record in records if record.catalogue_revision == records[-1].catalogue_revision]
    columns = ["runtime", "met", "failed in 1 of 21 tries", "broken", "feature not offered", "blocked"]
    lines = [f"| {' | '.join(columns)} |", f"|---|{'---:|' * (len(columns) - 1)}"]
    for record in sorted(newest, key=lambda record: _named(record.runtime)):
        found = musts(record)
        numbers = [found.met, found.once, len(found.broken), found.unoffered, found.blocked]
        lines.append(f"| {_named(record.runtime)} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def _has_every_must(record: RunRecord) -> bool:
    return record.scope is not None and record.scope.selection in {"", "--profile must"}


def _named(runtime: RuntimeIdentity) -> str:
    version = re.split(r"[+~]", runtime.version)[0]
    others = [handler for handler in runtime.handlers if handler]
    return f"{runtime.name} {version}" + (f" with {', '.join(others)}" if others else "")


def function(file: Path, name: str) -> str:
    """Return a function with its decorators."""
    text = file.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            lines = text.splitlines()[first - 1 : node.end_lineno]
            return "\n".join(["```python", *lines, "```"])
    raise QuoteNotFound(name)


def fault(file: Path, name: str) -> str:
    """Return the entry of a fault."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for entry in toml_file.read(file).entries("fault"):
        if entry.values.get("id") == name:
            following = lines[entry.line - 1 :]
            end = next((number for number, line in enumerate(following) if not line), len(following))
            return "\n".join(["```toml", *following[:end], "```"])
    raise QuoteNotFound(name)


def quoted(what: str) -> str:
    """Return the text between the two marks of a quote.

    Raises:
        QuoteNotFound: nothing has this name.
    """
    if what == "runtimes":
        return f"\n{runtimes()}\n"
    place, _, name = what.partition("::")
    file = ROOT / place
    if not file.is_file():
        raise QuoteNotFound(place)
    return f"\n{fault(file, name) if file.suffix == '.toml' else function(file, name)}\n"


def filled_in(page: str) -> str:
    """Return a page with its quotes updated.

    Raises:
        QuoteNotFound: a quoted object does not exist.
    """
    return QUOTE.sub(lambda match: match[1] + quoted(match["what"]) + match[4], page)


def main(arguments: list[str]) -> int:
    """Write or check the pages; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a page is out of date")
    options = parser.parse_args(arguments)
    wrong: list[str] = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        try:
            new = filled_in(text)
        except QuoteNotFound as error:
            wrong.append(f"{page.name} quotes something that does not exist: {error}")
            continue
        if new != text and options.check:
            wrong.append(f"{page.name} is out of date: run `make docs`")
        elif new != text:
            page.write_text(new, encoding="utf-8")
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
