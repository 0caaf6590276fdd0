"""What the model keeps of kernels: bytes, not cases, and nothing that waits for a collection of cycles."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from trnbench_emulator.core import program
from trnbench_emulator.core.memo import Memo
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki import TensorSpec, load_kernel


class TestMemo:
    def test_what_was_not_asked_for_longest_is_given_back_first(self) -> None:
        memo: Memo[str] = Memo(len, limit=6, parts=1)
        for key in ("one", "two"):
            memo.keep(key, key)
        assert memo.get("one") == "one"
        memo.keep("six", "six")
        assert [memo.get(key) for key in ("one", "two", "six")] == ["one", None, "six"]
        assert (len(memo), memo.bytes) == (2, 6)

    def test_a_value_takes_the_place_of_another(self) -> None:
        memo: Memo[str] = Memo(len, limit=6, parts=1)
        memo.keep("key", "four")
        memo.keep("key", "sixsix")
        assert (memo.get("key"), memo.bytes) == ("sixsix", 6)

    def test_one_beyond_the_limit_is_handed_on_and_drives_nothing_out(self) -> None:
        memo: Memo[str] = Memo(len, limit=6, parts=1)
        memo.keep("small", "a")
        assert memo.keep("large", "too large") == "too large"
        assert (memo.get("large"), memo.get("small"), memo.bytes) == (None, "a", 1)

    def test_a_key_without_a_hash(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            Memo[str](len).get([])


def test_what_was_recorded_ends_with_its_last_user(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: set[int] = set()
    created, ended = program.Program.__init__, alive.discard

    def noted(self: Any, *args: Any) -> None:
        created(self, *args)
        alive.add(id(self))

    monkeypatch.setattr(program.Program, "__init__", noted)
    monkeypatch.setattr(program.Program, "__del__", lambda self: ended(id(self)), raising=False)
    kernel, _, _ = load_kernel("trnbench_kernels.nki.gemm:gemm_blocked", nki="trnbench")
    operand, model = TensorSpec((512, 512), "bfloat16"), KernelModel()
    gc.disable()
    try:
        timing = model.time(kernel, (operand, operand), registry.system("trn2-16.48xlarge"), Launch())
        assert timing.memory > 0
        assert len(alive) == 1
        del timing, model
        assert not alive
    finally:
        gc.enable()
