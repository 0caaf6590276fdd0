"""Public kernels under other assumptions about the compiler: told, never kept as the shipped model's."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from altered_answers import altered
from click.testing import CliRunner, Result

from trnbench.cli.main import cli
from trnbench.errors import BadInput
from trnbench.registry import load_registry
from trnbench_fidelity.sources import SECTION, Sources, as_json, kept, markdown, section_of

SHIPPED = Sources(day="2026-11-21", by="trnbench", version="1", checkouts=(), points=())


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["-q", "validate", *args])


def test_what_was_made_under_other_assumptions_is_never_kept(tmp_path: Path) -> None:
    under = msgspec.structs.replace(SHIPPED, assumptions="no-hoisting")
    assert " on 2026-11-21 under the assumptions no-hoisting; only numbers" in markdown(under)
    assert '"assumptions": "no-hoisting"' in as_json(under)
    assert "assumptions" not in as_json(SHIPPED)
    registry = load_registry()
    altered(registry, "trn1", tmp_path, {SECTION: section_of(under)})
    with pytest.raises(BadInput) as caught:
        kept(registry, ("trn1",))
    assert caught.value.what == "public kernels of trn1 were run under the assumptions no-hoisting"
    assert caught.value.cause == "what is kept beside a generation is of the shipped model"
    assert caught.value.try_ == "run the public kernels again without --assume: docs/fidelity.md"


def test_they_are_about_public_kernels_alone(tmp_path: Path) -> None:
    alone = run("--assume", "no-hoisting")
    assert alone.exit_code == 2
    assert "--assume goes with --kernels PATH" in alone.stderr
    assert run("--assume", "no-hosting", "--kernels", str(tmp_path)).exit_code == 2
    assert run("--assume", "no-hoisting", "same").exit_code == 2


def test_every_output_says_so(tmp_path: Path) -> None:
    said = "ublic kernels under the assumptions no-hoisting"
    sources = ("--sources", "--kernels", str(tmp_path), "--generation", "trn3", "--assume", "no-hoisting")
    shown = run(*sources)
    assert shown.exit_code == 0, shown.stderr
    assert f"p{said}" in shown.stderr
    assert json.loads(run(*sources, "--format", "json").stdout)["assumptions"] == "no-hoisting"
    whole = ("--family", "hbm", "--kernels", str(tmp_path), "--assume", "no-hoisting")
    assert json.loads(run(*whole, "--format", "json").stdout)[0]["notes"] == [f"p{said}"]
    assert f"P{said}." in run(*whole, "--format", "md").stdout
