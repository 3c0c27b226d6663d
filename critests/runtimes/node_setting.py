"""Named configurations of a private runtime, for `--node-setting`."""

from dataclasses import dataclass

from critests.runtimes.runtime_settings import RuntimeSetting


@dataclass(frozen=True)
class NodeSetting:
    """A configuration with which the same tests may run.

    Attributes:
        help: what it does, for `--help`.
        settings: what the configuration says.
    """

    help: str
    settings: tuple[RuntimeSetting, ...]
