"""TestGrid's configuration of a job: its test group, a tab on its runtime's dashboard, and its alerts."""

from typing import Any, Final

import yaml

from critests.report.formats.junit import SHOWN
from critests.report.formats.source import Source, job_name
from critests.report.formats.testgrid import PREFIX
from critests.report.run_kinds import kind_of
from critests.report.wording.texts import one_line

BUCKET: Final = "BUCKET"
"""Placeholder for the bucket if none is given."""
LETTERS: Final = {"known": "K", "warned": "W", "blocked": "B", "unsupported": "U"}
"""Outcome to the letter in its cell; without it every skipped case would be an S and a warning a plain pass.
A number takes precedence.
"""


def render(source: Source) -> str:
    """Return the YAML, to be merged with that of other jobs."""
    job, runtime = source.job, job_name(source.record.runtime.name)
    bucket = source.publishing.bucket.removeprefix("gs://").strip("/") or BUCKET
    measures = kind_of(source.record.kind).measures
    group: dict[str, Any] = {
        "name": job,
        "gcs_prefix": one_line(f"{bucket}/{PREFIX}/{job}"),
        "days_of_results": 60 if measures else 30,
        "num_columns_recent": 10,
        # the run is not a ProwJob, so there is no pod state to analyse
        "disable_prowjob_analysis": True,
        "column_header": [
            {"configuration_value": name} for name in ("runtime-version", "suite-version", "kernel")
        ],
    }
    group["test_annotations"] = [
        {"property_name": f"outcome_{outcome}", "short_text": letter} for outcome, letter in LETTERS.items()
    ]
    if measures:
        group["short_text_metric"] = SHOWN
    tab: dict[str, Any] = {
        "name": job.removeprefix(f"critests-{runtime}-") or job,
        "test_group_name": job,
        "description": (
            f"critests: {'speed' if measures else 'conformance'} of"
            f" {one_line(source.record.runtime.name, 60)}"
        ),
        "alert_options": _alerts(source.publishing.mail),
        "flakiness_alert_options": {"minimum_flakiness_to_alert": 20},
        "status_customization_options": {"max_acceptable_flakiness": 5, "min_acceptable_runs": 4},
    }
    dashboard = f"critests-{runtime}"
    configuration = {
        "test_groups": [group],
        "dashboards": [{"name": dashboard, "dashboard_tab": [tab]}],
        "dashboard_groups": [{"name": "critests", "dashboard_names": [dashboard]}],
    }
    return yaml.safe_dump(configuration, sort_keys=False, allow_unicode=False, width=140)


def _alerts(mail: str) -> dict[str, Any]:
    """Return the alerts: for a test that fails twice in a row, and for a job without results for two days."""
    addresses = one_line(mail, 1000)
    return {
        **({"alert_mail_to_addresses": addresses} if addresses else {}),
        "num_failures_to_alert": 2,
        "num_passes_to_disable_alert": 1,
        "alert_stale_results_hours": 48,
        "wait_minutes_between_emails": 1440,
    }
