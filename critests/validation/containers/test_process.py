"""CMD: command, environment, working directory, standard streams and limits of a container's process."""

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.container_fixtures import staying
from critests.testing import (
    EXEC,
    FIRST_PROCESS,
    Capability,
    Container,
    Containers,
    Images,
    Protocol,
    Runtime,
    Sandbox,
    Sandboxes,
    SharedContainers,
    Streams,
    lingering,
    requirement,
    requires,
)

VIEWS = (FIRST_PROCESS, EXEC)
VALUES = {
    "NEWLINE": "one\ntwo\n",
    "EQUALS": "a=b==c",
    "NOTHING": "",
    "SPACES": "  around  ",
    "UNICODE": "ä文🐧",
    # below the 32 pages, 128 KiB, that execve(2) accepts for one string
    "LONG": "x" * (100 << 10),
}
DIRECTORIES = {
    "the root": ("plain", "", "/"),
    "the image's": ("process", "", "/work"),
    "the container's own": ("process", "/home/tester", "/home/tester"),
}


def environment(container: Container, seen_from: str = FIRST_PROCESS) -> dict[str, list[str]]:
    """Return the environment of a container's process: all values of each variable."""
    if seen_from == FIRST_PROCESS:
        # until its execve(2), process 1 is the OCI runtime with its own environment
        container.until_its_command_runs()
    response = container.exec(
        "cat", "/proc/1/environ" if seen_from == FIRST_PROCESS else "/proc/self/environ"
    )
    variables: dict[str, list[str]] = {}
    # the kernel ends every variable with a NUL byte
    for pair in response.stdout.decode(errors="backslashreplace").split("\0")[:-1]:
        name, _, value = pair.partition("=")
        variables.setdefault(name, []).append(value)
    return variables


def attach_request(container: Container) -> cri.AttachRequest:
    """Return the request to attach to a container's standard streams."""
    return cri.AttachRequest(container_id=container.id, stdin=True, stdout=True, stderr=True)


@requirement("CMD-01")
@pytest.mark.parametrize("args", [["own", "arguments"], []], ids=["with arguments", "without arguments"])
def test_command_and_args_replace_those_of_the_image(
    images: Images, containers: Containers, args: list[str]
) -> None:
    """`command` MUST replace the image's entrypoint, and `args`, even if empty, MUST replace the image's
    command.

    Source: ContainerConfig.command and args; the entrypoint and command of the OCI image configuration.
    """
    # the word after the script is its $0, and the following ones are "$@"
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
    """`args` without `command` MUST replace the image's command as arguments of the entrypoint, and without
    both the entrypoint MUST run with the image's command.

    Source: ContainerConfig.command and args; the entrypoint and command of the OCI image configuration.
    """
    container = containers.running(image=images.pull("process"), command=[], args=args)

    assert container.wait_for_lines()[0] == line


@requirement("CMD-04")
def test_a_container_without_a_command_is_refused(images: Images, containers: Containers) -> None:
    """CreateContainer or StartContainer MUST fail if neither the container nor its image has a command.

    Source: ContainerConfig.command and args.
    """
    containers.refusal(containers.config(image=images.pull("no-command"), command=[]))


@requirement("CMD-05")
@pytest.mark.parametrize("whose", DIRECTORIES)
def test_process_starts_in_its_working_directory(images: Images, containers: Containers, whose: str) -> None:
    """A process MUST start in the container's `working_dir`, else in the image's, else in the root directory.

    Source: ContainerConfig.working_dir; the working directory of the OCI image configuration.
    """
    image, given, expected = DIRECTORIES[whose]

    container = containers.running(image=images.pull(image), working_dir=given, first="pwd")

    assert container.wait_for_log(expected) == [expected]
    assert container.output("pwd") == expected


@requirement("CMD-06")
def test_a_missing_working_directory_is_created(containers: Containers) -> None:
    """A `working_dir` that the image does not have SHOULD be created.

    Source: ContainerConfig.working_dir; not stated by the CRI, every runtime does so.
    """
    config = containers.config(working_dir="/not/there/before", first="pwd")

    container = containers.attempt(config)

    assert container.wait_for_log("/not/there/before") == ["/not/there/before"]


@requirement("CMD-07")
def test_a_working_directory_that_is_a_file_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer SHOULD fail if `working_dir` is a file.

    Source: ContainerConfig.working_dir.
    """
    containers.refusal(containers.config(working_dir="/etc/passwd"))


@requirement("CMD-08/precedence")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_variables_of_the_container_override_those_of_the_image(
    images: Images, containers: Containers, seen_from: str
) -> None:
    """A variable of `envs` MUST override the image's of the same name, and the process MUST have the image's
    other variables.

    Source: ContainerConfig.envs; the environment of the OCI image configuration.
    """
    container = containers.running(image=images.pull("process"), envs={"FROM_IMAGE": "own", "ADDED": "added"})

    variables = environment(container, seen_from)

    expected = {"FROM_IMAGE": ["own"], "ADDED": ["added"], "WITH_EQUALS": ["a=b"], "EMPTY": [""]}
    assert {name: variables.get(name) for name in expected} == expected


@requirement("CMD-08/duplicates")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_the_last_of_two_variables_with_one_name_is_used(containers: Containers, seen_from: str) -> None:
    """The last of two variables with the same name in `envs` SHOULD override the first.

    Source: ContainerConfig.envs; not stated by the CRI.
    """
    container = containers.running(
        envs=[cri.KeyValue(key="TWICE", value=b"first"), cri.KeyValue(key="TWICE", value=b"last")]
    )

    assert environment(container, seen_from).get("TWICE") == ["last"]


@requirement("CMD-09")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_values_of_variables_are_passed_unchanged(containers: Containers, seen_from: str) -> None:
    """A value in `envs` with newlines, equals signs, spaces, other scripts or 100 KiB, or an empty one, MUST
    reach the process unchanged.

    Source: KeyValue.value.
    """
    container = containers.running(envs=VALUES)

    variables = environment(container, seen_from)

    changed = [name for name, value in VALUES.items() if variables.get(name) != [value]]
    assert changed == []


@requirement("CMD-10")
def test_path_has_a_default(images: Images, containers: Containers) -> None:
    """A process SHOULD have a PATH if neither the image nor the container sets one.

    Source: ContainerConfig.envs; not stated by the CRI, programs would otherwise not be found.
    """
    container = containers.running(image=images.pull("no-environment"))

    paths = environment(container).get("PATH", [])

    assert [path for path in paths if "/bin" in path.split(":")]


@requirement("CMD-10")
def test_home_is_that_of_the_user(containers: Containers) -> None:
    """A process SHOULD have the home directory of its user in /etc/passwd as HOME.

    Source: LinuxContainerSecurityContext.run_as_username; not stated by the CRI.
    """
    container = containers.running(
        security_context=cri.LinuxContainerSecurityContext(run_as_username="tester")
    )

    # a set, as a variable may occur twice with the same value
    assert set(environment(container).get("HOME", [])) == {"/home/tester"}


@requirement("CMD-10")
def test_hostname_is_in_the_environment(sandbox: Sandbox, running_container: Container) -> None:
    """A process SHOULD have the pod's hostname as HOSTNAME.

    Source: PodSandboxConfig.hostname; not stated by the CRI.
    """
    assert set(environment(running_container).get("HOSTNAME", [])) == {sandbox.config.hostname}


@requirement("CMD-10")
def test_a_process_with_a_terminal_has_term(containers: Containers) -> None:
    """A process with a terminal SHOULD have TERM=xterm.

    Source: ContainerConfig.tty; not stated by the CRI.
    """
    container = containers.running(tty=True)

    assert set(environment(container).get("TERM", [])) == {"xterm"}


@requirement("CMD-11")
def test_stdin_that_is_open_blocks(containers: Containers) -> None:
    """Standard input with `stdin` MUST block a reader until a client attaches.

    Source: ContainerConfig.stdin.
    """
    # 143 = 128 + SIGTERM, by which `timeout` ended `cat`: there was neither input nor end of file
    container = containers.running(stdin=True, first="timeout 1 cat; echo ended with $?")

    assert "ended with 143" in container.wait_for_log("ended with 143")


@requirement("CMD-11")
def test_stdin_that_is_not_requested_is_at_end_of_file(containers: Containers) -> None:
    """Standard input without `stdin` MUST be at end of file at once.

    Source: ContainerConfig.stdin.
    """
    # at end of file, `cat` exits with 0; `timeout` would end it with 143
    container = containers.exited(script=lingering("timeout 5 cat; echo ended with $?"))

    assert container.final_log_lines() == ["ended with 0"]


@requirement("CMD-12")
def test_stdin_once_ends_with_the_first_session(
    runtime: Runtime, containers: Containers, streams: Streams
) -> None:
    """Standard input with `stdin_once` MUST be at end of file when the first attach session ends.

    Source: ContainerConfig.stdin_once.
    """
    container = containers.running(stdin=True, stdin_once=True, first="cat; echo end of input")

    with streams.open(runtime.stub.Attach, attach_request(container), protocol=Protocol.SPDY) as session:
        session.write(b"from the session\n")
        container.wait_for_log("from the session")

    assert container.wait_for_log("end of input") == ["from the session", "end of input"]


@requirement("CMD-13")
def test_stdin_outlives_sessions(runtime: Runtime, containers: Containers, streams: Streams) -> None:
    """Standard input without `stdin_once` MUST stay open after an attach session ends, for the next one.

    Source: ContainerConfig.stdin_once.
    """
    container = containers.running(stdin=True, first="cat; echo end of input")

    for line in ("first", "second"):
        with streams.open(runtime.stub.Attach, attach_request(container), protocol=Protocol.SPDY) as session:
            session.write(f"{line}\n".encode())
            container.wait_for_log(line)

    assert container.log_lines() == ["first", "second"]


@requirement("CMD-14")
def test_a_process_with_tty_has_a_terminal(containers: Containers) -> None:
    """`tty` MUST make standard input, output and error the controlling terminal of the process, and provide
    /dev/console.

    Source: ContainerConfig.tty.
    """
    # only a process with a controlling terminal can open /dev/tty
    script = (
        "for n in 0 1 2; do test -t $n && echo terminal $n; done; test -c /dev/console && echo console; :"
        " </dev/tty && echo controls"
    )
    container = containers.running(tty=True, first=script)

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
    """A process SHOULD start with the umask 022.

    Source: not stated by the CRI; images rely on it.
    """
    container = containers.running(first="umask")

    [umask] = (
        container.wait_for_log("0022")
        if seen_from == FIRST_PROCESS
        else [container.output("sh", "-c", "umask")]
    )

    assert umask == "0022"


@requirement("CMD-15")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_limit_of_open_files_is_plausible(shared_containers: SharedContainers, seen_from: str) -> None:
    """RLIMIT_NOFILE of a process SHOULD be neither so low that programs fail nor so high that programs which
    close all descriptors take minutes.

    Source: not stated by the CRI.
    """
    limit, _ = shared_containers.process(seen_from).limits["Max open files"]

    # programs expect about a thousand; a million is the kernel's default maximum (fs.nr_open)
    assert 1024 <= int(limit) <= 1 << 20


@requirement("CMD-16")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_PROCESSES)
def test_orphans_of_a_shared_pid_namespace_are_reaped(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """An orphaned process SHOULD NOT stay a zombie if the pod shares its PID namespace.

    Source: NamespaceOption.pid; the sandbox's own process reaps orphans.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.POD, pid=cri.POD, ipc=cri.POD))
    container = containers.running(in_sandbox=pod, command=["sleep", "3600"])

    # the shell exits at once, so that process 1 of the namespace becomes the parent of its child
    # the child does not hold the streams of the command, for which ExecSync would wait
    container.output("sh", "-c", "(sleep 0.3 >/dev/null 2>&1 &)")

    runtime.eventually(
        "the orphan to be reaped",
        lambda: container.output("ps", "-o", "comm"),
        5,
        # the one that is left is the first process of the container
        lambda output: output.count("sleep") == 1,
    )
