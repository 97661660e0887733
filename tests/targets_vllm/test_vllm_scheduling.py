"""Blocks of requests and of prefixes; what the target refuses before anything of the engine is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from harness.errors import LaunchError
from harness.host.graphs import capture_for
from harness.scenario import Config
from harness.targets.base import OpenOptions, UnsupportedError
from harness.targets.vllm import VLLMTarget
from harness.targets.vllm.blocks import Blocks
from harness.targets.vllm.given import OWN, Platform, given_names
from harness.targets.vllm.requests import Request


@dataclass(eq=False)
class Block:
    block_id: int
    users: int = 0


class Pool:
    """A pool that counts references, without the engine's order of reuse."""

    def __init__(self, size: int) -> None:
        self.blocks = [Block(number) for number in range(1, size + 1)]

    def free(self) -> list[int]:
        return [block.block_id for block in self.blocks if not block.users]

    def get_new_blocks(self, count: int) -> list[Block]:
        taken = [block for block in self.blocks if not block.users][:count]
        assert len(taken) == count
        self.touch(taken)
        return taken

    def touch(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            block.users += 1

    def free_blocks(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            block.users -= 1
            assert block.users >= 0


def request(name: str, position: int = 0) -> Request:
    made = Request.start(name, 4, 0)
    made.position = position
    return made


def ids(of: Any) -> list[int]:
    return [block.block_id for block in of.blocks]


def test_a_request_gets_as_many_blocks_as_its_tokens_need_and_only_those_it_lacks() -> None:
    blocks = Blocks(Pool(8), 1)
    one = request("r0")
    assert blocks.cover(one, 5) == [1, 2]
    assert blocks.cover(one, 8) == []
    assert blocks.cover(one, 9) == [3]
    assert ids(one) == [1, 2, 3]


def test_a_prefix_is_shared_by_whole_blocks_and_copied_where_it_ends_within_one() -> None:
    pool = Pool(8)
    blocks = Blocks(pool, 1)
    first = request("r0", position=6)
    blocks.cover(first, 12)
    blocks.release(first, keep=True)
    assert pool.free() == [3, 4, 5, 6, 7, 8], "its context stays, what was reserved behind it does not"
    assert blocks.share(request("r0"), 9) is None
    assert blocks.share(request("r1"), 1) is None
    again = request("r0")
    assert blocks.share(again, 6) == [(2, 3)]
    assert ids(again) == [1, 3]
    whole = request("r0")
    assert blocks.share(whole, 4) == []
    assert ids(whole) == [1]


def test_what_is_kept_makes_room_for_who_ended_last_and_stays_with_who_shares_it() -> None:
    pool = Pool(8)
    blocks = Blocks(pool, 1)
    for name in ("r0", "r1"):
        one = request(name, position=4)
        blocks.cover(one, 4)
        if name == "r0":
            blocks.release(one, keep=True)
            sharing = request("r0")
            blocks.share(sharing, 4)
        else:
            blocks.release(one, keep=True)
    assert blocks.share(request("r0"), 4) is None
    assert pool.free() == [3, 4, 5, 6, 7, 8], "the block of r0 is still read by who shares it"
    blocks.release(sharing, keep=False)
    assert 1 in pool.free()


def test_what_is_own_is_listed_once_and_in_order() -> None:
    assert list(OWN) == sorted(set(OWN))
    assert not [name for name in OWN for other in OWN if name.startswith(f"{other}.")]


def test_a_platform_is_asked_nothing_that_is_no_fact_here() -> None:
    assert Platform("cpu").is_cuda()
    with pytest.raises(AttributeError):
        Platform("cpu").get_device_capability()  # type: ignore[attr-defined]  # that is the point


def test_what_the_target_cannot_do_is_said_before_the_engine_is_loaded() -> None:
    target = VLLMTarget()
    config = Config("dflash", 2, 2, (1, 2))
    with pytest.raises(UnsupportedError, match="has no option 'overlap'"):
        target.open(Config("dflash", 4, 2, (1, 2), overlap=True), OpenOptions("cpu", capture_for("cpu")))
    with pytest.raises(LaunchError, match="needs --source: a fetched version, or a folder with vllm/ in it"):
        target.open(config, OpenOptions("cpu", capture_for("cpu")))


def test_what_the_engine_says_once_is_said_once_a_process(caplog: pytest.LogCaptureFixture) -> None:
    first, second = (given_names()["vllm.logger", "init_logger"](name) for name in ("spoken", "spoken"))
    with caplog.at_level("INFO"):
        for value in (1, 1, 2):
            first.info_once("%d of them", value)
        second.info_once("%d of them", 1)
        second.info("%d of them", 1)
    assert [record.getMessage() for record in caplog.records] == ["1 of them", "2 of them", "1 of them"]
