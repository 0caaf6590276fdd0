"""The commands as functions: `trnbench.bench`, `load_run`, `open_store` and `render`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from trnbench.backend import Backend
from trnbench.errors import UnknownName, UsageError
from trnbench.facts.fact import PeakPolicy, as_policy
from trnbench.results.measurement import Grade
from trnbench.run.reply import detected
from trnbench.run.selection import PROCESSES, RunSettings
from trnbench.store.tag import LATEST

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.results.run import Run
    from trnbench.run.executor import Executor
    from trnbench.run.progress import Step
    from trnbench.run.selection import Selection
    from trnbench.store.store import Store


class Choice(TypedDict, total=False):
    """What is run: words as the option of the same name takes them, one or several.

    `axes` may be a mapping too: {"size": [1024, 2048], "dtype": "bf16"}.
    """

    instances: Iterable[str]
    tags: Iterable[str]
    families: Iterable[str]
    generations: Iterable[str]
    dtypes: Iterable[str]
    scopes: Iterable[str]
    divisions: Iterable[str]
    axes: Iterable[str] | Mapping[str, object]
    zips: Iterable[str]
    excludes: Iterable[str]


def bench(
    kernels: Iterable[str] = (),
    *,
    keyword: str = "",
    shard: str = "",
    policy: PeakPolicy | str = PeakPolicy.SEED,
    backend: str = "",
    facts: Iterable[str | Path] = (),
    jobs: int = 1,
    timeout_s: float = 0.0,
    maxfail: int = 0,
    seed: int = 0,
    retries: int = 0,
    sample_s: float = 0.0,
    processes: int = PROCESSES,
    keep_identity: bool = False,
    executor: str = "",
    isolate: bool = False,
    store: Store | str | Path | None = None,
    cache: bool = True,
    registry: Registry | None = None,
    on_progress: Callable[[Step], None] | None = None,
    **choice: Unpack[Choice],
) -> Run:
    """Run benchmarks and return the run; what `trnbench run` does, without its report.

    Arguments mean what the options of `trnbench run` mean; with none, every system is emulated.
    Nothing is written anywhere unless `store` says where (`trnbench.open_store()` for the usual
    place): the run, and beside it what was worked out, for the next one, unless `cache` is False. Emulated
    cases run in this process, and what they do to it stays, unless `jobs`, `timeout_s` or `isolate` give
    them processes of their own, as the command does. Ctrl-C returns what is done, with `run.interrupted`.

    Raises `UnknownName` and `UsageError` for arguments that name nothing, `NothingSelected` when no
    case is left, `StoreError` when the store cannot take the run, `RunCutShort` when no machine of
    the `executor` is left.

    Not called `run`: `trnbench.run` is the package that carries runs out.
    """
    from trnbench.run.executor import PROCESS
    from trnbench.run.selection import Selection

    files = (Path(facts),) if isinstance(facts, str | Path) else tuple(map(Path, facts))
    settings = RunSettings(
        policy=as_policy(policy),
        jobs=jobs,
        timeout_s=timeout_s,
        maxfail=maxfail,
        seed=seed,
        retries=retries,
        sample_s=sample_s,
        processes=processes,
        keep_identity=keep_identity,
        executor=executor or PROCESS,
        isolate=isolate,
        facts=tuple(str(path.absolute()) for path in files),
    )
    selection = Selection.of(kernels=kernels, keyword=keyword, shard=shard, **choice)
    return _benched(
        selection, files, settings.checked(), backend, executor, store, cache, registry, on_progress
    )


def _benched(
    selection: Selection,
    facts: tuple[Path, ...],
    settings: RunSettings,
    backend: str,
    executor: str,
    store: Store | str | Path | None,
    cache: bool,
    registry: Registry | None,
    on_progress: Callable[[Step], None] | None,
) -> Run:
    from trnbench.registry import load_registry
    from trnbench.run.execute import execute
    from trnbench.run.executor import executor as open_executor
    from trnbench.run.plan import plan
    from trnbench.store.cache import Cache
    from trnbench.store.store import Store

    registry = registry or load_registry()
    with ExitStack() as stack:
        by = stack.enter_context(open_executor(registry, executor, settings.jobs))
        chosen = choose_backend(registry, backend, by, keep_identity=settings.keep_identity)
        planned = plan(registry, here(selection, chosen), extra_facts=facts)
        runs = store if store is None or isinstance(store, Store) else stack.enter_context(Store(store))
        answers = Cache(runs.path) if cache and runs is not None else None
        if answers is not None:
            stack.callback(answers.close)
        return execute(
            planned, chosen, registry, settings, on_progress, store=runs, cache=answers, executor=by
        )


def open_store(path: str | Path | None = None) -> Store:
    """The store at `path`, at TRNBENCH_STORE, or in the user's data folder. Close it, or use `with`."""
    from trnbench.store.store import Store

    return Store(path)


def load_run(ref: str = LATEST, store: str | Path | None = None) -> Run:
    """A stored run by id, the beginning of one, a tag, or "latest".

    Raises `UnknownName` with the nearest ids, `StoreError` when the store cannot be read.
    """
    from trnbench.store.store import Store

    with Store(store) as opened:
        return opened.load(ref)


def render(
    runs: Run | Sequence[Run],
    path: str | Path,
    format: str = "html",
    *,
    force: bool = False,
    registry: Registry | None = None,
) -> Path:
    """Write runs to `path` in a format that a plugin brings, and return the path.

    Raises `UnknownName` for the format, `UsageError` when the file cannot be written or would
    replace something that is no report and `force` is not set.
    """
    from trnbench.registry import load_registry
    from trnbench.results.run import Run
    from trnbench.run.output_file import check_writable, write_whole
    from trnbench.run.render import find_format, render_bytes

    target = Path(path)
    registry = registry or load_registry()
    chosen = find_format(registry, format)
    check_writable(target, force=force)
    shown = (runs,) if isinstance(runs, Run) else tuple(runs)
    write_whole(target, render_bytes(shown, chosen, registry))
    return target


def choose_backend(
    registry: Registry, name: str = "", executor: Executor | None = None, *, keep_identity: bool = False
) -> Backend:
    """The backend called `name`, the usual one for ""; on the machines of `executor` where there is one.

    Raises `UnknownName`, and `UsageError` for one that cannot run there.
    """
    backend = registry.backend(name) if name else usual_backend(registry)
    if backend is None:
        raise UnknownName("backend", name, registry.backends, try_="trnbench list backends")
    if executor is not None:
        backend = executor.placed(backend, keep_identity=keep_identity)
    detection = detected(backend)
    if not detection.available:
        where = "here" if executor is None else f"on any machine of --executor {executor.name}"
        raise UsageError(
            f"backend {backend.name!r} cannot run {where}",
            cause=detection.why or "it does not say what is missing",
            try_=detection.try_ or "trnbench doctor",
        )
    return backend


def usual_backend(registry: Registry) -> Backend | None:
    """The emulator: the backend that is called as its grade, "emulated". Without one the first that needs no
    machine of its own, else the first that finds one here, else the first; None where no plugin brings
    any."""
    emulator = registry.backend(Grade.EMULATED)
    if emulator is not None:
        return emulator
    backends = [(backend, detected(backend)) for backend in registry.backends.values()]
    anywhere = (each for each, found in backends if found.available and not found.instance)
    here = (each for each, found in backends if found.available)
    return next(anywhere, None) or next(here, None) or next((each for each, _ in backends), None)


def here(selection: Selection, backend: Backend) -> Selection:
    """A measuring backend measures the machine it found, unless systems are asked for by name."""
    import msgspec

    found = detected(backend)
    selection = msgspec.structs.replace(selection, kinds=found.kinds)
    if not found.instance or selection.instances or selection.generations:
        return selection
    return msgspec.structs.replace(selection, instances=(found.instance, *found.also))
