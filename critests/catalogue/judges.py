"""Which requirement judges each RPC.

When a step of a test's set-up fails, the test cannot say anything about its own promise: it is `blocked` by
the requirement named here.
"""

from types import MappingProxyType

JUDGES = MappingProxyType(
    {
        "Version": "RT-30",
        "Status": "RT-06",
        "RuntimeConfig": "RT-22",
        "UpdateRuntimeConfig": "RT-25/accept",
        "RunPodSandbox": "SBX-02",
        "StopPodSandbox": "SBX-12",
        "RemovePodSandbox": "SBX-21",
        "PodSandboxStatus": "SBA-01",
        "ListPodSandbox": "SBA-15",
        "CreateContainer": "CTR-01",
        "StartContainer": "CTR-13",
        "StopContainer": "STP-04",
        "RemoveContainer": "CTR-28/removed",
        "ContainerStatus": "CTA-01",
        "ListContainers": "CTA-17",
        "UpdateContainerResources": "UPD-01",
        "UpdatePodSandboxResources": "UPD-17",
        "ReopenContainerLog": "LOG-21",
        "ExecSync": "EXS-02",
        "Exec": "STR-01",
        "Attach": "STR-01",
        "PortForward": "STR-01",
        "ContainerStats": "STA-01",
        "ListContainerStats": "STA-15",
        "PodSandboxStats": "STA-18",
        "ListPodSandboxStats": "STA-25",
        "ListMetricDescriptors": "MET-01",
        "ListPodSandboxMetrics": "MET-03",
        "GetContainerEvents": "EVT-01",
        "CheckpointContainer": "CKP-01",
        "CheckpointPod": "CKP-08",
        "RestorePod": "CKP-16",
        "StreamPodSandboxes": "LST-01",
        "StreamContainers": "LST-01",
        "StreamContainerStats": "LST-01",
        "StreamPodSandboxStats": "LST-01",
        "StreamPodSandboxMetrics": "LST-01",
        "StreamImages": "LST-01",
        "PullImage": "IMG-01",
        "ImageStatus": "IMS-02/found",
        "ListImages": "IMS-11/no-filter",
        "RemoveImage": "IMS-14",
        "ImageFsInfo": "IMF-01",
    }
)
"""The aspect that judges whether an RPC does its plain work, by the name of the RPC."""


def judge_of(rpc: str) -> str | None:
    """Return the id of the aspect that judges an RPC, None for an RPC that the API does not have.

    Args:
        rpc: the bare name ("RunPodSandbox"), or the full path of the method
            ("/runtime.v1.RuntimeService/RunPodSandbox").
    """
    return JUDGES.get(rpc.rpartition("/")[2])
