"""Random numbers. Reproducible here, and not the numbers that a device's generator would give."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import INTEGERS, Rules, alike, column, form_of, issue, tiles, word
from trnbench_emulator.nki.dtype import DTYPES
from trnbench_emulator.nki.isa.constants import engine as engines
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.op import GPSIMD, VECTOR, Op
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.tensor import NkiTensor

_STATE = {GPSIMD: 6, VECTOR: 24}  # 32-bit words of a generator's state per partition
_DEFAULT_SEED = 0
_UNIFORM = ("float8_e4m3", "float8_e5m2", "float16", "bfloat16", "float32", "tfloat32", *INTEGERS)


def _generator(recorder: Recorder, engine: str) -> Any:
    generator = recorder.generators.get(engine)
    if generator is None:
        generator = recorder.generators[engine] = np.random.default_rng(_DEFAULT_SEED)
    return generator


def rng(dst: NkiTensor, engine: engines = engines.vector, name: str | None = None) -> None:
    """Random bits, as many as an element of dst has."""

    def build(rules: Rules) -> Op:
        tiles(rules, dst=dst)
        rules.require(dst.form.dtype.name in INTEGERS, f"dst is {dst.form.dtype}, it must be an integer")
        allowed = (VECTOR,) if rules.machine.nc_version < 3 else (VECTOR, GPSIMD)
        return rules.op(rules.engine(word(engine), allowed, dst.form), (dst,), ())

    recorder = issue("rng", build, (dst,), (), engine)
    if recorder.functional:
        info = np.iinfo(dst.form.dtype.numpy)
        dst.put(_generator(recorder, word(engine)).integers(info.min, int(info.max) + 1, dst.shape, np.int64))


def set_rng_seed(src_seeds: NkiTensor, name: str | None = None) -> None:
    """Start Vector's generator from a 1 × 1 tile of 32 bits."""

    def build(rules: Rules) -> Op:
        tiles(rules, src_seeds=src_seeds)
        form = src_seeds.form
        rules.require(
            form.elements == 1 and form.dtype.size == 4, f"src_seeds is {form!r}, it is one 32-bit number"
        )
        return rules.op(VECTOR, (src_seeds,), (src_seeds,))

    recorder = issue("set_rng_seed", build, (), (src_seeds,))
    if recorder.functional:
        recorder.generators[VECTOR] = np.random.default_rng(
            src_seeds.array.view(np.uint32).reshape(-1).tolist()
        )


def rand_set_state(src_seeds: NkiTensor, engine: engines = engines.gpsimd, name: str | None = None) -> None:
    """Start an engine's generator, each partition from its own words."""
    chosen = word(engine)

    def build(rules: Rules) -> Op:
        return _state(rules, src_seeds, chosen, read=True)

    recorder = issue("rand_set_state", build, (), (src_seeds,), chosen)
    if recorder.functional:
        words = src_seeds.array.reshape(-1).tolist()
        recorder.generators[chosen] = np.random.default_rng(words)
        recorder.generators[chosen, "state"] = src_seeds.array.copy()


def rand_get_state(dst: NkiTensor, engine: engines = engines.gpsimd, name: str | None = None) -> None:
    """The state that the engine's generator was started from (its progress is not modelled)."""
    chosen = word(engine)

    def build(rules: Rules) -> Op:
        return _state(rules, dst, chosen, read=False)

    recorder = issue("rand_get_state", build, (dst,), (), chosen)
    if recorder.functional:
        state = recorder.generators.get((chosen, "state"))
        dst.put(np.zeros(dst.shape, np.uint32) if state is None else state.reshape(-1)[: dst.form.elements])


def _state(rules: Rules, view: NkiTensor, engine: str, *, read: bool) -> Op:
    rules.since(3)
    label = "src_seeds" if read else "dst"
    if read or rules.machine.nc_version == 3:
        rules.within(view.form, Buffer.SBUF, name=label)
    rules.require(view.form.dtype.name == "uint32", f"{label} is {view.form.dtype}, it must be uint32")
    allowed = (GPSIMD,) if rules.machine.nc_version == 3 else (GPSIMD, VECTOR)
    chosen = rules.engine(engine, allowed, view.form)
    rules.require(
        view.form.free == _STATE[chosen],
        f"{label} has {view.form.free} words per partition, {chosen} has {_STATE[chosen]}",
    )
    return rules.op(chosen, (view,), (view,) if read else ())


def rand2(
    dst: NkiTensor, min: float | NkiTensor, max: float | NkiTensor, name: str | None = None
) -> None:  # the parameters are NKI's
    """Uniform numbers between min and max, on Vector of NeuronCore-v4."""

    def build(rules: Rules) -> Op:
        rules.since(4)
        tiles(rules, dst=dst)
        rules.scalar_operand(min, dst.form.partitions, name="min")
        rules.scalar_operand(max, dst.form.partitions, name="max")
        kind = dst.form.dtype
        rules.require(
            kind.name in _UNIFORM, f"dst is {kind}, it must be an integer or one of {', '.join(_UNIFORM[:6])}"
        )
        for label, form in (("min", form_of(min)), ("max", form_of(max))):
            rules.require(form is None or form.dtype.name == "float32", f"{label} is no column of float32")
        rules.require(
            form_of(min) is not None or form_of(max) is not None or min < max,  # type: ignore[operator]
            f"min is {min!r}, it must be below max, {max!r}",
        )
        return rules.op(VECTOR, (dst,), ())

    recorder = issue("rand2", build, (dst,), (min, max), str((min, max)))
    if recorder.functional:
        share = _generator(recorder, VECTOR).random(dst.shape, np.float32)
        low, high = column(min, len(dst.shape)), column(max, len(dst.shape))
        dst.put(low + share * (high - low))


def dropout(dst: NkiTensor, data: NkiTensor, prob: float | NkiTensor, name: str | None = None) -> None:
    """dst = data, each element replaced by 0 with probability `prob`. Vector."""

    def build(rules: Rules) -> Op:
        alike(rules, dst, data=data)
        rules.require(
            data.form.dtype is dst.form.dtype, f"data is {data.form.dtype}, dst is {dst.form.dtype}"
        )
        rules.scalar_operand(prob, data.form.partitions, name="prob")
        form = form_of(prob)
        kind = DTYPES["float32"] if form is None else form.dtype
        rules.require(
            kind.name == "float32" or (kind.is_float and data.form.dtype.is_float),
            f"prob is {kind}, beside data of {data.form.dtype} it must be "
            f"{'a float' if data.form.dtype.is_float else 'float32'}",
        )
        return rules.op(VECTOR, (dst,), (data,))

    recorder = issue("dropout", build, (dst,), (data, prob))
    if recorder.functional:
        dropped = _generator(recorder, VECTOR).random(data.shape, np.float32) < column(prob, len(data.shape))
        dst.put(np.where(dropped, np.zeros((), data.array.dtype), data.array))
