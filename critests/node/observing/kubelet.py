"""Whether a kubelet manages the runtime under test: then nothing may be created or removed without the user's
consent.

There are two signs: a kubelet process on this machine that uses the endpoint (or an unknown endpoint), and
pods on the endpoint with the kubelet's labels and without those of critests.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.kubelet_keys import POD_NAME, POD_NAMESPACE, POD_UID
from critests.lifecycle.run_label import RUN_LABEL
from critests.runtimes.containerd import containerd_facts

DEFAULT_ENDPOINT = f"unix://{containerd_facts.DEFAULT_SOCKET}"
"""The kubelet's default endpoint (KubeletConfiguration.containerRuntimeEndpoint)."""

_FLAG = "--container-runtime-endpoint"
_EMBEDDING = {
    "k3s": f"unix://{containerd_facts.K3S_SOCKET}",
    "rke2": f"unix://{containerd_facts.K3S_SOCKET}",
    "kubelite": "",
}
"""Programs with a kubelet inside, and the endpoint each uses by default; empty where it is not known."""


@dataclass(frozen=True)
class KubeletSign:
    """One reason to believe that a kubelet manages the endpoint."""

    evidence: str
    """A sentence for the user."""


def live_kubelet(
    endpoint: str, pods: Iterable[Mapping[str, str]], *, proc: Path = Path("/proc")
) -> list[KubeletSign]:
    """Return the signs of a kubelet on an endpoint; an empty list where there is none.

    Args:
        endpoint: the endpoint under test.
        pods: the labels of each sandbox that ListPodSandbox returned.
        proc: where processes are read from.
    """
    signs = [sign for process in _processes(proc) if (sign := _process_sign(process, endpoint, proc))]
    foreign = [labels for labels in pods if POD_UID in labels and RUN_LABEL not in labels]
    if foreign:
        named = "/".join(foreign[0].get(key, "?") for key in (POD_NAMESPACE, POD_NAME))
        others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        signs.append(
            KubeletSign(f"the runtime has pods with the kubelet's labels that are not ours: {named}{others}")
        )
    return signs


def endpoint_of(
    arguments: Iterable[str], *, proc_root: Path = Path("/"), default: str = DEFAULT_ENDPOINT
) -> str:
    """Return the runtime endpoint that a kubelet's command line, or the configuration file it names, asks
    for.
    """
    words = list(arguments)
    endpoint = _flag(words, _FLAG)
    if endpoint:
        return endpoint
    config = _flag(words, "--config")
    if config:
        import yaml  # noqa: PLC0415 - few machines have a kubelet, and a run should begin soon

        try:
            data = yaml.safe_load((proc_root / config.lstrip("/")).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            return ""
        if isinstance(data, dict) and data.get("containerRuntimeEndpoint"):
            return str(data["containerRuntimeEndpoint"])
    return default


def same_endpoint(one: str, other: str) -> bool:
    """Return whether two endpoints are the same; paths without a scheme are unix sockets, and symbolic links
    (/var/run) are followed.
    """
    return _resolved(one) == _resolved(other)


@dataclass(frozen=True)
class _Process:
    pid: int
    name: str
    arguments: tuple[str, ...]


def _processes(proc: Path) -> Iterable[_Process]:
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
                if name == "kubelet" or name.startswith(tuple(_EMBEDDING)):
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    yield _Process(int(entry.name), name, tuple(word for word in words if word))
            except (FileNotFoundError, ProcessLookupError):
                continue


def _process_sign(process: _Process, endpoint: str, proc: Path) -> KubeletSign | None:
    default = next(
        (default for name, default in _EMBEDDING.items() if process.name.startswith(name)), DEFAULT_ENDPOINT
    )
    used = endpoint_of(process.arguments, proc_root=proc / str(process.pid) / "root", default=default)
    if not used:
        return KubeletSign(
            f"process {process.pid} is a kubelet ({process.name}) that does not say which runtime it uses"
        )
    if same_endpoint(used, endpoint):
        return KubeletSign(f"process {process.pid} is a kubelet ({process.name}) that uses {used}")
    return None


def _flag(words: list[str], flag: str) -> str:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return ""


def _resolved(endpoint: str) -> str:
    scheme, separator, rest = endpoint.partition("://")
    if not separator:
        scheme, rest = "unix", endpoint
    return str(Path(rest).resolve()) if scheme == "unix" else endpoint
