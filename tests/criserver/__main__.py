"""Runs the server as a process of its own: `python -m tests.criserver --socket PATH [--wrong NAME …]`."""

import argparse
import os
import signal
from pathlib import Path

from critests.run.stop_signals import handled_by
from tests.criserver.server import CriServer
from tests.criserver.ways import WAYS


def main() -> None:
    """Serve until SIGTERM or SIGINT, or until a way to be wrong kills this process."""
    names = "\n".join(
        f"  {name}{'=' + way.argument if way.argument else ''}: {way.description}"
        for name, way in WAYS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m tests.criserver",
        epilog=f"ways to be wrong:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--wrong", action="append", default=[], metavar="NAME[=ARGUMENT]")
    parser.add_argument("--without", action="append", default=[], metavar="RPC")
    chosen = parser.parse_args()
    try:
        server = CriServer(wrong=chosen.wrong, without=chosen.without)
    except ValueError as error:
        parser.error(str(error))
    server.when_killed = lambda: os.kill(os.getpid(), signal.SIGKILL)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)  # a signal before the read below is not lost
    with handled_by(lambda *_: None):
        print(server.start(chosen.socket), flush=True)
        os.read(reader, 1)
        server.stop()


if __name__ == "__main__":
    main()
