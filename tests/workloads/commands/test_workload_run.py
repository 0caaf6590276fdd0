"""`trnbench workload run`: steps as cases of a run, and what a wrong call says."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from command import listed, refusal, typed

from trnbench.store.store import Store

STEP = ("llama-3.2-1b", "--task", "decode", "--tp", "8", "--kv", "512")


def invoke(store: Path, *words: str) -> Result:
    return typed("--store", str(store), *words)


def told(store: Path, *words: str) -> Any:
    return listed("--store", str(store), "workload", "run", *words)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("steps") / "results.db"


@pytest.fixture(scope="module")
def run(store: Path) -> dict[str, Any]:
    """Two batches on two systems."""
    systems = ("-i", "trn1.32xlarge", "-i", "trn3-gen2-ultraserver")
    found: dict[str, Any] = told(store, *STEP, *systems, "-a", "batch=1,8", "--label", "a")
    return found


def test_each_system_and_point_is_a_case(run: dict[str, Any]) -> None:
    assert [each["case"] for each in run["steps"]] == [
        f"{system}::llama-3.2-1b-decode[batch={batch},kv=512,dtype=bf16,tp=8]@{scope}"
        for system, scope in (("trn1.32xlarge", "instance"), ("trn3-gen2-ultraserver", "ultraserver"))
        for batch in (1, 8)
    ]
    assert {each["status"] for each in run["steps"]} == {"ok"}
    assert run["exit_code"] == 0


def test_a_step_says_where_its_time_goes_and_what_it_means(run: dict[str, Any]) -> None:
    for each in run["steps"]:
        assert sum(each["parts"].values()) == pytest.approx(each["time_s"])
        assert each["tokens_per_s"] == pytest.approx(each["batch"] / each["time_s"])
        assert 0 < each["mfu"] < each["mbu"] < 1
        assert each["memory"]["device"] < each["memory"]["capacity"]
        assert [part for part, _ in each["if_fixed"]] == sorted(
            each["parts"], key=lambda p: -each["parts"][p]
        )
    one, eight = run["steps"][:2]
    assert one["time_s"] < eight["time_s"] < 8 * one["time_s"]


def test_what_nobody_published_has_no_band(run: dict[str, Any]) -> None:
    by_system = {each["system"]: each for each in run["steps"]}
    assert by_system["trn3-gen2-ultraserver"]["nearness"] == "elsewhere"
    assert by_system["trn3-gen2-ultraserver"]["expected_low_s"] is None
    near = by_system["trn1.32xlarge"]
    assert near["expected_low_s"] < near["time_s"] < near["expected_high_s"]


def test_a_run_is_kept_shown_compared_and_exported_like_every_other(store: Path, run: dict[str, Any]) -> None:
    words = ("workload", "run", *STEP, "-i", "trn1.32xlarge", "-a", "batch=1,8", "--label", "b")
    again = invoke(store, *words)
    assert again.exit_code == 0, again.stderr
    with Store(store) as opened:
        first, second = opened.load("a"), opened.load("b")
    kept = {each.id: each for each in first.measurements}
    for each in second.measurements:  # from the cache, to the last digit
        assert each == kept[each.id]
    assert "llama-3.2-1b-decode" in invoke(store, "runs", "show", "a").stdout
    compared = invoke(store, "compare", "a", "b", "--format", "json")
    assert compared.exit_code == 0, compared.stderr
    exported = invoke(store, "export", "b", "--as", "csv")
    rows = list(csv.DictReader(io.StringIO(exported.stdout)))
    assert "tokens_per_s" in {row["metric"] for row in rows}


def test_a_system_that_steps_cannot_run_on_is_refused_with_a_way_out(store: Path) -> None:
    assert refusal(invoke(store, "workload", "run", *STEP, "-i", "host"), code=5) == (
        "error: nothing selected by llama-3.2-1b-decode -i host\n"
        "  cause: 1 kernel on 1 system: none has an implementation for these machines\n"
        "  try:   trnbench list kernels -i host: what has one there; or another -i\n"
    )


def test_a_table_shows_the_axes_that_differ_and_the_parts_beside_each_other(store: Path) -> None:
    words = ("workload", "run", *STEP, "-i", "trn1.32xlarge", "-a", "batch=1,8")
    table, _, idle = invoke(store, *words).stdout[:-1].rpartition("\n")
    head, first, second, sentence = table.splitlines()
    assert head.split()[:3] == ["batch", "ms", "expect"]
    assert [line.split()[0] for line in (first, second)] == ["1", "8"]
    assert sentence == "llama-3.2-1b-decode, kv 512, bf16, tp 8, on trn1.32xlarge."
    assert idle == "24 of 32 cores idle on trn1.32xlarge: use --tp or --dp."
    both = invoke(store, *words, "-i", "trn2-16.48xlarge").stdout.splitlines()[-1]
    assert both == f"{idle.partition(':')[0]}, 56 of 64 cores idle on trn2-16.48xlarge: use --tp or --dp."
    shown = invoke(store, *words, "--explain").stdout
    assert shown.startswith(f"{table}\n\nsystem ")
    rest = shown.splitlines()
    parts = [line.split("  ")[0] for line in rest[rest.index("Parts") + 3 :]]
    assert parts[: parts.index("all")] == [part for part in parts if part in shown][: parts.index("all")]
    assert "constants fitted on" in shown


def test_a_layout_on_every_core_leaves_none_idle(store: Path) -> None:
    words = ("workload", "run", *STEP, "-i", "trn1.32xlarge", "-a", "tp=32,8")
    assert " idle " not in invoke(store, *words).stdout


def test_both_tables_of_a_prompt_have_the_same_digits_of_tokens_per_second(store: Path) -> None:
    words = ("llama-3.2-1b", "--task", "prefill", "--tp", "2", "--sequence", "2048", "-i", "trn1.2xlarge")
    (step,) = told(store, *words)["steps"]
    digits = f"{step['tokens_per_s']:,.0f}"
    assert len(digits) >= len("10,000")
    shown = invoke(store, "workload", "run", *words, "--explain").stdout
    assert shown.split().count(digits) == 2


def test_a_resumed_run_makes_its_steps_again_from_what_it_was_asked(store: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    shutil.copy(Path(__file__).parents[1] / "tiny_llama.json", config)
    words = ("workload", "run", str(config), "-i", "trn1.2xlarge", "--task", "prefill", "--sequence", "128")
    done = invoke(store, *words, "--label", "own")
    assert done.exit_code == 0, done.stderr
    config.unlink()
    resumed = invoke(store, "resume", "own")
    assert resumed.exit_code == 2
    assert "is complete: none of its 1 cases is missing" in resumed.stderr


def test_settings_of_a_run_hold_for_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TIMEOUT_S", "0.001"), ("MAXFAIL", "1"), ("SEED", "7")):
        monkeypatch.setenv(f"TRNBENCH_{name}", value)
    store = tmp_path / "results.db"
    ended = invoke(store, "--no-cache", "workload", "run", *STEP, "-i", "trn1.32xlarge", "-a", "batch=1,8")
    assert ended.exit_code == 124
    with Store(store) as opened:
        run = opened.load("latest")
    assert [(each.status, each.reason) for each in run.measurements] == [("failed", "timeout")]
    assert (run.settings["timeout_s"], run.settings["maxfail"], run.settings["seed"]) == (0.001, 1, 7)


def test_a_layer_and_a_step_are_written_for_viewers(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "trace.json"
    (step,) = told(store, *STEP, "-i", "trn1.32xlarge", "--trace", str(target))["steps"]
    events = [each for each in json.loads(target.read_text())["traceEvents"] if each["ph"] == "X"]
    whole = [each for each in events if each["pid"] == 0]
    assert [each["name"] for each in whole] == list(step["parts"])
    assert sum(each["dur"] for each in whole) == pytest.approx(step["time_s"] * 1e6, rel=1e-6)
    names = [each["name"] for each in events if each["pid"] == 1]
    assert {"query", "attention", "mlp gate", "reduce: all_reduce"} <= set(names)


def test_what_does_not_fit_is_refused_with_the_reason(store: Path) -> None:
    words = ("workload", "run", "llama-3-70b", "--task", "decode", "--kv", "512", "-i", "trn1.2xlarge")
    done = invoke(store, *words)
    assert done.exit_code == 5
    assert done.stdout.splitlines()[1] == "trn1.2xlarge  skipped"
    assert "  cause: does not fit: 132 GiB on a device of 32 GiB\n" in done.stderr
    assert "trnbench workload info MODEL --task …   where it fits" in done.stderr


KERNEL = (Path(__file__).parent / "pass_on.txt").read_text()


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.py"
    path.write_text(KERNEL)
    return f"{path}::pass_on"


def test_an_own_kernel_stands_beside_ours_with_what_it_costs_its_neighbours(store: Path, own: str) -> None:
    words = (*STEP, "-i", "trn1.32xlarge", "--operator", f"attention={own}")
    ours, theirs = told(store, *words)["steps"]
    assert (ours["attention"], theirs["attention"]) == ("shipped", own)
    # It does next to nothing, and reads no cache; but nothing stays in SBUF around it.
    assert theirs["parts"]["attention"] < ours["parts"]["attention"]
    assert theirs["parts"]["weights and cache"] > ours["parts"]["weights and cache"]
    assert theirs["parts"]["matrix work"] == pytest.approx(ours["parts"]["matrix work"])


def test_an_own_kernel_that_is_edited_is_not_taken_from_the_cache(store: Path, own: str) -> None:
    words = (*STEP, "-i", "trn1.32xlarge", "--operator", f"attention={own}")
    before = told(store, *words)["steps"][1]["time_s"]
    path = Path(own.partition("::")[0])
    path.write_text(
        KERNEL.replace("src=tile)", "src=tile)\n        nisa.dma_copy(dst=result[head], src=tile)")
    )
    after = told(store, *words)["steps"][1]["time_s"]
    assert after > before


def test_an_own_kernel_that_does_not_take_the_shape_says_so(store: Path, own: str) -> None:
    words = ("workload", "run", "llama-3.2-1b", "--task", "prefill", "--sequence", "128", "--tp", "8")
    done = invoke(store, *words, "-i", "trn1.32xlarge", "--operator", f"attention={own}", "--format", "json")
    assert done.exit_code == 3
    failed = json.loads(done.stdout)["steps"][1]
    assert failed["status"] == "failed"
    assert "own.py::pass_on does not take attention at heads 4, kv_heads 1" in failed["reason"]
    assert "its …_inputs gives None for that" in failed["reason"]


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        ("attention", "error: --operator 'attention' names no kernel\n"),
        ("flash=trnbench_kernels.nki.attention:attention", "error: unknown operator 'flash'\n"),
        ("attention=trnbench_kernels.nki.attention:none", "error: unknown kernel 'none'\n"),
    ],
)
def test_an_operator_that_is_none_is_refused(operator: str, text: str, store: Path) -> None:
    done = invoke(store, "workload", "run", *STEP, "-i", "trn1.32xlarge", "--operator", operator)
    assert done.exit_code == 2
    assert done.stderr.startswith(text)
    assert "try:   " in done.stderr
