"""Files that are taken, whole: facts, runs, models, output of other tools, rules, a baseline."""

from __future__ import annotations

from pathlib import Path


def _given(name: str) -> str:
    return (Path(__file__).parent / "given" / name).read_text(encoding="utf-8")


FACTS = _given("facts.toml")
RUN = _given("run.json").rstrip()
MODEL = _given("model.json").rstrip()
MODEL_FILE = _given("model.toml")
NCCL_TESTS = _given("nccl_tests.txt")
PYTEST_BENCHMARK = _given("pytest_benchmark.json").rstrip()
RULES = _given("rules.toml")
BASELINE = (
    '{"trnbench_baseline": 1, "accepted": [{"run": "a", "digest": "", "when": "", "why": "x", "by": ""}], '
    f'"run": {RUN}}}'
)
