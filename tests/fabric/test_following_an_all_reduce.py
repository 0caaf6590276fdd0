"""docs/following-a-number.md, second half: its numbers are those of the all-reduce that it follows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trnbench import Measurement, bench
from trnbench.registry import Registry, load_registry
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.explicit import ExplicitFlows
from trnbench_emulator.fabric.systems import Options, fabric_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "following-a-number.md").read_text(encoding="utf-8").partition("## One all-reduce")[2]
FABRIC = ROOT / "harness" / "trnbench" / "emulator" / "fabric"


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(scope="module")
def measured(registry: Registry) -> Measurement:
    (command,) = re.findall(r"^\$ trnbench run (\S+) -i (\S+) --dtype (\S+) -a (\S+)$", PAGE, re.M)
    kernel, instance, dtype, axis = command
    run = bench([kernel], instances=[instance], dtypes=[dtype], axes=[axis], registry=registry)
    (case,) = run.measurements
    return case


@pytest.fixture(scope="module")
def answer(registry: Registry, measured: Measurement) -> Answer:
    fabric = fabric_of(registry.system(measured.case.instance), Options(level="logical-core"))
    return ask(fabric.question(measured.case.kernel, float(str(measured.case.point["size"]))))


def test_every_file_of_the_fabric_is_there() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    places = (FABRIC, ROOT, ROOT / "harness" / "trnbench", ROOT / "plugins")
    missing = [name for name in named if not any((place / name).is_file() for place in places)]
    assert not missing
    assert len(named) > 25


def test_the_answer_is_as_the_page_says(answer: Answer, measured: Measurement) -> None:
    carried, network = answer.carried, answer.carried.network
    start_s = carried.schedule.startup_s
    arrived = carried.solution.total_ticks - round(start_s * 1e12)
    hop = carried.schedule.chains[0][1].moves[0].size * carried.schedule.scale
    judged = measured.judgement
    assert judged is not None
    busbw = measured.metrics["busbw_bytes_per_s"].value
    of_peak = busbw / judged.peaks.chosen.value * 100
    fall = answer.waterfall
    for text in (
        f"{busbw / 1e9:.0f} GB/s, {of_peak:.1f} % of the peak, {answer.time_s * 1e6:.1f} µs",
        f"limited by `{measured.bound}`",
        f"are {answer.ranks} ranks",
        f"`all_reduce`, {answer.size:,.0f} bytes",
        f"{len(network.links)} links and {len(carried.solution.accessed)} memories",
        f"{network.capacity[-1] / 1e12:.3f} TB/s",
        f"names `{answer.algorithm}` for {answer.ranks} ranks above 56 MB",
        f"{len(carried.schedule.chains)} chains",
        f"{carried.schedule.steps} steps each, and {start_s * 1e6:.1f} µs of starts",
        f"{hop:,.0f} bytes from pair to pair",
        f"after {arrived:,} ticks",
        f"{answer.time_s * 1e6:.6f} µs. Asked",
        f"{fall.ideal / 1e6:.1f} µs that no algorithm beats, {fall.latency / 1e6:.1f} µs of latency",
        f"{fall.endpoint / 1e6:.1f} µs of the ends",
        f"= {busbw / 1e9:.1f} GB/s",
    ):
        assert text in PAGE, text
    assert measured.time_s == answer.time_s


def test_the_classes_are_as_the_page_says(answer: Answer) -> None:
    carried = answer.carried
    classes = ExplicitFlows(carried.network, carried.schedule).classes(carried.schedule.chains)
    assert classes is not None
    count, resources = int(classes.flow.max()) + 1, int(classes.resource.max()) + 1
    assert f"{len(classes.patterns):,} messages" in PAGE
    assert f"{count} equivalence classes, on {resources} of resources" in PAGE
    assert carried.solution.way == "flows, by classes"
