"""`trnbench plan` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from trnbench.cli.main import cli
from trnbench_steps.commands.declarations import plan as command
from trnbench_steps.plan import search

SMALL = ("pythia-70m", "--task", "decode", "--batches", "1,4", "--kv", "512")
ON = ("-i", "trn1.2xlarge")
PRICES = """instance,region,kind,dollars per hour,date
trn1.2xlarge,us-east-1,on demand,1.34,2026-01-01
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["-q", "plan", *args])


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from datetime import date

    monkeypatch.setattr(search, "today", lambda: date(2026, 11, 22))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.csv").write_text(PRICES)


def test_options_refusals_prices_and_the_front() -> None:
    assert command.name == "plan"
    result = run(*SMALL, *ON, "--prices", "prices.csv")
    assert result.exit_code == 0, result.output
    first, *_ = result.stdout.splitlines()
    assert first == "By dollars"
    assert "dollars/M tokens" in result.stdout
    assert "Decided by: " in result.stdout
    assert (
        "Price: trn1.2xlarge, us-east-1, on demand, 1.34 dollars an hour on 2026-01-01, 325 days old: look "
        "whether it still holds." in " ".join(result.stdout.split())
    )
    assert "●" in result.stdout
    assert "On the front: trn1.2xlarge" in result.stdout


def test_all_of_it_for_programs() -> None:
    found = json.loads(run(*SMALL, *ON, "--format", "json").stdout)
    assert (found["model"], found["task"], found["by"]) == ("pythia-70m", "decode", "throughput")
    assert len(found["options"]) == 4
    one = found["options"][0]
    assert one["low_s"] < one["time_s"]
    assert one["dollars"] is None
    assert found["decided_by"]["name"]
    assert found["front"]
    csv = run(*SMALL, *ON, "--format", "csv").stdout.splitlines()
    assert csv[0].startswith("system,layout,batch")
    assert len(csv) == 5


def test_the_front_is_drawn(tmp_path: Path) -> None:
    result = run(*SMALL, *ON, "--prices", "prices.csv", "--chart", "plan.svg")
    assert result.exit_code == 0, result.output
    drawing = (tmp_path / "plan.svg").read_text()
    root = ElementTree.fromstring(drawing)
    assert root.tag.endswith("svg")
    assert not {each.tag.rpartition("}")[2] for each in root.iter()} & {"script", "image", "foreignObject"}
    told = " ".join("".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))
    assert "Plan of pythia-70m, decode" in told
    assert "dollars of a million tokens" in told
    assert "time of a token" in told
    assert "1 trn1.2xlarge (dp 2, batch" in " ".join(told.split())
    assert "prefers-color-scheme:dark" in drawing
    # An earlier one is ours to replace, another file is not.
    assert run(*SMALL, *ON, "--chart", "plan.svg").exit_code == 0
    assert "device seconds of a token" in (tmp_path / "plan.svg").read_text()
    (tmp_path / "plan.svg").write_text("<svg>mine</svg>")
    refused = run(*SMALL, *ON, "--chart", "plan.svg")
    assert refused.exit_code == 2
    assert refused.output == (
        "error: plan.svg exists and is no file of trnbench\n"
        "  cause: it is not overwritten, in case it is needed\n"
        "  try:   --force  overwrites it; or name another file with --chart\n"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "plan.png",
            "error: plan.png does not look like a drawing\n"
            "  cause: --chart writes SVG, whatever the name, and this one ends in .png\n"
            "  try:   --chart plan.svg\n",
        ),
        (
            "no/plan.svg",
            "error: cannot write no/plan.svg: the folder no does not exist\n"
            "  cause: --chart names a folder that is missing or misspelt\n"
            "  try:   mkdir -p no\n",
        ),
    ],
)
def test_where_no_drawing_can_go(name: str, text: str) -> None:
    result = run(*SMALL, *ON, "--chart", name)
    assert (result.exit_code, result.output) == (2, text)


def test_without_the_reports_nobody_draws() -> None:
    result = CliRunner().invoke(cli, ["--no-plugin", "reports", "plan", *SMALL, *ON, "--chart", "plan.svg"])
    assert result.exit_code == 2
    assert "error: no plugin here writes the page of trnbench plan\n" in result.output


def test_without_evidence_nothing_comes_first() -> None:
    small = ("pythia-70m", "--task", "train", "--tokens", "1B", "--batches", "64", "--sequence", "256")
    refused = run(*small, "-i", "trn3-gen1-ultraserver")
    assert refused.exit_code == 5
    assert "Without evidence, not ranked" in refused.stdout
    assert refused.output.endswith(
        "error: nothing is published of this task for pythia-70m on these systems\n"
        "  cause: all feasible options are without a band, so none is put first\n"
        "  try:   --allow-no-evidence, or another -i\n"
    )
    allowed = run(*small, "-i", "trn3-gen1-ultraserver", "--allow-no-evidence")
    assert allowed.exit_code == 0
    assert "no band" in allowed.stdout


def test_a_plan_that_nothing_fits_into_says_which_limit() -> None:
    result = run(*SMALL, *ON, "--tpot", "1us")
    assert result.exit_code == 5
    assert "error: no layout of pythia-70m is feasible\n  cause: all were refused" in result.stderr
