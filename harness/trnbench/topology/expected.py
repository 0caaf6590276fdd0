"""What documents say of a system's graph: counts, ports, names."""

from __future__ import annotations

import msgspec

from trnbench.facts.book import FactBook
from trnbench.topology.figures import Figures


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What facts say of a system, as (value, origin); several where documents differ.

    `counts` are by node kind or "server", `ports` the NeuronLink ports of a device, `names` those that
    documents give the graph.
    """

    counts: dict[str, tuple[tuple[int, str], ...]] = {}
    ports: tuple[tuple[int, str], ...] = ()
    names: tuple[tuple[str, str], ...] = ()


def expected_of(
    book: FactBook, instance: str, device: str, *, parent: str = "", size: int = 1, cores: bool = False
) -> Expected:
    """What `book` says of an instance, or of `size` instances `parent` joined to a cluster."""
    counts: dict[str, tuple[tuple[int, str], ...]] = {}

    def add(kind: str, subject: str, metric: str, times: int = 1) -> None:
        found = _numbers(book, subject, metric, times)
        if found:
            counts[kind] = found

    subject = parent or instance
    times = size if parent else 1
    add("device", subject, "device_count", times)
    if parent:
        counts["server"] = ((size, f"the size asked for, {instance}"),)
    else:
        add("server", instance, "host_count")
    servers = counts.get("server", ((1, ""),))[0][0]
    add("host", subject, "numa_node_count", servers)
    add("adapter", subject, "efa_adapter_count", times)
    if cores and "device" in counts:
        add("core", device, "core_count", counts["device"][0][0])
    names = [fact for fact in book.select(subject, "topology_name") if not fact.superseded_by]
    return Expected(
        counts=counts,
        ports=_numbers(book, device, "neuronlink_port_count"),
        names=tuple((fact.printed, fact.id) for fact in names),
    )


def _numbers(book: FactBook, subject: str, metric: str, times: int = 1) -> tuple[tuple[int, str], ...]:
    return tuple(
        (round(fact.value) * times, fact.id)
        for fact in Figures(book, (subject,)).current(subject, metric)
        if fact.value is not None
    )
