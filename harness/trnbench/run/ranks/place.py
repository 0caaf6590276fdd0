"""Where ranks meet: an address that all of them can work out, or a file that rank 0 leaves for the others."""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from trnbench.errors import UsageError
from trnbench.run.ranks.rank import RENDEZVOUS, Rank

_JOBS = (
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "TORCHELASTIC_RUN_ID",
    "MASTER_PORT",
)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """`file` where the address is not known before rank 0 listens; `key` keeps other jobs out."""

    host: str = ""
    port: int = 0
    file: Path | None = None
    key: str = ""

    def __str__(self) -> str:
        return str(self.file) if self.file else f"{self.host}:{self.port}"


def place_of(rank: Rank, env: Mapping[str, str] = os.environ) -> Place:
    """Raises `UsageError` where the variables do not tell."""
    given = env.get(RENDEZVOUS, "")
    key = _job(env)
    if "/" in given:
        return Place(file=Path(given) / f"trnbench-{key}.rendezvous", key=key)
    if given:
        host, port = _address(given)
        return Place(host=host, port=port, key=key)
    if rank.together:
        # Two users may run at once, or one user two jobs.
        name = f"trnbench-{os.getuid()}-{key}.rendezvous"
        return Place(file=Path(tempfile.gettempdir()) / name, key=key)
    if "MASTER_ADDR" in env and env.get("MASTER_PORT", "").isdigit():
        # The port itself is the launcher's or PyTorch's.
        return Place(host=env["MASTER_ADDR"], port=int(env["MASTER_PORT"]) + 1, key=key)
    if rank.launcher == "srun" and (host := first_host(env.get("SLURM_STEP_NODELIST", ""))):
        number = int(env.get("SLURM_JOB_ID", "0") or 0) * 31 + int(env.get("SLURM_STEP_ID", "0") or 0)
        return Place(host=host, port=20000 + number % 10000, key=key)
    raise UsageError(
        f"{rank.size} ranks of {rank.launcher} do not know where rank 0 is",
        cause="they are on several machines, and no variable names the first one",
        try_=f"mpirun -x {RENDEZVOUS}=HOST:29400 …, HOST being the machine of rank 0",
    )


def first_host(nodes: str) -> str:
    """The first name of a Slurm list: "trn[007-009,12],head" begins with "trn007"."""
    found = re.match(r"([^,\[]+)(?:\[([^\],\-]+))?", nodes)
    return f"{found[1]}{found[2] or ''}" if found else ""


def publish(place: Place, port: int) -> Place:
    """Where rank 0 listens, for the others to read; the same place where the address was known before."""
    if place.file is None:
        return place
    told = msgspec.structs.replace(place, host=_own_address(place), port=port, key=secrets.token_hex(16))
    words = json.dumps({"host": told.host, "port": told.port, "key": told.key})
    path = place.file.with_suffix(f".{os.getpid()}")
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(words)
        os.replace(path, place.file)
    except OSError as error:
        raise UsageError(
            f"rank 0 cannot leave its address in {place.file}",
            cause=str(error.strerror or error),
            try_=f"{RENDEZVOUS}=/a/folder/all/ranks/can/write",
        ) from None
    return told


def withdraw(place: Place) -> None:
    """Take down what tells other ranks where to meet; nothing where nothing was put up."""
    if place.file is not None:
        with suppress(OSError):
            place.file.unlink()


def find(place: Place, deadline: float) -> Place | None:
    """The place with its address, once rank 0 has told; None when the time is over."""
    if place.file is None:
        return place
    while time.monotonic() < deadline:
        with suppress(OSError, ValueError, KeyError):
            if place.file.stat().st_uid == os.getuid():
                told = json.loads(place.file.read_text())
                return msgspec.structs.replace(place, host=told["host"], port=told["port"], key=told["key"])
        time.sleep(0.05)
    return None


def _own_address(place: Place) -> str:
    import socket

    if place.file is not None and place.file.parent == Path(tempfile.gettempdir()):
        return "127.0.0.1"
    return socket.gethostname()


def _job(env: Mapping[str, str]) -> str:
    words = [env[name] for name in _JOBS if env.get(name)]
    return re.sub(r"[^\w.-]", "_", "-".join(words))[:80] or f"parent{os.getppid()}"


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(
            f"{RENDEZVOUS}={text} is no place to meet",
            cause="it is HOST:PORT of rank 0, a folder that all ranks share, or off",
            try_=f"{RENDEZVOUS}=10.0.0.4:29400",
        )
    return host.strip("[]"), int(port)
