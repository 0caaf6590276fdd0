"""docs/fabric.md: its constants are those of the cost tables, its algorithms those that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trnbench import Measurement, bench
from trnbench.registry import Registry, load_registry
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask, published_question
from trnbench_emulator.fabric.explicit import ExplicitFlows
from trnbench_emulator.fabric.systems import Options, fabric_of

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "fabric.md").read_text()
RESEARCH = (DOCS / "research" / "fabric.md").read_text()


def rows(title: str) -> list[list[str]]:
    section = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(("column", "system"), [(1, "trn1.32xlarge"), (2, "trn2-16.48xlarge")])
def test_constants_are_those_of_the_file(column: int, system: str) -> None:
    table = load_registry().system(system).costs["fabric"]
    listed = {row[0].strip("`"): row[column] for row in rows("Constants")}
    for name, shown in listed.items():
        assert shown == ("–" if name not in table else f"{table[name]['value']:g}"), name
    assert {name for name, row in table.items() if isinstance(row, dict) and "value" in row} <= set(listed)


def test_every_algorithm_is_listed() -> None:
    named = {name for row in rows("Algorithms") for name in re.findall(r"`([\w-]+)`", row[0])}
    named = {f"hierarchical{name}" if name.startswith("-") else name for name in named}
    assert named == set(ALGORITHMS)


def test_the_worst_cases_are_what_the_model_gives() -> None:
    system = load_registry().system("trn1-ultracluster:2")
    published = (Path(__file__).parents[2] / "plugins/trnbench_trn1/published/points.toml").read_text()
    lines = [line for line in RESEARCH.splitlines() if re.match(r"\| `t1-(nccom-ar64|efa-ar2)-\d+` \|", line)]
    assert len(lines) == 8
    for line in lines:
        name, theirs, ours, *parts = (cell.strip() for cell in line.strip("|").split("|"))
        size = int(name.strip("`").rpartition("-")[2])
        ranks = 64 if "ar64" in name else 2
        found = ask(published_question(system, "all_reduce", size, ranks, nodes=2))
        (entry,) = [each for each in published.splitlines() if f'id = "{name.strip("`")}"' in each]
        measured = float(re.findall(r'printed = "([\d.]+)"', entry)[0])
        assert float(theirs.replace(",", "")) == measured
        error = f"{(found.time_s * 1e6 / measured - 1) * 100:+.0f}".replace("-", "−")
        assert ours == f"{found.time_s * 1e6:,.0f} ({error} %)"
        seconds = (found.overhead_s, found.latency_s, found.link_s)
        assert parts == [f"{each * 1e6:,.0f}" for each in seconds]


# .github/FOLLOWING_A_NUMBER.md, second half: its numbers are those of the all-reduce that it follows ----

ROOT = Path(__file__).parents[2]
FOLLOWED = ROOT / ".github" / "FOLLOWING_A_NUMBER.md"
PAGE = FOLLOWED.read_text(encoding="utf-8").partition("## One all-reduce")[2]
FABRIC = ROOT / "harness" / "trnbench" / "emulator" / "fabric"


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
    count, resources = int(classes.flow.max()) + 1, int(classes.resource.max()) + 1
    assert f"{len(classes.patterns):,} messages" in PAGE
    assert f"{count} equivalence classes, on {resources} of resources" in PAGE
    assert carried.solution.way == "flows, by classes"
