"""Faults that are indistinguishable from correct behaviour."""

import pytest
from critests_proof.language.descriptors import rpcs
from critests_proof.oci_faults import all_faults
from critests_proof.sweep.equivalents import Equivalent, equivalents, why_equivalent

from critests.catalogue.rpcs import rpc_of


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("CreateContainer.request.config.windows.resources:ignored", "Windows"),
        ("RestorePod.request.container_configs[].windows.resources.cpu_count:ignored", "Windows"),
        ("CreateContainer.request.config.linux.resources:ignored", ""),
        ("ContainerStats.response.stats.windows:missing", ""),
    ],
)
def test_what_is_asked_of_windows_is_ignored_by_right(fault: str, why: str) -> None:
    found = why_equivalent(fault, equivalents())
    assert (why in found) if why else not found


@pytest.mark.parametrize(
    ("fault", "equivalent"),
    [
        ("CreateContainer.request.config.image.user_specified_image:ignored", True),
        ("CreateContainer.request.config.image.user_specified_image:mistaken", False),
        ("CreateContainer.request.config.mounts[].image.user_specified_image:mistaken", False),
        ("PullImage.request.image.user_specified_image:mistaken", True),
    ],
)
def test_the_image_that_a_container_reports_may_be_missing_but_not_wrong(
    fault: str, equivalent: bool
) -> None:
    assert bool(why_equivalent(fault, equivalents())) is equivalent


def test_the_brackets_of_lists_are_no_pattern() -> None:
    known = (Equivalent("A.response.b[].c:*", "so"),)
    assert why_equivalent("A.response.b[].c:wrong", known) == "so"
    assert why_equivalent("A.response.b[].d:wrong", known) == ""


def test_an_rpc_may_be_missing_if_the_catalogue_says_so() -> None:
    known = equivalents()
    may = {rpc for rpc in rpcs() if (entry := rpc_of(rpc)) is not None and entry.may_be_missing(None)}
    assert {rpc for rpc in rpcs() if why_equivalent(f"{rpc}:unimplemented", known)} == may


def test_every_equivalent_means_some_fault() -> None:
    for one in equivalents():
        assert any(why_equivalent(fault.id, (one,)) for fault in all_faults()), one
