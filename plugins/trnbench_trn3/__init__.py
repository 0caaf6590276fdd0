"""Trainium3: the two Trn3 UltraServers, of 64 and 144 devices, and the instances beside them."""

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
            _instance("trn3.3xlarge", "Trn3 3xlarge (1 device)", "single_device"),
            _instance("trn3pd98.3xlarge", "Trn3pd98 3xlarge (1 device)", "single_device"),
            _instance("trn3.48xlarge", "Trn3 48xlarge (16 devices)", "networked_server"),
            _instance("trn3pds98.48xlarge", "Trn3pds98 48xlarge (16 devices)", "lone_server"),
        ),
    )


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Variant]:
    """What only this generation has, in the order in which reports show them; their sources are in `nki`."""
    return trnbench.read_kernels(HERE / "kernels.toml", __name__)


def _ultraserver(name: str, title: str, builder: str) -> Instance:
    return _instance(name, title, builder, scope=Scope.ULTRASERVER, default=True)


def _instance(
    name: str, title: str, builder: str, *, scope: Scope = Scope.INSTANCE, default: bool = False
) -> Instance:
    """As it is called, a size that the architecture page does not describe."""
    return Instance(
        name=name,
        title=title,
        scope=scope,
        device="trainium3",
        core="neuroncore-v4",
        topology=f"trnbench_trn3.topology:{builder}",
        default=default,
    )
