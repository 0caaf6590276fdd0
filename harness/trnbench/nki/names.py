"""Public names of NKI that trnbench does not provide, and the sentence said for each.

Names as listed for NKI 0.6.0; `REMOVED` were public in Beta 1 and are gone since.
"""

# ruff: noqa: SIM905 - names in running text are read and compared more easily than quoted ones

from __future__ import annotations

import difflib
from collections.abc import Iterable

from trnbench.errors import KernelError
from trnbench.nki import site

KNOWN: dict[str, frozenset[str]] = {
    "nki": frozenset({"benchmark", "profile", "baremetal", "simulate", "collectives", "compiler"}),
    "nki.isa": frozenset(
        """activate2 activation_reduce affine_select bn_aggr bn_stats core_barrier dma_compute dma_engine
        dma_transpose dropout exponential get_nc_sub_version iota local_gather max8 nc_find_index8
        nc_match_replace8 nc_matmul_mx nc_n_gather nc_stream_shuffle nonzero_with_count quantize_mx
        rand2 rand_get_state rand_set_state range_select register_alloc register_load register_move
        register_store rng select_reduce sendrecv sequence_bounds set_rng_seed tensor_copy_predicated
        tensor_partition_reduce tensor_scalar_cumulative tensor_scalar_reduce tensor_tensor_scan
        topk""".split()
    ),
    "nki.language": frozenset(
        """NKIObject abs_max abs_min all arctan broadcast_to ceil device_print dropout dynamic_range
        empty_like expand_dims float4_e2m1fn_x4 float8_e4m3fn_x4 float8_e5m2_x4 floor fmod fori_loop full
        gather_flattened gelu_apprx_sigmoid gelu_apprx_sigmoid_dx gelu_dx erf_dx invert is_hbm is_on_chip
        is_psum is_sbuf left_shift load_transpose2d logical_and logical_not logical_or logical_xor matmul
        max mean min mish mod no_reorder prod rand random_seed right_shift rms_norm shared_constant
        shared_identity_matrix silu_dx softmax softplus sum tan transpose trunc var where while_loop
        zeros_like""".split()
    ),
}

REMOVED: dict[str, frozenset[str]] = {
    "nki.isa": frozenset({"builtin_custom_op", "tensor_copy_dynamic_dst", "tensor_copy_dynamic_src"}),
    "nki.language": frozenset(
        "all_reduce arange atomic_rmw finfo gemm_grid gemm_stationary_grid loop_reduce mgrid par_dim "
        "spmd_dim static_cast".split()
    ),
}


class Refused(KernelError, AttributeError):
    """A name that is not provided. Also an AttributeError, so that hasattr() and getattr() behave."""


def refuse(module: str, name: str, provided: Iterable[str], where: str = "") -> AttributeError:
    """The error for `module.name`: removed from NKI, not emulated yet, or not known at all."""
    if name.startswith("__"):  # the import system asks for these; they are not NKI names
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    provided = sorted(provided)
    where = where or site.here()
    if name in REMOVED.get(module, ()):
        return Refused(
            f"{module}.{name} is not part of NKI any more ({where})",
            cause="it was in Beta 1 (neuronxcc.nki) and was removed in 0.2",
            try_="port the kernel to NKI 0.3 or later",
        )
    if name in KNOWN.get(module, ()):
        return Refused(
            f"{module}.{name} is part of NKI but trnbench does not emulate it ({where})",
            cause="this version runs the calls most kernels use; docs/emulator.md lists them",
            try_="write it with the calls provided, or run the kernel on a device",
        )
    near = difflib.get_close_matches(name, [*provided, *KNOWN.get(module, ())], n=3, cutoff=0.6)
    return Refused(
        f"{module} has no {name!r} ({where})",
        cause=f"did you mean {', '.join(near)}?" if near else "NKI 0.6 lists no such name",
    )
