"""NKI Beta 1 on Trainium1 and Inferentia2: `neuronxcc.nki.benchmark`, SDK 2.26 and before.

Format: nki.benchmark of release 2.26 (general/nki/api/nki/__init__.py): percentiles of the latency in
microseconds, transfers between host and device included; so the clock is the host's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from trnbench import Case, System
from trnbench.record import Record
from trnbench_emulator.nki import problem
from trnbench_emulator.nki.problem import Source
from trnbench_neuron.conversation import Conversation
from trnbench_neuron.settings import BETA1, child_environment
from trnbench_neuron.tool import NoEvidence, WrongResult

CALL_S = 1200.0
CALLS = 3
WARM_UPS = 10
ITERATIONS = 100
SLACK = 0.98


class Result(Record, kw_only=True):
    """`samples` are the medians of whole benchmarks: single latencies are not given out."""

    samples: tuple[float, ...]
    percentiles_s: dict[str, float]
    checked: str
    stop_reason: str


def run_case(
    case: Case,
    system: System,
    source: Source,
    folder: Path,
    *,
    python: str,
    tag: str,
    seed: int,
    calls: int = CALLS,
    check: bool = True,
) -> Result:
    """Executed, checked and timed. Raises `ToolError`, `WrongResult`, `NoEvidence`."""
    folder.mkdir(exist_ok=True)
    values = problem.fill(source, seed)
    arrays = [msgspec.to_builtins(each) for each in problem.write(source, values, folder)]
    env = child_environment(NEURON_PROCESS_TAG=tag, NEURON_RT_VISIBLE_CORES="0")
    samples: list[float] = []
    percentiles: dict[str, float] = {}
    how = ""
    for _ in range(calls):
        with Conversation(python, "run_beta1", env=env, name="neuronxcc.nki") as running:
            answer = running.ask(
                CALL_S,
                do="measure",
                file=source.file,
                function=source.function,
                inputs=arrays,
                folder=str(folder),
                warmups=WARM_UPS,
                iterations=ITERATIONS,
            )
        percentiles = {str(key): float(value) for key, value in answer["percentiles_s"].items()}
        middle, least = percentiles["50"], percentiles["0"]
        if not 0.0 < least <= middle:
            raise NoEvidence(
                f"neuronxcc.nki gave latencies that are none: median {middle:g} s, least {least:g} s"
            )
        if float(answer["wall_s"]) < SLACK * least * ITERATIONS:
            raise NoEvidence(
                f"{ITERATIONS} executions of at least {least:.3g} s are claimed within "
                f"{float(answer['wall_s']):.3g} s: they were not awaited"
            )
        if check and not samples:
            how = _checked(case, system, source, values, answer["outputs"])
        samples.append(middle)
    return Result(
        samples=tuple(samples),
        percentiles_s=percentiles,
        checked=how,
        stop_reason=f"{calls} benchmarks of {ITERATIONS} executions; each sample is the median of one",
    )


def _checked(
    case: Case, system: System, source: Source, values: Sequence[object], outputs: Sequence[dict[str, object]]
) -> str:
    try:
        arrays = [problem.read(output, str(output["dtype"])) for output in outputs]
    except ValueError as error:
        raise WrongResult(f"the device's result cannot be read: {error}") from None
    from trnbench_neuron import verification

    return verification.checked(source, case, system, values, arrays, BETA1)
