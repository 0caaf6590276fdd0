"""Every option of every command that is installed is a word of a table, and a word has one meaning."""

from __future__ import annotations

import inspect
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from command import installed_commands, typed
from messages import pairs
from parts import part

from trnbench.cli.commands import find_commands
from trnbench.cli.main import cli
from trnbench.errors import UsageError
from trnbench.run.selection import RunSettings
from trnbench.terminal.context import PROGRAM
from trnbench.terminal.declaration import SCREEN, Grown
from trnbench.terminal.old_spelling import renewed
from trnbench.terminal.option import OldSpelling, Option, Table
from trnbench.terminal.vocabulary import WORDS

pytestmark = pytest.mark.parts
EMULATOR = part("trnbench_emulator.commands.vocabulary").WORDS
STEPS = part("trnbench_steps.commands.vocabulary").WORDS
FIDELITY = part("trnbench_fidelity.commands.declarations").WORDS
Job = part("trnbench_steps.job").Job
TABLES = (PROGRAM, WORDS, EMULATOR, STEPS, FIDELITY)


COMMANDS = dict(installed_commands())


def options(command: click.Command) -> list[Option]:
    found = [each for each in command.params if isinstance(each, click.Option)]
    assert all(isinstance(each, Option) for each in found), f"{command.name}: an option of no table"
    return [each for each in found if isinstance(each, Option)]


def kind(option: click.Option) -> str:
    """What a person types behind it, in words: a conflict where two commands take two kinds."""
    if option.is_flag:
        return "nothing"
    choices = getattr(option.type, "choices", None)
    number = getattr(option.type, "kind", None)
    return f"one of {', '.join(choices)}" if choices else number.noun if number else option.type.name


@pytest.mark.parametrize("name", COMMANDS)
def test_help_and_completion_are_those_of_a_table(name: str) -> None:
    """What a command says otherwise of a word stands in its declaration, and names the word."""
    for option in options(COMMANDS[name]):
        words = [table[option.key] for table in TABLES if option.key in table]
        assert words, f"{name} {option.opts}: no table has {option.key!r}"
        assert option.help
        assert any(tuple(option.opts) + tuple(option.secondary_opts) == spelled(word.flags) for word in words)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_word_that_takes_one_value_is_typed_once(name: str) -> None:
    command = COMMANDS[name]
    for option in options(command):
        if not (option.multiple or option.count or option.is_flag):
            flag = max(option.opts, key=len)
            with pytest.raises(UsageError, match=f"{flag} is given 2 times"):
                command.make_context(name, [flag, *["1"] * option.nargs] * 2)


def spelled(flags: tuple[str, ...]) -> tuple[str, ...]:
    """`--color/--no-color` is two."""
    halves = [flag.split("/") for flag in flags]
    return tuple(half[0] for half in halves) + tuple(half[1] for half in halves if len(half) > 1)


def test_a_word_of_the_core_is_taken_from_its_table() -> None:
    for table in (EMULATOR, STEPS, FIDELITY):
        shadowed = [word.key for word in table.own if word.key in WORDS and word is not WORDS[word.key]]
        assert shadowed == []


def among(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """A command may offer some of the choices of another."""
    chosen, offered = (set(kind.removeprefix("one of ").split(", ")) for _, kind in (one, other))
    return one[0] == other[0] and one[1].startswith("one of ") and chosen < offered


def test_a_word_has_one_meaning() -> None:
    meanings: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, command in (("", cli), *COMMANDS.items()):
        for option in options(command):
            for flag in (*option.opts, *option.secondary_opts):
                meanings[flag][option.key, kind(option)].append(name)
    found = {
        flag: sorted(f"{key}: {taken}" for key, taken in apart)
        for flag, words in sorted(meanings.items())
        if len(apart := {word for word in words if not any(among(word, other) for other in words)}) > 1
    }
    assert found == {}


def test_a_word_has_one_default() -> None:
    defaults: dict[str, set[str]] = defaultdict(set)
    for command in COMMANDS.values():
        for option in options(command):
            default = option.to_info_dict()["default"]
            default = default() if callable(default) else default
            defaults[option.key].add("" if default is None else str(default))
    assert {key: known for key, known in defaults.items() if len(known) > 1} == {}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_body_takes_what_is_declared(name: str) -> None:
    command = COMMANDS[name]
    module, _, function = command.callback.body.partition(":")  # type: ignore[union-attr]
    parameters = list(inspect.signature(getattr(import_module(module), function)).parameters.values())[1:]
    gathers = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    taken = {each.name for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD}
    declared = {each.name for each in command.params if each.expose_value}
    assert taken <= declared
    assert gathers or taken == declared


@pytest.mark.parametrize(
    ("struct", "table"), [(RunSettings, WORDS), (Job, STEPS)], ids=lambda each: getattr(each, "__name__", "")
)
def test_a_default_is_that_of_the_struct_that_holds_the_setting(struct: Any, table: Table) -> None:
    """Of words whose name in a body is a field's. What is told as configured, or by the task, has none."""
    known = {field.name: field.default for field in msgspec.structs.fields(struct)}
    compared = []
    for word in table.values():
        told = word.attributes.get("default")
        if word.name in known and word.flags[0].startswith("--") and told not in (None, ""):
            assert str(getattr(known[word.name], "value", known[word.name])) == str(told), word
            compared.append(word.name)
    assert len(compared) >= 1


def test_words_and_commands_are_few() -> None:
    """What issues may add stands beside what stood here: 376 options and 50 commands.

    It was 14 options of pairs, a command with its own that carries out a script, one that
    looks at kernels, three that ask many variants of one, and one that writes a site.
    """
    program = [each for each in cli.params if isinstance(each, click.Option)]
    assert len(COMMANDS) <= 56
    assert len(program) + sum(len(options(command)) for command in COMMANDS.values()) <= 425


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_on_a_screen_and_help_all_has_every_option(name: str) -> None:
    shown = typed(*name.split(), "--help").stdout
    assert len(shown.splitlines()) <= SCREEN
    if not name:
        return
    rare = [option for option in options(COMMANDS[name]) if option.rare]
    everything = typed(*name.split(), "--help-all").stdout if rare else shown
    for option in options(COMMANDS[name]):
        assert max(option.opts, key=len) in everything
    assert ("--help-all" in shown) == bool(rare)


@pytest.mark.parametrize(("old", "new"), pairs(Path(__file__).parent / "old_spellings.txt"))
def test_an_old_spelling_does_the_same_and_says_the_new_one(old: str, new: str) -> None:
    before, now = (typed("--store", "results.db", *words.split()) for words in (old, new))
    assert (before.stdout, before.exit_code) == (now.stdout, now.exit_code)
    notes = [line for line in before.stderr.splitlines() if line.startswith("note: ")]
    assert notes
    assert before.stderr.splitlines()[len(notes) :] == now.stderr.splitlines()
    assert not any(line.startswith("note: ") for line in now.stderr.splitlines())


def test_what_stands_behind_two_dashes_is_no_spelling() -> None:
    old = {"--tag": OldSpelling("--tag", "--label {}", "label")}
    assert renewed(["--tag=a b", "--", "--tag", "x"], old) == ["--label", "a b", "--", "--tag", "x"]


def test_a_group_knows_its_commands_without_making_them() -> None:
    group = find_commands()["runs"].load()
    assert isinstance(group, Grown)
    assert set(group.list_commands(click.Context(group))) == set(group.branch.leaves)
