"""How tests are dealt out to workers: those that use what is made once for their module go to one worker, in
turn, so that it is made once and not by each.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # has no types


class ModuleScheduler(LoadScopeScheduling):  # type: ignore[misc]  # see above
    """Deals out modules that make something, and single tests; the largest modules first, which xdist does.

    Args:
        config: pytest's.
        log: xdist's.
        sharing: tells, once a worker has collected, the files of tests that use what is made once for them.
    """

    def __init__(
        self,
        config: Any,  # noqa: ANN401 - as xdist has it
        log: Any,  # noqa: ANN401 - as xdist has it
        sharing: Callable[[], Mapping[str, str]],
    ) -> None:
        super().__init__(config, log)
        self._ask = sharing

    @cached_property
    def _files(self) -> Mapping[str, str]:
        return self._ask()

    def _split_scope(self, nodeid: str) -> str:
        """Return what a test is dealt out with: its file, or itself."""
        _, _, test_id = nodeid.rpartition("critests/validation/")
        return self._files.get(test_id, nodeid)
