"""What the vendor's compiler is taken to do to a kernel before it runs: switches with names.

No document prints what the compiler decides, so each of these stands for a decision that published times or
profiles show. Each can be switched off, to see what a time owes to it (`trnbench nki run --assume
no-hoisting`). All of them together are what every number is made under, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec.structs import replace

from trnbench.errors import UnknownName, UsageError
from trnbench.generation import System
from trnbench.record import Record

NEGATION = "no-"


class Interface(StrEnum):
    """Kernels of which interface a decision is about."""

    BETA1 = "Beta 1"
    EVERY = "every interface"


class Switch(Record, kw_only=True):
    """`assumed` says what the compiler is taken to do, `otherwise` what is timed with the switch off,
    `evidence` why it is taken to do so."""

    name: str
    assumed: str
    otherwise: str
    evidence: str
    interface: Interface = Interface.BETA1

    @property
    def negation(self) -> str:
        return NEGATION + self.name


SWITCHES: dict[str, Switch] = {
    switch.name: switch
    for switch in (
        Switch(
            name="residence",
            assumed="what was loaded and is still in SBUF is not loaded again, unless the kernel wrote to it",
            otherwise="every load of the source is a transfer",
            evidence="NKIBench's product with an RMS norm loads 604 MB as it is written and 98 MB as it ran",
        ),
        Switch(
            name="hoisting",
            assumed="what does not depend on the innermost loop is done once: sums, products, scans of tiles",
            otherwise="every round does it",
            evidence="the published times of Mamba are shorter than with its product in every round",
        ),
        Switch(
            name="spilling",
            assumed="tiles that do not fit into SBUF go to device memory and back, the last used first",
            otherwise="tiles in use stay in SBUF even where they exceed it",
            evidence="NKIBench's gqa_full writes 34 MB as it is written and 1,133 MB as it ran",
        ),
        Switch(
            name="renaming",
            assumed="a load that overwrites a whole tile has a place of its own, and waits for no reader",
            otherwise="it waits for those who still read, and is never left out",
            evidence="published convolutions that load into one tile row by row leave no time for waiting",
        ),
        Switch(
            name="engine-choice",
            assumed="copies and products of floats with a number or a column go to Scalar if left open",
            otherwise="they go to the first engine that can do them, which is Vector",
            evidence="the published profiles of NKIBench's baselines show them on Scalar",
        ),
        Switch(
            name="copy-balance",
            assumed="nisa.tensor_copy left open goes to Vector or Scalar, whichever has less to do",
            otherwise="it goes to Vector",
            evidence="the documents say so, and published profiles show such copies on Scalar",
            interface=Interface.EVERY,
        ),
        Switch(
            name="hardware-descriptors",
            assumed="hardware makes the descriptors of nisa.dma_copy left open, from Trainium2 on",
            otherwise="they are prepared beforehand, as those of nl.load and nl.store",
            evidence="kernels of Trainium2 that issue hundreds of copies take 0.62 µs for each",
        ),
        Switch(
            name="equal-programs",
            assumed="programs of a grid that never ask for their number are one",
            otherwise="each of them does the same work again",
            evidence="the published bound of a nearest resizing leaves time for two of its ten programs",
        ),
        Switch(
            name="zero-elision",
            assumed="zeros in PSUM are never written: the first product overwrites",
            otherwise="Vector writes them",
            evidence="documents say so of the first product of an accumulation group",
            interface=Interface.EVERY,
        ),
        Switch(
            name="broadcast-in-psum",
            assumed="a row that is spread over partitions is read in PSUM, up to one bank of fp32",
            otherwise="Scalar brings it out to SBUF",
            evidence="published profiles of Mamba leave Vector no time for two operands in SBUF",
        ),
        Switch(
            name="reading-in-psum",
            assumed="a product that Vector and Scalar alone read is not copied, up to half of PSUM",
            otherwise="every copy of the source is made",
            evidence="published profiles of a fused attention read PSUM where its text reads a copy",
        ),
        Switch(
            name="broadcast-product",
            assumed="a row of floats is spread over partitions by a product with ones",
            otherwise="Vector shuffles it to 32 partitions at a time",
            evidence="published profiles of kernels that spread rows leave Vector no time for it",
            interface=Interface.EVERY,
        ),
    )
}


class Assumptions(Record):
    """Which switches are off; none of them is what the shipped model assumes. `off` is in the order of
    `SWITCHES`, so that equal assumptions are equal values."""

    off: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        """Whether the compiler is taken to do this."""
        return name not in self.off

    def toggled(self, name: str) -> Assumptions:
        """With this one the other way round."""
        return Assumptions(tuple(switch for switch in SWITCHES if (switch in self.off) != (switch == name)))

    def __str__(self) -> str:
        """ "no-hoisting, no-residence", "" where nothing is switched off."""
        return ", ".join(SWITCHES[switch].negation for switch in self.off)


AS_SHIPPED: Assumptions = Assumptions()
"""Every switch on."""


def assumptions(words: str | Iterable[str]) -> Assumptions:
    """From "no-hoisting", "no-hoisting,no-residence" or several such words; "hoisting" is as it is anyway.

    Raises `UnknownName` that lists the names there are, and `UsageError` for one both ways.
    """
    texts = [words] if isinstance(words, str) else list(words)
    answers: dict[str, bool] = {}
    for word in (switch.strip() for text in texts for switch in text.split(",")):
        name = word.removeprefix(NEGATION)
        if name not in SWITCHES:
            switch_names = ", ".join(switch.negation for switch in SWITCHES.values())
            raise UnknownName("assumption", word, _both_ways(), try_=f"one of {switch_names}")
        on = name == word
        if answers.setdefault(name, on) is not on:
            raise UsageError(
                f"{name} is assumed and not assumed",
                cause=f"both {name} and {NEGATION}{name} are given",
                try_="keep one of them",
            )
    return Assumptions(tuple(name for name in SWITCHES if not answers.get(name, True)))


def _both_ways() -> list[str]:
    return [name for switch in SWITCHES.values() for name in (switch.name, switch.negation)]


def meaningful(beta1: bool) -> tuple[str, ...]:
    """Names that mean something for a kernel of Beta 1, or of today's interface."""
    return tuple(name for name, switch in SWITCHES.items() if beta1 or switch.interface is Interface.EVERY)


def negations(assumed: Assumptions, *, beta1: bool) -> tuple[str, ...]:
    """ "no-hoisting" for each that is switched off and means something for such a kernel."""
    names = meaningful(beta1)
    return tuple(SWITCHES[name].negation for name in assumed.off if name in names)


def check_meaningful(assumed: Assumptions, kernel: str, *, beta1: bool) -> None:
    """Raises `UsageError` where something is switched off that is never done to such a kernel."""
    names = meaningful(beta1)
    idle = [SWITCHES[name].negation for name in assumed.off if name not in names]
    if idle:
        raise UsageError(
            f"{', '.join(idle)} has no meaning for {kernel}",
            cause="it is about kernels of Beta 1 (neuronxcc.nki), and this one is of today's NKI",
            try_="leave it out, or one of " + ", ".join(SWITCHES[name].negation for name in names),
        )


def switches() -> list[tuple[str, str]]:
    """Name and meaning of each switch of `--assume`, for `--help`."""
    return [(each.name, _about(each)) for each in SWITCHES.values()]


def _about(switch: Switch) -> str:
    evidence = switch.evidence[0].upper() + switch.evidence[1:]
    return f"{switch.interface}: {switch.assumed}; else {switch.otherwise}. {evidence}."


def assuming(system: System, name: str, value: float) -> System:
    """The system with another value for one of its assumptions, in base units."""
    book = system.book
    assumption = replace(book.assumptions[name], value=value)
    return replace(system, book=replace(book, assumptions={**book.assumptions, name: assumption}))


class AssumptionUse:
    """Assumptions of a system. Each one used is remembered, so that results can name it."""

    def __init__(self, system: System) -> None:
        self.book = system.book
        self.used: dict[str, float] = {}
        self.absent: list[str] = []

    def value(self, name: str) -> float:
        """Base units; 0 where the book has no assumption of that name, which is then said."""
        assumption = self.book.assumptions.get(name)
        if assumption is None:
            if name not in self.absent:
                self.absent.append(name)
            return 0.0
        self.used[name] = assumption.value
        return assumption.value

    def notes(self) -> tuple[str, ...]:
        lines = []
        for name in self.used:
            assumption = self.book.assumptions[name]
            lines.append(f"assumed {name}: {assumption.printed} {assumption.printed_unit}")
        lines += [f"no figure for {name}: taken as 0" for name in self.absent]
        return tuple(lines)
