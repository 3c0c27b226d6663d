"""Look-up and selection of requirements and aspects."""

from pathlib import Path

import pytest

from critests import catalogue
from critests.api import api_pb2 as cri
from critests.catalogue import (
    Aspect,
    CatalogueError,
    Level,
    UnknownRequirement,
    all_rpcs,
    judge_of,
    minor_of,
    rpc_of,
)
from critests.catalogue.rpcs import Rpc, read

ENTRIES = catalogue.load()

PARSED = [
    ("SBA-17", Level.MUST, False),
    ("GEN-16", Level.SHOULD, True),
    ("STP-06", Level.DIV, True),
    ("EXE-11", Level.MUST, True),
    ("RCL-08", Level.OPT, True),
    ("SBX-26/error", Level.MUST, False),
    ("SBX-26/code", Level.SHOULD, False),
    ("STP-10/name", Level.MUST, False),
    ("STP-10/other-forms", Level.SHOULD, True),
    ("CTA-09/required", Level.MUST, False),
    ("CTA-09/recommended", Level.SHOULD, False),
    ("CTA-09/recorded", Level.DIV, False),
    ("ATT-10/isolation", Level.MUST, True),
    ("ATT-10/pause", Level.DIV, False),
    ("MNT-13/relative", Level.DIV, False),
    ("MNT-13/empty", Level.SHOULD, True),
    ("AAR-08/none", Level.MUST, False),
    ("EVT-10/recovery", Level.MUST, True),
]


@pytest.mark.parametrize(("name", "level", "judgement"), PARSED, ids=[row[0] for row in PARSED])
def test_an_aspect_has_its_level(name: str, level: Level, judgement: bool) -> None:
    entry, aspect = catalogue.aspect(name)
    assert (aspect.id, aspect.level, aspect.judgement) == (name, level, judgement)
    assert entry is catalogue.requirement(name.partition("/")[0])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SBX-26", "SBX-26 has several aspects, name one of SBX-26/error, SBX-26/code"),
        ("SBX-26/cod", "no aspect 'SBX-26/cod': those of SBX-26 are SBX-26/error, SBX-26/code"),
        ("SBA-17/error", "no aspect 'SBA-17/error': SBA-17 has a single one, name it as SBA-17"),
        ("XYZZY", "no requirement 'XYZZY' in the catalogue"),
    ],
)
def test_the_error_for_an_unknown_aspect_lists_the_existing_ones(name: str, message: str) -> None:
    with pytest.raises(UnknownRequirement) as raised:
        catalogue.aspect(name)
    assert str(raised.value) == message


def test_the_error_for_an_unknown_requirement_lists_similar_ones() -> None:
    with pytest.raises(UnknownRequirement, match=r"no requirement 'sbx-99' in the catalogue; near it: SBX-"):
        catalogue.requirement("sbx-99")


def test_an_aspect_can_be_newer_than_its_requirement() -> None:
    entry, details = catalogue.aspect("VOL-12/details")
    _, image = catalogue.aspect("VOL-12/image")
    assert (entry.since, image.since_minor, details.since_minor) == ("1.31", 31, 36)


def test_versions_have_one_form() -> None:
    assert (minor_of("1.36"), minor_of("")) == (36, None)
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        minor_of("v1.36")


def test_a_title_fits_a_line() -> None:
    assert max(len(entry.title) for entry in ENTRIES.requirements) <= 100
    assert catalogue.requirement("SBX-01").title == catalogue.requirement("SBX-01").statement
    assert catalogue.requirement("SBX-05").title.endswith("…")


def ids_where(wanted: str) -> set[str]:
    return {aspect.id for entry, aspect in ENTRIES.aspects.values() if entry.group == wanted}


@pytest.mark.parametrize(
    ("expressions", "ids"),
    [
        ([], set()),
        (["SBA-17"], {"SBA-17"}),
        (["sbx-26"], {"SBX-26/error", "SBX-26/code"}),
        (["SBX-26/Code"], {"SBX-26/code"}),
        (["sba-17, SBX-26/code", "RT-01"], {"SBA-17", "SBX-26/code", "RT-01"}),
        (["imf"], ids_where("IMF")),
        (["Networking"], ids_where("NET")),
    ],
    ids=lambda value: str(value) if isinstance(value, list) else "",
)
def test_selecting(expressions: list[str], ids: set[str]) -> None:
    assert ENTRIES.select(expressions) == ids


def test_selecting_a_level() -> None:
    chosen: list[Aspect] = [ENTRIES.aspect(name)[1] for name in ENTRIES.select(["div"])]
    assert {aspect.level for aspect in chosen} == {Level.DIV}
    assert sum(len(ENTRIES.select([level])) for level in Level) == len(ENTRIES.aspects)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("sandbox", "'sandbox' is no requirement, aspect, group, area or level; near it: sandboxes"),
        ("SBX-26/cod", "no aspect 'SBX-26/cod': those of SBX-26 are SBX-26/error, SBX-26/code"),
        ("xyzzy", "'xyzzy' is no requirement, aspect, group, area or level"),
    ],
)
def test_selecting_an_unknown_word_is_an_error(word: str, message: str) -> None:
    with pytest.raises(UnknownRequirement) as raised:
        ENTRIES.select([word])
    assert str(raised.value).startswith(message)


def test_all_rpcs_of_the_api_are_listed() -> None:
    services = cri.DESCRIPTOR.services_by_name.values()

    assert set(all_rpcs()) == {method.name for service in services for method in service.methods}
    assert len(all_rpcs()) == 43


def test_the_judge_of_every_rpc_exists() -> None:
    for rpc in all_rpcs().values():
        entry, aspect = catalogue.aspect(rpc.judge)
        assert rpc.name in entry.rpcs
        assert aspect.level in {Level.MUST, Level.OPT}
        assert not aspect.disruptive
        assert not rpc.mandatory or (aspect.level is Level.MUST and not aspect.judgement), rpc.name
        assert not entry.feature or not rpc.mandatory, f"{rpc.name} belongs to an optional feature"


def test_rpcs_of_cri_v1_are_mandatory_and_later_ones_optional() -> None:
    assert [rpc.name for rpc in all_rpcs().values() if rpc.mandatory is (rpc.since != "1.20")] == []


@pytest.mark.parametrize(
    ("rpc", "known", "may"),
    [
        (Rpc("ListImages", mandatory=True, judge="", why=""), None, False),
        (Rpc("ListImages", mandatory=True, judge="", why=""), 15, False),
        (Rpc("RuntimeConfig", mandatory=False, judge="", why=""), 37, True),
        (Rpc("RuntimeConfig", mandatory=True, judge="", why=""), 28, False),
        (Rpc("RuntimeConfig", mandatory=True, judge="", why=""), 27, True),
        (Rpc("RuntimeConfig", mandatory=True, judge="", why=""), None, True),
    ],
    ids=["of the API itself", "of before v1", "optional", "known", "too young", "nothing proven"],
)
def test_rpcs_that_may_be_missing(rpc: Rpc, known: int | None, may: bool) -> None:
    assert rpc.may_be_missing(known) is may


def test_an_rpc_that_the_api_does_not_have_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "rpcs.toml"
    file.write_text('[Unheard]\nmandatory = true\njudge = "SBX-01"\nwhy = ""\n', encoding="utf-8")

    with pytest.raises(CatalogueError, match="Unheard"):
        read(file)


def test_a_judge_is_found_by_rpc_name_or_method_path() -> None:
    assert judge_of("RunPodSandbox") == judge_of("/runtime.v1.RuntimeService/RunPodSandbox") == "SBX-02"
    assert judge_of("Unheard") is None
    assert rpc_of("Unheard") is None
