"""Which cases of a plan are explained: of each kernel, system and point the smallest scope that can run."""

from __future__ import annotations

from collections import defaultdict

import pytest

from trnbench.registry import Registry, load_registry
from trnbench.run.plan import Plan, plan
from trnbench.run.selection import Selection

pytestmark = pytest.mark.parts

NAMES = ["gemm", "hbm_read", "softmax", "all_reduce"]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def made(registry: Registry, *scopes: str, instances: tuple[str, ...] = ()) -> Plan:
    return plan(registry, Selection.of(kernels=NAMES, scopes=scopes, instances=instances))


@pytest.mark.parametrize("scopes", [(), ("device",), ("logical-core", "instance"), ("system",)])
def test_each_point_is_explained_at_one_scope_of_a_system(
    registry: Registry, scopes: tuple[str, ...]
) -> None:
    planned = made(registry, *scopes)
    ranks = defaultdict(list)
    for case in planned.runnable:
        system = planned.systems[case.key.instance]
        alone = bool(scopes) or system.instance.parent not in planned.systems
        root = system.name if alone else system.instance.parent
        ranks[case.key.kernel, root, *case.key.point.items()].append((case.key.scope.rank, case.explain))
    assert ranks
    for found in ranks.values():
        smallest = min(rank for rank, _ in found)
        assert all(explain == (rank == smallest) for rank, explain in found)
    assert not any(case.explain for case in planned.skipped)


def test_a_scope_that_cannot_run_leaves_it_to_the_next(registry: Registry) -> None:
    """trn1 has no logical cores: those cases are skipped, and those of the device that run are explained."""
    planned = made(registry, "logical-core", "device", instances=("trn1.32xlarge",))
    told = {(str(case.key.scope), bool(case.skip)): case.explain for case in planned.cases}
    assert told == {("logical-core", True): False, ("device", False): True, ("device", True): False}
