"""Run as a program: a real Ray cluster of two machines (two raylets here), one of which dies in a run.

Prints what became of the cases. A process of its own, because Ray is one thing to a process.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

SUPPORT = str(Path(__file__).parent)


def cluster(folder: str) -> tuple[Any, list[Any]]:
    """A head without processors and two nodes of one each; RAY_ADDRESS names it from here on."""
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 << 20}
    head = {"num_cpus": 0, "include_dashboard": False, "temp_dir": folder, **small}
    made = Cluster(initialize_head=True, connect=False, head_node_args=head)
    nodes = [made.add_node(num_cpus=1, resources={"neuron_cores": 2}, **small) for _ in range(2)]
    os.environ["RAY_ADDRESS"] = made.address
    return made, nodes


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def lose_one(made: Any, nodes: list[Any], folder: Path) -> dict[str, Any]:
    """Five measured cases: one on each machine at once, then one that lasts until its machine is killed."""
    import measured_machine as machine

    from trnbench.registry import load_registry
    from trnbench.run.api import choose_backend
    from trnbench.run.execute import execute
    from trnbench.run.executor import executor
    from trnbench.run.plan import plan
    from trnbench.run.selection import RunSettings

    def kill_one(step: Any) -> None:
        if step.done == 2:
            machine.until((folder / "held").exists)
            raylet = int((folder / "held").read_text())
            (dying,) = (node for node in nodes if _raylet(node) == raylet)
            made.remove_node(dying, allow_graceful=False)

    with executor(load_registry(), "ray") as by:
        assert by is not None
        registry = machine.registry("together", "together", "held", "well", "well", folder=folder)
        registry.backends["stand-in"] = machine.Neuron(folder)
        backend = choose_backend(registry, "stand-in", by)
        settings = RunSettings(timeout_s=120.0, executor="ray", processes=1)
        run = execute(plan(registry), backend, registry, settings, kill_one, executor=by)
    return {
        "cases": [
            [str(each.status), str(each.reason), each.reason_text, each.detail.get("machine")]
            for each in run.measurements
        ],
        "machines": run.environment["executor_machines"],
    }


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tb-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ.update(
            RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled", RAY_TMPDIR=folder, PYTHONPATH=SUPPORT
        )
        (Path(folder) / "ray").mkdir()
        sys.path.insert(0, SUPPORT)
        made, nodes = cluster(folder)
        try:
            told = lose_one(made, nodes, Path(folder))
        finally:
            made.shutdown()
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
