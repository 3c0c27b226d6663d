"""Findings that an entry of the known failures names are not reported again; all others are."""

import datetime as dt
from pathlib import Path

import pytest

from critests.explore import exploration_findings
from critests.explore.exploration_findings import ExplorationFinding
from critests.explore.known_findings import explored_before
from critests.model import Breach, Step
from critests.record.expectations import load

TODAY = dt.date(2026, 11, 22)
REWRITTEN = Breach("STP-07", "exit code or finish time changed later", "StopContainer", "5", "6")
REFUSED = Breach("STP-07", "stopping a container that has ended", "StopContainer", "success", "UNKNOWN")
ENTRY = """[[known]]
requirement = "STP-07"
test = "test_stop"
versions = "<2.0"
outcome = "failed"
reason = "rewrites the end"
api = "StopContainer may be repeated"
owner = "runtime"
expires = 2027-06-30
"""


def is_known(tmp_path: Path, breach: Breach, *lines: str, version: str = "1.6", day: dt.date = TODAY) -> bool:
    (tmp_path / "x.toml").write_text("\n".join([ENTRY, *lines]), encoding="utf-8")
    return explored_before(load(tmp_path / "x.toml"), version, day)(breach)


def test_entry_covers_only_the_findings_it_names(tmp_path: Path) -> None:
    named = 'explored = ["STP-07: exit code or finish time changed later after StopContainer"]'

    assert is_known(tmp_path, REWRITTEN, named)
    assert not is_known(tmp_path, REFUSED, named)
    assert not is_known(tmp_path, REWRITTEN), "an entry without `explored` covers no breach of an exploration"


@pytest.mark.parametrize("limit", [{"version": "2.0"}, {"day": dt.date(2027, 7, 1)}])
def test_entry_covers_findings_only_within_its_versions_and_days(
    tmp_path: Path, limit: dict[str, str]
) -> None:
    assert not is_known(tmp_path, REWRITTEN, 'explored = ["STP-07: *"]', **limit)  # type: ignore[arg-type]  # one of two


@pytest.mark.parametrize("again", [3, 10])
def test_a_finding_has_an_entry_that_covers_it(tmp_path: Path, again: int) -> None:
    finding = ExplorationFinding(REWRITTEN, ((Step("StopContainer", on="container-1"),),), 10, again)
    place = exploration_findings.write(finding, tmp_path, seed=1, runtime="a-runtime v1.36.3")

    (entry,) = load(place / "expectation.toml").known

    assert (entry.outcome, entry.owner, entry.intermittent) == ("failed", "a-runtime", again < 10)
    assert entry.proven.holds("1.36.3")
    assert explored_before(load(place / "expectation.toml"), "1.36.3", TODAY)(REWRITTEN)
