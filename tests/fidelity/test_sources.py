"""The table of public kernels: what is kept of a comparison, the docs' copy, the command that makes it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from altered_answers import altered, replaced
from click.testing import Result
from command import typed
from comparison import comparison

from renewal import inserted
from renewal.sections import public_section
from trnbench.errors import BadInput, FactError
from trnbench.registry.registry import Registry, load_registry
from trnbench.results.fidelity import Bounds, Comparison, Use
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_fidelity import tables
from trnbench_fidelity.commands.fidelity_tables import PUBLIC_BEGIN, PUBLIC_END, public_markdown, show
from trnbench_fidelity.point import Usable
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.snapshot import fidelity_of
from trnbench_fidelity.sources import (
    SECTION,
    Checkout,
    Row,
    Sources,
    as_json,
    checkouts,
    kept,
    public_rows,
    summaries,
)
from trnbench_fidelity.validate import validate

ROOT = Path(__file__).parents[2]


def point(id: str, e: float | None, **rest: Any) -> Comparison:
    rest = {"family": "kernel", **rest}
    return comparison(id, e, **({"use": Use.NOT_EMULATED} if e is None else {}), **rest)


MADE = Sources(
    day="2026-11-21",
    by="trnbench",
    version="1",
    checkouts=(Checkout(repository="a/b", commit="0123456789abcdef", day="2026-01-02", note="a copy"),),
    points=(
        point("one", 0.1),
        point("two", -0.4),
        point("three", None, how="more than fits (kernel.py:3)"),
        point("bound", 0.5, use=Use.BOUND),
    ),
)


def test_a_row_per_generation_and_where_the_kernels_are_from() -> None:
    assert public_markdown(MADE).splitlines()[2:] == [
        "Counts 3 of 4 published points (75 %): 2 measured and 1 bound. Not counted: 1 are "
        "refused by the model.",
        "",
        "| family | generation | kernels, points | median | p90 | p90 by rows | bias | fitted | "
        "cross-validated | shaped | untouched | bounds | worst | worst, raw |",
        f"| --- | --- |{' ---: |' * 12}",
        "| Public kernels | trn1 | 2, 2 | 28 % | – | – | −14 % | – | – | – | 2, 2: 28 % | broken 1 of 1, "
        "worst ×1.6 | 49 % (two) | – |",
        "",
        "<details><summary>Not run, and why</summary>",
        "",
        "- more than fits: three",
        "",
        "</details>",
        "",
        "Sources: a/b 0123456789ab (2026-01-02, a copy).",
    ]


def test_what_is_kept_is_of_published_points() -> None:
    registry = load_registry()
    found = kept(registry)
    assert found.checkouts
    known = {each.id: each for points in published_points(registry).values() for each in points}
    named = {id for id, each in known.items() if each.usable is Usable.SOURCE and each.value is not None}
    assert {each.id for each in found.points} == named
    for each in found.points:
        assert each.published == known[each.id].value
        assert (each.use is Use.NO_KERNEL) == bool(known[each.id].no_kernel)
        assert (each.emulated is not None) or each.how


def test_every_point_of_a_public_kernel_names_it_or_says_why_not() -> None:
    for points in published_points(load_registry()).values():
        for each in points:
            if each.usable is Usable.SOURCE and each.value is not None:
                assert (each.kernel is None) == bool(each.no_kernel), each.id


def test_checkouts_are_read_from_the_folder(tmp_path: Path) -> None:
    assert checkouts(tmp_path) == ()
    file = tmp_path / "sources.toml"
    file.write_text('[[source]]\nrepository = "a/b"\ncommit = "c"\nday = "2026-01-02"\n')
    assert checkouts(tmp_path) == (Checkout(repository="a/b", commit="c", day="2026-01-02"),)
    file.write_text('[[source]]\nrepository = "a/b"\n')
    with pytest.raises(FactError):
        checkouts(tmp_path)


def test_what_is_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        kept(altered(load_registry(), "trn3", tmp_path, {SECTION: []}))
    assert caught.value.what.startswith("the answers of trn3 have no public_kernels in them: ")
    assert caught.value.cause == "they were made by another version of trnbench"
    assert caught.value.try_ == "in a checkout of trnbench: .ci/renew answers"


def test_what_generations_keep_is_one_comparison() -> None:
    registry = load_registry()
    every, *apart = (kept(registry, names) for names in ((), ["trn1"], ["trn2"], ["trn3"]))
    assert every.points == tuple(row for one in apart if one is not None for row in one.points)
    assert every.checkouts == (apart[0] and apart[0].checkouts)
    assert kept(load_registry(), ["host"]) is None


def test_comparisons_of_two_models_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        kept(renewed(tmp_path, "0"))
    ours = f"trnbench schedule + flows {MODEL_VERSION}"
    assert (
        caught.value.what == f"public kernels of trn3 were run by trnbench schedule + flows 0, "
        f"another generation's by {ours}"
    )
    assert caught.value.cause == "only one of them was made anew"
    assert caught.value.try_ == "run the public kernels of all generations again: docs/fidelity.md"


def test_what_is_kept_comes_back() -> None:
    """A row keeps what the model said; the rest is as the points say."""
    rows = public_section(MADE)
    assert list(rows.points) == [each.id for each in MADE.points]
    assert rows.points["three"] == Row(use=Use.NOT_EMULATED, how="more than fits (kernel.py:3)")
    assert (rows.day, rows.by, rows.version, rows.checkouts) == (
        MADE.day,
        MADE.by,
        MADE.version,
        MADE.checkouts,
    )
    public = kept(load_registry(), ["trn3"])
    shipped = public_rows(load_registry().generations["trn3"])
    assert public_section(public) == shipped


def test_each_generation_has_its_points() -> None:
    other = msgspec.structs.replace(MADE.points[0], generation="trn2")
    mixed = msgspec.structs.replace(MADE, points=(*MADE.points, other))
    first, second = summaries(mixed)
    assert (first.row.errors.points, first.row.bounds) == (
        2,
        Bounds(count=1, broken=1, worst=0.5, worst_id="bound"),
    )
    assert first.row.uses == {"emulated": 2, "bound": 1, "not emulated": 1}
    assert (second.generation, second.row.errors.worst_id, second.version) == ("trn2", "one", "1")


def test_a_run_carries_what_public_kernels_gave() -> None:
    registry = load_registry()
    notes: list[str] = []
    found = fidelity_of(registry, "emulated", ["trn3"], notes, linked=False)
    assert notes == []
    public = kept(registry, ["trn3"])
    assert found.public == summaries(public)


def renewed(tmp_path: Path, version: str) -> Registry:
    """Installed plugins, trn3's public kernels as if run by another version of the model."""
    registry = load_registry()
    rows = public_rows(registry.generations["trn3"])
    return altered(registry, "trn3", tmp_path, {SECTION: msgspec.structs.replace(rows, version=version)})


def test_validate_says_when_public_kernels_were_run() -> None:
    result = typed("validate", "--generation", "trn3")
    (line,) = [each for each in result.stderr.splitlines() if each.startswith("public kernels: ")]
    assert re.fullmatch(
        r"public kernels: run on [-0-9]{10} by trnbench schedule \+ flows \d+, from sources that are not "
        "part of trnbench",
        line,
    )
    assert re.search(r"^Public kernels +trn3 +3, 36 ", result.stdout, re.MULTILINE)
    assert "ublic kernels" not in typed("validate", "--family", "hbm").output


def test_times_of_another_model_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = validate(renewed(tmp_path, "0"), generations=["trn3"])
    show(found, "table")
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"public kernels: run on {found.public[0].day} by trnbench schedule + flows 0, from sources that are "
        "not part of trnbench",
        f"warning: their times are of trnbench schedule + flows 0, the model is trnbench schedule + flows "
        f"{found.version}",
        "  try:   trnbench validate --kernels FOLDER: docs/fidelity.md",
    ]


def test_what_points_say_today_counts(tmp_path: Path) -> None:
    """Who votes and what was measured is not read from the answers."""
    registry = load_registry()
    points = registry.generations["trn2"].points_file
    other = tmp_path / "points.toml"
    other.write_text(points.read_text().replace('confidence = "high"', 'confidence = "low"'))
    before, now = kept(registry, ["trn2"]), kept(replaced(registry, "trn2", published=other), ["trn2"])
    assert [each.emulated for each in now.points] == [each.emulated for each in before.points]
    assert {each.confidence for each in before.points} - {each.confidence for each in now.points} == {"high"}


def test_the_command_prints_both_forms(tmp_path: Path) -> None:
    arguments = ("sources", "--kernels", str(tmp_path), "--generation", "trn3")
    found = json.loads(run(*arguments, "--format", "json").output)
    assert {each["use"] for each in found["points"]} == {"needs source", "no kernel"}
    shown = run(*arguments, "--format", "md").output
    assert "| Public kernels | trn3 | 0 | – |" in shown
    assert "- nki-library d2ad3a57, 2026-04-13, does not have this kernel: t3-topk-b1-before, " in shown
    table = run(*arguments).output
    assert "not run" in table
    assert re.search("t3-topk-b8-after +nki-library d2ad3a57, 2026-04-13, does not have this kernel", table)


def test_one_command_makes_answers_and_tables(tmp_path: Path) -> None:
    names = ("README.md", "docs/errors.md")
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    readme, page = (tmp_path / name for name in names)
    emptied = inserted(page.read_text(), "nothing\n", PUBLIC_BEGIN, PUBLIC_END)
    page.write_text(emptied.replace("| family | generation | kernels", "| gone |"))
    readme.write_text(inserted(readme.read_text(), "nothing\n", tables.TRUST_BEGIN, tables.TRUST_END))
    paths = [each.answers for each in load_registry().generations.values() if each.answers is not None]
    shipped = {path: path.read_text() for path in paths}
    try:
        subprocess.run([sys.executable, tmp_path / ".ci" / "renew", "answers"], check=True)
        renewed = {path: path.read_text() for path in paths}
    finally:
        for path, text in shipped.items():
            if path.read_text() != text:  # whoever runs the tests decides what is shipped
                path.write_text(text)
    for name in names:
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(), "run: .ci/renew answers"
    assert len(shipped) == 3
    assert [path for path in paths if renewed[path] != shipped[path]] == [], "run: .ci/renew answers"


def test_the_short_table_is_short() -> None:
    rows = (ROOT / "README.md").read_text().partition(tables.TRUST_BEGIN)[2].partition(tables.TRUST_END)[0]
    lines = [line for line in rows.splitlines() if line.startswith("| ")]
    titles = [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]]
    assert titles[-1] == "published points"
    assert {"One rank to another", "Collectives in a compiled graph"} <= set(titles)
    assert len(titles) <= 12


# Public kernels under other assumptions about the compiler: told, never kept as the shipped model's ---

SHIPPED = Sources(day="2026-11-21", by="trnbench", version="1", checkouts=(), points=())


def run(*args: str) -> Result:
    return typed("-q", "validate", *args)


def test_what_was_made_under_other_assumptions_is_never_kept(tmp_path: Path) -> None:
    under = msgspec.structs.replace(SHIPPED, assumptions="no-hoisting")
    assert " on 2026-11-21 under the assumptions no-hoisting; only numbers" in public_markdown(under)
    assert '"assumptions": "no-hoisting"' in as_json(under)
    assert "assumptions" not in as_json(SHIPPED)
    registry = load_registry()
    altered(registry, "trn1", tmp_path, {SECTION: public_section(under)})
    with pytest.raises(BadInput) as caught:
        kept(registry, ("trn1",))
    assert caught.value.what == "public kernels of trn1 were run under the assumptions no-hoisting"
    assert caught.value.cause == "what is kept beside a generation is of the shipped model"
    assert caught.value.try_ == "run the public kernels again without --assume: docs/fidelity.md"


def test_every_output_says_so(tmp_path: Path) -> None:
    said = "ublic kernels under the assumptions no-hoisting"
    sources = ("sources", "--kernels", str(tmp_path), "--generation", "trn3", "--assume", "no-hoisting")
    shown = run(*sources)
    assert shown.exit_code == 0, shown.stderr
    assert f"p{said}" in shown.stderr
    assert json.loads(run(*sources, "--format", "json").stdout)["assumptions"] == "no-hoisting"
    whole = ("--family", "hbm", "--kernels", str(tmp_path), "--assume", "no-hoisting")
    assert json.loads(run(*whole, "--format", "json").stdout)[0]["notes"] == [f"p{said}"]
    assert f"P{said}." in run(*whole, "--format", "md").stdout
