"""What a person asked for, as typed: kernels, systems, scopes, sweeps, `-k`; and how it is to be run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from trnbench.bounded import kinds
from trnbench.case_key import Division
from trnbench.errors import NothingSelected, UnknownName
from trnbench.facts.fact import PeakPolicy, Scope
from trnbench.kernels.kernel import Kernel, Subject, Template
from trnbench.kernels.work import Spread
from trnbench.record import Record
from trnbench.reference import resolve

if TYPE_CHECKING:
    from trnbench.generation import Instance
    from trnbench.registry import Registry
else:
    Subject = Any  # a protocol is nothing that a stored selection could be held to


OptionValues: TypeAlias = Iterable[str] | Mapping[str, object]
"""Values of an option: words of it, or of `-a` a mapping of axes to a value or several."""

WORKLOAD = "workload"
"""The template of kernels that a selection's field of this name is made into."""

SCOPES = ("core", "logical-core", "device", "instance", "ultraserver", "cluster", "system")
"""What `--scope` takes; "system" is the whole of each system, whatever it is."""

DIVISIONS = tuple(map(str, Division))
"""What `--division` takes."""


_OPTIONS = {
    "tags": "--tag",
    "families": "--family",
    "instances": "-i",
    "generations": "--generation",
    "dtypes": "--dtype",
    "scopes": "--scope",
    "divisions": "--division",
    "axes": "-a",
    "zips": "--zip",
    "excludes": "--exclude",
}
"""Fields of a selection that one option each adds to."""


class Selection(Record, kw_only=True, forbid_unknown_fields=True):
    """Empty fields choose everything that a default run has. Options of one kind add up, different
    kinds narrow each other down. Kept in the run as it is, so that the run can be repeated."""

    kernels: tuple[str, ...] = ()  # names and globs
    keyword: str = ""  # -k
    tags: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()  # names, aliases, globs; ":size" behind sizable ones
    generations: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    divisions: tuple[str, ...] = ()  # empty: see `divisions_of`
    axes: tuple[str, ...] = ()  # -a
    zips: tuple[str, ...] = ()  # --zip a,b
    excludes: tuple[str, ...] = ()  # --exclude
    shard: str = ""  # --shard: which part of the cases, and of how many
    kinds: tuple[str, ...] = ()  # of implementation that the backend carries out; empty: all
    workload: Subject | None = None  # what a template makes a kernel of, in place of kernels by name

    @classmethod
    def of(
        cls, *, keyword: str = "", shard: str = "", workload: Subject | None = None, **chosen: OptionValues
    ) -> Selection:
        """These fields, each as one word, as several, or (axes) as a mapping of names to values.

        Raises `TypeError` for a name that is no field.
        """
        listed = {name: _words(values) for name, values in chosen.items()}
        return cls(keyword=keyword, shard=shard, workload=workload, **listed)

    @classmethod
    def stored(cls, plain: Any, registry: Registry) -> Selection:
        """As a run keeps it. Raises `msgspec.ValidationError` for that of another version, `NothingSelected`
        where the plugin that made its kernel is missing."""
        selection = msgspec.convert(with_division(plain), cls)
        if selection.workload is None:
            return selection
        subject = resolve(_template(registry).subject)(selection.workload)
        return replace(selection, workload=subject)

    def asked(self) -> str:
        """The options that would ask for this, one line; "" for a default run."""
        named = (self.workload.name,) if self.workload is not None else self.kernels
        parts = [*named, *([f"-k '{self.keyword}'"] if self.keyword else [])]
        parts += [f"{option} {value}" for name, option in _OPTIONS.items() for value in getattr(self, name)]
        parts += [f"--shard {self.shard}"] if self.shard else []
        return " ".join(parts)


def with_division(plain: Any) -> Any:
    """A stored selection as today's are: those of before have cases that are replicated, and say nothing."""
    return {"divisions": [Division.REPLICATED.value], **plain} if isinstance(plain, Mapping) else plain


def _words(values: OptionValues) -> tuple[str, ...]:
    """As the command line would have them: a text is one word, {"size": [128, 256]} is `size=128,256`."""
    if isinstance(values, str):
        return (values,)
    if isinstance(values, Mapping):
        lists = {
            name: value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
            for name, value in values.items()
        }
        return tuple(f"{name}={','.join(map(str, items))}" for name, items in lists.items())
    return tuple(values)


def choose_kernels(registry: Registry, selection: Selection) -> tuple[Kernel, ...]:
    """The kernels of the selection by name, tag and family, in the registry's order.

    Raises `UnknownName` for a plain name nobody has, `NothingSelected` when none is left.
    """
    if selection.workload is not None:
        kernel_: Kernel = resolve(_template(registry).kernel)(selection.workload)
        return (kernel_,)
    everything = list(registry.kernels.values())
    for name in selection.kernels:
        _check_kernel(registry.kernels, name)
    chosen = _narrow(everything, everything, "kernel", selection.kernels, lambda kernel: (kernel.name,))
    chosen = _narrow(chosen, everything, "tag", selection.tags, lambda kernel: kernel.tags)
    chosen = _narrow(chosen, everything, "family", selection.families, lambda kernel: (kernel.family,))
    if not chosen:
        raise NothingSelected(
            "no kernel is selected",
            cause=f"no kernel fits all of: {selection.asked()}" if selection.asked() else "none is installed",
            try_="trnbench list kernels",
        )
    return tuple(chosen)


def _check_kernel(kernels: Mapping[str, Kernel], name: str) -> None:
    """Raise `UnknownName` for a family or a tag, and for what is nearest to a kernel of a family that has
    another kernel of its own name; `_known` does for what else is unknown."""
    if name in kernels or _is_glob(name):
        return
    from difflib import get_close_matches

    families = {kernel.family for kernel in kernels.values()}
    tags = {tag for kernel in kernels.values() for tag in kernel.tags}
    for kind, groups in (("family", families), ("tag", tags)):
        if name in groups:
            why, instead = f"it is a {kind} of kernels", f"--{kind} {name} in place of it"
            raise UnknownName("kernel", name, kernels, cause=why, try_=instead)
    near = get_close_matches(name, kernels, n=1, cutoff=0.5)
    head = kernels[near[0]].family if near else ""
    if head in kernels and head != near[0]:
        why = f"did you mean {near[0]}, or {head} of the same family?"
        raise UnknownName("kernel", name, kernels, cause=why, try_="trnbench list kernels")


def _template(registry: Registry) -> Template:
    template = registry.templates.get(WORKLOAD)
    if template is None:
        raise NothingSelected(
            "the kernel that was asked for cannot be made",
            cause=f"no plugin that is installed brings the template {WORKLOAD!r}",
            try_="trnbench plugin list",
        )
    return template


def choose_instances(registry: Registry, selection: Selection) -> tuple[str, ...]:
    """Names (with their size, where one was typed) of the systems of the selection.

    Without `-i` those that are part of a default run, or all of the generations asked for by name.
    Raises `UnknownName`, `UsageError` for a size, `NothingSelected` when none is left.
    """
    for name in selection.generations:
        _known("generation", name, registry.generations)
    instances = {
        instance.name: (generation.name, instance)
        for generation in registry.generations.values()
        for instance in generation.instances
    }
    if selection.instances:
        named = (name for typed in selection.instances for name in _named(registry, instances, typed))
        wanted = list(dict.fromkeys(named))
    else:
        wanted = [name for name, (_, instance) in instances.items() if instance.default]
    order = {name: index for index, name in enumerate(instances)}
    wanted.sort(key=lambda name: order[name.partition(":")[0]])
    if selection.generations:
        generations = {name: instances[name.partition(":")[0]][0] for name in wanted}
        wanted = [name for name in wanted if _fits(generations[name], selection.generations)]
    if not wanted:
        asked = " ".join(
            [f"-i {pattern}" for pattern in selection.instances]
            + [f"--generation {pattern}" for pattern in selection.generations]
        )
        raise NothingSelected(
            "no instance is selected",
            cause=f"none fits all of: {asked}" if asked else "no plugin brings one",
            try_="trnbench list instances",
        )
    return tuple(wanted)


def choose_scopes(selection: Selection) -> frozenset[str]:
    """The scopes asked for; empty for each kernel's default. Raises `UnknownName`."""
    for scope in selection.scopes:
        if scope not in SCOPES:
            raise UnknownName("scope", scope, SCOPES, try_="--scope core")
    return frozenset(selection.scopes)


def scopes_of(kernel: Kernel, system_scope: Scope, asked: frozenset[str]) -> Iterator[Scope]:
    """The scopes to plan `kernel` at on a system of `system_scope`, INSTANCE standing for all of it."""
    for scope in kernel.scopes if asked else kernel.default_scopes or kernel.scopes:
        own = system_scope if scope is Scope.INSTANCE else scope
        if not asked or own.value in asked or (scope is Scope.INSTANCE and "system" in asked):
            yield own


def choose_divisions(selection: Selection) -> frozenset[Division]:
    """Those asked for; empty for the usual ones. Raises `UnknownName`."""
    for division in selection.divisions:
        if division not in DIVISIONS:
            raise UnknownName("division", division, DIVISIONS, try_="--division sharded")
    return frozenset(map(Division, selection.divisions))


def divisions_of(
    kernel: Kernel, scope: Scope, cores: int, selection: Selection
) -> tuple[Division | None, ...]:
    """How to plan `kernel` on the `cores` of a scope: as asked for, else sharded where it is asked for by
    name, else both.

    A problem that does not divide, or meets one core alone, is replicated; so is what a machine measures.
    None stands for a core, and for what is one operation of all that take part.
    """
    if scope.rank <= Scope.CORE.rank or kernel.subject or kernel.spread not in (Spread.CORES, Spread.DEVICES):
        return (None,)
    asked = choose_divisions(selection)
    if kernel.split is None or cores < 2 or selection.kinds:
        return (Division.REPLICATED,) if Division.REPLICATED in asked or not asked else ()
    usual = (Division.SHARDED,) if selection.kernels else tuple(Division)
    return tuple(division for division in Division if division in (asked or usual))


def _named(registry: Registry, known: Mapping[str, tuple[str, Instance]], typed: str) -> Iterator[str]:
    pattern = typed.partition(":")[0]
    if not _is_glob(pattern):
        _, instance, count = registry.sized(typed)
        plain = not instance.sizable or count == instance.default_size
        yield instance.name if plain else f"{instance.name}:{count}"
        return
    names = [
        name
        for name, (_, instance) in known.items()
        if any(fnmatchcase(each, pattern) for each in (name, *instance.aliases))
    ]
    if not names:
        raise _no_match("instance", pattern, registry.instance_names(aliases=True))
    yield from names


def _narrow(
    among: list[Kernel],
    everything: list[Kernel],
    kind: str,
    patterns: Sequence[str],
    names: Callable[[Kernel], Iterable[str]],
) -> list[Kernel]:
    if not patterns:
        return among
    known = {name for kernel in everything for name in names(kernel)}
    for pattern in patterns:
        _known(kind, pattern, known)
    return [kernel for kernel in among if any(_fits(name, patterns) for name in names(kernel))]


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _known(kind: str, pattern: str, known: Iterable[str]) -> None:
    known = list(known)
    if _is_glob(pattern):
        if not any(fnmatchcase(name, pattern) for name in known):
            raise _no_match(kind, pattern, known)
    elif pattern not in known:
        raise UnknownName(kind, pattern, known, try_=_command(kind, pattern, known))


def _command(kind: str, name: str, known: list[str]) -> str:
    """What to type for a name that is not known: other commands take kernels in files, and models."""
    if kind == "kernel" and ("::" in name or name.endswith(".py")):
        return f"trnbench nki run {name}"
    from difflib import get_close_matches

    alike = kind != "kernel" or get_close_matches(name, known, cutoff=0.5)
    return f"trnbench list {_LISTS[kind]}" + ("" if alike else "; models: trnbench workload list")


_LISTS = {
    "kernel": "kernels",
    "tag": "tags",
    "family": "families",
    "generation": "instances",
    "instance": "instances",
}


def _no_match(kind: str, pattern: str, known: Iterable[str]) -> NothingSelected:
    known = sorted(known)
    from difflib import get_close_matches

    near = get_close_matches(pattern.strip("*?"), known, n=3, cutoff=0.4) or known[:3]
    return NothingSelected(
        f"no {kind} fits {pattern!r}",
        cause=f"nearest: {', '.join(near)}" if near else f"no {kind} is installed",
        try_=f"trnbench list {_LISTS[kind]}",
    )


def _is_glob(text: str) -> bool:
    return any(char in text for char in "*?[")


PROCESSES = 3
"""Of one measured case, where nothing is said: the fewest that an interval can be told of with any sense."""


_RECORDED = (
    *("jobs", "timeout_s", "maxfail", "seed", "retries", "sample_s", "processes"),
    *("keep_identity", "executor"),
)
"""Settings that a run keeps by their names; its policy, command line and facts have places of their own."""


class RunSettings(Record, kw_only=True):
    """Recorded in the run, so that it can be repeated.

    `timeout_s` and `maxfail` of 0 mean no limit; `jobs` of 0 as many processes as pay off.
    `seed` seeds Python's and NumPy's generators before every case, each case by its own name, so
    that a case gets the same data whichever cases run before it or in which process.
    `retries` is how often a case that crashed, hung or ran out of memory is tried again; `sample_s`
    how long a measuring backend samples each case, 0 for its own choice; `processes` in how many
    processes it measures it. `executor` names who carried the cases out (`trnbench.run.executor`);
    `facts` are the files of the user's own that the plan was made with, for a journal to name.
    `isolate` has cases run in a process of their own also where one is enough and no limit is set; it
    changes no result, so it is not recorded.
    """

    policy: PeakPolicy = PeakPolicy.SEED
    jobs: int = 1
    timeout_s: float = 0.0
    maxfail: int = 0
    seed: int = 0
    retries: int = 0
    sample_s: float = 0.0
    processes: int = PROCESSES
    keep_identity: bool = False
    executor: str = "process"
    isolate: bool = False
    tags: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def checked(self) -> RunSettings:
        """These settings. Raises `UsageError` for a value that makes no sense."""
        numbers = {
            name: kind.checked(getattr(self, name), option)
            for name, option, kind in (
                ("jobs", "--jobs", kinds.JOBS),
                ("timeout_s", "--timeout", kinds.TIME_LIMIT),
                ("maxfail", "--maxfail", kinds.MOST_FAILED),
                ("seed", "--seed", kinds.SEED),
                ("retries", "--retries", kinds.RETRIES),
                ("sample_s", "--sample-time", kinds.SAMPLING),
                ("processes", "--processes", kinds.PROCESSES),
            )
        }
        return replace(self, **numbers)

    def record(self) -> dict[str, Any]:
        """For `Run.settings`, together with the selection."""
        return {name: getattr(self, name) for name in _RECORDED}
