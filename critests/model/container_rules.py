"""Containers: what each RPC may answer in each state, and what is true after it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from critests.model.observations import DEADLINE_EXCEEDED, NOT_TOLD, CallResult
from critests.model.steps import EXEC_CODE, INPUT, NOTHING, TERMINAL, ContainerProcess, Step, colour_of
from critests.model.success_rules import absent, exactly, fails, succeeds
from critests.model.world import (
    CREATED,
    EXITED,
    GONE,
    READY,
    RUNNING,
    Breach,
    ContainerState,
    SandboxState,
    World,
    twins,
)


def create(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """CreateContainer: name and attempt are unique within the sandbox, which must be READY; the image must be
    there.
    """
    sandbox = world.sandboxes.get(step.inside)
    if sandbox is None or sandbox.gone:
        yield from fails("CTR-04", f"a container in {absent(sandbox)} sandbox", step, answer)
        _add(world, step, answer)
        return
    beside = [each for each in world.containers.values() if each.sandbox == step.inside]
    taken = list(twins(step, beside))
    if taken:
        # an error, or the id of the one that is there: the API does not say which
        if answer.ok and answer.id not in {each.id for each in taken}:
            yield Breach(
                "CTR-07/never-two",
                "a second container of the same metadata",
                step.rpc,
                f"an error or the id {taken[0].id}",
                f"the id {answer.id}",
            )
            _add(world, step, answer)
        return
    image = world.images.get(step.image)
    if (step.inside, step.name, step.attempt) in world.given_up:
        # what was given up may still be made, and is the one that is asked for then
        if answer.ok:
            world.lost.discard(answer.id)
            _add(world, step, answer, again=True)
        return
    if image is not None and True not in image.present:
        yield from fails("CTR-05", "a container of an absent image", step, answer)
    elif READY not in sandbox.may_be:
        yield from fails("SBX-29", "a container in a stopped sandbox", step, answer)
    elif sandbox.may_be == {READY} and (image is None or image.present == {True}):
        yield from _must_be_made(world, step, answer, beside)
    other = [each for each in world.living_containers() if each.id == answer.id]
    if answer.ok and (other or not answer.id):
        yield Breach(
            # within another sandbox the same name is another container's
            "CTR-09"
            if other and (other[0].name, other[0].attempt) == (step.name, step.attempt)
            else "GEN-12",
            "the id of a new container",
            step.rpc,
            "an id that no other container has",
            f"that of {other[0].key} in {other[0].sandbox}" if other else "an empty one",
        )
        return
    _add(world, step, answer)


def _must_be_made(
    world: World, step: Step, answer: CallResult, beside: list[ContainerState]
) -> Iterator[Breach]:
    same_name = [each for each in beside if each.name == step.name]
    if any(each.attempt == step.attempt for each in same_name):
        return  # whether the name of a removed container can be used again, the API does not say
    if any(not each.may_be <= {EXITED, GONE} for each in same_name):
        return  # the kubelet makes the next attempt when the last one has ended
    elsewhere = [
        each for each in world.living_containers() if each.name == step.name and each.sandbox != step.inside
    ]
    pod = world.sandboxes[step.inside].name
    if any(
        world.sandboxes[each.sandbox].name == pod for each in elsewhere if each.sandbox in world.sandboxes
    ):
        return  # two attempts of one pod: a refusal is no more than unkind, and the kubelet avoids it
    again = any(
        (each.inside, each.name, each.attempt) == (step.inside, step.name, step.attempt)
        for each in world.failed
    )
    aspect = "CTR-11" if again else "CTR-08" if same_name else "CTR-09" if elsewhere else "CTR-01"
    yield from succeeds(aspect, "making a container", step, answer)


def _add(world: World, step: Step, answer: CallResult, *, again: bool = False) -> None:
    if answer.ok and answer.id:
        world.containers[step.makes] = ContainerState(
            *(step.makes, answer.id, step.inside, step.name, step.attempt, step.image, step.process),
            again=again,
        )
        if again:
            world.disturbed.add(answer.id)


def start(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """StartContainer: once, and only in a sandbox that is READY."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from fails(
            "CTR-20/error", f"starting {absent(container)} container", step, answer, code="CTR-20/code"
        )
        return
    sandbox = world.sandboxes.get(container.sandbox)
    if CREATED not in container.may_be:
        yield from fails("CTR-19/error", "starting a container again", step, answer)
    elif not _is(sandbox, READY):
        yield from fails("SBX-30", "starting a container in a stopped sandbox", step, answer)
        # as of any start that failed, what is left is open
        container.may_be |= {EXITED, RUNNING} if answer.ok else {EXITED, GONE}
    else:
        # of a sandbox whose removal failed there may be no more than the entry, and what has failed for the
        # container before may be under way still
        if container.may_be == {CREATED} and sandbox is not None and not sandbox.removal_failed:
            yield from succeeds("CTR-13", "starting a container", step, answer)
        _has_been_started(container, sandbox, answer)


def _has_been_started(container: ContainerState, sandbox: SandboxState | None, answer: CallResult) -> None:
    if answer.ok:
        container.begins()
        return
    container.under_way = True
    if sandbox is not None:
        sandbox.start_failed = True
    # what is left of a failed start the API leaves open, and some runtimes remove the container
    container.may_be |= {RUNNING, EXITED, GONE}


def _is(sandbox: SandboxState | None, state: str) -> bool:
    return sandbox is not None and state in sandbox.may_be


def stop(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """StopContainer: may be repeated, changes nothing of what has ended, is no error for what is gone."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from succeeds("STP-09", f"stopping {absent(container)} container", step, answer)
        return
    if container.may_be == {EXITED}:
        yield from succeeds("STP-07", "stopping a container that has ended", step, answer)
        return
    if CREATED not in container.may_be:
        aspect = "STP-01" if step.timeout else "STP-04"
        yield from succeeds(aspect, "stopping a container", step, answer)
    if answer.ok:
        container.under_way = False
        container.is_ended()
    else:
        container.may_be_ended()


def remove(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """RemoveContainer: in whatever state; may be repeated."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from succeeds("CTR-30", f"removing {absent(container)} container", step, answer)
        return
    # what does not end at SIGTERM may use up the deadline of the first call: the process of a container that
    # was never started, and one that has not set its handler yet
    late = answer.code == DEADLINE_EXCEEDED and container.may_be != {EXITED}
    yield from succeeds(
        "CTR-28/first-call" if late else "CTR-28/removed", "removing a container", step, answer
    )
    if answer.ok:
        container.under_way = False
        container.may_be = frozenset({GONE})
    else:
        container.may_be_ended(or_gone=True)


def status(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ContainerStatus: an error, NotFound, for what is not there."""
    container = world.containers.get(step.on)
    if container is None:
        yield from fails(
            "CTA-16/error", "the status of an unknown container", step, answer, code="CTA-16/code"
        )
    elif container.gone:
        yield from fails(
            "CTR-31/error", "the status of a removed container", step, answer, code="CTR-31/code"
        )
    elif GONE not in container.may_be:
        yield from succeeds("CTA-01", "the status of a container", step, answer)
        if answer.ok and answer.id != container.id:
            yield Breach("CTA-01", "the id in a status", step.rpc, container.id, answer.id)


def listed(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ListContainers with a filter: exactly what is in that state and sandbox, has that id and that label."""
    chosen = {name for name in ("on", "inside", "state", "colour") if getattr(step, name)}
    if len(chosen) > 1:
        aspect = "CTA-20"
    elif step.inside == NOTHING:
        aspect = "CTA-22"
    else:
        aspect = "CTA-19" if step.colour else "CTA-18" if chosen else "CTA-17"
    yield from succeeds(aspect, "a list of containers", step, answer)
    if not answer.ok:
        return
    yield from exactly(
        aspect,
        step,
        answer,
        "container",
        ((each, _others(step, each)) for each in world.containers.values() if each.id not in world.lost),
    )


def _others(step: Step, container: ContainerState) -> bool:
    """Whether a filter by id, sandbox or label wants others."""
    colour = colour_of(container.carries or container.key)
    return bool(
        (step.on and step.on != container.key)
        or (step.inside and step.inside != container.sandbox)
        or (step.colour and step.colour != colour)
    )


@dataclass(frozen=True)
class CommandRules:
    """Who judges a command that is run in a container, by the way in which it is run.

    Attributes:
        what: it is called.
        absent: in what is not there, it fails.
        code: and with NotFound; empty where no code is asked for.
        ended: in what has ended, it fails.
        answered: in what runs, it succeeds.
        exit_code: the process's own.
        output: all that it printed.
    """

    what: str
    absent: str
    code: str
    ended: str
    answered: str
    exit_code: str
    output: str


EXEC_SYNC = CommandRules(
    "a command", "EXS-16/error", "EXS-16/code", "EXS-15/exited", "EXS-02", "EXS-02", "EXS-01/small"
)
EXEC = CommandRules("a session", "STR-06/error", "", "EXE-15/exited", "EXE-14", "EXE-04", "EXE-01")
SESSIONS = {
    "": EXEC,
    INPUT: replace(EXEC, what="a session with input", answered="EXE-03", output="EXE-03"),
    TERMINAL: replace(EXEC, what="a session with a terminal", answered="EXE-02", output="EXE-02"),
}
"""By what the session has."""


def exec_sync(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ExecSync: in a container that runs, and nowhere else."""
    return _command(world, step, answer, EXEC_SYNC)


def exec_session(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """Exec, and the session at its URL: in a container that runs, and nowhere else."""
    return _command(world, step, answer, SESSIONS[step.by])


def _command(world: World, step: Step, answer: CallResult, by: CommandRules) -> Iterator[Breach]:
    container = world.containers.get(step.on)
    if container is None or container.gone:
        where = f"{by.what} in {absent(container)} container"
        yield from fails(by.absent, where, step, answer, code=by.code)
    elif container.may_be == {EXITED}:
        yield from fails(by.ended, f"{by.what} in a container that has ended", step, answer)
    elif container.may_be == {RUNNING}:
        yield from succeeds(by.answered, by.what, step, answer)
        if answer.ok and answer.exit_code != EXEC_CODE:
            yield Breach(
                by.exit_code,
                f"the exit code of {by.what}",
                step.rpc,
                str(EXEC_CODE),
                str(answer.exit_code),
            )
        wanted = printed_by(world, step)
        if answer.ok and answer.output != wanted:
            yield Breach(by.output, f"the output of {by.what}", step.rpc, wanted, answer.output)


def attach(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """Attach, and what the process is told to write then, by the input of the session or from outside: of
    what runs; of what has ended, either way will do.
    """
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from fails("STR-06/error", f"attaching to {absent(container)} container", step, answer)
    elif container.may_be == {RUNNING} and answer.code != NOT_TOLD:
        aspect, what = "ATT-01", "what a process writes while a client is attached"
        if step.by == INPUT:
            aspect, what = "ATT-02", f"{what} and tells it what"
        elif container.process == ContainerProcess.LISTENS:
            what += " that has no input for it"
        yield from succeeds(aspect, what, step, answer)


def said_by(world: World, key: str) -> str:
    """Return what a process writes when it is told to while a client is attached: each its own words."""
    return f"says {world.prefix}{key}"


def reopen_log(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ReopenContainerLog: of what runs; of what does not, either way will do."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from fails("LOG-25/error", f"reopening the log of {absent(container)} container", step, answer)
    elif container.may_be == {RUNNING}:
        yield from succeeds("LOG-21", "reopening the log of a container", step, answer)


def printed_by(world: World, step: Step) -> str:
    """Return what the command of an ExecSync prints: each container's is told from another's, and from what
    one of its name printed in another sequence.
    """
    return f"in {world.prefix}{step.on}\n"


def process_ends(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """A process ends by itself: its container becomes EXITED, whether its sandbox lives or not."""
    container = world.containers.get(step.on)
    if container is None or not container.may_be <= {RUNNING, EXITED}:
        return
    if answer.code == NOT_TOLD:
        # a container whose stop has failed need not take commands; where it must, ExecSync shows it
        container.may_be = frozenset({RUNNING, EXITED})
        container.exit_codes = frozenset()
        return
    if not answer.ok:
        yield Breach("CTR-21", "the end of a process", step.rpc, EXITED, answer.details or answer.code)
        container.may_be = frozenset({RUNNING, EXITED})
        container.exit_codes = frozenset()
        return
    container.ends_by_itself()
