"""What was found, and the files that describe it."""

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from critests.catalogue import aspect
from critests.explore.crictl import script
from critests.explore.sequence_runner import SequenceEvidence
from critests.model import Breach, Step, StepGroup
from critests.model.steps import to_plain

TEST = '''"""{title}.

Found by `critests explore --seed {seed}` on {runtime}. Run it with
`pytest {file} --runtime-endpoint ENDPOINT`.
"""

from critests.explore.setting_up import replay
from critests.fixtures.runtime import Runtime
from critests.model import Step
from critests.run.marks import requirement

STEPS = [
{steps}
]


@requirement("{aspect}")
def test_found_{name}(runtime: Runtime) -> None:
    """{level}: {statement}

    Observed: {what}: expected {expected}, observed {observed}.
    """
    assert replay(runtime.context, STEPS, "{aspect}") == []
'''

EXPECTATION = """\
# Complete and check this, then add it to the runtime's known failures.
[[known]]
requirement = {aspect}
test = {test}
versions = "*"
proven = {proven}
outcome = {outcome}
reason = {observed}
api = {statement}
owner = {owner}
expires = {expires}{intermittent}
explored = [{signature}]
"""
LISTED_FOR = dt.timedelta(days=180)


@dataclass(frozen=True)
class ExplorationFinding:
    """One promise that a sequence breaks.

    Attributes:
        breach: the promise, and how it was broken.
        groups: the shortest sequence that was found.
        tries: how often it was run again.
        reproduced: in how many of these tries it broke the promise.
        evidence: of the last try in which it did.
    """

    breach: Breach
    groups: tuple[StepGroup, ...]
    tries: int
    reproduced: int
    evidence: SequenceEvidence = field(default_factory=SequenceEvidence)

    def __str__(self) -> str:
        lines = [" | ".join(map(str, group)) for group in self.groups]
        return "\n  ".join([str(self.breach), *lines])

    @property
    def name(self) -> str:
        """A name for files and a test: aspect, RPC and what was broken."""
        words = f"{self.breach.aspect}_{self.breach.rpc}_{self.breach.what}"
        return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:80]

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        breach = self.breach
        return {
            "requirement": breach.aspect,
            "level": breach.level,
            "what": breach.what,
            "rpc": breach.rpc,
            "expected": breach.expected,
            "seen": breach.observed,
            "tries": self.tries,
            "again": self.reproduced,
            "steps": to_plain(self.groups),
        }


def write(finding: ExplorationFinding, folder: Path, *, seed: int, runtime: str) -> Path:
    """Write a finding into a folder of its own: a test, a script, its calls, the runtime's log and an entry
    for its known failures.
    """
    place = folder / finding.name
    place.mkdir(parents=True, exist_ok=True)
    breach = finding.breach
    requirement, _ = aspect(breach.aspect)
    file = f"test_found_{finding.name}.py"
    (place / file).write_text(
        TEST.format(
            title=_one_line(f"{breach.aspect} ({breach.level}): {breach.what}"),
            seed=seed,
            runtime=_one_line(runtime),
            file=file,
            steps="\n".join(f"    {_source_of(group)}," for group in finding.groups),
            aspect=breach.aspect,
            name=finding.name,
            level=breach.level,
            statement=_one_line(requirement.statement),
            what=breach.what,
            expected=_one_line(breach.expected),
            observed=_one_line(breach.observed),
        ),
        encoding="utf-8",
    )
    (place / "crictl.sh").write_text(
        script(finding.groups, _one_line(f"{breach.aspect}: {breach.what}")), encoding="utf-8"
    )
    (place / "expectation.toml").write_text(_expectation(finding, runtime), encoding="utf-8")
    with (place / "calls.jsonl").open("w", encoding="utf-8", errors="backslashreplace") as calls:
        calls.writelines(
            json.dumps(call.to_json(), ensure_ascii=False) + "\n" for call in finding.evidence.calls
        )
    if finding.evidence.log:
        (place / "runtime.log").write_bytes(finding.evidence.log)
    return place


def _expectation(finding: ExplorationFinding, runtime: str) -> str:
    breach = finding.breach
    name, _, version = runtime.partition(" ")
    requirement, part = aspect(breach.aspect)
    values = {
        "aspect": breach.aspect,
        "test": f"test_found_{finding.name}",
        "proven": f"=={version.removeprefix('v')}",
        "outcome": "failed" if breach.level == "MUST" else "warned",
        "observed": _one_line(f"expected {breach.expected}, seen {breach.observed}"),
        "statement": _one_line(part.scope or requirement.statement),
        "owner": name,
        "signature": breach.signature,
    }
    return EXPECTATION.format(
        **{key: json.dumps(value) for key, value in values.items()},
        expires=dt.datetime.now(dt.UTC).date() + LISTED_FOR,
        intermittent="" if finding.reproduced == finding.tries else "\nintermittent = true",
    )


def _source_of(group: StepGroup) -> str:
    """Return a group as Python source."""
    steps = [_step(step) for step in group]
    return steps[0] if len(steps) == 1 else f"({', '.join(steps)})"


def _step(step: Step) -> str:
    fields = step.arguments()
    rpc = json.dumps(fields.pop("rpc"))
    arguments = [rpc, *(f"{name}={json.dumps(value)}" for name, value in fields.items())]
    return f"Step({', '.join(arguments)})"


def _one_line(text: str) -> str:
    """Return a runtime's text in a form that ends no docstring and no comment."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())[:300]


def table(outcomes: Counter[tuple[str, str, str]]) -> Sequence[tuple[str, str, str]]:
    """Return what was covered: RPC, situation, and the count of each outcome."""
    rows: dict[tuple[str, str], list[str]] = {}
    for (rpc, situation, outcome), count in sorted(outcomes.items()):
        rows.setdefault((rpc, situation), []).append(f"{outcome} {count}")
    return [(rpc, situation, ", ".join(codes)) for (rpc, situation), codes in rows.items()]
