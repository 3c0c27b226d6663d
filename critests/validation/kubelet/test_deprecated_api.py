"""K8S: the API version v1alpha2, which the kubelet has not used since 1.26."""

import grpc

from critests.api import api_pb2 as cri
from critests.testing import RecordVariant, Runtime, Sandbox, refused_with, requirement

OLD = "/runtime.v1alpha2.RuntimeService"


@requirement("K8S-14")
def test_v1alpha2_is_absent_or_agrees_with_v1(
    runtime: Runtime, sandbox: Sandbox, record_variant: RecordVariant
) -> None:
    """A runtime SHOULD reject v1alpha2 with Unimplemented, or return the same sandboxes by it as by v1.

    Source: the name of the service; the kubelet uses only v1 since 1.26. Fields of v1alpha2 have the same
    numbers as in v1.
    """
    listing = runtime.channel.unary_unary(
        f"{OLD}/ListPodSandbox",
        request_serializer=cri.ListPodSandboxRequest.SerializeToString,
        response_deserializer=cri.ListPodSandboxResponse.FromString,
    )

    try:
        response = listing(cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=sandbox.id)))
    except grpc.RpcError as error:
        code = refused_with(error, grpc.StatusCode.UNIMPLEMENTED)
        assert code is grpc.StatusCode.UNIMPLEMENTED
        record_variant("it is not served")
        return

    assert [(each.id, each.state, each.metadata) for each in response.items] == [
        (sandbox.id, cri.SANDBOX_READY, sandbox.config.metadata)
    ]
    record_variant("it is served beside v1")
