"""CTR: the life of a container."""

from critests.fixtures.containers import ContainerFactory
from critests.fixtures.marks import requirement


@requirement("CTR-23")
def test_death_by_a_signal_gives_128_and_its_number(running: ContainerFactory) -> None:
    """A process that a signal kills MUST be reported with 128 plus the number of the signal.

    Source: ContainerStatus.exit_code.
    """
    container = running(script="(sleep 0.1; kill -9 1) & exec sleep 30")

    assert container.exited().exit_code == 137
