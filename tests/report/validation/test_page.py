import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from critests.catalogue import load
from critests.catalogue.words import Outcome
from critests.record.run import RunRecord, RunScope
from critests.report.facts.evidence import Budget, read_evidence
from critests.report.validation.page import validation_to_html
from tests.report.sample_run import HOSTILE, sample_run, write_evidence

STYLE = Path(__file__).parents[3] / "critests" / "report" / "page" / "templates" / "style.css"


class Page(HTMLParser):
    """Collects tags, attributes and text; refuses tags that do not nest."""

    VOID = frozenset({"meta", "input", "br", "link"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    record = sample_run(tmp_path)
    write_evidence(record, tmp_path)
    return record


def test_the_page_nests_and_needs_nothing_from_elsewhere(record: RunRecord, tmp_path: Path) -> None:
    page = Page(validation_to_html(record, tmp_path))

    assert page.tags.count("script") == 1
    assert page.tags.count("style") == 1
    assert not {"link", "img", "iframe", "object", "form", "base"} & set(page.tags)
    assert not [item for item in page.attributes if item[1].startswith("on")]
    assert not [item for item in page.attributes if item[1] in {"src", "action", "srcset"}]
    assert {value[0] for _, name, value in page.attributes if name == "href"} == {"#"}
    assert "url(" not in STYLE.read_text()
    assert "@import" not in STYLE.read_text()


def test_every_link_of_the_page_leads_somewhere(record: RunRecord, tmp_path: Path) -> None:
    page = Page(validation_to_html(record, tmp_path))

    ids = [value for _, name, value in page.attributes if name == "id"]
    targets = {
        value.lstrip("#") for _, name, value in page.attributes if name in {"href", "for", "aria-labelledby"}
    }
    assert len(ids) == len(set(ids))
    assert targets <= set(ids)


def test_a_failure_has_its_story(record: RunRecord, tmp_path: Path) -> None:
    text = " ".join(Page(validation_to_html(record, tmp_path)).texts)

    for part in (
        "exit_code == 137",
        "critests run --select STP-02",
        "StopContainer",
        "61.7 ms",
        '"pod_sandbox_id": "4f0c66a2d1"',
        "Runtime log",
    ):
        assert part in text
    assert text.index("EXE-01") < text.index("SBA-02")
    assert "a line of the recorded calls could not be read" in text


def test_every_requirement_and_capability_is_there(record: RunRecord, tmp_path: Path) -> None:
    texts = set(Page(validation_to_html(record, tmp_path)).texts)

    assert {entry.id for entry in load().requirements} <= texts
    assert {fact.name for fact in record.capabilities} <= texts


def test_what_was_left_out_is_not_said_to_be_tested(record: RunRecord, tmp_path: Path) -> None:
    kept = next(name for name, each in record.requirements.items() if each.outcome is Outcome.PASSED)
    requirements = {
        name: each if name == kept else dataclasses.replace(each, outcome=Outcome.DISABLED)
        for name, each in record.requirements.items()
        if name in {entry.id for entry in load().requirements}
    }
    record = dataclasses.replace(record, requirements=requirements)

    text = " ".join(Page(validation_to_html(record, tmp_path)).texts)

    assert re.search(r"Requirements\s+1 of \d+ tested in this run", text)


def test_hostile_output_is_inert_and_bounded(record: RunRecord, tmp_path: Path) -> None:
    write_evidence(record, tmp_path, log_bytes=10 * 1024 * 1024)
    one = dataclasses.replace(
        record.tests[0],
        outcome=Outcome.FAILED,
        name=HOSTILE,
        title=HOSTILE,
        reason=HOSTILE,
        seen=HOSTILE * 9000,
    )
    hostile = [dataclasses.replace(one, id=f"{HOSTILE}{number}") for number in range(300)]

    source = validation_to_html(
        dataclasses.replace(
            record, tests=[*record.tests, *hostile], notes=[HOSTILE], machine={HOSTILE: HOSTILE}
        ),
        tmp_path,
    )

    assert Page(source).tags.count("script") == 1
    assert len(source) < 15_000_000
    assert not re.search(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", source
    )
    assert "bytes are left out here; all of it is in container.log" in source
    source.encode()


def test_the_page_forbids_what_it_does_not_use(record: RunRecord) -> None:
    source = validation_to_html(record)

    policy = next(
        value
        for tag, name, value in Page(source).attributes
        if tag == "meta" and name == "content" and "default-src" in value
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (0, "Conforms"),
        (1, "Does not conform"),
        (2, "Interrupted"),
        (5, "Could not be tested"),
        (77, "Exit code 77"),
    ],
)
def test_the_headline_says_the_verdict(record: RunRecord, code: int, word: str) -> None:
    whole = dataclasses.replace(record, exit_code=code, scope=RunScope(musts_judged=9, musts=9))
    assert f"</span>{word}</p>" in validation_to_html(whole)


def test_a_part_of_the_suite_is_not_said_to_conform(record: RunRecord) -> None:
    scope = RunScope(selection="--select IMG", musts_judged=3, musts=9)
    page = validation_to_html(dataclasses.replace(record, exit_code=0, scope=scope))

    assert "</span>In part only</p>" in page
    assert "--select IMG; 3 of 9 MUSTs judged" in page


def test_a_run_without_tests_still_is_a_page(record: RunRecord) -> None:
    empty = RunRecord(
        run_id="r",
        suite_version="1",
        started=1.0,
        finished=1.0,
        runtime=dataclasses.replace(record.runtime, name="", handlers=[]),
    )

    assert "unknown runtime" in validation_to_html(empty)


def test_evidence_outside_the_run_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.log").write_text("secret")
    run = tmp_path / "run"
    (run / "evidence").mkdir(parents=True)
    (run / "evidence" / "link.log").symlink_to(tmp_path / "secret" / "a.log")

    assert read_evidence(run, "../secret", Budget(1000)).files == []
    assert read_evidence(run, "evidence", Budget(1000)).files == []
    assert read_evidence(run, "nowhere", Budget(1000)).note == "nowhere is not there"


def test_a_full_page_says_where_the_evidence_is(record: RunRecord, tmp_path: Path) -> None:
    failed = next(test for test in record.tests if test.evidence)

    assert "this page is full" in read_evidence(tmp_path, failed.evidence, Budget(0)).note


def variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block))


def luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def mixed(colour: str, ground: str, share: float) -> str:
    parts = [
        round(int(colour[at : at + 2], 16) * share + int(ground[at : at + 2], 16) * (1 - share))
        for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_the_contrast_that_people_need(scheme: str) -> None:
    light, dark = STYLE.read_text().split("@media (prefers-color-scheme: dark)", 1)
    colours = variables(light) | (variables(dark) if scheme == "dark" else {})
    tones = ["ink", "soft", "accent", *(outcome.value for outcome in Outcome), "untested"]

    for tone in tones:
        grounds = [colours[name] for name in ("ground", "surface", "raised")]
        if tone not in {"ink", "soft", "accent"}:
            grounds += [mixed(colours[tone], colours["surface"], share) for share in (0.08, 0.14)]
        for ground in grounds:
            high, low = sorted((luminance(colours[tone]), luminance(ground)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (tone, ground)
