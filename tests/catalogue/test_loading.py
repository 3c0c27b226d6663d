"""The data are complete and consistent, and errors in them are reported."""

import time
from pathlib import Path

import pytest

from critests import catalogue
from critests.catalogue import Area, Capability, CatalogueError, Level
from critests.catalogue.loading import read

ENTRIES = catalogue.load()
DATA = Path(catalogue.__file__).parent

ENTRY = """\
order = 1
title = "Examples"
area = "images"

[EXA-01]
statement = "It holds"
fields = "x"
rpcs = []
source = "P"
level = "MUST"
"""


def catalogue_of(folder: Path, text: str, file: str = "EXA.toml") -> catalogue.Catalogue:
    (folder / "data").mkdir()
    (folder / "features.toml").write_text('"pod stats" = "PodSandboxStats is not Unimplemented"\n')
    (folder / "data" / file).write_text(text)
    return read(folder)


def test_requirements_of_a_group_are_numbered_from_1_without_gaps() -> None:
    assert ENTRIES.groups
    for group in ENTRIES.groups:
        assert [entry.id for entry in group.requirements] == [
            f"{group.prefix}-{number:02}" for number in range(1, len(group.requirements) + 1)
        ]


def test_aspect_ids_are_unique_and_begin_with_the_requirement_id() -> None:
    ids = [aspect.id for entry in ENTRIES.requirements for aspect in entry.aspects]
    assert len(ids) == len(set(ids)) == len(ENTRIES.aspects)
    for entry in ENTRIES.requirements:
        for aspect in entry.aspects:
            assert aspect.id == (entry.id if len(entry.aspects) == 1 else f"{entry.id}/{aspect.name}")
            assert isinstance(aspect.level, Level)


def test_aspect_names_are_short_lower_case_words() -> None:
    names = {aspect.name for entry in ENTRIES.requirements for aspect in entry.aspects if aspect.name}
    assert [
        name for name in names if name.strip("abcdefghijklmnopqrstuvwxyz0123456789-") or len(name) > 16
    ] == []


def test_an_aspect_among_several_says_what_it_covers() -> None:
    assert [aspect.id for _, aspect in ENTRIES.aspects.values() if aspect.name and not aspect.scope] == []


def test_an_optional_aspect_says_how_it_is_found() -> None:
    assert [
        aspect.id
        for _, aspect in ENTRIES.aspects.values()
        if aspect.level is Level.OPT and not aspect.detection
    ] == []


def test_texts_have_no_markdown_escapes_or_stray_spaces() -> None:
    texts = [
        (entry.id, text)
        for entry in ENTRIES.requirements
        for text in (entry.statement, entry.fields, entry.source)
    ]
    texts += [
        (aspect.id, text)
        for _, aspect in ENTRIES.aspects.values()
        for text in (aspect.scope, aspect.detection)
    ]
    assert [
        where
        for where, text in texts
        if "\\*" in text or "\\|" in text or "&lt;" in text or text != text.strip()
    ] == []
    assert [entry.id for entry in ENTRIES.requirements if not entry.statement or not entry.source] == []


def test_named_rpcs_are_in_the_api() -> None:
    named = {rpc for entry in ENTRIES.requirements for rpc in entry.rpcs}
    assert named == set(catalogue.all_rpcs())


def test_features_are_used_and_spelt_like_capabilities() -> None:
    used = {entry.feature for entry in ENTRIES.requirements} - {""}
    assert used == set(ENTRIES.features)
    spelling = {capability.value.casefold(): capability.value for capability in Capability}
    assert [feature for feature in used if spelling.get(feature.casefold(), feature) != feature] == []


def test_areas_are_those_of_the_groups() -> None:
    areas = {group.prefix: group.area for group in ENTRIES.groups}
    assert {prefix for prefix, area in areas.items() if area is Area.IMAGES} == {"IMG", "AUT", "IMS", "IMF"}
    assert {prefix for prefix, area in areas.items() if area is Area.STREAMING} == {
        "STR",
        "EXE",
        "ATT",
        "PFW",
    }
    assert {prefix for prefix, area in areas.items() if area is Area.SANDBOXES} == {"SBX", "SBA", "RCL"}
    assert {prefix for prefix, area in areas.items() if area is Area.NETWORKING} == {"NET"}
    assert {prefix for prefix, area in areas.items() if area is Area.SECURITY} == {
        "USR",
        "CAP",
        "PRV",
        "SEC",
        "SCP",
        "AAR",
        "SEL",
        "NS",
        "UNS",
        "SYS",
    }
    assert {prefix for prefix, area in areas.items() if area is Area.MOUNTS} == {"MNT", "VOL"}
    assert {prefix for prefix, area in areas.items() if area is Area.RESOURCES} == {"RES", "UPD", "DEV"}
    assert {prefix for prefix, area in areas.items() if area is Area.KUBELET} == {"K8S"}
    assert {prefix for prefix, area in areas.items() if area is Area.RUNTIME} == {
        "GEN",
        "RT",
        "ERR",
        "CNC",
        "DOC",
        "RST",
        "NRI",
    }
    assert all(entry.area is areas[entry.group] for entry in ENTRIES.requirements)


def test_an_aspect_or_a_group_can_be_untestable(tmp_path: Path) -> None:
    second = ENTRY.split("\n\n", 1)[1].replace("EXA-01", "EXA-02") + 'untestable = "Own reason."\n'
    head = ENTRY.replace('area = "images"', 'area = "images"\nuntestable = "Of the group."')

    entries = catalogue_of(tmp_path, f"{head}\n{second}")

    assert [aspect.untestable for _, aspect in entries.aspects.values()] == ["Of the group.", "Own reason."]


def test_an_aspect_can_be_judged_by_tests_of_another(tmp_path: Path) -> None:
    second = ENTRY.split("\n\n", 1)[1].replace("EXA-01", "EXA-02") + 'judged_by = ["EXA-01"]\n'

    entries = catalogue_of(tmp_path, f"{ENTRY}\n{second}")

    assert [aspect.judged_by for _, aspect in entries.aspects.values()] == [(), ("EXA-01",)]


def test_aspects_about_a_restart_are_disruptive() -> None:
    restart = [aspect for entry, aspect in ENTRIES.aspects.values() if entry.group == "RST"]
    assert restart
    assert all(aspect.disruptive for aspect in restart)


def test_the_catalogue_is_read_once_and_fast() -> None:
    assert catalogue.load() is ENTRIES
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        read(DATA)
        best = min(best, time.process_time() - began)
    assert best < 0.5  # seconds of processor time; about 0.05 on the machine it was written on


def test_the_revision_depends_on_the_content(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "three").mkdir()
    one = catalogue_of(tmp_path / "one", ENTRY).revision
    assert one == catalogue_of(tmp_path / "two", ENTRY).revision
    assert one != catalogue_of(tmp_path / "three", ENTRY.replace("It holds", "It holds still")).revision
    assert len(ENTRIES.revision) == 12


def test_missing_keys_have_defaults(tmp_path: Path) -> None:
    (entry,) = catalogue_of(tmp_path, ENTRY).requirements
    assert (entry.rev, entry.critest, entry.since, entry.feature, entry.own_test) == (1, "no", "", "", True)
    (aspect,) = entry.aspects
    assert (aspect.id, aspect.judgement, aspect.disruptive, aspect.since_minor) == (
        "EXA-01",
        False,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('level = "MUST"', 'level = "MAY"', "EXA.toml: EXA-01: 'MAY' is not a valid Level"),
        ('level = "MUST"', "", "EXA.toml: EXA-01: the key 'level' is missing"),
        ('level = "MUST"', 'level = "MUST"\nstrength = 1', "EXA.toml: EXA-01: unknown key 'strength'"),
        (
            'level = "MUST"',
            'level = "MUST"\naspects = [{ level = "MUST" }]',
            "EXA.toml: EXA-01: unknown key 'level'",
        ),
        (
            'level = "MUST"',
            "aspects = []",
            "EXA.toml: EXA-01: several aspects need a name each, a single one none",
        ),
        (
            'level = "MUST"',
            'aspects = [{ name = "a", level = "MUST" }, { name = "a", level = "DIV" }]',
            "EXA.toml: EXA-01: several aspects need a name each, a single one none",
        ),
        (
            'level = "MUST"',
            'level = "MUST"\nsince = "36"',
            "EXA.toml: EXA-01: '36' is not a Kubernetes version of the form 1.N",
        ),
        (
            'level = "MUST"',
            'level = "MUST"\ncritest = "maybe"',
            "EXA.toml: EXA-01: critest is 'maybe', not yes, partly or no",
        ),
        (
            'level = "MUST"',
            'level = "MUST"\nfeature = "x"',
            "EXA.toml: EXA-01: features.toml does not know the feature 'x'",
        ),
        ("[EXA-01]", "[EXB-01]", "EXA.toml: EXB-01: an id of this group begins with EXA-"),
        ("order = 1", "", "EXA.toml: the key 'order' is missing"),
        ('"images"', '"pictures"', "EXA.toml: EXA-01: 'pictures' is not a valid Area"),
        (
            'level = "MUST"',
            'level = "MUST"\nuntestable = "hard"',
            "EXA.toml: EXA-01: untestable is 'hard', not a sentence",
        ),
        (
            'level = "MUST"',
            'level = "MUST"\nbuilds_on = "EXA-01"',
            "EXA.toml: EXA-01: builds_on names 'EXA-01'",
        ),
        (
            'level = "MUST"',
            'level = "MUST"\njudged_by = ["EXA-02"]',
            "EXA.toml: EXA-01: judged_by names 'EXA-02', which has no tests of its own",
        ),
        (
            'level = "MUST"',
            'level = "MUST"\njudged_by = ["EXA-01"]',
            "EXA.toml: EXA-01: judged_by names 'EXA-01', which has no tests of its own",
        ),
        (
            "[EXA-01]",
            "[EXA-01",
            "EXA.toml: Expected ']' at the end of a table declaration (at line 5, column 8)",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_an_error_in_the_data_is_reported(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(CatalogueError) as raised:
        catalogue_of(tmp_path, ENTRY.replace(old, new))
    assert str(raised.value) == message
