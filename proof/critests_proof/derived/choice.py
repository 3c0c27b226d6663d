"""The selection of derived faults: by kind, by RPC, by the beginning of an id, or a sample."""

import random
from collections.abc import Iterable, Sequence

from critests_proof.derived.fault import KINDS, DerivedFault
from critests_proof.language.descriptors import FaultError, near, rpcs


def chosen(faults: Iterable[DerivedFault], words: Iterable[str]) -> tuple[DerivedFault, ...]:
    """Return the faults that match any of some words, or all faults without words.

    Args:
        faults: in order.
        words: each a kind (`list`), an RPC (`StopContainer`), a requirement (`STP-02`), or an id or the
            beginning of one up to a dot, bracket, colon or dash (`ContainerStatus.response.status`,
            `oci-update`).

    Raises:
        FaultError: a word matches no fault; with near matches.
    """
    faults, words = tuple(faults), tuple(words)
    for word in words:
        if not any(_means(word, fault) for fault in faults):
            known = [*KINDS, *rpcs(), *(fault.id for fault in faults)]
            msg = f"no fault matches {word!r}{near(word, known)}"
            raise FaultError(msg)
    return tuple(fault for fault in faults if not words or any(_means(word, fault) for word in words))


def _means(word: str, fault: DerivedFault) -> bool:
    rest = fault.id.removeprefix(word)
    return (
        word in {fault.kind, *fault.breaks}
        or rest == ""
        or (rest != fault.id and rest.startswith((".", ":", "[", "-")))
    )


def sample(faults: Sequence[DerivedFault], size: int, seed: int) -> tuple[DerivedFault, ...]:
    """Return a random sample in the order of the faults, deterministic by the seed; all if there are
    fewer.
    """
    picked = set(random.Random(seed).sample(range(len(faults)), min(size, len(faults))))  # noqa: S311 - no secret
    return tuple(fault for number, fault in enumerate(faults) if number in picked)
