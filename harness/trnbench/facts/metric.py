"""Metrics, each with its dimension, and whether two figures are of one kind."""

from __future__ import annotations

from trnbench.errors import FactError
from trnbench.facts.fact import Direction, Fact, Peak
from trnbench.facts.units import BASE_UNITS, DIMENSIONS
from trnbench.record import Record

MOST_COUNTED = 1 << 20
"""Of what is counted; the largest cluster of a document has a tenth as many devices."""

_DIVISORS = ("flops", "bytes_per_s", "elements_per_s", "hertz", "count")
"""Dimensions that work is divided by."""


class MetricKind(Record, kw_only=True):
    """`directional`: one way and both ways differ. `by_dtype`: the figure needs its data types.

    `additive`: the figure of a whole is the sum of those of its parts, so that documents of two
    scopes can be held against each other; `by_host` where only hosts add up (memory of the host).
    `single`: a text metric with one right answer. `counted`: things, and `optional` ones of which a machine
    may have none.
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
    counted: bool = False
    optional: bool = False

    def range(self, value: float) -> str:
        """Empty where a fact may have `value`, else the numbers it may have."""
        if self.counted:
            least = 0 if self.optional else 1
            fits = least <= value <= MOST_COUNTED and value == int(value)
            return "" if fits else f"a whole number from {least} to {MOST_COUNTED:,}"
        return "more than 0" if value == 0 and self.dimension in _DIVISORS else ""

    @property
    def by_host(self) -> bool:
        """Whether the figures of hosts add up to that of the system they form."""
        return self.additive or self.hosted

    @property
    def unit(self) -> str:
        """The base unit its values are kept in."""
        return BASE_UNITS[self.dimension]


def _rate(name: str, about: str, *, directional: bool = False, additive: bool = True) -> MetricKind:
    return MetricKind(
        name=name, dimension="bytes_per_s", about=about, directional=directional, additive=additive
    )


def _capacity(name: str, about: str, *, additive: bool = False, hosted: bool = False) -> MetricKind:
    return MetricKind(name=name, dimension="bytes", about=about, additive=additive, hosted=hosted)


def _count(name: str, about: str, *, hosted: bool = False, optional: bool = False) -> MetricKind:
    return MetricKind(
        name=name, dimension="count", about=about, hosted=hosted, counted=True, optional=optional
    )


def _text(name: str, about: str, *, single: bool = True) -> MetricKind:
    return MetricKind(name=name, dimension="text", about=about, single=single)


_KINDS = (
    MetricKind(
        name="peak_flops",
        dimension="flops",
        about="operations per second; integer operations for INT8",
        by_dtype=True,
        additive=True,
    ),
    _rate("hbm_bandwidth", "device memory bandwidth"),
    _capacity("hbm_capacity", "device memory", additive=True),
    _count("hbm_stack_count", "stacks of device memory"),
    _capacity("hbm_stack_capacity", "device memory of one stack"),
    _capacity("host_memory", "memory of the hosts", hosted=True),
    _rate("host_memory_bandwidth", "memory of the hosts"),
    _capacity("cache_capacity", "cache of a processor"),
    _count("fma_unit_count", "vector units of one core that multiply and add"),
    _count("vector_width", "bits of one vector register"),
    _count("vcpu_count", "virtual CPUs of the hosts", hosted=True),
    _count("device_count", "accelerator devices (chips)", hosted=True),
    _count("devices_per_host", "devices of one server"),
    _count("core_count", "NeuronCores"),
    _count("logical_core_count", "logical NeuronCores as configured"),
    _count("host_count", "servers or instances it is made of"),
    _count("die_count", "dies of one device"),
    _count("memory_pool_device_count", "devices whose memory can be pooled", optional=True),
    _count("engine_count", "engines of one core that take instructions"),
    _count("semaphore_count", "semaphores of one core", optional=True),
    _count("tile_limit", "largest extent an instruction takes"),
    _count("accumulation_group_count", "accumulations that can be open at once"),
    _count("gpsimd_processor_count", "processors of the GpSimd engine", optional=True),
    _count("gpsimd_vector_width", "bits of one GpSimd vector"),
    _rate("dma_bandwidth", "data movement by all DMA engines"),
    _count("dma_engine_count", "DMA engines"),
    _rate("dma_engine_bandwidth", "data movement by one DMA engine", additive=False),
    _count("dma_queue_count", "queues of one DMA engine"),
    _rate("gpsimd_dma_bandwidth", "data movement by the DMA inside GpSimd", directional=True, additive=False),
    _rate("neuronlink_bandwidth", "links between devices", directional=True),
    _count("neuronlink_port_count", "links of one device", optional=True),
    _rate("efa_bandwidth", "network between instances", directional=True),
    _count("efa_adapter_count", "network adapters", hosted=True, optional=True),
    _rate("efa_adapter_bandwidth", "network bandwidth of one adapter", directional=True, additive=False),
    _rate("host_link_bandwidth", "link between host and device", directional=True, additive=False),
    _rate("sbuf_bandwidth", "on-chip memory bandwidth", additive=False),
    _rate("psum_bandwidth", "accumulator memory bandwidth", additive=False),
    _capacity("storage_capacity", "local storage", hosted=True),
    _capacity("sbuf_capacity", "on-chip memory, state buffer", additive=True),
    _capacity("sbuf_partition_capacity", "state buffer of one partition"),
    _capacity("sbuf_usable_partition_capacity", "state buffer of one partition that a kernel can allocate"),
    _capacity("psum_capacity", "accumulator memory", additive=True),
    _capacity("psum_partition_capacity", "accumulator memory of one partition"),
    _capacity("psum_bank_partition_capacity", "accumulator memory of one bank of one partition"),
    _capacity("gpsimd_memory_capacity", "memory of one GpSimd processor"),
    _capacity("transfer_size", "bytes of one transfer or message where behaviour changes"),
    _capacity("stride_limit", "longest stride at full rate"),
    _count("psum_bank_count", "accumulator banks"),
    _count("partition_count", "partitions of the on-chip memories"),
    MetricKind(name="clock", dimension="hertz", about="clock of an engine"),
    _count("array_rows", "rows of the systolic array"),
    _count("array_columns", "columns of the systolic array"),
    MetricKind(
        name="elements_per_cycle", dimension="count", about="elements an engine takes in or gives per cycle"
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
    _count("operations_per_element", "elementary operations an engine counts per element"),
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
    _count("cc_core_count", "cores that carry out collectives", optional=True),
    _count("cluster_device_count", "devices of a whole cluster"),
    _count("numa_node_count", "NUMA nodes of the host"),
    _count("switch_count", "switches between devices", optional=True),
    _text("topology_name", "name of the graph"),
    _text("instance_name", "name of the instance"),
    _text("generation_name", "name of the generation"),
    _text("neuronlink_generation", "generation of the links"),
    _text("efa_generation", "generation of the network adapters"),
    _text("host_architecture", "processor of the host"),
    _text("neuroncore_generation", "generation of the core"),
    _text("connectivity", "what is connected to what", single=False),
    _text("feature", "what the machine can do", single=False),
)

METRICS: dict[str, MetricKind] = {kind.name: kind for kind in _KINDS}
"""Every metric a fact, an assumption or a peak may name."""

LINK_LEVELS = ("intra-instance", "inter-instance", "intra-server", "inter-server", "inter-rack")
"""Qualifiers of link figures that add up to the whole, where one document lists several."""

DTYPES = ("int8", "fp8", "cfp8", "fp16", "bf16", "tf32", "fp32", "fp64", "mxfp8", "mxfp4")
"""Data types as facts name them; the documents' "FP8" is "fp8"."""


def metric(name: str) -> MetricKind:
    """The metric of that name; raises `FactError` with the nearest names."""
    kind = METRICS.get(name)
    if kind is not None:
        return kind
    from difflib import get_close_matches

    near = get_close_matches(name, METRICS, n=3, cutoff=0.5)
    raise FactError(
        f"unknown metric {name!r}",
        cause=f"did you mean {' or '.join(near)}?" if near else "trnbench.METRICS has the known ones",
        try_="a metric of trnbench.METRICS; words belong to connectivity or feature",
    )


def unlike(one: Fact | Peak, other: Fact | Peak) -> str:
    """Empty where the two may be compared, else what differs."""
    a, b = metric(one.metric).dimension, metric(other.metric).dimension
    if a != b:
        return f"{DIMENSIONS[a]} against {DIMENSIONS[b]}"
    if one.scope is not other.scope:
        return f"per {one.scope} against per {other.scope}"
    if one.sparse != other.sparse:
        return "sparse against dense"
    if {one.direction, other.direction} == {Direction.ONE_WAY, Direction.BOTH_WAYS}:
        return "one way against both ways"
    return ""
