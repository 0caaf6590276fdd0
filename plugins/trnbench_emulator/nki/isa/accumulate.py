"""The sums that Vector and Scalar hold between instructions: one number per partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, form_of, issue, word
from trnbench_emulator.nki.dtype import Array
from trnbench_emulator.nki.functions import Function
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.tensor import NkiTensor

Registers = Array


def check_result(rules: Rules, result: Any, partitions: int) -> None:
    """`reduce_res` takes one number per partition."""
    form = form_of(result)
    if form is None:
        return
    rules.on_chip(form, name="reduce_res")
    rules.require(
        form.partitions == partitions and form.free == 1,
        f"reduce_res has shape {list(form.shape)}, it must be ({partitions}, 1)",
    )


def accumulate(
    recorder: Recorder,
    engine: str,
    function: Function,
    command: Any,
    data: NkiTensor,
    values: Array,
    load: Any = None,
) -> None:
    """Fold `values` over the free dimensions into what `engine` holds of the partitions of `data`."""
    command_word = word(command)
    if command_word == "idle":
        return
    rows = values.shape[0]
    if command_word == "reduce" and engine not in recorder.accumulators and recorder.shadow is not None:
        recorder.shadow.unset(engine, data)
    held = registers(recorder, engine, data)
    if command_word in ("reset", "reset_reduce"):
        held[:] = function.start
    elif command_word == "load_reduce":
        held[:] = np.broadcast_to(np.asarray(load, np.float32).reshape(-1), (rows,))
    if command_word != "reset":
        assert function.fold is not None
        folded = function.fold(values.reshape(rows, -1).astype(np.float32), axis=1)
        held[:] = function.apply(held, folded)


def registers(recorder: Recorder, engine: str, data: NkiTensor, fresh: float = 0.0) -> Registers:
    """What `engine` holds of the partitions of `data`, to be changed in place; `fresh` where nothing."""
    held = recorder.accumulators.get(engine)
    if held is None:
        held = recorder.accumulators[engine] = np.full(recorder.machine.partitions, fresh, np.float32)
    first = data.first_partition
    kept: Registers = held[first : first + data.form.partitions]
    return kept


def read_out(engine: str, data: NkiTensor, result: NkiTensor | None) -> None:
    """The instruction that writes what the engine holds into `result`; none without one."""
    if result is None:
        return
    recorder = issue("accumulator_read", lambda rules: rules.op(engine, (result,), ()), (result,), (), engine)
    if recorder.functional:
        store(recorder, engine, data, result)


def store(
    recorder: Recorder, engine: str, data: NkiTensor, result: NkiTensor, *, negate: bool = False
) -> None:
    """Write what the engine holds of `data`, as part of the instruction before."""
    values = registers(recorder, engine, data, np.nan)
    result.put((-values if negate else values).reshape(result.form.shape))
