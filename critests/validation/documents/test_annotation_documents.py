"""DOC: unusual values of annotations to which runtimes give a meaning."""

import pytest

from critests.documents.runtime_annotations import (
    OF_THE_STATE,
    WITH_MEANING,
    Annotations,
    annotation_variants,
)
from critests.testing import OwnRuntime, disruptive, documents, may_be_refused, requirement
from critests.validation.documents.harmless_use import DocumentUser

pytestmark = [documents, disruptive]
GROUPS = {"with meaning": WITH_MEANING, "of the state": OF_THE_STATE}


def run(user: DocumentUser, together: Annotations) -> None:
    """Run a pod and a container with all these annotations, or with parts of them where they are refused.

    Raises:
        grpc.RpcError: there was no response, or the daemon has ended.
    """
    annotations = dict.fromkeys(together.keys, together.value)
    sandboxes, containers = user.runtime.sandboxes, user.runtime.containers
    refused = True
    with may_be_refused():
        sandbox = sandboxes.attempt(sandboxes.config(annotations=annotations), user.timeout)
        containers.attempt(containers.config(annotations=annotations), user.timeout, in_sandbox=sandbox)
        refused = False
    if refused and len(together.keys) > 1:
        user.runtime.cleanup.discard()
        for part in together.parts(2):
            run(user, part)


@requirement("DOC-13")
@pytest.mark.parametrize("group", GROUPS)
def test_an_unusual_annotation_does_no_harm(module_runtime: OwnRuntime, group: str) -> None:
    """An annotation of a pod and its container with an unusual value MUST NOT end the daemon, escape to the
    node, leave anything there, or affect the next pod, whatever meaning the runtime gives to its key.

    Source: PodSandboxConfig.annotations and ContainerConfig.annotations, whose values are texts of any form.
    """
    user = DocumentUser(module_runtime)
    keys = GROUPS[group]

    found = user.breaches(annotation_variants(keys), lambda together: run(user, together))
    if found:
        # which of the keys it was
        alone = [part for together in annotation_variants(keys) for part in together.parts(len(keys))]
        found = user.breaches(alone, lambda annotation: run(user, annotation)) or found

    assert found == []
