"""Which kernel an operator is at the shape of a rank, and what it shares with its neighbours.

*Activations stay in SBUF* where the widest operand and result of a layer fill no more than three quarters of
it (the rest is for weights on their way), and nothing is kept for a backward pass. Features then lie on the
partitions, and each operator takes what the one before left: only weights and cache are read.

*Activations go through HBM* otherwise, between every two operators.

*An activation or a gate* behind a matrix product is applied as its sums leave PSUM, which they do anyway: it
takes nothing of its own.

Cores of a logical core share an operator evenly: the columns of a product, the caches or heads of attention
(of a single head the queries; of compressed vectors the keys), the rows of what is done element by element.
Of few rows that stay in SBUF each core normalises all.
"""

from __future__ import annotations

from math import ceil

from msgspec.structs import replace

from trnbench import Scope, System, UsageError, item_bytes
from trnbench_steps.division import Division, ExpertShare, experts_of
from trnbench_steps.job import Job, Task
from trnbench_steps.kernel_times import ROWS, Call, NamedCall, on_partitions, score_elements, unfused_calls
from trnbench_steps.layer import FeedForward
from trnbench_steps.operators import (
    Convolution,
    Elementwise,
    Mixing,
    Operator,
    Product,
    Recurrence,
    WeightGradient,
)
from trnbench_steps.paths import FUSED, KERNELS, NATIVE, UNFUSED

SPAN = 2048
"""Keys of a cache that are attended to at once; the results of several spans are made one."""

ROOM = 0.75
"""Of SBUF, for activations that stay."""

NORM_ROWS = 18
"""Rows that every core normalizes whole where activations stay: the exchange would take longer than half of
them (`SHARDING_THRESHOLD`, core/subkernels/rmsnorm_tkg.py of nki-library d2ad3a57)."""

NAMES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "tf32": "tfloat32",
    "int8": "int8",
    "fp8": "float8_e4m3",
    "cfp8": "float8_e4m3",
}
PASSES = 2.0
"""Forward passes that a backward pass counts as: so many operations it has, and no kernel of its own."""

ON_THE_WAY = ("activation", "gate")
"""How the names of those end that are applied as the sums of a matrix product leave PSUM."""


def check_types(job: Job) -> None:
    """Raises `UsageError` for a type that none of our kernels takes or turns into another."""
    parts = ("gradients", "moments") if job.task is Task.TRAIN else ("cache",)
    for part in ("weights", "activations", *parts):
        if (dtype := getattr(job, part)) not in NAMES:
            raise UsageError(
                f"no kernel of a step takes {part} in {dtype}",
                cause=f"memory is counted in any type, time in {', '.join(NAMES)}",
                try_=f"--type {part}=fp8, or trnbench workload info for the memory",
            )


class Shapes:
    """Calls of a division's operators on `system`, `cores` of which make a rank."""

    def __init__(self, division: Division, system: System, cores: int) -> None:
        check_types(division.job)
        self.division, self.cores = division, cores
        self.dtype = NAMES[division.job.activations]
        self.item = 4 if self.dtype == "float32" else 2
        self.capacity = system.fact(Scope.CORE, "sbuf_capacity") or 0.0
        self.stays = self._stay()

    def _stay(self) -> bool:
        """Whether activations stay in SBUF."""
        division = self.division
        if division.job.task is Task.TRAIN:
            return False
        model, tp = division.model, division.layout.tp
        inner = max(_inner(kind.feed_forward) for kind in model.kinds) // tp
        return (model.hidden + inner) * division.tokens * self.item <= ROOM * self.capacity

    def fused(self, operator: Operator, before: Operator | None) -> bool:
        """Whether it takes nothing of its own."""
        return (
            isinstance(operator, Elementwise)
            and isinstance(before, Product)
            and operator.name.endswith(ON_THE_WAY)
        )

    def of(self, operator: Operator) -> tuple[NamedCall, ...]:
        """The kernels that it is, one after the other; none where a roofline takes its place."""
        if isinstance(operator, Mixing):
            return self._mixing(operator)
        if isinstance(operator, Product):
            return self._product(operator)
        call: Call | None = None
        if isinstance(operator, WeightGradient):
            call = self._gradient(operator)
        elif isinstance(operator, Elementwise):
            call = self._elementwise(operator)
        elif isinstance(operator, Convolution):
            call = self._convolution(operator)
        elif isinstance(operator, Recurrence):
            call = self._recurrence(operator)
        return (("", call),) if call is not None else ()

    def _experts(self, product: Product) -> ExpertShare | None:
        """How experts take it; None of what is no product of theirs."""
        if product.name.startswith("experts"):
            return experts_of(self.division, product)
        return None

    def _gather(self, product: Product, share: ExpertShare) -> Call:
        """The matrices that a token or a block chose, brought together where activations are.

        `weight[expert_indices, :, :]` of neuronx_distributed (modules/moe/moe_parallel_layers.py).
        """
        rows, parts = tiles_of(product.inputs)
        matrices, columns = ceil(share.matrices), parts * ceil(product.outputs / self.cores)
        pieces = 1
        if self.stays:  # in SBUF, where a larger matrix takes several transfers
            pieces = ceil(columns * item_bytes(self.division.job.weights) * ROWS / self.capacity)
        return Call(
            source="streams:hbm_read" if self.stays else "streams:hbm_copy",
            inputs=(((matrices * pieces, rows, ceil(columns / pieces)), self._stored()),),
            times=share.matrices / matrices,
            operators=share.operators,
        )

    def _taken(self) -> str:
        """The type that products take: that of fp8 weights, where activations are turned into it."""
        native = self.division.job.widening == NATIVE and self._stored() == "float8_e4m3"
        return self._stored() if native else self.dtype

    def _stored(self) -> str:
        """The type that weights have in HBM."""
        return NAMES[self.division.job.weights]

    def _product(self, product: Product) -> tuple[NamedCall, ...]:
        experts = self._experts(product)
        call = self._multiplied(product, experts)
        if experts is None or not experts.chosen:
            return (("", call),)
        return ("gather", self._gather(product, experts)), ("", replace(call, weights=False))

    def _multiplied(self, product: Product, experts: ExpertShare | None) -> Call:
        copies, tokens, operators = float(product.copies), max(product.tokens, 1.0), 1.0
        if experts is not None:
            copies, tokens, operators = experts.matrices, experts.tokens, experts.operators
        if not self.stays and tokens > ROWS:
            share = ceil(tokens / self.cores)
            left, right = (product.inputs, share), (product.inputs, product.outputs)
            return Call(
                source="gemm_best:gemm_best",
                inputs=((left, self._taken()), (right, self._taken())),
                times=copies,
                operators=operators,
                compiled=not self._kernels(product, experts),
            )
        rows, parts = tiles_of(product.inputs)
        columns, tiles = tiles_of(ceil(product.outputs / self.cores))
        whole = ceil(copies)
        few = ((whole, rows, parts, ceil(tokens)), self._taken())
        weights = ((whole, rows, tiles, parts * columns), self._stored())
        return Call(
            source="decode:linear_few",
            inputs=(few, weights),
            times=copies / whole,
            stays=self.stays,
            operators=operators,
            compiled=not self._kernels(product, experts),
        )

    def _kernels(self, product: Product, experts: ExpertShare | None) -> bool:
        """Whether the software has kernels for it: for blocks of experts, or for all in a layer."""
        if experts is not None:
            return experts.kernel
        return self.division.job.products == KERNELS and product.name != "head"

    def _gradient(self, product: WeightGradient) -> Call:
        tokens, inputs = ceil(product.tokens), ceil(product.inputs / self.cores)
        shapes = ((tokens, inputs), (tokens, product.outputs))
        return Call(
            source="gemm_best:gemm_best",
            inputs=tuple((shape, self.dtype) for shape in shapes),
            times=product.copies,
        )

    def _elementwise(self, operator: Elementwise) -> Call:
        rows = operator.rows / self.cores
        if operator.name.startswith("adam"):
            return self._update(operator)
        normal = "norm" in operator.name
        if self.stays and normal and operator.width * operator.rows >= ROWS:
            height, parts = tiles_of(operator.width)
            apart = operator.rows > NORM_ROWS
            x = ((height, parts, ceil(rows if apart else operator.rows)), self.dtype)
            return Call(
                source="decode:norm_few", inputs=(x, ((height, parts), self.dtype)), stays=True, weights=False
            )
        if normal and rows >= 1 and "gradient" not in operator.name:
            layer = self.division.model.norm.value == "layer"
            name = "layer_norm" if layer else "rms_norm"
            scale = ((1, operator.width), self.dtype)
            tokens = ((ceil(rows), operator.width), self.dtype)
            return Call(source=f"rows:{name}", inputs=(tokens, *((scale,) * (2 if layer else 1))))
        elements = ceil(rows * operator.width)
        return Call(
            source="elementwise:combine",
            inputs=((on_partitions(elements), self.dtype), operator.operands),
            stays=self.stays,
            weights=False,
            operators=operator.parts,
        )

    def _update(self, operator: Elementwise) -> Call:
        job, shape = self.division.job, on_partitions(ceil(operator.rows / self.cores))
        master = operator.operands == 5
        return Call(
            source="elementwise:adam",
            inputs=(
                (shape, NAMES[job.weights]),
                (shape, NAMES[job.gradients]),
                ((3 if master else 2, *shape), NAMES[job.moments]),
                master,
            ),
        )

    def _mixing(self, mixing: Mixing) -> tuple[NamedCall, ...]:
        if self.division.job.task is Task.DECODE:
            return (("", self._cached(mixing)), *self._merged(mixing))
        if self.division.job.attention_path == UNFUSED:
            fits = score_elements(mixing, self.cores) * self.item <= ROOM * self.capacity
            return unfused_calls(mixing, self.dtype, self.cores, stays=fits)
        return (("", self._prompt(mixing)),)

    def _merged(self, operator: Mixing) -> tuple[NamedCall, ...]:
        """What makes the spans of a long cache one, behind attention; none where there is one span."""
        caches, spans, _ = self._spans(operator)
        if spans == 1:
            return ()
        heads = caches * (operator.heads // operator.kv_heads)
        columns, wide = tiles_of(operator.value_dim)
        merged = Call(
            source="spans:spans_merged",
            inputs=(((spans, columns, wide, heads), self.dtype), ((spans, heads), "float32")),
            stays=self.stays,
            weights=False,
            operators=0.0,
        )
        return (("spans", merged),)

    def _spans(self, mixing: Mixing) -> tuple[int, int, int]:
        """Caches of a core, spans of each, and keys of a span."""
        seen = max(round(mixing.pairs), 1)
        caches, shared = mixing.sequences * mixing.kv_heads, self.cores
        # Compressed vectors are so wide that long caches of them have no room below each other: cores then
        # take a part of every cache, as where the caches do not divide.
        compressed = mixing.key_dim > mixing.value_dim and seen > SPAN // 2
        if caches % shared or compressed:
            seen, shared = ceil(seen / shared), 1
        spans = ceil(seen / SPAN)
        return caches // shared, spans, ceil(seen / spans)

    def _cached(self, mixing: Mixing) -> Call:
        each, spans, seen = self._spans(mixing)
        caches, spread = each * spans, ceil(seen / ROWS)
        rows, parts = tiles_of(mixing.key_dim)
        stored = NAMES[self.division.job.cache]
        heads = mixing.heads // mixing.kv_heads
        return Call(
            source="cache:attention_cached",
            inputs=(
                ((caches, rows, parts, heads), self.dtype),
                ((caches, rows, parts, spread * ROWS), stored),
                ((caches, ROWS, spread, mixing.value_dim), stored),
            ),
            stays=self.stays,
        )

    def _prompt(self, mixing: Mixing) -> Call:
        # Of a cut sequence a rank has blocks from both ends: its share of what the whole takes.
        tokens, per_core = mixing.keys, mixing.sequences * mixing.heads / self.cores
        heads = ceil(per_core)
        times = per_core / heads * mixing.tokens / tokens
        rows, parts = tiles_of(mixing.key_dim)
        by_feature = ((heads, rows, parts, tokens), self.dtype)
        window = mixing.window if mixing.window < tokens else 0
        if not mixing.backward:
            values = ((heads, tokens, mixing.value_dim), self.dtype)
            return Call(
                source="flash:flash",
                inputs=(by_feature, by_feature, values, mixing.causal, window),
                times=times,
                stays=self.stays,
                weights=False,
                compiled=self.division.job.attention_path != FUSED,
            )
        by_token = (heads, tokens, rows * parts)
        return Call(
            source="flash:flash_backward",
            inputs=(
                *(by_feature,) * 3,
                ((2, *by_token), self.dtype),
                (by_feature, (by_token, self.dtype)),
                ((heads, tokens, 2), "float32"),
                mixing.causal,
                window,
            ),
            times=times,
            compiled=self.division.job.attention_path != FUSED,
        )

    def _convolution(self, operator: Convolution) -> Call:
        rows, parts = tiles_of(ceil(operator.channels / self.cores))
        parts *= operator.sequences
        return Call(
            source="convolution:short_convolution",
            inputs=(
                ((rows, parts, operator.tokens + operator.taps - 1), self.dtype),
                ((rows, parts, operator.taps), self.dtype),
            ),
            times=PASSES if operator.backward else 1.0,
            stays=self.stays,
            weights=operator.tokens == 1,
        )

    def _recurrence(self, operator: Recurrence) -> Call | None:
        """None where a state is wider than the array: a roofline takes its place."""
        keys, values = operator.key_dim, operator.value_dim
        if max(keys, values) > ROWS:
            return None
        per_core = operator.sequences * operator.heads / self.cores
        heads = ceil(per_core)
        if operator.before:
            key, value, gate = (
                ((keys, heads), self.dtype),
                ((values, heads), self.dtype),
                ((2, heads), "float32"),
            )
            return Call(
                source="delta_step:delta_step",
                inputs=(key, key, value, gate, gate, ((heads, keys, values), "float32")),
                times=per_core / heads,
                stays=self.stays,
            )
        tokens = operator.tokens
        prompt, wanted = ((heads, keys, tokens), self.dtype), ((heads, values, tokens), self.dtype)
        return Call(
            source="delta:delta_prompt",
            inputs=(prompt, prompt, wanted, ((2, heads, tokens), "float32"), ((heads, 2), "float32")),
            times=per_core / heads * (PASSES if operator.backward else 1.0),
            stays=self.stays,
            weights=False,
        )


def _inner(network: FeedForward) -> int:
    """Features of what a network works on between its matrices."""
    return (2 if network.gated else 1) * network.width


def tiles_of(features: int) -> tuple[int, int]:
    """Rows of the array and how often they are filled; the last may be filled in part."""
    parts = ceil(features / ROWS)
    return ceil(features / parts), parts
