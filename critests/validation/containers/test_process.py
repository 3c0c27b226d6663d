"""CMD: what the process of a container is started with, and what it finds around it."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.client.streaming.streams import Protocol
from critests.fixtures.containers import Containers, lingering, staying
from critests.fixtures.images import Images
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.shared_containers import SharedContainers
from critests.fixtures.streaming import Streams
from critests.lifecycle.containers import Container
from critests.lifecycle.process import EXEC, FIRST_PROCESS
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires

VIEWS = (FIRST_PROCESS, EXEC)
VALUES = {
    "NEWLINE": "one\ntwo\n",
    "EQUALS": "a=b==c",
    "NOTHING": "",
    "SPACES": "  around  ",
    "UNICODE": "ä文🐧",
    "LONG": "x" * (100 << 10),
}
DIRECTORIES = {
    "the root": ("plain", "", "/"),
    "the image's": ("process", "", "/work"),
    "the container's own": ("process", "/home/tester", "/home/tester"),
}


def environment(container: Container, seen_from: str = FIRST_PROCESS) -> dict[str, list[str]]:
    """Return the environment of a process of a container: all values of each name."""
    if seen_from == FIRST_PROCESS:
        container.until_its_command_runs()
    answer = container.exec("cat", "/proc/1/environ" if seen_from == FIRST_PROCESS else "/proc/self/environ")
    found: dict[str, list[str]] = {}
    for pair in answer.stdout.decode(errors="backslashreplace").split("\0")[:-1]:
        name, _, value = pair.partition("=")
        found.setdefault(name, []).append(value)
    return found


def attaching(container: Container) -> cri.AttachRequest:
    """Return the request to attach to a container's standard input and output."""
    return cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True)


@requirement("CMD-01")
@pytest.mark.parametrize("args", [["own", "arguments"], []], ids=["with arguments", "without arguments"])
def test_command_and_args_replace_those_of_the_image(
    images: Images, containers: Containers, args: list[str]
) -> None:
    """The command of a container MUST replace the image's entrypoint, and its args, given or not, the image's
    command.

    Source: ContainerConfig.command and args; the entrypoint and command of the OCI image configuration.
    """
    command = ["/bin/sh", "-c", f'echo "$@"; {staying()}', "sh", "command"]

    container = containers.running(image=images.pull("process"), command=command, args=args)

    expected = " ".join(["command", *args])
    assert container.wait_for_log(expected) == [expected]


@pytest.mark.parametrize(
    ("args", "line"),
    [
        pytest.param(
            ["own", "two words"], "entrypoint own two words", marks=requirement("CMD-02"), id="args alone"
        ),
        pytest.param([], "entrypoint command from image", marks=requirement("CMD-03"), id="neither"),
    ],
)
def test_entrypoint_of_the_image_runs(
    images: Images, containers: Containers, args: list[str], line: str
) -> None:
    """Args without a command MUST be handed to the image's entrypoint in place of the image's command, and
    without either the entrypoint MUST run with the image's command.

    Source: ContainerConfig.command and args; the entrypoint and command of the OCI image configuration.
    """
    container = containers.running(image=images.pull("process"), command=[], args=args)

    assert container.wait_for_lines()[0] == line


@requirement("CMD-04")
def test_a_container_without_anything_to_run_is_refused(images: Images, containers: Containers) -> None:
    """CreateContainer or StartContainer MUST fail where neither the container nor its image says what to run.

    Source: ContainerConfig.command and args.
    """
    containers.refusal(containers.config(image=images.pull("no-command"), command=[]))


@requirement("CMD-05")
@pytest.mark.parametrize("whose", DIRECTORIES)
def test_process_begins_in_its_working_directory(images: Images, containers: Containers, whose: str) -> None:
    """A process MUST begin in the container's working_dir, else in the image's, else in the root directory.

    Source: ContainerConfig.working_dir; the working directory of the OCI image configuration.
    """
    image, given, expected = DIRECTORIES[whose]

    container = containers.running(image=images.pull(image), working_dir=given, first="pwd")

    assert container.wait_for_log(expected) == [expected]
    assert container.output("pwd") == expected


@requirement("CMD-06")
def test_a_working_directory_that_is_not_there_is_made(containers: Containers) -> None:
    """A working_dir that the image does not hold SHOULD be made.

    Source: ContainerConfig.working_dir; not stated by the CRI, every runtime does it.
    """
    config = containers.config(working_dir="/not/there/before", first="pwd")

    container = containers.attempt(config)

    assert container.wait_for_log("/not/there/before") == ["/not/there/before"]


@requirement("CMD-07")
def test_a_working_directory_that_is_a_file_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer SHOULD fail where working_dir is a file.

    Source: ContainerConfig.working_dir.
    """
    containers.refusal(containers.config(working_dir="/etc/passwd"))


@requirement("CMD-08/precedence")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_variables_of_the_container_win_over_those_of_the_image(
    images: Images, containers: Containers, seen_from: str
) -> None:
    """A variable of the container MUST win over the image's of the same name, and the image's others MUST be
    kept.

    Source: ContainerConfig.envs; the environment of the OCI image configuration.
    """
    container = containers.running(image=images.pull("process"), envs={"FROM_IMAGE": "own", "ADDED": "added"})

    found = environment(container, seen_from)

    wanted = {"FROM_IMAGE": ["own"], "ADDED": ["added"], "WITH_EQUALS": ["a=b"], "EMPTY": [""]}
    assert {name: found.get(name) for name in wanted} == wanted


@requirement("CMD-08/duplicates")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_the_last_of_two_variables_of_a_name_wins(containers: Containers, seen_from: str) -> None:
    """Of two variables of one name the last SHOULD win.

    Source: ContainerConfig.envs; the CRI does not say.
    """
    container = containers.running(
        envs=[cri.KeyValue(key="TWICE", value=b"first"), cri.KeyValue(key="TWICE", value=b"last")]
    )

    assert environment(container, seen_from).get("TWICE") == ["last"]


@requirement("CMD-09")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_values_of_variables_arrive_as_they_are(containers: Containers, seen_from: str) -> None:
    """Values with newlines, equals signs, spaces, other scripts, 100 KiB or nothing in them MUST arrive
    unaltered.

    Source: KeyValue.value.
    """
    container = containers.running(envs=VALUES)

    found = environment(container, seen_from)

    altered = [name for name, value in VALUES.items() if found.get(name) != [value]]
    assert altered == []


@requirement("CMD-10")
def test_there_is_a_path_where_nobody_sets_one(images: Images, containers: Containers) -> None:
    """A process SHOULD have a PATH where neither the image nor the container sets one.

    Source: ContainerConfig.envs; not stated by the CRI, programs would not be found.
    """
    container = containers.running(image=images.pull("no-environment"))

    paths = environment(container).get("PATH", [])

    assert [path for path in paths if "/bin" in path.split(":")]


@requirement("CMD-10")
def test_home_is_that_of_the_user(containers: Containers) -> None:
    """A process SHOULD have its user's directory of /etc/passwd as HOME.

    Source: LinuxContainerSecurityContext.run_as_username; not stated by the CRI.
    """
    container = containers.running(
        security_context=cri.LinuxContainerSecurityContext(run_as_username="tester")
    )

    assert set(environment(container).get("HOME", [])) == {"/home/tester"}


@requirement("CMD-10")
def test_hostname_is_in_the_environment(sandbox: Sandbox, running_container: Container) -> None:
    """A process SHOULD have the pod's hostname as HOSTNAME.

    Source: PodSandboxConfig.hostname; not stated by the CRI.
    """
    assert set(environment(running_container).get("HOSTNAME", [])) == {sandbox.config.hostname}


@requirement("CMD-10")
def test_a_process_with_a_terminal_knows_its_kind(containers: Containers) -> None:
    """A process with a terminal SHOULD have TERM=xterm.

    Source: ContainerConfig.tty; not stated by the CRI.
    """
    container = containers.running(tty=True)

    assert set(environment(container).get("TERM", [])) == {"xterm"}


@requirement("CMD-11")
def test_stdin_that_is_open_blocks(containers: Containers) -> None:
    """With stdin, reading the standard input MUST wait for somebody to attach.

    Source: ContainerConfig.stdin.
    """
    # 143: `timeout` has ended `cat` with SIGTERM, because nothing came and the input did not end
    container = containers.running(stdin=True, first="timeout 1 cat; echo ended with $?")

    assert "ended with 143" in container.wait_for_log("ended with 143")


@requirement("CMD-11")
def test_stdin_that_is_not_wanted_is_at_its_end(containers: Containers) -> None:
    """Without stdin, reading the standard input MUST come to its end at once.

    Source: ContainerConfig.stdin.
    """
    container = containers.exited(script=lingering("timeout 5 cat; echo ended with $?"))

    assert container.final_log_lines() == ["ended with 0"]


@requirement("CMD-12")
def test_stdin_once_ends_with_the_first_session(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """With stdin_once, the standard input MUST come to its end when the first session that was attached to it
    is over.

    Source: ContainerConfig.stdin_once.
    """
    container = containers.running(stdin=True, stdin_once=True, first="cat; echo end of input")

    with streams.open(runtime.stub.Attach, attaching(container), protocol=Protocol.SPDY) as session:
        session.write(b"from the session\n")
        container.wait_for_log("from the session")

    assert container.wait_for_log("end of input") == ["from the session", "end of input"]


@requirement("CMD-13")
def test_stdin_outlives_sessions(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Without stdin_once, the standard input MUST stay open when a session is over, for the next one.

    Source: ContainerConfig.stdin_once.
    """
    container = containers.running(stdin=True, first="cat; echo end of input")

    for line in ("first", "second"):
        with streams.open(runtime.stub.Attach, attaching(container), protocol=Protocol.SPDY) as session:
            session.write(f"{line}\n".encode())
            container.wait_for_log(line)

    assert container.log_lines() == ["first", "second"]


@requirement("CMD-14")
def test_a_process_with_tty_has_a_terminal(containers: Containers) -> None:
    """With tty, standard input, output and error MUST be the process's controlling terminal, and /dev/console
    MUST be there.

    Source: ContainerConfig.tty.
    """
    # /dev/tty can be opened only by a process that has a controlling terminal
    looking = (
        "for n in 0 1 2; do test -t $n && echo terminal $n; done; test -c /dev/console && echo console; :"
        " </dev/tty && echo controls"
    )
    container = containers.running(tty=True, first=looking)

    lines = container.wait_for_lines(5)

    assert [line.rstrip("\r") for line in lines] == [
        "terminal 0",
        "terminal 1",
        "terminal 2",
        "console",
        "controls",
    ]


@requirement("CMD-15")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_umask_is_022(containers: Containers, seen_from: str) -> None:
    """A process SHOULD begin with the umask 022.

    Source: not stated by the CRI; images are made for it.
    """
    container = containers.running(first="umask")

    [seen] = (
        container.wait_for_log("0022")
        if seen_from == FIRST_PROCESS
        else [container.output("sh", "-c", "umask")]
    )

    assert seen == "0022"


@requirement("CMD-15")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_limit_of_open_files_makes_sense(shared: SharedContainers, seen_from: str) -> None:
    """The limit of open files SHOULD be neither so low that programs fail nor so high that those which close
    all of them take minutes.

    Source: not stated by the CRI.
    """
    limit, _ = shared.process(seen_from).limits["Max open files"]

    # programs count on a thousand; a million is what Linux itself takes for the most (fs.nr_open)
    assert 1024 <= int(limit) <= 1 << 20


@requirement("CMD-16")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_PROCESSES)
def test_orphans_of_a_shared_pid_namespace_are_reaped(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A process whose parent is gone SHOULD NOT stay a zombie where the pod shares its PID namespace.

    Source: NamespaceOption.pid; it is the work of the sandbox's own process.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=cri.POD, ipc=cri.POD))
    container = containers.running(in_sandbox=pod, command=["sleep", "3600"])

    # the shell ends at once, so that its child goes to process 1 of the namespace
    container.output("sh", "-c", "(sleep 0.3 >/dev/null 2>&1 &)")

    runtime.eventually(
        "the orphan to be gone",
        lambda: container.output("ps", "-o", "comm"),
        5,
        lambda seen: seen.count("sleep") == 1,
    )
