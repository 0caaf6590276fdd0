"""Collectives over gloo, in as many processes as there are ranks."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any

import pytest

from trnbench.errors import TrnbenchError
from trnbench_torch import DISTRIBUTED
from trnbench_torch.collective_data import Task

pytestmark = pytest.mark.torch


def task(kernel: str, ranks: int = 2, size: int = 65536, dtype: str = "fp32") -> Task:
    return Task(
        kernel=kernel, dtype=dtype, size=size, ranks=ranks, seed=11, device="cpu", backend="gloo", store=""
    )


def world(made: Task) -> Any:
    """Closed at the end of its block."""
    from trnbench_torch.world import World

    return closing(World(made))


@pytest.mark.parametrize("kernel", DISTRIBUTED)
def test_every_rank_ends_with_what_it_should(kernel: str) -> None:
    with world(task(kernel, ranks=3 if kernel == "all_to_all" else 2)) as made:
        program = made.program()
        assert program.check(program.run()) == ""
        made.run(3)
        assert program.check(None) == ""
        smaller = program.smaller()
        assert smaller.amount == program.amount / 4
        assert smaller.check(smaller.run()) == ""
        smaller.close()
        assert made.size == 65536
        program.idle()
        program.idle_queued(2)
        assert program.least_s == pytest.approx(100 * made.overhead_s)
        assert program.settings["distributed_backend"] == "gloo"
    assert all(peer.returncode == 0 for peer in made._peers)


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "int8"])
def test_sums_in_every_type_that_gloo_carries(dtype: str) -> None:
    with world(task("all_reduce", dtype=dtype, size=4096)) as made:
        assert made.check() == ""


def test_a_wrong_element_is_found_and_named() -> None:
    with world(task("all_gather", size=4096)) as made:
        call = made._current.call

        def spoiled() -> None:
            call()
            made._current.taken[5] += 1.0

        made._current.call = spoiled
        assert made.check().startswith("element 5 of rank 0 is ")


def test_a_result_left_from_before_does_not_pass() -> None:
    with world(task("permute", size=4096)) as made:
        assert made.check() == ""
        made._current.call = lambda: None  # this rank takes no part any more
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(made, "_order", lambda order, count=1: None)
            patch.setattr(made, "_replies", lambda until: [(0.0, "")])
            assert "element 0 of rank 0 is 0" in made.check()


def test_a_rank_that_is_gone_is_named_with_its_last_words() -> None:
    with world(task("broadcast", size=4096)) as made:
        made._logs[0].write_text("something broke\n")
        os.kill(made._peers[0].pid, 9)
        made._peers[0].wait()
        with pytest.raises(TrnbenchError) as told:
            made.run(1)
        assert told.value.what.startswith("rank 1 ended before it ")
        assert told.value.cause == "something broke"


def test_a_rank_that_never_comes_up_is_told() -> None:
    with pytest.raises((TrnbenchError, KeyError)):
        world(task("no_such_collective", size=4096))


def test_the_straggler_is_named() -> None:
    from trnbench_torch.world import World

    made = World.__new__(World)
    made._spent = [[1e-3, 1.1e-3, 1e-3], [4e-3, 4e-3, 5e-3]]
    told = made.witness()
    assert told.notes == ("rank 1 is the straggler: it is busy for 4 ms with a call, rank 0 for 1 ms",)
    assert told.detail == {"rank_s": [1e-3, 4e-3]}


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("kernel", DISTRIBUTED)
def test_what_is_wanted_follows_from_what_is_given(kernel: str, ranks: int) -> None:
    """The collective done by hand on all ranks' whole tensors, against the formula for single elements."""
    import numpy as np

    from trnbench_torch.collective_data import BLOCK, Share

    made = task(kernel, ranks=ranks, size=4 * 60)
    shares = [Share(made, rank, made.size) for rank in range(ranks)]
    given = [np.resize(share.block(share.rank), share.given).astype(float) for share in shares]
    shard = shares[0].shard
    assert shares[0].total < BLOCK
    for share in shares:
        at = np.arange(share.taken)
        found = share.wanted(at, lambda block: block.astype(float))
        by_hand = {
            "all_reduce": lambda: np.sum(given, axis=0),
            "all_gather": lambda: np.concatenate(given),
            "reduce_scatter": lambda s=share: np.sum(given, axis=0)[s.rank * shard : (s.rank + 1) * shard],
            "all_to_all": lambda s=share: np.concatenate(
                [each[s.rank * shard : (s.rank + 1) * shard] for each in given]
            ),
            "broadcast": lambda: given[0],
            "permute": lambda s=share: given[(s.rank - 1) % ranks],
            "point_to_point": lambda s=share: given[0] if s.rank == 1 else None,
        }[kernel]()
        if by_hand is None:
            assert found is None
        else:
            assert np.allclose(found[0], by_hand, rtol=1e-12, atol=0)
