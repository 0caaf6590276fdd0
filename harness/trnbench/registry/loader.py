"""Imports plugins one by one and calls their hooks one by one, so that blame has one address."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pluggy

from trnbench.distribution import enabled
from trnbench.errors import PluginError, TrnbenchError
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.isolation.supervision import Suspect, asked, refusals, refuse
from trnbench.isolation.surroundings import Misbehaved, held
from trnbench.registry import hookspecs
from trnbench.registry.discovery import Discovered, Origin
from trnbench.version import CONTRACT_VERSION

if TYPE_CHECKING:
    from trnbench.generation import Generation

HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("trnbench_"))
TRACE = "TRNBENCH_PLUGIN_TRACE"
SLOW_IMPORT_S = 0.5


class Loaded:
    """A plugin after the attempt to load it. `error` is None where it loaded."""

    def __init__(self, origin: Origin, error: PluginError | None = None) -> None:
        self.origin = origin
        self.import_s = 0.0
        self.hooks: tuple[str, ...] = ()
        self.error = error
        self.key = ""  # its name inside pluggy

    @property
    def slow(self) -> str:
        """ "" or the warning about an import above `SLOW_IMPORT_S`."""
        if self.import_s <= SLOW_IMPORT_S:
            return ""
        return (
            f"took {self.import_s:.1f} s to import (more than {SLOW_IMPORT_S} s): "
            "every command pays for it; import heavy libraries inside functions"
        )


class Loader:
    """Holds the pluggy manager. What plugins print goes to stderr; those of others are asked under `held`:
    they end in time, and what all code of the process shares is as it was."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("trnbench")
        self._manager.add_hookspecs(hookspecs)
        self._trace = enabled(TRACE)

    def load(self, found: Discovered) -> Loaded:
        """Import and register one plugin; never raises but for a KeyboardInterrupt from outside."""
        loaded = Loaded(found.origin)
        started = time.perf_counter()
        try:
            with _asked(found.origin):
                plugin = found.load()
        except Misbehaved as error:
            loaded.error = _misbehaved(found.origin, error, "when it is imported")
            return loaded
        except BaseException as error:
            if from_outside(error):
                raise
            loaded.error = found.origin.blame(
                f"cannot be imported: {found.origin.target}",
                cause=described(error),
                try_=_moved(error)
                or f"reinstall or remove {found.origin.distribution}, "
                f"or leave it out: --no-plugin {found.origin.name}",
                object_=found.origin.target,
            )
            return loaded
        finally:
            loaded.import_s = time.perf_counter() - started
        loaded.key = f"{found.origin.name}@{found.origin.distribution}"
        try:
            self._register(plugin, loaded)
        except PluginError as error:
            loaded.error = error
        except Exception as error:  # an object that does not even let itself be looked at
            loaded.error = found.origin.blame(
                "cannot be registered", cause=described(error), object_=found.origin.target
            )
        return loaded

    def _register(self, plugin: Any, loaded: Loaded) -> None:
        origin = loaded.origin
        _check_contract(origin, getattr(plugin, "trnbench_contract", CONTRACT_VERSION))
        try:
            registered = self._manager.register(plugin, name=loaded.key)
        except pluggy.PluginValidationError as error:
            # pluggy's own text shows an object's address; its last lines say what is wrong.
            text = str(error)
            hook = next(name for name in HOOKS if name in text)
            raise origin.blame(
                f"implements {hook} with arguments or options the hook does not have",
                cause=text.strip().splitlines()[-1],
                try_=f"take no argument but those of {hook} in docs/plugins.md",
                hook=hook,
                object_=origin.target,
            ) from None
        except ValueError:
            raise origin.blame(
                "is registered twice",
                cause=f"two entry points of group {hookspecs.GROUP!r} name {origin.target}",
                try_=f"keep one of them in the pyproject.toml of {origin.distribution}",
            ) from None
        if registered is None:
            raise origin.blame(
                "is None", cause=f"{origin.target} is None", try_="name a module or an object with hooks"
            )
        loaded.hooks = tuple(
            name
            for name in HOOKS
            if any(impl.plugin is plugin for impl in getattr(self._manager.hook, name).get_hookimpls())
        )
        try:
            self._manager.check_pending()
        except pluggy.PluginValidationError:
            hook = self._unknown_hook(plugin)
            self._manager.unregister(plugin)
            loaded.hooks = ()
            from difflib import get_close_matches

            near = get_close_matches(hook, HOOKS, n=1, cutoff=0.4)
            raise origin.blame(
                f"implements {hook!r}, which is no hook of trnbench",
                cause=f"did you mean {near[0]}?" if near else f"hooks: {', '.join(HOOKS)}",
                try_="correct the function's name, or mark it @trnbench.hookimpl(optionalhook=True)",
                hook=hook,
                object_=origin.target,
            ) from None
        unmarked = [name for name in HOOKS if name in dir(plugin) and name not in loaded.hooks]
        if unmarked or not loaded.hooks:
            self._manager.unregister(plugin)
            loaded.hooks = ()
            raise _no_hooks(origin, unmarked)

    def _unknown_hook(self, plugin: Any) -> str:
        return next(
            str(name)
            for name, caller in vars(self._manager.hook).items()
            if not caller.has_spec() and any(impl.plugin is plugin for impl in caller.get_hookimpls())
        )

    def call(
        self, hook: str, loaded: Loaded, others: Sequence[Loaded], arguments: Mapping[str, Any] = {}
    ) -> list[Any]:
        """All that one plugin yields for one hook called with `arguments`.

        Raises `PluginError`, keeping nothing, if it fails; one that did something to the process is not asked
        again.
        """
        silenced = [
            self._manager.get_plugin(plugin.key) for plugin in others if plugin is not loaded and plugin.key
        ]
        caller = self._manager.subset_hook_caller(hook, [plugin for plugin in silenced if plugin is not None])
        started = time.perf_counter()
        values: list[Any] = []
        outcome = "raised"
        try:
            with _asked(loaded.origin):
                for result in caller(**arguments):
                    values.extend(self._iterated(result, hook, loaded.origin))
            outcome = f"{len(values)} yielded"
        except PluginError:
            raise
        except Misbehaved as error:
            # Whoever does this once is not asked again.
            loaded.error = _misbehaved(loaded.origin, error, f"in {hook}", hook)
            raise loaded.error from None
        except BaseException as error:
            if from_outside(error):
                raise
            raise loaded.origin.blame(
                f"failed in {hook}" + (f" after {len(values)} of its values" if values else ""),
                cause=described(error),
                hook=hook,
                object_=_named(values[-1]) if values else "",
            ) from error
        finally:
            if self._trace:
                took = (time.perf_counter() - started) * 1e3
                print(  # noqa: T201  asked for by TRNBENCH_PLUGIN_TRACE
                    f"trnbench plugin: {hook} <- {loaded.origin.name} ({loaded.origin.source}): "
                    f"{outcome} in {took:.1f} ms",
                    file=sys.stderr,
                )
        return values

    @staticmethod
    def _iterated(result: Any, hook: str, origin: Origin) -> Iterable[Any]:
        if isinstance(result, str | bytes) or not hasattr(result, "__iter__"):
            raise origin.blame(
                f"returned {type(result).__name__} from {hook}",
                cause="a hook returns an iterable of values",
                try_="write `yield value` instead of `return value`",
                hook=hook,
                object_=_named(result),
            )
        return result  # type: ignore[no-any-return]


@contextmanager
def _asked(origin: Origin) -> Iterator[None]:
    """Looking at the process before and after takes longer than most hooks; tests do so for our own."""
    if not origin.external:
        with aside():
            yield
        return
    with asked(_suspect(origin)), held():
        yield


def _suspect(origin: Origin) -> Suspect:
    return Suspect(origin.name, origin.distribution, str(origin), origin.target)


def refusal(origin: Origin) -> PluginError | None:
    """Why this plugin is not loaded: what it did to the process of this command that tried to."""
    if (reason := refusals().get((origin.name, origin.distribution))) is None:
        return None
    what, cause = reason
    return origin.blame(what, cause=cause, try_=_without(origin), object_=origin.target)


def _misbehaved(origin: Origin, error: Misbehaved, when: str, hook: str = "") -> PluginError:
    what = f"{error.what} {when}; it is left out"
    refuse(_suspect(origin), what, error.cause)
    return origin.blame(
        what,
        cause=error.cause,
        try_=f"report it to whoever wrote {origin.distribution}; without it: --no-plugin {origin.name}",
        hook=hook,
        object_=origin.target,
    )


def _moved(error: BaseException) -> str:
    """What to do about a module of the core that a plugin counted on and is not there (any more)."""
    if not isinstance(error, ImportError) or not (error.name or "").startswith("trnbench."):
        return ""
    return (
        f"import it from trnbench or trnbench.topology: since contract 2 no plugin counts on {error.name}"
        " (docs/plugins.md)"
    )


def described(error: BaseException) -> str:
    """One line: kind, message and the place in the plugin where it was raised."""
    text = str(error.what if isinstance(error, TrnbenchError) else error).strip()
    first = text.splitlines()[0] if text else ""
    from traceback import extract_tb

    frames = extract_tb(error.__traceback__)
    position = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        position = f" ({error.filename}:{error.lineno})"
        first = error.msg
    if position.startswith(" (<frozen"):
        position = ""
    return f"{type(error).__name__}{f': {first}' if first else ''}{position}"


def _check_contract(origin: Origin, contract: object) -> None:
    if not isinstance(contract, int):
        raise origin.blame(
            f"says trnbench_contract = {contract!r}",
            cause="a contract is a whole number",
            try_=f"trnbench_contract = {CONTRACT_VERSION}",
            object_=origin.target,
        )
    if contract > CONTRACT_VERSION:
        raise newer_contract(origin, contract)


def newer_contract(origin: Origin, contract: object, object_: str = "") -> PluginError:
    ours = CONTRACT_VERSION
    subject = f"yields {object_}, written" if object_ else "is written"
    return origin.blame(
        f"{subject} for plugin contract {contract}; this trnbench speaks {ours}",
        cause="the plugin is newer than trnbench",
        try_=f"pip install --upgrade trnbench, or an older {origin.distribution}",
        object_=object_,
    )


def former_paths(origin: Origin, generation: Generation) -> tuple[PluginError, ...]:
    """One for a generation that gives paths as contracts 1 to 3 had them; it is used all the same."""
    if not generation.former:
        return ()
    paths = ", ".join(f"{name}=" for name in generation.former)
    instead = "; ".join(dict.fromkeys(generation.former.values()))
    return (
        origin.blame(
            f"brings generation {generation.name!r} with {paths}, as contracts 1 to 3 had it",
            cause="published= is a folder now and answers= one file; old answers are not read",
            try_=f"give instead {instead} (docs/plugins.md)",
            hook="trnbench_generations",
            object_=f"generation {generation.name!r}",
        ),
    )


def _named(value: Any) -> str:
    name = getattr(value, "name", None)
    return f"{type(value).__name__} {name!r}" if isinstance(name, str) else type(value).__name__


def _no_hooks(origin: Origin, unmarked: Sequence[str]) -> PluginError:
    if unmarked:
        return origin.blame(
            f"has {unmarked[0]}, which is not marked as a hook",
            cause="a hook without @trnbench.hookimpl is never called",
            try_="write @trnbench.hookimpl above it",
            hook=unmarked[0],
            object_=origin.target,
        )
    return origin.blame(
        "implements no hook",
        cause=f"{origin.target} has none of {', '.join(HOOKS)}",
        try_=f"name the module that has them in the pyproject.toml of {origin.distribution}",
        object_=origin.target,
    )


def _without(origin: Origin) -> str:
    return f"reinstall or remove {origin.distribution}, or leave it out everywhere: --no-plugin {origin.name}"
