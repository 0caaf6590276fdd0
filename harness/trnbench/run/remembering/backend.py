"""A backend that works nothing out twice: what it saw before, it gives again."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.backend import Backend, Detection, Observation, Reproducible
from trnbench.bounded.file import MIB, read_file
from trnbench.digest import digest_of
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.kernels.kernel import NKI_KINDS, Kernel
from trnbench.registry.entry_points import own_packages
from trnbench.results.measurement import Reason
from trnbench.run.remembering.reads import Read, Reads, digest_of_values, watched
from trnbench.run.written import code_of
from trnbench.store.cache import Cache
from trnbench.store.source_digest import package_of, packages_digest

_READS, _SEEN = b"reads", b"observation"


def remembering(backend: Backend, cache: Cache | None, seed: int = 0) -> Backend:
    """`backend` with `cache` before it, where its observations may be kept. `seed`: of what it may draw."""
    if cache is None or not isinstance(backend, Reproducible):
        return backend
    return Remembering(backend, cache, seed)


class Remembering:
    """What is kept of a case are the names of all that was read of its system to answer it, and the answer
    under the values that stood there. So an edited fact costs those answers alone that it has a say in.

    Programs of cores and everything else, links above all, are told apart; of each kind, what one case of a
    system has read counts as read by those after it, since they share what was worked out.
    """

    def __init__(self, backend: Backend, cache: Cache, seed: int) -> None:
        self.backend, self.cache, self.seed = backend, cache, seed
        self.name = backend.name
        self._forget()

    def _forget(self) -> None:
        self._watched: dict[tuple[int, bool], tuple[System, System, Reads]] = {}
        self._systems: dict[int, tuple[System, bytes]] = {}
        self._values: dict[tuple[int, tuple[Read, ...]], bytes] = {}
        self._kernels: dict[int, tuple[Kernel, bytes]] = {}
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
        known = self.known(case, system)
        if known is not None:
            return known
        copy, reads = self._watching(case, system)
        seen = self.backend.observe(case, copy)
        if isinstance(seen, Observation) and seen.reason is Reason.NONE:
            self._keep(case, system, tuple(reads), seen)
        return seen

    # What is kept ---------------------------------------------------------------------------------

    def known(self, case: Case, system: System) -> Observation | None:
        """The answer that is kept, where all that it follows from is as it was."""
        asked = self._asked(case, system)
        names = _decoded(self.cache.get(digest_of(asked, _READS)), tuple[tuple[str, ...], ...])
        if names is None:
            return None
        key = digest_of(asked, _SEEN, self._standing(names, system))
        seen: Observation | None = _decoded(self.cache.get(key), Observation)
        return seen

    def _keep(self, case: Case, system: System, names: tuple[Read, ...], seen: Observation) -> None:
        asked = self._asked(case, system)
        try:
            content = msgspec.msgpack.encode(seen)
        except (TypeError, ValueError, OverflowError):  # what a plugin put into `detail` is no data
            return
        self.cache.put_all(
            {
                digest_of(asked, _SEEN, self._standing(names, system)): content,
                digest_of(asked, _READS): msgspec.msgpack.encode(names),
            }
        )

    def _asked(self, case: Case, system: System) -> bytes:
        """The question, without what the facts say."""
        kernel, primary = case.kernel, case.primary
        told = (case.key, case.extent, case.explain, self.seed)
        asked = (kernel.family, kernel.spread, kernel.rank, primary.count, primary.peak, primary.sparse)
        return digest_of(
            self._model(),
            self._of_system(system),
            self._of_kernel(kernel),
            msgspec.msgpack.encode(told, order="deterministic"),
            msgspec.msgpack.encode(asked, order="deterministic"),
        )

    def _model(self) -> bytes:
        if not self._code:
            assert isinstance(self.backend, Reproducible)
            said = {str(name): str(value) for name, value in self.backend.environment().items()}
            self._code = digest_of(
                packages_digest(self.backend.worked_out_with()),
                msgspec.json.encode(said, order="deterministic"),
                sys.version,
            )
        return self._code

    def _of_system(self, system: System) -> bytes:
        known = self._systems.get(id(system))
        if known is None or known[0] is not system:
            builder = package_of(system.instance.topology)
            told = (system.generation.name, system.instance, system.size)
            parts = (
                msgspec.json.encode(told, order="deterministic", enc_hook=str),
                packages_digest([builder]),
            )
            known = self._systems[id(system)] = (system, digest_of(*parts))
        return known[1]

    def _of_kernel(self, kernel: Kernel) -> bytes:
        known = self._kernels.get(id(kernel))
        if known is None or known[0] is not kernel:
            known = self._kernels[id(kernel)] = (kernel, kernel_digest(kernel))
        return known[1]

    def _standing(self, names: tuple[Read, ...], system: System) -> bytes:
        key = (id(system), names)
        if key not in self._values:
            self._of_system(system)  # holds on to it, so that no other gets its id
            self._values[key] = digest_of_values(names, system)
        return self._values[key]

    def _watching(self, case: Case, system: System) -> tuple[System, Reads]:
        programmed = bool(case.kernel.nki_sources)
        known = self._watched.get((id(system), programmed))
        if known is None or known[0] is not system:
            reads = Reads()
            known = self._watched[id(system), programmed] = (system, watched(system, reads), reads)
        return known[1], known[2]


def _decoded(content: bytes | None, kind: Any) -> Any:
    """None for what is missing, and for what is no such thing."""
    if content is None:
        return None
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


_EMULATED = (*NKI_KINDS, "collective", "model")


def kernel_digest(kernel: Kernel) -> bytes:
    """Formulas and implementations, and which implementation has which name."""
    code = code_of(kernel, _EMULATED)
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
        *(read_file(each, most=MIB) for each in subject.files() if each.is_file()),
    )
