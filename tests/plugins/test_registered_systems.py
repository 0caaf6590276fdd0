"""Systems by name, alias and size; costs and facts of a base, with the own ones on top."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_parts import KERNEL, generation, instance, kernel, plugin, texts
from stored_run import text_of

import trnbench
from trnbench.errors import PluginError, TopologyError, UnknownName, UsageError
from trnbench.registry import Registry, discover, load_registry
from trnbench.registry.registry import merge

TABLES = st.recursive(
    st.integers(0, 9), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
).filter(lambda value: isinstance(value, dict))


def test_instances_by_name_alias_and_size() -> None:
    one, many = (
        instance("one", aliases=("uno",)),
        instance("many", sizable=True, parent="one", default_size=4),
    )
    registry = Registry.of(a=plugin(trnbench_generations=lambda: [generation("g", instances=(one, many))]))
    assert registry.instance("uno")[1].name == "one"
    assert registry.instance("many:12")[1].name == "many"
    with pytest.raises(UnknownName, match="unknown instance 'onne'") as unknown:
        registry.instance("onne")
    assert unknown.value.cause == "did you mean one?"
    assert text_of(UnknownName, registry.instance, "g") == (
        "unknown instance 'g'\n  cause: g is a generation; its systems are one, many\n"
        "  try:   trnbench list instances --generation g"
    )
    with pytest.raises(UsageError, match="instance 'one' cannot be given a size"):
        registry.instance("one:2")
    assert registry.sized("many:1e3")[2] == registry.sized("many:1000")[2] == 1000
    for size in ("0", "-1", "131073", "1e6", "1.5", "x", "", "²"):
        assert text_of(UsageError, registry.instance, f"many:{size}") == (
            f"{size!r} is no size of many\n"
            "  cause: a size is a whole number of one, 1 to 131,072\n"
            "  try:   many:4"
        )


def test_costs_are_those_of_the_base_with_the_own_ones_on_top(tmp_path: Path) -> None:
    (tmp_path / "facts.toml").write_text("schema = 1\n")
    (tmp_path / "old.toml").write_text("[a]\nx = 1\ny = 2\n[a.deep]\nz = 3\n")
    (tmp_path / "new.toml").write_text("[a]\ny = 20\n[a.deep]\nw = 4\n")
    facts = (tmp_path / "facts.toml",)
    registry = Registry.of(
        a=plugin(
            trnbench_generations=lambda: [
                generation("old", facts=facts, costs=tmp_path / "old.toml"),
                generation("middle", facts=facts, base="old"),
                generation(
                    "new", facts=facts, base="middle", costs=tmp_path / "new.toml", instances=(instance("i"),)
                ),
            ]
        )
    )
    system = registry.system("i")
    assert system.costs == {"a": {"x": 1, "y": 20, "deep": {"z": 3, "w": 4}}}
    assert system.plugin == "a 0"
    assert (system.size, system.name) == (1, "i")


def test_own_figures_go_before_documented_ones(tmp_path: Path) -> None:
    def facts(name: str, printed: str, source: str, head: str = "") -> Path:
        path = tmp_path / name
        path.write_text(
            f'schema = 1\n{head}[sources.{source}]\ndocument = "D"\n'
            f'[[group]]\nsubject = "i"\nscope = "instance"\n'
            f'source = "{source}"\nlocator = "l"\n'
            f'facts = [{{metric = "device_count", printed = "{printed}"}}]\n'
        )
        return path

    registry = Registry.of(
        a=plugin(
            trnbench_generations=lambda: [
                generation("g", facts=(facts("theirs.toml", "16", "d"),), instances=(instance("i"),))
            ]
        )
    )
    assert registry.system("i").devices == 16
    assert registry.system("i", (facts("mine.toml", "12", "m", "override = true\n"),)).devices == 12


def exits(_: trnbench.System) -> None:
    sys.exit(0)


def nothing(_: trnbench.System) -> None:
    pass


@pytest.mark.parametrize(
    ("builder", "does"), [("exits", "raises SystemExit: 0"), ("nothing", "returns NoneType, no Topology")]
)
def test_a_builder_that_builds_no_graph_is_named(tmp_path: Path, builder: str, does: str) -> None:
    (tmp_path / "facts.toml").write_text("schema = 1\n")
    one = instance("one", topology=f"{__name__}:{builder}")
    new = generation("new", facts=(tmp_path / "facts.toml",), instances=(one,))
    registry = Registry.of(acme=plugin(trnbench_generations=lambda: [new]))
    first = globals()[builder].__code__.co_firstlineno
    line = first + (builder == "exits")  # where it raises, else where it begins
    assert text_of(PluginError, registry.system("one").topology) == (
        f"the graph of one is not built: {__name__}:{builder} {does} ({__file__}:{line})\n"
        "  cause: a mistake in the topology builder of acme 0\n"
        "  try:   correct it there, or leave the plugin out: --no-plugin acme"
    )


def takes_racks(_: trnbench.System, *, racks: int = 1) -> None:
    pass


def takes_all(_: trnbench.System, **options: int) -> None:
    pass


def test_what_no_fact_counts_there_is_one_of(tmp_path: Path) -> None:
    (tmp_path / "facts.toml").write_text("schema = 1\n")
    (tmp_path / "costs.toml").write_text('[cannot]\n"dtype:fp8" = "no FP8"\n')
    one = instance("one", topology=f"{__name__}:takes_racks")
    many = instance("many", topology=f"{__name__}:takes_all", sizable=True, parent="one", default_size=4)
    files = {"facts": (tmp_path / "facts.toml",), "costs": tmp_path / "costs.toml"}
    few = instance("few", sizable=True, parent="one")
    new = generation("new", instances=(one, many, few), **files)
    registry = Registry.of(acme=plugin(trnbench_generations=lambda: [new]))
    names = ("one", "many", "many:1", "many:2048", "many:2049")
    system, default, small, largest, larger = map(registry.system, names)
    assert [repr(each) for each in (registry.system("few"), system, default, small, larger)] == [
        "<System few of new: 1 device, 1 core, 1 host>",
        "<System one of new: 1 device, 1 core, 1 host>",
        "<System many of new: 4 devices, 4 cores, 4 hosts>",
        "<System many:1 of new: 1 device, 1 core, 1 host>",
        "<System many:2049 of new: 2,049 devices, 2,049 cores, 2,049 hosts>",
    ]
    assert (system.logical_cores, system.logical_cores_per_device) == (1, 1)
    assert [system.takes("racks"), system.takes("rack"), default.takes("rack")] == [True, False, True]
    asked = ("hosts:4", "hosts:5", "devices:4", "devices:5", "cores:4", "cores:5", "dtype:fp8", "dtype:bf16")
    lacks = "needs 5 {}, many has 4".format
    assert [default.lacks(each) for each in asked] == [
        *("", lacks("hosts"), "", lacks("devices"), "", lacks("cores"), "no FP8", "")
    ]
    assert "returns NoneType" in text_of(PluginError, largest.topology)
    assert text_of(TopologyError, larger.topology) == (
        "the graph of many:2049 is not built\n"
        "  cause: graphs are drawn, checked and listed up to size 2,048\n"
        "  try:   many:2048"
    )


def test_bases_that_lead_nowhere_are_the_plugins_error() -> None:
    registry = Registry.of(
        a=plugin(
            trnbench_generations=lambda: [
                generation("x", base="y"),
                generation("y", base="x"),
                generation("z", base="atlantis"),
            ]
        )
    )
    assert text_of(PluginError, registry.costs, "x") == (
        "plugin 'a' of a 0 brings generation 'x', whose bases go round in a circle\n"
        "  cause: x -> y -> x\n"
        "  try:   remove one base= of them"
    )
    assert text_of(PluginError, registry.costs, "z") == (
        "plugin 'a' of a 0 brings generation 'z', based on 'atlantis', which is not installed\n"
        "  cause: known: x, y, z\n"
        "  try:   install the plugin that brings 'atlantis'"
    )


def test_generation_that_cannot_be_read_is_left_out_and_named_once(tmp_path: Path) -> None:
    def of(name: str, text: str, **more: Any) -> trnbench.Generation:
        (tmp_path / f"{name}.toml").write_text(text)
        return generation(
            name, facts=(tmp_path / f"{name}.toml",), instances=(instance(f"{name}.1"),), **more
        )

    good, bad = of("good", "schema = 1\n"), of("bad", "schema = 2\n")
    round_ = of("round", "schema = 1\n", base="round")
    registry = Registry.of(acme=plugin(trnbench_generations=lambda: [good, bad, round_]))
    for _ in range(2):
        assert registry.readable(registry.instance_names()) == ("good.1",)
    assert [problem.what for problem in registry.problems] == [
        "plugin 'acme' of acme 0 brings generation 'bad', which is left out: "
        f"{tmp_path}/bad.toml: schema 2 is not known here",
        "plugin 'acme' of acme 0 brings generation 'round', whose bases go round in a circle",
    ]
    assert registry.problems[0].try_ == "trnbench plugin check acme, or leave it out: --no-plugin acme"


@given(TABLES, TABLES)
def test_merging_tables_keeps_the_upper_one_and_changes_neither(base: Any, over: Any) -> None:
    before = repr((base, over))
    merged = merge(base, over)
    assert repr((base, over)) == before
    assert merge(merged, over) == merged
    assert merge(base, {}) == base
    assert merge({}, over) == over
    assert set(merged) == set(base) | set(over)


# What a registry holds: names of every plugin, one owner each, nothing called before it is needed ----


def test_names_come_from_every_plugin_and_no_hook_is_called_before_it_is_needed() -> None:
    called = []

    def kernels() -> Iterator[trnbench.Kernel]:
        called.append("kernels")
        yield kernel("one")

    def reports() -> Iterator[trnbench.Section]:
        called.append("reports")
        yield trnbench.Section(name="late", title="Late", order=50, render="a:b")
        yield trnbench.Section(name="early", title="Early", order=5, render="a:b")

    registry = Registry.of(
        a=plugin(trnbench_kernels=kernels, trnbench_reports=reports),
        b=plugin(trnbench_kernels=lambda: [kernel("two")]),
    )
    assert called == []
    assert list(registry.kernels) == ["one", "two"]
    assert list(registry.kernels) == ["one", "two"]
    assert called == ["kernels"]
    assert [section.name for section in registry.sections] == ["early", "late"]
    assert registry.formats == {}
    assert called == ["kernels", "reports"]
    assert [record.name for record in registry.plugins] == ["a", "b"]
    assert registry.problems == ()


def test_generations_come_in_their_own_order() -> None:
    registry = Registry.of(
        a=plugin(trnbench_generations=lambda: [generation("new", order=30), generation("old", order=10)])
    )
    assert list(registry.generations) == ["old", "new"]


def test_paths_may_be_strings_and_are_paths_afterwards() -> None:
    registry = Registry.of(a=plugin(trnbench_generations=lambda: [generation("g", facts=("x.toml",))]))
    assert registry.generations["g"].facts == (Path("x.toml"),)


def test_first_owner_of_a_name_keeps_it_and_the_error_names_both() -> None:
    registry = Registry.of(
        a=plugin(trnbench_kernels=lambda: [kernel("k", title="A")]),
        b=plugin(trnbench_kernels=lambda: [kernel("k", title="B"), kernel("other")]),
    )
    assert [each.title for each in registry.kernels.values()] == ["A", "Test"]
    assert texts(registry) == [
        "plugin 'b' of b 0 brings kernel 'k', which has an owner\n"
        "  cause: plugin 'a' of a 0 has it already; the first one is kept, the one of b 0 is left out\n"
        "  try:   rename one of the two, or leave one out: --no-plugin b"
    ]


def test_every_kind_of_name_has_one_owner() -> None:
    class Machine:
        name = "machine"
        detect = environment = unsupported = observe = None

    def hooks() -> Any:
        return plugin(
            trnbench_generations=lambda: [
                generation("g", instances=(instance("i", aliases=("i.old",)), instance("j")))
            ],
            trnbench_backends=lambda: [Machine()],
            trnbench_reports=lambda: [
                trnbench.Section(name="same", title="S", order=1, render="a:b"),
                trnbench.Format(name="same", title="F", suffix=".f", write="a:b"),
            ],
            trnbench_importers=lambda: [trnbench.Importer(name="imp", title="I", read="a:b")],
        )

    second = plugin(
        trnbench_generations=lambda: [
            generation("h", instances=(instance("i.old"), instance("k", aliases=("j", "k.old"))))
        ]
    )
    registry = Registry.of(a=hooks(), b=hooks(), c=second)
    registry.collect()
    assert [problem.object for problem in registry.problems] == [
        "generation 'g'",
        "instance 'i.old'",
        "alias 'j'",
        "backend 'machine'",
        "section 'same'",
        "format 'same'",
        "importer 'imp'",
    ]
    assert all(problem.distribution in ("b", "c") for problem in registry.problems)
    assert registry.instance_names() == ("i", "j", "k")
    assert registry.instance_names(aliases=True) == ("i", "i.old", "j", "k", "k.old")
    assert (len(registry.sections), len(registry.formats), len(registry.importers)) == (1, 1, 1)


def test_yielding_a_name_twice_is_the_plugins_own_fault() -> None:
    registry = Registry.of(a=plugin(trnbench_kernels=lambda: [kernel("k"), kernel("k")]))
    assert texts(registry)[0].splitlines()[1] == ("  cause: the first one is kept, the second is left out")


def test_builtin_plugins_come_first_and_external_ones_can_be_left_out(install: Any, monkeypatch: Any) -> None:
    install(
        "aaa-early",
        KERNEL + "\n    @trnbench.hookimpl\n    def trnbench_kernels():\n        yield kernel('aaa')\n",
    )
    found, left_out = discover()
    origins = [each.origin for each in found]
    assert [origin.distribution for origin in origins][-1] == "aaa-early"
    assert {origin.distribution for origin in origins[:-1]} == {"trnbench"}
    assert left_out == []
    assert str(origins[-1]) == "plugin 'aaa-early' of aaa-early 1.0"

    registry = load_registry()
    assert "aaa" in registry.kernels
    assert "aaa" not in load_registry(block=["AAA_early"]).kernels
    monkeypatch.setenv("TRNBENCH_NO_EXTERNAL_PLUGINS", "1")
    registry = load_registry()
    assert "aaa" not in registry.kernels
    assert [origin.name for origin in registry.left_out] == ["aaa-early"]
