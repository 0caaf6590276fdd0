"""The runnable cases of a plugin's kernels that have NKI sources, and of those it adds sources to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trnbench.errors import NothingSelected
from trnbench.kernels.case import Case
from trnbench.kernels.kernel import NKI_KINDS
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench.testing.subject import Subject

if TYPE_CHECKING:
    from trnbench.generation import System


def sourced(subject: Subject) -> Iterator[tuple[Case, System]]:
    """On every system whose instructions have costs; none where no kernel has a source."""
    names = tuple(kernel.name for kernel in subject.kernels if kernel.nki_sources)
    added = {each.kernel for each in subject.of_kind("variant") if each.kind in NKI_KINDS}
    names += tuple(name for name in subject.varied if name in added & subject.registry.kernels.keys())
    if not names:
        return
    try:
        planned = plan(subject.registry, Selection(kernels=names))
    except NothingSelected:
        return
    for case in planned.cases:
        system = planned.systems[case.key.instance]
        if not case.skip and system.costs:
            yield case, system
