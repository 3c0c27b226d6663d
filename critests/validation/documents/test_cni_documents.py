"""DOC: what CNI plugins print and how they exit, and the configuration of networks."""

from collections.abc import Iterable

import pytest

from critests.documents import cni_conduct, cni_network, cni_result
from critests.documents.cni_conduct import Conduct
from critests.documents.document_fields import Expected
from critests.node.network.answering_plugin import NAME
from critests.testing import Capability, OwnRuntime, disruptive, documents, requirement, requires
from critests.validation.documents.answered_network import AnsweredNetwork
from critests.validation.documents.harmless_use import DocumentBreach, DocumentUser

pytestmark = [documents, disruptive, requires(Capability.POD_NETWORK, Capability.SAME_HOST)]

PARTS = ("cniVersion", "interfaces", "ips", "routes", "dns", "")
"""The fields of a result, with those below them; the empty one stands for the result as a whole."""
OPERATIONS = {
    "errors": cni_conduct.error_conducts,
    "ADD": cni_conduct.add_conducts,
    "DEL": cni_conduct.del_conducts,
    "VERSION": cni_conduct.version_conducts,
    "others": cni_conduct.other_conducts,
}
"""What a plugin does at its operations."""
TWO_VERSIONS = pytest.mark.parametrize("network", ["0.4.0", "1.1.0"], indirect=True)
"""Before and after the changes of 1.0."""


@pytest.fixture(scope="module", params=cni_result.VERSIONS)
def network(wrapped_module_runtime: OwnRuntime, request: pytest.FixtureRequest) -> AnsweredNetwork:
    """A network of the module's runtime, of each version of the CNI specification."""
    wrapped_module_runtime.start_again_if_ended()
    network = AnsweredNetwork(wrapped_module_runtime, request.param)
    network.begin()
    return network


def of_part(conduct: Conduct, part: str) -> bool:
    """Return whether a conduct prints an unusual value in this part of a result."""
    field = conduct.name.removeprefix("result: ")
    return field.startswith(part) if part else not field.startswith(PARTS[:-1])


def breaches(
    network: AnsweredNetwork, conducts: Iterable[Conduct], *expected: Expected
) -> list[DocumentBreach]:
    """Let a plugin do this, and return what went wrong."""
    chosen = [conduct for conduct in conducts if conduct.expected in expected]
    return DocumentUser(network.runtime).breaches(chosen, network.conduct)


@requirement("DOC-08/harmless")
@TWO_VERSIONS
@pytest.mark.parametrize("part", PARTS)
def test_an_unusual_cni_result_does_no_harm(network: AnsweredNetwork, part: str) -> None:
    """The result of a CNI plugin with an unusual value in any field MUST NOT end the daemon, escape to the
    node, leave anything there, or affect the next pod.

    Source: CNI specification, Result types, which leaves open how a runtime reports an invalid result.
    """
    results = cni_conduct.result_conducts(network.version)
    chosen = [result for result in results if of_part(result, part)]

    assert breaches(network, chosen, Expected.EITHER) == []


@requirement("DOC-08/meaning")
def test_an_unusual_but_valid_cni_result_is_used(network: AnsweredNetwork) -> None:
    """RunPodSandbox MUST accept a valid result of a CNI plugin without optional fields, and PodSandboxStatus
    MUST report its address.

    Source: CNI specification, Result types; PodSandboxNetworkStatus.ip.
    """
    results = cni_conduct.result_conducts(network.version)

    assert breaches(network, results, Expected.ACCEPTED, Expected.REFUSED) == []


@requirement("DOC-09/harmless")
@TWO_VERSIONS
@pytest.mark.parametrize("operations", OPERATIONS)
def test_an_unusual_cni_plugin_does_no_harm(network: AnsweredNetwork, operations: str) -> None:
    """A CNI plugin that prints or exits in an unusual way MUST NOT end the daemon, leave anything on the
    node, or affect the next pod.

    Source: CNI specification, Execution Protocol.
    """
    conducts = OPERATIONS[operations](network.version)

    assert breaches(network, conducts, Expected.EITHER) == []


@requirement("DOC-09/meaning")
@TWO_VERSIONS
@pytest.mark.parametrize("operations", OPERATIONS)
def test_the_exit_code_of_a_cni_plugin_decides(network: AnsweredNetwork, operations: str) -> None:
    """RunPodSandbox MUST fail if ADD of a CNI plugin exits with a code other than 0, whatever it prints, and
    MUST succeed if it prints a valid result and exits with 0, whatever it logs.

    Source: CNI specification, Execution Protocol and Error.
    """
    conducts = OPERATIONS[operations](network.version)

    assert breaches(network, conducts, Expected.ACCEPTED, Expected.REFUSED) == []


@requirement("DOC-10")
@TWO_VERSIONS
def test_an_unusual_but_valid_network_configuration_is_used(network: AnsweredNetwork) -> None:
    """RunPodSandbox MUST accept a valid network configuration list without optional fields or with fields of
    the plugin.

    Source: CNI specification, Network configuration format.
    """
    variants = cni_network.network_variants(network.version, NAME)
    chosen = [variant for variant in variants if variant.expected is not Expected.EITHER]

    assert DocumentUser(network.runtime).breaches(chosen, network.configured) == []
