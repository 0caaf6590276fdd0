"""How many micro-batches a pipeline stage keeps at once."""

from __future__ import annotations

from trnbench_steps.layout import Layout


def in_flight(layout: Layout, stage: int, micro_batches: int) -> int:
    """Micro-batches whose activations `stage` keeps at most, counted for each of its runs of layers.

    1F1B: a stage keeps one for itself and one for each stage after it (Narayanan et al. 2021, section
    2.2.1). Interleaved: twice those after it, and pp for each further run of layers, so that the first
    stage keeps 1 + (pp - 1) / (pp · chunks) of what 1F1B keeps (Korthikanti et al. 2022, section 4.2.3).
    """
    after = layout.pp - stage - 1
    if layout.chunks == 1:
        return min(after + 1, micro_batches)
    return min(2 * after + (layout.chunks - 1) * layout.pp + 1, micro_batches * layout.chunks)
