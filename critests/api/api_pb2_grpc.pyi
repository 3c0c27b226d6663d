"""Types of the gRPC stubs. Written by tools/generate_api.py from api.proto; do not edit."""

import grpc

from critests.api import api_pb2

class RuntimeServiceStub:
    """Pods and containers, the streaming addresses, statistics, and the runtime itself."""

    def __init__(self, channel: grpc.Channel) -> None: ...
    Version: grpc.UnaryUnaryMultiCallable[api_pb2.VersionRequest, api_pb2.VersionResponse]
    """Names the runtime and the API version it speaks."""
    Status: grpc.UnaryUnaryMultiCallable[api_pb2.StatusRequest, api_pb2.StatusResponse]
    """Reports whether the runtime and its network are ready, which handlers exist and what they can do."""
    RuntimeConfig: grpc.UnaryUnaryMultiCallable[api_pb2.RuntimeConfigRequest, api_pb2.RuntimeConfigResponse]
    """Tells the node agent about settings that both must agree on, such as the cgroup driver."""
    UpdateRuntimeConfig: grpc.UnaryUnaryMultiCallable[api_pb2.UpdateRuntimeConfigRequest, api_pb2.UpdateRuntimeConfigResponse]
    """Hands node-wide settings, such as the pod address range, to the runtime."""
    RunPodSandbox: grpc.UnaryUnaryMultiCallable[api_pb2.RunPodSandboxRequest, api_pb2.RunPodSandboxResponse]
    """Creates and starts a sandbox. On success it is ready: namespaces and network exist."""
    StopPodSandbox: grpc.UnaryUnaryMultiCallable[api_pb2.StopPodSandboxRequest, api_pb2.StopPodSandboxResponse]
    """Stops every container of the sandbox, then gives its network back. May be repeated."""
    RemovePodSandbox: grpc.UnaryUnaryMultiCallable[api_pb2.RemovePodSandboxRequest, api_pb2.RemovePodSandboxResponse]
    """Removes the sandbox and what is left of its containers, by force where they still run. May be repeated."""
    PodSandboxStatus: grpc.UnaryUnaryMultiCallable[api_pb2.PodSandboxStatusRequest, api_pb2.PodSandboxStatusResponse]
    """Describes one sandbox. An unknown id is an error."""
    ListPodSandbox: grpc.UnaryUnaryMultiCallable[api_pb2.ListPodSandboxRequest, api_pb2.ListPodSandboxResponse]
    """Lists the sandboxes that match a filter."""
    StreamPodSandboxes: grpc.UnaryStreamMultiCallable[api_pb2.StreamPodSandboxesRequest, api_pb2.StreamPodSandboxesResponse]
    """The same list as ListPodSandbox, spread over any number of messages."""
    UpdatePodSandboxResources: grpc.UnaryUnaryMultiCallable[api_pb2.UpdatePodSandboxResourcesRequest, api_pb2.UpdatePodSandboxResourcesResponse]
    """Announces new resources of the whole pod; the node agent has already changed the pod's cgroup itself."""
    CreateContainer: grpc.UnaryUnaryMultiCallable[api_pb2.CreateContainerRequest, api_pb2.CreateContainerResponse]
    """Creates a container in a sandbox without running it."""
    StartContainer: grpc.UnaryUnaryMultiCallable[api_pb2.StartContainerRequest, api_pb2.StartContainerResponse]
    """Runs the process of a created container."""
    StopContainer: grpc.UnaryUnaryMultiCallable[api_pb2.StopContainerRequest, api_pb2.StopContainerResponse]
    """Asks a container to end, and kills it after a grace period. May be repeated."""
    RemoveContainer: grpc.UnaryUnaryMultiCallable[api_pb2.RemoveContainerRequest, api_pb2.RemoveContainerResponse]
    """Removes a container, by force where it still runs. May be repeated."""
    ListContainers: grpc.UnaryUnaryMultiCallable[api_pb2.ListContainersRequest, api_pb2.ListContainersResponse]
    """Lists the containers that match a filter."""
    StreamContainers: grpc.UnaryStreamMultiCallable[api_pb2.StreamContainersRequest, api_pb2.StreamContainersResponse]
    """The same list as ListContainers, spread over any number of messages."""
    ContainerStatus: grpc.UnaryUnaryMultiCallable[api_pb2.ContainerStatusRequest, api_pb2.ContainerStatusResponse]
    """Describes one container. An unknown id is an error."""
    UpdateContainerResources: grpc.UnaryUnaryMultiCallable[api_pb2.UpdateContainerResourcesRequest, api_pb2.UpdateContainerResourcesResponse]
    """Changes the limits of a container without restarting it."""
    ReopenContainerLog: grpc.UnaryUnaryMultiCallable[api_pb2.ReopenContainerLogRequest, api_pb2.ReopenContainerLogResponse]
    """Opens the log file anew after its rotation. An error where the container does not run."""
    ExecSync: grpc.UnaryUnaryMultiCallable[api_pb2.ExecSyncRequest, api_pb2.ExecSyncResponse]
    """Runs a command in a container and answers with its output once it has ended."""
    Exec: grpc.UnaryUnaryMultiCallable[api_pb2.ExecRequest, api_pb2.ExecResponse]
    """Prepares a streaming session for a command in a container and answers with its address."""
    Attach: grpc.UnaryUnaryMultiCallable[api_pb2.AttachRequest, api_pb2.AttachResponse]
    """Prepares a streaming session to a container's first process and answers with its address."""
    PortForward: grpc.UnaryUnaryMultiCallable[api_pb2.PortForwardRequest, api_pb2.PortForwardResponse]
    """Prepares a forwarding session to ports of a sandbox and answers with its address."""
    ContainerStats: grpc.UnaryUnaryMultiCallable[api_pb2.ContainerStatsRequest, api_pb2.ContainerStatsResponse]
    """Measures one container. An unknown id is an error."""
    ListContainerStats: grpc.UnaryUnaryMultiCallable[api_pb2.ListContainerStatsRequest, api_pb2.ListContainerStatsResponse]
    """Measures the containers that match a filter."""
    StreamContainerStats: grpc.UnaryStreamMultiCallable[api_pb2.StreamContainerStatsRequest, api_pb2.StreamContainerStatsResponse]
    """The same list as ListContainerStats, spread over any number of messages."""
    PodSandboxStats: grpc.UnaryUnaryMultiCallable[api_pb2.PodSandboxStatsRequest, api_pb2.PodSandboxStatsResponse]
    """Measures one sandbox and its containers. An unknown id is an error."""
    ListPodSandboxStats: grpc.UnaryUnaryMultiCallable[api_pb2.ListPodSandboxStatsRequest, api_pb2.ListPodSandboxStatsResponse]
    """Measures the sandboxes that match a filter."""
    StreamPodSandboxStats: grpc.UnaryStreamMultiCallable[api_pb2.StreamPodSandboxStatsRequest, api_pb2.StreamPodSandboxStatsResponse]
    """The same list as ListPodSandboxStats, spread over any number of messages."""
    ListMetricDescriptors: grpc.UnaryUnaryMultiCallable[api_pb2.ListMetricDescriptorsRequest, api_pb2.ListMetricDescriptorsResponse]
    """Names the metrics that ListPodSandboxMetrics may return."""
    ListPodSandboxMetrics: grpc.UnaryUnaryMultiCallable[api_pb2.ListPodSandboxMetricsRequest, api_pb2.ListPodSandboxMetricsResponse]
    """Returns the metrics of every sandbox."""
    StreamPodSandboxMetrics: grpc.UnaryStreamMultiCallable[api_pb2.StreamPodSandboxMetricsRequest, api_pb2.StreamPodSandboxMetricsResponse]
    """The same list as ListPodSandboxMetrics, spread over any number of messages."""
    GetContainerEvents: grpc.UnaryStreamMultiCallable[api_pb2.GetEventsRequest, api_pb2.ContainerEventResponse]
    """Sends an event whenever a container is created, started, stopped or deleted, until the caller hangs up."""
    CheckpointContainer: grpc.UnaryUnaryMultiCallable[api_pb2.CheckpointContainerRequest, api_pb2.CheckpointContainerResponse]
    """Writes the state of a running container to an archive."""
    CheckpointPod: grpc.UnaryUnaryMultiCallable[api_pb2.CheckpointPodRequest, api_pb2.CheckpointPodResponse]
    """Writes the state of several containers of one sandbox, frozen together, to a directory."""
    RestorePod: grpc.UnaryUnaryMultiCallable[api_pb2.RestorePodRequest, api_pb2.RestorePodResponse]
    """Makes a sandbox and its containers from what CheckpointPod wrote."""

class ImageServiceStub:
    """Images: pulling, listing, removing, and the space they take."""

    def __init__(self, channel: grpc.Channel) -> None: ...
    PullImage: grpc.UnaryUnaryMultiCallable[api_pb2.PullImageRequest, api_pb2.PullImageResponse]
    """Fetches an image from its registry."""
    ListImages: grpc.UnaryUnaryMultiCallable[api_pb2.ListImagesRequest, api_pb2.ListImagesResponse]
    """Lists the images on the node."""
    StreamImages: grpc.UnaryStreamMultiCallable[api_pb2.StreamImagesRequest, api_pb2.StreamImagesResponse]
    """The same list as ListImages, spread over any number of messages."""
    ImageStatus: grpc.UnaryUnaryMultiCallable[api_pb2.ImageStatusRequest, api_pb2.ImageStatusResponse]
    """Describes one image; an image that is not there is an answer without `image`, not an error."""
    RemoveImage: grpc.UnaryUnaryMultiCallable[api_pb2.RemoveImageRequest, api_pb2.RemoveImageResponse]
    """Removes an image with all its names. May be repeated."""
    ImageFsInfo: grpc.UnaryUnaryMultiCallable[api_pb2.ImageFsInfoRequest, api_pb2.ImageFsInfoResponse]
    """Tells where images and writable layers are stored and how much space they take."""
