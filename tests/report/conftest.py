"""What tests of pages begin with."""

from collections.abc import Iterator

import pytest

from tests.report.browser import Tab, browser


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A tab of a browser of its own."""
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab
