"""Trainium1: the Trn1 instances and UltraCluster, and Inf2, which shares the NeuronCore-v2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import trnbench
from trnbench import Generation, Instance, Kernel, Scope, Variant

HERE = Path(__file__).parent
STACK = ("nki", "nki-beta1", "torch", "collective", "model")
FACTS = ("sources", "instances", "inferentia2", "device", "core", "runtime", "assumptions", "disputes")


@trnbench.hookimpl
def trnbench_generations() -> Iterator[Generation]:
    """One generation; no file is read here."""
    yield Generation(
        name="trn1",
        title="Trainium1",
        order=10,
        facts=tuple(HERE / "facts" / f"{name}.toml" for name in FACTS),
        costs=HERE / "costs.toml",
        published=HERE / "published",
        workloads=HERE / "workloads.toml",
        answers=HERE / "answers.json",
        instances=(
            _trn1("trn1.2xlarge", "Trn1 2xlarge (1 device)", "single_device"),
            _trn1("trn1.32xlarge", "Trn1 32xlarge (16 devices)", "torus_instance"),
            Instance(
                name="trn1-ultracluster",
                title="Trn1 EC2 UltraCluster",
                scope=Scope.CLUSTER,
                device="trainium1",
                core="neuroncore-v2",
                topology="trnbench_trn1.topology:ultracluster",
                parent="trn1.32xlarge",
                sizable=True,
                default_size=1875,  # 30,000 devices, the figure of the seed document
                stack=STACK,
            ),
            _trn1("trn1n.32xlarge", "Trn1n 32xlarge (16 devices)", "torus_instance", default=False),
            _inf2("inf2.xlarge", "Inf2 xlarge (1 device)", "single_device"),
            _inf2("inf2.8xlarge", "Inf2 8xlarge (1 device)", "single_device"),
            _inf2("inf2.24xlarge", "Inf2 24xlarge (6 devices)", "chain_instance"),
            _inf2("inf2.48xlarge", "Inf2 48xlarge (12 devices)", "ring_instance"),
        ),
    )


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Variant]:
    """What only this generation has, in the order in which reports show them; their sources are in `nki`."""
    return trnbench.read_kernels(HERE / "kernels.toml", __name__)


def _trn1(
    name: str, title: str, builder: str, *, device: str = "trainium1", default: bool = True
) -> Instance:
    return Instance(
        name=name,
        title=title,
        scope=Scope.INSTANCE,
        device=device,
        core="neuroncore-v2",
        topology=f"trnbench_trn1.topology:{builder}",
        default=default,
        stack=STACK,
    )


def _inf2(name: str, title: str, builder: str) -> Instance:
    return _trn1(name, title, builder, device="inferentia2", default=False)
