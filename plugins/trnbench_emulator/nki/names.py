"""Public names of NKI that trnbench does not provide, and the sentence said for each.

Names as listed for NKI 0.6.0; `REMOVED` were public in Beta 1 and are gone since.
"""

# ruff: noqa: SIM905 - names in running text are read and compared more easily than quoted ones

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.releases import change

_NO_PARTNERS = "collectives need other devices; trnbench emulates them as kernels of their own (trnbench run)"
_COMPILER = "it drives the compiler or the device, which do not exist here"

WHY: dict[str, dict[str, str]] = {
    "nki": {
        "benchmark": "it was in Beta 1 and is gone since 0.1",
        "profile": "it was in Beta 1 and is gone since 0.1",
        "baremetal": "it was in Beta 1 and is gone since 0.1",
        "collectives": _NO_PARTNERS,
        "compiler": _COMPILER,
    },
    "nki.isa": {
        "NkiInstruction": "instructions have no handles here; their order is the program's",
        "NkiValidationError": "broken rules are reported as they occur and cannot be caught by name",
    },
    "nki.language": {},
}
"""Public names that are refused, and why."""

REMOVED: dict[str, frozenset[str]] = {
    "nki.isa": frozenset({"builtin_custom_op", "tensor_copy_dynamic_dst", "tensor_copy_dynamic_src"}),
    "nki.language": frozenset(
        "all_reduce arange atomic_rmw finfo gemm_grid gemm_stationary_grid loop_reduce mgrid par_dim "
        "spmd_dim static_cast".split()
    ),
}


class Refused(KernelError, AttributeError):
    """A name that is not provided. Also an AttributeError, so that hasattr() and getattr() behave."""


def refuse(module: str, name: str, provided: Iterable[str], where: str = "") -> AttributeError:
    """The error for `module.name`: removed from NKI, not emulated yet, or not known at all."""
    if name.startswith("__"):  # the import system asks for these; they are not NKI names
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    provided = sorted(provided)
    where = where or site.here()
    if name in REMOVED.get(module, ()):
        told = change(f"{module}.{name}")
        return Refused(
            f"{module}.{name} is not part of NKI any more ({where})",
            cause="it was in Beta 1 (neuronxcc.nki) and was removed in 0.2",
            try_=told.write if told else "port the kernel to NKI 0.3 or later",
        )
    known = WHY.get(module, {})
    if name in known:
        return Refused(
            f"{module}.{name} is part of NKI but trnbench does not emulate it ({where})",
            cause=f"{known[name]}; docs/nki.md lists what is emulated",
            try_="write it with the calls provided, or run the kernel on a device",
        )
    if name in REMOVED.get(module.removeprefix("neuronxcc."), ()):
        return Refused(
            f"{module}.{name} is part of Beta 1 but trnbench does not emulate it ({where})",
            cause="docs/nki.md lists what of Beta 1 is emulated",
            try_="write it with the calls provided, or run the kernel on a device",
        )
    near = difflib.get_close_matches(name, [*provided, *known], n=3, cutoff=0.6)
    return Refused(
        f"{module} has no {name!r} ({where})",
        cause=f"did you mean {', '.join(near)}?" if near else "NKI 0.6 lists no such name",
    )


def refused_import(error: Exception, where: str) -> KernelError | None:
    """`from nki.isa import topk` fails as an ImportError; what the attribute would have said."""
    text, module = str(error), getattr(error, "name", None) or ""
    if not isinstance(error, ImportError) or not text.startswith("cannot import name"):
        return None
    if module.partition(".")[0] not in ("nki", "neuronxcc"):
        return None
    names = getattr(sys.modules.get(module), "__all__", ())
    refused = refuse(module, text.split("'")[1], names, where)
    return refused if isinstance(refused, KernelError) else None
