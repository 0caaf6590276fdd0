"""Which rank this process is, by the variables that launchers set."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from trnbench.bounded import kinds
from trnbench.errors import UsageError, cut

# (launcher, rank, ranks, ranks on this machine). The first whose two are set is taken: under
# `srun torchrun` it is torchrun that made the ranks. A batch script of Slurm has SLURM_PROCID and
# SLURM_NTASKS without being a rank; only a step has SLURM_STEP_NUM_TASKS.
_LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""),
)
RENDEZVOUS = "TRNBENCH_RENDEZVOUS"
RENDEZVOUS_KEY = "TRNBENCH_RENDEZVOUS_KEY"
OFF = "off"


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """This process among the `size` that `launcher` started."""

    launcher: str
    rank: int
    size: int
    together: bool  # all ranks on one machine


def find_rank(env: Mapping[str, str] = os.environ) -> Rank | None:
    """None where nothing launched several, or TRNBENCH_RENDEZVOUS=off. Raises `UsageError` for nonsense."""
    if env.get(RENDEZVOUS) == OFF:
        return None
    for launcher, rank, size, local in _LAUNCHERS:
        if rank in env and size in env:
            own = Rank(
                launcher=launcher,
                rank=_number(env, rank),
                size=_number(env, size),
                together=_together(env, size, local),
            )
            if not 0 <= own.rank < own.size:
                raise _nonsense(f"{rank}={env[rank]} of {size}={env[size]}")
            return own if own.size > 1 else None
    return None


def _together(env: Mapping[str, str], size: str, local: str) -> bool:
    if local:
        return env.get(local) == env[size]
    return env.get("SLURM_STEP_NUM_NODES") == "1"


def _number(env: Mapping[str, str], name: str) -> int:
    number = kinds.RANK.parsed(env[name])
    if number is None:
        raise _nonsense(f"{name}={cut(env[name])}")
    return int(number)


def _nonsense(what: str) -> UsageError:
    return UsageError(
        f"{what} is no rank",
        cause="a launcher (torchrun, mpirun, srun) numbers its processes from 0 by these variables",
        try_=f"{RENDEZVOUS}={OFF}  runs this process by itself",
    )
