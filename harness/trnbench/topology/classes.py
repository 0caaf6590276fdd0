"""The link classes that Neuron systems share, with figures from facts or named assumptions."""

from __future__ import annotations

from trnbench.errors import TopologyError
from trnbench.facts.scope import Scope
from trnbench.topology.figures import (
    Figures,
    check_direction,
    in_one_direction,
    of_assumption,
    of_fact,
    scaled,
)
from trnbench.topology.graph import Budget, Figure, LinkClass, LinkKind

NETWORK_LEVEL = 2
"""Links to hosts, adapters and the network: a route takes them only where NeuronLink does not lead."""


def neuronlink_total(figures: Figures, reading: str, *qualifiers: str) -> Figure:
    """What one device's NeuronLink cables carry together in one direction, in bytes/s.

    `reading` decides where the document does not say which direction it means. Raises
    `TopologyError` when no figure is known.
    """
    check_direction(reading)
    fact = figures.fact("neuronlink_bandwidth", qualifiers or ("",), scope=Scope.DEVICE)
    if fact is None:
        raise figures.missing("neuronlink_bandwidth", "its NeuronLink cables", qualifiers)
    return in_one_direction(fact, reading)


def neuronlink_class(
    figures: Figures, total: Figure, neighbours: int, *, name: str = "neuronlink", level: int = 0
) -> LinkClass:
    """A cable's share of `total`: an even split, since no document gives the share of one cable."""
    share = total if neighbours == 1 else scaled(total, 1 / neighbours, f" / {neighbours} neighbours")
    return LinkClass(
        name=name,
        kind=LinkKind.NEURONLINK,
        bandwidth=share,
        latency=figures.require(
            "latency",
            "one NeuronLink hop",
            qualifiers=("neuronlink-hop",),
            assumptions=("neuronlink-hop-latency",),
        ),
        level=level,
    )


def switch_class(figures: Figures, total: Figure, *, name: str, level: int = 0) -> LinkClass:
    """The way from a device to a switch. Half of the switch's latency is charged on either side."""
    whole = figures.require(
        "latency",
        "one passage through a switch",
        qualifiers=("neuronswitch",),
        assumptions=("neuronswitch-latency",),
    )
    return LinkClass(
        name=name,
        kind=LinkKind.SWITCH,
        bandwidth=total,
        latency=scaled(whole, 0.5, " / 2 links of the passage"),
        level=level,
    )


def host_class(figures: Figures) -> LinkClass:
    """The PCIe way between a device and its host."""
    return LinkClass(
        name="host",
        kind=LinkKind.PCIE,
        bandwidth=figures.require(
            "host_link_bandwidth",
            "the link between host and device",
            assumptions=("host-link-bandwidth",),
        ),
        latency=figures.require(
            "latency",
            "the link between host and device",
            qualifiers=("host-link",),
            assumptions=("host-link-latency",),
        ),
        level=NETWORK_LEVEL,
    )


def efa_classes(figures: Figures) -> tuple[LinkClass, LinkClass]:
    """(device to adapter, adapter to network).

    Network figures are per direction, as is usual for full-duplex Ethernet. The documented latency is
    from memory to memory, so what the two ways to the adapters take is taken off it and the rest is
    halved. The way to the adapter is taken to be as fast as the adapter.
    """
    adapter = figures.require("efa_adapter_bandwidth", "its EFA adapters")
    whole = figures.require(
        "latency", "a message over EFA", qualifiers=("efa",), assumptions=("efa-latency",)
    )
    near = figures.require("latency", "the way to an EFA adapter", assumptions=("adapter-latency",))
    rest = whole.value - 2 * near.value
    if rest < 0:
        raise TopologyError(
            f"{figures.subjects[0]}: the two ways to the adapters take longer than a whole EFA message",
            cause=f"{near.origin} is {near.formula}, {whole.origin} is {whole.formula}",
            try_="correct one of the two in the fact files",
        )
    return (
        LinkClass(
            name="adapter",
            kind=LinkKind.PCIE,
            bandwidth=scaled(adapter, 1.0, ", as fast as the adapter"),
            latency=near,
            level=NETWORK_LEVEL,
        ),
        LinkClass(
            name="efa",
            kind=LinkKind.EFA,
            bandwidth=adapter,
            latency=Figure(
                value=rest / 2,
                origin=f"{whole.origin} + {near.origin}",
                formula=f"({whole.formula} − 2 × {near.formula}) / 2 adapters on the way",
                assumed=whole.assumed or near.assumed,
            ),
            level=NETWORK_LEVEL,
        ),
    )


def core_class(figures: Figures, cores: int) -> LinkClass:
    """How a core reaches its device's memory and links: an assumption, else its share of the DMA."""
    assumed = figures.assumption("dma_bandwidth", "on-chip-bandwidth")
    if assumed is not None:
        bandwidth = of_assumption(assumed)
    else:
        bandwidth = figures.require("dma_bandwidth", "its on-chip links", divide=cores, by=f"{cores} cores")
    return LinkClass(
        name="on-chip",
        kind=LinkKind.ON_CHIP,
        bandwidth=bandwidth,
        latency=figures.require(
            "latency", "its on-chip links", qualifiers=("on-chip",), assumptions=("on-chip-latency",)
        ),
    )


def neuronlink_budget(
    figures: Figures,
    name: str,
    classes: tuple[str, ...],
    figure: Figure,
    reading: str,
    *qualifiers: str,
) -> Budget:
    """What a device's cables of these classes add up to, beside every document that prints a total."""
    printed = {
        fact.id: in_one_direction(fact, reading)
        for subject in figures.subjects
        for fact in figures.current(subject, "neuronlink_bandwidth", qualifiers or ("",))
        if fact.scope is Scope.DEVICE
    }
    return Budget(name=name, owner="device", classes=classes, figure=figure, readings=printed)


def efa_budget(figures: Figures, adapters: int, *, subject: str = "", owner: str = "system") -> Budget:
    """All adapters of the system (or of each server) together, in one direction.

    `subject` is whose documented network bandwidth they are held against.
    """
    adapter = figures.require("efa_adapter_bandwidth", "its EFA adapters")
    printed = figures.current(subject or figures.subjects[0], "efa_bandwidth")
    return Budget(
        name=f"EFA per {owner}",
        owner=owner,
        classes=("efa",),
        figure=scaled(adapter, adapters, f" × {adapters} adapters"),
        readings={fact.id: of_fact(fact) for fact in printed},
    )
