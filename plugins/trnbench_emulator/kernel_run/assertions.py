"""Kernels as performance tests: which is faster, and how much of its peak one reaches. Emulated, so that no
hardware is needed and the same numbers come out everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from trnbench.bounded import kinds
from trnbench.errors import UnknownName, UsageError
from trnbench.facts.units import percent, show
from trnbench.peaks.shares import Share as ShareOfPeak
from trnbench.peaks.shares import best_of
from trnbench_emulator.kernel_run.api import emulate_kernel
from trnbench_emulator.kernel_run.result import KernelRun

Asked: TypeAlias = float | str
"""A share: 0.6 or "60%"."""


def assert_faster(
    kernel: Any,
    than: Any,
    args: Mapping[str, Any],
    *,
    instance: str,
    by: Asked = 0.0,
    than_args: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """That `kernel` takes less time than the kernel `than`, emulated on `instance`.

    `args` by name, of both unless `than_args` has the other's; they and `options` (`cores`, `grid`, …) are
    those of `trnbench.emulate_kernel`. `by`: how much less of the other's time it has to take, "5%" or 0.05.
    A model has no noise, so that any difference is one.

    Raises `AssertionError` with both times and what limits them, and what `trnbench.emulate_kernel` raises.
    """
    __tracebackhide__ = True
    least = _share(by, "by")
    ours = _emulated(kernel, args, instance, options)
    theirs = _emulated(than, args if than_args is None else than_args, instance, options)
    if ours.latency_s < theirs.latency_s and 1.0 - ours.latency_s / theirs.latency_s >= least:
        return

    enough = f" by {percent(least)}" if least else ""
    raise AssertionError(
        f"{ours.kernel} is not faster than {theirs.kernel}{enough} on {ours.system}: "
        f"{_told(ours)}, against {_told(theirs)}"
    )


def assert_share_of_peak(
    kernel: Any,
    args: Mapping[str, Any],
    *,
    instance: str,
    at_least: Asked,
    what: str = "",
    **options: Any,
) -> None:
    """That `kernel`, emulated on `instance`, reaches a share of its peak: "60%" or 0.6.

    `what` names the peak as `trnbench nki run` prints it; by default the one that the kernel comes closest
    to. `args` and `options` are those of `trnbench.emulate_kernel`.

    Raises `AssertionError` with the share, the time and what limits it, `UnknownName` for a peak that this
    kernel is not held against, and what `trnbench.emulate_kernel` raises.
    """
    __tracebackhide__ = True
    least = _share(at_least, "at_least")
    run = _emulated(kernel, args, instance, options)
    share = _of_peak(run, what)
    if share.fraction >= least:
        return

    raise AssertionError(
        f"{run.kernel} reaches {percent(share.fraction)} of the {share.what} peak of {run.system}, and not "
        f"{percent(least)}: {_told(run)}"
    )


def _emulated(kernel: Any, args: Mapping[str, Any], instance: str, options: Mapping[str, Any]) -> KernelRun:

    __tracebackhide__ = True
    asked = {"nki": "trnbench", "compare": False, **options}
    run = emulate_kernel(kernel, args, instance=instance, **asked)
    if run.doubts:
        raise AssertionError(f"{run.kernel} on {run.system} is suspect: {'; '.join(run.doubts)}")
    return run


def _told(run: KernelRun) -> str:

    return f"{show(run.latency_s, 's')} emulated, limited by {run.bound}"


def _of_peak(run: KernelRun, what: str) -> ShareOfPeak:

    named = {share.what: share for share in run.shares}
    best = named.get(what) if what else best_of(run.shares)
    if best is None:
        raise UnknownName(
            "peak", what or "of any kind", named, try_="trnbench nki run  prints those of a kernel"
        )
    return best


def _share(given: Asked, name: str) -> float:
    if isinstance(given, str):
        return kinds.PERCENT.real(given, name) / 100.0
    if not 0.0 <= given <= 1.0:
        raise UsageError(f"{name}={given} is no share", cause="0.6 is 60 %", try_=f'{name}="60%"')
    return float(given)
