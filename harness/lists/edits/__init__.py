"""Editing waiver files with the smallest possible diff: every byte that an edit does not concern stays."""

from harness.lists.edits.document import Document, Item, parse_document, read_document
from harness.lists.edits.layout import insert, remove
from harness.lists.edits.writing import Rewrite, write_all

__all__ = ["Document", "Item", "Rewrite", "insert", "parse_document", "read_document", "remove", "write_all"]
