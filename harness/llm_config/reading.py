"""The LLM-API options that matter, each with the place in the file that gave it.

Options that have no bearing on slots and graphs are not looked at, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from harness.errors import Place, UsageError
from harness.lists.nodes import MappingNode, Node, ScalarNode, SequenceNode, read_nodes
from harness.lists.source import read_source

__all__ = ["LlmOptions", "Option", "read_llm_config"]

T = TypeVar("T")

_LARGEST = 1 << 20  # no engine has a batch, or drafts, as large as this
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
# Sections of a disaggregated deployment's file, each with the options of one kind of server.
_ROLES = {"generation_servers": "generation", "context_servers": "context"}


@dataclass(frozen=True)
class Option(Generic[T]):
    """An option's value; `place` is None where the file does not give it and `value` is the LLM API's default."""

    name: str
    value: T
    place: Place | None = None

    @property
    def given(self) -> bool:
        """Whether the file gives it."""
        return self.place is not None

    def __str__(self) -> str:
        value = self.value
        shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        shown = shown.lower() if isinstance(value, bool) else shown
        where = f"line {self.place.line}" if self.place else "not given: the default"
        return f"{self.name} {shown} ({where})"


@dataclass(frozen=True)
class LlmOptions:
    """What a configuration says of batches, graphs, the engine loop and drafting.

    graphs  whether there are any; role: "generation" or "context" where the file is of a disaggregated
            deployment, else "".
    """

    file: str
    max_batch_size: Option[int]
    graphs: bool
    batch_sizes: Option[tuple[int, ...]]
    graph_max_batch_size: Option[int]
    enable_padding: Option[bool]
    pipeline_parallel_size: Option[int]
    enable_attention_dp: Option[bool]
    disable_overlap_scheduler: Option[bool]
    disaggregated: Option[str]
    max_draft_len: Option[int]
    worker: Option[str]
    role: str = ""


def read_llm_config(path: Path, role: str = "generation") -> LlmOptions:
    """Read an LLM-API configuration. Raises `UsageError` with the place and what was expected there.

    role  whose options to take where the file is of a disaggregated deployment.
    """
    source = read_source(path)
    root, _, problems = read_nodes(source)
    for problem in problems:
        if problem.severity == "error":
            hint = f"; {problem.suggestion}" if problem.suggestion else ""
            raise UsageError(problem.message + hint, problem.place)
    if not isinstance(root, MappingNode):
        raise UsageError("expected a mapping of LLM-API options", root.place if root else Place(str(path)))
    return _options(str(path), root, role)


def _options(file: str, root: MappingNode, role: str) -> LlmOptions:
    top = _Section("", (root,))
    server = next((name for name, kind in _ROLES.items() if kind == role and top.section(name)), "")
    if server:  # what a server's section gives wins over what stands at the top for all of them
        top = _Section("", (*top.section(server).nodes, root))
    # `cuda_graph_config: null` switches graphs off; a file without it has the LLM API's default, graphs.
    graphs = top.section("cuda_graph_config")
    decoding = top.section("speculative_config")
    transceiver = top.section("cache_transceiver_config")
    return LlmOptions(
        file,
        max_batch_size=top.integer("max_batch_size", 2048, 1),
        graphs=not top.is_null("cuda_graph_config"),
        batch_sizes=graphs.integers("batch_sizes"),
        graph_max_batch_size=graphs.integer("max_batch_size", 0, 0),
        enable_padding=graphs.boolean("enable_padding"),
        pipeline_parallel_size=top.integer("pipeline_parallel_size", 1, 1),
        enable_attention_dp=top.boolean("enable_attention_dp"),
        disable_overlap_scheduler=top.boolean("disable_overlap_scheduler"),
        disaggregated=transceiver.text("backend"),
        max_draft_len=decoding.integer("max_draft_len", 0, 1),
        worker=_worker(decoding),
        role=_ROLES.get(server, ""),
    )


def _worker(decoding: _Section) -> Option[str]:
    named = decoding.text("decoding_type")
    known = {"dflash": "dflash", "dspark": "dspark", "": ""}
    if named.value.lower() not in known:
        raise UsageError(
            f"speculative_config.decoding_type is {named.value!r}; this harness launches DFlash and DSpark",
            named.place,
        )
    return Option(named.name, known[named.value.lower()], named.place)


@dataclass(frozen=True)
class _Section:
    """A mapping by its dotted name. Of several nodes the first that has an option gives it."""

    name: str
    nodes: tuple[MappingNode, ...]

    def __bool__(self) -> bool:
        return bool(self.nodes)

    def _find(self, name: str) -> Node | None:
        for node in self.nodes:
            for key, value in node.pairs:
                if key.text == name:
                    return value
        return None

    def is_null(self, name: str) -> bool:
        """Return whether the option is there and holds nothing."""
        node = self._find(name)
        return node is not None and _is_null(node)

    def section(self, name: str) -> _Section:
        """Return the mapping under `name`, an empty one where there is none."""
        node = self._find(name)
        if node is None or _is_null(node):
            return _Section(self._path(name), ())
        if not isinstance(node, MappingNode):
            raise UsageError(f"{self._path(name)}: expected a mapping of options", node.place)
        return _Section(self._path(name), (node,))

    def integer(self, name: str, default: int, least: int) -> Option[int]:
        """Return a whole number from `least` up."""
        return self._scalar(name, default, lambda node: _number(node, self._path(name), least))

    def boolean(self, name: str) -> Option[bool]:
        """Return a truth value; false where it is not given."""

        def read(node: ScalarNode) -> bool:
            if node.text.lower() not in _WORDS:
                raise UsageError(f"{self._path(name)}: expected true or false, found {node.text!r}", node.place)
            return _WORDS[node.text.lower()]

        return self._scalar(name, False, read)

    def text(self, name: str) -> Option[str]:
        """Return a word, "" where it is not given."""
        return self._scalar(name, "", lambda node: node.text)

    def integers(self, name: str) -> Option[tuple[int, ...]]:
        """Return a list of whole numbers from 1 up, empty where it is not given."""
        node = self._find(name)
        path = self._path(name)
        if node is None or _is_null(node):
            return Option(path, ())
        if not isinstance(node, SequenceNode) or not node.items:
            raise UsageError(f"{path}: expected a list of numbers such as [1, 2, 4]", node.place)
        return Option(path, tuple(sorted({_number(item, path, 1) for item in node.items})), node.place)

    def _scalar(self, name: str, default: T, read: Callable[[ScalarNode], T]) -> Option[T]:
        node = self._find(name)
        if node is None or _is_null(node):
            return Option(self._path(name), default)
        if not isinstance(node, ScalarNode):
            raise UsageError(f"{self._path(name)}: expected one value", node.place)
        return Option(self._path(name), read(node), node.place)

    def _path(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.plain and node.text.lower() in ("", "~", "null")


def _number(node: Node, path: str, least: int) -> int:
    text = node.text.replace("_", "") if isinstance(node, ScalarNode) else ""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= _LARGEST):
        found = f", found {node.text!r}" if isinstance(node, ScalarNode) else ""
        raise UsageError(f"{path}: expected a whole number from {least} to {_LARGEST}{found}", node.place)
    return int(text)
