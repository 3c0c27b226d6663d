from threading import Timer

from critests.api import api_pb2 as cri
from critests.lifecycle.labelled_removal import remove_run, runs_on
from critests.lifecycle.run_label import RUN_LABEL, RunIdentity
from tests.criserver import CriServer
from tests.criserver.connected import connected

OURS, THEIRS = RunIdentity("1795170000-aaaaaa"), RunIdentity("1795170001-bbbbbb")


def sandbox(uid: str, labels: dict[str, str]) -> cri.RunPodSandboxRequest:
    metadata = cri.PodSandboxMetadata(name=uid, uid=uid, namespace="n")
    return cri.RunPodSandboxRequest(config=cri.PodSandboxConfig(metadata=metadata, labels=labels))


def test_only_objects_with_the_label_are_removed_even_if_filters_are_ignored() -> None:
    with connected(CriServer(wrong=["filters-ignored"])) as connection:
        for uid, labels in (("ours", OURS.labels), ("theirs", THEIRS.labels), ("unlabelled", {})):
            connection.runtime.RunPodSandbox(sandbox(uid, labels))

        removed = remove_run(connection, OURS)

        left = {
            item.metadata.name
            for item in connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
        }
        runs = runs_on(connection)
    assert removed.sandboxes == 1
    assert left == {"theirs", "unlabelled"}
    assert runs == {THEIRS.id}


def test_a_failed_removal_is_a_problem() -> None:
    with connected(CriServer(wrong=["fails=RemovePodSandbox"])) as connection:
        connection.runtime.RunPodSandbox(sandbox("ours", {RUN_LABEL: OURS.id}))

        removed = remove_run(connection, OURS)

    assert removed.sandboxes == 0
    assert len(removed.problems) == 1
    assert "UNKNOWN" in removed.problems[0]


def test_a_failed_removal_is_repeated() -> None:
    server = CriServer(wrong=["fails=RemovePodSandbox"])
    with connected(server) as connection:
        connection.runtime.RunPodSandbox(sandbox("ours", {RUN_LABEL: OURS.id}))
        later = Timer(0.3, server.mend)
        later.start()

        removed = remove_run(connection, OURS)
        later.join()

    assert (removed.sandboxes, removed.problems) == (1, [])
