"""Distributes tests to workers: tests of a module that share a module-scoped fixture run on one worker, so
that the fixture is set up once.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # has no types


class ModuleScheduler(LoadScopeScheduling):  # type: ignore[misc]  # see above
    """Distributes modules with shared fixtures as a whole, and all other tests one by one. xdist starts with
    the largest.

    Args:
        config: pytest's.
        log: xdist's.
        sharing: returns, after a worker has collected, the files of tests with shared fixtures by test id.
    """

    def __init__(
        self,
        config: Any,  # noqa: ANN401 - xdist has no types
        log: Any,  # noqa: ANN401 - xdist has no types
        sharing: Callable[[], Mapping[str, str]],
    ) -> None:
        super().__init__(config, log)
        self._ask = sharing

    @cached_property
    def _files(self) -> Mapping[str, str]:
        return self._ask()

    def _split_scope(self, nodeid: str) -> str:
        """Return the scope of a test: its file, or the test itself."""
        _, _, test_id = nodeid.rpartition("critests/validation/")
        return self._files.get(test_id, nodeid)
