"""`trnbench plan` as a person meets it."""

from __future__ import annotations

import json
import re
import shlex
from datetime import date
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from command import listed, refusal, typed

from trnbench_steps.commands.declarations import plan as command
from trnbench_steps.plan import search

SMALL = ("pythia-70m", "--batches", "2,8", "--kv", "512")
ON = ("-i", "trn1.2xlarge")
DEMAND = ("--requests-per-s", "400", "--prompt", "256", "--output-tokens", "100", "--tpot", "2ms")
TRAINING = ("--tokens", "1B", "--batches", "64", "--sequence", "512")
PRICES = """instance,region,kind,dollars per hour,date
trn1.2xlarge,us-east-1,on demand,1.34,2026-01-01
"""


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(search, "today", lambda: date(2026, 11, 22))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.csv").write_text(PRICES)


def plan(*words: str) -> Any:
    return listed("-q", "plan", *words)


def test_the_answer_comes_first() -> None:
    assert command.name == "plan"
    result = typed("-q", "plan", *SMALL, *ON, "--prices", "prices.csv")
    assert result.exit_code == 0, result.output
    answer, head, *_ = result.stdout.splitlines()
    assert answer.startswith("trn1.2xlarge (")
    assert answer.endswith(" per M tokens.")
    assert head.split()[:5] == ["#", "system", "layout", "batch", "a"]
    assert "\n1  trnbench workload run pythia-70m -i trn1.2xlarge --task decode " in result.stdout
    assert (
        "Price: trn1.2xlarge, us-east-1, on demand, 1.34 dollars an hour on 2026-01-01, 325 days old: look "
        "whether it still holds." in " ".join(result.stdout.split())
    )


def test_prices_of_other_systems_give_no_order(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(PRICES.replace("trn1.2xlarge", "trn1.3xlarge"))
    assert refusal(typed("-q", "plan", *SMALL, *ON, "--prices", "prices.csv")) == (
        "error: no price is of a system that is planned\n"
        "  cause: prices are of trn1.3xlarge; planned: trn1.2xlarge\n"
        "  try:   a row of trn1.2xlarge, or --by throughput\n"
    )
    result = typed("-q", "plan", *SMALL, *ON, "--prices", "prices.csv", "--by", "throughput")
    assert "No price is given for trn1.2xlarge." in result.stdout


def test_a_row_of_no_system_is_named(tmp_path: Path) -> None:
    other = "trn1.2xlrage,us-east-1,on demand,1.34,2026-01-01\n"
    (tmp_path / "prices.csv").write_text(PRICES + other)
    words = ("-q", "plan", *SMALL, *ON, "--prices", "prices.csv")
    said = " ".join(typed(*words).stdout.split())
    assert "No system has the name of these prices: trn1.2xlrage (line 3)." in said
    assert [row["line"] for row in plan(*words[2:])["unused_prices"]] == [3]


def test_a_demand_in_twelve_lines_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench.terminal.screen.columns_of", lambda _: 80)
    words = ("-q", "plan", "pythia-70m", *ON, *DEMAND, "--prices", "prices.csv")
    lines = typed(*words).stdout.splitlines()
    table = lines[: lines.index("")]
    assert len(table) <= 12
    assert max(map(len, table)) <= 80
    answer = " ".join(" ".join(table).split())
    assert " within 2 ms a token: " in answer
    assert " an hour, $" in answer
    assert "Assumed: requests come evenly, without bursts, and replicas work 70% of the time" in " ".join(
        " ".join(lines).split()
    )


def test_every_part_has_its_type() -> None:
    usual, small = plan(*SMALL, *ON), plan(*SMALL, *ON, "--type", "cache=fp8")
    assert small["options"][0]["used"] < usual["options"][0]["used"]
    assert all(row["command"].endswith(" --type cache=fp8") for row in small["options"])
    training = plan("pythia-70m", *ON, *TRAINING, "--type", "master=none")
    assert "--type master=none" in training["options"][0]["command"]
    wrong = refusal(typed("-q", "plan", *SMALL, *ON, "--type", "cache=nonsense"))
    assert wrong.startswith("error: unknown dtype 'nonsense'")
    assert wrong.endswith("try:   --type cache=bf16\n")


FACTS = """schema = 1
override = true
[sources.mine]
document = "My own notes"
[[group]]
subject = "neuroncore-v2"
scope = "core"
source = "mine"
locator = "page 1"
facts = [{ metric = "clock", qualifier = "tensor", printed = "0.7", unit = "GHz" }]
"""


def test_a_command_names_the_facts(tmp_path: Path) -> None:
    (tmp_path / "my facts.toml").write_text(FACTS)
    row = plan(*SMALL, *ON, "--facts", "my facts.toml")["options"][0]
    assert row["step_s"] > plan(*SMALL, *ON)["options"][0]["step_s"]
    assert row["command"].endswith(" --facts 'my facts.toml'")
    (step,) = listed("-q", "--store", str(tmp_path / "r.db"), *shlex.split(row["command"])[1:])["steps"]
    assert step["time_s"] == row["step_s"]


def test_each_limit_and_its_time_are_named() -> None:
    limits = ("--tpot", "100ms", "--ttft", "1s", "--prompt", "128")
    said = plan(*SMALL, *ON, *limits)["answer"]
    assert ", surely within 100 ms a token and 1 s to the first token: " in said
    assert re.search(r" a token \(.+\), \S+ .s to the first \(.+\), ", said), said


def test_all_of_it_for_programs() -> None:
    found = plan(*SMALL, *ON)
    assert (found["model"], found["task"], found["by"]) == ("pythia-70m", "decode", "throughput")
    one = found["options"][0]
    assert one["low_s"] < one["time_s"]
    assert (one["dollars"], one["instances"], one["within"]) == (None, 1, "surely")
    assert found["front"]
    assert found["answer"].startswith(f"trn1.2xlarge ({one['layout']}, batch {one['batch']})")
    csv = typed("-q", "plan", *SMALL, *ON, "--format", "csv").stdout.splitlines()
    assert csv[0].startswith("system,layout,batch")
    assert len(csv) == 1 + len(found["options"])


PLANS = (
    ("pythia-70m", *ON, "-i", "trn2.3xlarge", "--kv", "512", "--tpot", "3ms"),
    ("pythia-70m", *ON, *DEMAND),
    ("pythia-70m", "-i", "trn1.32xlarge", *TRAINING, "--type", "weights=bf16,fp32"),
    ("trinity-nano", "-i", "trn2.3xlarge", "--kv", "512"),
)


def test_rows_drawn_at_random_are_what_their_command_says(tmp_path: Path) -> None:
    rows = [row for words in PLANS for row in plan(*words, "--allow-no-evidence")["options"]]
    assert len(rows) > 20
    for row in Random(26).sample(rows, 20):
        program, *words = shlex.split(row["command"])
        assert program == "trnbench"
        (step,) = listed("-q", "--store", str(tmp_path / "r.db"), *words)["steps"]
        assert step["time_s"] == row["step_s"], row["command"]
        assert step["batch"] == row["batch"]


DEGREES = ("--tp", "--pp", "--cp", "--dp", "--lnc", "--chunks", "--micro-batch", "--zero", "--batch")


def _turned(words: list[str], cores: dict[str, int]) -> list[list[str]]:
    """Commands that differ from `words` in one thing; replicas take the cores that are left."""
    options = {flag: words[words.index(flag) + 1] for flag in DEGREES if flag in words}
    training = "train" in words
    alone = [each for each in ("--sequence-parallel",) if each in words]
    rest = [
        each
        for place, each in enumerate(words)
        if each not in (*DEGREES, *alone, "--recompute") and words[place - 1] not in (*DEGREES, "--recompute")
    ]
    recompute = words[words.index("--recompute") + 1] if "--recompute" in words else "none"

    def number(flag: str) -> int:
        return int(options.get(flag, "0" if flag in ("--lnc", "--zero") else "1"))

    def made(again: str = recompute, together: bool = bool(alone), **change: int) -> list[str]:
        degrees = {flag: number(flag) for flag in DEGREES}
        degrees |= {f"--{name.replace('_', '-')}": size for name, size in change.items()}
        width = degrees["--tp"] * degrees["--pp"] * degrees["--cp"]
        replicas = cores[str(degrees["--lnc"])] // width
        if not training and "batch" not in change:
            degrees["--batch"] = degrees["--batch"] * replicas // degrees["--dp"]
        degrees["--dp"] = replicas
        typed_ = [part for flag, size in degrees.items() if size for part in (flag, str(size))]
        typed_ += ["--recompute", again] if again != "none" else []
        return [*rest, *typed_, *(["--sequence-parallel"] if together and degrees["--tp"] > 1 else [])]

    found = []
    for flag in ("--tp", "--cp", "--pp", *(("--chunks", "--micro-batch") if training else ())):
        name = flag[2:].replace("-", "_")
        found += [made(**{name: size}) for size in {number(flag) * 2, number(flag) // 2} if size]
    found += [made(lnc=int(lnc)) for lnc in cores if int(lnc) != number("--lnc")]
    if training:
        found += [made(zero=1 - number("--zero")), made(together=not alone)]
        found += [made(again=each) for each in ("none", "selective", "full") if each != recompute]
    else:
        found += [made(batch=number("--batch") + step * number("--dp")) for step in (-1, 1)]
    return found


@pytest.mark.parametrize(
    ("words", "cores"),
    [
        (("llama-3.2-1b", "-i", "trn2.3xlarge", "--kv", "2048", "--tpot", "12ms"), {"0": 4, "1": 8}),
        (("pythia-70m", "-i", "trn1.32xlarge", *TRAINING), {"0": 32}),
    ],
)
def test_nothing_next_to_the_winner_is_better(
    words: tuple[str, ...], cores: dict[str, int], tmp_path: Path
) -> None:
    row = plan(*words)["options"][0]
    better: list[str] = []
    tried = 0
    for other in _turned(shlex.split(row["command"])[1:], cores):
        done = typed("-q", "--store", str(tmp_path / "r.db"), *other, "--format", "json")
        if done.exit_code:
            continue  # it divides wrongly, or does not fit
        tried += 1
        (step,) = json.loads(done.stdout)["steps"]
        if "--tpot" in words and step["time_s"] > 0.012:
            continue
        if step["time_s"] / step["batch"] < 0.98 * row["step_s"] / row["batch"]:
            better.append(shlex.join(other))
    assert tried > 3
    assert better == []


def test_the_front_is_drawn(tmp_path: Path) -> None:
    result = typed("-q", "plan", *SMALL, *ON, "--prices", "prices.csv", "--chart", "plan.svg")
    assert result.exit_code == 0, result.output
    drawing = (tmp_path / "plan.svg").read_text()
    root = ElementTree.fromstring(drawing)
    assert root.tag.endswith("svg")
    assert not {each.tag.rpartition("}")[2] for each in root.iter()} & {"script", "image", "foreignObject"}
    told = " ".join("".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))
    assert "Plan of pythia-70m, decode" in told
    assert "dollars of a million tokens" in told
    assert "time of a token" in told
    assert "1 trn1.2xlarge (" in " ".join(told.split())
    assert "prefers-color-scheme:dark" in drawing
    # An earlier one is ours to replace, another file is not.
    assert typed("-q", "plan", *SMALL, *ON, "--chart", "plan.svg").exit_code == 0
    assert "device seconds of a token" in (tmp_path / "plan.svg").read_text()
    (tmp_path / "plan.svg").write_text("<svg>mine</svg>")
    assert refusal(typed("-q", "plan", *SMALL, *ON, "--chart", "plan.svg")) == (
        "error: plan.svg exists and is no file of trnbench\n"
        "  cause: it is not overwritten, in case it is needed\n"
        "  try:   --force  overwrites it; or name another file with --chart\n"
    )


def test_without_evidence_nothing_comes_first() -> None:
    small = ("-q", "plan", "pythia-70m", *TRAINING, "-i", "trn3.3xlarge")
    refused = typed(*small)
    assert refused.exit_code == 5
    assert refused.stdout.startswith("No option has a band.\n")
    assert refused.output.endswith(
        "error: nothing is published of this task for pythia-70m on these systems\n"
        "  cause: all feasible options are without a band, so none is put first\n"
        "  try:   --allow-no-evidence, or another -i\n"
    )
    allowed = typed(*small, "--allow-no-evidence")
    assert allowed.exit_code == 0
    assert "no band" in allowed.stdout


def test_a_plan_that_nothing_fits_into_says_which_limit() -> None:
    result = typed("-q", "plan", *SMALL, *ON, "--tpot", "1us")
    assert result.exit_code == 5
    assert "a token, allowed are 1 µs" in result.stdout
    assert "error: no layout of pythia-70m is feasible\n  cause: all were refused" in result.stderr
    assert result.stderr.endswith("  try:   a longer --tpot, --type weights=fp8, or another -i\n")
    smallest = typed("-q", "plan", *SMALL, *ON, "--tpot", "1us", "--type", "weights=fp8")
    assert smallest.stderr.endswith("  try:   a longer --tpot, or another -i\n")
    untimed = typed("-q", "plan", *SMALL, "-i", "h100-sxm", "--tpot", "20ms")
    assert "cannot be timed" in untimed.stdout
    assert untimed.stderr.endswith("  try:   another -i\n")
