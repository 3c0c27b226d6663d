"""Metadata of a test: enough to select it, to list it, and to record that it was left out.

Does not import pytest, which takes as long as gRPC: a list of tests needs neither.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import critests
from critests import catalogue
from critests.catalogue.requirements import Aspect, Requirement
from critests.catalogue.words import Level
from critests.record.exits import MEASURED
from critests.run import profiles
from critests.run.run_settings import Settings

PACKAGE: Final = Path(critests.__file__).parent
SUITE: Final = PACKAGE / "validation"


@dataclass(frozen=True)
class JudgedAspect:
    """The requirement and the aspect that a test judges.

    Attributes:
        requirement: from the catalogue; None for a test without one.
        aspect: of that requirement.
    """

    requirement: Requirement | None
    aspect: Aspect | None

    @property
    def name(self) -> str:
        """The aspect's id, empty without one."""
        return self.aspect.id if self.aspect else ""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a `TestResult` about it; the title of a test is its own."""
        found, aspect = self.requirement, self.aspect
        return {
            "requirement": self.name,
            "requirement_id": found.id if found else "",
            "area": found.area.value if found else "",
            "group": found.group if found else "",
            "level": aspect.level if aspect else Level.MUST,
            "judgement": aspect.judgement if aspect else False,
            "title": found.statement if found else "",
        }

    @classmethod
    def named(cls, name: str) -> "JudgedAspect":
        """Return the aspect with a name, or an empty one for an empty name.

        Raises:
            UnknownRequirement: the catalogue has no such aspect.
        """
        return cls(*catalogue.aspect(name)) if name else cls(None, None)


@dataclass(frozen=True, kw_only=True)
class CollectedTest:
    """Metadata of a test.

    Attributes:
        id: relative to the suite.
        name: of its function, with its parameters.
        aspect: the aspect that it judges; empty for none.
        scenario: the benchmark scenario that it measures; empty for other tests.
        title: first sentence of its docstring.
        params: by name, as text.
        slow: it has a built-in wait of more than two seconds.
        disruptive: it may disturb or kill the daemon.
        malformed: it sends requests without required fields.
        documents: it varies documents that the runtime reads.
        shares: it uses a module-scoped fixture.
        ours: whether it belongs to the suite or to a vendor's extension.
    """

    id: str
    name: str
    aspect: str = ""
    scenario: str = ""
    title: str = ""
    params: dict[str, str] = field(default_factory=dict, hash=False)
    slow: bool = False
    disruptive: bool = False
    malformed: bool = False
    documents: bool = False
    shares: bool = False
    ours: bool = True

    @cached_property
    def judged(self) -> JudgedAspect:
        """The aspect that it judges."""
        return JudgedAspect.named(self.aspect)

    @property
    def file(self) -> str:
        """Its file, relative to the suite."""
        return self.id.partition("::")[0]

    @property
    def part(self) -> str:
        """The one of the six parts of `everything` that contains it."""
        aspect = self.judged.aspect
        return profiles.SURVEY if aspect is not None and aspect.level is Level.DIV else self.stage

    @property
    def stage(self) -> str:
        """When it runs, as the name of a profile: tests that may kill the daemon come last."""
        if self.documents:
            return profiles.DOCUMENTS
        if self.malformed:
            return profiles.MALFORMED
        if self.disruptive:
            return profiles.RESTART
        return profiles.SLOW if self.slow else profiles.FULL

    def identity(self, settings: Settings, judged: JudgedAspect | None = None) -> dict[str, Any]:
        """Return the fields of `TestResult` that do not depend on the outcome.

        Args:
            settings: the user's options.
            judged: the judged aspect, if it is not the test's own.
        """
        judged = judged or self.judged
        only = settings.handlers[0] if len(settings.handlers) == 1 else ""
        measured = {"area": MEASURED, "group": self.scenario} if self.scenario else {}
        return {
            "id": self.id,
            "name": self.name,
            "params": self.params,
            **judged.fields,
            **(measured if judged.requirement is None else {}),
            "title": self.title,
            "handler": self.params.get("runtime_handler", only),
            "slow": self.slow,
        }
