"""A plan: what is feasible is ranked, what is not says why, and prices come from the user."""

from __future__ import annotations

from datetime import date
from functools import cache
from math import ceil
from pathlib import Path

import pytest
from msgspec.structs import replace

import trnbench
from trnbench.errors import BadInput, UsageError
from trnbench.registry import Registry, load_registry
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.plan import goal as goals
from trnbench_steps.plan.composed import Steps, Why
from trnbench_steps.plan.demand import Prompts, Way, apart, layouts, neighbours, shared, turned, words
from trnbench_steps.plan.goal import By, Expected, Goal, Price, Within, cheapest, check_goal, read_prices
from trnbench_steps.plan.pareto import Option, cost_of, flips, front, pareto, priced, step_command
from trnbench_steps.plan.search import Plan, search
from trnbench_steps.shipped_models import load_model

HEAD = "instance,region,kind,dollars per hour,date\n"
SMALL = Goal(
    model=load_model("pythia-70m"), batches=(2, 8), kv=512, prompt=128, tpot_s=0.1, ttft_s=1.0, by=By.DOLLARS
)
PRICE = Price(
    instance="trn1.2xlarge", region="r", kind="spot", dollars_per_hour=1.0, date=date(2026, 11, 1), line=2
)
DEMAND = Goal(
    model=SMALL.model, kv=1524, prompt=1024, output=500, requests_per_s=4.0, utilisation=0.5, tpot_s=0.03
)


@cache
def registry() -> Registry:
    return load_registry()


def planned(goal: Goal, *systems: str) -> Plan:
    return search(registry(), goal, [registry().system(name) for name in systems], [PRICE])


@cache
def small() -> Plan:
    return planned(SMALL, "trn1.2xlarge")


def of(tp: int, batch: int) -> Option:
    (found,) = (
        each for each in small().options if (each.layout, each.batch) == (Layout(tp=tp, dp=2 // tp), batch)
    )
    return found


class TestOptions:
    def test_every_layout_is_an_option_or_refused(self) -> None:
        coarse = {(words(each.layout), each.batch) for each in small().options if each.layout.cp == 1}
        assert coarse == {("dp 2", 8), ("tp 2", 8), ("dp 2", 2), ("tp 2", 2)}
        assert {each.layout.cp for each in small().options} == {1, 2}  # next to the best
        assert (small().refused, small().without_price) == ((), ())

    def test_rates_and_dollars_follow_from_the_time(self) -> None:
        one = of(1, 8)
        assert one.tokens_per_s == pytest.approx(8 / one.step.time_s)
        assert one.dollars == pytest.approx(1.0 / 3600 * 1e6 * one.step.time_s / 8)
        assert (one.dollars_per_hour, one.within) == (1.0, Within.SURELY)
        assert one.step.low_s < one.step.time_s == one.token.time_s
        assert 0 < one.of_documents < 1
        assert 0 < one.first.time_s <= 1.0
        assert one.limit_share <= 1

    def test_the_order_is_what_was_asked_for(self) -> None:
        dollars = [each.dollars for each in small().options]
        assert dollars == sorted(dollars, key=lambda each: each or 0.0)

    def test_refusals_say_why(self) -> None:
        goal = Goal(model=load_model("llama-3-8b"), batches=(2, 128), kv=8192, tpot_s=0.01)
        made = planned(goal, "trn1.2xlarge", "h100-sxm")
        said = [(each.layout, each.batches, each.why, each.reason) for each in made.refused]
        assert said == [
            ("dp 2", (2,), Why.SLOW, "at least 36.5 ms a token, allowed are 10 ms"),
            ("dp 2", (128,), Why.FITS, "158 GiB on a device of 32 GiB"),
            ("tp 2", (2,), Why.SLOW, "at least 19.5 ms a token, allowed are 10 ms"),
            ("tp 2", (128,), Why.FITS, "143 GiB on a device of 32 GiB"),
            ("1 rank", (2,), Why.TIMED, "no fact gives partition_count of h100-sxm-gpu-core"),
            ("1 rank", (128,), Why.FITS, "143 GiB on a device of 74.5 GiB"),
        ]
        assert made.options == ()

    def test_what_is_beaten_without_its_exchange_is_not_put_together(self) -> None:
        goal = Goal(model=SMALL.model, task=Task.TRAIN, tokens=1e9, batches=(64,), sequence=256)
        made = planned(goal, "trn1.32xlarge")
        assert made.beaten > 0
        steps, system = Steps(registry(), goal.model), registry().system("trn1.32xlarge")
        for each in made.options:
            assert steps.least_s(each.layout, each.job, system) <= each.step.time_s

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"model": load_model("bert-base")}, "bert-base is an encoder"),
            ({"ttft_s": 1.0, "prompt": 0}, "--ttft goes with --prompt"),
            ({"prompt": 5000}, "a prompt of 5,000 tokens is more than the cache of 512"),
            ({"task": Task.TRAIN}, "--tokens is not given"),
            ({"output": 5}, "--output-tokens goes with --requests-per-s"),
            (
                {"requests_per_s": 1.0, "output": 1},
                "--requests-per-s goes with --prompt and --output-tokens, of 2 at least",
            ),
            ({"task": Task.PREFILL}, "--task prefill is no plan's"),
            ({"utilisation": 0.0}, "a utilisation of 0 is none"),
            ({"tpot_s": -1.0}, "--tpot -1 is no limit"),
            ({"ttft_s": float("nan")}, "--ttft nan is no limit"),
        ],
    )
    def test_what_was_asked_for_has_to_make_sense(self, change: dict[str, object], what: str) -> None:
        with pytest.raises(UsageError) as found:
            check_goal(replace(SMALL, **change))
        assert found.value.what == what


class TestLimits:
    @pytest.mark.parametrize(
        ("limit", "within"),
        [
            (0.0, Within.SURELY),
            (4.0, Within.SURELY),
            (2.0, Within.MAYBE),
            (1.0, Within.HARDLY),
            (0.9, None),
        ],
    )
    def test_a_limit_is_held_against_the_band(self, limit: float, within: Within | None) -> None:
        assert Expected(time_s=2.0, low_s=1.0, high_s=4.0).within(limit) is within

    def test_without_a_band_nothing_is_known(self) -> None:
        alone = Expected(time_s=2.0)
        assert (alone.within(2.0), alone.within(1.9)) == (Within.UNKNOWN, None)
        banded = Expected(time_s=1.0, low_s=0.5, high_s=2.0)
        assert not banded.plus(alone).banded
        assert banded.plus(banded, 2.0) == Expected(time_s=3.0, low_s=1.5, high_s=6.0)

    @pytest.mark.parametrize(("model", "batch"), [("llama-3.2-1b", 768), ("qwen2.5-7b", 384)])
    def test_no_batch_that_fits_yields_more(self, model: str, batch: int) -> None:
        goal = Goal(model=load_model(model), kv=512)
        tried = planned(replace(goal, batches=(batch, batch * 2)), "trn1.2xlarge").options
        best = planned(goal, "trn1.2xlarge").options[0]
        assert best.tokens_per_s >= max(each.tokens_per_s for each in tried)

    def test_no_larger_batch_is_slower_and_yields_less(self) -> None:
        goal = Goal(model=load_model("llama-3.2-1b"), kv=512, tpot_s=0.02)
        tried = planned(replace(goal, batches=(66, 72)), "trn1.2xlarge").options
        assert planned(goal, "trn1.2xlarge").options[0].tokens_per_s >= max(
            each.tokens_per_s for each in tried
        )

    def test_a_batch_is_the_most_that_keeps_the_limit(self) -> None:
        goal = Goal(model=SMALL.model, kv=512, tpot_s=1.9e-3)
        batches = {
            (each.within, each.batch)
            for each in planned(goal, "trn1.2xlarge").options
            if each.layout == Layout(dp=2)
        }
        (most,) = (batch for within, batch in batches if within is Within.MAYBE)
        more = planned(replace(goal, batches=(most + 2,)), "trn1.2xlarge")
        (option,) = (each for each in more.options if each.layout == Layout(dp=2))
        assert option.within is Within.HARDLY


class TestDemand:
    PROMPT = Expected(time_s=0.1, low_s=0.05, high_s=0.2)
    STEP = Expected(time_s=0.02, low_s=0.01, high_s=0.04)

    def test_replicas_that_do_both_wait_for_prompts(self) -> None:
        found = shared(DEMAND, self.PROMPT, self.STEP, batch=10, replicas=2)
        seconds = 0.1 + 499 * 0.02 / 10  # of a replica, for a request
        assert found.exact == pytest.approx(4 * seconds / (2 * 0.5))
        assert (found.way, found.decoding, found.prompting) == (Way.SHARED, ceil(found.exact), 0)
        assert found.token.time_s == pytest.approx(0.02 + 10 * 0.1 / 499)
        assert found.first.time_s == pytest.approx(0.12)
        assert found.least < found.systems < found.most

    def test_instances_for_prompts_alone_move_the_cache(self) -> None:
        prompts = Prompts(time=self.PROMPT, replicas=4, moved_s=0.03, words="tp 8")
        found = apart(DEMAND, prompts, self.STEP, batch=10, replicas=2)
        assert found.decoding == ceil(4 * 499 * 0.02 / 10 / (2 * 0.5))
        assert found.prompting == ceil(4 * 0.1 / (4 * 0.5))
        assert found.token == self.STEP
        assert found.first.time_s == pytest.approx(0.13)

    def test_a_plan_serves_what_is_asked(self) -> None:
        options = planned(DEMAND, "trn1.2xlarge").options
        assert {each.service.way for each in options if each.service} == set(Way)
        for each in options:
            assert each.tokens_per_s == 4.0 * 500
            assert each.dollars_per_hour == pytest.approx(each.systems)
            assert each.dollars == pytest.approx(each.systems * 1e6 / 2000 / 3600)
            rate = each.batch / (each.step.time_s * 499)
            assert each.service.decoding >= 4.0 / rate * 0.5

    SERVED = Goal(
        model=load_model("llama-3.2-1b"), kv=356, prompt=256, output=100, requests_per_s=20.0, utilisation=0.7
    )

    def test_a_batch_that_needs_no_fewer_instances_only_takes_longer(self) -> None:
        best = planned(replace(self.SERVED, ttft_s=0.2), "trn1.2xlarge").options[0]
        others = planned(replace(self.SERVED, ttft_s=0.2, batches=(32, 64, 512)), "trn1.2xlarge").options
        alike = [each for each in others if (each.systems, each.within) == (best.systems, best.within)]
        assert alike
        assert best.token.time_s < min(each.token.time_s for each in alike if each.batch > best.batch)

    def test_a_looser_limit_takes_no_more_instances(self) -> None:
        """The layout of prompts is chosen with what their cache takes to move."""
        tight, loose = (
            planned(replace(self.SERVED, ttft_s=limit), "trn1.2xlarge").options[0] for limit in (0.032, 0.034)
        )
        assert (tight.within, loose.within) == (Within.SURELY, Within.SURELY)
        assert loose.systems <= tight.systems

    def test_where_a_limit_is_hardly_kept_more_than_one_sequence_is_tried(self) -> None:
        best = planned(replace(self.SERVED, ttft_s=0.012), "trn1.2xlarge").options[0]
        assert best.within is Within.HARDLY
        assert best.systems <= 2

    def test_what_costs_less_in_a_larger_system_is_not_left_to_its_parts(self) -> None:
        names = ("u-trn2x64", "trn2-16.48xlarge")
        prices = [
            replace(PRICE, instance=name, dollars_per_hour=hour)
            for name, hour in zip(names, (100.0, 46.99), strict=True)
        ]
        goal = Goal(model=load_model("llama-3-8b"), kv=4096, tpot_s=0.03, batches=(8,), by=By.DOLLARS)
        alone, both = (
            search(registry(), goal, [registry().system(name) for name in chosen], prices).options[0]
            for chosen in (names[:1], names)
        )
        assert (alone.system, both.system) == (names[0], names[0])
        assert both.dollars == alone.dollars


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

    def test_what_people_turn_is_next_to_a_layout(self) -> None:
        system = registry().system("trn2-16.48xlarge")
        layout = Layout(tp=8, pp=2, dp=4, zero=1, chunks=2, sequence_parallel=True)
        job = Job(task=Task.TRAIN, batch=64, micro_batch=2, sequence=512, recompute=Recompute.SELECTIVE)
        found = list(neighbours(SMALL.model, layout, job, system))
        turns = {
            name
            for other, other_job in found
            for one, two in ((layout, other), (job, other_job))
            for name in one.__struct_fields__
            if getattr(one, name) != getattr(two, name) and name != "dp"
        }
        assert turns == {
            "tp", "cp", "pp", "lnc", "zero", "sequence_parallel", "chunks", "micro_batch", "recompute"
        }  # fmt: skip
        assert all(each.ranks == (128 if each.lnc else 64) for each, _ in found)
        experts = neighbours(load_model("mixtral-8x7b"), Layout(tp=8, dp=8), Job(task=Task.DECODE), system)
        assert Layout(tp=8, dp=8, ep=8, expert_tp=1) in [each for each, _ in experts]

    def test_words(self) -> None:
        assert words(Layout()) == "1 rank"
        assert words(Layout(tp=8, pp=2, dp=4, lnc=1)) == "tp 8, pp 2, dp 4, lnc 1"
        job = Job(task=Task.TRAIN, micro_batch=2, weights="fp8")
        assert turned(Layout(tp=2), job) == (
            "fp8, micro-batch 2, recompute none, zero 0, no sequence parallel"
        )


def test_a_command_has_every_field_that_is_not_as_usual() -> None:
    job = Job(task=Task.TRAIN, batch=8, micro_batch=2, sequence=128, recompute=Recompute.FULL)
    layout = Layout(tp=2, dp=2, zero=1, sequence_parallel=True)
    assert step_command("my model.json", "trn1.2xlarge", layout, job) == (
        "trnbench workload run 'my model.json' -i trn1.2xlarge --task train --tp 2 --dp 2 "
        "--sequence-parallel --zero 1 --batch 8 --micro-batch 2 --sequence 128 --recompute full"
    )


class TestFront:
    def test_nothing_on_it_is_beaten_in_both(self) -> None:
        options = small().options
        best = front(options)
        assert {id(each) for each in best} <= {id(each) for each in options}
        for one in best:
            assert not any(
                other.token.time_s < one.token.time_s and cost_of(other, False) < cost_of(one, False)
                for other in options
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


class TestFlips:
    def option(self, cost: float, low: float = 0.0, high: float = 0.0, **change: object) -> Option:
        step = Expected(time_s=cost, low_s=low, high_s=high)
        made = replace(of(1, 8), step=step, token=step, dollars=cost)
        return replace(made, **change)

    def test_the_first_slower_than_the_next_one_costs(self) -> None:
        first = self.option(1.0, 0.8, 1.5)
        next_one = self.option(1.2, 1.0, 2.0, layout=Layout(tp=2))
        (found,) = flips(registry(), replace(SMALL, tpot_s=0.0, ttft_s=0.0), [first, next_one])
        assert (found.beyond_s, found.above, found.limit) == (pytest.approx(1.2), True, False)
        assert found.then == "trn1.2xlarge (tp 2, batch 8)"
        far = self.option(1.6, 1.0, 2.0, layout=Layout(tp=2))
        assert flips(registry(), replace(SMALL, tpot_s=0.0, ttft_s=0.0), [first, far]) == []

    def test_a_step_breaks_no_limit_that_it_is_no_part_of(self) -> None:
        first = self.option(1.0, 0.8, 1.5, first=Expected(time_s=0.9, low_s=0.5, high_s=2.0))
        next_one = self.option(1.2, 1.0, 2.0, layout=Layout(tp=2))
        (found,) = flips(registry(), replace(SMALL, tpot_s=0.0, ttft_s=1.0), [first, next_one])
        assert (found.beyond_s, found.limit) == (pytest.approx(1.2), False)

    def test_a_limit_may_come_before(self) -> None:
        first = self.option(1.0, 0.8, 1.5)
        next_one = self.option(1.4, 1.0, 2.0, layout=Layout(tp=2))
        (found,) = flips(registry(), replace(SMALL, tpot_s=1.1, ttft_s=0.0), [first, next_one])
        assert (found.beyond_s, found.limit) == (pytest.approx(1.1), True)
        assert "above 1.1 s (expected 800 ms to 1.5 s), which breaks a limit, puts" in found.sentence

    def test_another_generation_needs_no_band(self) -> None:
        first = self.option(1.0, 0.8, 1.01)
        other = self.option(2.0, system="trn3-gen1-ultraserver", layout=Layout(tp=4))
        (found,) = flips(registry(), replace(SMALL, tpot_s=0.0, ttft_s=0.0), [first, other])
        assert (found.beyond_s, found.above) == (pytest.approx(1.0), False)
        assert "trn3-gen1-ultraserver (tp 4, batch 8) below 1 s (no band) puts it first" in found.sentence


class TestPython:
    def test_a_plan(self) -> None:
        trained = trnbench.plan("pythia-70m", instances="trn1.2xlarge", tokens=1e9, batches=(64,))
        assert trained.goal.task is Task.TRAIN
        found = trnbench.plan("pythia-70m", instances=["trn1.2xlarge"], tpot_s=0.1, kv=512, by="time")
        assert found.goal.by is By.TIME
        assert found.options[0].within is Within.SURELY

    def test_a_step_has_its_band_and_its_evidence(self) -> None:
        job, system = Job(task=Task.DECODE, batch=8, kv=512), registry().system("trn1.2xlarge")
        time = trnbench.step("pythia-70m", Layout(tp=2), job, system, registry())
        option = of(2, 8)
        assert time.time_s == option.step.time_s
        assert time.band_s == (option.step.low_s, option.step.high_s)
        assert time.nearest == option.nearest


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
        assert cheapest([dear, PRICE], ["trn1.2xlarge"]) == PRICE
        assert cheapest([dear], ["trn2.48xlarge"]) is None

    @pytest.mark.parametrize(
        ("row", "dollars"), [("trn1.32xlarge", 12), ("trn1-ultracluster", 12), ("trn1-ultracluster:4", 3)]
    )
    def test_a_row_of_a_cluster_with_its_size_is_of_all_of_it(self, row: str, dollars: float) -> None:
        system = registry().system("trn1-ultracluster:4")
        prices = [replace(PRICE, instance=each, dollars_per_hour=3.0) for each in (row, "trn1.32xlarge")]
        price = goals.price_of(registry(), prices, system)
        assert (price, price and goals.hourly(system, price)) == (prices[0], dollars)

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
