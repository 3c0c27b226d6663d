#!/usr/bin/env python3
"""Write docs/catalogue.md: every requirement, its aspects and levels, and which test judges it.

The page is not committed: `make docs` writes it, for a checkout and for a site.
Exits 1, and writes nothing, where a test names an id that the catalogue does not have, and the like.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(
    0, str(ROOT)
)  # the page is about the catalogue of this checkout, not about one that happens to be installed

from critests import catalogue  # noqa: E402 - after the line above
from critests.catalogue import Aspect, Catalogue, Group, Level, Requirement  # noqa: E402 - as above
from critests.catalogue.references import Reference, problems_of, references_below  # noqa: E402 - as above
from critests.catalogue.rpcs import all_rpcs  # noqa: E402 - as above

PAGE = ROOT / "docs" / "catalogue.md"
TESTS = ROOT / "critests" / "validation"
TESTS_FROM_PAGE = "../critests/validation"
NOT_YET = "not yet"

INTRODUCTION = """\
# Catalogue of requirements

What a runtime of the Container Runtime Interface promises: {requirements} requirements with {aspects}
aspects, of which {tests} tests judge {tested} so far, and no test on a single Linux machine can decide
{untestable}; the reason stands in the place of their tests. {elsewhere} more are judged by the tests of
others, which stand in that place. A test judges one aspect and names it: `SBA-17` where a requirement has a
single aspect, `SBX-26/error` where it has several. An id is never used again.

This page is written by `tools/generate_catalogue_doc.py` from `critests/catalogue/data/`, one TOML file a
group; do not edit it. Revision of the data: `{revision}`.

## How to read it

**Level.** A breach of `MUST` is a failure, of `SHOULD` a warning. `OPT` is an optional feature: binding where
it is found, unsupported elsewhere. `DIV`: the API is silent and runtimes differ; the observed form is
recorded, and only a hang, crash or leak fails. `†`: no text of the API demands it, it is our engineering
judgement; a breach is a warning at most.
*Disruptive*: the test restarts, starves or provokes the daemon; it runs on a throwaway runtime, or with
`--disruptive`.

**Since.** The Kubernetes minor in which the field, the RPC or the rule first shipped; `≤1.15` is older than
CRI v1 itself (1.20); `-` is not tied to a version. *Declared*: nothing on the wire shows whether the runtime
is that new; the level holds where the user says so with `--api-level`.

**Source.** `P`: a comment of the API's own proto file. `CT`: critest, of cri-tools. `CD:`: a containerd
integration test. `CO:`: a CRI-O test file. `NE`: the node tests of Kubernetes. `KL`: what the kubelet does.
`SL`: the streaming library k8s.io/cri-streaming, which containerd and CRI-O share. `owner#number`: an issue.
*observed*: seen on containerd 2.1 or CRI-O 1.37.

**critest.** Whether critest asserts the same: `yes`; `partly`, weakly or in one case only;
`no`.

### Keys of the data files

A file has `order` (of the groups), `title` and `area`, then a table for each requirement:

| key | meaning | if absent |
|---|---|---|
| `statement` | what is promised | |
| `fields`, `rpcs` | what it is about, for people and for programs | |
| `source` | where it comes from | |
| `since` | `1.N`; `1.15` stands for 1.15 or older | not tied to a version |
| `critest` | `yes`, `partly`, `no` | `no` |
| `feature` | the optional feature it depends on, a key of `features.toml` | none |
| `rev` | raised when the statement changes | 1 |
| `own_test` | `false`: a rule about how the suite is run | `true` |
| `aspects` | the aspects by `name`, where there are several; the keys below are then theirs | one, unnamed |
| `level` | MUST, SHOULD, OPT, DIV | |
| `judgement` | `true`: † | `false` |
| `disruptive` | `true`: see above | `false` |
| `scope` | which part of the statement the aspect covers | all of it |
| `detection` | when it applies: how the feature is found, or a condition | always |
| `since` (of an aspect) | where it differs from the requirement's | the same |
| `declared_since` | the level holds where the user declares this version or newer | nothing to declare |
| `undeclared_level` | the level otherwise | a breach is unsupported |
| `untestable` | why no test on a single Linux machine can decide it; above all tables: for each | one can |
| `judged_by` | other aspects, whose tests judge this one too | tests of its own do |
"""


def document(entries: Catalogue, references: tuple[Reference, ...]) -> str:
    """Return the page."""
    tests: dict[str, list[Reference]] = {}
    for reference in references:
        for aspect in reference.aspects:
            tests.setdefault(aspect, []).append(reference)
    introduction = INTRODUCTION.format(
        requirements=len(entries.requirements),
        aspects=len(entries.aspects),
        tests=len(references),
        tested=len(tests),
        untestable=sum(bool(aspect.untestable) for _, aspect in entries.aspects.values()),
        elsewhere=sum(bool(aspect.judged_by) for _, aspect in entries.aspects.values()),
        revision=entries.revision,
    )
    parts = [introduction, "\n".join(_index(entries, tests)), "\n".join(_features(entries))]
    parts.append("\n".join(_rpcs(entries)))
    parts += ["\n".join(_group(group, tests)) for group in entries.groups]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _index(entries: Catalogue, tests: dict[str, list[Reference]]) -> Iterator[str]:
    yield "## Groups"
    yield ""
    yield "| group | area | requirements | aspects | MUST | SHOULD | OPT | DIV | tested | untestable |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for group in entries.groups:
        aspects = [aspect for entry in group.requirements for aspect in entry.aspects]
        levels = " | ".join(str(sum(aspect.level is level for aspect in aspects)) for level in Level)
        tested = sum(aspect.id in tests for aspect in aspects)
        untestable = sum(bool(aspect.untestable) for aspect in aspects)
        link = f"[{group.prefix}: {_text(group.title)}](#{group.prefix.lower()})"
        counted = f"{len(group.requirements)} | {len(aspects)} | {levels} | {tested} | {untestable}"
        yield f"| {link} | {group.area} | {counted} |"


def _features(entries: Catalogue) -> Iterator[str]:
    yield "## Optional features"
    yield ""
    yield "| feature | found out by | requirements |"
    yield "|---|---|---|"
    for feature, probe in entries.features.items():
        using = [entry.id for entry in entries.requirements if entry.feature == feature]
        yield f"| {_text(feature)} | {_text(probe)} | {', '.join(using)} |"


def _rpcs(entries: Catalogue) -> Iterator[str]:
    group_of = {entry.id: group.prefix.lower() for group in entries.groups for entry in group.requirements}
    yield "## RPCs"
    yield ""
    yield "What a runtime must have. One that is optional, or younger than what the runtime is proven or"
    yield "declared to know, may answer with Unimplemented; any other that does is one failure, under what"
    yield "judges it."
    yield ""
    yield "| RPC | must be there | since | judged by | why |"
    yield "|---|---|---|---|---|"
    for rpc in all_rpcs().values():
        judge = f"[{rpc.judge}](#{group_of[rpc.judge.partition('/')[0]]})"
        there = "yes" if rpc.mandatory else "no"
        yield f"| {rpc.name} | {there} | {rpc.since} | {judge} | {_text(rpc.why)} |"


def _group(group: Group, tests: dict[str, list[Reference]]) -> Iterator[str]:
    yield f'<a id="{group.prefix.lower()}"></a>'
    yield ""
    yield f"## {group.prefix}: {_text(group.title)}"
    yield ""
    yield "| id | level | statement | since | source | critest | tested by |"
    yield "|---|---|---|---|---|---|---|"
    for entry in group.requirements:
        yield from _rows(entry, tests)


def _rows(entry: Requirement, tests: dict[str, list[Reference]]) -> Iterator[str]:
    about = f"{_text(entry.source)} | {entry.critest}"
    if len(entry.aspects) == 1:
        aspect = entry.aspects[0]
        statement = _text(entry.statement) + _conditions(aspect.scope, aspect.detection)
        yield (
            f"| {entry.id} | {_level(aspect)} | {statement} | {_since(aspect)} | {about} |"
            f" {_tested(entry, aspect, tests)} |"
        )
        return
    yield f"| {entry.id} | | {_text(entry.statement)} | | {about} | |"
    for aspect in entry.aspects:
        scope = _text(aspect.scope) + _conditions("", aspect.detection)
        yield (
            f"| {aspect.id} | {_level(aspect)} | {scope} | {_since(aspect)} | | |"
            f" {_tested(entry, aspect, tests)} |"
        )


def _level(aspect: Aspect) -> str:
    words = f"{aspect.level} †" if aspect.judgement else str(aspect.level)
    if aspect.declared_since:
        words += f" (declared; else {aspect.undeclared_level or 'unsupported'})"
    return f"{words}, *disruptive*" if aspect.disruptive else words


def _since(aspect: Aspect) -> str:
    if aspect.since_minor is None:
        return "-"
    return "≤1.15" if aspect.since_minor <= 15 else aspect.since


def _conditions(scope: str, detection: str) -> str:
    return "".join(f" *({word}{_text(text)})*" for word, text in (("", scope), ("when: ", detection)) if text)


def _tested(entry: Requirement, aspect: Aspect, tests: dict[str, list[Reference]]) -> str:
    if not entry.own_test:
        return "rule of the suite"
    if aspect.untestable:
        return f"no test: {_text(aspect.untestable)}"
    if aspect.judged_by:
        return f"the tests of {', '.join(aspect.judged_by)}"
    found = tests.get(aspect.id)
    if not found:
        return NOT_YET
    return "<br>".join(
        f"[{test.name}]({TESTS_FROM_PAGE}/{test.file.as_posix()}): {_text(test.title)}" for test in found
    )


def _text(text: str) -> str:
    """Return a text as a Markdown table cell shows it unchanged."""
    for character, escape in (("\\", "\\\\"), ("|", "\\|"), ("*", "\\*"), ("<", "&lt;")):
        text = text.replace(character, escape)
    return text


def main(arguments: list[str]) -> int:
    """Write the page; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tests",
        type=Path,
        default=TESTS,
        metavar="DIR",
        help="where the tests are (default: critests/validation)",
    )
    parser.add_argument(
        "--page", type=Path, default=PAGE, metavar="FILE", help="the page (default: docs/catalogue.md)"
    )
    options = parser.parse_args(arguments)
    entries = catalogue.load()
    references = references_below(options.tests)
    if problems := problems_of(references, entries):
        print("\n".join(problems), file=sys.stderr)
        return 1
    page: Path = options.page
    page.write_text(document(entries, references), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
