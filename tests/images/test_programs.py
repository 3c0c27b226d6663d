import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from critests.images.amd64 import Amd64
from critests.images.arm64 import Arm64
from critests.images.assembly import Assembler, Condition, Register
from critests.images.elf import read_elf
from critests.images.platforms import Architecture, machine_architecture
from critests.images.programs import PROGRAM_NAMES, program
from critests.images.system_calls import SYSTEM_CALLS

R = Register
EMULATORS = {Architecture.AMD64: "qemu-x86_64", Architecture.ARM64: "qemu-aarch64"}


def write_every_operation(asm: Assembler, offset: int, immediate: int) -> None:
    asm.set(R.S0, 0)
    asm.set(R.A1, -1)
    asm.copy(R.S1, R.RESULT)
    asm.copy(R.S2, R.STACK)
    asm.add(R.S0, R.A1)
    asm.add(R.S0, immediate)
    asm.subtract(R.STACK, 2048)
    asm.subtract(R.S3, R.A2)
    asm.negate(R.S3)
    asm.multiply(R.S3, 1_000_000_000)
    asm.load_byte(R.A0, R.S2, offset)
    asm.store_byte(R.A0, R.S1, offset)
    asm.load(R.A1, R.STACK, offset)
    asm.store(R.S3, R.S1, offset)
    asm.divide(R.S3, R.A0, 10)
    asm.label("here")
    asm.address(R.S0, "here")
    asm.jump("here")
    asm.jump_if(R.S4, Condition.NOT_EQUAL, 10, "here")
    asm.jump_if(R.S1, Condition.GREATER_OR_EQUAL, R.A1, "end")
    asm.jump_if(R.A0, Condition.LESS, 2, "end")
    asm.jump_if(R.A0, Condition.GREATER, 2, "end")
    asm.jump_if(R.A0, Condition.LESS_OR_EQUAL, 2, "end")
    asm.jump_if(R.A0, Condition.EQUAL, 2, "end")
    asm.label("end")
    asm.call("here")
    asm.back()
    asm.kernel()


# Each was read back with objdump (binutils) and is the instruction that was meant.
ARM64_WORDS = """
d2800013 d29fffe1 f2bfffe1 f2dfffe1 f2ffffe1 aa0003f4 910003f5 8b010273 9100e273 d12003ff cb0202d6 cb1603f6
d2994010 f2a77350 9b107ed6 394022a0 39002280 f94007e1 f9000696 aa1603f1 d2800150 9ad00a36 9b10c6c0 10000013
17ffffff f1002aff 54ffffa1 eb01029f 5400012a f100081f 540000eb f100081f 540000ac f100081f 5400006d f100081f
54000020 97fffff2 d65f03c0 d4000001
"""
AMD64_BYTES = """
bb00000000 48beffffffffffffffff 4889c5 4989e5 4801f3 4881c345230100 4881ec00080000 4929d6 49f7de
4d69f600ca9a3b 490fb6bd45230100 4888bd45230100 488bb42445230100 4c89b545230100 4c89f0 31d2 41bb0a000000 49f7f3
4889d7 4989c6 488d1df9ffffff e9f4ffffff 4981ff0a000000 0f85e7ffffff 4839f5 0f8d34000000 4881ff02000000
0f8c27000000 4881ff02000000 0f8f1a000000 4881ff02000000 0f8e0d000000 4881ff02000000 0f8400000000 e8a5ffffff c3
0f05
"""


def test_arm64_operations_are_encoded_as_a_disassembler_reads_them() -> None:
    asm = Arm64()
    write_every_operation(asm, offset=8, immediate=0x38)

    code = asm.finish()

    words = [code[start : start + 4][::-1].hex() for start in range(0, len(code), 4)]
    assert words == ARM64_WORDS.split()


def test_amd64_operations_are_encoded_as_a_disassembler_reads_them() -> None:
    asm = Amd64()
    write_every_operation(asm, offset=0x12345, immediate=0x12345)

    assert asm.finish().hex() == "".join(AMD64_BYTES.split())


def test_a_label_is_set_exactly_once() -> None:
    asm = Amd64()
    asm.jump("nowhere")
    with pytest.raises(ValueError, match="nowhere is used and never set"):
        asm.finish()
    asm.label("here")
    with pytest.raises(ValueError, match="set twice"):
        asm.label("here")


@pytest.mark.parametrize(("into", "offset"), [(R.A0, 4096), (R.A0, -1)])
def test_arm64_refuses_an_offset_that_does_not_fit(into: Register, offset: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Arm64().load_byte(into, R.S0, offset)


@pytest.mark.parametrize("architecture", Architecture)
@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_programs_are_small_static_files_of_their_architecture(name: str, architecture: Architecture) -> None:
    content = program(name, architecture)

    facts = read_elf(content)
    assert facts.static
    assert facts.architecture is architecture
    assert len(content) < 2048


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
    return Runner(architecture, prefix, tmp_path)


class Runner:
    def __init__(self, architecture: Architecture, prefix: list[str], directory: Path) -> None:
        self.architecture = architecture
        self.prefix = prefix
        self.directory = directory

    def command(self, name: str, *arguments: str) -> list[str]:
        return [*self.prefix, str(self.directory / name), *(self.numbered(each) for each in arguments)]

    def numbered(self, argument: str) -> str:
        return str(SYSTEM_CALLS[self.architecture][argument[1:]]) if argument.startswith("#") else argument

    def __call__(self, name: str, *arguments: str) -> str:
        return subprocess.run(
            self.command(name, *arguments), capture_output=True, text=True, check=True, timeout=10
        ).stdout


SYSTEM_CALL_CASES = [
    pytest.param(["#close", "-1"], "ret=-1 errno=9\n", id="an error number"),
    pytest.param(
        ["#write", "1", "=1st ", "4"], "1st ret=4 errno=0\n", id="a string that begins with a digit"
    ),
    pytest.param(
        ["#write", "1", "text", "0x3"], "texret=3 errno=0\n", id="a string and a hexadecimal number"
    ),
    pytest.param(["#openat", "-100", "/nowhere", "0"], "ret=-1 errno=2\n", id="a path and a negative number"),
    pytest.param(
        ["#openat", "-0x64", "/", "0", ",", "#close", "$"],
        "ret=3 errno=0\nret=0 errno=0\n",
        id="the result of the call before",
    ),
    pytest.param(["#clock_gettime", "1", "%"], "ret=0 errno=0\n", id="a buffer"),
    pytest.param(["#prctl", "4", "0", "0", "0", "0", "6"], "ret=0 errno=0\n", id="six arguments"),
    pytest.param(["#close", "-1", ","], "ret=-1 errno=9\n", id="a comma at the end"),
]


@pytest.mark.parametrize(("arguments", "printed"), SYSTEM_CALL_CASES)
def test_sys_makes_system_calls_and_prints_what_came(run: Runner, arguments: list[str], printed: str) -> None:
    assert run("sys", *arguments) == printed


@pytest.mark.parametrize(
    "arguments", [[], ["#close", "1", "2", "3", "4", "5", "6", "7"]], ids=["no call", "seven arguments"]
)
def test_sys_explains_itself_when_it_is_called_wrongly(run: Runner, arguments: list[str]) -> None:
    ended = subprocess.run(
        run.command("sys", *arguments), capture_output=True, text=True, check=False, timeout=10
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: sys NUMBER")
    assert not ended.stdout


def test_clock_prints_the_monotonic_clock(run: Runner) -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    printed = int(run("clock"))
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    assert before < printed < after


def until_it_waits(process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    waiting = str(SYSTEM_CALLS[machine_architecture()]["rt_sigtimedwait"])
    while time.monotonic() < deadline:
        if Path(f"/proc/{process.pid}/syscall").read_text().split()[0] == waiting:
            return
        time.sleep(0.01)
    raise AssertionError("pause does not wait for signals")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_pause_ends_with_0_on_a_signal_and_not_before(run: Runner, number: signal.Signals) -> None:
    if run.prefix:
        pytest.skip("what an emulator does in the kernel is not what the program does")
    process = subprocess.Popen(run.command("pause"))
    try:
        until_it_waits(process)
        process.send_signal(signal.SIGCHLD)
        until_it_waits(process)
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait(5)


def test_pause_reaps_the_children_it_is_given(run: Runner) -> None:
    if run.prefix:
        pytest.skip("what an emulator does in the kernel is not what the program does")
    # the child lives for as long as its input is open: a time of its own might be over before pause waits
    process = subprocess.Popen(
        ["sh", "-c", 'exec 3<&0; cat <&3 & exec "$0"', *run.command("pause")], stdin=subprocess.PIPE
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        until_it_waits(process)
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


@pytest.mark.parametrize(
    "header", ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"]
)
def test_numbers_are_those_of_the_kernel_headers(header: str) -> None:
    path = Path(header)
    if not path.exists():
        pytest.skip("linux-libc-dev is not installed")
    architecture = Architecture.ARM64 if "generic" in header else Architecture.AMD64
    stated = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text()))

    wrong = {
        name: number for name, number in SYSTEM_CALLS[architecture].items() if stated.get(name) != str(number)
    }

    assert not wrong
