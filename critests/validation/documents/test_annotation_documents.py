"""DOC: unusual values of annotations to which runtimes give a meaning."""

import pytest

from critests.documents.runtime_annotations import (
    OF_THE_STATE,
    WITH_MEANING,
    Annotation,
    annotation_variants,
)
from critests.testing import OwnRuntime, disruptive, documents, requirement
from critests.validation.documents.harmless_use import DocumentUser

pytestmark = [documents, disruptive]
HALF = len(WITH_MEANING) // 2
GROUPS = {
    "with meaning": WITH_MEANING[:HALF],
    "more with meaning": WITH_MEANING[HALF:],
    "of the state": OF_THE_STATE,
}


@requirement("DOC-13")
@pytest.mark.parametrize("group", GROUPS)
def test_an_unusual_annotation_does_no_harm(module_runtime: OwnRuntime, group: str) -> None:
    """An annotation of a pod and its container with an unusual value MUST NOT end the daemon, escape to the
    node, leave anything there, or affect the next pod, whatever meaning the runtime gives to its key.

    Source: PodSandboxConfig.annotations and ContainerConfig.annotations, whose values are texts of any form.
    """
    user = DocumentUser(module_runtime)

    def run(annotation: Annotation) -> None:
        annotations = {annotation.key: annotation.value}
        sandboxes, containers = module_runtime.sandboxes, module_runtime.containers
        sandbox = sandboxes.attempt(sandboxes.config(annotations=annotations), user.timeout)
        containers.attempt(containers.config(annotations=annotations), user.timeout, in_sandbox=sandbox)

    chosen = [each for each in annotation_variants() if each.key in GROUPS[group]]
    assert user.breaches(chosen, run) == []
