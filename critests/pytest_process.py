"""The pytest that `critests run` and `critests bench` become."""

import atexit
import os
import sys

from critests.process_start import INTERRUPTED, leave_at_stop_signals


def run_pytest() -> None:
    """Run pytest with the arguments of this process."""
    leave_at_stop_signals()
    import pytest  # noqa: PLC0415 - its import takes time, in which Ctrl-C is handled

    code = int(pytest.main())
    if code == INTERRUPTED:
        # Python would end by SIGINT if the signal came while a module executed generated code, as for a
        # dataclass, although pytest caught the exception
        atexit._run_exitfuncs()  # noqa: SLF001 - os._exit omits them
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run_pytest()
