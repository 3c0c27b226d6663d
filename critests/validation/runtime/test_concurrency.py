"""CNC: calls that are at work at the same time."""

from critests.fixtures.images import Images, Registry
from critests.fixtures.runtime import Runtime
from critests.images.catalogue import Changes
from critests.images.faults import Fault, FaultKind, Scope
from critests.run.marks import requirement


@requirement("CNC-15")
def test_pull_succeeds_while_an_image_with_the_same_layers_is_removed(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """A pull SHOULD succeed also when an image that has layers in common with it is removed meanwhile.

    Source: PullImage, RemoveImage. Not stated by the CRI; the kubelet removes images for space while it pulls
    others.
    """
    # a layer that both have and no other image, below the one that makes each unique
    in_common: Changes = {"files": [{"path": "shared", "content": registry.prefix}]}
    removed, wanted = (registry.mint(repository=name, changes=in_common) for name in ("removed", "wanted"))
    registry.pull(removed)
    registry.fault(wanted, Fault(kind=FaultKind.STALL, scope=Scope.LAYER))
    pull = runtime.images.PullImage.future(images.pull_request(wanted.reference))
    runtime.eventually(
        "a layer that is waited for", lambda: [each for each in registry.requests(wanted) if each.fault]
    )

    runtime.images.RemoveImage(images.removal_request(removed.reference))
    registry.clear_faults(wanted)

    assert pull.result().image_ref != ""
    assert images.look_up(wanted.reference) is not None
