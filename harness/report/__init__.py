"""What a person or a program reads of a run: terminal text and Markdown from plain results."""

from harness.report.markdown import render_markdown
from harness.report.terminal import render_results

__all__ = ["render_markdown", "render_results"]
