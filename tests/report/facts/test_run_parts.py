"""What else takes part in a run than the tests."""

import dataclasses

from critests.record.identity import ProgramFile, RuntimeIdentity
from critests.report.facts.run_parts import PartDifference, differing_parts, run_parts
from tests.report.store.small_run import small_run

RUNC = ProgramFile(role="OCI runtime", path="/usr/sbin/runc", version="runc 1.3", sha256="a" * 64)
BRIDGE = ProgramFile(role="CNI plugin", path="/usr/lib/cni/bridge", version="", sha256="")


def parts_of(*programs: ProgramFile, **parts: str) -> dict[str, str]:
    """Return the parts of a run with these programs and components."""
    identity = RuntimeIdentity(name="containerd", version="2.1.0", programs=list(programs), parts=parts)
    return run_parts(small_run(runtime=identity))


def test_programs_are_named_by_their_role_and_several_of_a_role_by_their_file() -> None:
    """Path, version and digest of each."""
    found = parts_of(RUNC, BRIDGE)

    assert found["OCI runtime"] == "/usr/sbin/runc, runc 1.3, sha256 aaaaaaaaaaaa"
    assert found["CNI plugin bridge"] == "/usr/lib/cni/bridge, version unknown, sha256 unknown"


def test_a_component_that_is_a_recorded_program_is_there_once() -> None:
    """A runtime that was not started for the run has only the component."""
    components = {"OCI runtime": "runc 1.3", "storage": "overlay"}

    assert parts_of(RUNC, BRIDGE, **components)["OCI runtime"].startswith("/usr/sbin/runc")
    assert parts_of(RUNC, BRIDGE, **components)["storage"] == "overlay"
    assert parts_of(**components)["OCI runtime"] == "runc 1.3"


def test_only_what_both_runs_recorded_can_differ() -> None:
    """An older record without programs is no other set-up."""
    swapped = dataclasses.replace(RUNC, sha256="b" * 64)

    assert differing_parts(parts_of(), parts_of(RUNC)) == []
    assert differing_parts(parts_of(RUNC), parts_of(swapped)) == [
        PartDifference(
            "OCI runtime",
            "/usr/sbin/runc, runc 1.3, sha256 aaaaaaaaaaaa",
            "/usr/sbin/runc, runc 1.3, sha256 bbbbbbbbbbbb",
        )
    ]
