"""What lists and statuses must say after every step, of everything that the client knows.

What they say is also how the model learns which way a runtime went where the API leaves a choice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from critests.model.image_rules import reference
from critests.model.observations import NOT_FOUND, ContainerSeen, ImageSeen, SandboxSeen, StateSnapshot
from critests.model.restart_rules import aspect_of
from critests.model.steps import DAEMON_RESTARTS, LAST_WORDS, Step, colour_of
from critests.model.world import (
    CREATED,
    EXITED,
    GONE,
    NOTREADY,
    ORDER,
    READY,
    RUNNING,
    Breach,
    ContainerState,
    Image,
    SandboxState,
    World,
    still_possible,
)

COLOUR = "colour"
ANNOTATION = "critests.example/made-as"
"""Label and annotation of every object: what became of them is seen in lists and statuses."""
DAY_NS = 24 * 3600 * 10**9
"""By which the clocks of client and runtime may differ; what is told in seconds, or was never set, is further
away.
"""


def sandboxes(world: World, step: Step, look: StateSnapshot) -> Iterator[Breach]:
    """Each is listed once as what it is, its status agrees, and what was removed is gone."""
    times = Counter(seen.id for seen in look.sandboxes)
    listed = {seen.id: seen for seen in look.sandboxes}
    known = {sandbox.id for sandbox in world.sandboxes.values()}
    for identity, count in times.items():
        if count > 1:
            yield Breach("SBA-24", "a sandbox is listed twice", step.rpc, "once", f"{count} times")
        if identity in known or identity in world.lost:
            continue
        world.lost.add(identity)
        name, attempt = listed[identity].name.removeprefix(world.prefix), listed[identity].attempt
        if ("", name, attempt) in world.given_up:
            continue
        if listed[identity].state != READY:
            # a creation that failed may leave one, for a removal to clean up (SBX-10)
            world.left.add((name, attempt))
            yield from _in_time("SBA-03", step, listed[identity], look)
        else:
            yield Breach(
                "SBX-05/never-two",
                "a sandbox that nobody made",
                step.rpc,
                "no other sandbox",
                f"{identity}, named {listed[identity].name}",
            )
    for sandbox in world.sandboxes.values():
        if sandbox.id not in world.lost:
            yield from _sandbox(world, step, sandbox, listed.get(sandbox.id), look)
    if look.leases is not None:
        yield from _leases(world, step, look.leases)
    yield from _pipes(world, step, look)


def _pipes(world: World, step: Step, look: StateSnapshot) -> Iterator[Breach]:
    """What serves a sandbox has no more pipes open than at first, as soon as no container is in it."""
    inhabited = {each.sandbox_id for each in look.containers}
    for sandbox in world.sandboxes.values():
        if sandbox.id in inhabited or sandbox.id not in look.pipes or sandbox.may_be != {READY}:
            continue
        now = look.pipes[sandbox.id]
        if 0 <= sandbox.pipes < now:
            yield Breach(
                "CTR-18" if sandbox.start_failed else "CTR-37",
                "pipes of containers that are gone",
                step.rpc,
                f"{sandbox.pipes} open for {sandbox.key}, as at first",
                str(now),
            )
        sandbox.pipes = now


def _leases(world: World, step: Step, leases: frozenset[str]) -> Iterator[Breach]:
    """What was stopped has given its addresses back, to the network or to another sandbox."""
    used = {address for each in world.sandboxes.values() if not each.stopped for address in each.addresses}
    for sandbox in world.sandboxes.values():
        kept = leases & {*sandbox.addresses} - used
        if sandbox.stopped and kept:
            # that a DEL which failed is repeated is a promise of its own
            aspect = "SBX-19" if sandbox.stop_failed else "NET-40" if sandbox.gone else "SBX-13"
            yield Breach(
                aspect,
                f"the addresses of a {'removed' if sandbox.gone else 'stopped'} sandbox",
                step.rpc,
                "given back",
                f"{', '.join(sorted(kept))} of {sandbox.key} given away",
            )
        if sandbox.stopped:
            sandbox.addresses = ()


def _sandbox(
    world: World, step: Step, sandbox: SandboxState, seen: SandboxSeen | None, look: StateSnapshot
) -> Iterator[Breach]:
    state = seen.state if seen else GONE
    if state not in sandbox.may_be:
        yield _in_another_state(world, step, sandbox, state, _aspect_of_sandbox_state(sandbox, state))
        return
    sandbox.may_be = still_possible(sandbox, state, ending=False)
    if seen is None:
        return
    wanted = (_in_runtime(world, sandbox.name), sandbox.attempt)
    if (seen.name, seen.attempt) != wanted:
        yield Breach(
            "SBA-02", "the metadata of a sandbox", step.rpc, str(wanted), str((seen.name, seen.attempt))
        )
    yield from _carried("SBA-04", "SBA-05", step, sandbox, seen)
    yield from _made("SBA-03", "when a sandbox was made", step, sandbox, seen, look)
    status = look.sandbox_statuses.get(sandbox.id)
    if isinstance(status, str):
        # one that is being removed may be gone between the list and its status
        if status != NOT_FOUND or GONE not in sandbox.may_be:
            yield Breach("SBX-37", "the status of a sandbox that is listed", step.rpc, "a status", status)
    elif status is not None:
        if not _goes_on(sandbox, status.state):
            yield from _agree("SBA-23", step, seen, status)
        if status.state == READY:
            yield from _addresses(step, sandbox, status)


def _in_another_state(
    world: World, step: Step, one: SandboxState | ContainerState, state: str, aspect: str
) -> Breach:
    """Return the breach of a state that cannot be; of what is in it, nothing more can be said."""
    world.lost.add(one.id)
    kind = "sandbox" if isinstance(one, SandboxState) else "container"
    return Breach(
        aspect_of(one) if step.rpc == DAEMON_RESTARTS else aspect,
        f"a {kind} is {_short(state)}",
        step.rpc,
        f"{one.key} is {' or '.join(map(_short, sorted(one.may_be)))}",
        _short(state),
    )


def _addresses(step: Step, sandbox: SandboxState, status: SandboxSeen) -> Iterator[Breach]:
    """Over a restart they stay what they were, unless a stop has come half way; what is told of them at other
    times is not looked at.
    """
    if step.rpc == DAEMON_RESTARTS and not sandbox.stop_failed and status.addresses != sandbox.addresses:
        yield Breach(
            "RST-02",
            "the addresses of a sandbox",
            step.rpc,
            ", ".join(sandbox.addresses) or "none",
            ", ".join(status.addresses) or "none",
        )
    # what was seen is held to from now on; what a stop that failed has not given back is not told any more
    sandbox.addresses = status.addresses or (sandbox.addresses if sandbox.stop_failed else ())


def _aspect_of_sandbox_state(sandbox: SandboxState, state: str) -> str:
    if sandbox.may_be == {GONE}:
        return "SBX-26/error"
    if state == GONE:
        return "SBX-37" if NOTREADY in sandbox.may_be else "SBA-15"
    return "SBX-12" if sandbox.may_be == {NOTREADY} else "SBX-01"


def containers(world: World, step: Step, look: StateSnapshot) -> Iterator[Breach]:
    """Each is listed once as what it is, its status agrees, states never go back, and an end stays as
    it was.
    """
    times = Counter(seen.id for seen in look.containers)
    listed = {seen.id: seen for seen in look.containers}
    known = {container.id for container in world.containers.values()}
    for identity, count in times.items():
        if count > 1:
            yield Breach(
                "CTR-07/never-two", "a container is listed twice", step.rpc, "once", f"{count} times"
            )
        if identity not in known and identity not in world.lost:
            world.lost.add(identity)
            if _was_given_up(world, listed[identity]):
                continue
            yield Breach(
                "CTR-11" if step.rpc == "CreateContainer" else "CTR-07/never-two",
                "a container that nobody made",
                step.rpc,
                "no other container",
                f"{identity}, named {listed[identity].name}",
            )
    for container in world.containers.values():
        if container.id not in world.lost:
            yield from _container(world, step, container, listed.get(container.id), look)


def _was_given_up(world: World, seen: ContainerSeen) -> bool:
    """Whether it is what a client has given up to make, or in a sandbox that is."""
    inside = [each.key for each in world.sandboxes.values() if each.id == seen.sandbox_id]
    return any((key, seen.name, seen.attempt) in world.given_up for key in inside)


def _container(
    world: World, step: Step, container: ContainerState, seen: ContainerSeen | None, look: StateSnapshot
) -> Iterator[Breach]:
    state = seen.state if seen else GONE
    if state not in container.may_be:
        aspect = _aspect_of_container_state(world, step, container, state)
        yield _in_another_state(world, step, container, state, aspect)
        return
    # the look takes its time, and what ends by itself does so at any moment: never back
    ending = container.may_be == {RUNNING, EXITED} and state == RUNNING
    container.may_be = still_possible(container, state, ending=ending)
    if seen is None:
        return
    wanted = (container.name, container.attempt)
    if (seen.name, seen.attempt) != wanted:
        yield Breach(
            "CTA-01", "the metadata of a container", step.rpc, str(wanted), str((seen.name, seen.attempt))
        )
    sandbox = world.sandboxes.get(container.sandbox)
    if sandbox is not None and seen.sandbox_id != sandbox.id:
        yield Breach("CTA-23/equal", "the sandbox of a container", step.rpc, sandbox.id, seen.sandbox_id)
    yield from _carried("CTA-02", "CTA-02", step, container, seen)
    yield from _made("CTA-04", "when a container was made", step, container, seen, look)
    status = look.container_statuses.get(container.id)
    if isinstance(status, str):
        # likewise
        if status != NOT_FOUND or GONE not in container.may_be:
            yield Breach("CTA-01", "the status of a container that is listed", step.rpc, "a status", status)
    elif status is not None:
        if not _goes_on(container, status.state):
            yield from _agree("CTA-23/equal", step, seen, status)
        yield from _times(step, container, status)
        yield from _kept(step, container, status)
        if container.id in look.logs and container.has_run and status.state == EXITED:
            yield from _log(step, container, status, look.logs[container.id])


def _goes_on(one: SandboxState | ContainerState, told: str) -> bool:
    """Whether something went on between the list and its status, as what ends by itself may, and what a call
    that failed may still be at work on; note it then.
    """
    if len(one.may_be) == 1 or told not in one.may_be or told == GONE:
        return False
    before = one.may_be
    one.may_be = still_possible(one, told, ending=told != EXITED)
    return one.may_be != before


def _log(
    step: Step, container: ContainerState, status: ContainerSeen, lines: Sequence[str]
) -> Iterator[Breach]:
    """What a process wrote last, before it ended as it does, is in the log."""
    container.log_read = True
    if status.exit_code in LAST_WORDS and LAST_WORDS[status.exit_code] not in lines:
        seen = lines[-1] if lines else "nothing"
        yield Breach("LOG-15", "the end of a log", step.rpc, LAST_WORDS[status.exit_code], seen)


def _kept(step: Step, container: ContainerState, status: ContainerSeen) -> Iterator[Breach]:
    """A restart changes nothing of what is told, unless the container is not in the state any more in which
    it was (RST-04).
    """
    before = container.last
    if step.rpc == DAEMON_RESTARTS and before is not None and before.state == status.state:
        for name, value in before.kept.items():
            if status.kept.get(name) != value:
                yield Breach(
                    "RST-22/containers",
                    f"{name} of a container",
                    step.rpc,
                    value or "none",
                    status.kept.get(name) or "none",
                )
    # what was seen is held to from now on
    container.last = status


def _aspect_of_container_state(world: World, step: Step, container: ContainerState, state: str) -> str:
    if container.may_be == {GONE}:
        inside = world.sandboxes.get(container.sandbox)
        return "SBX-21" if inside is not None and inside.gone else "CTR-31/error"
    if state == GONE:
        return "SBX-35/end" if step.rpc == "StopPodSandbox" else "CTA-17"
    if step.on not in {container.key, container.sandbox} or step.rpc == "Attach":
        return "ATT-06" if step.on == container.key else "CTR-34"
    known = [each for each in container.may_be if each in ORDER]
    if state in ORDER and ORDER.index(state) < min(map(ORDER.index, known)):
        if step.rpc == "StopPodSandbox":
            return "SBX-12"
        own_change = (step.rpc, state) in {("StopContainer", RUNNING), ("StartContainer", CREATED)}
        return "CTA-27" if own_change else "CTA-26"
    return "CTR-19/unchanged" if step.rpc == "StartContainer" else "CTA-27"


def _times(step: Step, container: ContainerState, status: ContainerSeen) -> Iterator[Breach]:
    said = f"started {status.started_at}, finished {status.finished_at}, exit code {status.exit_code}"
    if status.state == CREATED and (status.started_at, status.finished_at, status.exit_code) != (0, 0, 0):
        yield Breach("CTR-01", "times and exit code before the start", step.rpc, "0, 0 and 0", said)
    if status.state == RUNNING:
        if not status.started_at or status.finished_at:
            yield Breach("CTA-29", "times while it runs", step.rpc, "a start and no end", said)
        if container.started_at and status.started_at != container.started_at:
            yield Breach("CTA-29", "when it was started", step.rpc, str(container.started_at), said)
        container.started_at = container.started_at or status.started_at
    if status.state == EXITED:
        yield from _end(step, container, status, said)


def _end(step: Step, container: ContainerState, status: ContainerSeen, said: str) -> Iterator[Breach]:
    if not status.finished_at or status.finished_at < status.started_at:
        yield Breach("CTR-21", "when it ended", step.rpc, "a time after its start", said)
    if container.started_at and status.started_at != container.started_at:
        yield Breach("CTA-29", "when it was started", step.rpc, str(container.started_at), said)
    if container.exit_codes and status.exit_code not in container.exit_codes:
        allowed = " or ".join(map(str, sorted(container.exit_codes)))
        yield Breach("CTR-21", "the exit code", step.rpc, allowed, str(status.exit_code))
        container.exit_codes = frozenset({status.exit_code})
    before = container.ended
    container.ended = status
    if before is None:
        container.started_at = status.started_at
        return
    changed = (before.exit_code, before.finished_at) != (status.exit_code, status.finished_at)
    if changed:
        by_stop = {"StopContainer": "STP-07", "StopPodSandbox": "SBX-36"}
        yield Breach(
            by_stop.get(step.rpc, "CTA-30"),
            "how it ended is told otherwise later",
            step.rpc,
            f"exit code {before.exit_code} at {before.finished_at}",
            f"{status.exit_code} at {status.finished_at}",
        )


def images(world: World, step: Step, look: StateSnapshot) -> Iterator[Breach]:
    """Each is listed once with the names that it was pulled by; what was removed is gone."""
    for image in world.images.values():
        entries = [
            seen for seen in look.images if (image.id and seen.id == image.id) or seen.names & {*image.names}
        ]
        here = bool(entries)
        if here not in image.present:
            aspect = {"PullImage": "IMS-25", "RemoveImage": "IMS-25", DAEMON_RESTARTS: "RST-09"}.get(
                step.rpc, "IMS-11/no-filter"
            )
            if here and _by_one_name(image, step, entries):
                aspect = "IMS-15"
                what, expected, seen = "a removal by one name leaves another", "not listed", "listed"
            elif here:
                what, expected, seen = "an image that was removed is listed", "not listed", "listed"
            else:
                what, expected, seen = "an image that is there is not listed", "listed", "not listed"
            yield Breach(aspect, what, step.rpc, f"{image.key} is {expected}", seen)
        if len(entries) > 1:
            yield Breach("IMS-13", "an image is listed twice", step.rpc, "once", f"{len(entries)} times")
        if here and image.id and entries[0].id != image.id:
            yield Breach("IMG-08", "the reference of a pull and the id", step.rpc, image.id, entries[0].id)
            image.id = entries[0].id
        names = frozenset(name for seen in entries for name in seen.names)
        if image.present == {True} and here and not image.tags <= names:
            missing = ", ".join(sorted(image.tags - names))
            yield Breach(
                "IMG-10", "a name of an image is missing", step.rpc, missing, ", ".join(sorted(names))
            )
        # what was seen is held to from now on
        image.is_here(here)
        image.tags = frozenset({*image.names} & names)
        image.seen = entries[0] if entries else None


def handlers(world: World, _: Step, look: StateSnapshot) -> Iterator[Breach]:
    """They come in one order, as long as they are the same, whatever the step was that Status came after."""
    if sorted(look.handlers) == sorted(world.handlers) and look.handlers != world.handlers:
        yield Breach(
            "RT-21/order",
            "the order of the handlers",
            "Status",
            ", ".join(world.handlers),
            ", ".join(look.handlers),
        )
    world.handlers = look.handlers


def _by_one_name(image: Image, step: Step, entries: Sequence[ImageSeen]) -> bool:
    """Tell whether just the name is gone by which the step removed an image."""
    if step.rpc != "RemoveImage" or step.by == "id" or step.on != image.key:
        return False
    names = {name for seen in entries for name in seen.names}
    return bool(names) and reference(image, step.by) not in names


def _made(
    aspect: str,
    what: str,
    step: Step,
    one: SandboxState | ContainerState,
    seen: SandboxSeen | ContainerSeen,
    look: StateSnapshot,
) -> Iterator[Breach]:
    """When something was made is told once and for all, and is in the time of the sequence."""
    if not one.created_at:
        yield from _in_time(aspect, step, seen, look)
    told = one.created_at or seen.created_at
    if seen.created_at != told or not seen.created_at:
        yield Breach(aspect, what, step.rpc, str(told or "> 0"), str(seen.created_at))
    # what was seen is held to from now on
    one.created_at = seen.created_at


def _in_time(
    aspect: str, step: Step, seen: SandboxSeen | ContainerSeen, look: StateSnapshot
) -> Iterator[Breach]:
    """What is seen first was made in the time of the sequence."""
    if look.at and abs(look.at - seen.created_at) > DAY_NS:
        yield Breach(
            aspect, "the time of a creation", step.rpc, f"about {look.at}, which is now", str(seen.created_at)
        )


def _carried(
    labels: str,
    annotations: str,
    step: Step,
    one: SandboxState | ContainerState,
    seen: SandboxSeen | ContainerSeen,
) -> Iterator[Breach]:
    if one.again:
        one.again, one.carries = False, seen.annotations.get(ANNOTATION, "")
    key = one.carries or one.key
    if seen.labels.get(COLOUR) != colour_of(key):
        yield Breach(labels, "the label of an object", step.rpc, colour_of(key), str(seen.labels.get(COLOUR)))
    if seen.annotations.get(ANNOTATION) != key:
        yield Breach(
            annotations, "the annotation of an object", step.rpc, key, str(seen.annotations.get(ANNOTATION))
        )


def _agree(
    aspect: str, step: Step, seen: SandboxSeen | ContainerSeen, status: SandboxSeen | ContainerSeen
) -> Iterator[Breach]:
    """List and status say the same."""
    for name in ("id", "state", "name", "attempt", "created_at", "image_id", "labels", "annotations"):
        in_list, in_status = getattr(seen, name, ""), getattr(status, name, "")
        if in_list != in_status:
            yield Breach(
                aspect, f"{name} in list and status", step.rpc, f"{in_list} as listed", str(in_status)
            )


def _in_runtime(world: World, name: str) -> str:
    return f"{world.prefix}{name}"


def _short(state: str) -> str:
    return state.rpartition("_")[2]
