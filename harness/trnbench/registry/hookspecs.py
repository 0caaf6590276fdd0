"""The plugin contract: every hook that trnbench calls, and nothing else.

A plugin is a module (or object) named by an entry point of group ``trnbench``. It implements the
hooks it needs with ``trnbench.hookimpl`` and *yields typed values*; it never calls back into the
core. Every hook collects from all plugins. Nothing is read, built or imported until it is used:
plugins name code by ``"package.module:attribute"`` references and data by paths.

A hook only ever gains arguments; an implementation may take fewer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.extension import (
        Check,
        ExecutorEntry,
        Expectation,
        Format,
        Importer,
        ModelFile,
        Page,
        Section,
        StepKernel,
        Trace,
    )
    from trnbench.generation import Generation, Systems
    from trnbench.kernels.kernel import Kernel, Template, Variant

GROUP = "trnbench"
COMMAND_GROUP = "trnbench.commands"

hookspec = pluggy.HookspecMarker("trnbench")
hookimpl = pluggy.HookimplMarker("trnbench")


@hookspec
def trnbench_generations() -> Iterable[Generation]:
    """Hardware generations with their instances.

    Example::

        @trnbench.hookimpl
        def trnbench_generations():
            yield Generation(name="trn9", title="Trainium9", order=90,
                             facts=(HERE / "facts.toml",), instances=(...,))

    Returns: an iterable of `trnbench.Generation`; names of generations and instances (aliases
    included) are unique across plugins.

    Since: contract 1.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_kernels() -> Iterable[Kernel | Variant | Template]:
    """Micro-benchmarks. One name, one kernel: a generation adds its own, never ``gemm`` again.

    What only its language or its data types can say of a kernel that there is, it adds as a `Variant`. A
    `Template` makes kernels of what a person asks for, such as a model's step.

    Example::

        @trnbench.hookimpl
        def trnbench_kernels():
            yield Kernel(name="my_stencil", family="stencil", ...)

    Returns: an iterable of `trnbench.Kernel`, since contract 2 of `trnbench.Variant`, since contract 4 of
    `trnbench.Template`.

    Since: contract 1.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_backends(systems: Systems) -> Iterable[Backend]:  # noqa: ARG001 (a specification)
    """Ways to carry out a case: an emulator, or a measured stack.

    `systems` are those that the plugins of this run describe, for a backend that has to find out which
    of them it is on: keep it, and read nothing from it before `detect()`. Most backends leave it out.

    Example::

        @trnbench.hookimpl
        def trnbench_backends():
            yield MyBackend()

    Returns: an iterable of objects that satisfy `trnbench.Backend`. Constructing one is cheap. One that
    keeps `systems` is sent to other processes: its `__getstate__` keeps what it read instead.

    Since: contract 1.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_reports() -> Iterable[Section | Format | Page]:
    """Sections of the HTML report, output formats for ``trnbench export``, and pages of other commands.

    Example::

        @trnbench.hookimpl
        def trnbench_reports():
            yield Section(name="power", title="Power", order=45, render="my_pkg.power:render")

    Returns: an iterable of `trnbench.Section`, `trnbench.Format` and `trnbench.Page`.

    Since: contract 1.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_importers() -> Iterable[Importer]:
    """Readers of other tools' result files: ``trnbench import FILE --from nccom``.

    Example::

        @trnbench.hookimpl
        def trnbench_importers():
            yield Importer(name="nccom", title="nccom-test JSON", read="my_pkg.nccom:read")

    Returns: an iterable of `trnbench.Importer`.

    Since: contract 1.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_workloads() -> Iterable[ModelFile | StepKernel]:
    """Models by data, and kernels for the operators of a step: ``trnbench workload run acme-7b``.

    Example::

        @trnbench.hookimpl
        def trnbench_workloads():
            yield ModelFile(name="acme-7b", path=HERE / "acme-7b.toml")
            yield StepKernel(name="acme-flash", operator="attention", kernel="acme_trn.nki.flash:flash")

    Returns: an iterable of `trnbench.ModelFile` and `trnbench.StepKernel`. A model that trnbench describes
    itself keeps its name.

    Since: contract 3.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_expectations() -> Iterable[Expectation]:
    """Published evidence beside emulated numbers: how near it is, the band to expect, the best published.

    Example::

        @trnbench.hookimpl
        def trnbench_expectations():
            yield Expectation(name="acme", beside="acme_trn.evidence:beside")

    Returns: an iterable of `trnbench.Expectation`. Where several know a number, the first with a band counts.

    Since: contract 4.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_executors() -> Iterable[ExecutorEntry]:
    """Who carries cases out elsewhere than in processes of this machine: ``trnbench run --executor ray``.

    Example::

        @trnbench.hookimpl
        def trnbench_executors():
            yield ExecutorEntry(name="slurm", title="nodes of a Slurm job", open="acme_trn.slurm:executor")

    Returns: an iterable of `trnbench.ExecutorEntry`.

    Since: contract 4.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_traces() -> Iterable[Trace]:
    """Timelines and ends of assumptions of stored cases: ``trnbench runs trace``, ``trnbench runs
    assumptions``.

    Example::

        @trnbench.hookimpl
        def trnbench_traces():
            yield Trace(name="emulated", timeline="acme_trn.timeline:draw")

    Returns: an iterable of `trnbench.Trace`, one for a backend.

    Since: contract 4.
    """
    raise AssertionError("specification only")


@hookspec
def trnbench_checks() -> Iterable[Check]:
    """Checks that ``trnbench plugin check`` makes of every plugin, beside those of the core.

    Example::

        @trnbench.hookimpl
        def trnbench_checks():
            yield Check(name="power", check="acme_trn.checks:power", order=95)

    Returns: an iterable of `trnbench.Check`.

    Since: contract 4.
    """
    raise AssertionError("specification only")
