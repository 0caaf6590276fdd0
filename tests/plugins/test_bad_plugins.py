"""One bad plugin never breaks --help, a list or a run: each kind, installed, seen from outside."""

from __future__ import annotations

import json
import re
from typing import Any

import plugin_parts
import pytest
from plugin_parts import Install, Trnbench

GOOD = """
    import trnbench
    from trnbench import Section

    @trnbench.hookimpl
    def trnbench_reports():
        yield Section(name="good", title="Good", order=99, render="nowhere:render")
"""

KERNEL = f"""{plugin_parts.KERNEL}
    @trnbench.hookimpl
    def trnbench_kernels():
        BODY
"""

DOUBLE = """
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def double(x):
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=result, src=x)
    return result

def double_inputs(point):
    return (((128, 128), "float32"),)
"""

# Kind → source, then what `plugin list` says of it: first line, cause. Other mistakes: test_hook_mistakes.py.
BAD = {
    "import-error": (
        "import a_module_nobody_has",
        "plugin 'bad' of bad 1.0 cannot be imported: bad",
        "ModuleNotFoundError: No module named 'a_module_nobody_has' (",
    ),
    "syntax-error": (
        "def f(:",
        "plugin 'bad' of bad 1.0 cannot be imported: bad",
        "SyntaxError: invalid syntax (",
    ),
    "exits": (
        "import sys; sys.exit(0)",
        "plugin 'bad' of bad 1.0 cannot be imported: bad",
        "SystemExit: 0 (",
    ),
    "raises-half-way": (
        KERNEL.replace("BODY", "yield kernel('half'); 1 / 0"),
        "plugin 'bad' of bad 1.0 failed in trnbench_kernels after 1 of its values",
        "ZeroDivisionError: division by zero (",
    ),
}


@pytest.mark.parts
@pytest.mark.parametrize("kind", BAD)
def test_bad_plugin_is_named_and_nothing_else_breaks(kind: str, install: Install, trnbench: Trnbench) -> None:
    source, what, cause = BAD[kind]
    install("bad", source)
    install("good", GOOD)

    told = trnbench("--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert "Begin: trnbench run" in told.stdout

    listed = trnbench("list", "sections", "--format", "json")
    assert listed.returncode == 0, listed.stderr
    assert "good" in [row["section"] for row in json.loads(listed.stdout)]

    rows = json.loads(trnbench("plugin", "list", "--format", "json").stdout)
    bad = next(row for row in rows if row["plugin"] == "bad")
    good = next(row for row in rows if row["plugin"] == "good")
    assert (bad["state"], good["state"]) == ("problem", "ok")
    assert good["problems"] == []
    first, second, *rest = bad["problems"][0].splitlines()
    assert first == what
    assert second.startswith(f"  cause: {cause}")
    assert rest[0].startswith("  try:   ")

    without = trnbench("--no-plugin", "bad", "plugin", "list", "--format", "json")
    assert {row["plugin"]: row["state"] for row in json.loads(without.stdout)}["bad"] == "left out"


@pytest.mark.parts
def test_kernel_list_warns_of_the_bad_one_on_stderr_and_q_hushes_it(install: Install, trnbench: Any) -> None:
    install("bad", KERNEL.replace("BODY", "yield 3"))
    told = trnbench("list", "kernels", "--format", "json")
    assert told.returncode == 0
    assert "gemm" in [row["kernel"] for row in json.loads(told.stdout)]
    assert told.stderr == (
        "warning: plugin 'bad' of bad 1.0 yields from trnbench_kernels what it should not: 3 "
        "(trnbench plugin list)\n"
    )
    assert trnbench("-q", "list", "kernels").stderr == ""


@pytest.mark.parts
def test_run_goes_on_without_the_bad_plugin(install: Install, trnbench: Trnbench) -> None:
    install("bad", KERNEL.replace("BODY", "yield kernel('half'); 1 / 0"))
    told = trnbench("run", "gemm", "-i", "trn1.2xlarge", "-a", "size=256", "--dtype", "bf16")
    assert told.returncode == 0, told.stderr
    assert "warning: plugin 'bad' of bad 1.0 failed in trnbench_kernels after 1 of its values" in told.stderr
    assert "half" not in told.stdout


@pytest.mark.parts
def test_an_exit_in_a_formula_costs_its_own_cases(install: Install, trnbench: Trnbench) -> None:
    plans, counts = "kernel('plans', requires=lambda _: exit(0))", "kernel('counts', work=lambda *_: exit(0))"
    install("bad", KERNEL.replace("BODY", f"yield {plans}; yield {counts}"))
    told = trnbench("run", "plans", "counts", "-i", "trn1.2xlarge", "--no-report")
    assert told.returncode == 3
    assert "failed: trn1.2xlarge::counts[size=1]@core: SystemExit: 0 (at " in told.stderr
    assert "skipped" in told.stdout


@pytest.mark.parts
@pytest.mark.parametrize("words", ["info counts", "nki run counts -i trn1.2xlarge"])
def test_a_formula_that_raises_is_no_error_of_trnbench(
    words: str, install: Install, trnbench: Trnbench
) -> None:
    rate = "PrimaryMetric(name='hbm_bytes_per_s', unit='B/s', count='hbm_bytes')"
    counts = f"work=lambda *_: 1 / 0, primary={rate}, implementations={{'nki': 'nki_of_bad:double'}}"
    bad = install("bad", KERNEL.replace("BODY", f"yield kernel('counts', {counts})"))
    bad.with_name("nki_of_bad.py").write_text(DOUBLE)
    told = trnbench(*words.split())
    assert told.returncode == 3
    place = 1 + next(i for i, line in enumerate(bad.read_text().splitlines()) if "1 / 0" in line)
    assert told.stderr.splitlines()[:2] == [
        "error: plugin 'bad' of bad 1.0: ZeroDivisionError: division by zero",
        f"  cause: a bug in {bad}:{place}",
    ]


GENERATION = """
    from pathlib import Path
    import trnbench

    @trnbench.hookimpl
    def trnbench_generations():
        one = trnbench.Instance(
            name="bad.1", title="B", scope=trnbench.Scope.INSTANCE, device="d", core="c", topology="bad:graph"
        )
        facts = (Path(__file__).with_name("facts.toml"),)
        yield trnbench.Generation(name="bad", title="B", order=1, facts=facts, instances=(one,))
"""


@pytest.mark.parts
@pytest.mark.parametrize(
    "words",
    [
        *("list instances", "list cases hbm_copy", "info hbm_copy", "spec list", "spec check"),
        "topology check",
    ],
)
def test_generation_that_cannot_be_read_costs_itself_alone(
    words: str, install: Install, trnbench: Trnbench
) -> None:
    install("bad", GENERATION).with_name("facts.toml").write_text("schema = 9")
    told = trnbench(*words.split())
    assert told.returncode == 0, told.stderr
    assert ("bad" in told.stdout, "trn1" in told.stdout) == (False, True)
    assert "warning: plugin 'bad' of bad 1.0 brings generation 'bad', which is left out: " in told.stderr


def test_builder_that_raises_fails_its_own_check(install: Install, trnbench: Trnbench) -> None:
    install("bad", GENERATION).with_name("facts.toml").write_text("schema = 1")
    told = trnbench("topology", "check", "--failures", "--format", "csv")
    assert told.returncode == 1, told.stderr
    assert "bad.1,builder,failed," in told.stdout


def test_slow_import_is_timed_and_warned_of(install: Install, trnbench: Trnbench) -> None:
    install("slow", f"import time; time.sleep(0.6)\n{''.join(line[4:] for line in GOOD.splitlines(True))}")
    told = trnbench("plugin", "list", "--format", "json")
    slow = next(row for row in json.loads(told.stdout) if row["plugin"] == "slow")
    assert slow["state"] == "slow"
    assert slow["import_ms"] >= 600
    assert slow["warning"] == (
        f"took {slow['import_ms'] / 1e3:.1f} s to import (more than 0.5 s): "
        "every command pays for it; import heavy libraries inside functions"
    )
    assert re.search(r"plugin 'slow' of slow took \d+\.\d s", trnbench("plugin", "list").stdout)
    assert "more than 0.5 s" not in trnbench("--help").stderr  # and --help imports no plugin at all


def test_two_distributions_with_one_kernel_name(install: Install, trnbench: Trnbench) -> None:
    for name in ("zeta", "beta"):
        install(name, KERNEL.replace("BODY", "yield kernel('stencil')"))
    rows = json.loads(trnbench("plugin", "list", "--format", "json").stdout)
    states = {row["plugin"]: row for row in rows}
    assert states["beta"]["state"] == "ok"
    assert states["zeta"]["problems"] == [
        "plugin 'zeta' of zeta 1.0 brings kernel 'stencil', which has an owner\n"
        "  cause: plugin 'beta' of beta 1.0 has it already; the first one is kept, "
        "the one of zeta 1.0 is left out\n"
        "  try:   rename one of the two, or leave one out: --no-plugin zeta"
    ]


def test_all_external_plugins_can_be_switched_off(install: Install, trnbench: Trnbench) -> None:
    install("bad", "raise RuntimeError", commands={"frob": "bad:frob"}, plugins={"bad": "bad"})
    told = trnbench("list", "kernels", TRNBENCH_NO_EXTERNAL_PLUGINS="1")
    assert (told.returncode, told.stderr) == (0, "")
    assert "frob" not in trnbench("--help", TRNBENCH_NO_EXTERNAL_PLUGINS="1").stdout
    assert "frob" in trnbench("--help").stdout


def test_every_hook_call_can_be_traced(install: Install, trnbench: Trnbench) -> None:
    install("good", GOOD)
    told = trnbench("list", "sections", TRNBENCH_PLUGIN_TRACE="1")
    lines = [line for line in told.stderr.splitlines() if line.startswith("trnbench plugin: ")]
    assert any(
        line.startswith("trnbench plugin: trnbench_reports <- good (good 1.0): 1 yielded in ")
        for line in lines
    )
    assert {line.split()[2] for line in lines} == {"trnbench_reports"}


@pytest.mark.parts
def test_unknown_plugin_to_leave_out_is_a_usage_error(trnbench: Trnbench) -> None:
    told = trnbench("--no-plugin", "reprots", "list", "kernels")
    assert told.returncode == 2
    assert told.stderr.startswith("error: unknown plugin 'reprots'\n  cause: did you mean reports, steps?")


def test_command_that_breaks_costs_only_itself(install: Install, trnbench: Trnbench) -> None:
    install("bad", "import a_module_nobody_has", commands={"frob": "bad:frob", "prog": "json:dumps"})
    install(
        "good",
        "import click\n\n@click.command()\ndef hi():\n    click.echo('hi')",
        commands={"hi": "good:hi"},
    )
    for arguments in (("frob",), ("frob", "--help")):
        told = trnbench(*arguments)
        assert (told.returncode, told.stdout) == (3, "")
        assert told.stderr.startswith(
            "error: command 'frob' of bad 1.0 cannot be imported\n"
            "  cause: ModuleNotFoundError: No module named 'a_module_nobody_has' ("
        )
        assert told.stderr.endswith(
            "  try:   reinstall or remove bad; the other commands work: trnbench --help\n"
        )
    assert trnbench("prog").stderr.startswith("error: command 'prog' of bad 1.0 is no click command\n")
    assert trnbench("hi").stdout == "hi\n"
    shown = trnbench("--help").stdout
    assert "  frob  (from bad)" in shown
    assert "  hi    (from good)" in shown


def test_two_distributions_with_one_command(install: Install, trnbench: Trnbench) -> None:
    for name in ("zeta", "beta"):
        source = f"import click\n\n@click.command()\ndef hi():\n    click.echo('{name}')"
        install(name, source, commands={"hi": f"{name}:hi", "run": f"{name}:hi"})
    assert trnbench("hi").stdout == "beta\n"
    assert "  hi  (from beta; zeta has one too)" in trnbench("--help").stdout
    assert "Usage: trnbench run" in trnbench("run", "--help").stdout
    told = trnbench("plugin", "list")
    assert (
        "warning: command 'hi' of zeta has an owner: beta brings it already; that one is kept" in told.stderr
    )
    found = trnbench("doctor").stdout
    assert "command 'run' of zeta has an owner: trnbench brings it already; that one is kept" in found
