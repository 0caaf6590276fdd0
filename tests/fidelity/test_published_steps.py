"""Published steps of whole models: all are there, and each that says enough is a step of ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from trnbench.errors import FactError
from trnbench.registry import load_registry
from trnbench_fidelity.steps.compose import Composed, composed, shape_of
from trnbench_fidelity.steps.load import Metric, PublishedStep, load_steps, published_steps
from trnbench_steps.flops import floor_s
from trnbench_steps.job import Task
from trnbench_steps.shipped_models import load_model


@cache
def points() -> dict[str, PublishedStep]:
    found = published_steps(load_registry())
    return {point.id: point for each in found.values() for point in each.points}


@cache
def steps() -> tuple[Composed, ...]:
    registry = load_registry()
    return tuple(composed(point, registry) for point in points().values() if point.usable)


def read_by(name: str) -> list[PublishedStep]:
    return [point for point in points().values() if name in point.readings]


def test_all_are_there() -> None:
    assert len(points()) == 186
    assert {point.generation for point in points().values()} == {"trn1", "trn2"}
    tasks = [point.task for point in points().values() if point.usable]
    assert (len(tasks), tasks.count(Task.DECODE), tasks.count(Task.PREFILL)) == (121, 56, 51)


def test_each_usable_one_fits_its_system_and_has_a_time() -> None:
    assert len(steps()) == 121
    assert all(each.point.time_s > 0 for each in steps())


def test_none_was_measured_faster_than_documents_allow() -> None:
    for each in steps():
        assert floor_s(each.division, each.system) < each.point.time_s, each.point.id


def test_the_others_say_why() -> None:
    left = [point for point in points().values() if not point.usable]
    assert len(left) == 65
    assert all(point.note for point in left)
    assert "speculative decoding" in points()["t2-vllm-llama8b-tp8-eagle3-tpot"].note


def test_a_time_of_a_step_follows_from_what_is_printed() -> None:
    assert points()["t1-sdk-llama-3-8b-b1-s4096-i128-tpot"].time_s == pytest.approx(5.86e-3)
    assert points()["t1-sdk-train-llama-31-8b"].time_s == pytest.approx(1024 / 47.95)
    assert points()["t2-nxdi134-ministral-14b-b4"].time_s == pytest.approx(4 / 252)
    assert points()["t2-frontier124m-train-65536"].time_s == pytest.approx(0.29)
    with pytest.raises(ValueError, match="is no step: not independent"):
        _ = points()["t1-sdk-llama-3-8b-b1-s4096-i128-tps"].time_s


def test_a_cache_is_the_bucket_of_the_middle() -> None:
    found = read_by("bucket-of-the-middle")
    assert len(found) == 29
    for point in found:
        middle = point.stated["input_len"] + point.stated["output_len"] // 2
        bucket = 128
        while bucket < middle:
            bucket *= 2
        assert point.job.kv == min(bucket, point.stated["seq_len"])


def test_a_prompt_is_as_long_as_it_is_read() -> None:
    for point in read_by("prompt-is-a-bucket"):
        assert point.job.sequence == point.stated["input_len"]
    for point in read_by("prompts-one-by-one"):
        assert (point.job.batch, point.job.sequence) == (1, point.stated["seq_len"])


def test_batches_and_degrees_are_those_stated() -> None:
    for each in steps():
        point, layout = each.point, each.point.layout
        assert (layout.tp, layout.pp) == (point.stated["tp"], point.stated["pp"])
        both = "both-cores" in point.readings
        if point.unit is Metric.SEQUENCES or point.task is Task.DECODE:
            assert point.job.batch == point.stated["batch"], point.id
        if both:
            assert point.job.batch == 2 * point.stated["batch"]


def test_models_of_one_shape_are_one_however_they_are_spelt() -> None:
    names = ("llama-2-70b", "llama-3-70b", "llama-3.1-70b", "llama-3.3-70b")
    assert len({shape_of(load_model(name)) for name in names}) == 1
    assert shape_of(load_model("roberta-base")) == shape_of(load_model("electra-base"))
    assert shape_of(load_model("llama-3-8b")) != shape_of(load_model("llama-2-7b"))
    assert shape_of(load_model("llama-3-8b")) == "dense, 32 layers of 4096, 32/8 heads, network of 14336"


def test_points_kept_apart_are_published_and_have_the_error_of_the_version_before() -> None:
    for steps in published_steps(load_registry()).values():
        assert steps.frozen.version == "9"
        assert set(steps.frozen.errors) <= {point.id for point in steps.points if point.usable}


def test_a_point_kept_apart_that_is_not_published_is_refused(tmp_path: Path) -> None:
    published = load_registry().generations["trn2"].steps_file
    path = tmp_path / "steps.toml"
    path.write_text(published.read_text().replace('"t2-qwen3-8b-tp1-vllm" =', '"t2-qwen3-8b-tp2-vllm" ='))
    with pytest.raises(FactError, match="t2-qwen3-8b-tp2-vllm: no such point is published"):
        load_steps(path)
