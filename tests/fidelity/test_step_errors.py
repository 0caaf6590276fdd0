"""What is shipped of composed steps: constants, bands and the page follow from the kept answers."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import msgspec
import pytest

from renewal import inserted
from renewal.steps import banded, fitted_constants
from trnbench.registry import Registry, load_registry
from trnbench.results.fidelity import Errors
from trnbench.results.measurement import Nearness
from trnbench_fidelity.steps.archive import StepArchive, step_archives
from trnbench_fidelity.steps.errors import BEGIN, END, EVERYWHERE, StepFidelity, markdown
from trnbench_fidelity.steps.load import published_steps
from trnbench_fidelity.steps.nearness import nearby_steps, nearest_step
from trnbench_fidelity.steps.validate import answers, compared, fit, named_constants
from trnbench_steps.division import divide
from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Layout
from trnbench_steps.shipped_models import load_model

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
CHEAP = ("t1-sdk-enc-distilbert-base-uncased-b1-s128-lat", "t2-nxdi-qwen35-2b-tp4-tpot")


@cache
def registry() -> Registry:
    return load_registry()


@cache
def kept() -> dict[str, StepArchive]:
    return step_archives(registry())


@cache
def fidelity() -> StepFidelity:
    return compared(registry(), kept())


def row(family: str, generation: str = EVERYWHERE) -> Errors:
    (found,) = (each for each in fidelity().rows if (each.family, each.generation) == (family, generation))
    return found.crossed


def test_every_published_step_is_answered() -> None:
    for name, steps in published_steps(registry()).items():
        assert [each.id for each in kept()[name].answers] == [each.id for each in steps.points]
        unanswered = {each.id for each in kept()[name].answers if each.why}
        assert unanswered == {each.id for each in steps.points if not each.usable}


def test_kept_answers_are_those_of_the_model_now() -> None:
    for name, steps in published_steps(registry()).items():
        chosen = [each for each in steps.points if each.id in CHEAP]
        then = {each.id: each for each in kept()[name].answers}
        for now in answers(registry(), chosen):
            for row_now, row_then in zip(now.rows, then[now.id].rows, strict=True):
                assert row_now == pytest.approx(row_then, rel=1e-9), ".ci/renew steps makes them anew"
            assert (now.family, now.vote, now.why) == (then[now.id].family, then[now.id].vote, "")


def test_constants_are_what_the_kept_answers_give() -> None:
    for name, each in kept().items():
        made = fitted_constants(fit(each.answers), each.answers)
        shipped = named_constants(registry(), name)
        assert made.keys() == shipped.keys()
        assert len(shipped) <= 5
        for constant, there in shipped.items():
            assert made[constant].value == pytest.approx(there.value, rel=1e-3), constant
            assert made[constant].held_out == pytest.approx(there.held_out, rel=1e-3), constant
            assert made[constant].points == there.points


def test_bands_are_what_the_kept_answers_give() -> None:
    assert banded(registry(), kept()) == kept()


def test_bands_hold_for_models_that_nothing_is_published_of() -> None:
    """Four in five at least, of all and of each task, and of all no more than 19 in 20."""
    lying = [(each.task, each.inside) for each in fidelity().points if each.inside is not None]
    for task in ("", "decode", "prefill", "train"):
        inside = [lies for name, lies in lying if name.startswith(task)]
        assert 0.8 * len(inside) <= sum(inside), task
    assert sum(bool(lies) for _, lies in lying) <= 0.95 * len(lying)


def test_coverage_is_found_anew_where_an_answer_is_another() -> None:
    slower = {
        name: msgspec.structs.replace(
            each,
            answers=tuple(
                msgspec.structs.replace(answer, published_s=answer.published_s * 2)
                if answer.vote.startswith("trn2 / dense")
                else answer
                for answer in each.answers
            ),
        )
        for name, each in kept().items()
    }
    found = {each.id: each.inside for each in compared(registry(), slower).points}
    then = {each.id: each.inside for each in fidelity().points}
    assert found != then
    assert found.keys() == then.keys()


def test_the_page_shows_them() -> None:
    page = PAGE.read_text()
    assert page == inserted(page, markdown(fidelity()), BEGIN, END), ".ci/renew steps makes it anew"


def test_no_step_is_faster_than_documents_allow() -> None:
    for each in fidelity().points:
        if not each.why:
            assert each.model >= each.floor, each.id


def test_errors_with_models_left_out_are_as_far_as_was_asked() -> None:
    """Factors of median and 90th percentile over models; classes beyond them say so by their bands."""
    assert row("decode").median <= math.log(1.12)
    assert (row("decode").p90 or math.inf) <= math.log(1.32)
    assert row("decode, expert", "trn2").median <= math.log(1.12)
    assert row("train").median <= math.log(1.12)
    assert (row("train").p90 or math.inf) <= math.log(1.25)
    assert row("prefill").median <= math.log(1.35)
    assert row("prefill, encoder", "trn1").median <= math.log(1.30)
    assert row("prefill, dense", "trn1").median <= math.log(1.30)
    assert row("prefill, hybrid", "trn2").median <= math.log(1.10)


def test_no_constant_is_that_of_one_model() -> None:
    """Three a generation at most; what each is without a model is within a factor of 2 of what it is."""
    for generation in ("trn1", "trn2"):
        named = named_constants(registry(), generation)
        assert len(named) <= 3
        for name, each in named.items():
            ends = (each.value, *each.held_out.values())
            assert max(ends) <= 2 * min(ends), (generation, name)


def test_the_naive_sum_is_further_off_in_every_class() -> None:
    for each in fidelity().rows:
        assert each.naive.median > each.crossed.median, (each.family, each.generation)


def test_leaving_a_model_out_takes_every_spelling_of_it() -> None:
    constants = named_constants(registry(), "trn1")
    votes = {each.vote for each in fidelity().points if each.generation == "trn1" and each.vote}
    for each in constants.values():
        assert set(each.held_out) == votes
    of_70b = {each.vote for each in fidelity().points if each.vote and "-70b-" in each.id}
    assert len(of_70b) == 1


def test_a_step_has_the_band_of_its_class_and_none_where_nothing_is_published() -> None:
    near = nearby_steps(registry())
    decode = Job(task=Task.DECODE, batch=4, kv=4096)
    version = kept()["trn1"].version

    def nearest(model: str, system: str, tp: int, job: Job = decode) -> tuple[Nearness, bool, str]:
        division = divide(load_model(model), Layout(tp=tp), job)
        found = nearest_step(division, registry().system(system), near, version)
        return found.kind, found.band is not None, found.note

    assert nearest("llama-3.1-70b", "trn1.32xlarge", 32) == (Nearness.SAME, True, "")
    assert nearest("llama-3.1-70b", "trn1.32xlarge", 8) == (Nearness.KERNEL, True, "")
    assert nearest("qwen2.5-72b", "trn1.32xlarge", 32) == (Nearness.OPERATION, True, "")
    assert nearest("mixtral-8x7b", "trn2-16.48xlarge", 32) == (Nearness.OPERATION, True, "")
    kind, banded, note = nearest("llama-3-70b", "trn3-gen2-ultraserver", 16)
    assert (kind, banded) == (Nearness.ELSEWHERE, False)
    assert note == "no step of this task is published on Trainium3: none of its numbers has a band"
    assert nearest("llama-3-70b", "u-trn2x64", 64) == (Nearness.KERNEL, True, "")
    assert nearest("llama-3-70b", "u-trn2x64", 128) == (
        Nearness.NONE,
        False,
        "no step of this task is published across the instances of an UltraServer: none of its numbers has a "
        "band",
    )
    train = Job(task=Task.TRAIN, batch=64, sequence=2048)
    assert nearest("llama-3-8b", "trn2-16.48xlarge", 32, train)[:2] == (Nearness.OPERATION, True)


def test_a_step_that_sources_contradict_each_other_on_counts_against_their_interval() -> None:
    """Llama 2 and 3 with 70B on the same layout, batch and length, by two releases."""
    found = {each.id: each for each in kept()["trn1"].answers}
    one, other = (found[f"t1-sdk-llama-{n}-70b-b4-s4096-i2048-ttft"] for n in (2, 3))
    assert one.span_s == other.span_s == (other.published_s, one.published_s)
    least, most = one.printed_s
    assert one.error((least + most) / 2) == other.error(least) == 0.0
    assert one.error(2 * most) == pytest.approx(math.log(2))
    assert other.error(least / 2) == pytest.approx(-math.log(2))
    alone = found["t1-sdk-llama-2-70b-b1-s512-i256-ttft"]
    assert alone.span_s is None
    assert alone.error(alone.published_s * 2) == pytest.approx(math.log(2))
    assert found["t1-sdk-enc-albert-base-v2-b16-s128-lat"].span_s is None  # its layers share their weights
