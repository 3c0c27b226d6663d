#!/usr/bin/env python3
"""Write docs/catalogue.md: every requirement, its aspects and levels, and the tests that judge it.

The page is not committed: `make docs` writes it, for a checkout and for a site.
Exits 1 and writes nothing on an inconsistency, such as a test with an id that the catalogue does not define.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # import the catalogue of this checkout, not of an installed critests

from critests import catalogue  # noqa: E402 - after sys.path
from critests.catalogue import Aspect, Catalogue, Group, Level, Requirement  # noqa: E402 - after sys.path
from critests.catalogue.references import Reference, problems_of, references_below  # noqa: E402 - after sys.path
from critests.catalogue.rpcs import all_rpcs  # noqa: E402 - after sys.path

PAGE = ROOT / "docs" / "catalogue.md"
TESTS = ROOT / "critests" / "validation"
TESTS_FROM_PAGE = "../critests/validation"
NOT_YET = "not yet"

INTRODUCTION = """\
# Catalogue of requirements

The requirements for a runtime of the Container Runtime Interface: {requirements} requirements with {aspects}
aspects. {tests} tests judge {tested} aspects; no test on a single Linux machine can decide {untestable}
others, for which the table gives the reason. {elsewhere} more are judged by the tests of other aspects, which
the table names. A test judges one aspect and names it: `SBA-17` for a requirement with a single aspect,
`SBX-26/error` for one with several. An id is never reused.

`tools/generate_catalogue_doc.py` writes this page from `critests/catalogue/data/`, one TOML file per group;
do not edit it. Revision of the data: `{revision}`.

## How to read it

**Level.** A breach of `MUST` is a failure, of `SHOULD` a warning. `OPT` is an optional feature: binding if
the runtime has it, otherwise unsupported. `DIV`: the API leaves a choice and runtimes differ; the run
records the variant, and only a hang, crash or leak fails. `†`: our engineering judgement, which no text of
the API requires; a breach is at most a warning.
*Disruptive*: the test restarts, starves or provokes the daemon; it runs on a private runtime, or with
`--disruptive`.

**Since.** The Kubernetes minor version that introduced the field, the RPC or the rule; `≤1.15` is older than
CRI v1 itself (1.20); `-` is not tied to a version.

**Source.** `P`: a comment of the API's own proto file. `CT`: critest, of cri-tools. `CD:`: a containerd
integration test. `CO:`: a CRI-O test file. `NE`: the node tests of Kubernetes. `KL`: what the kubelet does.
`SL`: the streaming library k8s.io/cri-streaming of containerd and CRI-O. `owner#number`: an issue.
*observed*: observed on containerd 2.1 or CRI-O 1.37.

**critest.** Whether critest asserts the same: `yes`; `partly` (weaker, or in one case only); `no`.

### Keys of the data files

A file has `order` (of the groups), `title` and `area`, and a table for each requirement:

| key | meaning | if absent |
|---|---|---|
| `statement` | the requirement | |
| `fields`, `rpcs` | the fields and RPCs that it concerns | |
| `source` | its source | |
| `since` | `1.N`; `1.15` means 1.15 or older | not tied to a version |
| `critest` | `yes`, `partly`, `no` | `no` |
| `feature` | the optional feature it depends on, a key of `features.toml` | none |
| `rev` | raised when the statement changes | 1 |
| `own_test` | `false`: a rule about running the suite | `true` |
| `aspects` | the aspects by `name`, if there are several; each then has the keys below | one, unnamed |
| `level` | MUST, SHOULD, OPT, DIV | |
| `judgement` | `true`: † | `false` |
| `disruptive` | `true`: see above | `false` |
| `scope` | the part of the statement that the aspect covers | all of it |
| `detection` | when it applies: how the feature is detected, or a condition | always |
| `since` (of an aspect) | if it differs from that of the requirement | the same |
| `untestable` | why no test on a single Linux machine can decide it; above all tables: for all | testable |
| `judged_by` | other aspects, whose tests also judge this one | its own tests |
| `builds_on` | the requirement whose failure blocks this aspect, as it cannot be met without it | none |
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
    yield "| feature | detected by | requirements |"
    yield "|---|---|---|"
    for feature, probe in entries.features.items():
        using = [entry.id for entry in entries.requirements if entry.feature == feature]
        yield f"| {_text(feature)} | {_text(probe)} | {', '.join(using)} |"


def _rpcs(entries: Catalogue) -> Iterator[str]:
    group_of = {entry.id: group.prefix.lower() for group in entries.groups for entry in group.requirements}
    yield "## RPCs"
    yield ""
    yield "The RPCs that a runtime must implement. An RPC that is optional, or newer than the API version"
    yield "that the runtime is known or declared to support, may return UNIMPLEMENTED; for any other RPC"
    yield "this is one failure, of the requirement that judges it."
    yield ""
    yield "| RPC | mandatory | since | judged by | why |"
    yield "|---|---|---|---|---|"
    for rpc in all_rpcs().values():
        judge = f"[{rpc.judge}](#{group_of[rpc.judge.partition('/')[0]]})"
        mandatory = "yes" if rpc.mandatory else "no"
        yield f"| {rpc.name} | {mandatory} | {rpc.since} | {judge} | {_text(rpc.why)} |"


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
    """Escape a text for a Markdown table cell."""
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
