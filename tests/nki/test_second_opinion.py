"""What the NumPy interpreters of triton-viz make of the same calls and kernels. A difference is decided by a
document, and what was decided is held here without them.

TRNBENCH_TEST_SECOND_OPINION names a folder of checkouts, called OWNER__NAME, at commits of public/reach.toml.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from nki_machine import EVERY_INSTRUCTION
from tests.nki.opinion import calls

FOLDER = os.environ.get("TRNBENCH_TEST_SECOND_OPINION", "")
VIZ = "Deep-Learning-Profiling-Tools__triton-viz"


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    calls: str
    says: str
    right: str
    sentence: str
    source: str
    example: str
    wanted: str = ""
    refused: str = ""

    def covers(self, call: str, difference: str) -> bool:
        return bool(re.search(self.calls, call) and re.match(self.says, difference))


DECISIONS = msgspec.convert(
    tomllib.loads((calls.HERE / "decided.toml").read_text(encoding="utf-8"))["decision"], list[Decision]
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, calls.Asked]:
    return {each.id: each for each in calls.calls(tmp_path_factory.mktemp("calls"))}


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: decision.example)
def test_what_was_decided_holds(decision: Decision, asked: dict[str, calls.Asked]) -> None:
    assert decision.right in ("ours", "open")
    call = asked[decision.example]
    answer = calls.ours(call, EVERY_INSTRUCTION)
    if decision.refused:
        assert isinstance(answer, str)
        assert decision.refused in answer
        return
    x, y, out = call.arguments
    wanted = eval(decision.wanted, {"np": np, "math": math, "x": x, "y": y})
    assert calls.difference(answer, [np.asarray(wanted).astype(out.dtype)]) == ""


@pytest.mark.skipif(not FOLDER, reason="TRNBENCH_TEST_SECOND_OPINION names no folder of checkouts")
def test_two_interpreters_agree_or_a_document_decides(asked: dict[str, Any]) -> None:
    folder = Path(FOLDER)
    kernels = [each for seed in range(2) for each in calls.examples(folder, seed)]
    whole = [*asked.values(), *kernels]
    counts: Counter[str] = Counter()
    used, undecided = set(), []
    for each, other in zip(whole, calls.theirs(whole, folder / VIZ), strict=True):
        mine = calls.ours(each, EVERY_INSTRUCTION)
        said = calls.difference(mine, other)
        covering = [decision.example for decision in DECISIONS if said and decision.covers(each.id, said)]
        if said and not covering:
            undecided.append(f"{each.id}: {said}")
        used.update(covering)
        counts["decided" if said else "both refuse" if isinstance(mine, str) else "agree"] += 1
    print(f"{len(asked)} calls, {len(kernels)} runs of kernels: {dict(counts)}")
    assert undecided == []
    assert used == {decision.example for decision in DECISIONS}
    assert len(asked) >= 100
    assert len({each.id for each in kernels}) >= 20
