"""The tests of AppArmor and SELinux, run on recorded evidence, as a machine with such a kernel is not always
available.

Each test gets correct evidence, and then that of a runtime that violates the requirement.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from critests.lifecycle.process import EXEC
from critests.lifecycle.process_evidence import CommandOutput, ProcessEvidence
from critests.validation.security import test_apparmor_profiles as apparmor
from critests.validation.security import test_runtime_program as program
from critests.validation.security import test_selinux as selinux
from critests.validation.security.apparmor_profiles import LoadedProfiles

PROFILES = LoadedProfiles("critests-1f-enforce", "critests-1f-complain")
ENFORCED, COMPLAINING = "critests-1f-enforce (enforce)\n", "critests-1f-complain (complain)\n"
ITS_OWN, UNCONFINED = "cri-containerd.apparmor.d (enforce)\n", "unconfined\n"
REQUESTED = "system_u:system_r:container_t:s0:c11,c22\0"
OF_POD, OF_ANOTHER = "system_u:system_r:container_t:s0:c7,c9\0", "system_u:system_r:container_t:s0:c8,c9\0"
PRIVILEGED = "system_u:system_r:spc_t:s0\0"
FILE_OF_POD, FILE_OF_ANOTHER = (
    f"system_u:object_r:container_file_t:s0:{level}" for level in ("c7,c9", "c8,c9")
)
FILE_OF_NODE = "system_u:object_r:net_conf_t:s0"
POLICY = {"process": "system_u:system_r:container_t:s0", "file": "system_u:object_r:container_file_t:s0"}

MOUNTS = "\n".join(
    f"{number} 1 0:{number} / {place} rw - tmpfs tmpfs rw"
    for number, place in enumerate(("/", "/dev/shm", "/etc/hosts", "/etc/resolv.conf"), 40)
)
"""The mounts of a container, as in /proc/self/mountinfo."""

EvidenceOf = Callable[[Mapping[str, Any]], ProcessEvidence]


def evidence(label: str, /, **answers: str) -> EvidenceOf:
    """Return the same evidence for every process: its profile or label, and the answers to its questions."""
    answers_by_name = {
        name: CommandOutput(text, 0) for name, text in {"mountinfo": MOUNTS, **answers}.items()
    }
    return lambda _: ProcessEvidence(
        {"attr/current": CommandOutput(label.removesuffix("\n"), 0), **answers_by_name}
    )


def evidence_by_options(label: str, others: str) -> EvidenceOf:
    """Processes of containers without options in the shared sandbox have one label, others another."""
    return lambda options: evidence(others if set(options) & {"in_sandbox", "security_context"} else label)(
        {}
    )


class RecordedContainers:
    """Replaces the shared containers, and returns recorded evidence of their processes."""

    def __init__(self, evidence_of: EvidenceOf) -> None:
        self.evidence_of = evidence_of

    def sandbox(self, **_: object) -> object:
        return "a sandbox"

    def process(self, seen_from: str, questions: object = None, **options: Any) -> ProcessEvidence:  # noqa: ANN401, ARG002 - signature of SharedContainers
        return self.evidence_of(options)


def evidence_by_number(first: str, second: str, elsewhere: str) -> EvidenceOf:
    """The first and the second container of a pod, and one in another pod."""
    labels = {"1": first, "2": second}
    return lambda options: evidence(labels[options["envs"]["NUMBER"]] if "envs" in options else elsewhere)({})


any_runtime: Any = SimpleNamespace(context=SimpleNamespace(daemon_pid=None), has=lambda _: True)
images: Any = SimpleNamespace(pull=lambda _: SimpleNamespace(spec=lambda: None))

CASES: dict[str, tuple[Callable[..., None], dict[str, Any], EvidenceOf, EvidenceOf]] = {
    "AAR-01": (
        apparmor.test_localhost_apparmor_profile_is_in_force,
        {"profiles": PROFILES},
        evidence(ENFORCED, write="denied"),
        evidence(ITS_OWN, write="denied"),
    ),
    "AAR-01, not enforced": (
        apparmor.test_localhost_apparmor_profile_is_in_force,
        {"profiles": PROFILES},
        evidence(ENFORCED, write="denied"),
        evidence(ENFORCED, write="done"),
    ),
    "AAR-03": (
        apparmor.test_runtime_default_apparmor_profile_is_in_force,
        {},
        evidence(ITS_OWN),
        evidence(UNCONFINED),
    ),
    "AAR-04": (
        apparmor.test_unconfined_container_has_no_apparmor_profile,
        {},
        evidence(UNCONFINED),
        evidence(ITS_OWN),
    ),
    "AAR-05": (
        apparmor.test_apparmor_field_overrides_the_deprecated_one,
        {"profiles": PROFILES},
        evidence(ENFORCED),
        evidence(UNCONFINED),
    ),
    "AAR-06": (
        apparmor.test_profile_in_complain_mode_denies_nothing,
        {"profiles": PROFILES},
        evidence(COMPLAINING, write="done"),
        evidence(COMPLAINING, write="denied"),
    ),
    "AAR-07/unconfined": (
        apparmor.test_privileged_container_has_no_apparmor_profile,
        {"runtime": any_runtime, "case": "default"},
        evidence(UNCONFINED),
        evidence(ITS_OWN),
    ),
    "AAR-09": (
        apparmor.test_localhost_apparmor_profile_applies_to_commands,
        {"profiles": PROFILES, "seen_from": EXEC},
        evidence(ENFORCED, write="denied"),
        evidence(UNCONFINED, write="done"),
    ),
    "AAR-10": (
        apparmor.test_container_without_a_profile_has_the_runtime_default,
        {},
        evidence(ITS_OWN),
        evidence(UNCONFINED),
    ),
    "SEL-01": (
        selinux.test_process_has_the_requested_selinux_label,
        {},
        evidence(REQUESTED),
        evidence(OF_POD),
    ),
    "SEL-02, shared": (
        selinux.test_containers_of_a_pod_share_a_level_of_their_own,
        {},
        evidence_by_number(OF_POD, OF_POD, OF_ANOTHER),
        evidence_by_number(OF_POD, OF_ANOTHER, REQUESTED),
    ),
    "SEL-02, its own": (
        selinux.test_containers_of_a_pod_share_a_level_of_their_own,
        {},
        evidence_by_number(OF_POD, OF_POD, OF_ANOTHER),
        evidence_by_number(OF_POD, OF_POD, OF_POD),
    ),
    "SEL-04": (
        selinux.test_containers_have_the_selinux_level_of_their_pod,
        {},
        evidence(REQUESTED),
        evidence(OF_POD),
    ),
    "SEL-05/unconfined": (
        selinux.test_a_privileged_process_has_a_type_of_its_own,
        {"runtime": any_runtime},
        evidence_by_options(OF_POD, PRIVILEGED),
        evidence_by_options(OF_POD, OF_ANOTHER),
    ),
    "SEL-06/given": (
        selinux.test_requested_parts_of_a_label_are_applied,
        {},
        evidence(REQUESTED),
        evidence(OF_POD),
    ),
    "SEL-06/missing": (
        selinux.test_form_of_the_missing_parts_of_a_label,
        {"record_variant": lambda _: None},
        evidence_by_options(OF_POD, OF_ANOTHER),
        evidence_by_options(OF_POD, PRIVILEGED),
    ),
    "SEL-09": (
        selinux.test_files_that_the_runtime_mounts_have_the_label_of_the_pod,
        {"path": "/etc/hosts"},
        evidence(OF_POD, label=FILE_OF_POD, read=""),
        evidence(OF_POD, label=FILE_OF_ANOTHER, read=""),
    ),
    "SEL-11/process": (
        selinux.test_process_has_the_role_and_type_of_the_policy,
        {"policy": POLICY},
        evidence(OF_POD),
        evidence(PRIVILEGED),
    ),
    "SEL-11/files": (
        selinux.test_files_have_the_role_and_type_of_the_policy,
        {"policy": POLICY},
        evidence(OF_POD, **dict.fromkeys(selinux.FILES, FILE_OF_POD)),
        evidence(OF_POD, **dict.fromkeys(selinux.FILES, FILE_OF_POD) | {"/": FILE_OF_NODE}),
    ),
    "SEL-11/level": (
        selinux.test_files_have_the_level_of_the_process,
        {},
        evidence(OF_POD, **dict.fromkeys(selinux.FILES, FILE_OF_POD)),
        evidence(OF_POD, **dict.fromkeys(selinux.FILES, FILE_OF_POD) | {"/dev/shm": FILE_OF_NODE}),
    ),
    "SEL-11/privileged": (
        selinux.test_files_of_a_privileged_container_have_the_label_of_its_pod,
        {"runtime": any_runtime, "policy": POLICY},
        evidence(OF_POD, **dict.fromkeys(selinux.FILES, FILE_OF_POD)),
        evidence(OF_POD, **dict.fromkeys(selinux.FILES, FILE_OF_ANOTHER)),
    ),
    "SEL-10": (
        selinux.test_commands_have_the_label_of_their_container,
        {"seen_from": EXEC},
        evidence(REQUESTED),
        evidence(PRIVILEGED),
    ),
    "VOL-13": (
        selinux.test_an_image_volume_has_the_label_of_its_container,
        {"images": images},
        evidence(OF_POD, label=FILE_OF_POD, read="hello from the image"),
        evidence(OF_POD, label=FILE_OF_ANOTHER, read="hello from the image"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_correct_evidence_passes_and_incorrect_evidence_fails(case: str) -> None:
    test, arguments, correct, incorrect = CASES[case]

    test(shared_containers=RecordedContainers(correct), **arguments)
    with pytest.raises(AssertionError):
        test(shared_containers=RecordedContainers(incorrect), **arguments)


@pytest.mark.parametrize(
    ("lines", "writable"),
    [
        (["caught", "ret=3 errno=0", "ret=-1 errno=22", "judged"], True),
        (["caught", "ret=3 errno=0", "ret=0 errno=0", "judged"], True),
        (["caught", "ret=3 errno=0", "ret=15 errno=0", "judged"], False),
        (["caught", "ret=-1 errno=30", "ret=-1 errno=9", "judged"], False),
    ],
    ids=["an ordinary file", "in memory, not sealed", "in memory, sealed", "read-only"],
)
def test_a_writable_program_is_distinguished_from_others(lines: list[str], writable: bool) -> None:
    assert program.can_be_written(lines) is writable
