"""The tests of AppArmor and SELinux on what a kernel that has them says of processes: such a machine is not
always at hand.

Each is shown what is right, and then what a runtime that breaks its promise would let the kernel show.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from critests.lifecycle.evidence import Answer, Evidence
from critests.lifecycle.process import EXEC
from critests.validation.security import test_apparmor_profiles as apparmor
from critests.validation.security import test_runtime_program as program
from critests.validation.security import test_selinux as selinux
from critests.validation.security.apparmor_profiles import LoadedProfiles

PROFILES = LoadedProfiles("critests-1f-enforce", "critests-1f-complain")
ENFORCED, COMPLAINING = "critests-1f-enforce (enforce)\n", "critests-1f-complain (complain)\n"
ITS_OWN, UNCONFINED = "cri-containerd.apparmor.d (enforce)\n", "unconfined\n"
ASKED_FOR = "system_u:system_r:container_t:s0:c11,c22\0"
OF_POD, OF_ANOTHER = "system_u:system_r:container_t:s0:c7,c9\0", "system_u:system_r:container_t:s0:c8,c9\0"
PRIVILEGED = "system_u:system_r:spc_t:s0\0"
FILE_OF_POD, FILE_OF_ANOTHER = (
    f"system_u:object_r:container_file_t:s0:{level}" for level in ("c7,c9", "c8,c9")
)

Showing = Callable[[Mapping[str, Any]], Evidence]


def shows(confined_by: str, /, **answers: str) -> Showing:
    """Every process is confined by this profile or label, and answers its questions like this."""
    said = {name: Answer(text, 0) for name, text in answers.items()}
    return lambda _: Evidence({"attr/current": Answer(confined_by.removesuffix("\n"), 0), **said})


def ordinary_shows(label: str, others: str) -> Showing:
    """Processes of containers without options in the shared sandbox have one label, the others another."""
    return lambda options: shows(others if set(options) & {"in_sandbox", "security_context"} else label)({})


class Recorded:
    """Stands in for the containers that tests share; what its processes show is written down."""

    def __init__(self, showing: Showing) -> None:
        self.showing = showing

    def sandbox(self, **_: object) -> object:
        return "a sandbox"

    def process(self, seen_from: str, questions: object = None, **options: Any) -> Evidence:  # noqa: ANN401, ARG002 - as the real one
        return self.showing(options)


def numbered(first: str, second: str, elsewhere: str) -> Showing:
    """The first and the second container of a pod, and one in another pod."""
    labels = {"1": first, "2": second}
    return lambda options: shows(labels[options["envs"]["NUMBER"]] if "envs" in options else elsewhere)({})


nothing: Any = SimpleNamespace(context=SimpleNamespace(daemon_pid=None), has=lambda _: True)
images: Any = SimpleNamespace(pull=lambda _: SimpleNamespace(spec=lambda: None))

CASES: dict[str, tuple[Callable[..., None], dict[str, Any], Showing, Showing]] = {
    "AAR-01": (
        apparmor.test_a_profile_of_the_node_is_in_force,
        {"profiles": PROFILES},
        shows(ENFORCED, write="denied"),
        shows(ITS_OWN, write="denied"),
    ),
    "AAR-01, not enforced": (
        apparmor.test_a_profile_of_the_node_is_in_force,
        {"profiles": PROFILES},
        shows(ENFORCED, write="denied"),
        shows(ENFORCED, write="done"),
    ),
    "AAR-03": (apparmor.test_the_runtimes_own_profile_is_in_force, {}, shows(ITS_OWN), shows(UNCONFINED)),
    "AAR-04": (
        apparmor.test_no_profile_is_in_force_where_none_is_wanted,
        {},
        shows(UNCONFINED),
        shows(ITS_OWN),
    ),
    "AAR-05": (
        apparmor.test_the_new_field_of_a_profile_counts,
        {"profiles": PROFILES},
        shows(ENFORCED),
        shows(UNCONFINED),
    ),
    "AAR-06": (
        apparmor.test_a_profile_that_complains_denies_nothing,
        {"profiles": PROFILES},
        shows(COMPLAINING, write="done"),
        shows(COMPLAINING, write="denied"),
    ),
    "AAR-07/unconfined": (
        apparmor.test_a_privileged_container_is_under_no_profile,
        {"runtime": nothing, "asked": "default"},
        shows(UNCONFINED),
        shows(ITS_OWN),
    ),
    "AAR-09": (
        apparmor.test_a_profile_of_the_node_holds_for_commands,
        {"profiles": PROFILES, "seen_from": EXEC},
        shows(ENFORCED, write="denied"),
        shows(UNCONFINED, write="done"),
    ),
    "AAR-10": (
        apparmor.test_a_container_that_asks_for_no_profile_has_the_runtimes_own,
        {},
        shows(ITS_OWN),
        shows(UNCONFINED),
    ),
    "SEL-01": (selinux.test_a_process_has_the_label_that_is_asked_for, {}, shows(ASKED_FOR), shows(OF_POD)),
    "SEL-02, shared": (
        selinux.test_containers_of_a_pod_share_a_level_of_their_own,
        {},
        numbered(OF_POD, OF_POD, OF_ANOTHER),
        numbered(OF_POD, OF_ANOTHER, ASKED_FOR),
    ),
    "SEL-02, its own": (
        selinux.test_containers_of_a_pod_share_a_level_of_their_own,
        {},
        numbered(OF_POD, OF_POD, OF_ANOTHER),
        numbered(OF_POD, OF_POD, OF_POD),
    ),
    "SEL-04": (
        selinux.test_the_level_of_a_pod_is_that_of_its_containers,
        {},
        shows(ASKED_FOR),
        shows(OF_POD),
    ),
    "SEL-05/unconfined": (
        selinux.test_a_privileged_process_has_a_type_of_its_own,
        {"runtime": nothing},
        ordinary_shows(OF_POD, PRIVILEGED),
        ordinary_shows(OF_POD, OF_ANOTHER),
    ),
    "SEL-06/given": (
        selinux.test_parts_of_a_label_that_are_given_are_used,
        {},
        shows(ASKED_FOR),
        shows(OF_POD),
    ),
    "SEL-06/missing": (
        selinux.test_where_missing_parts_of_a_label_come_from,
        {"observe": lambda _: None},
        ordinary_shows(OF_POD, OF_ANOTHER),
        ordinary_shows(OF_POD, PRIVILEGED),
    ),
    "SEL-09": (
        selinux.test_files_that_the_runtime_mounts_have_the_label_of_the_pod,
        {"path": "/etc/hosts"},
        shows(OF_POD, label=FILE_OF_POD, read=""),
        shows(OF_POD, label=FILE_OF_ANOTHER, read=""),
    ),
    "SEL-10": (
        selinux.test_commands_have_the_label_of_their_container,
        {"seen_from": EXEC},
        shows(ASKED_FOR),
        shows(PRIVILEGED),
    ),
    "VOL-13": (
        selinux.test_an_image_volume_has_the_label_of_its_container,
        {"images": images},
        shows(OF_POD, label=FILE_OF_POD, read="hello from the image"),
        shows(OF_POD, label=FILE_OF_ANOTHER, read="hello from the image"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_right_passes_and_what_is_wrong_does_not(case: str) -> None:
    test, arguments, right, wrong = CASES[case]

    test(shared=Recorded(right), **arguments)
    with pytest.raises(AssertionError):
        test(shared=Recorded(wrong), **arguments)


@pytest.mark.parametrize(
    ("printed", "writable"),
    [
        (["caught", "ret=3 errno=0", "ret=-1 errno=22", "judged"], True),
        (["caught", "ret=3 errno=0", "ret=0 errno=0", "judged"], True),
        (["caught", "ret=3 errno=0", "ret=15 errno=0", "judged"], False),
        (["caught", "ret=-1 errno=30", "ret=-1 errno=9", "judged"], False),
    ],
    ids=["an ordinary file", "in memory, not sealed", "in memory, sealed", "read-only"],
)
def test_a_program_that_can_be_written_is_told_from_one_that_cannot(
    printed: list[str], writable: bool
) -> None:
    assert program.can_be_written(printed) is writable
