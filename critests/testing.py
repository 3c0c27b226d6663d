"""The names that tests import, those of critests and those of a vendor, with the fixtures and markers.

In the root `conftest.py` of the tests:

    pytest_plugins = ["critests.testing"]

Nothing else gives a pytest run the fixtures and options of critests, short of `-p critests.plugin`. A name
that only one module of tests uses stays where it is defined.
"""

import pytest

pytest.register_assert_rewrite("critests.run", "critests.fixtures", "critests.lifecycle")

# ruff: noqa: E402 - what is rewritten must be announced before it is imported
from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.client.streaming.command_sessions import RemoteCommand
from critests.client.streaming.open_session import V4
from critests.client.streaming.port_forward import PortForward
from critests.client.streaming.streaming_errors import (
    SessionEnded,
    StreamRefused,
    StreamTimeout,
    UpgradeRefused,
)
from critests.client.streaming.streams import EndedBy, Protocol, StreamChannel
from critests.fixtures.container_fixtures import FOREVER, Containers, ScriptOptions, lingering, yielding
from critests.fixtures.event_fixtures import (
    CREATED,
    DELETED,
    EVENT_KINDS,
    STARTED,
    STOPPED,
    Events,
    FullLifecycle,
    kind_of,
    labels_of,
)
from critests.fixtures.faulty_runtime import FaultyRuntime
from critests.fixtures.host_mounts import HostMounts
from critests.fixtures.image_fixtures import Images, Registry
from critests.fixtures.node_namespaces import NodeNamespaces
from critests.fixtures.nri import PluginFactory, refuse
from critests.fixtures.own_runtime import NEEDS_ITS_OWN, OwnRuntime, start_configured
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused, refused_with
from critests.fixtures.sandbox_fixtures import Sandboxes
from critests.fixtures.sandbox_process import process_of_sandbox
from critests.fixtures.session_fixtures import RecordVariant
from critests.fixtures.shared_containers import SharedContainers
from critests.fixtures.streaming import Streams
from critests.fixtures.unchanged import unchanged
from critests.images.catalogue import Changes, FileChange
from critests.images.platforms import Architecture, machine_architecture
from critests.images.registry_faults import Access, FaultKind, RegistryFault, Scheme, Scope
from critests.images.repositories import MintedImage
from critests.images.rootfs import GROUPS
from critests.lifecycle.assertions import single
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.clocks import CLOCKS_DIFFER_NS
from critests.lifecycle.container import Container
from critests.lifecycle.kubelet_keys import CONTAINER_NAME, GRACE_SECONDS, POD_UID, TERMINATION_LOG
from critests.lifecycle.process import (
    CAPABILITIES,
    EXEC,
    FIRST_PROCESS,
    HOST,
    STREAMING_EXEC,
    TERMINALS,
    VIEWS,
    ProcessStatus,
    ProcessTree,
    host_processes,
    open_files,
    stat_of,
)
from critests.lifecycle.process_evidence import ProcessEvidence, first_process
from critests.lifecycle.requests import HOST_NETWORK, MASKED_PATHS, ImageName, pulling
from critests.lifecycle.sandbox import Sandbox
from critests.lifecycle.user_namespaces import FIRST_ID, IDS, MAPPING, with_user_namespace
from critests.lifecycle.verbose_info import is_json, objects_of
from critests.lifecycle.waiting import ConditionNotMet
from critests.node.cgroups.cgroup_mounts import cgroup_facts
from critests.node.cgroups.container_cgroup import INSIDE, CgroupValues, folders_of_process
from critests.node.cleanup.object_leftovers import remains_of
from critests.node.host.addresses import free_port, node_address
from critests.node.host.mount_table import mount_table, mounts_below
from critests.node.host.privileges import process_capabilities
from critests.node.nri.nri_plugin import PluginEvent
from critests.node.observing.capabilities import NO_SUCH_ID
from critests.node.wrappers.actions import Fail, Record
from critests.run.context import RuntimeSetup
from critests.run.marks import (
    configured,
    disruptive,
    documents,
    malformed,
    not_under,
    requirement,
    requires,
    slow,
)
from critests.run.outcomes import Blocked, SetUpFailed, blocked, setting_up, unsupported
from critests.runtimes.runtime_settings import (
    IMAGE_FOLDER,
    CniTemplate,
    Credentials,
    DefaultSysctl,
    DeviceOwnership,
    DualStack,
    ImageFolder,
    LogCap,
    MetricsOfCpu,
    Mirror,
    NoEvents,
    NoHostDevices,
    PinnedImages,
    ProfilesFromRegistries,
    PullProgress,
    SignaturePolicy,
    SplitStorage,
    StreamingTls,
)

pytest_plugins = ["critests.plugin"]

__all__ = [
    "CAPABILITIES",
    "CLOCKS_DIFFER_NS",
    "CONTAINER_NAME",
    "CREATED",
    "DELETED",
    "EVENT_KINDS",
    "EXEC",
    "FIRST_ID",
    "FIRST_PROCESS",
    "FOREVER",
    "GRACE_SECONDS",
    "GROUPS",
    "HOST",
    "HOST_NETWORK",
    "IDS",
    "IMAGE_FOLDER",
    "INSIDE",
    "MAPPING",
    "MASKED_PATHS",
    "NEEDS_ITS_OWN",
    "NO_SUCH_ID",
    "POD_UID",
    "STARTED",
    "STOPPED",
    "STREAMING_EXEC",
    "TERMINALS",
    "TERMINATION_LOG",
    "V4",
    "VIEWS",
    "Access",
    "Architecture",
    "Blocked",
    "Capability",
    "CgroupDriver",
    "CgroupParents",
    "CgroupValues",
    "Changes",
    "CniTemplate",
    "ConditionNotMet",
    "Container",
    "Containers",
    "Credentials",
    "DefaultSysctl",
    "DeviceOwnership",
    "DualStack",
    "EndedBy",
    "Events",
    "Fail",
    "FaultKind",
    "FaultyRuntime",
    "FileChange",
    "FullLifecycle",
    "HostMounts",
    "ImageFolder",
    "ImageName",
    "Images",
    "LogCap",
    "MetricsOfCpu",
    "MintedImage",
    "Mirror",
    "NoEvents",
    "NoHostDevices",
    "NodeNamespaces",
    "OwnRuntime",
    "PinnedImages",
    "PluginEvent",
    "PluginFactory",
    "PortForward",
    "ProcessEvidence",
    "ProcessStatus",
    "ProcessTree",
    "ProfilesFromRegistries",
    "Protocol",
    "PullProgress",
    "Record",
    "RecordVariant",
    "Registry",
    "RegistryFault",
    "RemoteCommand",
    "Runtime",
    "RuntimeSetup",
    "Sandbox",
    "Sandboxes",
    "Scheme",
    "Scope",
    "ScriptOptions",
    "SessionEnded",
    "SetUpFailed",
    "SharedContainers",
    "SignaturePolicy",
    "SplitStorage",
    "StreamChannel",
    "StreamRefused",
    "StreamTimeout",
    "StreamingTls",
    "Streams",
    "UpgradeRefused",
    "blocked",
    "cgroup_facts",
    "configured",
    "cri",
    "disruptive",
    "documents",
    "first_process",
    "folders_of_process",
    "free_port",
    "host_processes",
    "is_json",
    "kind_of",
    "labels_of",
    "lingering",
    "machine_architecture",
    "malformed",
    "may_be_refused",
    "mount_table",
    "mounts_below",
    "must_be_refused",
    "node_address",
    "not_under",
    "objects_of",
    "open_files",
    "process_capabilities",
    "process_of_sandbox",
    "pulling",
    "refuse",
    "refused_with",
    "remains_of",
    "requirement",
    "requires",
    "setting_up",
    "single",
    "slow",
    "start_configured",
    "stat_of",
    "unchanged",
    "unsupported",
    "with_user_namespace",
    "yielding",
]
