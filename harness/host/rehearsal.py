"""One small run of the embedded engine in the zygote, so that its forks find every cache warm.

Schemas, kernels' first calls, decoders and weights cost more than a case itself does. The rehearsal is the
harness's own engine on one thread and in tensors far below any parallel threshold: it starts no thread pool,
which is what a fork would not survive. No other target is rehearsed: its state would leak into the cases.
"""

from __future__ import annotations

import json
from dataclasses import replace

from harness.codec import decode, dumps
from harness.host.session import serve_request
from harness.protocol import Layout, Reply, Request
from harness.scenario import WORKERS, Admit, Capture, Config, Finish, Scenario, Step, Warmup

__all__ = ["rehearse"]


def rehearse() -> None:
    """Go once through what a case does, for both workers."""
    for worker in WORKERS:
        config = Config(worker, num_seq_slots=2, max_num_requests=2, buckets=(2,))
        operations = (Warmup(), Capture(2), Admit("r0", 4), Step(), Finish("r0"))
        request = Request("layout", "embedded", scenario=Scenario(config, operations), lockstep=False)
        layout: dict[str, Layout] = {}

        def emit(reply: Reply, layout: dict[str, Layout] = layout) -> bool:
            layout.update(reply.layout or {})
            return bool(dumps(reply))

        serve_request(request, emit)
        serve_request(decode(Request, json.loads(dumps(replace(request, kind="run", layout=layout)))), emit)
