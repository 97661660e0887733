"""Which tests exist: from ids that pytest collected, or from source that is parsed and never imported."""

from harness.lists.known.ids import read_ids
from harness.lists.known.model import KnownTests, TestFile, merged
from harness.lists.known.resolve import Kind, Resolution, Status, resolve
from harness.lists.known.source import SourceTests

__all__ = [
    "Kind",
    "KnownTests",
    "Resolution",
    "SourceTests",
    "Status",
    "TestFile",
    "merged",
    "read_ids",
    "resolve",
]
