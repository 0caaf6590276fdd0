"""Parsers, and the texts that they take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.campaign.files import BASELINE, FACTS, MODEL_FILE, NCCL_TESTS, PYTEST_BENCHMARK, RULES, RUN
from tests.campaign.surface import called, parser, registry

from trnbench.bounded.kinds import MESSAGE


def _sized(text: str) -> object:
    return MESSAGE.counted(text, "--size")


def _gate(text: str) -> object:
    from trnbench_fidelity.commands.validate_steps import parsed

    return parsed([text], [text], None)


def _journal(text: str) -> object:
    from trnbench.store.journal import MAGIC, read_chain
    from trnbench.store.journal_content import journaled

    chain = read_chain(MAGIC + text.encode("utf-8", "surrogateescape"))
    return journaled(chain, "it").whole() if chain.records else None


def _baseline(text: str) -> object:
    from trnbench.compare.gate.baseline import baseline_in

    return baseline_in(text.encode("utf-8", "surrogateescape"), "it")


def _selected(text: str) -> object:
    from trnbench.compare.comparison import compared

    return compared(*_pair(), a=text, b=text)


@cache
def _pair() -> Any:
    run = import_module("trnbench").bench(
        ["hbm_copy"], instances=["trn1.2xlarge"], axes=["size=1M"], scopes=["core"], registry=registry()
    )
    return run, run


def _toml(reference: str) -> Callable[[str], object]:
    """A reader of a TOML file, or of several."""

    def read(text: str) -> object:
        module, _, name = reference.partition(":")
        path = Path("given.toml")
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        reader = getattr(import_module(module), name)
        return reader([path] if name == "load_book" else path)

    return read


def _setting(name: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        from trnbench.terminal.settings import load_settings

        with contextlib.suppress(ValueError):  # the system takes no such name or value
            os.environ[name] = text
        try:
            return load_settings()
        finally:
            os.environ.pop(name, None)

    return read


def _settings_file(text: str) -> object:
    from trnbench.terminal.settings import load_settings

    path = Path("trnbench.toml")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    try:
        return load_settings()
    finally:
        path.unlink()


def _looked_up(text: str) -> object:
    from trnbench.store.store import Store

    with Store("fuzzed.db") as store:
        return store.resolve(text)


PARSERS = (
    parser("trnbench.run.points:parse_keyword", "gemm and not fp32", "(a or b) and not (c)", "not not x"),
    parser("trnbench.run.axes:parse_sweep", "size=1K,64K", "size[pow2]=10:30:2", "size[range]=128:1024:128"),
    parser("trnbench.run.axes:parse_exclusion", "size=1K", "dtype=bf16,size=64K", "size>=4K"),
    parser("trnbench_emulator.kernel_run.emulation:parse_grid", "2", "2x4", "1x1x1"),
    parser("trnbench.facts.units:read_number", "150", "1.2", "~3.5", "2,000", "1e3"),
    parser("trnbench.facts.units:parse_unit", "TFLOPS", "GB/s", "GiB", "us", "W"),
    parser(
        "trnbench_emulator.commands.nki.arguments:parse",
        "x=128x512:bf16",
        "n=4",
        "a=true",
        "s=0.5",
        "x=[1,2]",
    ),
    parser("trnbench.store.tag:checked_tags", "nightly", "a-b_c.d", "v1", many=True),
    called("cli.fabric.sizes.SIZE", _sized, "64K", "1M", "1G", "8", "1.5K"),
    called("cli.fidelity_gates.parsed", _gate, "hbm=12%", "public=45.5%"),
    parser("trnbench.results.json:loads", RUN, as_bytes=True),
    parser("trnbench.run.importing:read_own", RUN, f"[{RUN}]", as_bytes=True),
    parser(
        "trnbench.store.journal:read_chain",
        "trnbench journal 1\nbegin 2 " + "0" * 64 + "\n{}\n",
        as_bytes=True,
    ),
    called("store.journaled.journaled", _journal, "begin 3 " + "0" * 64 + "\n{}\n\n", "case 9999999999 x\n"),
    parser("trnbench.topology.graph:from_json", '{"format_version": 1, "topology": {}}', as_bytes=True),
    parser("trnbench_neuron.identify:read_listing", '[{"neuron_device": 0, "nc_count": 2}]', tool=True),
    parser("trnbench_neuron.neff:read_summary", '{"total_time": 1.5, "a": {"b": [{}]}}', tool=True),
    parser("trnbench_neuron.nccom:read_report", '{"results": [{"size": 8, "time": 1.0}]}', tool=True),
    parser(
        "trnbench_neuron.nccom:read_table", "size(B) count(elems) type time(us)\n8 2 fp32 1.5\n", tool=True
    ),
    parser("trnbench_cuda.smi:read_samples", "0, 1980, 40, 300.5, 700.0, 1980\n", tool=True),
    called("facts.load.load_book", _toml("trnbench.facts.load:load_book"), FACTS),
    called(
        "facts.load.load_costs",
        _toml("trnbench.facts.load:load_costs"),
        'schema = 1\n[launch]\nvalue = "1"\n',
    ),
    called("steps.load_model_file", _toml("trnbench_steps.shipped_models:load_model_file"), MODEL_FILE),
    called(
        "fidelity.load.load_published",
        _toml("trnbench_fidelity.published_points:load_published"),
        "schema = 1\n",
    ),
    parser("trnbench_reports.importers.nccl_tests:read", NCCL_TESTS, as_bytes=True),
    parser("trnbench_reports.importers.pytest_benchmark:read", PYTEST_BENCHMARK, as_bytes=True),
    parser(
        "trnbench_neuron.nccom:read",
        '{"results": [{"size(B)": 8, "type": "fp32", "time:avg(us)": 1.0}]}',
        as_bytes=True,
    ),
    called(
        "trnbench.toml", _settings_file, 'kernels = ["gemm"]\njobs = 2\n', "[preset.quick]\ntimeout = 1.5\n"
    ),
    called("TRNBENCH_TIMEOUT", _setting("TRNBENCH_TIMEOUT"), "1", "2.5"),
    called("TRNBENCH_JOBS", _setting("TRNBENCH_JOBS"), "1", "0"),
    called("TRNBENCH_KERNELS", _setting("TRNBENCH_KERNELS"), "gemm", "gemm,triad"),
    called("TRNBENCH_STORE", _setting("TRNBENCH_STORE"), "r.db", "/tmp/r.db"),
    called("store.resolve", _looked_up, "latest", "20260101", "nightly", "latest~1"),
    called("compare.selection.chosen", _selected, "size=1M", "kernel=hbm_*,size>=1K", "dtype=bf16"),
    called("compare.gate.rules.read_rules", _toml("trnbench.compare.gate.rule:read_rules"), RULES),
    called("compare.gate.baseline.baseline_in", _baseline, BASELINE),
)
