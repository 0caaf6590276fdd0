"""`trnbench gate` and `trnbench gate accept`: what they read, write and end with."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result
from command import refusal, typed
from stored_run import make_run

import trnbench
from trnbench.results.digest import content_digest
from trnbench.store.store import Store

pytestmark = pytest.mark.parts


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def real() -> trnbench.Run:
    return trnbench.bench(
        ["hbm_copy"], instances=["trn1.2xlarge"], axes=["size=1M"], dtypes=[], scopes=["core"]
    )


@pytest.fixture
def stored(real: trnbench.Run) -> None:
    """A run, and one whose only case takes 10 % longer."""
    document = json.loads(trnbench.dumps(real))
    document["id"] = "slower"
    document["measurements"][0]["time_s"] *= 1.1
    document["digest"] = content_digest(document)
    with Store(None) as store:
        store.save(real, tags=["good"])
        store.save(trnbench.loads(json.dumps(document)))


def invoke(*arguments: str) -> Result:
    return typed("gate", *arguments)


@pytest.mark.usefixtures("stored")
def test_a_run_against_a_tag() -> None:
    done = invoke("--against", "good")
    assert done.exit_code == 1
    head, _, row = done.stdout.splitlines()
    assert head.split() == ["case", "outcome", "change", "rule", "what"]
    assert row.startswith("trn1.2xlarge::hbm_copy")
    assert row.endswith("  failed   slower  usual  time +10.0 % (exact), rule usual allows 0 %")
    assert all(line.endswith(", 1 case") for line in done.stderr.splitlines()[:2])
    assert done.stderr.splitlines()[2:] == [
        "likeliest causes:",
        "  sources, costs, the facts that it reads and the model's version are the same: its code differs, "
        "or a package that it uses: 1 case",
        "gate failed: 1 failed",
    ]


@pytest.mark.usefixtures("stored")
def test_a_run_against_itself() -> None:
    done = invoke("slower", "--against", "slower", "--strict")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == "gate passed: 1 passed"


@pytest.mark.usefixtures("stored")
def test_a_run_against_its_own_tag(real: trnbench.Run) -> None:
    with Store(None) as store:
        store.tag("slower", ["good"])
        slower = store.load("slower")
    assert "good and latest name the same run, slower\n" in refusal(done := invoke("--against", "good"))
    assert done.stderr.endswith(f"  try:   --against {real.id}\n")
    for run in ("latest", slower):
        with pytest.raises(trnbench.UsageError, match="name the same run"):
            trnbench.gate(run, "good")
    with pytest.raises(trnbench.UsageError, match="name the same run"):
        trnbench.compare_runs("good", "latest")


@pytest.mark.usefixtures("stored")
def test_accept_then_gate(real: trnbench.Run) -> None:
    assert invoke("accept", "good", "--why", "first figures", "--author", "the team").stdout == (
        "trnbench-baseline.json\n"
    )
    assert invoke().exit_code == 1
    done = invoke("accept", "--why", "slower, and known")
    assert (done.exit_code, done.stderr) == (0, "")
    done = invoke()
    assert done.exit_code == 0
    assert "warning: ./trnbench-baseline.json holds this very run, slower: " in done.stderr
    kept = json.loads(Path("trnbench-baseline.json").read_text())
    assert [(each["run"], each["why"], each["by"]) for each in kept["accepted"]] == [
        (real.id, "first figures", "the team"),
        ("slower", "slower, and known", ""),
    ]


def test_who_accepts_what_failed_is_warned() -> None:
    with Store(None) as store:
        store.save(make_run())
    done = invoke("accept", "--why", "known", "-o", "base.json")
    assert (done.exit_code, done.stdout, done.stderr) == (
        0,
        "base.json\n",
        "warning: 2 of its cases failed or are suspect: the gate will not call them new\n",
    )
    quiet = typed("-q", "gate", "accept", "--why", "known", "-o", "base.json")
    assert (quiet.exit_code, quiet.stderr) == (0, "")


@pytest.mark.usefixtures("stored")
def test_rules_and_formats() -> None:
    Path("gate.toml").write_text('[[rule]]\nname = "copies"\nkernel = "hbm_*"\ntolerance = "20%"\n')
    told = json.loads(invoke("--against", "good", "--rules", "gate.toml", "--format", "json").stdout)
    assert told["passed"] is True
    assert [each["rule"] for each in told["findings"]] == ["copies"]
    assert told["run"]["id"] == "slower"
    assert (
        invoke("--against", "good", "--format", "csv")
        .stdout.splitlines()[1]
        .startswith("failed,slower,slower,usual,trn1.2xlarge::hbm_copy")
    )
    assert "likeliest cause" in invoke("--against", "good", "--format", "md").stdout.splitlines()[0]


@pytest.mark.usefixtures("stored")
def test_what_ci_servers_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    Path("step.md").write_text("before\n")
    done = invoke("--against", "good", "--junit", "gate.xml")
    assert ElementTree.parse("gate.xml").getroot().attrib["failures"] == "1"
    assert Path("step.md").read_text().startswith("before\n## trnbench gate: failed\n")
    (line,) = (each for each in done.stderr.splitlines() if each.startswith("::"))
    assert line.startswith("::error title=trnbench gate%3A trn1.2xlarge%3A%3Ahbm_copy")
    assert "::" not in invoke("--against", "good", "--no-annotate").stderr


@pytest.mark.usefixtures("stored")
def test_a_summary_where_it_is_asked_for() -> None:
    invoke("--against", "good", "--summary", "here.md")
    assert Path("here.md").read_text().startswith("## trnbench gate: failed\n")


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("place", [".", "nowhere/step.md", "/proc/version", "/dev/full"])
def test_a_summary_that_cannot_be_written_follows_the_verdict(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", place)
    done = invoke("--against", "good")
    assert (done.exit_code, len(done.stdout.splitlines())) == (2, 3)
    verdict, _, refused = done.stderr.partition(f"error: cannot write {Path(place)}: ")
    assert verdict.endswith("gate failed: 1 failed\n")
    assert "GITHUB_STEP_SUMMARY" in refused


def test_from_python(real: trnbench.Run, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(trnbench.dumps(real))
    assert trnbench.gate(real, tmp_path / "run.json", rules=[trnbench.Rule(name="all")]).passed
    (tmp_path / "gate.toml").write_text("[[rule]]\n")
    assert trnbench.gate(real, str(tmp_path / "run.json"), rules=tmp_path / "gate.toml", strict=True).passed
