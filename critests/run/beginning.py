"""The start of a run: find or start the runtime, check it, and refuse one that must not be changed."""

import contextlib
import os
import secrets
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

import grpc

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.client.call_recording import Recorder
from critests.client.connection import Connection, connect
from critests.client.deadlines import Deadlines
from critests.client.discovery import find
from critests.client.endpoint import Endpoint
from critests.client.hangs import Hangs
from critests.conditions.condition_table import USER_NAMESPACES
from critests.exit_codes import CannotTest, UsageError
from critests.images.registry_client import RegistryClient
from critests.lifecycle.cgroup_parents import CgroupDriver, remove_cgroups_of
from critests.lifecycle.labelled_removal import remove_run
from critests.lifecycle.run_label import RunIdentity
from critests.node.cleanup.runtime_removal import forget_dead_run
from critests.node.host.program_files import describe_daemon, describe_files
from critests.node.observing.api_level import KNOWS_CRI_V1
from critests.node.observing.kubelet import live_kubelet
from critests.node.observing.remedies import REMEDIES
from critests.node.observing.sandbox_image import missing_sandbox_image, why_not_available
from critests.node.starting.daemon_process import complaint_about
from critests.record.record_errors import RecordNotWritten
from critests.record.run_layout import RunFolder, new_run_folder
from critests.record.run_record import RunConditions
from critests.run.context import OwnedResources, RunContext, daemon_of, tls_files
from critests.run.first_pod import check_first_pod
from critests.run.machine_speed import measure_speed
from critests.run.pulled_images import PLAIN, TestImages, on_mirror
from critests.run.run_settings import Settings
from critests.run.runtime_parts import driver_part, parts_of_throwaway
from critests.run.startup_checks import StartupChecks

LARGEST_SEED: Final = 1 << 32


def begin_run(
    settings: Settings, *, keep_results: bool = True, registry: RegistryClient | None = None
) -> RunContext:
    """Find or start the runtime, check it, and take the run's lock.

    Args:
        settings: the user's options.
        keep_results: whether to create a folder for results; without one, the context cannot be passed to
            workers.
        registry: a running registry with the images; None to start one.

    Raises:
        CannotTest: there is no runtime to test, it must not be changed, or something that the run needs is
            missing.
        UsageError: an option makes no sense with this runtime.
    """
    settings = settings.with_scale()
    run = RunIdentity.new()
    owned = OwnedResources(run)
    try:
        if not settings.read_only and not settings.image_prefix:
            registry = registry or owned.serve_images(settings)
        return _begin(settings, run, owned, registry, keep_results=keep_results)
    except BaseException:
        owned.end()
        # a runtime that failed to start may have left a cgroup and a log directory
        remove_cgroups_of(run)
        forget_dead_run(run.id)
        raise


def _begin(
    settings: Settings,
    run: RunIdentity,
    owned: OwnedResources,
    registry: RegistryClient | None,
    *,
    keep_results: bool,
) -> RunContext:
    started = time.time()
    mutating = not settings.read_only
    if settings.node:
        runtime = owned.start_runtime(settings, registry)
        endpoint = image_endpoint = Endpoint.parse(runtime.endpoint)
        found_by, log, pid = f"--node {settings.node}", str(runtime.log_file), runtime.pid
    else:
        found = find(settings.runtime_endpoint or None, settings.image_endpoint or None)
        endpoint, image_endpoint, found_by, log, pid = (
            found.endpoint,
            found.image_endpoint,
            found.source,
            "",
            None,
        )
    log = settings.runtime_log or log
    hangs = Hangs(Deadlines(settings.scale))
    recorder = Recorder()
    connection = connect(
        endpoint,
        image_endpoint,
        tls=tls_files(settings),
        recorder=recorder,
        read_only=not mutating,
        hangs=hangs,
    )
    try:
        version = connection.greet(settings.timeout)
        if mutating and not settings.allow_kubelet:
            _refuse_if_kubelet_runs(connection)
        if pid is None:
            pid = daemon_of(endpoint)
        context = RunContext(
            settings=settings,
            run=run,
            endpoint=endpoint,
            image_endpoint=image_endpoint,
            found_by=found_by,
            version_message=version.SerializeToString().hex(),
            level=KNOWS_CRI_V1,
            driver=CgroupDriver.UNKNOWN,
            registry=registry,
            folder=RunFolder(Path(os.devnull)),
            runtime_log=log,
            daemon_pid=pid,
            companions=list(owned.runtime.companions) if owned.runtime else [],
            facts=[],
            throwaway=bool(settings.node),
            cdi_folder=owned.runtime.cdi_folder if owned.runtime else None,
            oci_runtimes=owned.runtime.oci_runtimes if owned.runtime else None,
            conditions=_conditions(settings),
            owned=owned,
            hangs=hangs,
        )
        checks = StartupChecks(context, connection, recorder)
        _reject_unknown_handlers(connection, context)
        checks.run(settings.handlers[0])
        _require_mirror(connection, checks)
        if mutating and not context.throwaway and not context.gone:
            _require_sandbox_image(connection, context)
            checks.check_daemon()
        _require_user_namespaces(connection, settings)
        check_first_pod(connection, context, TestImages(connection, context).plain)
        context.machine["speed"] = {**asdict(measure_speed()), "deadline_scale": settings.scale}
        context.parts = driver_part(context.driver)
        if owned.runtime is not None:
            context.parts |= parts_of_throwaway(owned.runtime, settings.handlers[0], settings.node_setting)
            context.programs = describe_files(owned.runtime.program_files)
        else:
            context.programs = describe_daemon(pid)
        if any(settings.handlers) or settings.handler_binary:
            _reject_unfit_handlers(connection, context)
        context.folder = _folder(settings, version, started) if keep_results else context.folder
        context.start_background(connection, TestImages(connection, context).plain)
    except KeyboardInterrupt:
        if mutating:
            with contextlib.suppress(grpc.RpcError):
                remove_run(connection, run)  # the pod of a probe
        raise
    else:
        return context
    finally:
        connection.close()


def _conditions(settings: Settings) -> RunConditions:
    if not settings.condition:
        return RunConditions()
    seed = secrets.randbelow(LARGEST_SEED) if settings.seed is None else settings.seed
    return RunConditions(names=list(settings.condition), seed=seed)


def _folder(settings: Settings, version: cri.VersionResponse, started: float) -> RunFolder:
    try:
        return new_run_folder(settings.results, version.runtime_name, version.runtime_version, started)
    except RecordNotWritten as error:
        raise CannotTest(str(error)) from error


def _reject_unknown_handlers(connection: Connection, context: RunContext) -> None:
    """Reject a handler that the runtime does not list. A failing Status is left to the tests. For a private
    runtime, the daemon's log explains why the handler is missing.
    """
    try:
        known = {handler.name for handler in connection.runtime.Status(cri.StatusRequest()).runtime_handlers}
    except grpc.RpcError:
        return
    asked = context.settings.handlers
    unknown = [handler for handler in asked if handler and known and handler not in known]
    if unknown:
        msg = f"--runtime-handler {unknown[0]}: the runtime lists {', '.join(sorted(known - {''}))}"
        if context.throwaway and (why := complaint_about(Path(context.runtime_log), unknown[0])):
            msg += f"; its log: {why}"
        raise UsageError(msg)


def _require_user_namespaces(connection: Connection, settings: Settings) -> None:
    """Reject handlers that offer no user namespaces, if all pods shall have one. A failing Status is left to
    the tests.

    Raises:
        CannotTest: one of them does not offer them.
    """
    if USER_NAMESPACES not in settings.condition:
        return
    try:
        listed = connection.runtime.Status(cri.StatusRequest()).runtime_handlers
    except grpc.RpcError:
        return
    able = {handler.name for handler in listed if handler.features.user_namespaces}
    if lacking := [handler for handler in settings.handlers if handler not in able]:
        name = lacking[0] or "the default handler"
        what = f"{name} does not offer user namespaces; they need {REMEDIES[Capability.USER_NAMESPACES]}"
        msg = f"--condition {USER_NAMESPACES}: {what}"
        raise CannotTest(msg)


def _require_sandbox_image(connection: Connection, context: RunContext) -> None:
    """Reject a runtime that cannot start pods because its own sandbox image is missing.

    Raises:
        CannotTest: the image is missing.
    """
    if missing := missing_sandbox_image(connection, context.requests(), context.settings.handlers[0]):
        raise CannotTest(missing)


def _require_mirror(connection: Connection, checks: StartupChecks) -> None:
    """Reject a mirror from which the runtime gets no image: its failing pods would look like broken promises.

    Raises:
        CannotTest: the runtime has not the plain image, and cannot pull it.
    """
    settings, prefix = checks.context.settings, checks.context.settings.image_prefix
    if not prefix or settings.read_only or checks.context.gone:
        return
    reference = on_mirror(prefix, PLAIN)
    why = why_not_available(connection, reference)
    checks.check_daemon()
    if why and not (checks.context.gone or checks.context.crashes):
        raise CannotTest(
            f"--image-prefix {prefix}: the runtime does not have the image {reference}, and cannot pull it"
            f" ({why})"
        )


def _reject_unfit_handlers(connection: Connection, context: RunContext) -> None:
    """Reject a handler that a probe shows not to work with this daemon.

    Raises:
        CannotTest: it does not work.
    """
    unfit = context.unfit_handlers(connection, TestImages(connection, context).plain)
    for handler in context.settings.handlers:
        if handler in unfit:
            which = f"--runtime-handler {handler}" if handler else "the default handler"
            msg = f"{which}: {unfit[handler]}"
            raise CannotTest(msg)


def _refuse_if_kubelet_runs(connection: Connection) -> None:
    try:
        items = connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    except grpc.RpcError:
        items = None  # a kubelet cannot use this runtime either, but its process is checked
    labels = [dict(item.labels) for item in items or ()]
    signs = live_kubelet(connection.endpoint.text, labels)
    if signs:
        msg = (
            f"a kubelet uses {connection.endpoint.text}: {signs[0].evidence}. This run would create"
            " and remove pods next to it: use --read-only to look without touching, or --allow-kubelet if you"
            " are sure"
        )
        raise CannotTest(msg)
