"""The `info` of a verbose response: texts by key, most of them JSON; the CRI specifies none of them."""

import json
from collections.abc import Mapping
from typing import Any


def is_json(text: str) -> bool:
    """Whether a text is a JSON document."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def objects_of(info: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the texts that are JSON objects, in the order of their keys."""
    documents = [json.loads(text) for _, text in sorted(info.items()) if is_json(text)]
    return [document for document in documents if isinstance(document, dict)]
