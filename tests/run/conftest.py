"""The default plan of the installed plugins, and the plugin of the laboratory."""

from __future__ import annotations

import pytest
from lab_plugin import FOLDER, system

import trnbench
from trnbench.facts.fact import Scope
from trnbench.generation import Generation
from trnbench.registry import Registry
from trnbench.run.plan import plan


@pytest.fixture(scope="module")
def lab() -> Registry:
    import trnbench_kernels as core_kernels

    class Lab:
        @trnbench.hookimpl
        def trnbench_generations(self):
            yield Generation(
                name="lab1",
                title="Lab",
                order=1,
                facts=(FOLDER / "lab_facts.toml",),
                costs=FOLDER / "lab_costs.toml",
                instances=(
                    system("single", Scope.INSTANCE),
                    system("box", Scope.INSTANCE, aliases=("crate",)),
                    system("rack", Scope.ULTRASERVER, parent="box"),
                    system("field", Scope.CLUSTER, parent="box", sizable=True, default_size=1000),
                    system("spare", Scope.INSTANCE, default=False),
                ),
            )

    return Registry.of(lab=Lab(), kernels=core_kernels)


@pytest.fixture(scope="module")
def default(registry):
    return plan(registry)
