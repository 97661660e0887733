"""What each invariant holds, which kinds of bug it covers, and what a target must show for it to have a say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from harness.trace import Snapshot

__all__ = ["ENTRIES", "Entry", "silent", "table_lines"]


@dataclass(frozen=True)
class Entry:
    """A row of the table in docs/invariants.md.

    form      "predicate", "probe", "relation" or "outcome", or two of them; kinds: of fault, K01 to K16.
    declares  what a target must show, "" for nothing beyond drafts and tokens; shown: whether a snapshot does.
    """

    name: str
    form: str
    kinds: tuple[str, ...]
    holds: str
    declares: str = ""
    shown: Callable[[Snapshot], bool] = lambda _: True


def silent(snapshots: Iterable[Snapshot]) -> dict[str, str]:
    """Return the invariants that could say nothing of a run, with what the target did not declare for them."""
    seen = list(snapshots)
    return {each.name: each.declares for each in ENTRIES if seen and not any(map(each.shown, seen))}


def table_lines() -> Iterator[str]:
    """Yield the table as Markdown."""
    yield "| name | form | kinds of bug | holds when | what a target declares for it |"
    yield "|---|---|---|---|---|"
    for each in ENTRIES:
        cells = (each.name, each.form, ", ".join(each.kinds), each.holds, each.declares or "nothing")
        yield f"| {' | '.join(cells)} |"


def _pools(now: Snapshot) -> bool:
    return bool(now.pools)


def _slots_of_rows(now: Snapshot) -> bool:
    return any(item.pool for item in now.graph_inputs)


def _events(now: Snapshot) -> bool:
    return any(event.pool for event in now.events)


def _positions(now: Snapshot) -> bool:
    counted = any(state.context is not None for state in now.requests.values())
    return counted or any(pool.dummy_position is not None for pool in now.pools)


def _states(now: Snapshot) -> bool:
    return any(state.state is not None or state.verified is not None for state in now.requests.values())


ENTRIES = (
    Entry(
        "I-CAP", "predicate", ("K01",),
        "every pool offers a row for each of `num_seq_slots` seats (or their pages), and every buffer that a pool "
        "addresses has those and its own rows behind; the capacity is the configuration's, never that of the "
        "metadata of what drafted first",
        "pools, and which of them addresses a tensor",
        _pools,
    ),
    Entry(
        "I-FIELD", "predicate", ("K13",),
        "in the copy that a graph was replayed with, every field that is not its own equals the owner's; a field "
        "with one value a request has as many as the batch",
        "fields of its metadata, each with its sort",
        lambda now: bool(now.fields),
    ),
    Entry(
        "I-BUDGET", "predicate", ("K14",),
        "a forward uses no more tokens, rows and pages than were reserved for it, no more rows than a batch has, "
        "and verifies no more drafts than a step is granted",
        "what it reserves and consumes",
        lambda now: bool(now.consumed),
    ),
    Entry(
        "I-GEN", "predicate", ("K12",),
        "results are of live requests and of the present generation of their seat; a row given anew counts anew",
        "generations of rows, and of what drafts were made for",
        lambda now: any(pool.generations for pool in now.pools),
    ),
    Entry(
        "I-SEEDED", "predicate", ("K08",),
        "every batch row points at the row that its request owns, and no draft attends to context that was never "
        "written for its request",
        "the map of batch rows as a graph input of its pool, or how much context a draft sees",
        lambda now: _slots_of_rows(now) or any(state.visible is not None for state in now.requests.values()),
    ),
    Entry(
        "I-SCRATCH", "predicate, probe", ("K02",),
        "the dummy row is no seat, whoever is live; no two requests own one row; padding points at no row that a "
        "request may get; rows of live requests outside the batch are the same, bit for bit; rows that are "
        "nobody's are filled with a pattern before a forward and hold it afterwards (content only: in an index it "
        "would be an address out of range)",
        "pools with owners and dummy, and which tensors are content",
        _pools,
    ),
    Entry(
        "I-FRESH", "probe", ("K06",),
        "a row holds its initial value when it is given to somebody; rows that were given back are poisoned, and "
        "reading one shows in R-PROBED",
        "initial values, and telling the host when a row is given",
        lambda now: any(buffer.initial is not None for buffer in now.buffers),
    ),
    Entry(
        "I-TAIL", "predicate, probe", ("K03",),
        "after a forward of n rows padded to B, rows n..B of every persistent graph input hold the sentinel, "
        "though all of them were poisoned before it",
        "graph inputs and their sentinels",
        lambda now: bool(now.graph_inputs),
    ),
    Entry(
        "I-SPACE", "predicate, probe", ("K07",),
        "a step that writes a buffer writes the rows of all its requests; guard rows behind a pool hold their "
        "pattern",
        "pools; guard rows where it allocates some",
        _pools,
    ),
    Entry(
        "I-POS", "predicate", ("K09",),
        "a worker counts exactly the committed tokens of a request, and never past its tables; the dummy's "
        "position does not climb from step to step",
        "its own count of each request's context, and the dummy's",
        _positions,
    ),
    Entry(
        "I-ROLLBACK", "predicate", ("K10",),
        "a request resumes at the position where it was and with the recurrent state of that position; no more "
        "drafts are accepted than were verified",
        "digests of recurrent state, or how many drafts it verifies",
        _states,
    ),
    Entry(
        "I-CONSERVE", "predicate", ("K05",),
        "every row of a pool is free, held by live requests or retiring, exactly one of them",
        "pools with free, held and retiring rows",
        _pools,
    ),
    Entry(
        "I-ROOM", "predicate", ("K04",),
        "whoever may come finds a row though others keep theirs while they end; an operation that raises refused "
        "nobody for want of rows",
        "pools, and refusals as events",
        _events,
    ),
    Entry(
        "I-LOUD", "predicate", ("K15",),
        "a request that a pool refused a row has one in the end, or the operation raises; a step that a graph "
        "replayed before would hold does not run eagerly",
        "refusals as events",
        _events,
    ),
    Entry(
        "I-BAKED", "predicate", ("K11",),
        "no buffer gets another storage while a graph is captured, or between a capture and a replay",
        "its persistent tensors, each under one name",
        lambda now: bool(now.buffers),
    ),
    Entry(
        "I-REPR", "predicate", ("K16",),
        "row times stride and every row fit their integers; no sentinel is a row that a request may get; a held "
        "row stays held, and a free one is not refused, row 0 like any other",
        "pools; widths of indices below 64 bits",
        _pools,
    ),
    Entry(
        "R-ALONE", "relation", ("K02", "K03", "K07"),
        "drafts and tokens are those of each request by itself",
    ),
    Entry(
        "R-ORDER", "relation", ("K07",),
        "the order of a batch's rows makes no difference",
    ),
    Entry(
        "R-USE", "relation", ("K02", "K03"),
        "halves of a batch, in other buckets and another order of use, do the same as the batch",
    ),
    Entry(
        "R-PADDED", "relation", ("K02", "K03"),
        "the largest bucket does the same as the smallest that fits",
    ),
    Entry(
        "R-CAPTURES", "relation", ("K01", "K11"),
        "the order of captures makes no difference",
    ),
    Entry(
        "R-EAGER", "relation", ("K11",),
        "graphs do the same as no graphs",
    ),
    Entry(
        "R-CHUNKS", "relation", ("K09",),
        "chunks of a prompt do the same as the whole of it",
    ),
    Entry(
        "R-RESUME", "relation", ("K10",),
        "preempted and resumed is as good as uninterrupted",
    ),
    Entry(
        "R-PLAIN", "relation", ("K10", "K14"),
        "tokens, and recurrent state, are those of plain decoding without a draft (greedy configurations)",
    ),
    Entry(
        "R-PROBED", "relation", ("K03", "K06", "K08"),
        "canaries and poison make no difference: nobody reads what is nobody's",
    ),
    Entry(
        "O-ENDS", "outcome", ("K04", "K11"),
        "a legal scenario comes to its end: no error, crash or hang",
    ),
)  # fmt: skip
