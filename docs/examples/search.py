"""Search programs on a session: what each calls to evaluate a kernel, in a few lines of `trnbench.nki`.

Times are emulated, and every result says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trnbench.nki import Session

TRN2 = "trn2-16.48xlarge"

# A task of NKIBench is a file with get_inputs, forward and transform_to_nki_inputs. It becomes one with a
# function that gives the kernel's arguments, and one that gives what is wanted.
TASK = """
import importlib.util
import numpy

spec = importlib.util.spec_from_file_location("task", {path!r})
task = importlib.util.module_from_spec(spec)
spec.loader.exec_module(task)


def drawn():
    numpy.random.seed(42)
    return task.get_inputs()


def inputs():
    return task.transform_to_nki_inputs(drawn())


def wanted(*_):
    return task.forward(*drawn())
"""


def nkibench_profile(session: Session, program: str | Path, task: str | Path, folder: Path) -> dict[str, Any]:
    """`NKIKernel(program, task).profile()` of NKIBench and AccelOpt: flags, and `metadata` with ms."""
    beside = folder / f"{Path(task).stem}_task.py"
    beside.write_text(TASK.format(path=str(Path(task).resolve())))
    named = "kernel" if "def kernel(" in Path(program).read_text() else "optimized_kernel"
    answer = session.ask(
        path=program, function=named, inputs=f"{beside}::inputs", reference=f"{beside}::wanted"
    )
    metadata: dict[str, Any] = {"evidence": answer.evidence}
    if answer.error is not None:
        metadata["compilation_error"] = answer.error.what
    elif answer.verdict == "wrong":
        metadata["correctness_error"] = [row["verdict"] for row in answer.outputs]
    if answer.time_s is not None:
        latency_ms = answer.time_s * 1e3
        metadata |= {"latency": latency_ms, "min_ms": latency_ms, "max_ms": latency_ms, "rel_diffs": 0.0}
    runs = answer.error is None
    return {"compiled": runs, "runnable": runs, "correct": answer.verdict == "ok", "metadata": metadata}


def autocomp_evaluate(session: Session, codes: list[str], problem: dict[str, Any]) -> list[dict[str, Any]]:
    """autocomp's backend: a list of codes gives a list of `correct`, `latency` and what to tell the model."""
    results = []
    for code in codes:
        answer = session.ask(source=code, **problem)
        told = f"{answer.error.what} {answer.error.remedy}" if answer.error is not None else ""
        results.append(
            {
                "correct": answer.verdict == "ok",
                "latency": answer.time_s * 1e6 if answer.time_s is not None else float("inf"),
                "stderr": told,
            }
        )
    return results


def kernelbench_evaluate(session: Session, code: str, problem: dict[str, Any]) -> dict[str, Any]:
    """KernelBench's result of one kernel: `compiled`, `correctness`, `runtime` in ms or -1, `metadata`."""
    answer = session.ask(source=code, **problem)
    return {
        "compiled": answer.error is None,
        "correctness": answer.verdict == "ok",
        "runtime": answer.time_s * 1e3 if answer.time_s is not None else -1.0,
        "metadata": {"hardware": f"{answer.system} ({answer.evidence})", "verdict": str(answer)},
    }
