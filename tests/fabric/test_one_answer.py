"""A stored run (which the report prints), `fabric run` and the Python API: one question, one answer, to the
last digit, in the metric, its ranks and what it is held against.
"""

from __future__ import annotations

import pytest
from campaigns import sweep
from fabric_command import rows

from trnbench.case_key import CaseKey
from trnbench.facts.fact import PeakPolicy
from trnbench.kernels.kernel import Case
from trnbench.registry import Registry, load_registry
from trnbench.results.measurement import Measurement
from trnbench.run.extents import extent_of
from trnbench.run.judge import Judge
from trnbench_emulator.backend import EmulatedBackend
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.question import Question
from trnbench_kernels.fabric import PATTERNS

SYSTEMS = (
    "trn1.32xlarge",
    "inf2.24xlarge",
    "trn2-16.48xlarge",
    "u-trn2x64",
    "trn3-gen2-ultraserver",
    "trn1-ultracluster:2",
)
"""One of each shape of graph; a cluster of two as well, which is simulated like the whole."""
SIZE = 2**30


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(scope="module")
def backend() -> EmulatedBackend:
    return EmulatedBackend()


def stored(registry: Registry, backend: EmulatedBackend, collective: str, name: str) -> Measurement:
    """What `trnbench run` stores of the case, and the report prints."""
    system, kernel = registry.system(name), registry.kernels[collective]
    scope = system.instance.scope
    point = {"dtype": "fp32", "size": SIZE}
    key = CaseKey(
        kernel=collective,
        family=kernel.family,
        instance=system.name,
        generation=system.generation.name,
        scope=scope,
        point=point,
    )
    case = Case(key=key, kernel=kernel, extent=extent_of(kernel, system, scope, point))
    return Judge(PeakPolicy.SEED).judge(case, backend.observe(case, system), system)


@pytest.mark.parametrize(
    ("name", "collective"),
    sweep(
        [
            *((name, collective) for name in SYSTEMS for collective in PATTERNS),
            ("trn1-ultracluster", "all_reduce"),
        ],
        lambda name, collective: name == "trn2-16.48xlarge" or collective == "all_reduce",
    ),
)
def test_all_ways_to_ask_agree(
    registry: Registry, backend: EmulatedBackend, name: str, collective: str
) -> None:
    made = stored(registry, backend, collective, name)
    level = PATTERNS[collective].rank
    (printed,) = rows("run", collective, "-i", name, "-b", str(SIZE), "-e", str(SIZE), "--ranks", level)
    answer = ask(Question(collective=collective, size=SIZE, system=registry.system(name), level=level))
    assert made.time_s == printed["time_s"] == answer.time_s
    busbw = made.metrics["busbw_bytes_per_s"].value
    assert busbw == pytest.approx(answer.busbw, rel=1e-15)
    assert printed["busbw_gb_s"] == pytest.approx(busbw / 1e9, rel=1e-15)
    assert made.metrics["algbw_bytes_per_s"].value == pytest.approx(answer.algbw, rel=1e-15)
    assert f"{answer.ranks:,} ranks, " in made.notes[0]
    if tried := made.detail.get("by_algorithm"):
        assert tried["ranks"] == answer.ranks
        assert tried["seconds"][tried["taken"]] == pytest.approx(made.time_s, rel=1e-12)
    if grown := made.detail.get("scaling"):
        assert grown[-1] == [answer.ranks, round(answer.busbw)]
    if made.judgement is not None and made.judgement.metric == "busbw_bytes_per_s":
        share = busbw / made.judgement.peaks.chosen.value
        assert printed["peak_share"] == pytest.approx(share, rel=1e-12)
    else:
        assert "ultracluster" in name
        assert printed["peak_share"] is None
