"""Limits of each generation's core, from its facts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trnbench.errors import FactError
from trnbench_emulator.nki import Machine


@pytest.mark.parametrize(
    ("instance", "version", "sbuf_kib", "moving", "psum_dtypes"),
    [
        ("trn1.32xlarge", 2, 192, 512, ("float32",)),
        ("trn2-16.48xlarge", 3, 224, 512, ("float32",)),
        ("trn3-gen1-ultraserver", 4, 256, 4096, ("float32", "bfloat16")),
    ],
)
def test_documented_limits(
    registry: Any, instance: str, version: int, sbuf_kib: int, moving: int, psum_dtypes: tuple[str, ...]
) -> None:
    machine = Machine.of(registry.system(instance))
    assert machine.nc_version == version
    assert machine.sbuf_partition_bytes == sbuf_kib << 10
    assert (machine.partitions, machine.stationary_free, machine.moving_free) == (128, 128, moving)
    assert (machine.psum_partition_bytes, machine.psum_banks, machine.psum_bank_bytes) == (16384, 8, 2048)
    assert machine.psum_dtypes == psum_dtypes


def test_a_limit_no_document_gives(registry: Any) -> None:
    system = registry.system("trn2-16.48xlarge")
    facts = tuple(fact for fact in system.book.facts if fact.metric != "psum_bank_count")
    bare = msgspec.structs.replace(system, book=msgspec.structs.replace(system.book, facts=facts))
    with pytest.raises(FactError) as caught:
        Machine.of(bare)
    assert caught.value.what == "no fact gives psum_bank_count of neuroncore-v3"
