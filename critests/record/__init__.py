"""The run record: what one run found, as data that every report is derived from. Standard library only.

`results` and `run` hold the dataclasses, `files` reads and writes them, `layout` names the folders,
`judgement` turns raw outcomes into final ones, `expectations` knows the known failures, `merge` joins shards,
`schema` publishes the JSON schema.
"""

from critests.record.errors import MergeRefused, RecordNotWritten, RecordUnreadable
from critests.record.files import read, write
from critests.record.identity import RuntimeIdentity
from critests.record.results import RequirementVerdict, RootCause, TestResult
from critests.record.run import ApiCoverage, ApiLevel, CapabilityFact, Counts, RunRecord, Timing

__all__ = [
    "ApiCoverage",
    "ApiLevel",
    "CapabilityFact",
    "Counts",
    "MergeRefused",
    "RecordNotWritten",
    "RecordUnreadable",
    "RequirementVerdict",
    "RootCause",
    "RunRecord",
    "RuntimeIdentity",
    "TestResult",
    "Timing",
    "read",
    "write",
]
