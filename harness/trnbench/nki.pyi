"""`trnbench.nki` for type checkers and editors: the submodule that trnbench_emulator gives."""

from trnbench_emulator.commands.session.session import Session as Session
from trnbench_emulator.nki import Kernel as Kernel
from trnbench_emulator.nki import Machine as Machine
from trnbench_emulator.nki import Provided as Provided
from trnbench_emulator.nki import TensorSpec as TensorSpec
from trnbench_emulator.nki import Trace as Trace
from trnbench_emulator.nki import isa as isa
from trnbench_emulator.nki import jit as jit
from trnbench_emulator.nki import language as language
from trnbench_emulator.nki import load_kernel as load_kernel
from trnbench_emulator.nki import provide as provide
from trnbench_emulator.nki import record as record
from trnbench_emulator.nki import typing as typing
