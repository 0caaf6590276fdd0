"""A backend with a cache before it: an answer is given again while all that it was read from is unchanged."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from trnbench.backend import Backend, Detection, Observation, Reproducible
from trnbench.bounded import MIB, read_file
from trnbench.digest import digest_of, package_of, packages_digest
from trnbench.distribution import own_packages
from trnbench.facts.fact import Fact, FactBook
from trnbench.generation import System
from trnbench.kernels.kernel import Case, Kernel
from trnbench.results.measurement import Reason
from trnbench.run.reply import Wrapper
from trnbench.run.sources import code_of
from trnbench.store.cache import Cache

_READS, _SEEN, _EXAMPLE = b"reads", b"observation", b"example"


def cached_backend(backend: Backend, cache: Cache | None, seed: int = 0) -> Backend:
    """`backend` with `cache` before it, where its observations may be kept. `seed`: of what it may draw."""
    if cache is None or not isinstance(backend, Reproducible):
        return backend
    return CachedBackend(backend, cache, seed)


class CachedBackend(Wrapper):
    """What is kept of a case are the names of all that was read of its system to answer it, and the answer
    under the values that stood there. So an edited fact costs those answers alone that it has a say in.

    Programs of cores and everything else, links above all, are told apart; of each kind, what one case of a
    system has read counts as read by those after it, since they share what was worked out.
    """

    def __init__(self, backend: Backend, cache: Cache, seed: int) -> None:
        super().__init__(backend)
        self.cache, self.seed = cache, seed
        self.name = backend.name
        self._forget()

    def _forget(self) -> None:
        # By `id`; what stands there is held on to with it, so that no other gets its id.
        self._watched: dict[tuple[int, frozenset[str]], tuple[System, System, set[Read]]] = {}
        self._systems: dict[int, tuple[System, bytes]] = {}
        self._values: dict[tuple[int, tuple[Read, ...]], bytes] = {}
        self._kernels: dict[int, tuple[Kernel, bytes]] = {}
        self._examples: dict[bytes, bytes] = {}
        self._code = b""

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("backend", "cache", "seed", "name")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    # As any backend -------------------------------------------------------------------------------

    def detect(self) -> Detection:
        return self.backend.detect()

    def environment(self) -> dict[str, Any]:
        return self.backend.environment()

    def unsupported(self, case: Case, system: System) -> str:
        return self.backend.unsupported(case, system)

    def observe(self, case: Case, system: System) -> Observation:
        """The answer that is kept, else a fresh one. What fails is worked out each time."""
        answer = self.known(case, system)
        if answer is not None:
            return answer
        copy, reads = self._watching(case, system)
        seen = self.backend.observe(case, copy)
        if isinstance(seen, Observation) and seen.reason is Reason.NONE:
            self._keep(case, system, tuple(sorted(reads)), seen)
        return seen

    # What is kept ---------------------------------------------------------------------------------

    def known(self, case: Case, system: System) -> Observation | None:
        """The answer that is kept, where all that it follows from is as it was."""
        asked, example = self._asked(case, system), self._example(case, system)
        names = _decoded(self.cache.get(digest_of(asked, _READS), example), tuple[tuple[str, ...], ...])
        if names is None:
            return None
        key = digest_of(asked, _SEEN, self._standing(names, system))
        seen: Observation | None = _decoded(self.cache.get(key, example), Observation)
        return seen

    def _keep(self, case: Case, system: System, names: tuple[Read, ...], seen: Observation) -> None:
        asked = self._asked(case, system)
        try:
            content = msgspec.msgpack.encode(seen)
        except (TypeError, ValueError, OverflowError):  # what a plugin put into `detail` is no data
            return
        reads, key = msgspec.msgpack.encode(names), digest_of(asked, _SEEN, self._standing(names, system))
        example = self._example(case, system, reads + content)
        self.cache.put_all({key: content, digest_of(asked, _READS): reads}, example)

    def _example(self, case: Case, system: System, first: bytes = b"") -> bytes:
        """The first answer of the kernel on the system, which others resemble; `first` where none is kept."""
        key = digest_of(self._model(), self._of_system(system), self._of_kernel(case.kernel), _EXAMPLE)
        example = self._examples.get(key)
        if example is None:
            example = self._examples[key] = self.cache.get(key) or b""
        if first and not example:
            example = self._examples[key] = self.cache.put_first(key, first)
        return example

    def _asked(self, case: Case, system: System) -> bytes:
        """The question, without what the facts say."""
        kernel, primary = case.kernel, case.primary
        request = (case.key, case.extent, case.explain, self.seed)
        asked = (kernel.family, kernel.spread, kernel.rank, primary.count, primary.peak, primary.sparse)
        return digest_of(
            self._model(),
            self._of_system(system),
            self._of_kernel(kernel),
            msgspec.msgpack.encode(request, order="deterministic"),
            msgspec.msgpack.encode(asked, order="deterministic"),
        )

    def _model(self) -> bytes:
        if not self._code:
            assert isinstance(self.backend, Reproducible)
            environment = {str(name): str(value) for name, value in self.backend.environment().items()}
            self._code = digest_of(
                packages_digest(self.backend.worked_out_with()),
                msgspec.json.encode(environment, order="deterministic"),
                sys.version,
            )
        return self._code

    def _of_system(self, system: System) -> bytes:
        entry = self._systems.get(id(system))
        if entry is None:
            builder = package_of(system.instance.topology)
            identity = (system.generation.name, system.instance, system.size)
            parts = (
                msgspec.json.encode(identity, order="deterministic", enc_hook=str),
                packages_digest([builder]),
            )
            entry = self._systems[id(system)] = (system, digest_of(*parts))
        return entry[1]

    def _of_kernel(self, kernel: Kernel) -> bytes:
        entry = self._kernels.get(id(kernel))
        if entry is None:
            entry = self._kernels[id(kernel)] = (kernel, kernel_digest(kernel))
        return entry[1]

    def _standing(self, names: tuple[Read, ...], system: System) -> bytes:
        key = (id(system), names)
        if key not in self._values:
            self._values[key] = digest_of_values(names, system)
        return self._values[key]

    def _watching(self, case: Case, system: System) -> tuple[System, set[Read]]:
        kinds = frozenset(case.kernel.implementations)  # those of other kinds read other figures
        entry = self._watched.get((id(system), kinds))
        if entry is None:
            reads = set[Read]()
            entry = self._watched[id(system), kinds] = (system, watched(system, reads), reads)
        return entry[1], entry[2]


def _decoded(content: bytes | None, kind: Any) -> Any:
    """None for what is missing, and for what is no such thing."""
    if content is None:
        return None
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def kernel_digest(kernel: Kernel) -> bytes:
    """Formulas and implementations, and which implementation has which name."""
    code = code_of(kernel, kernel.implementations)
    # Ours are told apart by the files that they use; of another's package every file counts, since what its
    # kernels share need not lie beside them.
    others = {name for name in code.modules if name.partition(".")[0] not in own_packages()}
    named = {kind: str(ref) for kind, ref in kernel.implementations.items() if isinstance(ref, str)}
    return digest_of(
        kernel.name,
        msgspec.json.encode(named, order="deterministic"),
        msgspec.json.encode(code.files, order="deterministic"),
        packages_digest(name.partition(".")[0] for name in others if name),
        _of_subject(kernel),
    )


def _of_subject(kernel: Kernel) -> bytes:
    """What it is about, and the code and files that its time depends on besides."""
    subject = kernel.subject
    if subject is None:
        return b""
    return digest_of(
        msgspec.json.encode(subject, order="deterministic"),
        packages_digest(subject.code()),
        *(read_file(file, most=MIB) for file in subject.files() if file.is_file()),
    )


_WHOLE = ("sources", "facts", "disputes")
"""Fields of a book; what reads one as a whole depends on all of it."""


_COST = ("cost",)


Read = tuple[str, ...]
"""("fact", subject, metric), ("assumption", name), ("cost", section) or ("cost", section, key); ("book",
field) and ("costs",) for the whole of it."""


def watched(system: System, reads: set[Read]) -> System:
    """The same system; what is read of it is added to `reads`. A copy: nothing that was worked out on
    `system` itself is known to it, so that nothing is read behind the back of `reads`."""
    book = system.book
    fields: dict[str, Any] = {name: getattr(book, name) for name in book.__struct_fields__}
    fields["assumptions"] = _Entries(book.assumptions, reads, ("assumption",), ("book", "assumptions"))
    watching = WatchedBook(**fields)
    vars(watching).update(reads=reads, book=book)
    return replace(system, book=watching, costs=_Entries(system.costs, reads, ("cost",), ("costs",)))


def value_of(read: Read, system: System) -> Any:
    """What stands there now."""
    kind, *names = read
    if kind == "fact":
        subject, metric = names
        return list(system.book.select(subject or None, metric or None))
    if kind == "assumption":
        return system.book.assumptions.get(names[0])
    if kind == "book":
        return getattr(system.book, names[0])
    value: Any = system.costs
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def digest_of_values(reads: tuple[Read, ...], system: System) -> bytes:
    """Changes with any value that was read, and with nothing else."""
    parts: list[bytes | str] = []
    for read in reads:
        parts += ["\0".join(read), msgspec.json.encode(value_of(read, system), order="deterministic")]
    return digest_of(*parts)


class WatchedBook(FactBook, frozen=True):
    """A book that tells what it is asked for."""

    def select(
        self, subject: str | None = None, metric: str | None = None, **criteria: Any
    ) -> Iterator[Fact]:
        """As of any book."""
        self._reads().add(("fact", subject or "", metric or ""))
        return self._unwatched().select(subject, metric, **criteria)

    def merged(self, other: FactBook) -> FactBook:
        """As of any book; the two together are not watched, so all of this one counts as read."""
        self._reads().update(("book", name) for name in self.__struct_fields__)
        return self._unwatched().merged(other)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name in _WHOLE:
            self._reads().add(("book", name))
        return value

    def _reads(self) -> set[Read]:
        reads: set[Read] = vars(self)["reads"]
        return reads

    def _unwatched(self) -> FactBook:
        book: FactBook = vars(self)["book"]
        return book


class _Entries(dict[str, Any]):
    """A table that tells which of its entries are asked for, and tables in it likewise. What looks at all of
    it depends on all of it: `whole`."""

    def __init__(self, entries: Mapping[str, Any], reads: set[Read], prefix: Read, whole: Read) -> None:
        super().__init__(entries)
        self._told = (reads, prefix, whole)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __getitem__(self, key: str) -> Any:
        reads, prefix, _ = self._told
        entry = super().get(key)
        if prefix == _COST and isinstance(entry, dict):
            return _Entries(entry, reads, (*prefix, key), (*prefix, key))
        reads.add((*prefix, str(key)))  # that it is missing was read, too
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        present = super().__contains__(key)
        if not present:  # that it is missing was read
            reads, prefix, _ = self._told
            reads.add((*prefix, str(key)))
        return present

    def __iter__(self) -> Iterator[str]:
        self._all()
        return super().__iter__()

    def __len__(self) -> int:
        self._all()
        return super().__len__()

    def __bool__(self) -> bool:
        return super().__len__() > 0 if self._told[1] == _COST else len(self) > 0

    def keys(self) -> Any:
        self._all()
        return super().keys()

    def values(self) -> Any:
        self._all()
        return super().values()

    def items(self) -> Any:
        self._all()
        return super().items()

    def __eq__(self, other: object) -> bool:
        self._all()
        return super().__eq__(other)

    __hash__ = None

    def _all(self) -> None:
        reads, _, entirety = self._told
        reads.add(entirety)
