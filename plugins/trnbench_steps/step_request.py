"""A step as it is asked for, with the axes that it can be swept over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from trnbench.case_key import Value
from trnbench.kernels.kernel import Axis, Case
from trnbench.record import Record
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.model import Model
from trnbench_steps.paths import PATHS

if TYPE_CHECKING:
    from trnbench_steps.division import Division
    from trnbench_steps.own_kernels import OwnKernels

JOB_AXES = ("batch", "micro_batch", "sequence", "kv", "weights", "dtype", "cache", "recompute", *PATHS)
LAYOUT_AXES = ("tp", "pp", "dp", "cp", "ep", "expert_tp", "chunks", "sequence_parallel", "zero", "lnc")
AXES = (*JOB_AXES, *LAYOUT_AXES)
"""In the order of a case's name; `dtype` is the type of the activations."""

SHIPPED = "shipped"
"""Of an operator's axis: the kernel of trnbench."""

_WORDS = {
    "weights": "type of the weights",
    "dtype": "type of what is between layers",
    "cache": "type of the KV cache",
    "recompute": "what the backward pass works out again",
    "attention_path": "of a prompt, by a kernel or operator by operator",
    "products": "made by the compiler or by kernels",
    "widening": "of 8-bit weights",
    "experts": "how tokens come to them",
}
_ALWAYS = {
    Task.TRAIN: ("batch", "sequence", "dtype"),
    Task.PREFILL: ("batch", "sequence", "dtype"),
    Task.DECODE: ("batch", "kv", "dtype"),
}


class StepRequest(Record, kw_only=True, forbid_unknown_fields=True):
    """A model, by its name where trnbench describes it, what is done with it, and on which layout.

    `axes` are those that cases are told apart by; all others are as `job` and `layout` have them.
    `operators`: kernels of a user's, by what they do: ("attention", "kernel.py::flash"). Each is an axis of
    its own, so that a step stands beside that with our kernel in its place, `SHIPPED`.
    """

    model: str
    described: Model | None = None
    job: Job
    layout: Layout
    axes: tuple[str, ...]
    operators: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        model: Model,
        job: Job,
        layout: Layout,
        *,
        swept: tuple[str, ...] = (),
        operators: tuple[tuple[str, str], ...] = (),
        shipped: bool = True,
    ) -> StepRequest:
        """Axes are what a task always has, what is not as usual, and what is `swept`."""
        usual_job, usual_layout = Job(task=job.task), Layout()
        named = [
            name
            for name in AXES
            if name in _ALWAYS[job.task]
            or name in swept
            or _value(job, layout, name) != _value(usual_job, usual_layout, name)
        ]
        return cls(
            model=model.name,
            described=None if shipped else model,
            job=job,
            layout=layout,
            axes=tuple(named),
            operators=operators,
        )

    @property
    def name(self) -> str:
        """What its kernel is called: `llama-3-8b-decode`."""
        return f"{self.model}-{self.job.task}"

    def loaded(self) -> Model:
        from trnbench_steps.shipped_models import load_model

        return self.described or load_model(self.model)

    def values(self) -> dict[str, Value]:
        """Of its axes, as asked for."""
        return {name: _value(self.job, self.layout, name) for name in self.axes}

    def own(self, point: Mapping[str, Value]) -> OwnKernels:
        """The user's kernels that `point` has in place of ours."""
        from trnbench_steps.own_kernels import OwnKernels

        return OwnKernels(
            tuple((name, source) for name, source in self.operators if point.get(name) == source)
        )

    def code(self) -> tuple[str, ...]:
        """Every NKI source too: which of them a step takes follows from its shapes."""
        return ("trnbench_kernels.nki", "trnbench_steps")

    def files(self) -> tuple[Path, ...]:
        """That kernels of a user's are in."""
        return tuple(Path(source.partition("::")[0]) for _, source in self.operators if "::" in source)

    def kernel_axes(self) -> tuple[Axis, ...]:
        """As a kernel has them, each with the one value that was asked for."""
        own = [
            Axis(name=name, values=(SHIPPED, source), kind="str", about="our kernel, or the user's")
            for name, source in self.operators
        ]
        usual = [
            Axis(
                name=name,
                values=(value,),
                kind="str" if isinstance(value, str) else "int",
                about=_WORDS.get(name, ""),
                least=0 if name in ("zero", "expert_tp", "lnc", "sequence_parallel") else 1,
            )
            for name, value in self.values().items()
        ]
        return (*usual, *own)

    def at(self, point: Mapping[str, Value]) -> Division:
        """With the values of `point`. Raises `UsageError` for what does not divide, `UnknownName` for a
        type."""
        from trnbench_steps.division import divide

        job = {"activations" if name == "dtype" else name: point[name] for name in JOB_AXES if name in point}
        layout: dict[str, Any] = {name: point[name] for name in LAYOUT_AXES if name in point}
        if "recompute" in job:
            job["recompute"] = Recompute(str(job["recompute"]))
        if "sequence_parallel" in layout:
            layout["sequence_parallel"] = bool(layout["sequence_parallel"])
        return divide(
            self.loaded(),
            replace(self.layout, **layout),
            replace(self.job, **job),
        )


def _value(job: Job, layout: Layout, name: str) -> Value:
    if name == "dtype":
        return job.activations
    found: Any = getattr(job if name in JOB_AXES else layout, name)
    return int(found) if isinstance(found, bool) else str(found) if isinstance(found, Recompute) else found


def step_request(plain: Any) -> StepRequest:
    """As a run keeps it. Raises `msgspec.ValidationError` for what is none."""
    return msgspec.convert(plain, StepRequest)


def requested(case: Case) -> StepRequest:
    """What the step of a case is about: a request, or what makes one for its ranks."""
    subject: Any = case.kernel.subject
    request = subject if isinstance(subject, StepRequest) else subject.on(case.extent.ranks)
    assert isinstance(request, StepRequest)
    return request
