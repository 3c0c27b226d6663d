"""What the suite adds to the folder of `--alluredir` while allure-pytest writes it.

allure-pytest knows of a test what pytest knows. The rest comes from the suite: which requirement it is about,
the outcome that pytest has no word for, the calls, the evidence. It is the same as in the folder that is made
from the record of the run afterwards (`critests.report.formats.allure`), with one difference: here every
test's calls are steps, there only those that were kept.
"""

import contextlib
import time
from pathlib import Path
from typing import Any, Final

import pytest
from allure_commons.model2 import TestResult as AllureResult

import critests
from critests.client.recording import Call
from critests.node.machine import fingerprint
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.facts.evidence import CALLS_SHOWN, Budget, Evidence, read_evidence, views_of
from critests.report.formats.allure import EVIDENCE_BUDGET, put_all, result_of, write_run_files
from critests.report.formats.source import Source
from critests.run.conclusion import identity_of
from critests.run.context import RunContext

OURS: Final = (
    *(
        "name",
        "fullName",
        "historyId",
        "testCaseId",
        "status",
        "statusDetails",
        "description",
        "descriptionHtml",
        "titlePath",
    ),
    *("labels", "links", "parameters", "steps"),
)
"""Of a result, what the suite knows better; its uuid, its times and the fixtures around it remain
allure-pytest's.
"""


class AllureDir:
    """Completes what allure-pytest writes of each test in this process."""

    def __init__(self, listener: Any, root: Path) -> None:  # noqa: ANN401 - allure-pytest is not typed
        self._listener = listener
        self._root = root
        self._budget = Budget(EVIDENCE_BUDGET)
        self._known: Source | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> "AllureDir | None":
        """Return that of a session; None where nobody asked for the folder."""
        listener, root = (
            config.pluginmanager.get_plugin("allure_listener"),
            getattr(config.option, "allure_report_dir", None),
        )
        return cls(listener, Path(root).absolute()) if listener and root else None

    def test(self, result: TestResult, calls: list[Call], context: RunContext) -> None:
        """Complete the result of the test that is just ending.

        Args:
            result: its outcome, judged as far as that can be done before the end of the run.
            calls: that it made, in order.
            context: of the run.
        """
        unfinished: AllureResult | None = self._listener.allure_logger.get_test(None)
        if unfinished is None:
            return
        folder = context.folder.path
        kept = read_evidence(folder, result.evidence, self._budget) if result.evidence else Evidence()
        if not kept.calls:
            plain = [call.to_json() | {"request": None, "response": None} for call in calls[-CALLS_SHOWN:]]
            kept = Evidence(views_of(plain, self._budget), len(calls) - len(plain), kept.files, kept.note)
        attachments: dict[str, str] = {}
        made = result_of(self._source(context), result, kept, attachments)
        for name in OURS:
            setattr(unfinished, name, getattr(made, name))
        unfinished.attachments.extend(made.attachments)
        with contextlib.suppress(OSError):
            put_all(self._root, attachments)

    def _source(self, context: RunContext) -> Source:
        """Return the run as far as it is known before its end."""
        if self._known is None:
            now = time.time()
            record = RunRecord(
                run_id=context.run.id,
                suite_version=critests.__version__,
                started=now,
                finished=now,
                runtime=identity_of(context),
                machine={**fingerprint(), **context.machine},
            )
            self._known = Source(record=record, folder=context.folder.path)
        return self._known

    def run(self, record: RunRecord, folder: Path) -> None:
        """Add the files about the run as a whole, at its end.

        Raises:
            RecordNotWritten: one of them could not be written.
        """
        write_run_files(Source(record=record, folder=folder), self._root)
