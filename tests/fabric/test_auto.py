"""What `auto` takes on every kind of system: times add up, never much slower than the best, more bytes never
quicker."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch

import pytest
from campaigns import sweep
from msgspec.structs import astuple, replace

from trnbench.errors import FactError
from trnbench.kernels.work import busbw_factor
from trnbench.registry import Registry
from trnbench_emulator.fabric.algorithms.algorithm import NAMES, NotPossible
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.constants import rules_of
from trnbench_emulator.fabric.question import Question
from trnbench_emulator.fabric.systems import Fabric, Options, fabric_of
from trnbench_fidelity.published_points import load_published

SYSTEMS = (
    "trn1.2xlarge",
    "trn1.32xlarge",
    "trn2-16.48xlarge",
    "u-trn2x64",
    "trn3-gen1-ultraserver",
    "trn3-gen2-ultraserver",
    "trn1-ultracluster",
)
SIZES = tuple(2.0**power for power in (10, 20, 26, 30))
"""In bytes; each in another part of a rule that was observed."""
SLOWER = 1.05
ROW: dict[str, object] = {
    "generation": "trn1",
    "context": "nccom",
    "collectives": ["all_gather"],
    "ranks": [32],
    "instances": 1,
    "take": [{"algorithm": "ring"}],
    "why": "somebody said so",
    "points": ["p"],
}
"""A rule as a cost table has it."""


def fabrics(registry: Registry, name: str, collective: str) -> Iterator[Fabric]:
    """With the ranks that a case of this collective has."""
    kernel = registry.kernels.get(collective)
    level = kernel.rank if kernel else "device"
    system = registry.system(name)
    rules = rules_of(system.costs["fabric"].get("rules", ()))
    # Contexts differ in starts and in what was observed; where nothing was, one stands for both.
    seen = any(rule.generation == system.generation.name for rule in rules)
    for context in ("nccom", "graph") if seen else ("nccom",):
        fabric = fabric_of(system, Options(level=level, context=context))
        if fabric.size > 1:
            yield fabric


def adds_up(found: Answer, collective: str) -> None:
    assert found.waterfall.total == round(found.time_s * 1e12)
    assert min(astuple(found.waterfall)) >= 0
    assert found.time_s >= found.bound.bandwidth_s * (1 - 1e-9)
    assert found.busbw == pytest.approx(found.algbw * busbw_factor(collective, found.ranks))
    assert all(0 < each.utilisation <= 1 + 1e-9 for each in found.hottest)


@pytest.mark.parametrize("collective", NAMES)
@pytest.mark.parametrize("name", sweep(SYSTEMS, ("trn1.32xlarge", "trn2-16.48xlarge").__contains__))
def test_more_bytes_never_take_less_time_and_nothing_is_much_quicker(
    registry: Registry, name: str, collective: str
) -> None:
    for fabric in fabrics(registry, name, collective):
        last = 0.0
        for size in SIZES:
            question = fabric.question(collective, size)
            found = ask(question)
            planner, took = found.planner, found.time_s
            assert took >= last * (1 - 1e-9), (fabric.options, size)
            last = took
            adds_up(found, collective)
            if found.choice.startswith("the all-reduce contains it: "):
                whole = ask(replace(question, collective="all_reduce"))
                assert (took, found.choice.partition(": ")[2]) == (whole.time_s, whole.choice)
                assert collective in ("broadcast", "reduce")
                continue
            if planner.rule is not None:
                assert found.choice.endswith(f"observed: {', '.join(planner.rule.points)})")
                continue
            assert found.choice.startswith(("no rule observed: best of ", "no rule observed: the only one"))
            assert took == min(found.tried.values())
            if size not in (SIZES[0], SIZES[-1]):
                continue
            # Those not carried out could not be quicker; what takes too long is left aside.
            for other in planner.able:
                if other not in found.tried and not planner.too_many(other, quick=True):
                    try:
                        slower = ask(replace(question, algorithm=other)).time_s
                        assert took <= SLOWER * slower, (other, size)
                    except NotPossible:
                        continue


@pytest.mark.parametrize(
    ("name", "collective", "size"),
    sweep(
        [
            ("u-trn2x64", "reduce_scatter", 2.0**22),
            ("trn3-gen1-ultraserver", "all_gather", 2.0**30),
            ("trn3-gen2-ultraserver", "all_gather", 2.0**30),
        ],
        lambda name, *_: name == "trn3-gen1-ultraserver",
    ),
)
def test_what_is_left_out_for_speed_would_not_have_been_quicker(
    registry: Registry, name: str, collective: str, size: float
) -> None:
    question = Question(collective=collective, size=size, system=registry.system(name), level="logical-core")
    found = ask(question)
    assert found.left_out
    for other in found.left_out:
        try:
            assert found.time_s <= SLOWER * ask(replace(question, algorithm=other)).time_s, other
        except NotPossible:
            continue


@pytest.mark.parametrize(
    ("name", "context"),
    [("inf2.24xlarge", "nccom"), ("trn1.32xlarge", "graph"), ("trn1-ultracluster:16", "nccom")],
)
@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_half_an_all_reduce_takes_no_longer_than_the_whole(
    registry: Registry, name: str, context: str, collective: str
) -> None:
    system = registry.system(name)
    late = () if fabric_of(system, Options()).clustered else ((3, 1e-4),)
    fabric = fabric_of(system, Options(level="logical-core", context=context, late=late))
    for size in SIZES:
        half, whole = (ask(fabric.question(each, size)) for each in (collective, "all_reduce"))
        assert half.time_s <= whole.time_s
        adds_up(half, collective)
        if (collective, size, name) == ("reduce", SIZES[-1], "inf2.24xlarge"):  # a chain's rate, once
            assert half.algorithm == "ring"
            assert half.time_s < 0.8 * whole.time_s


def test_every_rule_stands_on_points_of_its_own_question(registry: Registry) -> None:
    """Published points exist for each: of this generation, this collective, so many ranks and instances."""
    for name in ("trn1.32xlarge", "trn2-16.48xlarge"):
        generation = registry.system(name).generation
        points = load_published(generation.points_file, generation.name)
        for rule in rules_of(registry.system(name).costs["fabric"]["rules"]):
            stood_on = [p for p in points if any(fnmatch(p.id, each) for each in rule.points)]
            assert rule.generation == generation.name
            assert {p.number("ranks") for p in stood_on} == set(rule.ranks)
            assert {p.number("nodes") or 1 for p in stood_on} == {rule.instances}
            assert {p.operation for p in stood_on} == set(rule.collectives)


def test_a_rule_holds_only_where_it_was_observed(registry: Registry) -> None:
    def chosen(name: str, context: str = "nccom", ranks: int = 0) -> str:
        fabric = fabric_of(registry.system(name), Options(level="logical-core", context=context))
        return ask(fabric.question("all_gather", 2.0**16, ranks=tuple(range(ranks)))).choice

    assert chosen("trn1.32xlarge").startswith("ring (")
    assert chosen("trn2-16.48xlarge").startswith("mesh below 1 MB, rdh below 56 MB, kangaring above (")
    assert chosen("trn2-16.48xlarge", ranks=8).startswith("mesh below 1 MB")
    for question in (
        chosen("trn1.32xlarge", "graph"),
        chosen("trn2-16.48xlarge", "graph"),
        chosen("trn2-16.48xlarge", ranks=16),
        chosen("trn1-ultracluster:2"),
        chosen("u-trn2x64"),
        chosen("trn3-gen1-ultraserver"),
    ):
        assert question.startswith("no rule observed: best of ")


def test_a_threshold_is_taken_below_and_not_at_its_bytes() -> None:
    take = [
        {"algorithm": "mesh", "below_bytes": 10},
        {"algorithm": "rdh", "below_bytes": 20},
        {"algorithm": "ring"},
    ]
    (rule,) = rules_of([{**ROW, "take": take}])
    sizes = {9: "mesh", 9.5: "mesh", 10: "rdh", 19: "rdh", 20: "ring", 1e12: "ring"}
    assert {size: rule.taken(size) for size in sizes} == sizes


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"ranks": "many"}, "[[fabric.rules]] number 1 of the cost table cannot be read: "),
        (
            {"take": [{"algorithm": "mesh", "below_bytes": 10}]},
            "[[fabric.rules]] number 1 of the cost table names nothing for large messages",
        ),
    ],
)
def test_a_rule_that_says_too_little_is_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(FactError) as refusal:
        rules_of([{**ROW, **change}])
    assert str(refusal.value).startswith(text)
