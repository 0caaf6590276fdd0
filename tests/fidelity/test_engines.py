"""Engines: how long each is active in the schedule, and beside published profiles."""

from __future__ import annotations

import msgspec
import pytest
from comparison import comparison
from published_point import published_point

from trnbench.registry import Registry
from trnbench.results.fidelity import EngineTime
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.engines import active_s, by_error, engine_errors, engine_times, engines_text
from trnbench_fidelity.point import Quantity
from trnbench_fidelity.probes import timed

SYSTEM = "trn2-16.48xlarge"
PROBES = "trnbench_kernels.nki.probes"
BEYOND_S = 153e-9  # instruction.fixed_ns


@pytest.fixture(scope="module")
def bench(registry: Registry) -> Bench:
    return Bench(registry)


@pytest.mark.parametrize("count", [1, 8])
def test_an_engine_is_active_to_the_end_of_its_last_instruction(bench: Bench, count: int) -> None:
    """Copies in a row overlap but for the last: 512 elements at 1.2 GHz each, then what one takes beyond."""
    like = ((128, 512), "float32")
    timing = timed(f"{PROBES}:instructions", (like, "copy", "scalar", "sbuf", count), bench, SYSTEM)
    active = active_s(timing, bench.table(SYSTEM))["scalar"]
    assert active == pytest.approx(count * 512 / 1.2e9 + BEYOND_S, rel=1e-3)


def test_transfers_are_active_from_their_first_byte_on(bench: Bench) -> None:
    """No longer than the kernel without the start of its first transfer, nor twice where two overlap."""
    source = ((4, 128, 1, 4096), "uint8")
    timing = timed(f"{PROBES}:transfers", (source, 4096), bench, SYSTEM)
    active = active_s(timing, bench.table(SYSTEM))["dma"]
    assert 0 < active < timing.total * 1e-12 - 1e-6


POINTS = (
    published_point(
        id="k", value=1e-4, extra={"tensor_active_us": 50.0, "scalar_active": 0.3, "tflops": 1.0}
    ),
    published_point(id="k-dma", family="engine", of="k", engine="dma", value=4e-5),
    published_point(
        id="k-vec", family="engine", of="k", engine="vector", quantity=Quantity.SHARE, value=0.05
    ),
    published_point(id="other", value=1e-4, extra={"tensor_active_us": 50.0}),
)
ROW = msgspec.structs.replace(comparison("k", 0.0), active={"tensor": 2.5e-5, "dma": 4e-5, "scalar": 6e-5})


def test_parts_and_further_figures_are_times_of_engines() -> None:
    """Shares become times of the profile they are of; a kernel that was not run has none."""
    found = engine_times({"trn2": POINTS}, {"k": ROW, "other": comparison("other", 0.0)})
    assert {each.engine: (each.published, each.model, each.share) for each in found} == {
        "tensor": (pytest.approx(5e-5), 2.5e-5, pytest.approx(0.5)),
        "scalar": (pytest.approx(3e-5), 6e-5, pytest.approx(0.3)),
        "dma": (4e-5, 4e-5, pytest.approx(0.4)),
        "vector": (pytest.approx(5e-6), 0.0, pytest.approx(0.05)),
    }


def timed_engine(vote: str, engine: str, share: float, model: float) -> EngineTime:
    return EngineTime(
        id=vote, generation="g", vote=vote, engine=engine, share=share, published=share, model=model
    )


def test_engines_that_are_hardly_active_are_listed_alone() -> None:
    found = [timed_engine("a", "tensor", 0.5, 0.55), timed_engine("a", "gpsimd", 0.05, 0.5)]
    errors = engine_errors(found)
    assert (errors.votes, errors.points) == (1, 1)
    assert [each.engine for each in by_error(found)] == ["tensor", "gpsimd"]
    assert engines_text(found) == (
        "Engines that a profile shows active for more than 10 % of the time: 1 of 1 kernels, 1 figures, 10 % "
        "off in the median, the worst +10 % (a, tensor); 1 less active are listed, not counted."
    )
    assert engines_text(found[1:]) == ""


@pytest.mark.parametrize(("kernels", "given"), [(4, False), (5, True)])
def test_a_90th_percentile_takes_five_kernels(kernels: int, given: bool) -> None:
    """However many of their engines are published."""
    found = [timed_engine(str(at), engine, 0.5, 0.6) for at in range(kernels) for engine in ("tensor", "dma")]
    errors = engine_errors(found)
    assert (errors.p90 is not None) is given


def test_an_engine_that_the_model_leaves_idle_is_no_infinite_error() -> None:
    assert timed_engine("a", "gpsimd", 0.5, 0.0).e == pytest.approx(-20.03, abs=0.01)
