"""Bundles: a folder with all that somebody else needs to see a finding again, replayed before it is handed out."""

from harness.bundles.launched import Launched
from harness.bundles.writing import Bundle, check_folder, write_bundles

__all__ = ["Bundle", "Launched", "check_folder", "write_bundles"]
