import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from critests.images.elf import read_elf
from critests.images.platforms import Architecture, machine_architecture
from critests.images.programs import PROGRAM_NAMES, program

EMULATORS = {architecture: f"qemu-{architecture}-static" for architecture in Architecture} | {
    Architecture.AMD64: "qemu-x86_64-static",
    Architecture.ARM64: "qemu-aarch64-static",
}
RT_SIGTIMEDWAIT = {
    Architecture.AMD64: "128",
    Architecture.ARM64: "137",
    Architecture.PPC64LE: "176",
    Architecture.RISCV64: "137",
    Architecture.S390X: "177",
}
"""Number of the system call in /proc/PID/syscall."""


@pytest.mark.parametrize("architecture", Architecture)
@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_programs_are_small_static_files_of_their_architecture(name: str, architecture: Architecture) -> None:
    content = program(name, architecture)

    facts = read_elf(content)
    assert facts.static
    assert facts.architecture is architecture
    assert len(content) < 3000


@pytest.fixture(params=Architecture)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> "Runner":
    architecture = Architecture(request.param)
    prefix: list[str] = []
    if architecture is not machine_architecture():
        emulator = shutil.which(EMULATORS[architecture])
        if not emulator:
            pytest.skip(f"{EMULATORS[architecture]} is not installed")
        prefix = [emulator]
    for name in PROGRAM_NAMES:
        path = tmp_path / name
        path.write_bytes(program(name, architecture))
        path.chmod(0o755)
    return Runner(prefix, tmp_path)


class Runner:
    def __init__(self, prefix: list[str], directory: Path) -> None:
        self.prefix = prefix
        self.directory = directory

    def command(self, name: str, *arguments: str) -> list[str]:
        return [*self.prefix, str(self.directory / name), *arguments]

    def __call__(self, name: str, *arguments: str) -> str:
        return subprocess.run(
            self.command(name, *arguments), capture_output=True, text=True, check=True, timeout=10
        ).stdout


SYSTEM_CALL_CASES = [
    pytest.param(["close", "-1"], "ret=-1 errno=9\n", id="an error number"),
    pytest.param(["write", "1", "=1st ", "4"], "1st ret=4 errno=0\n", id="a string that begins with a digit"),
    pytest.param(["write", "1", "text", "0x3"], "texret=3 errno=0\n", id="a string and a hexadecimal number"),
    pytest.param(["openat", "-100", "/nowhere", "0"], "ret=-1 errno=2\n", id="a path and a negative number"),
    pytest.param(
        ["openat", "-0x64", "/", "0", ",", "close", "$"],
        "ret=3 errno=0\nret=0 errno=0\n",
        id="the result of the call before",
    ),
    pytest.param(["clock_gettime", "1", "%"], "ret=0 errno=0\n", id="a buffer"),
    pytest.param(["prctl", "4", "0", "0", "0", "0", "6"], "ret=0 errno=0\n", id="six arguments"),
    pytest.param(["close", "-1", ","], "ret=-1 errno=9\n", id="a comma at the end"),
]


@pytest.mark.parametrize(("arguments", "printed"), SYSTEM_CALL_CASES)
def test_sys_makes_system_calls_and_prints_their_results(
    run: Runner, arguments: list[str], printed: str
) -> None:
    assert run("sys", *arguments) == printed


@pytest.mark.parametrize(
    "arguments",
    [[], ["close", "1", "2", "3", "4", "5", "6", "7"], ["nosuch", "1"], ["closed", "1"]],
    ids=["no call", "seven arguments", "unknown name", "longer than a name"],
)
def test_sys_prints_its_usage_for_wrong_arguments(run: Runner, arguments: list[str]) -> None:
    result = subprocess.run(
        run.command("sys", *arguments), capture_output=True, text=True, check=False, timeout=10
    )

    assert result.returncode == 2
    assert result.stderr.startswith("usage: sys NAME")
    assert not result.stdout


def test_clock_prints_the_monotonic_clock(run: Runner) -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    printed = int(run("clock"))
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    assert before < printed < after


def wait_for_sigtimedwait(process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (
            Path(f"/proc/{process.pid}/syscall").read_text().split()[0]
            == RT_SIGTIMEDWAIT[machine_architecture()]
        ):
            return
        time.sleep(0.01)
    raise AssertionError("pause does not wait for signals")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_pause_exits_with_0_at_sigterm_or_sigint_only(run: Runner, number: signal.Signals) -> None:
    if run.prefix:
        pytest.skip("the system calls of an emulator are not those of the program")
    process = subprocess.Popen(run.command("pause"))
    try:
        wait_for_sigtimedwait(process)
        process.send_signal(signal.SIGCHLD)
        wait_for_sigtimedwait(process)
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait(5)


def test_pause_reaps_its_children(run: Runner) -> None:
    if run.prefix:
        pytest.skip("the system calls of an emulator are not those of the program")
    # the child lives while its input is open: with a fixed duration it might exit before pause waits
    process = subprocess.Popen(
        ["sh", "-c", 'exec 3<&0; cat <&3 & exec "$0"', *run.command("pause")], stdin=subprocess.PIPE
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        wait_for_sigtimedwait(process)
        assert children.read_text()
        assert process.stdin is not None
        process.stdin.close()
        deadline = time.monotonic() + 30
        while children.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not children.read_text()
    finally:
        process.kill()
        process.wait(5)
