"""Words of the command line: each has one meaning, which a table says, and options are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

from trnbench.errors import UsageError

if TYPE_CHECKING:
    from trnbench.bounded.kinds import Number

FILE, NO_FOLDER, FOLDER = "file", "no folder", "folder"
"""`Word.takes` of a path: of any, of one that is no folder, of one that is no file."""

_CLICK = {"many": "multiple", "offers": "shell_complete"}


def typed_flags(context: click.Context, names: Iterable[str]) -> dict[str, str]:
    """Those of the options named so that stand on the command line, each with its long flag."""
    own = {each.name: each.opts[-1] for each in context.command.params}
    from_line = click.core.ParameterSource.COMMANDLINE
    return {name: own[name] for name in names if context.get_parameter_source(name) is from_line}


def check_needs(context: click.Context, needs: Mapping[str, str]) -> None:
    """Raises `UsageError` for an option on the command line that says nothing without others, or with one;
    `needs`: the keys of those by its own, a `!` before the one that it says nothing with."""
    options = {each.key: each for each in context.command.params if isinstance(each, Option)}
    typed = typed_flags(context, [each.name or "" for each in options.values()])
    for key, wanted in needs.items():
        without = not wanted.startswith("!")
        others = [options[name] for name in wanted.removeprefix("!").split()]
        if options[key].name in typed and without is not any(each.name in typed for each in others):
            named = " or ".join(map(_title, others))
            first = f"{_title(others[0])} {others[0].make_metavar(context)}"
            raise UsageError(
                f"{_title(options[key])} says nothing {'without' if without else 'with'} {named}",
                cause="nothing here depends on it",
                try_=f"leave it out, or {first if without else f'leave {named} out'}",
            )


class NumberType(click.ParamType[float]):
    """A number of `kind`: an int of what is counted, else a float."""

    def __init__(self, kind: Number) -> None:
        self.kind, self.counted = kind, kind.whole or kind.floored
        self.name = "integer" if self.counted else "float"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Raises `UsageError` with the option, what it takes, and an example."""
        name = _title(param)
        if isinstance(value, int | float):
            return self.kind.checked(value, name)
        return (self.kind.counted if self.counted else self.kind.real)(str(value), name)


def _title(param: click.Parameter | None) -> str:
    """--jobs of -j, --jobs; the metavar of an argument."""
    if param is None:
        return "the number"
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(click.Context(click.Command(param.name or "")))


def _repeated(title: str, typed: list[Any]) -> UsageError:
    values = [" ".join(each) if isinstance(each, tuple) else str(each) for each in typed]
    return UsageError(
        f"{title} is given {len(values)} times",
        cause=f"it takes one value: {', '.join(values)}",
        try_=f"{title} {values[-1]}",
    )


class Option(click.Option):
    """An option that a table has: `key` is its word there. One that takes one value is typed once."""

    key: str
    heading: str
    rare: bool

    @property
    def _once(self) -> bool:
        """A flag may be repeated: it says the same again."""
        return not (self.multiple or self.count or self.is_flag)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        if self._once:
            parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append", nargs=self.nargs)
        else:
            super().add_to_parser(parser, ctx)

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Raises `UsageError` for a second value: what is typed holds, or is refused."""
        typed = opts.get(self.name or "") if self._once else None
        if isinstance(typed, list):
            if len(typed) > 1 and not ctx.resilient_parsing:
                raise _repeated(_title(self), typed)
            opts = {**opts, self.name or "": typed[-1]}
        return super().handle_parse_result(ctx, opts, args)


class Word(NamedTuple):
    """What a word means and takes, wherever it stands.

    `flags` are typed; without dashes it is an argument. The body of a command gets the value as `name`.
    `takes` is a kind of number, the words to choose from, `bool` for a flag, `FILE`, or a type of click.
    Help shows it under `heading`; a `rare` one stands in --help-all alone where a screen has no room for all.
    """

    key: str
    flags: tuple[str, ...]
    name: str
    takes: Any
    attributes: Mapping[str, Any]
    rare: bool = False
    heading: str = ""

    def but(self, **attributes: Any) -> Word:
        """The same meaning, with another default, number of values, name in the body, or sentence of help."""
        fields = {key: attributes.pop(key) for key in ("name", "takes", "rare") if key in attributes}
        return self._replace(**fields, attributes={**self.attributes, **_named(attributes)})

    def parameter(self) -> click.Parameter:
        """As click has it."""
        attributes = dict(self.attributes)
        if self.takes is bool:
            attributes["is_flag"] = True
        elif self.takes is not None:
            attributes["type"] = self._type()
        if not self.flags[0].startswith("-"):
            return click.Argument([self.name], **attributes)
        option = Option([*self.flags, self.name], **attributes)
        option.key, option.heading, option.rare = self.key, self.heading, self.rare
        return option

    def _type(self) -> Any:
        if isinstance(self.takes, click.ParamType):
            return self.takes
        if self.takes in (FILE, NO_FOLDER, FOLDER):
            from pathlib import Path  # as dear as all that --help needs of ours

            return click.Path(
                path_type=Path, dir_okay=self.takes != NO_FOLDER, file_okay=self.takes != FOLDER
            )
        return NumberType(self.takes) if hasattr(self.takes, "parsed") else click.Choice(self.takes)


def word(
    flags: str, help: str = "", takes: Any = None, metavar: str = "", *, key: str = "", **attributes: Any
) -> Word:
    """A row of a table: `word("-i --instance", "The system.", metavar="NAME", many=True, name="instances")`.

    `key` is the longest flag without dashes unless given; so is `name`. `shown` is a default that help tells.
    """
    typed = tuple(flags.split())
    longest = max(typed, key=len).partition("/")[0].lstrip("-")
    name, rare = attributes.pop("name", longest.replace("-", "_")), attributes.pop("rare", False)
    if typed[0].startswith("-"):
        attributes["help"] = help
    if metavar:
        attributes["metavar"] = metavar
    return Word(key or longest, typed, name, takes, _named(attributes), rare)


def _named(attributes: dict[str, Any]) -> dict[str, Any]:
    """With click's names."""
    if "shown" in attributes:
        attributes |= {"default": attributes.pop("shown"), "show_default": True}
    return {_CLICK.get(name, name): value for name, value in attributes.items()}


VALUE = "{}"
"""In a new spelling: the value that was typed behind the old flag."""


class OldSpelling(NamedTuple):
    """`flag` is typed as `new` now: `--wide` as `--format wide`, `--tag X` as `--label {}`.

    `to` is the key of the word that has its meaning now: commands that take it know the old flag.
    """

    flag: str
    new: str
    to: str

    def words(self, value: str) -> list[str]:
        """What stands for the old flag; a value that holds spaces stays one word."""
        return [word.replace(VALUE, value) for word in self.new.split()]


Section: TypeAlias = "tuple[str, tuple[Word, ...]]"
"""A heading of help, and the words below it."""


def section(heading: str, *words: Word) -> Section:
    """Words that help shows under one heading."""
    return heading, words


class Table(dict[str, Word]):
    """The words of a package, by their keys; `base` has those that it shares with others.

    `old` are spellings of the version before.
    """

    def __init__(
        self, *sections: Section, base: Table | None = None, old: Iterable[OldSpelling] = ()
    ) -> None:
        self.own = tuple(each._replace(heading=heading) for heading, words in sections for each in words)
        super().__init__({**(base or {}), **{each.key: each for each in self.own}})
        inherited: tuple[OldSpelling, ...] = base.old if base is not None else ()
        self.old: tuple[OldSpelling, ...] = (*inherited, *old)

    def words(self, keys: str, own: Mapping[str, Mapping[str, Any]]) -> Iterator[Word]:
        """Those of `keys`, in their order; `own` is what a command says otherwise of one."""
        for key in keys.split():
            yield self[key].but(**own[key]) if key in own else self[key]

    def spellings(self, words: Iterable[Word]) -> dict[str, OldSpelling]:
        """Old flag → what a command of `words` takes for it now."""
        taken = list(words)
        keys, flags = {each.key for each in taken}, {flag for each in taken for flag in each.flags}
        return {each.flag: each for each in self.old if each.to in keys and each.flag not in flags}
