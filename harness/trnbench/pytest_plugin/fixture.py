"""What `trnbench_benchmark` adds to pytest-benchmark's `benchmark`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trnbench.facts.fact import Scope


class TrnbenchBenchmark:
    """Calls go to `benchmark`; the rates that follow from its median go into its `extra_info`.

    With `instance` they are held against that system's peaks as well. Evidence names the processor
    that this ran on: a time taken here is no measurement of another device, and is never shown as one.
    """

    def __init__(self, benchmark: Any) -> None:
        self.benchmark = benchmark

    def __call__(
        self,
        function: Callable[..., Any],
        *args: Any,
        flops: float = 0.0,
        bytes: float = 0.0,
        dtype: str = "",
        instance: str = "",
        scope: Scope | str = Scope.INSTANCE,
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What `function(*args, **kwargs)` returns. Counts are those of one call.

        Nothing here keeps the function on one core, so the peak is that of the whole machine unless
        `scope` says that the function has one to itself. More than the peak is marked as suspect.

        Raises `UnknownName` for an instance, and `UsageError` for one that is not this machine.
        """
        system = _system_here(instance) if instance else None
        result = self.benchmark(function, *args, **(kwargs or {}))
        stats = getattr(self.benchmark, "stats", None)
        if stats is not None:
            self.tell(stats.stats.median, flops=flops, bytes=bytes)
            if system is not None and flops and dtype:
                self._of_peak(system, flops / stats.stats.median, dtype, Scope(scope))
        return result

    def tell(self, time_s: float, *, flops: float = 0.0, bytes: float = 0.0) -> None:
        """Rates and evidence into `extra_info`, which is shown, stored and compared with the times."""
        from trnbench.run.environment import describe

        info = self.benchmark.extra_info
        if flops:
            info["flops_per_s"] = flops / time_s
        if bytes:
            info["bytes_per_s"] = bytes / time_s
        info["evidence"] = "measured"
        info["measured_on"] = describe()["cpu_model"]
        info["clock"] = "host"

    def _of_peak(self, system: Any, rate: float, dtype: str, scope: Scope) -> None:
        from trnbench.peaks import choose_peak
        from trnbench.run.guard import TOLERANCE

        choice = choose_peak(system, metric="peak_flops", scope=scope, dtype=dtype)
        info = self.benchmark.extra_info
        if choice is None:
            info["peak"] = f"no figure of {system.name} for {dtype} at scope {scope}"
            return
        info["percent_of_peak"] = 100.0 * rate / choice.chosen.value
        if rate > choice.chosen.value * (1.0 + TOLERANCE):
            info["status"] = "suspect"
            info["reason"] = f"above the peak: work counted twice or left out, or not {dtype} at {scope}"
        info["peak_flops"] = choice.chosen.value
        info["peak_source"] = choice.chosen.formula or choice.chosen.source


def _system_here(instance: str) -> Any:
    from trnbench.errors import UsageError
    from trnbench.registry import load_registry
    from trnbench.run.reply import detected

    registry = load_registry()
    system = registry.system(instance)
    found = {detected(backend).instance for backend in registry.backends.values()} - {""}
    if system.instance.name not in found:
        raise UsageError(
            f"{instance} is not this machine, so a time taken here says nothing of its peak",
            cause=f"found here: {', '.join(sorted(found)) or 'nothing that can be measured'}",
            try_='instance="host"' if "host" in found else "trnbench doctor",
        )
    return system
