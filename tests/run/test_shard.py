"""Parts of a plan: the same each time, none in two of them, all the whole; and which cases are explained."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import tiny_machine as tiny
from command import listed, typed
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import NothingSelected, UsageError
from trnbench.registry import Registry
from trnbench.run.plan import Plan, Shard, parse_shard, plan
from trnbench.run.resumption import Earlier
from trnbench.run.selection import Selection
from trnbench.store.store import Store


@given(st.integers(0, 60), st.integers(1, 20))
def test_parts_are_disjoint_and_cover_all(cases: int, count: int) -> None:
    parts = [Shard(number, count).of(range(cases)) for number in range(1, count + 1)]
    assert sorted(each for part in parts for each in part) == list(range(cases))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parts
def test_cases_are_those_of_the_whole_plan_explanations_and_all(registry: Registry) -> None:
    asked = {"kernels": ("gemm", "all_reduce"), "generations": ("trn2",)}
    whole = plan(registry, Selection(**asked))
    parts = [plan(registry, Selection(**asked, shard=f"{number}/3")) for number in (1, 2, 3)]
    cases = [case for part in parts for case in part.cases]
    assert sorted((case.id, case.skip, case.explain) for case in cases) == sorted(
        (case.id, case.skip, case.explain) for case in whole.cases
    )
    again = plan(registry, Selection(**asked, shard="2/3"))
    assert [case.id for case in again.cases] == [case.id for case in parts[1].cases]
    for part in parts:
        assert set(part.systems) == {case.key.instance for case in part.cases}


@pytest.mark.parametrize(
    "text", ["0/3", "4/3", "1/0", "1", "1/2/3", "-1/3", "1/x", " 1/2", "1/1000000", "٢/٣", ""]
)
def test_what_is_no_part_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is no part of a plan") as caught:
        parse_shard(text)
    assert caught.value.cause == "it is the number of the part, from 1 on, and of how many: up to 100,000"
    assert parse_shard("2/8") == (2, 8)


def test_a_part_without_a_case_is_said() -> None:
    with pytest.raises(NothingSelected, match=r"^part 99 of 99 has no case\n"):
        plan(tiny.registry("half"), Selection(shard="99/99"))


@pytest.mark.parts
def test_it_is_recorded_and_resume_keeps_it(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))
    words = ["run", "gemm", "-i", "trn1.2xlarge", "-a", "size=1K,2K", "--dtype", "bf16", "--scope", "core"]
    done = typed(*words, "--shard", "2/2", "--no-report")
    assert done.exit_code == 0, done.stderr
    with Store() as store:
        run = store.load()
        assert run.settings["selection"]["shard"] == "2/2"
        assert [each.case.point["size"] for each in run.measurements] == [2048]
        with Earlier(store, run.id) as earlier:
            planned = earlier.planned(registry)
    assert [case.id for case in planned.cases] == [each.id for each in run.measurements]
    rows = listed(*words, "--shard", "1/2", "--dry-run")
    assert [row["case"] for row in rows] == ["gemm[dtype=bf16,size=1024]@core"]


# Which cases of a plan are explained: of each kernel, system and point the smallest scope that can run.


pytestmark = pytest.mark.parts
NAMES = ["gemm", "hbm_read", "softmax", "all_reduce"]


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
        sharded = case.key.division == "sharded"
        marked = (case.key.kernel, root, sharded, *case.key.point.items())
        ranks[marked].append((case.key.scope.rank, case.explain))
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
