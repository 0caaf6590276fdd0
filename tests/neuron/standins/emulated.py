"""Executes a kernel by the emulator: FILE holds (reference, system, arguments), and gets the outputs.

A process of its own, because where a kernel is compiled the packages of trnbench stand for folders.
"""

import pickle
import sys
from pathlib import Path

if __name__ == "__main__":
    from trnbench.registry import load_registry
    from trnbench_emulator.nki import Machine, load_kernel, provide, record

    path = Path(sys.argv[1])
    ref, system, arguments = pickle.loads(path.read_bytes())
    kernel, _, _ = load_kernel(ref, nki="trnbench")
    machine = Machine.of(load_registry().system(system))
    with provide("trnbench"):
        trace = record(kernel, list(arguments), machine=machine, functional=True)
    path.write_bytes(pickle.dumps(list(trace.outputs)))
