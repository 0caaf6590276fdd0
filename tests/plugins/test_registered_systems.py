"""Systems by name, alias and size; costs and facts of a base, with the own ones on top."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_parts import generation, instance, plugin

from trnbench.errors import PluginError, UnknownName, UsageError
from trnbench.registry import Registry
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
    with pytest.raises(UnknownName) as generic:
        registry.instance("g")
    assert (
        str(generic.value) == "unknown instance 'g'\n  cause: g is a generation; its systems are one, many\n"
        "  try:   trnbench list instances --generation g"
    )
    with pytest.raises(UsageError, match="instance 'one' cannot be given a size"):
        registry.instance("one:2")
    assert registry.sized("many:1e3")[2] == registry.sized("many:1000")[2] == 1000
    for size in ("0", "-1", "2049", "1e4", "1.5", "x", "", "²"):
        with pytest.raises(UsageError) as refused:
            registry.instance(f"many:{size}")
        assert str(refused.value) == (
            f"{size!r} is no size of many\n"
            "  cause: a size is a whole number of one, 1 to 2,048\n"
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
                    "new",
                    facts=facts,
                    base="middle",
                    costs=tmp_path / "new.toml",
                    instances=(instance("i"),),
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
    with pytest.raises(PluginError) as circle:
        registry.costs("x")
    assert str(circle.value) == (
        "plugin 'a' of a 0 brings generation 'x', whose bases go round in a circle\n"
        "  cause: x -> y -> x\n"
        "  try:   remove one base= of them"
    )
    with pytest.raises(PluginError) as missing:
        registry.costs("z")
    assert str(missing.value) == (
        "plugin 'a' of a 0 brings generation 'z', based on 'atlantis', which is not installed\n"
        "  cause: known: x, y, z\n"
        "  try:   install the plugin that brings 'atlantis'"
    )


@given(TABLES, TABLES)
def test_merging_tables_keeps_the_upper_one_and_changes_neither(base: Any, over: Any) -> None:
    before = repr((base, over))
    merged = merge(base, over)
    assert repr((base, over)) == before
    assert merge(merged, over) == merged
    assert merge(base, {}) == base
    assert merge({}, over) == over
    assert set(merged) == set(base) | set(over)
