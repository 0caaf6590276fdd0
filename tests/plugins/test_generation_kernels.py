"""What a generation's plugin brings of its own: kernels that name what they test, variants, the guide."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from command import typed
from parts import part
from plugin_parts import kernel, plugin, texts

import trnbench
from trnbench import Kernel, Statement, Variant, resolve
from trnbench.registry import Registry, load_registry
from trnbench.testing.conformance import check_plugin

nki_sources = part("trnbench_emulator").nki_sources
GENERATIONS = ("trn1", "trn2", "trn3")


def own(name: str) -> dict[str, Kernel]:
    registry = load_registry()
    return {
        each.name: registry.kernels[each.name]
        for each in registry.brought("trnbench_kernels")
        if each.kind == "kernel" and each.origin.name == name
    }


@pytest.mark.parts
@pytest.mark.parametrize("name", GENERATIONS)
def test_each_names_a_statement_of_a_source_that_its_generation_knows(name: str) -> None:
    kernels, book = own(name), load_registry().book(name)
    assert kernels
    for each in kernels.values():
        assert each.tests, each.name
        assert {one.source for one in each.tests} <= set(book.sources), each.name


@pytest.mark.parametrize("name", GENERATIONS)
def test_sources_lie_in_the_package_of_the_generation(name: str) -> None:
    for each in own(name).values():
        assert all(ref.startswith(f"trnbench_{name}.nki.") for ref in nki_sources(each)), each.name


@pytest.mark.parts
@pytest.mark.parametrize("name", GENERATIONS)
def test_leaving_a_generation_out_takes_its_kernels_along(name: str) -> None:
    rest = load_registry(block=[name]).kernels
    assert not set(own(name)) & set(rest)
    assert "gemm" in rest
    assert not any(
        f"trnbench_{name}." in str(ref) for each in rest.values() for ref in each.implementations.values()
    )


@pytest.mark.parts
def test_only_trainium3_multiplies_microscaled_operands() -> None:
    kinds = set(load_registry().kernels["gemm"].implementations)
    assert kinds >= {"nki", "nki-mx", "nki-beta1"}
    assert kinds - set(load_registry(block=["trn3"]).kernels["gemm"].implementations) == {"nki-mx"}
    assert kinds - set(load_registry(block=["trn1"]).kernels["gemm"].implementations) == {"nki-beta1"}


@pytest.mark.parts
@pytest.mark.parametrize(
    ("name", "instance", "count", "each", "hosts"),
    [
        ("all_gather_across", "u-trn2x64", 16, 4, 4),
        ("all_gather_server", "trn3-gen2-ultraserver", 36, 4, 1),
        ("all_gather_rack", "trn3-gen2-ultraserver", 8, 18, 18),
        ("all_gather_server", "trn3-gen1-ultraserver", 4, 16, 1),
        ("all_gather_rack", "trn3-gen1-ultraserver", 32, 2, 2),
    ],
)
def test_groups_are_one_level_of_the_links(
    name: str, instance: str, count: int, each: int, hosts: int
) -> None:
    registry = load_registry()
    topology = registry.system(instance).topology()
    groups = resolve(registry.kernels[name].groups)(topology)
    assert (len(groups), {len(group) for group in groups}) == (count, {each})
    assert {rank for group in groups for rank in group} == set(range(len(topology.devices)))
    for group in groups:
        assert len({topology.nodes[rank].host for rank in group}) == hosts
        assert len({topology.nodes[rank].coord[0] for rank in group}) == (4 if name.endswith("across") else 1)


@pytest.mark.parts
def test_servers_in_no_rack_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch of four servers, as a plugin may draw it: coordinates are (server, place)."""
    topology = part("trnbench_trn3.topology")
    devices = topology.add_devices

    def flat(assembly: Any, servers: int, each: Any, outer: Any) -> Any:
        return devices(assembly, servers, each, outer=[(server,) for server in range(servers)])

    monkeypatch.setattr(topology, "add_devices", flat)
    instance = "trn3-gen1-ultraserver"
    monkeypatch.setattr(part("trnbench_emulator.fabric.systems"), "_BUILT", {})
    run = trnbench.bench(["all_gather_server", "all_gather_rack"], instances=[instance], axes=["size=64K"])
    told = {each.case.kernel: (str(each.status), each.reason_text) for each in run.measurements}
    assert told["all_gather_server"][0] == "ok"
    assert told["all_gather_rack"] == (
        "skipped",
        f"no devices of {instance} are the groups that all_gather_rack measures",
    )


@pytest.mark.parts
@pytest.mark.parametrize(
    ("name", "instance", "figure"),
    [
        ("all_gather_across", "u-trn2x64", 256e9),
        ("all_gather_server", "trn3-gen2-ultraserver", 256e9),
        ("all_gather_rack", "trn3-gen2-ultraserver", 320e9),
    ],
)
def test_a_level_gives_most_of_its_links_rate_and_no_more(name: str, instance: str, figure: float) -> None:
    run = trnbench.bench([name], instances=[instance], axes=["size=256M"])
    (found,) = run.measurements
    assert 0.9 * figure < found.metrics["busbw_bytes_per_s"].value <= figure
    assert any("groups of" in note for note in found.notes)


def test_a_variant_adds_to_the_kernel_of_another_plugin() -> None:
    one = plugin(trnbench_kernels=lambda: [kernel("product", implementations={"nki": "a:b"})])
    two = plugin(trnbench_kernels=lambda: [Variant(kernel="product", kind="torch", source="c:d")])
    for registry in (Registry.of(one=one, two=two), Registry.of(two=two, one=one)):
        assert dict(registry.kernels["product"].implementations) == {"nki": "a:b", "torch": "c:d"}
        assert texts(registry) == []
    assert Registry.of(two=two).kernels == {}


def test_a_variant_takes_no_implementations_place() -> None:
    one = plugin(trnbench_kernels=lambda: [kernel("product", implementations={"nki": "a:b"})])
    two = plugin(trnbench_kernels=lambda: [Variant(kernel="product", kind="nki", source="c:d")])
    registry = Registry.of(one=one, two=two)
    assert dict(registry.kernels["product"].implementations) == {"nki": "a:b"}
    (problem,) = texts(registry)
    assert problem == (
        "plugin 'two' of two 0 brings variant 'product.nki', which has an owner\n"
        "  cause: kernel 'product' has an implementation of kind 'nki' already\n"
        "  try:   bring a kernel of another name, or a variant of another kind"
    )


def test_a_statement_is_one() -> None:
    registry = Registry.of(bad=plugin(trnbench_kernels=lambda: [kernel("k", tests=("a page",))]))
    (problem,) = texts(registry)
    assert "tests is no tuple of Statement" in problem
    assert "give tests=(trnbench.Statement(...),)" in problem


def test_what_nobody_brings_is_found_by_the_check(tmp_path: Path) -> None:
    path = tmp_path / "lonely.py"
    path.write_text(
        "import trnbench\n"
        "@trnbench.hookimpl\n"
        "def trnbench_kernels():\n"
        "    yield trnbench.Variant(kernel='nobodys', kind='numpy', source='statistics:median')\n"
    )
    (finding,) = check_plugin(str(path), checks=["references"]).findings
    assert finding.problem == (
        "trnbench_kernels gives kernel = 'nobodys', which cannot be used: "
        "no installed plugin brings a kernel of that name"
    )


def test_a_source_that_no_facts_describe_is_found(tmp_path: Path) -> None:
    path = tmp_path / "unread.py"
    path.write_text(
        "import trnbench\n"
        "from plugin_parts import kernel\n"
        "@trnbench.hookimpl\n"
        "def trnbench_kernels():\n"
        "    yield kernel('unread', tests=(trnbench.Statement(source='no-guide', locator='p', says='s'),))\n"
    )
    (finding,) = check_plugin(str(path), checks=["kernels"]).findings
    assert finding.problem == "tests what source 'no-guide' says, which no fact file describes"


@pytest.mark.parts
def test_a_case_keeps_the_question_and_the_statement() -> None:
    run = trnbench.bench(["tensor_rows"], instances=["trn2-16.48xlarge"], scopes=["core"])
    single, double = run.measurements
    assert single.detail["asks"] == "Does a row that takes two 8-bit floats double the array's rate?"
    (kept,) = single.detail["tests"]
    assert Statement(**kept) == own("trn2")["tensor_rows"].tests[0]
    assert single.metrics["flops_per_s"].value < double.metrics["flops_per_s"].value


def test_the_command_says_what_is_tested() -> None:
    told = typed("info", "tensor_rows")
    assert (
        "nki-arch-v3, tensor engine, double FP8 mode: two rows of fp8 at once give twice the" in told.stdout
    )


# The guide ------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
GUIDE = PAGE.partition("## A generation's own benchmarks")[2].partition("\n## ")[0]
BLOCKS = [
    re.sub(r"^ {4}", "", block, flags=re.M).strip("\n")
    for block in re.findall(r"(?:^ {4}.*\n|^\n(?=\n* {4}))+", GUIDE, re.M)
]
COMMANDS = [line for block in BLOCKS if block.startswith("trnbench ") for line in block.splitlines()]


def test_the_guide_shows_what_is_there() -> None:
    files = [
        re.sub(r"^ +", "", (ROOT / "plugins" / name).read_text(encoding="utf-8"), flags=re.M)
        for name in ("trnbench_trn2/__init__.py", "trnbench_trn2/kernels.toml", "trnbench_trn2/nki/modes.py")
    ]
    shown = [each for each in BLOCKS if not each.startswith("trnbench ")]
    assert len(shown) == len(COMMANDS) == 4
    for block in shown:
        assert any(re.sub(r"^ +", "", block, flags=re.M) in text for text in files), block


@pytest.mark.parts
@pytest.mark.parametrize("line", COMMANDS)
def test_the_guides_commands_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "runs.db"))
    told = typed(*shlex.split(line)[1:])
    assert told.exit_code == 0, told.stderr
