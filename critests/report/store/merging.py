"""Merging the shards of a run, with their evidence, into one run."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from critests.catalogue.rpcs import judge_of
from critests.record.files import read
from critests.record.judgement import JudgeContext
from critests.record.merge import merge
from critests.record.run_layout import RunFolder, evidence_name, new_run_folder, safe_test_id
from critests.record.run_record import RunRecord
from critests.report.exports import export
from critests.report.wording.endings import worded


def merge_runs(folders: Sequence[Path], results: Path, *, strict: bool = False) -> tuple[Path, RunRecord]:
    """Merge runs of one runtime into a new run below the root of the results; the parts are not changed.

    Args:
        folders: Folders of the runs, each with its `run.json`.
        results: Root of all results.
        strict: Warnings count for the exit code.

    Returns:
        The folder of the new run, and its record.

    Raises:
        RecordUnreadable: one of them is not a run.
        MergeRejected: they are of different runtimes, versions or suites.
        RecordNotWritten: the new run cannot be written.
    """
    parts = [read(folder) for folder in folders]
    joined = worded(*merge(parts, JudgeContext(judge_of=judge_of, strict=strict)))
    target = new_run_folder(results, joined.runtime.name, joined.runtime.version, joined.started)
    places = {
        (test.id, test.started): folder
        for folder, part in zip(folders, parts, strict=True)
        for test in part.tests
    }
    for test in joined.tests:
        source = places.get((test.id, test.started))
        if source is not None and test.evidence:
            _copy_evidence(source, target, test.id)
    export(joined, target.path)
    return target.path, joined


def _copy_evidence(source: Path, target: RunFolder, test_id: str) -> None:
    """Copy a test's evidence and calls; their names are derived from its id, not read from the record."""
    evidence = source / evidence_name(test_id)
    if evidence.is_dir() and not evidence.is_symlink():
        shutil.copytree(evidence, target.evidence(test_id), symlinks=True, dirs_exist_ok=True)
    calls = RunFolder(source).calls / f"{safe_test_id(test_id)}.jsonl.gz"
    if calls.is_file() and not calls.is_symlink():
        target.calls.mkdir(exist_ok=True)
        shutil.copy2(calls, target.calls / calls.name)
