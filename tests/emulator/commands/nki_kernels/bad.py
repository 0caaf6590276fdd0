"""Kernels that each do one thing wrong."""

import nki.isa as nisa
import nki.language as nl

import nki

CONSTANT = 7


@nki.jit
def too_wide(x):
    return nl.load(x)


@nki.jit
def endless(x):
    while True:
        nl.load(x)


@nki.jit
def silent(x):
    while True:
        pass


@nki.jit
def greedy(x):
    return nl.ndarray((1 << 20, 1 << 18), dtype=x.dtype, buffer=nl.shared_hbm)


@nki.jit
def hungry(x):
    """Within the device's memory, beyond the host's."""
    for _ in range(23):
        out = nl.ndarray((1 << 16, 1 << 15), dtype=nl.bfloat16, buffer=nl.shared_hbm)
        kept.append(out)
    return x


kept: list[object] = []


@nki.jit
def importing(x):
    import no_such_package

    return no_such_package.run(x)


@nki.jit
def leaving(x):
    raise SystemExit(9)


@nki.jit
def chatty(x):
    print("hello from the kernel")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out


@nki.jit
def nothing(x):
    nl.load(x)


@nki.jit
def idle(x):
    return x


@nki.jit
def announced(x):
    print("the loop begins", flush=True)
    while True:
        pass


@nki.jit
def crowded(x):
    """More tiles at once than SBUF holds."""
    held = [nl.ndarray((128, 16384), dtype=nl.float32, buffer=nl.sbuf) for _ in range(4)]
    for tile in held:
        nisa.memset(dst=tile, value=0.0)
    for tile in held:
        nisa.tensor_copy(dst=tile, src=held[0])
    return x


@nki.jit
def broad(x):
    return nl.ndarray((128, 1 << 20), dtype=x.dtype, buffer=nl.sbuf)


@nki.jit
def heaped(x):
    """More accumulators at once than PSUM has banks."""
    banks = [nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum) for _ in range(9)]
    tile = nl.load(x)
    for bank in banks:
        nisa.nc_matmul(dst=bank[0:64, 0:64], stationary=tile, moving=tile)
    for bank in banks:
        nisa.tensor_copy(dst=tile, src=bank[0:64, 0:64])
    return x


@nki.jit
def failing(x):
    raise ValueError(f"{x.shape[0]} rows are not enough")
