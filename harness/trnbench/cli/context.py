"""What the options before the command say, and what all commands share in one invocation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import click

from trnbench.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from trnbench.cli.settings import Settings
    from trnbench.registry import Registry
    from trnbench.store.cache import Cache


class Session:
    """The `ctx.obj` of every command; `@session` hands it to one."""

    def __init__(self) -> None:
        self.store: Path | None = None  # --store; else see `settings`
        self.no_plugin: tuple[str, ...] = ()
        self.verbosity = 0  # -1 with -q, 1 with -v
        self.use_cache = True
        self._kept = ""
        self.on_kept: Callable[[str], None] = lambda _: None  # told of what `kept` is set to

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
                from trnbench.registry.reading import Once
                from trnbench.store.remembered_files import RememberedFiles

                registry.reading = Once(RememberedFiles(cache))
        return registry

    @cached_property
    def settings(self) -> Settings:
        """Defaults, files and environment; options of the command itself go over them."""
        from trnbench.cli.settings import load_settings

        return load_settings()

    @property
    def store_path(self) -> Path | None:
        """--store, TRNBENCH_STORE or the configured store; None for the default place."""
        return self.store or self.settings.store

    def cache(self) -> Cache | None:
        """What was computed before, beside the store; None with --no-cache. Not opened yet."""
        from trnbench.store.cache import Cache
        from trnbench.store.path import store_path

        return Cache(store_path(self.store_path)) if self.use_cache else None

    def warn_of_plugins(self) -> None:
        """One line per plugin problem met so far; commands that list them themselves call `hush`."""
        if "registry" in vars(self) and self.verbosity >= 0 and not self._hushed:
            from trnbench.cli.output import say

            for problem in self.registry.problems:
                say(f"warning: {problem.what} (trnbench plugin list)")

    def try_plugins(self) -> None:
        """Load those of others in a copy of this process first: the command is there to find a bad one."""
        self.registry = self.registry.tried()

    def hush(self) -> None:
        """The command shows plugin problems itself."""
        self._hushed = True

    _hushed = False


def _quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.verbosity = -1
        ctx.meta["trnbench.verbosity"] = -1  # what `say` looks at


quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_quiet,
    help="No progress and no warnings; also before the command.",
)
"""For commands that take long enough to be told so after their name."""


def _no_cache(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.use_cache = False


no_cache_option = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    callback=_no_cache,
    help="Work everything out anew, and keep nothing of it for later.",
)
"""For commands that may take what was computed before."""

session = click.make_pass_decorator(Session, ensure=True)
