"""The typed metrics: what a fact may speak of, in which dimension, and which way is better."""

from __future__ import annotations

import msgspec

from trnbench.errors import FactError
from trnbench.facts.units import BASE_UNITS


class MetricKind(msgspec.Struct, frozen=True, kw_only=True):
    """`directional`: one way and both ways differ. `by_dtype`: the figure needs its data types.

    `additive`: the figure of a whole is the sum of those of its parts, so that documents of two
    scopes can be held against each other; `by_host` where only hosts add up (memory of the host).
    `single`: a text metric with one right answer.
    """

    name: str
    dimension: str
    about: str
    better: str = "higher"
    directional: bool = False
    by_dtype: bool = False
    additive: bool = False
    hosted: bool = False
    single: bool = False

    @property
    def by_host(self) -> bool:
        """Whether the figures of hosts add up to that of the system they form."""
        return self.additive or self.hosted

    @property
    def unit(self) -> str:
        """The base unit its values are kept in."""
        return BASE_UNITS[self.dimension]


def _kinds() -> tuple[MetricKind, ...]:
    def rate(name: str, about: str, *, directional: bool = False, additive: bool = True) -> MetricKind:
        return MetricKind(
            name=name, dimension="bytes_per_s", about=about, directional=directional, additive=additive
        )

    def capacity(name: str, about: str, *, additive: bool = False, hosted: bool = False) -> MetricKind:
        return MetricKind(name=name, dimension="bytes", about=about, additive=additive, hosted=hosted)

    def count(name: str, about: str, *, hosted: bool = False) -> MetricKind:
        return MetricKind(name=name, dimension="count", about=about, hosted=hosted)

    def text(name: str, about: str, *, single: bool = True) -> MetricKind:
        return MetricKind(name=name, dimension="text", about=about, single=single)

    return (
        MetricKind(
            name="peak_flops",
            dimension="flops",
            about="operations per second; integer operations for INT8",
            by_dtype=True,
            additive=True,
        ),
        rate("hbm_bandwidth", "device memory bandwidth"),
        capacity("hbm_capacity", "device memory", additive=True),
        count("hbm_stack_count", "stacks of device memory"),
        capacity("hbm_stack_capacity", "device memory of one stack"),
        capacity("host_memory", "memory of the hosts", hosted=True),
        rate("host_memory_bandwidth", "memory of the hosts"),
        capacity("cache_capacity", "cache of a processor"),
        count("fma_unit_count", "vector units of one core that multiply and add"),
        count("vector_width", "bits of one vector register"),
        count("vcpu_count", "virtual CPUs of the hosts", hosted=True),
        count("device_count", "accelerator devices (chips)", hosted=True),
        count("devices_per_host", "devices of one server"),
        count("core_count", "NeuronCores"),
        count("logical_core_count", "logical NeuronCores as configured"),
        count("host_count", "servers or instances it is made of"),
        count("die_count", "dies of one device"),
        count("memory_pool_device_count", "devices whose memory can be pooled"),
        count("engine_count", "engines of one core that take instructions"),
        count("semaphore_count", "semaphores of one core"),
        count("tile_limit", "largest extent an instruction takes"),
        count("accumulation_group_count", "accumulations that can be open at once"),
        count("gpsimd_processor_count", "processors of the GpSimd engine"),
        count("gpsimd_vector_width", "bits of one GpSimd vector"),
        rate("dma_bandwidth", "data movement by all DMA engines"),
        count("dma_engine_count", "DMA engines"),
        rate("dma_engine_bandwidth", "data movement by one DMA engine", additive=False),
        count("dma_queue_count", "queues of one DMA engine"),
        rate(
            "gpsimd_dma_bandwidth", "data movement by the DMA inside GpSimd", directional=True, additive=False
        ),
        rate("neuronlink_bandwidth", "links between devices", directional=True),
        count("neuronlink_port_count", "links of one device"),
        rate("efa_bandwidth", "network between instances", directional=True),
        count("efa_adapter_count", "network adapters", hosted=True),
        rate("efa_adapter_bandwidth", "network bandwidth of one adapter", directional=True, additive=False),
        rate("host_link_bandwidth", "link between host and device", directional=True, additive=False),
        rate("sbuf_bandwidth", "on-chip memory bandwidth", additive=False),
        rate("psum_bandwidth", "accumulator memory bandwidth", additive=False),
        capacity("storage_capacity", "local storage", hosted=True),
        capacity("sbuf_capacity", "on-chip memory, state buffer", additive=True),
        capacity("sbuf_partition_capacity", "state buffer of one partition"),
        capacity(
            "sbuf_usable_partition_capacity", "state buffer of one partition that a kernel can allocate"
        ),
        capacity("psum_capacity", "accumulator memory", additive=True),
        capacity("psum_partition_capacity", "accumulator memory of one partition"),
        capacity("psum_bank_partition_capacity", "accumulator memory of one bank of one partition"),
        capacity("gpsimd_memory_capacity", "memory of one GpSimd processor"),
        capacity("transfer_size", "bytes of one transfer or message where behaviour changes"),
        capacity("stride_limit", "longest stride at full rate"),
        count("psum_bank_count", "accumulator banks"),
        count("partition_count", "partitions of the on-chip memories"),
        MetricKind(name="clock", dimension="hertz", about="clock of an engine"),
        count("array_rows", "rows of the systolic array"),
        count("array_columns", "columns of the systolic array"),
        MetricKind(
            name="elements_per_cycle",
            dimension="count",
            about="elements an engine takes in or gives per cycle",
        ),
        MetricKind(
            name="element_rate",
            dimension="elements_per_s",
            about="elements per second of an engine that is not the tensor engine: lanes × clock",
        ),
        MetricKind(
            name="rate_factor",
            dimension="ratio",
            about="throughput of a data type or mode against dense BF16 on the same engine",
            by_dtype=True,
        ),
        MetricKind(
            name="engine_speedup",
            dimension="ratio",
            about="throughput of an engine's mode against its plain mode",
        ),
        count("operations_per_element", "elementary operations an engine counts per element"),
        MetricKind(name="latency", dimension="seconds", about="time of one small operation", better="lower"),
        MetricKind(
            name="overhead_cycles", dimension="cycles", about="fixed cost of one operation", better="lower"
        ),
        MetricKind(name="power", dimension="watts", about="electrical power", better="lower"),
        MetricKind(
            name="ridge_point",
            dimension="flops_per_byte",
            about="operations per byte where compute starts to limit",
        ),
        MetricKind(name="fraction", dimension="ratio", about="share of a rate that can be reached"),
        MetricKind(name="cost_saving", dimension="ratio", about="price against comparable instances"),
        count("cc_core_count", "cores that carry out collectives"),
        count("cluster_device_count", "devices of a whole cluster"),
        count("numa_node_count", "NUMA nodes of the host"),
        count("switch_count", "switches between devices"),
        text("topology_name", "name of the graph"),
        text("instance_name", "name of the instance"),
        text("generation_name", "name of the generation"),
        text("neuronlink_generation", "generation of the links"),
        text("efa_generation", "generation of the network adapters"),
        text("host_architecture", "processor of the host"),
        text("neuroncore_generation", "generation of the core"),
        text("connectivity", "what is connected to what", single=False),
        text("feature", "what the machine can do", single=False),
    )


METRICS: dict[str, MetricKind] = {kind.name: kind for kind in _kinds()}
"""Every metric a fact, an assumption or a peak may name."""

LINK_LEVELS = ("intra-instance", "inter-instance", "intra-server", "inter-server", "inter-rack")
"""Qualifiers of link figures that add up to the whole, where one document lists several."""

DTYPES = ("int8", "fp8", "cfp8", "fp16", "bf16", "tf32", "fp32", "fp64", "mxfp8", "mxfp4")
"""Data types as facts name them; the documents' "FP8" is "fp8"."""


def metric(name: str) -> MetricKind:
    """The metric of that name; raises `FactError` with the nearest names."""
    found = METRICS.get(name)
    if found is not None:
        return found
    from difflib import get_close_matches

    near = get_close_matches(name, METRICS, n=3, cutoff=0.5)
    raise FactError(
        f"unknown metric {name!r}",
        cause=f"did you mean {' or '.join(near)}?" if near else "trnbench.facts.metric lists the known ones",
        try_="a metric of the list; words belong to connectivity or feature",
    )
