"""The memory's rate: by controllers and firmware together, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnbench_host.book import book, unknowns
from trnbench_host.cpu import Cpu, Memory, read_memory


def cpu(flags: frozenset[str] = frozenset()) -> Cpu:
    return Cpu(name="a processor", vendor="", family=0, model=0, flags=flags, sockets=1, cores=2, threads=2)


def module(*, size: int = 32768, width: int = 64, speed: int = 4800, configured: int = 4400) -> bytes:
    """A record of SMBIOS type 17 with 0x28 bytes, as DSP0134 lays it out."""
    raw = bytearray(0x28)
    raw[0], raw[1] = 17, 0x28
    for at, value in ((0x0A, width), (0x0C, size), (0x15, speed), (0x20, configured)):
        raw[at : at + 2] = value.to_bytes(2, "little")
    return bytes(raw)


def folders(at: Path, modules: list[bytes], channels: list[tuple[int, int]]) -> tuple[Path, Path]:
    """(edac, dmi); `channels` are (controller, channel) of each module that is there."""
    for number, raw in enumerate(modules):
        (at / "dmi" / f"17-{number}").mkdir(parents=True)
        (at / "dmi" / f"17-{number}" / "raw").write_bytes(raw)
    for number, (controller, channel) in enumerate(channels):
        place = at / "edac" / f"mc{controller}" / f"dimm{number}"
        place.mkdir(parents=True)
        (place / "size").write_text("32768\n")
        (place / "dimm_location").write_text(f"channel {channel} slot 0 \n")
    return at / "edac", at / "dmi"


def test_channels_and_rate_together_give_the_peak(tmp_path: Path) -> None:
    # Two modules on one channel, one on another; the fourth slot is empty.
    found = read_memory(
        *folders(tmp_path, [*[module()] * 3, module(size=0, configured=0)], [(0, 0), (0, 0), (0, 1)])
    )
    assert found == Memory(channels=2, bits=64, transfers_per_s=4.4e9)
    facts = {each.metric: each for each in book(cpu(), found).facts}
    peak = facts["host_memory_bandwidth"]
    assert peak.value == 2 * 8 * 4.4e9
    assert peak.formula == "2 channels × 8 B × 4400 MT/s"
    assert not any("memory channels" in each for each in unknowns(cpu(), found))


@pytest.mark.parametrize(
    ("modules", "channels"),
    [
        ([], [(0, 0)]),  # firmware is not readable
        ([module()], []),  # no driver of the controllers
        ([module(), module(configured=3200)], [(0, 0), (0, 1)]),  # two rates
        ([module(width=0xFFFF)], [(0, 0)]),  # "unknown", in SMBIOS
    ],
)
def test_half_of_it_is_nothing(modules: list[bytes], channels: list[tuple[int, int]], tmp_path: Path) -> None:
    found = read_memory(*folders(tmp_path, modules, channels))
    assert found.bytes_per_s == 0.0
    assert "host_memory_bandwidth" not in {each.metric for each in book(cpu(), found).facts}
    assert any("memory channels" in each for each in unknowns(cpu(), found))


def test_what_firmware_says_in_a_virtual_machine_is_made_up() -> None:
    virtual = cpu(flags=frozenset({"hypervisor"}))
    memory = Memory(channels=8, bits=64, transfers_per_s=3.2e9)
    assert "host_memory_bandwidth" not in {each.metric for each in book(virtual, memory).facts}
