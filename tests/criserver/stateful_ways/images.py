"""Ways to be wrong about the state of images."""

from typing import Any

from critests.api import api_pb2 as cri
from tests.criserver.stateful_ways.definitions import after, changes, containers, way
from tests.criserver.way import Act, Answer, Call


@way("removing an image removes its containers")
def containers_removed_with_their_image() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "RemoveImage":
            for each in containers(call):
                if call.request.image.image in {each.image_id, each.image.user_specified_image}:
                    call.ask("RemoveContainer", cri.RemoveContainerRequest(container_id=each.id))
        return call.answer()

    return act


@way("an image that was removed is listed until the next pull")
def removed_image_listed() -> Act:
    last: dict[str, cri.Image] = {}

    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "RemoveImage":
            images = call.ask("ListImages", cri.ListImagesRequest()).images
            last.update({image.id: image for image in images})
        if call.rpc == "PullImage":
            last.clear()
        answer = call.answer()
        if call.rpc == "ListImages":
            here = {image.id for image in answer.images}
            answer.images.extend(image for image in last.values() if image.id not in here)
        return answer

    return act


@way("an image that is pulled again has another reference")
def another_reference_after_a_second_pull() -> Act:
    pulled: set[str] = set()

    def change(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
        if call.rpc == "PullImage":
            if call.request.image.image in pulled:
                answer.image_ref = call.request.image.image
            pulled.add(call.request.image.image)

    return after(change)


@changes("an image is not found by its id when it has two tags")
def not_found_by_id(call: Call, answer: Any) -> None:  # noqa: ANN401 - messages of several types
    by_id = call.rpc == "ImageStatus" and call.request.image.image == answer.image.id
    if by_id and len(answer.image.repo_tags) > 1:
        answer.ClearField("image")


@way("a removal by tag leaves an image that has another tag")
def image_with_another_tag_stays() -> Act:
    def act(call: Call, _argument: str) -> Answer:
        if call.rpc == "RemoveImage":
            found = call.ask("ImageStatus", cri.ImageStatusRequest(image=call.request.image)).image
            if len(found.repo_tags) > 1:
                return cri.RemoveImageResponse()
        return call.answer()

    return act
