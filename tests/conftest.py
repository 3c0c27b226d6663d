"""What all unit tests share."""

import signal


def pytest_configure() -> None:
    """Let signals do what they do by default."""
    # under nohup SIGHUP is ignored, in a script's background SIGINT, and so they would be in every process
    # that a test starts
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
