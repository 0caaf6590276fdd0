"""Steps as cases: whether one can be carried out on a system, and what it takes.

Where exporters differ, a path of the software is named, with a source, and never fitted. It is a word of the
job where it is known, by a published reading or by who asks. Elsewhere the usual one stands, and the step by
the other path is told beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from trnbench import Case, Evidence, Grade, Observation, Part, System, TrnbenchError, percent, show
from trnbench.record import Record
from trnbench_emulator.backend import MODEL, MODEL_VERSION
from trnbench_steps.attention import AttentionKind
from trnbench_steps.calls import check_types
from trnbench_steps.division import Division, divide, path_of
from trnbench_steps.flops import floor_s
from trnbench_steps.hbm import Fit, fit
from trnbench_steps.job import Task
from trnbench_steps.measures import FORMULAS, measures
from trnbench_steps.own_kernels import OwnKernels
from trnbench_steps.paths import (
    BLOCKS,
    CHOSEN,
    COMPILED,
    EVERY,
    FUSED,
    KERNELS,
    NATIVE,
    OPERATORS,
    UNFUSED,
    WIDENED,
)
from trnbench_steps.step import StepModel
from trnbench_steps.step_constants import UNITS, constants_of, named_constants
from trnbench_steps.step_parts import StepTime
from trnbench_steps.step_request import requested

_NXD = "aws-neuron/neuronx-distributed@fecfe75: src/neuronx_distributed/"
_EXPERTS = f"{_NXD}modules/moe/expert_mlps_v2.py"
_WEIGHTS = f"{_NXD}quantization/quantization_layers.py"
_PATHS: dict[str, tuple[str, str]] = {
    FUSED: (
        "a kernel keeps the scores of a prompt on the core",
        "aws-neuron/neuronx-distributed-inference@4bcdc54: modules/attention/attention_base.py, "
        "get_flash_attention_strategy; huggingface/optimum-neuron@213224e: the same",
    ),
    UNFUSED: (
        "the scores of a prompt go through memory, operator by operator",
        "aws-neuron/transformers-neuronx@0623de2: layers/attention.py, context_combined; a kernel comes with "
        "Neuron 2.19 (release notes of PyTorch, transformers-neuronx)",
    ),
    COMPILED: ("the compiler makes matrix products and norms of a layer", ""),
    KERNELS: (
        "kernels of the library make them",
        "aws-neuron/aws-neuron-sdk@06f3378: trn2-llama3.3-70b-tutorial.rst, --qkv-kernel-enabled "
        "--mlp-kernel-enabled",
    ),
    WIDENED: ("8-bit weights are turned into the type of activations", f"{_WEIGHTS}, direct_cast_dequantize"),
    NATIVE: ("products take fp8 activations and weights", f"{_WEIGHTS}, quantize_fp8_per_channel"),
    CHOSEN: (
        "each token gathers its own experts, one after the other",
        f"{_EXPERTS}, forward_selective_loading",
    ),
    EVERY: ("every expert takes every token", f"{_EXPERTS}, forward_all_experts"),
    BLOCKS: ("one kernel takes blocks of tokens, each of one expert", f"{_EXPERTS}, forward_blockwise"),
    OPERATORS: (
        "operators of the graph take such blocks one after the other",
        f"{_EXPERTS}, torch_blockwise_matmul_inference",
    ),
}


class SoftwarePath(Record, kw_only=True):
    """What one of the job's fields came to; `known`: the job says so; `other`: what it might be instead."""

    name: str
    path: str
    says: str
    source: str
    known: bool
    other: str = ""


def paths_of(division: Division) -> tuple[SoftwarePath, ...]:
    """Of everything that a step of `division` has: attention of prompts, products, 8-bit weights, experts."""
    job, kinds = division.job, division.model.kinds
    paths: list[SoftwarePath] = []
    if job.task is not Task.DECODE and any(kind.attention.kind is not AttentionKind.LINEAR for kind in kinds):
        paths.append(_path("attention_path", job.attention_path, FUSED, UNFUSED))
    if job.products:
        paths.append(_path("products", job.products, COMPILED))
    if job.weights in ("int8", "fp8", "cfp8"):
        fp8 = job.weights != "int8"
        paths.append(_path("widening", job.widening if fp8 else WIDENED, WIDENED, NATIVE if fp8 else ""))
    words = [path_of(division, kind.feed_forward) for kind in kinds if kind.feed_forward.experts]
    if words and words[0]:
        paths.append(_path("experts", job.experts and words[0], words[0]))
    return tuple(paths)


def _path(name: str, word: str, usual: str, other: str = "") -> SoftwarePath:
    says, source = _PATHS[word or usual]
    known = bool(word)
    return SoftwarePath(
        name=name, path=word or usual, says=says, source=source, known=known, other="" if known else other
    )


PUT_TOGETHER = (
    "kernels at the shapes of a rank and collectives in a graph, in series; constants fitted to steps"
)


TOLERANCE = 1e-3
"""Documents round clocks and rates to two and more digits."""


class StepCases:
    """Kernels, collectives and layers are timed once for all cases of a process."""

    def __init__(self) -> None:
        self._model = StepModel()

    def unsupported(self, case: Case, system: System) -> str:
        """Empty, or why the layout does not lie on the system, or does not fit into its memory."""
        asked = requested(case)
        try:
            division = asked.at(case.key.point)
            check_types(division.job)
            found = fit(division, system)
        except TrnbenchError as error:
            return "; ".join(filter(None, (error.what, error.cause)))
        return "" if found.fits else found.verdict

    def observe(self, case: Case, system: System) -> Observation:
        """Raises what composing a step raises."""
        asked = requested(case)
        division = asked.at(case.key.point)
        own = asked.own(case.key.point)
        model = StepModel() if own.sources else self._model  # a user's kernel may be edited meanwhile
        time = model.time(division, system, constants_of(system), own)
        paths = [(path, self._otherwise(division, system, path, own)) for path in paths_of(division)]
        fitted = fit(division, system)
        largest = max(time.parts, key=lambda name: time.parts[name])
        return Observation(
            evidence=Evidence(grade=Grade.EMULATED, by=MODEL, version=MODEL_VERSION, note=PUT_TOGETHER),
            time_s=time.time_s,
            stop_reason="deterministic model",
            parts=tuple(Part(name=name, seconds=seconds) for name, seconds in time.parts.items()),
            bound=largest,
            implementation=", ".join(
                (
                    f"step: {division.layout.ranks} ranks, layers of {len(division.model.kinds)} kinds",
                    *(f"{name} by {source}" for name, source in own.sources),
                )
            ),
            doubts=tuple(doubts_of(division, system, time)),
            notes=(*fitted.notes, *_paths_said(paths), *_said(time, system)),
            detail={
                "waterfall": [list(each) for each in time.parts.items()],
                "step": {
                    **_detail(division, system, time, fitted),
                    "paths": [{**msgspec.to_builtins(path), "other_s": other_s} for path, other_s in paths],
                },
            },
        )

    def _otherwise(
        self, division: Division, system: System, path: SoftwarePath, own: OwnKernels
    ) -> float | None:
        """Seconds by the other path, where it is not known which is taken."""
        if not path.other or any(path.name.startswith(name) for name, _ in own.sources):
            return None
        job = replace(division.job, **{path.name: path.other})
        other = divide(division.model, division.layout, job)
        return self._model.time(other, system, constants_of(system), own).time_s


STEPS = StepCases()


def _paths_said(paths: Sequence[tuple[SoftwarePath, float | None]]) -> Iterator[str]:
    """Each path, and what the step takes by the other where that is not known."""
    for path, other_s in paths:
        otherwise = f"; {path.other}: {show(other_s, 's')} (which it is, is not known)" if other_s else ""
        yield f"{path.name.replace('_', ' ')} {path.path}: {path.says}{otherwise}"


def doubts_of(division: Division, system: System, time: StepTime) -> Iterator[str]:
    """Why the time cannot be: more operations or bytes a second than clocks and documents allow."""
    told = measures(division, system, time)
    for name, share, limit in (("MFU", told.mfu, "clocks"), ("MBU", told.mbu, "documented HBM rates")):
        if share is not None and share > 1.0 + TOLERANCE:
            yield f"{name} of {percent(share)}, and the {limit} allow 100 %"
    least = floor_s(division, system)
    if time.time_s < least * (1.0 - TOLERANCE):
        yield f"{show(time.time_s, 's')}, and reading and multiplying alone take {show(least, 's')}"


def _said(time: StepTime, system: System) -> tuple[str, ...]:
    notes = []
    if time.roofline_share:
        notes.append(f"{time.roofline_share:.1%} of the kernels' time by roofline")
    by_points: dict[int, list[str]] = {}
    for name, each in named_constants(system).items():
        told = f"{name} {each.value:g} {each.unit} ({each.low:g} to {each.high:g})".replace(" 1 (", " (")
        by_points.setdefault(len(each.points), []).append(told)
    for count, named in by_points.items():
        how = f"fitted on {count:,} published steps" if count else "assumed"
        notes.append(f"constants {how}: {', '.join(named)}")
    return tuple(notes)


def _detail(division: Division, system: System, time: StepTime, found: Fit) -> dict[str, Any]:
    """What a report and a table show of a step; formulas are told with it, for a run outlives its code."""
    told = msgspec.structs.asdict(measures(division, system, time))
    losses = told.pop("losses")
    constants = {
        name: {"value": each.value * UNITS[name][1], "points": list(each.points)}
        for name, each in named_constants(system).items()
    }
    return {
        "model": division.model.name,
        "kind": division.model.kind,
        "task": str(division.job.task),
        "ranks": division.layout.ranks,
        "cores": found.cores,
        "parts": time.parts,
        "bound_s": floor_s(division, system),
        "roofline_share": time.roofline_share,
        **told,
        "if_fixed": [[loss.part, loss.without_s] for loss in losses],
        "formulas": FORMULAS,
        "memory": {**msgspec.to_builtins(found.rank), "device": found.used, "capacity": found.capacity},
        "constants": constants,
    }
