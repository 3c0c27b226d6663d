"""The conditions `slow-steps` and `failing-steps`: commands of the OCI runtime, CNI plugins and monitors are
delayed or fail.

A plan is drawn for each test, from the seed and the test's name, so that a test that is repeated alone meets
the same.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from critests.conditions.condition_table import FAILING_STEPS, SLOW_STEPS
from critests.node.wrappers.actions import Action, Delay, Fail
from critests.node.wrappers.stand_in import CniWrapper, MonitorWrapper, OciWrapper

OCI_OPERATIONS: Final = (
    *("create", "start", "kill", "delete", "state", "exec", "update", "pause", "resume"),
    "ps",  # by which containerd decides during its start whether a shim is still needed
)
CNI_OPERATIONS: Final = ("ADD", "DEL", "CHECK")
MONITOR_OPERATIONS: Final = ("start", "exec", "delete")
USUAL_DELAY_SECONDS: Final = 0.05
LONG_DELAY_SECONDS: Final = (10.0, 15.0)
"""Longer than the time-outs inside the runtimes, most of which are 10 s or less."""
LONG_EVERY: Final = 20
FAILS_EVERY: Final = 50
EXIT_CODE: Final = 1
CNI_ERROR_CODE: Final = 100
"""The CNI specification reserves the codes below for itself."""


@dataclass(frozen=True)
class Steps:
    """The wrappers of a runtime, with the plan of the running test.

    Attributes:
        oci: around the OCI runtime.
        cni: around the CNI plugins.
        monitor: around the shim or conmon; None if the runtime has none.
        names: of the conditions.
        seed: of the plans.
    """

    oci: OciWrapper
    cni: CniWrapper
    monitor: MonitorWrapper | None
    names: Sequence[str]
    seed: int

    def plan_for(self, test: str) -> None:
        """Set the plan for a test, and forget what acted before."""
        draws = random.Random(f"{self.seed} {test}")  # noqa: S311 - repeatable, no secret
        self.oci.plan({each: self._actions(draws, EXIT_CODE) for each in OCI_OPERATIONS})
        self.cni.plan({each: self._actions(draws, CNI_ERROR_CODE) for each in CNI_OPERATIONS})
        if self.monitor is not None:
            self.monitor.plan({each: self._actions(draws, EXIT_CODE) for each in MONITOR_OPERATIONS})

    def _actions(self, draws: random.Random, code: int) -> list[Action]:
        actions: list[Action] = []
        if SLOW_STEPS in self.names:
            long = Delay(draws.uniform(*LONG_DELAY_SECONDS), LONG_EVERY, draws.randint(1, LONG_EVERY))
            actions += [Delay(USUAL_DELAY_SECONDS), long]
        if FAILING_STEPS in self.names:
            actions.append(
                Fail(code, "critests: this step fails", FAILS_EVERY, draws.randint(1, FAILS_EVERY))
            )
        return actions

    def acted(self) -> list[str]:
        """Return the operations that took long or failed by the plan, during the test so far."""
        of_monitor = self.monitor.acted() if self.monitor is not None else []
        return [*self.oci.acted(), *self.cni.acted(), *(f"monitor {operation}" for operation in of_monitor)]

    def end(self) -> None:
        """Let every step work."""
        for wrapper in (self.oci, self.cni, self.monitor):
            if wrapper is not None:
                wrapper.plan({})
