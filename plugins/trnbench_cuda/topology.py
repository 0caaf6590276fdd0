"""One GPU alone, or the eight of a board around its NVSwitches."""

from __future__ import annotations

from trnbench import LinkClass, LinkKind, Node, NodeKind, System, Topology
from trnbench.topology import ONE_WAY, Assembly, Budget, connect_switch, in_one_direction, scaled


def single(system: System) -> Topology:
    """Whatever NVLink could reach is left out: the system is this GPU."""
    return Topology(
        name=system.name,
        nodes=(Node(0, "gpu0", NodeKind.DEVICE),),
        links=(),
        classes={},
        shape=("single", 1),
        notes=("one GPU, whatever else the machine holds",),
    )


def board(system: System) -> Topology:
    """Every GPU reaches every other at the full rate of its NVLinks: the switches do not block.

    Raises `TopologyError` where the facts lack the NVLink rate or the number of GPUs.
    """
    figures = system.figures
    fact = figures.fact("neuronlink_bandwidth")
    if fact is None:
        raise figures.missing("neuronlink_bandwidth", "its NVLinks", ("",))
    rate = in_one_direction(fact, ONE_WAY)
    hop = figures.require("latency", "one passage through an NVSwitch", assumptions=("nvswitch-latency",))
    assembly = Assembly(system.name)
    count = figures.count("device_count", "its GPUs")
    gpus = [assembly.add(f"gpu{index}", NodeKind.DEVICE, (index,)) for index in range(count)]
    assembly.declare(
        LinkClass(
            name="nvlink",
            kind=LinkKind.SWITCH,
            bandwidth=rate,
            latency=scaled(hop, 0.5, " / 2 links of the passage"),
        )
    )
    connect_switch(assembly, "nvswitch", gpus, "nvlink")
    switches = figures.count("switch_count", "its NVSwitches")
    return assembly.finish(
        ("switched", 1, count),
        notes=(
            f"{switches} NVSwitches, drawn as one: each GPU has links to all of them, and they do not block",
            "figures of NVLink are printed for both directions together; half of it goes one way",
        ),
        budgets=(
            Budget(
                name="NVLink per GPU",
                owner="device",
                classes=("nvlink",),
                figure=rate,
                readings={fact.id: rate},
            ),
        ),
    )
