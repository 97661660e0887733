"""Which tests exist: from ids that pytest collected, or from source that is parsed and never imported.

`harness.lists.known.source.SourceTests` is not here: a check that needs no source does not pay for `ast`.
"""

from harness.lists.known.ids import IdTests, read_ids
from harness.lists.known.model import KnownTests, TestFile, merged
from harness.lists.known.resolve import Kind, Resolution, Status, resolve
from harness.lists.known.suggest import Suggester

__all__ = [
    "IdTests",
    "Kind",
    "KnownTests",
    "Resolution",
    "Status",
    "Suggester",
    "TestFile",
    "merged",
    "read_ids",
    "resolve",
]
