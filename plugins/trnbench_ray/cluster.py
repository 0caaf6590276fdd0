"""A Ray cluster, the one that RAY_ADDRESS names or one of this machine alone, and its servers of cases."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from msgspec.structs import replace

from trnbench import Backend, Case, Detection
from trnbench.errors import TrnbenchError, UsageError, debugging
from trnbench.record import Record
from trnbench.run.environment import describe
from trnbench.run.identity import identity
from trnbench.run.pool import Pool
from trnbench.run.reply import detected
from trnbench.run.worker import loads, tried
from trnbench.store.entry import Entry
from trnbench.version import VERSION

ADDRESS = "RAY_ADDRESS"
LOOK_S = 90.0
"""For all machines together to say what they are: the first process on each pays for every import."""

CONNECT_S = 10.0

STORE_BYTES = 80 << 20
"""Shared memory of a cluster of this machine alone: results are small. 75 MiB is the least Ray takes."""


class Machine(Record, kw_only=True):
    """One node that offers the resource; `number` from 1 stands for it in results, its name does not."""

    number: int
    node: str
    amount: float
    seen: Seen


class Cluster:
    """Connected; see `connected`."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    @property
    def version(self) -> str:
        return str(self.ray.__version__)

    def processors(self) -> int:
        """Of all machines that are there now."""
        return int(sum(node["Resources"].get("CPU", 0.0) for node in self._nodes()))

    def _nodes(self) -> list[dict[str, Any]]:
        return sorted((node for node in self.ray.nodes() if node["Alive"]), key=lambda each: each["NodeID"])

    def on(self, node: str, **options: Any) -> dict[str, Any]:
        """Options that keep a task or an actor on one machine."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False), **options}

    def machines(self, backend: Backend, resource: str, *, keep_identity: bool) -> list[Machine]:
        """Every machine that offers `resource`, after it has said what it is.

        Raises `UsageError` where none offers it, where one does not answer, or has another trnbench.
        """
        amounts = {node_["NodeID"]: node_["Resources"].get(resource, 0.0) for node_ in self._nodes()}
        nodes = {node: amount for node, amount in amounts.items() if amount > 0.0}
        if not nodes:
            raise UsageError(
                f"no machine of the Ray cluster offers {resource}",
                cause=f"{len(amounts)} machines are there; the {backend.name} backend runs where Ray counts "
                f"{resource}",
                try_=f"ray start --address=… --resources='{{\"{resource}\": 1}}', there",
            )
        asked = self.ray.remote(num_cpus=0, max_retries=0)(look)
        refs = [asked.options(**self.on(node)).remote(backend, keep_identity=keep_identity) for node in nodes]
        try:
            seen = self.ray.get(refs, timeout=LOOK_S)
        except self.ray.exceptions.GetTimeoutError:
            raise UsageError(
                f"not all of {len(nodes)} machines said within {LOOK_S:g} s what they are",
                cause="a machine is too busy, or left the cluster",
                try_="ray status",
            ) from None
        except self.ray.exceptions.RayError as error:
            raise UsageError(
                "a machine of the Ray cluster could not say what it is",
                cause=_first_line(error),
                try_="install the same trnbench and plugins on every machine",
            ) from None
        return _same_version(
            [
                Machine(number=number, node=node, amount=amount, seen=node_)
                for number, ((node, amount), node_) in enumerate(zip(nodes.items(), seen, strict=True), 1)
            ]
        )


def _same_version(machines: list[Machine]) -> list[Machine]:
    others = [machine for machine in machines if machine.seen.version != VERSION]
    if others:
        raise UsageError(
            f"machine {others[0].number} of the Ray cluster has trnbench {others[0].seen.version}, this one "
            f"has {VERSION}",
            cause="one run is of one version: cases and results travel between them",
            try_=f"pip install trnbench=={VERSION} on every machine",
        )
    return machines


@contextlib.contextmanager
def connected(jobs: int = 0) -> Iterator[Cluster]:
    """The cluster this process is connected to already, else the one that RAY_ADDRESS names, else one of
    this machine alone, which ends with the block.

    `jobs` bounds the processes of the latter; 0 leaves it to Ray. Nothing is written outside a
    temporary folder that is removed. Raises `UsageError`.
    """
    ray = _ray()
    if ray.is_initialized():  # by the program that called us: its connection, and its to close
        with hushed():
            yield Cluster(ray)
        return
    address = os.environ.get(ADDRESS, "")
    with contextlib.ExitStack() as stack:
        stack.enter_context(hushed())
        _answers(address)
        own = {} if address else stack.enter_context(_alone(jobs))
        before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                configure_logging=False,
                logging_level="error",
                **own,
            )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError, OSError) as error:
            if address:
                raise _no_answer(address, _first_line(error)) from None
            raise UsageError(
                "Ray does not start on this machine",
                cause=_first_line(error),
                try_="ray start --head  shows what it says; or leave --executor out",
            ) from None
        finally:
            # Ray takes SIGTERM for itself; it is ours, and so is Ctrl-C.
            with contextlib.suppress(ValueError):  # not in the main thread
                for number, handler in before.items():
                    signal.signal(number, handler)
        stack.callback(ray.shutdown)
        yield Cluster(ray)


def _answers(address: str) -> None:
    """Raises `UsageError` where nobody listens: Ray itself tries for minutes."""
    match = re.fullmatch(r"(?:ray://)?\[?([^\]/]+?)\]?:([0-9]{1,6})", address)
    if match is None:  # "auto", "local", an anyscale:// address
        return
    try:
        socket.create_connection((match[1], int(match[2])), timeout=CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(address, str(getattr(error, "strerror", "") or error)) from None


def _no_answer(address: str, cause: str) -> UsageError:
    return UsageError(
        f"no Ray cluster answers at {address}",
        cause=cause,
        try_=f"ray status --address={address}; unset {ADDRESS}  starts one on this machine",
    )


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError(
            "--executor ray needs Ray, which is not installed here",
            cause="it is an extra: most runs need one machine only",
            try_="pip install 'trnbench[ray]', on every machine of the cluster",
        ) from None
    return ray


@contextlib.contextmanager
def _alone(jobs: int) -> Iterator[dict[str, Any]]:
    """Arguments for a cluster of this machine: no dashboard, no statistics sent, no file left."""
    # Its processes find what this one finds: those of a pool do as well.
    variables = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if not any(os.environ.get(f"RAY_AUTH_{word}") for word in ("MODE", "TOKEN", "TOKEN_PATH")):
        variables["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # else Ray keeps one in the home folder
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    # Sockets lie in it, and their paths may have 107 letters at most: not below a long TMPDIR.
    short = None if len(tempfile.gettempdir()) < 24 else "/tmp"
    try:
        with tempfile.TemporaryDirectory(prefix="tb-", dir=short, ignore_cleanup_errors=True) as folder:
            arguments: dict[str, Any] = {
                "include_dashboard": False,
                "object_store_memory": STORE_BYTES,
                "_temp_dir": folder,
            }
            yield {**arguments, "num_cpus": jobs} if jobs else arguments
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _first_line(error: BaseException) -> str:
    cause = getattr(error, "cause", None)
    if isinstance(cause, TrnbenchError):
        return cause.what
    if isinstance(cause, BaseException):
        return f"{type(cause).__name__}: {cause}".splitlines()[0]
    return lines_of(error)[0]


def lines_of(error: BaseException) -> list[str]:
    """What it says, without empty lines; its type where it says nothing."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]


class _Aside:
    """stdout for the thread that made it; what other threads write is dropped, or goes to stderr where
    TRNBENCH_DEBUG asks for it."""

    def __init__(self, stream: TextIO, heard: bool) -> None:
        self._stream, self._heard, self._owner = stream, heard, threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._owner:
            return self._stream.write(text)
        return sys.stderr.write(text) if self._heard else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Inside, only this thread writes to stdout, and Ray logs errors alone; TRNBENCH_DEBUG lets it speak."""
    heard = debugging()
    logger = logging.getLogger("ray")
    before = logger.level
    if not heard:
        logger.setLevel(logging.ERROR)
    aside: Any = _Aside(sys.stdout, heard)
    try:
        with contextlib.redirect_stdout(aside):
            yield
    finally:
        logger.setLevel(before)


class Seen(Record, kw_only=True):
    """What one machine says of itself."""

    version: str  # of trnbench there
    detection: Detection
    environment: dict[str, Any]
    problem: str = ""  # why the stack could not be described


def look(backend: Backend, *, keep_identity: bool) -> Seen:
    """Asked of every machine before the first case."""
    detection, problem, extra = detected(backend), "", {}
    if detection.available:
        try:
            extra = backend.environment()
        except Exception as error:  # a plugin's, or a tool's of another version
            problem = f"{type(error).__name__}: {error}"
    with identity(kept=keep_identity):
        environment = describe(extra)
    return Seen(version=VERSION, detection=detection, environment=environment, problem=problem)


class Server:
    """Carries out cases by their position. With `apart` each one has a process of its own below this
    one, so that a signal, an exit code or a process ended for memory is told as it is on one machine."""

    def __init__(self, payload: bytes, apart: bool) -> None:
        # What native code prints must not end up on anybody's stdout.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._attempts, self._cases = loads(payload)
        self._apart = apart

    def ready(self) -> bool:
        return True

    def run(self, positions: Sequence[int]) -> list[Entry]:
        """What each case came to; whatever it does short of ending this process, it is told."""
        return [self._run(self._cases[position]) for position in positions]

    def _run(self, case: Case) -> Entry:
        if not self._apart:
            return tried(self._attempts, case)[0]
        ((_, entry),) = Pool(self._attempts, (case,), 1, apart=True).outcomes()
        return entry


def on_machine(entry: Entry, number: int) -> Entry:
    """The outcome with the number of the machine in its detail."""
    measurement = entry.measurement
    detail = {**measurement.detail, "machine": number}
    return Entry(replace(measurement, detail=detail))
