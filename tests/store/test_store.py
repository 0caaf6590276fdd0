"""What is kept comes out as it went in, whatever it holds."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trnbench import Run
from trnbench.store.store import Store


def test_a_run_comes_out_as_it_went_in(store: Store, run: Run) -> None:
    store.save(run, tags=["nightly"])
    assert store.load(run.id) == run
    with Store(store.path) as again:
        assert again.load() == run


def test_order_of_everything_is_kept(store: Store, run: Run) -> None:
    shuffled = msgspec.structs.replace(
        run, measurements=run.measurements[::-1], books={"z": run.books["tiny"], "a": run.books["tiny"]}
    )
    store.save(shuffled)
    loaded = store.load()
    assert loaded == shuffled
    assert list(loaded.books) == ["z", "a"]


def test_it_opens_without_the_plugin_that_made_it(store: Store, run: Run) -> None:
    store.save(run)
    script = textwrap.dedent(
        f"""
        import sys
        from trnbench.store.store import Store
        run = Store({str(store.path)!r}).load()
        assert "tiny_machine" not in sys.modules
        assert "pluggy" not in sys.modules
        print(run.books["tiny"].sources["tiny-page"].document, len(run.measurements))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("The Tiny Machine 5\n", "")


def test_facts_shared_by_runs_are_kept_once(store: Store, run: Run) -> None:
    def documents() -> int:
        with closing(sqlite3.connect(store.path)) as connection:
            return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    store.save(run)
    once = documents()
    store.save(msgspec.structs.replace(run, id="second"))
    assert documents() == once
    store.delete([run.id])
    assert documents() == once
    assert store.load("second").books == run.books
    store.delete(["second"])
    assert documents() == 0


def test_deleting_gives_the_space_back(store: Store, run: Run) -> None:
    many = msgspec.structs.replace(run, measurements=run.measurements * 100)
    for name in ("a", "b", "c"):
        store.save(msgspec.structs.replace(many, id=name))
    store.close()
    full = store.path.stat().st_size
    store.delete(["a", "b", "c"])
    store.close()
    assert store.path.stat().st_size < full / 4
    assert [path.name for path in store.path.parent.iterdir()] == [store.path.name]


def test_columns_can_be_queried_by_other_tools(store: Store, run: Run) -> None:
    store.save(run)
    with closing(sqlite3.connect(store.path)) as connection:
        rows = connection.execute(
            "SELECT case_id, kernel, dtype, status, reason, grade, metric, unit, round(fraction, 3)"
            " FROM measurements WHERE status IN ('suspect', 'failed') ORDER BY position"
        ).fetchall()
    assert rows == [
        ("tiny.2::act[dtype=bf16,mode=above]@core", "act", "bf16", "suspect", "", "emulated",
         "flops_per_s", "FLOP/s", 2.105),
        ("tiny.2::act[dtype=bf16,mode=crash]@core", "act", "bf16", "failed", "crash", "emulated",
         "flops_per_s", "", None),
    ]  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=("Cs",))), min_size=4, max_size=4))
def test_hostile_strings_are_only_strings(tmp_path: Path, run: Run, texts: list[str]) -> None:
    one, two, three, four = (f"'); DROP TABLE runs; --\x00{text}" for text in texts)
    first = run.measurements[0]
    hostile = msgspec.structs.replace(
        run,
        id=f"{run.id}{one}",
        backend=two,
        notes=tuple(texts),
        measurements=(
            msgspec.structs.replace(
                first, reason_text=three, case=msgspec.structs.replace(first.case, kernel=four)
            ),
        ),
    )
    path = tmp_path / "hostile.db"
    path.unlink(missing_ok=True)
    with Store(path) as store:
        store.save(hostile)
        assert store.load(hostile.id) == hostile
        assert store.list()[0].backend == two
        store.delete([hostile.id])
        assert store.list() == ()
