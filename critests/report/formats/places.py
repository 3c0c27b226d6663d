"""Where a test is written: its file below the checkout, and the line of its function."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

import critests
from critests.report.run_kinds import kind_of

_PACKAGE: Final = Path(critests.__file__).parent
_MODULE: Final = re.compile(r"(?:[A-Za-z0-9_]+/)*[A-Za-z0-9_]+\.py")
_FUNCTION: Final = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def file_of(test_id: str, kind: str) -> str:
    """Return the file of a test as a path in the checkout, or empty for a result that no test function stands
    behind.

    Args:
        test_id: `sandboxes/test_state.py::test_x[param]`, or `benchmark/test_pods.py::test_x`.
        kind: Kind of the run, as in the record.
    """
    module, separator, _ = test_id.partition("::")
    below = kind_of(kind).tests_below
    if not separator or not below or not _MODULE.fullmatch(module):
        return ""
    return f"{below}/{module.removeprefix('benchmark/')}"


def line_of(test_id: str, kind: str, suite_version: str) -> int | None:
    """Return the line of the test's function, or None where the suite that ran is another than this one."""
    file = file_of(test_id, kind)
    if not file or suite_version != critests.__version__:
        return None
    function = test_id.partition("::")[2].partition("[")[0]
    return _lines(file).get(function)


@lru_cache(maxsize=256)
def _lines(file: str) -> dict[str, int]:
    try:
        text = (_PACKAGE.parent / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return {match[1]: text.count("\n", 0, match.start()) + 1 for match in _FUNCTION.finditer(text)}
