"""A run with fewer of its cases: what is kept for certain, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from synthetic_run import make_run, with_verdicts

from trnbench import Run, Status
from trnbench.results.run import CaseMark, chosen, noted
from trnbench.store.store import Store


@pytest.fixture(scope="module")
def run() -> Run:
    return with_verdicts(make_run(sizes=6, extra_kernels=0))


@pytest.fixture(scope="module")
def store(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("sample") / "results.db") as made:
        made.save(run)
        yield made


def test_as_many_as_asked_for_in_their_order(run: Run, store: Store) -> None:
    made = store.load("latest", sample=400)
    assert len(made.measurements) == 400
    place = {each.id: at for at, each in enumerate(run.measurements)}
    places = [place[each.id] for each in made.measurements]
    assert places == sorted(places)
    assert made == store.load("latest", sample=400)
    assert made.digest == ""


def test_what_went_wrong_and_the_best_of_each_sweep_are_kept(run: Run, store: Store) -> None:
    made = store.load("latest", sample=1)
    kept = {each.id for each in made.measurements}
    assert {each.id for each in run.measurements if each.status in (Status.SUSPECT, Status.FAILED)} <= kept
    sweeps: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for each in run.measurements:
        if each.judgement is not None:
            key = (each.case.kernel, each.case.dtype, each.case.scope, each.case.instance)
            sweeps.setdefault(key, []).append((each.judgement.fraction, each.id))
    for found in sweeps.values():
        best = max(fraction for fraction, _ in found)
        assert any(fraction == best and id in kept for fraction, id in found)


def test_of_the_rest_every_nth_is_kept_and_the_kernels_that_lost_most_are_named(run: Run) -> None:
    kernels = [each.case.kernel for each in run.measurements[:1]] + [f"k{number}" for number in range(6)]
    marks = [
        CaseMark(kernel, "", "core", "a", "ok", None if at == 2 else 0.1 * (at % 3))
        for number, kernel in enumerate(kernels)
        for at in range(2 + number)
    ]
    marks[5] = marks[5]._replace(status="suspect")
    assert (chosen(marks, 35), chosen(marks, 34)) == (list(range(35)), list(range(34)))
    places = chosen(marks, 14)
    # The best of each kernel, what is suspect, and six of the other 27.
    assert places == sorted((1, 3, 6, 10, 19, 25, 32, 5, 0, 8, 14, 18, 24, 29))
    note = noted(msgspec.structs.replace(run, measurements=run.measurements[:1]), marks).notes[-1]
    assert note == (
        "A sample: 1 of 35 cases. All that failed, are suspect or inconclusive are here. So is the one "
        "nearest to its peak of each kernel, data type, scope and system, and of the rest every n-th. "
        "Left out: k5 8, k4 7, k3 6, k2 5, k1 4 and 2 more."
    )


def test_the_note_says_what_was_left_out(run: Run, store: Store) -> None:
    made = store.load("latest", sample=400)
    total, kept = len(run.measurements), len(made.measurements)
    assert made.notes[-1].startswith(f"A sample: {kept} of {total:,} cases. ")
    gemm = sum(each.case.kernel == "gemm" for each in run.measurements)
    gemm -= sum(each.case.kernel == "gemm" for each in made.measurements)
    assert f"gemm {gemm:,}" in made.notes[-1]


def test_a_run_that_is_small_enough_stays_as_it_is(run: Run, store: Store) -> None:
    whole = store.load("latest", sample=len(run.measurements))
    assert whole == store.load("latest")
    assert not any(note.startswith("A sample") for note in whole.notes)


def test_the_command_says_what_was_left_out(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from trnbench.cli.main import cli

    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as ended:
        cli.main(["--store", str(store.path), "report", "--sample", "400", "-o", str(page)])
    assert ended.value.code == 0
    (note,) = [each for each in store.load("latest", sample=400).notes if each.startswith("A sample")]
    said = capsys.readouterr()
    assert note in said.err
    assert said.out == f"{page}\n"
    assert "A sample: 400 of " in page.read_text()
