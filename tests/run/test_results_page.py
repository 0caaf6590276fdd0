"""docs/results.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import typed

from trnbench import Measurement, Reason, Run, Status
from trnbench.errors import PRECEDENCE, ExitCode
from trnbench.run.guard import TOLERANCE
from trnbench.run.pool import GRACE_S
from trnbench.run.snapshot import DRAWN_DEVICES
from trnbench.store.layout import APPLICATION_ID


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "results.md").read_text()


def test_every_field_is_explained(page: str) -> None:
    named = set(re.findall(r"`(\w+)`", page))
    for record in (Run, Measurement):
        assert set(record.__struct_fields__) - named == set(), record.__name__


def test_statuses_reasons_and_codes_are_all_there(page: str) -> None:
    for status in Status:
        assert f"| `{status}` |" in page
    for reason in Reason:
        assert not reason or f"`{reason}`" in page
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)]
    assert codes == [int(code) for code in ExitCode]
    assert f"the first of {', '.join(str(int(code)) for code in PRECEDENCE[:-1])}." in page


def test_numbers_on_the_page_are_those_of_the_code(page: str) -> None:
    assert f"by more than {TOLERANCE * 100:g} %" in page
    assert f"up to {DRAWN_DEVICES} devices" in page
    assert GRACE_S == 3.0
    assert "three seconds later" in " ".join(page.split())
    assert f"`application_id` is {APPLICATION_ID:#x}" in page


@pytest.mark.parts
def test_the_question_on_the_page_ends_in_one_table(page: str) -> None:
    (words,) = re.findall(r"```console\n\$ trnbench (run all_reduce .*)\n```", page)
    head, *rows, sentence = typed(*words.split()).stdout.splitlines()
    assert head.split() == ["system", "ranks", "µs", "expect", "GB/s", "share", "published", "ev"]
    assert [row.split()[0] for row in rows] == ["trn1.32xlarge", "trn2-16.48xlarge"]
    assert "the fastest cannot be told, the bands of" in sentence


@pytest.mark.parts
def test_the_python_on_the_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/results.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed
    assert all(
        re.fullmatch(r"trn2-16\.48xlarge::gemm\[.*dtype=bf16.*\]@[\w:]+ <?\d+\.\d %", line)
        for line in printed
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.db"]


def test_the_query_on_the_page_works(page: str, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    import msgspec
    import tiny_machine as tiny

    import trnbench

    (query,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    run = trnbench.bench(registry=tiny.registry("half", "low"))
    with trnbench.open_store(tmp_path / "r.db") as store:
        store.save(msgspec.structs.replace(run, id="20260101-120000-abcd"))
    with closing(sqlite3.connect(tmp_path / "r.db")) as connection:
        rows = connection.execute(query).fetchall()
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("tiny.2::act[dtype=bf16,mode=half]@core", "FLOP/s", 0.5)
    ]
