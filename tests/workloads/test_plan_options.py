"""A plan: what is feasible is ranked, what is not says why, and prices come from the user."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from trnbench.errors import BadInput, UsageError
from trnbench.registry import Registry, load_registry
from trnbench_steps.job import Task
from trnbench_steps.layout import Layout
from trnbench_steps.plan.front import chart, cost_of, front, priced
from trnbench_steps.plan.goal import By, Goal, check_goal
from trnbench_steps.plan.layouts import layouts, words
from trnbench_steps.plan.option import Option, Why, sensitivity
from trnbench_steps.plan.pareto import pareto
from trnbench_steps.plan.price import Price, of_instance, read_prices
from trnbench_steps.plan.search import Plan, plan
from trnbench_steps.shipped import load_model
from trnbench_steps.step_constants import Constant, named_constants

HEAD = "instance,region,kind,dollars per hour,date\n"
SMALL = Goal(
    model=load_model("pythia-70m"),
    task=Task.DECODE,
    batches=(1, 4),
    kv=512,
    prompt=128,
    tpot_s=0.1,
    ttft_s=1.0,
)
PRICE = Price(
    instance="trn1.2xlarge", region="r", kind="spot", dollars_per_hour=1.0, date=date(2026, 11, 1), line=2
)


@cache
def registry() -> Registry:
    return load_registry()


@cache
def small() -> Plan:
    system = registry().system("trn1.2xlarge")
    return plan(registry(), replace(SMALL, by=By.DOLLARS), [system], [PRICE])


def of(tp: int, batch: int) -> Option:
    (found,) = (each for each in small().options if (each.layout.tp, each.batch) == (tp, batch))
    return found


class TestOptions:
    def test_every_layout_is_an_option_or_refused(self) -> None:
        assert [(words(each.layout), each.batch) for each in small().options] == [
            ("dp 2", 4),
            ("tp 2", 4),
            ("dp 2", 1),
            ("tp 2", 1),
        ]
        assert small().refused == ()
        assert small().without_price == ()

    def test_rates_and_dollars_follow_from_the_time(self) -> None:
        one = of(1, 4)
        assert one.tokens_per_s == pytest.approx(8 / one.time_s)
        assert one.dollars == pytest.approx(1.0 / 3600 * 1e6 * one.time_s / 8)
        assert one.low_s < one.time_s
        assert 0 < one.of_documents < 1
        assert 0 < one.first_s <= 1.0
        assert one.limit_share <= 1

    def test_the_order_is_what_was_asked_for(self) -> None:
        dollars = [each.dollars for each in small().options]
        assert dollars == sorted(dollars, key=lambda each: each or 0.0)

    def test_refusals_say_why(self) -> None:
        goal = Goal(model=load_model("llama-3-8b"), task=Task.DECODE, batches=(1, 64), kv=8192, tpot_s=0.01)
        made = plan(registry(), goal, [registry().system("trn1.2xlarge"), registry().system("h100-sxm")])
        said = [(each.layout, each.batches, each.why, each.reason) for each in made.refused]
        assert said == [
            ("dp 2", (1,), Why.SLOW, "at least 36.5 ms a token, allowed are 10 ms"),
            ("dp 2", (64,), Why.FITS, "158 GiB on a device of 32 GiB"),
            ("tp 2", (1,), Why.SLOW, "at least 18.3 ms a token, allowed are 10 ms"),
            ("tp 2", (64,), Why.FITS, "79 GiB on a device of 32 GiB"),
            ("1 rank", (1,), Why.TIMED, "no fact gives partition_count of h100-sxm-gpu-core"),
            ("1 rank", (64,), Why.FITS, "79 GiB on a device of 74.5 GiB"),
        ]
        assert made.options == ()

    def test_what_was_asked_for_has_to_make_sense(self) -> None:
        for change, what in (
            ({"model": load_model("bert-base")}, "bert-base is an encoder"),
            ({"ttft_s": 1.0, "prompt": 0}, "--ttft goes with --prompt"),
            ({"prompt": 5000}, "a prompt of 5,000 tokens is longer than the cache of 512"),
            ({"task": Task.TRAIN}, "--tokens is not given"),
        ):
            with pytest.raises(UsageError) as found:
                check_goal(replace(SMALL, **change))
            assert found.value.what == what


class TestLayouts:
    def test_tensor_degrees_stay_in_an_instance(self) -> None:
        found = list(layouts(SMALL.model, Task.TRAIN, registry().system("trn1-ultracluster:4")))
        assert max(each.tp for each in found) == 32
        assert {each.ranks for each in found} == {128}
        assert all(each.zero == 1 for each in found)

    def test_the_sequence_is_shared_where_tensors_are(self) -> None:
        options = layouts(SMALL.model, Task.TRAIN, registry().system("trn1.2xlarge"))
        assert [(each.tp, each.pp, each.dp, each.sequence_parallel) for each in options] == [
            (1, 1, 2, False),
            (1, 2, 1, False),
            (2, 1, 1, True),
        ]

    def test_experts_lie_on_the_tensor_ranks_too(self) -> None:
        found = list(layouts(load_model("mixtral-8x7b"), Task.DECODE, registry().system("trn1.32xlarge")))
        assert [each.ep for each in found if each.ep > 1] == [2, 4, 8]

    def test_words(self) -> None:
        assert words(Layout()) == "1 rank"
        assert words(Layout(tp=8, pp=2, dp=4)) == "tp 8, pp 2, dp 4"


class TestFront:
    def test_nothing_on_it_is_beaten_in_both(self) -> None:
        options = small().options
        best = front(options)
        assert {id(each) for each in best} <= {id(each) for each in options}
        for one in best:
            assert not any(
                other.time_s < one.time_s and cost_of(other, False) < cost_of(one, False) for other in options
            )

    def test_dollars_are_the_cost_where_every_option_has_a_price(self) -> None:
        one, other = (
            replace(each, dollars=dollars) for each, dollars in zip(small().options, (1e9, 2e9), strict=False)
        )
        assert priced([one, other])
        assert cost_of(one, True) == 1e9
        without = replace(other, dollars=None)
        assert not priced([one, without])
        assert not priced([])
        chart = pareto(SMALL, [one, without])
        assert (chart.unit, chart.cost) == ("s", "device seconds of a token")
        assert max(each.cost for each in chart.options) < 1e6  # no dollars among the seconds

    def test_a_chart_has_each_end(self) -> None:
        lines = chart(small().options, lambda value: f"{value:.2f}", "time", "dollars")
        text = "\n".join(lines)
        assert lines[0] == "dollars"
        assert text.count("●") >= 1
        assert lines[-1].strip() == "time"
        assert chart(small().options[:1], str, "", "") == []


class TestSensitivity:
    def test_the_constant_that_moves_the_first_most(self) -> None:
        first, second = of(1, 1), of(2, 1)
        named = {
            "engine_share": Constant(value=0.1, low=0.1, high=0.2, unit="1", method="m"),
            "operator_s": Constant(value=1, low=0, high=20, unit="us", method="m"),
        }
        found = sensitivity(first, [second], named, {id(second): "the other"})
        assert found is not None
        assert found.name == "operator_s"
        assert found.high_s - found.low_s == pytest.approx(20e-6 * first.parts.stages[0].operators)
        assert sensitivity(first, [], {}, {}) is None

    def test_another_may_come_before_it_at_an_end(self) -> None:
        one, two = of(2, 4), of(1, 4)
        named = named_constants(registry().system("trn1.2xlarge"))
        found = sensitivity(one, [two], named, {id(two): "the other"})
        assert found is not None
        assert found.turns == "the other"


def caught(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(BadInput) as found:
        read_prices(path)
    return str(found.value).replace(str(path), "FILE")


class TestPrices:
    def test_rows_in_any_order_of_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "p.csv"
        path.write_text(
            "date,Instance,kind,region,dollars per hour\n2026-11-01,trn1.32xlarge,spot,r,$7.5\n\n"
        )
        (one,) = read_prices(path)
        assert (one.instance, one.dollars_per_hour, one.age(date(2026, 11, 22))) == ("trn1.32xlarge", 7.5, 21)

    def test_the_cheapest_of_an_instance_comes_first(self) -> None:
        dear = replace(PRICE, dollars_per_hour=3.0, kind="on demand")
        assert of_instance([dear, PRICE], ["trn1.2xlarge"]) == [PRICE, dear]
        assert of_instance([dear, PRICE], ["trn1.2xlarge"], kind="on demand") == [dear]
        assert of_instance([dear], ["trn2.48xlarge"]) == []

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "FILE: no column 'instance'\n  cause: the file is empty"),
            (HEAD, "FILE has no price\n  cause: there is no row below the first"),
            (f"{HEAD}trn1,r,spot,cheap,2026-01-01\n", "FILE, line 2: 'cheap' is no price"),
            (f"{HEAD}trn1,r,spot,0,2026-01-01\n", "FILE, line 2: '0' is no price"),
            (f"{HEAD}trn1,r,spot,nan,2026-01-01\n", "FILE, line 2: 'nan' is no price"),
            (f"{HEAD}trn1,r,spot,1,yesterday\n", "FILE, line 2: 'yesterday' is no date"),
            (f"{HEAD}trn1,r,,1,2026-01-01\n", "FILE, line 2: no kind\n  cause: a price without it says too"),
            ("instance,region,kind,price,date\n", "FILE: no column 'dollars per hour'"),
        ],
    )
    def test_mistakes(self, tmp_path: Path, text: str, said: str) -> None:
        assert caught(tmp_path / "p.csv", text).startswith(said)
