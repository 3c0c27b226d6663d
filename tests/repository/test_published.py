"""What is kept in results/published: records and samples, compressed, from which pages are built."""

from critests.record.files import read
from critests.record.layout import COMPRESSED_RUN_FILE
from critests.record.samples import SUFFIX
from tests.repository import tree

PUBLISHED = tree.ROOT / "results/published"
MOST_FILES = 100
MOST_BYTES = 20 * 1000 * 1000


def test_what_is_published_stays_small() -> None:
    sizes = {path: path.stat().st_size for path in tree.tracked() if path.is_relative_to(PUBLISHED)}

    assert len(sizes) <= MOST_FILES
    assert sum(sizes.values()) <= MOST_BYTES


def test_what_is_published_is_compressed_records_and_what_a_reader_looks_at() -> None:
    files = [path for path in tree.tracked() if path.is_relative_to(PUBLISHED)]
    records = [path for path in files if path.name == COMPRESSED_RUN_FILE]

    samples = [path for path in files if path.parent.name == "samples" and path.name.endswith(SUFFIX)]
    others = {path.suffix for path in files if path not in records and path not in samples}
    assert others <= {".md", ".png", ".svg"}, "build pages where they are served, from the records"
    assert records
    assert all(read(path).tests for path in records)
