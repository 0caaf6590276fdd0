"""Trainium2: the Trn2-16 instance, the Trn2 UltraServer of four of them, and the sizes beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trnbench
from trnbench import Generation, Instance, Kernel, Scope, Variant

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
            _instance(
                "trn2-16.48xlarge",
                "Trn2-16 48xlarge (16 devices)",
                "networked",
                default=True,
                aliases=("trn2.48xlarge", "trn2u.48xlarge"),  # the names of current documents
            ),
            _instance(
                "u-trn2x64",
                "Trn2 UltraServer (64 devices)",
                "networked",
                default=True,
                scope=Scope.ULTRASERVER,
                aliases=("trn2-ultraserver",),
                parent="trn2-16.48xlarge",
            ),
            _instance("trn2.3xlarge", "Trn2 3xlarge (1 device)", "single_device"),
            _instance("trn2n.48xlarge", "Trn2n 48xlarge (16 devices)", "lone_instance"),
        ),
    )


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Variant]:
    """What only this generation has, in the order in which reports show them; their sources are in `nki`."""
    return trnbench.read_kernels(HERE / "kernels.toml", __name__)


def _instance(
    name: str, title: str, builder: str, *, default: bool = False, scope: Scope = Scope.INSTANCE, **more: Any
) -> Instance:
    """As it is called, a size that the architecture page does not describe."""
    return Instance(
        name=name,
        title=title,
        scope=scope,
        device="trainium2",
        core="neuroncore-v3",
        topology=f"trnbench_trn2.topology:{builder}",
        default=default,
        **more,
    )
