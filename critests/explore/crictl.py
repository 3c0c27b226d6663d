"""Writes a sequence as a script of crictl calls, as far as crictl can do them."""

import json
import shlex
from collections.abc import Sequence

from critests.model.invariants import COLOUR
from critests.model.steps import (
    EXEC_CODE,
    FAILED,
    INPUT,
    LINGER_SECONDS,
    NOTHING,
    TERMINAL,
    TERMINATED,
    ContainerProcess,
    Step,
    StepGroup,
    colour_of,
)

EXEC_FLAGS = {INPUT: "-i ", TERMINAL: "-it "}
NO_SUCH_ID = "0000000000000000000000000000000000000000000000000000000000000000"
HEAD = """#!/bin/sh
# {title}
# IMAGE: any image with a shell that is on the node; its tags are pulled from there where a step pulls.
: "${{IMAGE:?name an image with a shell}}"
folder=$(mktemp -d)
step() {{ echo "+ $*" >&2; "$@"; }}
"""


def script(groups: Sequence[StepGroup], title: str) -> str:
    """Return the script; steps that crictl cannot do are comments in it, and concurrent steps run in the
    background.
    """
    lines = [HEAD.format(title=title)]
    for group in groups:
        if len(group) == 1:
            lines += _lines(group[0])
        else:
            lines += [*(f"{{\n{chr(10).join(_lines(step))}\n}} &" for step in group), "wait"]
    return "\n".join([*lines, "crictl pods; crictl ps -a", ""])


def _lines(step: Step) -> list[str]:
    creation = {"RunPodSandbox": _sandbox, "CreateContainer": _container}.get(step.rpc)
    if creation:
        return creation(step)
    command = _command(step)
    return [f"step {command}"] if command else [f"# crictl cannot do: {step}"]


def _sandbox(step: Step) -> list[str]:
    config = {
        "metadata": {"name": step.name, "uid": step.name, "namespace": "explore", "attempt": step.attempt},
        "log_directory": "/tmp",  # noqa: S108 - in a script for a test machine
        "labels": {COLOUR: colour_of(step.makes)},
        "linux": {},
    }
    file = f'"$folder/{step.makes}.json"'
    return [
        f"cat >{file} <<'EOF'\n{json.dumps(config)}\nEOF",
        f"crictl runp {file} >{_id_file(step.makes)}",
    ]


def _container(step: Step) -> list[str]:
    before = f"sleep {LINGER_SECONDS}; " if step.process == ContainerProcess.LINGERS else ""
    waits = f"trap '{before}exit {TERMINATED}' TERM; sleep 100000 & wait"
    ends = f"exit {0 if step.process == ContainerProcess.SUCCEEDS else FAILED}"
    command = ["/bin/sh", "-c", ends if ContainerProcess(step.process).brief else waits]
    config = {
        "metadata": {"name": step.name, "attempt": step.attempt},
        "image": {"image": "$IMAGE"},
        "command": command,
        "labels": {COLOUR: colour_of(step.makes)},
        "log_path": f"{step.name}.log",
        "stdin": step.process == ContainerProcess.LISTENS,
    }
    file, pod = f'"$folder/{step.makes}.json"', f'"$folder/{step.inside}.json"'
    return [
        f"sed \"s|[$]IMAGE|$IMAGE|\" >{file} <<'EOF'\n{json.dumps(config)}\nEOF",
        f"crictl create --no-pull {_value(step.inside)} {file} {pod} >{_id_file(step.makes)}",
    ]


def _id_file(key: str) -> str:
    """Return the file with an object's id, since what runs in the background cannot set variables."""
    return f'"$folder/{key}.id"'


def _value(key: str) -> str:
    return NO_SUCH_ID if key == NOTHING else f'"$(cat {_id_file(key)})"'


def _command(step: Step) -> str:
    on = _value(step.on) if step.on else ""
    output = shlex.quote(f"echo in {step.on}; exit {EXEC_CODE}")
    filters = [f"--label {COLOUR}={step.colour}"] if step.colour else []
    filters += [f"--state {step.state.rpartition('_')[2].capitalize()}"] if step.state else []
    filters += [f"--id {on}"] if step.on else []
    filters += [f"--pod {_value(step.inside)}"] if step.inside else []
    return {
        "StopPodSandbox": f"crictl stopp {on}",
        "RemovePodSandbox": f"crictl rmp --force {on}",
        "PodSandboxStatus": f"crictl inspectp {on}",
        "ListPodSandbox": " ".join(["crictl pods", *filters]),
        "StartContainer": f"crictl start {on}",
        "StopContainer": f"crictl stop --timeout {step.timeout} {on}",
        "RemoveContainer": f"crictl rm {on}",
        "ContainerStatus": f"crictl inspect {on}",
        "ListContainers": " ".join(["crictl ps -a", *filters]),
        "ExecSync": f"crictl exec --sync {on} /bin/sh -c {output}",
        "Exec": f"crictl exec {EXEC_FLAGS.get(step.by, '')}{on} /bin/sh -c {output}",
        "GetContainerEvents": 'crictl events >"$folder/events" & listener=$!',
        "EventsCancelled": 'kill "$listener"',
        "PullImage": 'crictl pull "$IMAGE"',
        "RemoveImage": 'crictl rmi "$IMAGE"',
        "ImageStatus": 'crictl inspecti "$IMAGE"',
        "ListImages": "crictl images",
        "ListPodSandboxStats": "crictl statsp",
        "ListContainerStats": "crictl stats -a",
    }.get(step.rpc, "")
