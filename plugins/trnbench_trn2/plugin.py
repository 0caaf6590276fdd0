"""Trainium2: the Trn2-16 instance and the Trn2 UltraServer of four of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import trnbench
from trnbench import Generation, Instance, Kernel, Scope

HERE = Path(__file__).parent
FACTS = ("sources", "instances", "device", "core", "runtime", "assumptions", "disputes")


@trnbench.hookimpl
def trnbench_generations() -> Iterator[Generation]:
    """One generation; no file is read here."""
    yield Generation(
        name="trn2",
        title="Trainium2",
        order=20,
        facts=tuple(HERE / "facts" / f"{name}.toml" for name in FACTS),
        costs=HERE / "costs.toml",
        published=HERE / "published",
        workloads=HERE / "workloads.toml",
        answers=HERE / "answers.json",
        instances=(
            Instance(
                name="trn2-16.48xlarge",
                title="Trn2-16 48xlarge (16 devices)",
                scope=Scope.INSTANCE,
                device="trainium2",
                core="neuroncore-v3",
                topology="trnbench_trn2.topology:instance",
                aliases=("trn2.48xlarge", "trn2u.48xlarge"),  # the names of current documents
            ),
            Instance(
                name="u-trn2x64",
                title="Trn2 UltraServer (64 devices)",
                scope=Scope.ULTRASERVER,
                device="trainium2",
                core="neuroncore-v3",
                topology="trnbench_trn2.topology:ultraserver",
                aliases=("trn2-ultraserver",),
                parent="trn2-16.48xlarge",
            ),
        ),
    )


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel]:
    """What only this generation has; their sources are in `nki`."""
    from trnbench_trn2.kernels import kernels

    yield from kernels()
