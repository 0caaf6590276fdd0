"""How many of each part a system has, and how a figure of one scope becomes one of another."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import msgspec

from trnbench.facts.scope import Scope
from trnbench.generation import System
from trnbench.kernels.extent import Extent


class Parts(msgspec.Struct, frozen=True):
    """Counts of a system of scope `own`: `cores` of a device, `devices` and `hosts` in all, and `logical`
    cores in one logical core."""

    own: Scope
    cores: int
    devices: int
    hosts: int
    logical: int

    @classmethod
    def of(cls, system: System, extent: Extent | None = None) -> Parts:
        """A logical core is as many cores as `extent` says (two where it does not)."""
        cores = system.cores_per_device
        asked = extent.cores if extent is not None and extent.scope is Scope.LOGICAL_CORE else 0
        return cls(
            own=system.instance.scope,
            cores=cores,
            devices=system.devices,
            hosts=max(system.hosts, 1),
            logical=min(asked if asked > 1 else 2, cores),
        )

    def has(self, scope: Scope) -> bool:
        """Whether the system has parts of `scope`, or is of it."""
        if scope.rank <= Scope.INSTANCE.rank:
            return True
        return scope is self.own

    def devices_in(self, scope: Scope) -> Fraction:
        """Devices in one part of `scope`; a core is a fraction of one."""
        if scope in (Scope.ENGINE, Scope.CORE):
            return Fraction(1, self.cores)
        if scope is Scope.LOGICAL_CORE:
            return Fraction(self.logical, self.cores)
        if scope is Scope.DEVICE:
            return Fraction(1)
        if scope is Scope.INSTANCE and self.own is not Scope.INSTANCE:
            return Fraction(self.devices, self.hosts)
        return Fraction(self.devices)

    def step(self, start: Scope, to: Scope) -> tuple[Fraction, str]:
        """(factor, arithmetic) from a figure of `start` to one of `to`: (1/32, "/ 16 devices / 2 cores")."""
        return _step(self, start, to)


def times(value: float, factor: Fraction) -> float:
    """Rounded once, at the end."""
    above, below = value.as_integer_ratio()
    return (above * factor.numerator) / (below * factor.denominator)


@lru_cache(maxsize=1024)
def _step(parts: Parts, start: Scope, to: Scope) -> tuple[Fraction, str]:
    factor = parts.devices_in(to) / parts.devices_in(start)
    if factor == 1:
        return factor, ""
    if start.rank > Scope.DEVICE.rank and to.rank > Scope.DEVICE.rank:
        return factor, _times(factor, "instance")
    if start.rank < Scope.DEVICE.rank and to.rank < Scope.DEVICE.rank:
        return factor, _times(factor, "core")
    above = _times(parts.devices_in(to), "device") if to.rank > Scope.DEVICE.rank else ""
    below = _times(1 / parts.devices_in(start), "device") if start.rank > Scope.DEVICE.rank else ""
    words = [_in_device(parts, start, up=True), below, above, _in_device(parts, to, up=False)]
    return factor, " ".join(word for word in words if word)


def _in_device(parts: Parts, scope: Scope, *, up: bool) -> str:
    if scope.rank >= Scope.DEVICE.rank:
        return ""
    name = "logical core" if scope is Scope.LOGICAL_CORE else "core"
    count = 1 / parts.devices_in(scope)
    return _times(count if up else 1 / count, name)


def _times(factor: Fraction, noun: str) -> str:
    if factor == 1:
        return ""
    sign, count = ("×", factor) if factor > 1 else ("/", 1 / factor)
    number = f"{count.numerator:,}" if count.denominator == 1 else f"{float(count):,.4g}"
    return f"{sign} {number} {noun}{'s' if count != 1 else ''}"
