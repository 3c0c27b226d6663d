"""Pressure files of cgroup v2, compared with PsiData of the CRI."""

from critests.api import api_pb2 as cri
from critests.validation.containers.pressure import Pressure, parse, psi_errors

RECORDED = """\
some avg10=87.46 avg60=46.02 avg300=12.80 total=41963284
full avg10=86.91 avg60=45.73 avg300=12.72 total=41700127
"""
LATER = Pressure((88.0, 47.0, 13.0), 42_100_000)


def psi(total: int, avg10: float = 87.5) -> cri.PsiData:
    return cri.PsiData(Total=total, Avg10=avg10, Avg60=46.0, Avg300=12.8)


def test_the_kernels_lines_are_read() -> None:
    assert parse(RECORDED) == {
        "some": Pressure((87.46, 46.02, 12.80), 41_963_284),
        "full": Pressure((86.91, 45.73, 12.72), 41_700_127),
    }
    assert parse("cat: can't open '/sys/fs/cgroup/cpu.pressure'\n") == {}


def test_nanoseconds_and_percent_are_right() -> None:
    assert list(psi_errors(psi(42_000_000_000), parse(RECORDED)["some"], LATER)) == []


def test_microseconds_are_not_nanoseconds() -> None:
    [error] = psi_errors(psi(42_000_000), parse(RECORDED)["some"], LATER)

    assert "Total is 42000000 ns" in error


def test_hundredths_of_percent_are_no_percent() -> None:
    [error] = psi_errors(psi(42_000_000_000, avg10=8746.0), parse(RECORDED)["some"], LATER)

    assert "8746.0, is not a percentage" in error
