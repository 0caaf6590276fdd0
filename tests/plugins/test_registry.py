"""What a registry holds, and what it does with plugins that misbehave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trnbench
from trnbench.errors import PluginError, UnknownName, UsageError
from trnbench.kernels.work import Work
from trnbench.registry import Registry, discover, load_registry
from trnbench.registry.costs import merge

KERNEL = """
    import trnbench
    from trnbench import Axis, Kernel, PrimaryMetric, Scope, Work

    def kernel(name):
        return Kernel(
            name=name, family="test", title="Test", about="Tests.",
            axes=(Axis(name="size", values=(1, 2)),), scopes=(Scope.CORE,),
            primary=PrimaryMetric(name="latency_s", unit="s", better="lower"),
            work=lambda point, extent: Work(), footprint=lambda point, extent: {},
            requires=lambda point: (),
        )
"""


def kernel(name: str, **changes: Any) -> trnbench.Kernel:
    fields: dict[str, Any] = {
        "family": "test",
        "title": "Test",
        "about": "Tests.",
        "axes": (trnbench.Axis(name="size", values=(1, 2)),),
        "scopes": (trnbench.Scope.CORE,),
        "primary": trnbench.PrimaryMetric(name="latency_s", unit="s", better="lower"),
        "work": lambda point, extent: Work(),
        "footprint": lambda point, extent: {},
        "requires": lambda point: (),
    }
    return trnbench.Kernel(name=name, **{**fields, **changes})


def generation(name: str, **changes: Any) -> trnbench.Generation:
    fields: dict[str, Any] = {"title": name.title(), "order": 1, "facts": (Path("facts.toml"),)}
    return trnbench.Generation(name=name, **{**fields, **changes})


def instance(name: str, **changes: Any) -> trnbench.Instance:
    fields: dict[str, Any] = {
        "title": name,
        "scope": trnbench.Scope.INSTANCE,
        "device": "device",
        "core": "core",
        "topology": "nowhere:build",
    }
    return trnbench.Instance(name=name, **{**fields, **changes})


def plugin(**hooks: Callable[[], Any]) -> Any:
    """An object with these hooks, marked."""
    body: dict[str, Any] = {"trnbench_contract": 1}
    for name, function in hooks.items():
        body[name] = staticmethod(trnbench.hookimpl(function))
    return type("Plugin", (), body)()


def texts(registry: Registry) -> list[str]:
    registry.collect()
    return [str(problem) for problem in registry.problems]


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


def test_hook_that_raises_half_way_leaves_nothing_of_that_hook_and_all_of_the_others() -> None:
    def kernels() -> Iterator[trnbench.Kernel]:
        yield kernel("kept_nowhere")
        raise ValueError("out of paper\nsecond line")

    registry = Registry.of(
        bad=plugin(trnbench_kernels=kernels, trnbench_generations=lambda: [generation("g")]),
        good=plugin(trnbench_kernels=lambda: [kernel("fine")]),
    )
    assert list(registry.kernels) == ["fine"]
    assert list(registry.generations) == ["g"]
    (problem,) = registry.problems
    assert problem.what == "plugin 'bad' of bad 0 failed in trnbench_kernels after 1 of its values"
    assert problem.cause.startswith(f"ValueError: out of paper ({__file__}:")
    assert problem.try_ == "trnbench plugin check bad, or leave it out: --no-plugin bad"
    assert (problem.plugin, problem.distribution, problem.version) == ("bad", "bad", "0")
    assert (problem.hook, problem.object) == ("trnbench_kernels", "Kernel 'kept_nowhere'")
    assert registry.plugins[0].error == problem.what
    assert registry.plugins[1].error == ""


def test_hook_that_ends_the_process_does_not() -> None:
    def kernels() -> Iterator[trnbench.Kernel]:
        sys.exit("bye")
        yield kernel("never")

    registry = Registry.of(bad=plugin(trnbench_kernels=kernels))
    assert registry.kernels == {}
    assert registry.problems[0].cause.startswith("SystemExit: bye")


@pytest.mark.parametrize(
    ("hook", "value", "cause", "try_"),
    [
        ("trnbench_kernels", 7, "trnbench_kernels takes a Kernel, not int", "yield trnbench.Kernel(...)"),
        ("trnbench_kernels", trnbench.Kernel, "it is the class itself", "yield Kernel(...)"),
        (
            "trnbench_importers",
            None,
            "trnbench_importers takes an Importer, not NoneType",
            "yield trnbench.Importer(...)",
        ),
        (
            "trnbench_reports",
            trnbench.Section(name="s", title="S", order="first", render="a:b"),  # type: ignore[arg-type]
            "Expected `int`, got `str` - at `$.order`",
            "see the fields of trnbench.Section",
        ),
        (
            "trnbench_reports",
            trnbench.Format(name="a b", title="S", suffix=".x", write="a:b"),
            "'a b' is no name of a Format",
            "use letters, digits, '.', '_', '+' and '-', starting with a letter or digit",
        ),
        (
            "trnbench_generations",
            generation("g", facts=()),
            "it names no fact file",
            'give facts=(HERE / "facts.toml",)',
        ),
        (
            "trnbench_generations",
            generation("g", instances=(instance("i", scope="galaxy"),)),
            "Invalid enum value 'galaxy' - at `$.instances[0].scope`",
            "see the fields of trnbench.Generation",
        ),
        (
            "trnbench_generations",
            generation("g", instances=(instance("i:4"),)),
            "'i:4' is no name of an Instance",
            "use letters, digits, '.', '_', '+' and '-', starting with a letter or digit",
        ),
        (
            "trnbench_generations",
            generation("g", instances=(instance("i", sizable=True),)),
            "instance 'i' is sizable but has no parent",
            "name in parent= the instance it is made of",
        ),
        ("trnbench_kernels", kernel("k", work=None), "work is no function", "give work=a function"),
        ("trnbench_kernels", kernel("k", scopes=()), "scopes is no tuple of at least one Scope", "give "),
        (
            "trnbench_kernels",
            kernel("k", axes=(trnbench.Axis(name="n", values=()),)),
            "axis 'n' has no values",
            "give values=(…,)",
        ),
        (
            "trnbench_kernels",
            kernel("k", axes=(trnbench.Axis(name="n", values=(1,)),) * 2),
            "two axes share a name: ['n', 'n']",
            "rename one of them",
        ),
        (
            "trnbench_kernels",
            kernel("k", default_scopes=(trnbench.Scope.DEVICE,)),
            "default_scopes has a scope that scopes has not",
            "name in default_scopes some of scopes",
        ),
        ("trnbench_kernels", kernel("k", zipped=(("size", "n"),)), "zipped names no axis: n", "axes: size"),
        (
            "trnbench_backends",
            object(),
            "object is no Backend: it lacks name, detect, environment, unsupported, observe",
            "implement every member of trnbench.Backend",
        ),
        ("trnbench_backends", dict, "it is the class itself", "yield dict()"),
    ],
)
def test_wrong_value_is_refused_with_cause_and_remedy(hook: str, value: Any, cause: str, try_: str) -> None:
    registry = Registry.of(bad=plugin(**{hook: lambda: [value]}))
    assert registry.brought(hook) == ()
    (problem,) = registry.problems
    assert problem.what.startswith(f"plugin 'bad' of bad 0 yields from {hook} what it should not: ")
    assert problem.cause == cause
    assert problem.try_.startswith(try_)
    assert problem.hook == hook


def test_returning_a_value_instead_of_yielding_it_is_explained() -> None:
    registry = Registry.of(bad=plugin(trnbench_kernels=lambda: kernel("k")))
    assert texts(registry) == [
        "plugin 'bad' of bad 0 returned Kernel from trnbench_kernels\n"
        "  cause: a hook returns an iterable of values\n"
        "  try:   write `yield value` instead of `return value`"
    ]


def test_paths_may_be_strings_and_are_paths_afterwards() -> None:
    registry = Registry.of(a=plugin(trnbench_generations=lambda: [generation("g", facts=("x.toml",))]))
    assert registry.generations["g"].facts == (Path("x.toml"),)


def test_misspelt_hook_is_named_with_the_one_that_was_meant() -> None:
    registry = Registry.of(bad=plugin(trnbench_kernel=lambda: ()), good=plugin(trnbench_kernels=lambda: ()))
    assert texts(registry) == [
        "plugin 'bad' of bad 0 implements 'trnbench_kernel', which is no hook of trnbench\n"
        "  cause: did you mean trnbench_kernels?\n"
        "  try:   correct the function's name, or mark it @trnbench.hookimpl(optionalhook=True)"
    ]
    assert registry.loaded[1].hooks == ("trnbench_kernels",)


def test_hook_for_a_later_version_may_be_optional() -> None:
    class Plugin:
        @trnbench.hookimpl(optionalhook=True)
        def trnbench_weather(self) -> list[int]:
            return []

        @trnbench.hookimpl
        def trnbench_kernels(self) -> list[trnbench.Kernel]:
            return [kernel("k")]

    registry = Registry.of(a=Plugin())
    assert list(registry.kernels) == ["k"]
    assert registry.problems == ()


def test_arguments_a_hook_does_not_have_are_an_error() -> None:
    registry = Registry.of(bad=plugin(trnbench_kernels=lambda config: []))  # type: ignore[misc]
    (text,) = texts(registry)
    assert text == (
        "plugin 'bad' of bad 0 implements trnbench_kernels with arguments or options the hook does not have\n"
        "  cause: Argument(s) {'config'} are declared in the hookimpl but can not be found in the hookspec\n"
        "  try:   take no argument but those of trnbench_kernels in docs/plugins.md"
    )


def test_hook_without_the_mark_is_found_out() -> None:
    class Plugin:
        def trnbench_kernels(self) -> list[trnbench.Kernel]:
            return []

    assert texts(Registry.of(bad=Plugin(), empty=object())) == [
        "plugin 'bad' of bad 0 implements no hook: trnbench_kernels is not marked\n"
        "  cause: a hook without @trnbench.hookimpl is never called\n"
        "  try:   write @trnbench.hookimpl above it",
        "plugin 'empty' of empty 0 implements no hook\n"
        "  cause: empty has none of trnbench_generations, trnbench_kernels, trnbench_backends, "
        "trnbench_reports, trnbench_importers\n"
        "  try:   name the module that has them in the pyproject.toml of empty",
    ]


def test_newer_contract_is_refused_by_its_number() -> None:
    whole = plugin(trnbench_kernels=lambda: [kernel("k")])
    whole.trnbench_contract = 9
    one = plugin(trnbench_generations=lambda: [generation("g", contract=2), generation("h")])
    registry = Registry.of(whole=whole, one=one)
    assert texts(registry) == [
        "plugin 'whole' of whole 0 is written for plugin contract 9; this trnbench speaks 1\n"
        "  cause: the plugin is newer than trnbench\n"
        "  try:   pip install --upgrade trnbench, or an older whole",
        "plugin 'one' of one 0 yields generation 'g', written for plugin contract 2; this trnbench speaks 1\n"
        "  cause: the plugin is newer than trnbench\n"
        "  try:   pip install --upgrade trnbench, or an older one",
    ]
    assert list(registry.generations) == ["h"]


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
        str(generic.value)
        == "unknown instance 'g'\n  cause: known: many, one\n  try:   trnbench list instances --generation g"
    )
    with pytest.raises(UsageError, match="instance 'one' cannot be given a size"):
        registry.instance("one:2")
    for size in ("0", "-1", "x", "", "1e3", "²"):
        with pytest.raises(UsageError) as refused:
            registry.instance(f"many:{size}")
        assert str(refused.value) == (
            f"{size!r} is no size of many\n"
            "  cause: a size is a whole number of one, 1 or more\n"
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


TABLES = st.recursive(
    st.integers(0, 9), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
).filter(lambda value: isinstance(value, dict))


@given(TABLES, TABLES)
def test_merging_tables_keeps_the_upper_one_and_changes_neither(base: Any, over: Any) -> None:
    before = repr((base, over))
    merged = merge(base, over)
    assert repr((base, over)) == before
    assert merge(merged, over) == merged
    assert merge(base, {}) == base
    assert merge({}, over) == over
    assert set(merged) == set(base) | set(over)


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
