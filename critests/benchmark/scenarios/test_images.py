"""Images: pulls of known layers from the suite's registry, and the kubelet's calls on images that are
present.
"""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import CallFailed, Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import PLAIN, Target
from critests.benchmark.scenarios import pulls
from critests.images.catalogue import Changes, FileChange
from critests.images.repositories import MintedImage
from critests.lifecycle.requests import pulling
from critests.record.units import BYTES_PER_SECOND, HIGHER

MEGABYTE = 1 << 20
PARALLEL = 4
SMALL_FILES = 2000


@scenario("B-23")
def test_pull_by_layers_and_compression(bench: Bench) -> None:
    """PullImage by number and size of layers, and of many small files compressed with gzip and with zstd."""
    cases: list[tuple[dict[str, str], Changes]] = [
        ({"image": "1 small layer"}, {}),
        ({"image": "1 layer of 64 MB"}, {"filler_bytes": 64 * MEGABYTE, "filler_layers": 1}),
        ({"image": "40 small layers"}, {"filler_layers": 40}),
        ({"image": f"{SMALL_FILES} files, gzip"}, {"files": _files(), "compression": "gzip"}),
        ({"image": f"{SMALL_FILES} files, zstd"}, {"files": _files(), "compression": "zstd"}),
    ]
    if bench.profile in {"compare", "smoke"}:
        cases = cases[:2]
    if bench.profile == "full":
        cases.append(({"image": "1 layer of 1 GB"}, {"filler_bytes": 1024 * MEGABYTE, "filler_layers": 1}))
    for dimensions, changes in cases:
        bench.sample(
            _fresh_pulls(changes),
            headline="PullImage",
            dimensions=dimensions,
            seconds=bench.seconds / len(cases),
        )


@scenario("B-24")
def test_parallel_pulls(bench: Bench) -> None:
    """Four simultaneous pulls: of different images, of images that share a large layer, of one image."""
    for relation in ("different images", "a shared layer", "the same image"):
        workload = _parallel_pulls(relation)
        bench.sample(
            workload, headline="all pulled", dimensions={"relation": relation}, seconds=bench.seconds / 3
        )


@scenario("B-25")
def test_calls_on_present_images(bench: Bench) -> None:
    """PullImage of an image that is present, ImageStatus, ListImages, ImageFsInfo, and RemoveImage."""
    bench.sample(_present, headline="ImageStatus", seconds=bench.seconds / 2)
    bench.sample(_removing, headline="RemoveImage", seconds=bench.seconds / 2)


def _fresh_pulls(changes: Changes) -> Workload:
    """Return the workload that pulls one new image after another."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        target.image(PLAIN)  # the base layer is present, so that the pull measures the layers above it

        def cycle(meter: Meter) -> None:
            minted = pulls.mint(target, changes=changes)
            try:
                pulls.pull(target, meter, minted)
                begin, took = meter.windows["PullImage"]
                meter.add("transferred", minted.size / took, begin, unit=BYTES_PER_SECOND, better=HIGHER)
            finally:
                pulls.remove_image(target, minted)

        yield cycle

    return prepared


def _files() -> list[FileChange]:
    return [
        {"path": f"many/{number % 50}/file-{number}", "content": f"{number} " * 40}
        for number in range(SMALL_FILES)
    ]


def _parallel_pulls(relation: str) -> Workload:
    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        target.image(PLAIN)

        def cycle(meter: Meter) -> None:
            minted = _related(target, relation)
            try:
                begin = time.perf_counter()
                failed = _pull_all(target, minted)
                took = time.perf_counter() - begin
                meter.add("all pulled", took, begin, code=failed or "OK")
                meter.add("requests", float(_requests(target, minted)), begin, unit="1")
                if failed:
                    raise CallFailed("all pulled", failed, "one of the pulls failed")
            finally:
                for each in minted:
                    pulls.remove_image(target, each)

        yield cycle

    return prepared


def _related(target: Target, relation: str) -> list[MintedImage]:
    changes: Changes = {"filler_bytes": 8 * MEGABYTE, "filler_layers": 1}
    if relation == "the same image":
        return [pulls.mint(target, changes=changes)] * PARALLEL
    if relation == "different images":
        return [pulls.mint(target, changes=changes) for _ in range(PARALLEL)]
    # the same layer in four repositories: the images differ in their configuration
    salt = str(time.monotonic_ns())
    return [
        pulls.mint(
            target,
            changes={**changes, "env": [f"NUMBER={number}"]},
            salt=salt,
            repository=f"shared-{salt}-{number}",
        )
        for number in range(PARALLEL)
    ]


def _pull_all(target: Target, images: Sequence[MintedImage]) -> str:
    """Pull all images simultaneously; return the code of a failed pull, or an empty text."""
    codes: list[str] = []
    barrier = threading.Barrier(len(images))

    def pull(minted: MintedImage) -> None:
        barrier.wait()
        try:
            target.image_service.PullImage(
                pulling(minted.reference), timeout=target.connection.deadlines.seconds("PullImage")
            )
        except grpc.RpcError as error:
            codes.append(error.code().name)

    threads = [threading.Thread(target=pull, args=(minted,), daemon=True) for minted in images]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return codes[0] if codes else ""


def _requests(target: Target, images: Sequence[MintedImage]) -> int:
    return sum(
        len(pulls.registry_of(target).requests(repository))
        for repository in {minted.repository for minted in images}
    )


@contextlib.contextmanager
def _present(target: Target) -> Iterator[Cycle]:
    name = target.image(PLAIN)
    spec = cri.ImageSpec(image=name.written, user_specified_image=name.written)
    pull, status = cri.PullImageRequest(image=spec), cri.ImageStatusRequest(image=spec)
    all_images, filesystem = cri.ListImagesRequest(), cri.ImageFsInfoRequest()

    def cycle(meter: Meter) -> None:
        meter.call("PullImage", target.image_service.PullImage, pull)
        meter.call("ImageStatus", target.image_service.ImageStatus, status)
        meter.call("ListImages", target.image_service.ListImages, all_images)
        meter.call("ImageFsInfo", target.image_service.ImageFsInfo, filesystem)

    yield cycle


@contextlib.contextmanager
def _removing(target: Target) -> Iterator[Cycle]:
    target.image(PLAIN)

    def cycle(meter: Meter) -> None:
        minted = pulls.mint(target)
        try:
            target.connection.images.PullImage(pulling(minted.reference))
            meter.call("RemoveImage", target.image_service.RemoveImage, pulls.removal(target, minted))
        finally:
            pulls.remove_image(target, minted)

    yield cycle
