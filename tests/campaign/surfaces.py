"""What takes input: parsers, called as they are, and options, given to the command in this process.

Each has examples that are taken, which `words.mutated` makes strange, and the exit codes it may end with.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from trnbench.cli.output import clean
from trnbench.errors import TrnbenchError

USUAL = frozenset({0, 1, 2, 5})
"""Exit codes that an input may lead to: nothing crashed, nothing took too long."""


class Told(NamedTuple):
    """What became of an input: an exit code and what was said of it."""

    code: int
    text: str


class Surface(NamedTuple):
    """`take` gives the text to what reads it. `words` is what a person would type, with {} for the text, or
    with the text in `file`; empty for a parser."""

    name: str
    take: Callable[[str], Told]
    examples: tuple[str, ...]
    words: tuple[str, ...] = ()
    file: str = ""
    codes: frozenset[int] = USUAL


def _parser(
    reference: str, *examples: str, as_bytes: bool = False, many: bool = False, tool: bool = False
) -> Surface:
    """A function of a text (bytes, a list of one text), or of what a `tool` prints: its failure is code 3."""

    def take(text: str) -> Told:
        module, _, name = reference.partition(":")
        given: Any = text.encode("utf-8", "surrogateescape") if as_bytes else [text] if many else text
        return _told(partial(getattr(import_module(module), name), given))

    codes = USUAL | {3} if tool else USUAL
    return Surface(reference.removeprefix("trnbench."), take, examples, codes=codes)


def _called(name: str, call: Callable[[str], object], *examples: str) -> Surface:
    return Surface(name, lambda text: _told(partial(call, text)), examples)


def _told(call: Callable[[], object]) -> Told:
    try:
        call()
    except TrnbenchError as error:
        return Told(int(error.exit_code), clean(f"error: {error}\n", keep="\n\t"))
    except click.ClickException as error:
        return Told(2, clean(f"error: {error.format_message()}\n", keep="\n\t"))
    return Told(0, "")


def _option(line: str, *examples: str, codes: frozenset[int] = USUAL) -> Surface:
    """A command with {} in one of its words."""
    words = tuple(line.split())
    return Surface(line, partial(_commanded, words, ""), examples, words, codes=codes)


def _file(line: str, file: str, *examples: str, codes: frozenset[int] = USUAL) -> Surface:
    """A command that reads `file`."""
    words = tuple(line.split())
    return Surface(f"{line} ({file})", partial(_commanded, words, file), examples, words, file, codes)


def _commanded(words: tuple[str, ...], file: str, text: str) -> Told:
    from trnbench.cli.context import Session
    from trnbench.cli.main import cli

    if file:
        Path(file).write_bytes(text.encode("utf-8", "surrogateescape"))
    text = text.replace("\0", "")  # the system takes none in an argument
    shared = Session()
    shared.registry = registry()
    arguments = [each.replace("{}", text) for each in words]
    with _captured() as said:
        try:
            cli.main(args=arguments, prog_name="trnbench", obj=shared)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            if file:
                Path(file).unlink(missing_ok=True)
    return Told(code, said.getvalue())


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    """What goes to stderr; stdout goes nowhere."""
    out, err = sys.stdout, sys.stderr
    said = io.StringIO()
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    sys.stderr = said
    try:
        yield said
    finally:
        sys.stdout, sys.stderr = out, err


@cache
def registry() -> Any:
    """The installed plugins, loaded once."""
    from trnbench.registry import load_registry

    return load_registry()


def _sized(text: str) -> object:
    from trnbench.cli.fabric.sizes import SIZE

    return SIZE.convert(text, None, None)


def _gate(text: str) -> object:
    from trnbench.cli.fidelity_gates import parsed

    return parsed([text], [text], None)


def _journal(text: str) -> object:
    from trnbench.store.journal import MAGIC, read_chain
    from trnbench.store.journaled import journaled

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
        from trnbench.cli.settings import load_settings

        with contextlib.suppress(ValueError):  # the system takes no such name or value
            os.environ[name] = text
        try:
            return load_settings()
        finally:
            os.environ.pop(name, None)

    return read


def _settings_file(text: str) -> object:
    from trnbench.cli.settings import load_settings

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


FACTS = """schema = 1
[sources.mine]
document = "My bench"
version = "1"
date = "2027-01-01"
[[group]]
subject = "trn2-core"
scope = "core"
source = "mine"
locator = "line 1"
facts = [{ metric = "peak_flops", dtypes = ["bf16"], printed = "150", unit = "TFLOPS" }]
"""

COSTS = """schema = 1
[launch]
value = "1"
"""

RUN = """{"schema_version": 3, "id": "20260101-000000-aaaa", "created": "2026-01-01T00:00:00+00:00",
"tool_version": "1", "argv": [], "settings": {}, "policy": "seed", "environment": {}, "backend": "emulated",
"grade": "emulated", "systems": {}, "books": {}, "topologies": {}, "plugins": [], "measurements": [],
"fidelity": null, "interrupted": false, "notes": [], "finished": "", "digest": ""}"""

MODEL = """{"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
"num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 128, "vocab_size": 100, "num_experts": 4,
"num_experts_per_tok": 2, "moe_intermediate_size": 32, "tie_word_embeddings": true}"""

MODEL_FILE = """[source]
document = "mine"
version = "1"
locator = "page 1"
[config]
model_type = "gpt2"
n_embd = 64
n_layer = 2
n_head = 4
vocab_size = 100
n_positions = 16
"""

NCCL_TESTS = """# Collective test starting: all_reduce_perf
# size count type redop root time algbw busbw #wrong
 1048576 262144 float sum -1 50.00 20.97 31.46 0
"""

PYTEST_BENCHMARK = """{"datetime": "2026-01-01T00:00:00+00:00", "version": "5.3.1", "benchmarks": [
{"fullname": "t.py::test_a[1]", "stats": {"median": 1.5, "data": [1.5, 1.6]}},
{"fullname": "trn1.2xlarge::gemm[dtype=bf16,size=1024]@core", "extra_info": {"evidence": "emulated"},
"stats": {"median": 0.001}}]}"""

RULES = """[[rule]]
name = "copies"
kernel = "hbm_*"
metric = "time_s"
direction = "worse"
tolerance = "2%"
minimum_of_peak = "60%"
maximum_age_days = 30
"""

BASELINE = (
    '{"trnbench_baseline": 1, "accepted": [{"run": "a", "digest": "", "when": "", "why": "x", "by": ""}], '
    f'"run": {RUN}}}'
)

TRN1, TRN2 = "-i trn1.32xlarge", "-i trn2-16.48xlarge"
_RUN = "run --dry-run gemm -i trn1.2xlarge -a size=1K"
_FABRIC = f"fabric run all_reduce {TRN1} -b 1M -e 1M"
_WORKLOAD = f"workload info llama-3-8b {TRN1} --task decode --kv 128"
_TRAIN = f"workload info llama-3-8b {TRN1} --task train --batch 8 --sequence 128"
_NKI = "nki run small.py::scaled -i trn1.2xlarge --arg x=128x512:bf16"

PARSERS = (
    _parser("trnbench.run.keyword:parse_keyword", "gemm and not fp32", "(a or b) and not (c)", "not not x"),
    _parser("trnbench.run.axes:parse_sweep", "size=1K,64K", "size[pow2]=10:30:2", "size[range]=128:1024:128"),
    _parser("trnbench.run.exclude:parse_exclusion", "size=1K", "dtype=bf16,size=64K", "size>=4K"),
    _parser("trnbench.run.grid:parse_grid", "2", "2x4", "1x1x1"),
    _parser("trnbench.facts.number:read_number", "150", "1.2", "~3.5", "2,000", "1e3"),
    _parser("trnbench.facts.units:parse_unit", "TFLOPS", "GB/s", "GiB", "us", "W"),
    _parser("trnbench.cli.nki.arguments:parse", "x=128x512:bf16", "n=4", "a=true", "s=0.5", "x=[1,2]"),
    _parser("trnbench.store.tag:checked_tags", "nightly", "a-b_c.d", "v1", many=True),
    _called("cli.fabric.sizes.SIZE", _sized, "64K", "1M", "1G", "8", "1.5K"),
    _called("cli.fidelity_gates.parsed", _gate, "hbm=12%", "public=45.5%"),
    _parser("trnbench.results.json:loads", RUN, as_bytes=True),
    _parser("trnbench.run.importing:read_own", RUN, f"[{RUN}]", as_bytes=True),
    _parser(
        "trnbench.store.journal:read_chain",
        "trnbench journal 1\nbegin 2 " + "0" * 64 + "\n{}\n",
        as_bytes=True,
    ),
    _called("store.journaled.journaled", _journal, "begin 3 " + "0" * 64 + "\n{}\n\n", "case 9999999999 x\n"),
    _parser("trnbench.topology.exchange:from_json", '{"format_version": 1, "topology": {}}', as_bytes=True),
    _parser(
        "trnbench.measure.neuron.devices:read_listing", '[{"neuron_device": 0, "nc_count": 2}]', tool=True
    ),
    _parser(
        "trnbench.measure.neuron.explorer:read_summary", '{"total_time": 1.5, "a": {"b": [{}]}}', tool=True
    ),
    _parser(
        "trnbench.measure.neuron.nccom:read_report", '{"results": [{"size": 8, "time": 1.0}]}', tool=True
    ),
    _parser(
        "trnbench.measure.neuron.nccom:read_table",
        "size(B) count(elems) type time(us)\n8 2 fp32 1.5\n",
        tool=True,
    ),
    _parser("trnbench_cuda.smi:read_samples", "0, 1980, 40, 300.5, 700.0, 1980\n", tool=True),
    _called("facts.load.load_book", _toml("trnbench.facts.load:load_book"), FACTS),
    _called(
        "facts.load.load_costs",
        _toml("trnbench.facts.load:load_costs"),
        'schema = 1\n[launch]\nvalue = "1"\n',
    ),
    _called(
        "workloads.shipped.load_model_file", _toml("trnbench.workloads.shipped:load_model_file"), MODEL_FILE
    ),
    _called("fidelity.load.load_published", _toml("trnbench.fidelity.load:load_published"), "schema = 1\n"),
    _parser("trnbench_reports.importers.nccl_tests:read", NCCL_TESTS, as_bytes=True),
    _parser("trnbench_reports.importers.pytest_benchmark:read", PYTEST_BENCHMARK, as_bytes=True),
    _parser(
        "trnbench.measure.neuron.nccom_file:read",
        '{"results": [{"size(B)": 8, "type": "fp32", "time:avg(us)": 1.0}]}',
        as_bytes=True,
    ),
    _called(
        "trnbench.toml", _settings_file, 'kernels = ["gemm"]\njobs = 2\n', "[preset.quick]\ntimeout = 1.5\n"
    ),
    _called("TRNBENCH_TIMEOUT", _setting("TRNBENCH_TIMEOUT"), "1", "2.5"),
    _called("TRNBENCH_JOBS", _setting("TRNBENCH_JOBS"), "1", "0"),
    _called("TRNBENCH_KERNELS", _setting("TRNBENCH_KERNELS"), "gemm", "gemm,triad"),
    _called("TRNBENCH_STORE", _setting("TRNBENCH_STORE"), "r.db", "/tmp/r.db"),
    _called("store.resolve", _looked_up, "latest", "20260101", "nightly", "latest~1"),
    _called("compare.selection.chosen", _selected, "size=1M", "kernel=hbm_*,size>=1K", "dtype=bf16"),
    _called("compare.gate.rules.read_rules", _toml("trnbench.compare.gate.rules:read_rules"), RULES),
    _called("compare.gate.baseline.baseline_in", _baseline, BASELINE),
)

OPTIONS = (
    _option("run --dry-run {} -i trn1.2xlarge", "gemm", "g*", "hbm_triad"),
    _option(f"{_RUN} -k {{}}", "gemm and not fp32", "bf16"),
    _option(f"{_RUN} --tag {{}}", "dense"),
    _option(f"{_RUN} --family {{}}", "gemm"),
    _option("run --dry-run gemm -i {}", "trn1.2xlarge", "trn2*", "trn1-ultracluster:4"),
    _option(f"{_RUN} --generation {{}}", "trn1"),
    _option(f"{_RUN} --dtype {{}}", "bf16", "fp32"),
    _option(f"{_RUN} --scope {{}}", "core", "system"),
    _option(
        "run --dry-run gemm -i trn1.2xlarge -a {}",
        "size=1K,64K",
        "size[range]=128:1024:128",
        "size[pow2]=10:12",
    ),
    _option(f"{_RUN} --zip {{}}", "dtype,size", "size,dtype"),
    _option(f"{_RUN} --exclude {{}}", "size=2K", "dtype=fp32"),
    _option(f"{_RUN} --shard {{}}", "1/1", "1/2"),
    _option(f"{_RUN} --backend {{}}", "emulated"),
    _option(f"{_RUN} --timeout {{}}", "1", "0.5"),
    _option(f"{_RUN} --maxfail {{}}", "1", "0"),
    _option(f"{_RUN} --seed {{}}", "1", "-1"),
    _option(f"{_RUN} --retries {{}}", "1"),
    _option(f"{_RUN} --jobs {{}}", "1", "0"),
    _option(f"{_RUN} --sample-time {{}}", "0.1"),
    _option(f"{_RUN} --preset {{}}", "quick"),
    _option(f"{_RUN} --label {{}}", "nightly", "a b"),
    _option(f"{_RUN} -o {{}}", "page.html", "-"),
    _option("list kernels -k {}", "gemm and not fp32"),
    _option("list {}", "kernels", "instances", "tags"),
    _option("info {}", "gemm", "trn1.2xlarge"),
    _option("spec show {}", "trn1.2xlarge", "trainium2"),
    _option("spec show trn1.2xlarge --scope {}", "core", "device"),
    _option("spec diff trn1.2xlarge {}", "trn2.48xlarge"),
    _option("topology show {}", "trn1.2xlarge", "trn1-ultracluster:2"),
    _option(f"fabric run {{}} {TRN1} -b 1M -e 1M", "all_reduce", "all_gather"),
    _option(f"fabric run all_reduce {TRN1} -e 2K -b {{}}", "8", "1K"),
    _option(f"fabric run all_reduce {TRN1} -b 1M -e {{}}", "1M", "2M"),
    _option(f"fabric run all_reduce {TRN1} -b 1M -e 4M -f {{}}", "2", "1.5"),
    _option(f"fabric run all_reduce {TRN1} -b 64 -e 128 --step {{}}", "32"),
    _option(f"{_FABRIC} -a {{}}", "ring", "auto", "best"),
    _option(f"{_FABRIC} -d {{}}", "fp32", "bf16"),
    _option(f"{_FABRIC} --group {{}}", "tensor=8", "data=2"),
    _option(f"{_FABRIC} --replica-groups {{}}", "[[0,1],[2,3]]"),
    _option(f"fabric run all_gather_v {TRN2} -b 1M -e 1M --shares {{}}", "3,1,1,1"),
    _option(f"fabric run all_gather_v {TRN2} -b 1M -e 1M --skew {{}}", "zipf:1.2", "hot:0.5"),
    _option(f"{_FABRIC} --degrade {{}}", "d0-d1=0.5", "d0>d1=0"),
    _option(f"{_FABRIC} --straggler {{}}", "3=0.5", "3=50us"),
    _option(f"{_FABRIC} --with {{}}", "all_gather=1M", "all_reduce=1M@tensor=8"),
    _option("fabric run all_reduce -i trn1-ultracluster:2 -b 1M -e 1M --oversubscription {}", "2", "1.5"),
    _option(f"fabric pingpong {TRN1} -b 1K -e 1K --from {{}}", "0", "3"),
    _option("workload info {}", "llama-3-8b", "gpt2", "config.json"),
    _option(f"{_WORKLOAD} --tp {{}}", "8", "32"),
    _option(f"{_WORKLOAD} --kv {{}}", "4096", "1"),
    _option(f"{_WORKLOAD} --batch {{}}", "4"),
    _option(f"{_WORKLOAD} --lnc {{}}", "1"),
    _option(f"{_WORKLOAD} --weights {{}}", "fp8", "bf16"),
    _option(f"{_WORKLOAD} --tp 2 --placement {{}}", "0,1", "3,2"),
    _option(f"{_TRAIN} --pp {{}}", "4", "2"),
    _option(f"{_TRAIN} --dp {{}}", "8"),
    _option(f"{_TRAIN} --zero {{}}", "1", "0"),
    _option(f"{_TRAIN} --micro-batch {{}}", "2"),
    _option(f"{_TRAIN} --recompute {{}}", "full", "none"),
    _option(f"workload info mixtral-8x7b {TRN1} --task decode --kv 8 --tp 8 --expert-tp 1 --ep {{}}", "8"),
    _option(f"{_NKI} --grid {{}}", "1", "2", codes=USUAL | {3}),
    _option(
        "nki run small.py::scaled -i trn1.2xlarge --arg {}",
        "x=128x512:bf16",
        "x=64x64:fp32",
        codes=USUAL | {3},
    ),
    _option("nki run {} -i trn1.2xlarge --arg x=128x512:bf16", "small.py::scaled", "gemm", codes=USUAL | {3}),
    _option(f"{_NKI} --tolerance {{}}", "0.01"),
    _option(f"{_NKI} --limit {{}}", "100000", codes=USUAL | {3}),
    _option(f"{_NKI} --memory {{}}", "64M", codes=USUAL | {3}),
    _option(f"{_NKI} --trace-limit {{}}", "1M"),
    _option(f"{_NKI} --seed {{}}", "1"),
    _option(f"{_NKI} --assume {{}}", "no-hoisting", "no-hoisting,no-spilling"),
    _option("--store fuzzed.db runs show {}", "latest", "20260101"),
    _option("--store fuzzed.db runs tag latest {}", "nightly"),
    _option("--store fuzzed.db runs prune --dry-run --older-than {}", "1", "0.5"),
    _option("--store fuzzed.db runs prune --dry-run --keep {}", "1", "0"),
    _option("--store fuzzed.db export --as {}", "json", "csv"),
    _option("--store fuzzed.db history {}", "load", "*gemm*", "trn1.2xlarge::gemm[size=1024]@core"),
    _option("--store fuzzed.db history --last {}", "1", "0"),
    _option("--store fuzzed.db runs trace latest {}", "gemm[dtype=bf16,size=1024]@core", "x"),
    _option("--store fuzzed.db store merge {}", "other.db", "fuzzed.db"),
    _option("--store {} runs list", "fuzzed.db", "./r.db"),
    _option("completion {}", "bash", "zsh"),
    _option("--no-plugin {} list instances", "cuda", "host"),
    _option("{}", "list", "--version", "-h"),
    _file("--store fuzzed.db import given.json", "given.json", RUN),
    _file(
        "--store fuzzed.db import given.txt --from nccl-tests --as measured -i trn2-16.48xlarge",
        "given.txt",
        NCCL_TESTS,
    ),
    _file(
        f"--store fuzzed.db import given.txt --from nccom-test --as published {TRN1} --kernel all_reduce",
        "given.txt",
        "size(B) count(elems) type time(us) algbw(GB/s) busbw(GB/s)\n1024 256 fp32 58 0.02 0.02\n",
    ),
    _file(
        "--store fuzzed.db import given.json --from pytest-benchmark --as measured",
        "given.json",
        PYTEST_BENCHMARK,
    ),
    _file(f"{_RUN} --facts given.toml", "given.toml", FACTS),
    _file(
        "nki run given.py::scaled -i trn1.2xlarge --arg x=128x512:bf16",
        "given.py",
        "import nki\n",
        codes=USUAL | {3},
    ),
    _file("workload info config.json", "config.json", MODEL),
    _file(f"workload info config.json {TRN1} --task decode --kv 8 --tp 2", "config.json", MODEL),
    _file("config show", "trnbench.toml", 'kernels = ["gemm"]\njobs = 2\n'),
)

SURFACES = (*PARSERS, *OPTIONS)
