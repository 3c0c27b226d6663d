"""`python -m critests.audit [OPTIONS OF PYTEST]`: `critests audit --tests` with pytest's own options, for
example `--cri-node containerd`.

`--cri-audit-try FAULT -k TEST` shows what a fault does to a test that is being written.
"""

import os
import sys

from critests.run.known_tests import SUITE


def command(arguments: list[str]) -> list[str]:
    """Return the command that runs the audit; without a path among the arguments it is the whole suite's."""
    fixed = [
        "-c",
        str(SUITE / "pytest.ini"),
        "--rootdir",
        str(SUITE.parent.parent),
        "-p",
        "critests.audit.pytest_audit",
        "--cri-audit",
    ]
    paths = [
        word for word in arguments if not word.startswith("-") and word.partition("::")[0].endswith(".py")
    ]
    return [sys.executable, "-m", "pytest", *fixed, *arguments, *([] if paths else [str(SUITE)])]


if __name__ == "__main__":
    # another process image, not a call: pytest must see the suite's modules before anybody else does, to
    # explain their assertions
    words = command(sys.argv[1:])
    os.execv(words[0], words)  # noqa: S606 - there is no shell in between
