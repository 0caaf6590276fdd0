"""The code that a kernel consists of, as a digest."""

from __future__ import annotations

import msgspec

from trnbench.bounded.file import MIB, read_file
from trnbench.digest import digest_of
from trnbench.kernels.kernel import NKI_KINDS, Kernel
from trnbench.registry.entry_points import own_packages
from trnbench.run.written import code_of
from trnbench.store.source_digest import packages_digest

_EMULATED = (*NKI_KINDS, "collective", "model")


def kernel_digest(kernel: Kernel) -> bytes:
    """Formulas and implementations, and which implementation has which name."""
    code = code_of(kernel, _EMULATED)
    # Ours are told apart by the files that they use; of another's package every file counts, since what its
    # kernels share need not lie beside them.
    others = {name for name in code.modules if name.partition(".")[0] not in own_packages()}
    named = {kind: str(ref) for kind, ref in kernel.implementations.items() if isinstance(ref, str)}
    return digest_of(
        kernel.name,
        msgspec.json.encode(named, order="deterministic"),
        msgspec.json.encode(code.files, order="deterministic"),
        packages_digest(name.partition(".")[0] for name in others if name),
        _of_subject(kernel),
    )


def _of_subject(kernel: Kernel) -> bytes:
    """What it is about, and the code and files that its time depends on besides."""
    subject = kernel.subject
    if subject is None:
        return b""
    return digest_of(
        msgspec.json.encode(subject, order="deterministic"),
        packages_digest(subject.code()),
        *(read_file(each, most=MIB) for each in subject.files() if each.is_file()),
    )
