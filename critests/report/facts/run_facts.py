"""The most important facts about a run, as names and short texts."""

import json
from collections.abc import Mapping
from typing import Final

from critests.record.identity import OCI_RUNTIME, RuntimeIdentity
from critests.record.operations import OperationResult
from critests.record.run_record import RunRecord
from critests.record.units import BYTES
from critests.report.facts.run_parts import run_parts
from critests.report.wording.condition_words import conditions_in_words
from critests.report.wording.quantities import quantity

PROGRAMS: Final = ("daemon", OCI_RUNTIME, "shim", "monitor")
"""Those of the programs of a runtime that dashboards show, by role."""


def runtime_of(record: RunRecord, operation: OperationResult) -> RuntimeIdentity:
    """Return the runtime that an operation was measured on: that of its side in a live comparison."""
    sides = record.benchmark.sides if record.benchmark else {}
    return sides.get(operation.side, record.runtime)


def run_facts(record: RunRecord) -> dict[str, str]:
    """Return the facts that dashboards show with a run; unknown ones are left out."""
    machine = record.machine
    distribution, cgroup, cpu = (machine.get(name) for name in ("distribution", "cgroup", "cpu"))
    facts = {
        "runtime": record.runtime.name,
        "runtime-version": record.runtime.version,
        "cri-api": record.runtime.api_version,
        "api-level": record.api_level.declared or record.api_level.proven,
        "handlers": ", ".join(handler or "(default)" for handler in record.runtime.handlers),
        "conditions": conditions_in_words(record.conditions),
        "os": str(
            distribution.get("name", "") if isinstance(distribution, dict) else machine.get("os") or ""
        ),
        "kernel": str(machine.get("kernel") or ""),
        "architecture": str(machine.get("architecture") or ""),
        "cgroup": str(cgroup.get("version", "") if isinstance(cgroup, dict) else ""),
        "cpu": str(cpu.get("model", "") if isinstance(cpu, dict) else ""),
        "profile": record.benchmark.profile if record.benchmark else "",
        "suite-version": record.suite_version,
        "catalogue": record.catalogue_revision,
        "run": record.run_id,
        "verdict": record.exit_reason,
    }
    facts |= {name.replace(" ", "-"): value for name, value in run_parts(record).items() if name in PROGRAMS}
    return {name: value for name, value in facts.items() if value}


def flat(facts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested facts as a list of names and texts, without empty ones; sizes get a unit."""
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        label = f"{prefix}{name.removesuffix('_bytes')}".replace("_", " ")
        if value in (None, "", [], {}):
            continue
        if isinstance(value, Mapping):
            found += flat(value, f"{label} · ")
        elif isinstance(value, list | tuple):
            simple = all(isinstance(item, str | int | float) for item in value)
            text = ", ".join(str(item) for item in value) if simple else json.dumps(value, ensure_ascii=False)
            found.append((label, text))
        elif isinstance(value, bool):
            found.append((label, "yes" if value else "no"))
        elif name.endswith("_bytes") and isinstance(value, int):
            found.append((label, quantity(value, BYTES)))
        else:
            found.append((label, str(value)))
    return found
