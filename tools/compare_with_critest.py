#!/usr/bin/env python3
"""Which faults does critest notice, and which does this suite, on the same private runtime?

    tools/compare_with_critest.py --critest PATH --node containerd --faults 100 --seed 19 --folder FOLDER

PATH is the critest of cri-tools: build it with `make critest` there, or take it from a release. Both suites
get the same random sample of the faults that are derived from the API; see proof/README.md. FOLDER gets
`comparison.json` and `comparison.md`. Every finished fault is stored in it, and the same command resumes an
interrupted comparison. Arguments after `--` go to `critests-proof sweep`. Needs root.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from critests_proof.critest.critest_images import add_images, redirect_pulls
from critests_proof.critest.critest_run import Critest, SpecResult, Timeline
from critests_proof.critest.suite_comparison import (
    CritestResult,
    SuiteComparison,
    compared,
    page,
)
from critests_proof.derived import DerivedFault, Reach
from critests_proof.derived.choice import chosen, sample
from critests_proof.language.descriptors import FaultError
from critests_proof.language.faults import AnyFault
from critests_proof.oci_faults import all_faults
from critests_proof.proxy.fault_proxy import FaultProxy
from critests_proof.record import AuditRecord, FaultOutcome
from critests_proof.sweep.baseline_recording import left
from critests_proof.sweep.equivalents import equivalents, why_equivalent
from critests_proof.sweep.exercise import Exercise

import critests
from critests.exit_codes import CannotTest, ExitCode, UsageError
from critests.images.registry import RegistryServer
from critests.lifecycle.run_label import RunIdentity
from critests.node.cleanup.leftovers import CleanupIncomplete
from critests.node.run_state.locks import RunHold
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.targets import ThrowawaySubject, parse_throwaway
from critests.node.wrappers.wrapped_programs import WrappedPrograms
from critests.record.codec import FieldMismatch, from_plain, to_plain
from critests.record.files import write_atomically

BASELINE_SECONDS = 3600.0
"""Limit of critest without a fault."""
REPEAT_SECONDS = 300.0
"""Limit of one spec without a fault."""
SWEEP_END_SECONDS = 120.0
"""How long the sweep may take to clean up after Ctrl-C."""
LOGS = Reach("CreateContainer", "request", "config.log_path")
"""Where faults in logs act."""


class Node:
    """Starts private runtimes that have critest's images, one at a time."""

    def __init__(
        self, subject: ThrowawaySubject, registry: RegistryServer, faults: Iterable[DerivedFault]
    ) -> None:
        self._subject = subject
        self._registry = registry
        self._pause = registry.client().mint_pause().reference
        kinds = {fault.kind for fault in faults}
        self._oci, self._cni = bool(kinds & {"bundle", "command"}), "network" in kinds
        self.name = ""
        add_images(registry.client())

    @contextmanager
    def proxy(self, faults: Iterable[AnyFault] = (), watch: Timeline | None = None) -> Iterator[FaultProxy]:
        """Start a runtime and a proxy with faults in front of it; both are removed at the end.

        Raises:
            CannotTest: the runtime does not start.
        """
        run = RunIdentity.new()
        with RunHold(run.id):
            runtime = start_throwaway(
                self._subject.kind,
                run_id=run.id,
                pause_image=self._pause,
                registry_addresses=[self._registry.address],
                binary=self._subject.binary,
                wrapped=WrappedPrograms(oci=self._oci, cni=self._cni),
            )
            try:
                redirect_pulls(runtime, self._registry.address)
                self.name = f"{runtime.runtime_name} {runtime.version}"
                with FaultProxy(
                    runtime.endpoint, oci_wrapper=runtime.wrappers.oci, cni_wrapper=runtime.wrappers.cni
                ) as proxy:
                    proxy.watch = watch
                    proxy.faults = tuple(faults)
                    yield proxy
            finally:
                try:
                    runtime.stop()
                except CleanupIncomplete as error:
                    print(f"  the runtime left something: {error}", flush=True)


class CritestUnderFaults:
    """Runs critest without a fault, and under faults.

    Args:
        critest: the program.
        node: starts its runtimes.
        minutes: the limit for each fault.
    """

    def __init__(self, critest: Critest, node: Node, minutes: float) -> None:
        self._critest = critest
        self._node = node
        self._minutes = minutes
        self.exercise = Exercise("")
        self.left_out: dict[str, str] = {}
        self.seconds = 0.0

    def baseline(self, folder: Path) -> None:
        """Run all specs without a fault, or read the stored results of an earlier run.

        Raises:
            CannotTest: the runtime does not start, critest wrote no report, or the stored results are those
                of another runtime.
        """
        places, others = folder / "baseline.json", folder / "left-out.json"
        if others.is_file():
            stored = json.loads(others.read_text(encoding="utf-8"))
            self.left_out, self.seconds = stored["left_out"], stored["seconds"]
            self.exercise = Exercise.load(places, stored["runtime"])
            with self._node.proxy():
                pass
            if self._node.name != stored["runtime"]:
                msg = f"{folder} has results of {stored['runtime']}, and this is {self._node.name}"
                raise CannotTest(msg)
            return
        watch = Timeline()
        begun = time.monotonic()
        with self._node.proxy(watch=watch) as proxy:
            results = self._critest.run(proxy.endpoint, seconds=BASELINE_SECONDS)
        self.seconds = time.monotonic() - begun
        self.exercise = Exercise(self._node.name)
        passed = [one for one in results if one.state == "passed"]
        for test in watch.exercised(passed):
            self.exercise.add(test)
        self.left_out = {one.text: f"{one.state}: {one.message}" for one in results if one not in passed}
        self.exercise.save(places)
        stored = {"runtime": self._node.name, "seconds": self.seconds, "left_out": self.left_out}
        write_atomically(others, json.dumps(stored, indent=1) + "\n")

    def under(self, fault: DerivedFault) -> CritestResult:
        """Return what critest notices of a fault."""
        begun = time.monotonic()
        reach = LOGS if fault.kind == "log" else fault.reach
        todo = fitting = [test.test for test in self.exercise.reaching(reach)]
        hits = 0
        noticed: SpecResult | None = None
        unconfirmed: list[str] = []
        while todo and noticed is None and (seconds := 60 * self._minutes - (time.monotonic() - begun)) > 0:
            results, changed = self._attempt(todo, fault.faults, seconds)
            hits += changed
            ended = [one for one in results if one.state in {"passed", "skipped"} or self._failed(one)]
            failed = next((one for one in ended if self._failed(one)), None)
            if failed is not None and changed:
                if self._is_by(fault, failed):
                    noticed = failed
                else:
                    unconfirmed.append(failed.text)
            if not ended:
                break
            texts = {one.text for one in ended}
            todo = [text for text in todo if text not in texts]
        outcome = FaultOutcome.SURVIVED if hits else FaultOutcome.NOT_REACHED
        return CritestResult(
            fault=fault.id,
            outcome=FaultOutcome.NOTICED if noticed else outcome,
            by=noticed.text if noticed else "",
            reason=noticed.message if noticed else "",
            specs=len(fitting) - len(todo),
            fitting=len(fitting),
            hits=hits,
            complete=noticed is not None or not todo,
            unconfirmed=unconfirmed,
            seconds=round(time.monotonic() - begun, 1),
        )

    def _failed(self, spec: SpecResult) -> bool:
        return spec.failed(self.exercise.tests[spec.text].seconds)

    def _attempt(
        self, specs: Sequence[str], faults: Iterable[AnyFault], seconds: float
    ) -> tuple[list[SpecResult], int]:
        """Run specs on a new runtime until one fails; return their results and the number of changes."""
        with self._node.proxy(faults) as proxy:
            results = self._critest.run(proxy.endpoint, seconds=seconds, specs=specs, fail_fast=True)
            return [one for one in results if one.text in self.exercise.tests], sum(proxy.hits.values())

    def _is_by(self, fault: DerivedFault, spec: SpecResult) -> bool:
        """Return whether a failure is caused by the fault: the spec passes without it, or a second time fails
        with it and passes without it.
        """
        if self._passes(spec):
            return True
        results, changed = self._attempt([spec.text], fault.faults, REPEAT_SECONDS)
        return changed > 0 and any(map(self._failed, results)) and self._passes(spec)

    def _passes(self, spec: SpecResult) -> bool:
        """Return whether a spec passes without a fault."""
        results, _ = self._attempt([spec.text], (), REPEAT_SECONDS)
        return any(one.text == spec.text and one.state == "passed" for one in results)


def main() -> int:
    """Run the comparison and return the exit code."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        faults = chosen(all_faults(), options.only)
        if options.faults:
            faults = sample(faults, options.faults, options.seed)
        return _compare(options, faults)
    except (FaultError, UsageError) as error:
        print(error, file=sys.stderr)
        return ExitCode.USAGE
    except CannotTest as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; the same command resumes", file=sys.stderr)
        return ExitCode.INTERRUPTED


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--critest", type=Path, required=True, help="the critest binary")
    parser.add_argument("--node", default="containerd", help="containerd[=PATH] or crio[=PATH]")
    parser.add_argument("--folder", type=Path, required=True, help="folder of the results")
    parser.add_argument("--faults", type=int, default=100, metavar="N", help="size of the sample; 0 for all")
    parser.add_argument("--seed", type=int, default=19, metavar="S", help="of the sample")
    parser.add_argument(
        "--only", action="append", default=[], metavar="WHAT", help="as in `critests-proof faults WHAT`"
    )
    parser.add_argument(
        "--minutes", type=float, default=5, metavar="K", help="limit of critest for each fault (default 5)"
    )
    parser.add_argument("--audit", type=Path, metavar="FILE", help="audit.json of an earlier sweep")
    parser.add_argument("sweep", nargs="*", metavar="ARGUMENT", help="after --: for critests-proof sweep")
    return parser.parse_args()


def _compare(options: argparse.Namespace, faults: Sequence[DerivedFault]) -> int:
    """Run critest, then critests, and write the comparison."""
    subject = parse_throwaway(options.node)
    # short, because critest makes sockets there
    with tempfile.TemporaryDirectory(prefix="critest-") as scratch, RegistryServer(0) as registry:
        critest = Critest(options.critest.resolve(), Path(scratch))
        version = critest.version()
        trials = CritestUnderFaults(critest, Node(subject, registry, faults), options.minutes)
        print("critest without a fault …", flush=True)
        trials.baseline(options.folder)
        print(
            f"{len(trials.exercise.tests)} specs pass on {trials.exercise.runtime},"
            f" {len(trials.left_out)} do not, in {trials.seconds / 60:.1f} minutes",
            flush=True,
        )
        theirs = _under_all(trials, faults, options.folder / "critest.jsonl")
    audit = _audit(options)
    result = SuiteComparison(
        runtime=trials.exercise.runtime,
        critests_version=critests.__version__,
        critest_version=version,
        seed=options.seed if options.faults else None,
        minutes=options.minutes,
        specs=len(trials.exercise.tests),
        left_out=trials.left_out,
        tests=len(audit.passed),
        critest_baseline_seconds=trials.seconds,
        faults=compared(audit.faults, theirs),
    )
    text = json.dumps(to_plain(result), ensure_ascii=False, indent=1) + "\n"
    write_atomically(options.folder / "comparison.json", text)
    write_atomically(options.folder / "comparison.md", page(result))
    print(page(result))
    return 0


def _under_all(trials: CritestUnderFaults, faults: Sequence[DerivedFault], file: Path) -> list[CritestResult]:
    """Return the results of critest under every fault; append each to a file, and skip those in it."""
    results: list[CritestResult] = []
    if file.is_file():
        lines = file.read_text(encoding="utf-8").splitlines()
        results = [from_plain(CritestResult, json.loads(line)) for line in lines]
    known = {one.fault for one in results}
    # these act on WebSocket sessions, and critest uses SPDY
    todo = [fault for fault in faults if fault.id not in known and fault.kind != "session"]
    equivalent = equivalents()
    begun = time.monotonic()
    with file.open("a", encoding="utf-8") as written:
        for done, fault in enumerate(todo, start=1):
            if why_equivalent(fault.id, equivalent):
                result = CritestResult(fault=fault.id, outcome=FaultOutcome.EQUIVALENT)
            else:
                result = trials.under(fault)
            results.append(result)
            written.write(json.dumps(to_plain(result)) + "\n")
            written.flush()
            by = f" by {result.by}" if result.by else ""
            print(
                f"[{done}/{len(todo)}] {result.outcome}: {result.fault}{by} ({result.specs} of"
                f" {result.fitting} specs, {result.seconds:.0f} s){left(begun, done, len(todo))}",
                flush=True,
            )
    return results


def _audit(options: argparse.Namespace) -> AuditRecord:
    """Return the record of the sweep of critests, which runs if no file is named.

    Raises:
        CannotTest: the sweep could not be made, or its record cannot be read.
    """
    file: Path = options.audit or options.folder / "audit.json"
    if options.audit is None:
        command = [sys.executable, "-m", "critests_proof", "sweep", f"--cri-node={options.node}"]
        command += [f"--cri-results={options.folder / 'sweep'}", f"--cri-json={file}", "--cri-sweep-resume"]
        command += [f"--cri-sweep-sample={options.faults}", f"--cri-sweep-seed={options.seed}"]
        command += [f"--cri-sweep-faults={what}" for what in options.only]
        # of its own session, so that Ctrl-C reaches it once
        process = subprocess.Popen([*command, *options.sweep], start_new_session=True)
        try:
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.wait(SWEEP_END_SECONDS)
            raise
    try:
        return from_plain(AuditRecord, json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, FieldMismatch) as error:
        msg = f"there is no record of the sweep: {error}"
        raise CannotTest(msg) from error


if __name__ == "__main__":
    sys.exit(main())
