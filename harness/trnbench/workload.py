"""What a plugin brings for workloads: descriptions of models, and kernels for operators of a step."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trnbench.lazy import Ref

FAMILY = "workload"
"""Of kernels that are steps of models."""


class ModelFile(msgspec.Struct, frozen=True, kw_only=True):
    """A model by data: a TOML file as docs/workloads.md shows, or a Hugging Face config.json. No file is read
    until somebody asks for the model by `name`."""

    name: str
    path: Path


class StepKernel(msgspec.Struct, frozen=True, kw_only=True):
    """An NKI kernel for an operator of a step, by the name that `--operator` takes.

    `operator` says what it does ("attention", "norm", or an operator's name: "mlp up"), `kernel` references
    the function "package.module:function"; beside it stands its `…_inputs`.
    """

    name: str
    operator: str
    kernel: Ref
