"""What a registry holds: names of every plugin, one owner each, nothing called before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plugin_parts import KERNEL, generation, instance, kernel, plugin, texts

import trnbench
from trnbench.errors import UnknownName
from trnbench.registry import Registry, discover, load_registry


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
    assert texts(registry)[0].splitlines()[1] == (
        "  cause: yields it twice; the first one is kept, the one of a 0 is left out"
    )


def test_what_a_plugin_prints_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    def kernels() -> list[trnbench.Kernel]:
        print("hello from a plugin")
        return []

    Registry.of(a=plugin(trnbench_kernels=kernels)).collect()
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "hello from a plugin\n")


def test_trace_prints_each_call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TRNBENCH_PLUGIN_TRACE", "1")
    _ = Registry.of(a=plugin(trnbench_kernels=lambda: [kernel("k")])).kernels
    assert capsys.readouterr().err.startswith("trnbench plugin: trnbench_kernels <- a (a 0): 1 yielded in ")


def test_builtin_plugins_come_first_and_external_ones_can_be_left_out(
    install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_leaving_out_a_plugin_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnknownName) as error:
        load_registry(block=["reprots"])
    assert error.value.what == "unknown plugin 'reprots'"
    assert "did you mean reports" in error.value.cause
