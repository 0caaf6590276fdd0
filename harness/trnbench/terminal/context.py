"""What the options before the command say, and what all commands share in one invocation."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import click

from trnbench.errors import StoreError
from trnbench.terminal.option import Table, section, word

if TYPE_CHECKING:
    from pathlib import Path

    from trnbench.facts.fact import PeakPolicy
    from trnbench.registry import Registry
    from trnbench.store.cache import Cache
    from trnbench.store.store import Store
    from trnbench.terminal.settings import Settings

_OF_STORE = re.compile(r"\btrnbench (?=(?:compare|export|gate|history|import|report|resume|runs?|store)\b)")
"""Commands that look into the store."""


class Session:
    """The `ctx.obj` of every command; `@session` hands it to one."""

    def __init__(self) -> None:
        self.store: Path | None = None  # --store; else see `settings`
        self.no_plugin: tuple[str, ...] = ()
        self.verbosity = 0  # -1 with -q, 1 with -v
        self.use_cache = True
        self._kept = ""
        self.on_kept: Callable[[str], None] = lambda _: None  # told of what `kept` is set to
        self._caches: list[Cache] = []

    @property
    def kept(self) -> str:
        """What an interruption leaves behind, for the last line."""
        return self._kept

    @kept.setter
    def kept(self, text: str) -> None:
        self._kept = text
        self.on_kept(text)

    @cached_property
    def registry(self) -> Registry:
        """Loaded once per invocation, without the plugins of --no-plugin."""
        from trnbench.registry import load_registry

        registry = load_registry(block=(*self.no_plugin, *self.settings.no_plugin))
        with suppress(StoreError):  # a command that needs no store does not ask for a good name of one
            if (cache := self.cache()) is not None:
                from trnbench.facts.files import Memo
                from trnbench.store.cache import RememberedFiles

                registry.reading = Memo(RememberedFiles(cache))
        return registry

    @cached_property
    def settings(self) -> Settings:
        """Defaults, files and environment; options of the command itself go over them."""
        from trnbench.terminal.settings import load_settings

        return load_settings()

    @property
    def store_path(self) -> Path | None:
        """--store, TRNBENCH_STORE or the configured store; None for the default place."""
        return self.store or self.settings.store

    def open_store(self) -> Store:
        """The store, for what may write to it: that it has to be brought up to date is said."""
        from trnbench.store.store import Store
        from trnbench.terminal.output import say

        store = Store(self.store_path)
        store.on_change = say
        return store

    def typed(self, text: str) -> str:
        """Commands in a message with the --store that this one was given."""
        if self.store is None:
            return text
        import shlex

        option = f"trnbench --store {shlex.quote(str(self.store))} "
        return _OF_STORE.sub(lambda _: option, text)

    def facts_of(self, files: tuple[Path, ...]) -> tuple[Path, ...]:
        """The user's fact files: those configured, then `files`; the last to speak of a figure wins."""
        return (*self.settings.facts, *files)

    def policy_of(self, policy: str | None) -> PeakPolicy:
        """Which of the disagreeing documents percentages are taken of: `policy`, else what is configured.

        Raises `UnknownName` for a word that is no policy.
        """
        from trnbench.facts.fact import as_policy

        return as_policy(policy or self.settings.policy)

    def seed_of(self, seed: int | None) -> int:
        """Of random data: `seed`, else what is configured."""
        return self.settings.seed if seed is None else seed

    def cache(self) -> Cache | None:
        """What was computed before, beside the store; None with --no-cache. Not opened yet, and closed with
        the command."""
        from trnbench.store.cache import Cache
        from trnbench.store.path import store_path

        if not self.use_cache:
            return None
        self._caches.append(cache := Cache(store_path(self.store_path)))
        return cache

    def close(self) -> None:
        """What the command leaves open."""
        while self._caches:
            self._caches.pop().close()

    def warn_of_plugins(self) -> None:
        """One line per plugin problem met so far; commands that list them themselves call `hush`."""
        if "registry" in vars(self) and self.verbosity >= 0 and not self._hushed:
            from trnbench.terminal.output import say

            for problem in self.registry.problems:
                say(f"warning: {problem.what} (trnbench plugin list)")

    def supervise(self) -> None:
        """From here on the command works below the process that was typed, where there are plugins of others
        that nobody trusts."""
        from trnbench.distribution import normalised, others
        from trnbench.isolation.supervision import Suspect, offered, supervise

        if not offered() or not others():
            return  # without any, no settings are read
        left_out = set(map(normalised, (*self.no_plugin, *self.settings.no_plugin)))
        loaded = (
            each
            for each in others(self.settings.trusted)
            if left_out.isdisjoint(map(normalised, (each.name, each.distribution)))
        )
        if found := list(loaded):
            supervise([Suspect(each.name, each.distribution, each.words, each.value) for each in found])

    def hush(self) -> None:
        """The command shows plugin problems itself."""
        self._hushed = True

    _hushed = False


session = click.make_pass_decorator(Session, ensure=True)
"""For commands of plugins that are written with click alone."""


def _version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from trnbench.version import line

        click.echo(line())
        ctx.exit()


def _no_plugin(ctx: click.Context, _param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    ctx.command.block = names  # type: ignore[attr-defined]  # what `Program` leaves out
    return names


def _color(ctx: click.Context, _param: click.Parameter, chosen: bool | None) -> None:
    ctx.color = chosen


PROGRAM = Table(
    section(
        "Options",
        word(
            "--version",
            "Print the version and stop.",
            bool,
            is_eager=True,
            expose_value=False,
            callback=_version,
        ),
        word("-q --quiet", "No progress and no warnings.", bool),
        word("-v --verbose", "Say more; twice for most.", count=True),
        word(
            "--no-plugin",
            "Leave out a plugin. Repeatable.",
            metavar="NAME",
            many=True,
            is_eager=True,
            callback=_no_plugin,
        ),
        word("--no-cache", "Use and keep nothing that was worked out.", bool),
        word("--store", "The database of results (or TRNBENCH_STORE).", click.Path(), "PATH"),
        word(
            "--color/--no-color",
            "Colours, whatever the terminal (or NO_COLOR).",
            default=None,
            expose_value=False,
            callback=_color,
        ),
    )
)
"""The options before the command."""
