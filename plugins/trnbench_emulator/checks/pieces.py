"""What a problem takes in pieces is what it takes whole: a case of each kernel that is cut, in each type."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.errors import KernelError, TrnbenchError
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.kernels.work import Spread
from trnbench.testing import Finding, Subject
from trnbench_emulator import nki_sources
from trnbench_emulator.checks.values import args_of, in_time, sourced
from trnbench_emulator.core.cases import arguments_of
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.timing import KernelModel, Timing
from trnbench_emulator.nki.recorder import TooManyInstructions
from trnbench_emulator.nki.source import Source, Sources

LIMIT = 30_000
"""Calls of a whole problem that are executed: about a second. A kernel that needs more is not compared, and a
warning says so."""

APART = 1e-3
"""Of the time: pieces that go on at the pace of the last one recorded may differ by a rounding of it."""


def pieces(subject: Subject) -> Iterator[Finding | str]:
    """The smallest case of each NKI source, data type and generation that is recorded in pieces, against the
    same recorded whole. On a generation of another distribution a difference is a warning: whoever cut the
    problem could not try it there."""
    sources, model = Sources(), KernelModel()
    foreign = _foreign(subject)
    done: set[tuple[str, str, str]] = set()
    for case, system in _smallest_first(subject):
        try:
            source = sources.taking(nki_sources(case.kernel), case.key.point)
        except TrnbenchError:
            continue  # which `values` says
        if source is None or not hasattr(source.module, f"{source.name}_pieces"):
            continue
        if source.ref not in subject.varied.get(case.kernel.name, (source.ref,)):
            continue  # another plugin's source of a kernel that this one adds to
        kind = (source.ref, system.generation.name, case.key.dtype)
        if kind in done:
            continue
        about = f"kernel {case.id}"
        try:
            with in_time():
                compared = _compared(model, case, source, system)
        except TooManyInstructions:
            findings = [
                Finding(
                    about,
                    f"not compared: whole it has more than {LIMIT:,} calls to execute",
                    "a smaller value on an axis, of which the problem is still cut",
                    warning=True,
                )
            ]
        except KernelError as error:
            findings = [Finding(about, error.what, error.try_ or "correct that, then check again")]
        else:
            if compared is None:
                continue  # so small that it is recorded whole
            findings = list(_judged(about, source, *compared))
        if owner := foreign.get(system.generation.name):
            try_ = f"trnbench nki run {case.key.kernel} -i {system.name} {args_of(case)}   takes it whole"
            findings = [
                each._replace(problem=f"on {owner}: {each.problem}", try_=try_, warning=True)
                for each in findings
            ]
        done.add(kind)
        yield about
        yield from findings


def _foreign(subject: Subject) -> dict[str, str]:
    """Generations of distributions that are neither trnbench's nor the subject's, and whose they are."""
    own = subject.loaded.origin.distribution
    return {
        each.name: f"{each.name} of {each.origin.source}"
        for each in subject.registry.brought("trnbench_generations")
        if each.origin.external and each.origin.distribution != own
    }


def _smallest_first(subject: Subject) -> list[tuple[Case, System]]:
    """But for those whose cores share the problem, which are recorded whole."""
    cases = [each for each in sourced(subject) if each[0].kernel.spread is not Spread.SHARED]
    return sorted(cases, key=lambda each: sum(each[0].work.bytes.values()))


def _compared(model: KernelModel, case: Case, source: Source, system: System) -> tuple[Timing, Timing] | None:
    """In pieces and whole; None where it has none, or is recorded whole anyway."""
    launch = Launch(cores=case.extent.cores_of_device, limit=LIMIT, explain=False)
    parts = tuple((arguments_of(part), times) for part, times in source.pieces())
    cut = model.time(source.kernel, arguments_of(source.inputs), system, launch, parts=parts)
    if not cut.recording.pieces:
        return None
    return cut, model.time(source.kernel, arguments_of(source.inputs), system, launch)


def _judged(about: str, source: Source, cut: Timing, whole: Timing) -> Iterator[Finding]:
    apart = cut.latency_s / whole.latency_s - 1
    if abs(apart) > APART:
        yield Finding(
            about,
            f"{source.ref} ({source.place}) takes {whole.latency_s * 1e6:,.1f} µs, and "
            f"{cut.latency_s * 1e6:,.1f} in the pieces that {source.name}_pieces gives ({apart:+.1%})",
            "cut where nothing of one piece reaches into the next, or leave the function out",
        )
