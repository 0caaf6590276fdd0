"""Models are read and name their source; kernels of operators can be resolved."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.errors import TrnbenchError
from trnbench.testing import Finding, Subject


def workloads(subject: Subject) -> Iterator[Finding | str]:
    """What a plugin brings for `trnbench workload`: every file makes a model, every kernel is one."""
    from trnbench_emulator.nki.load import load_kernel
    from trnbench_steps.shipped_models import load_model_file, shipped_names

    for item in subject.of_kind("model"):
        where = f"model {item.name}"
        yield where
        if item.name in shipped_names():
            yield Finding(where, "is called as one that trnbench describes, which stays", "rename it")
        try:
            model = load_model_file(item.path)
        except TrnbenchError as error:
            yield Finding(where, f"{error.what}: {error.cause}", error.try_)
            continue
        if model.source is None:
            yield Finding(where, "does not say where it is from", "[source] with document, version, locator")
    for item in subject.of_kind("operator"):
        where = f"operator {item.name}"
        yield where
        try:
            _, module, _ = load_kernel(item.kernel, nki="trnbench")
        except TrnbenchError as error:
            yield Finding(where, f"{error.what}: {error.cause}", error.try_)
            continue
        name = item.kernel.rpartition(":")[2]
        if not callable(getattr(module, f"{name}_inputs", None)):
            yield Finding(
                where,
                f"{name}_inputs is not beside {name}",
                "a function of a point that gives shapes and data types, or None",
            )
