"""A build in the bucket layout that TestGrid, Spyglass and Gubernator read.

    <root>/logs/<job>/<build>/started.json, build-log.txt, finished.json
    <root>/logs/<job>/<build>/artifacts/junit_<context>_01.xml
    <root>/logs/<job>/latest-build.txt

Readers poll: a build counts as running until `finished.json` exists, so everything else is written before it.
`latest-build.txt`, which names the newest build, is written last and never decreases. Files are written
atomically. Sources: TestGrid's updater, Gubernator's description of the layout.
"""

import json
from pathlib import Path
from typing import Final

from critests.exit_codes import ExitCode
from critests.record.files import to_json, write_atomically
from critests.record.run_layout import RUN_FILE
from critests.record.run_record import RunRecord
from critests.report.facts.run_facts import run_facts
from critests.report.formats import junit, summary
from critests.report.formats.source import NotExported, Source
from critests.report.run_kinds import kind_of
from critests.report.wording.texts import one_line, visible

PREFIX: Final = "logs"
LATEST: Final = "latest-build.txt"
VALUE_LIMIT: Final = 200


def write_tree(source: Source, root: Path) -> list[Path]:
    """Write a run as a build of its job.

    Args:
        source: The run.
        root: Directory that is published as the bucket.

    Returns:
        The files in the order in which they were written.

    Raises:
        NotExported: the build exists and contains another run.
        RecordNotWritten: a file could not be written.
    """
    record = source.record
    job = root / PREFIX / source.job
    build = job / str(source.build)
    _refuse_another_run(build, record)
    kind = kind_of(record.kind)
    files = {
        build / "started.json": _json(started(record)),
        build / "artifacts" / f"junit_cri-{record.kind.replace('_', '-')}_01.xml": junit.render(source),
        build / "artifacts" / RUN_FILE: to_json(record),
        build / "artifacts" / "report.html": kind.to_html(record, source.folder),
    }
    if source.publishing.url.startswith(("https://", "http://")):
        files[build / "artifacts" / "run.link.txt"] = visible(source.publishing.url, lines=False) + "\n"
    files[build / "build-log.txt"] = summary.render(source)
    files[build / "finished.json"] = _json(finished(record))
    if source.build >= latest(job):
        files[job / LATEST] = f"{source.build}\n"
    for path, content in files.items():
        write_atomically(path, content)
    return list(files)


def started(record: RunRecord) -> dict[str, object]:
    """Return the content of `started.json`."""
    return {
        "timestamp": max(int(record.started), 1),
        "repo-commit": job_version(record),
    }


def finished(record: RunRecord) -> dict[str, object]:
    """Return the content of `finished.json`; boards can show only string values of its metadata."""
    passed = record.exit_code == ExitCode.NO_NEW_FAILURE
    metadata = {"job-version": job_version(record)} | run_facts(record)
    return {
        "timestamp": max(int(record.finished), int(record.started), 1),
        "passed": passed,
        "result": "SUCCESS" if passed else "FAILURE",
        "metadata": {name: one_line(value, VALUE_LIMIT) for name, value in metadata.items()},
    }


def job_version(record: RunRecord) -> str:
    """Return the runtime's version without `+unknown`: boards show only what follows a plus sign."""
    return one_line(record.runtime.version.removesuffix("+unknown"), VALUE_LIMIT)


def latest(job: Path) -> int:
    """Return the newest published build of a job, or -1."""
    try:
        return int((job / LATEST).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return -1


def _refuse_another_run(build: Path, record: RunRecord) -> None:
    try:
        there = json.loads((build / "finished.json").read_text(encoding="utf-8"))["metadata"]["run"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if there != one_line(record.run_id, VALUE_LIMIT):
        msg = f"{build} contains another run ({there}); choose another job with --job"
        raise NotExported(msg)


def _json(data: dict[str, object]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"
