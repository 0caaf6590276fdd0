"""Hooks that raise, return the wrong thing, are misspelt or too new: refused, with cause and remedy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import plugin_parts
import pytest
from messages import messages
from plugin_parts import generation, kernel, plugin, texts

import trnbench
from trnbench.registry import Registry


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


@pytest.mark.parametrize(("yields", "message", "_"), messages(Path(__file__).with_name("wrong_values.txt")))
def test_wrong_value_is_refused_with_cause_and_remedy(yields: str, message: str, _: int) -> None:
    hook, value = yields.split(": ", 1)
    registry = Registry.of(
        bad=plugin(**{hook: lambda: [eval(value, {**vars(plugin_parts), "trnbench": trnbench})]})
    )
    assert registry.brought(hook) == ()
    assert texts(registry) == [message]
    assert registry.problems[0].hook == hook


def test_a_kernel_of_as_many_points_as_one_may_have() -> None:
    sizes = {"a": 400, "b": 250, "c": 250}  # the last two move together
    axes = tuple(trnbench.Axis(name=name, values=tuple(range(size))) for name, size in sizes.items())
    largest = kernel("k", axes=axes, zipped=(("b", "c"),), tests=())
    assert Registry.of(good=plugin(trnbench_kernels=lambda: [largest])).kernels == {"k": largest}


def test_returning_a_value_instead_of_yielding_it_is_explained() -> None:
    registry = Registry.of(bad=plugin(trnbench_kernels=lambda: kernel("k")))
    assert texts(registry) == [
        "plugin 'bad' of bad 0 returned Kernel from trnbench_kernels\n"
        "  cause: a hook returns an iterable of values\n"
        "  try:   write `yield value` instead of `return value`"
    ]


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
        "plugin 'bad' of bad 0 has trnbench_kernels, which is not marked as a hook\n"
        "  cause: a hook without @trnbench.hookimpl is never called\n"
        "  try:   write @trnbench.hookimpl above it",
        "plugin 'empty' of empty 0 implements no hook\n"
        "  cause: empty has none of trnbench_generations, trnbench_kernels, trnbench_backends, "
        "trnbench_reports, trnbench_importers, trnbench_workloads, "
        "trnbench_expectations, trnbench_executors, trnbench_traces, trnbench_checks\n"
        "  try:   name the module that has them in the pyproject.toml of empty",
    ]


def test_a_hook_without_its_mark_is_not_passed_over_beside_others() -> None:
    bad = plugin(trnbench_kernels=lambda: [kernel("k")])
    bad.trnbench_generations = lambda: [generation("g")]
    registry = Registry.of(bad=bad)
    assert list(registry.kernels) == []
    assert texts(registry) == [
        "plugin 'bad' of bad 0 has trnbench_generations, which is not marked as a hook\n"
        "  cause: a hook without @trnbench.hookimpl is never called\n"
        "  try:   write @trnbench.hookimpl above it",
    ]


def test_a_contract_in_quotes_is_no_newer_one() -> None:
    bad = plugin(trnbench_kernels=lambda: [kernel("k")])
    bad.trnbench_contract = "4"
    assert texts(Registry.of(bad=bad)) == [
        "plugin 'bad' of bad 0 says trnbench_contract = '4'\n"
        "  cause: a contract is a whole number\n"
        "  try:   trnbench_contract = 4",
    ]


def test_newer_contract_is_refused_by_its_number() -> None:
    whole = plugin(trnbench_kernels=lambda: [kernel("k")])
    whole.trnbench_contract = 9
    one = plugin(trnbench_generations=lambda: [generation("g", contract=9), generation("h")])
    registry = Registry.of(whole=whole, one=one)
    assert texts(registry) == [
        "plugin 'whole' of whole 0 is written for plugin contract 9; this trnbench speaks 4\n"
        "  cause: the plugin is newer than trnbench\n"
        "  try:   pip install --upgrade trnbench, or an older whole",
        "plugin 'one' of one 0 yields generation 'g', written for plugin contract 9; this trnbench speaks 4\n"
        "  cause: the plugin is newer than trnbench\n"
        "  try:   pip install --upgrade trnbench, or an older one",
    ]
    assert list(registry.generations) == ["h"]


def test_paths_of_former_contracts_are_taken_and_named(tmp_path: Path) -> None:
    """Points and steps are read from where they are; what to give instead is told."""
    steps, points = tmp_path / "of_models.toml", tmp_path / "points.toml"
    given = {"published": points, "published_steps": steps, "bands": tmp_path / "b", "graphs": tmp_path / "g"}
    registry = Registry.of(old=plugin(trnbench_generations=lambda: [generation("g", **given)]))
    assert registry.generations["g"].steps_file == steps
    assert registry.generations["g"].points_file == points
    assert texts(registry) == [
        "plugin 'old' of old 0 brings generation 'g' with published_steps=, bands=, graphs=, "
        "as contracts 1 to 3 had it\n"
        "  cause: published= is a folder now and answers= one file; old answers are not read\n"
        '  try:   give instead published=HERE / "published", with steps.toml in it; '
        'answers=HERE / "answers.json" (docs/plugins.md)'
    ]


def test_published_is_a_folder_or_a_file_of_points(tmp_path: Path) -> None:
    (tmp_path / "points.toml").write_text("")
    (tmp_path / "untouched.toml").write_text("")
    one, other = generation("g", published=tmp_path), generation("h", published=tmp_path / "points.toml")
    assert one.points_file == other.points_file == tmp_path / "points.toml"
    assert (one.steps_file, one.untouched_file) == (None, tmp_path / "untouched.toml")
    assert (other.steps_file, other.untouched_file) == (None, None)
    assert generation("i").points_file is None
