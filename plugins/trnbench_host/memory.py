"""What the machine tells of its memory: channels by the memory controllers (EDAC), their rate by the firmware
(SMBIOS type 17, which root alone may read). Without both the rate is unknown."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

EDAC, DMI = Path("/sys/devices/system/edac/mc"), Path("/sys/firmware/dmi/entries")

# Offsets of the SMBIOS specification (DSP0134), 7.18 Memory Device.
_DATA_WIDTH, _SIZE, _SPEED, _CONFIGURED = 0x0A, 0x0C, 0x15, 0x20


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """0 where the machine does not tell."""

    channels: int = 0
    bits: int = 0  # of data, of one channel
    transfers_per_s: float = 0.0

    @property
    def bytes_per_s(self) -> float:
        return self.channels * self.bits / 8 * self.transfers_per_s


def read_memory(edac: Path = EDAC, dmi: Path = DMI) -> Memory:
    """Modules of several widths or rates are no answer: then nothing is told."""
    rates, widths = set(), set()
    for path in sorted(dmi.glob("17-*/raw")):
        raw = _bytes(path)
        if len(raw) < _SPEED + 2 or not _word(raw, _SIZE):
            continue  # an empty slot
        rates.add(_word(raw, _CONFIGURED) or _word(raw, _SPEED))
        widths.add(_word(raw, _DATA_WIDTH))
    if len(rates) != 1 or len(widths) != 1 or {0, 0xFFFF} & (rates | widths):
        return Memory(channels=_channels(edac))
    return Memory(channels=_channels(edac), bits=widths.pop(), transfers_per_s=rates.pop() * 1e6)


def _channels(edac: Path) -> int:
    """Those that hold a module."""
    channels = set()
    for path in edac.glob("mc*/dimm*"):
        size, place = _bytes(path / "size").decode().strip(), _bytes(path / "dimm_location").decode()
        channel = re.search(r"channel (\d+)", place)
        if size.isdigit() and int(size) and channel:
            channels.add((path.parent.name, channel[1]))
    return len(channels)


def _word(raw: bytes, at: int) -> int:
    # Older firmware writes shorter records; `raw[1]` is the length of the formatted part.
    return int.from_bytes(raw[at : at + 2], "little") if len(raw) >= at + 2 and raw[1] >= at + 2 else 0


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
