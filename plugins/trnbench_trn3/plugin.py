"""Trainium3: the two Trn3 UltraServers, Gen1 with 64 devices and Gen2 with 144."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import trnbench
from trnbench import Generation, Instance, Kernel, Scope, Variant

HERE = Path(__file__).parent
FACTS = ("sources", "instances", "device", "core", "runtime", "assumptions", "disputes")


@trnbench.hookimpl
def trnbench_generations() -> Iterator[Generation]:
    """One generation; no file is read here. Costs not named in its own file are those of Trainium2."""
    yield Generation(
        name="trn3",
        title="Trainium3",
        order=30,
        facts=tuple(HERE / "facts" / f"{name}.toml" for name in FACTS),
        costs=HERE / "costs.toml",
        published=HERE / "published",
        answers=HERE / "answers.json",
        base="trn2",
        instances=(
            _ultraserver("trn3-gen1-ultraserver", "Trn3 Gen1 UltraServer (64 devices)", "gen1"),
            _ultraserver("trn3-gen2-ultraserver", "Trn3 Gen2 UltraServer (144 devices)", "gen2"),
        ),
    )


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Variant]:
    """What only this generation has; their sources are in `nki`."""
    from trnbench_trn3.kernels import kernels

    yield from kernels()


def _ultraserver(name: str, title: str, builder: str) -> Instance:
    return Instance(
        name=name,
        title=title,
        scope=Scope.ULTRASERVER,
        device="trainium3",
        core="neuroncore-v4",
        topology=f"trnbench_trn3.topology:{builder}",
    )
