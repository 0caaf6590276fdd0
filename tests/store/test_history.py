"""A case's values over stored runs, its steps, and the page that tells of them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest
from command import typed
from run_history import case_id, measurement, run
from stored_run import text_of

from trnbench import Grade, Measurement, Status
from trnbench.errors import StoreError, UnknownName
from trnbench.results import history
from trnbench.results.measurement import GOOD
from trnbench.store.history import histories
from trnbench.store.store import Store


def save(store: Store, values: list[float | None], **changes: object) -> None:
    store.save(*[run(day, [measurement(value)], **changes) for day, value in enumerate(values)])


def test_a_step_names_the_first_run_after_it_and_what_differs(store: Store) -> None:
    level = [1.0, 1.01, 0.99, 1.0, 1.01, 0.99]
    store.save(*[run(day, [measurement(value)]) for day, value in enumerate(level)])
    store.save(
        *[
            run(day, [measurement(1.2 * value)], tool_version="0.2.0", environment={"package_numpy": "3"})
            for day, value in enumerate(level, start=6)
        ]
    )
    (found,) = histories(store)
    assert (found.case, found.unit, found.evidence, found.backend) == (case_id(), "s", Grade.MEASURED, "host")
    assert found.machine == "Wombat 7, 8 CPUs, 64 GiB"
    assert [point.run for point in found.points] == [f"day-{day:04}" for day in range(12)]
    (step,) = found.steps
    assert (step.last.run, step.first.run, step.worse) == ("day-0005", "day-0006", True)
    assert (step.last.commit, step.first.commit) == (f"{5:040x}", f"{6:040x}")
    assert step.change == pytest.approx(0.2)
    assert step.differs == ("trnbench 0.1.0 → 0.2.0", "package_numpy 2.4.0 → 3")


def test_grades_backends_and_machines_are_series_of_their_own(store: Store) -> None:
    store.save(
        run(0, [measurement(1.0)]),
        run(1, [measurement(1.0)], environment={"cpu_model": "Numbat 9"}),
        run(2, [measurement(1.0)], backend="torch"),
        run(3, [measurement(2.0, grade=Grade.EMULATED)]),
        run(4, [measurement(2.5, grade=Grade.EMULATED)], environment={"cpu_model": "Numbat 9"}),
    )
    found = {(each.evidence, each.backend, each.machine): each for each in histories(store)}
    assert set(found) == {
        (Grade.MEASURED, "host", "Wombat 7, 8 CPUs, 64 GiB"),
        (Grade.MEASURED, "host", "Numbat 9, 8 CPUs, 64 GiB"),
        (Grade.MEASURED, "torch", "Wombat 7, 8 CPUs, 64 GiB"),
        (Grade.EMULATED, "emulated", ""),
    }
    emulated = found[Grade.EMULATED, "emulated", ""]
    assert [(step.first.run, step.last.run, str(step.verdict)) for step in emulated.steps] == [
        ("day-0003", "day-0002", "evidence changed"),
        ("day-0004", "day-0003", "slower"),
    ]
    assert emulated.steps[1].differs == ()  # the machine has no say in an emulated value


def test_what_failed_is_shown_and_moves_no_level(store: Store) -> None:
    store.save(*[run(day, [measurement(1.0)]) for day in (0, 1, 2)])
    store.save(run(3, [measurement(None)]), run(4, [measurement(9.0, status=Status.SUSPECT)]))
    store.save(*[run(day, [measurement(1.0)]) for day in (5, 6, 7)])
    (found,) = histories(store)
    assert [str(point.status) for point in found.points] == ["ok"] * 3 + ["failed", "suspect"] + ["ok"] * 3
    assert [(step.first.run, str(step.verdict), step.worse) for step in found.steps] == [
        ("day-0003", "broken", True),
        ("day-0005", "mended", False),
    ]
    assert {step.change for step in found.steps} == {None}
    assert found.latest == 1.0


def test_a_case_is_new_and_lost_beside_runs_that_have_cases_in_common(store: Store) -> None:
    def of(*numbers: int) -> list[Measurement]:
        return [measurement(1.0, number=number) for number in numbers]

    store.save(run(0, of(7)), run(1, of(0)), run(2, of(0, 1)), run(3, of(8)), run(4, of(0)))
    named = {
        each.case: [(step.first.run, str(step.verdict)) for step in each.steps] for each in histories(store)
    }
    # Day 3 is of something else; day 0 has nothing in common with day 1.
    assert named == {case_id(0): [], case_id(1): [("day-0002", "new"), ("day-0004", "lost")]}


def test_a_run_that_was_asked_for_less_loses_nothing(store: Store) -> None:
    asked = [((0, 1), ()), ((0,), ("load",)), ((0, 1), ()), ((0,), ())]
    for day, (numbers, kernels) in enumerate(asked):
        settings = {"selection": {"kernels": kernels, "keyword": ""}}
        store.save(run(day, [measurement(1.0, number=number) for number in numbers], settings=settings))
    steps = {
        each.case: [(step.first.run, str(step.verdict)) for step in each.steps] for each in histories(store)
    }
    assert steps == {case_id(0): [], case_id(1): [("day-0003", "lost")]}


def test_a_case_that_misses_runs_between_is_lost_and_new_again(store: Store) -> None:
    def of(*numbers: int) -> list[Measurement]:
        return [measurement(1.0, number=number) for number in numbers]

    away = {"cpu_model": "Numbat 9"}
    skipped = msgspec.structs.replace(measurement(None, number=1), status=Status.SKIPPED)
    store.save(
        run(0, of(0, 1)),
        run(1, of(0), interrupted=True),  # cut short: it lost nothing
        run(2, of(0), environment=away),  # another machine has series of its own
        run(3, of(0)),
        run(4, of(0)),
        run(5, of(0, 1)),
        run(6, [*of(0), skipped]),
        run(7, [*of(0), measurement(None, number=1)]),
        run(8, of(0, 1)),
    )
    lost = next(each for each in histories(store) if each.case == case_id(1))
    assert [(step.last.run, step.first.run, str(step.verdict), step.worse) for step in lost.steps] == [
        ("day-0000", "day-0003", "lost", True),
        ("day-0003", "day-0005", "new", False),
        ("day-0005", "day-0006", "lost", True),
        ("day-0006", "day-0007", "new", False),
        ("day-0007", "day-0008", "mended", False),
    ]


def test_a_case_that_is_back_at_another_level_has_its_step(store: Store) -> None:
    def of(*values: float) -> list[Measurement]:
        return [measurement(value, number=at, grade=Grade.EMULATED) for at, value in enumerate(values)]

    store.save(run(0, of(1.0, 1.0)), run(1, of(1.0)), run(2, of(1.0, 2.0)))
    lost = next(each for each in histories(store) if each.case == case_id(1))
    assert [(step.first.run, str(step.verdict), step.change) for step in lost.steps] == [
        ("day-0001", "lost", None),
        ("day-0002", "slower", 1.0),
    ]


def test_runs_come_in_the_order_of_time_however_they_were_stored(store: Store) -> None:
    store.save(run(5, [measurement(1.0)]), run(2, [measurement(1.0)]))
    (found,) = histories(store)
    assert [point.run for point in found.points] == ["day-0002", "day-0005"]


def test_cases_are_named_by_id_by_kernel_and_by_glob(store: Store) -> None:
    store.save(run(0, [measurement(1.0, number=number) for number in range(3)]))
    for asked, numbers in (
        ((), (0, 1, 2)),
        (("load",), (0, 1, 2)),
        ((case_id(1),), (1,)),
        (("load[size=2]@core",), (2,)),
        (("*size=1*", "*size=[12]*"), None),
        (("box::*size=0*", case_id(0)), (0,)),
    ):
        if numbers is None:
            with pytest.raises(UnknownName, match="unknown case"):
                histories(store, asked)
            continue
        assert [each.case for each in histories(store, asked)] == [case_id(number) for number in numbers]
    assert text_of(UnknownName, histories, store, ["lod"]) == (
        "unknown case 'lod'\n  cause: did you mean load?\n  try:   trnbench runs show latest"
    )


def test_tags_and_the_newest_runs_narrow_it_down(store: Store) -> None:
    save(store, [1.0, 2.0, 3.0])
    store.tag("day-0000", ["main"])
    store.tag("day-0002", ["main"])
    (found,) = histories(store, tags=["main"])
    assert [point.run for point in found.points] == ["day-0000", "day-0002"]
    (found,) = histories(store, last=2)
    assert [point.run for point in found.points] == ["day-0001", "day-0002"]
    assert histories(store, tags=["none"]) == ()


def test_no_store_is_said(store: Store) -> None:
    assert text_of(StoreError, histories, store).startswith("there are no stored runs yet: ")


def test_a_damaged_environment_costs_what_it_tells(store: Store) -> None:
    save(store, [1.0])
    with store.writing() as connection:
        connection.execute("UPDATE environments SET content = 'x'")
    (found,) = histories(store)
    assert (found.points[0].commit, found.machine) == ("", "unknown processor")


def test_half_a_character_names_nothing(store: Store) -> None:
    save(store, [1.0])
    with pytest.raises(UnknownName, match="unknown case"):
        histories(store, ["load\udc80"])
    assert histories(store, tags=["\udcff"]) == ()


def test_cases_of_a_kernel_come_by_their_numbers(store: Store) -> None:
    sizes = (1024, 128, 16384, 256)
    store.save(run(0, [measurement(1.0, number=size) for size in sizes]))
    found = [each.case for each in histories(store, ["load"])]
    assert found == [case_id(size) for size in sorted(sizes)]


# docs/history.md says what the code does, and its commands and its Python run as they stand.


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "history.md").read_text()


@pytest.mark.parts
def test_the_commands_and_the_python_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))
    (block,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(commands) == 7
    for dollar, program, *words in commands:
        assert (dollar, program) == ("$", "trnbench")
        done = typed(*words)
        assert done.exit_code == 0, done.stderr
    assert (tmp_path / "history.html").exists()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/history.md", "exec"), {})
    assert re.match(r"trn2-16\.48xlarge::gemm\[\S+ \d", capsys.readouterr().out)


def test_numbers_on_the_page_are_those_of_the_code(page: str) -> None:
    text = " ".join(page.split())
    assert f"a penalty of {history._PENALTY:g}·ln(n)·σ² for each step, n at least {history._SHORT}" in text
    assert f"at least {history.SMALLEST * 100:g} %" in text
    assert f"further than {history._FAR:g}σ from the median of the five" in text
    assert (history._AROUND, history.LEAST) == (5, 3)
    assert all(f"`{status}`" in text for status in GOOD)
