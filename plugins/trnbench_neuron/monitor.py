"""`neuron-monitor` beside a measurement: what the runtime and the devices counted meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from trnbench.bounded.json import NotJson, parse_json
from trnbench_neuron.monitor_report import NAME, Watch, summarise
from trnbench_neuron.tool import Toolbox, ToolError, end, start

PERIOD_S = 1.0
MAX_PENDING = 4 * 2**20
"""Bytes of a report that never ends, after which it is given up."""
MAX_REPORTS = 3600

RUNTIME_GROUPS = ("neuroncore_counters", "execution_stats", "memory_used")


def configuration(tag: str) -> dict[str, Any]:
    """What is asked of it: processes tagged `tag`, and the memory errors of all devices."""
    return {
        "period": f"{PERIOD_S:g}s",
        "neuron_runtimes": [
            {"tag_filter": f"^{tag}$", "metrics": [{"type": each} for each in RUNTIME_GROUPS]}
        ],
        "system_metrics": [{"type": "neuron_hw_counters"}],
    }


class Monitor:
    """A context: reports are collected while it is open; `watch()` sums them up afterwards.

    A missing, broken or silent tool makes no error: the watch is empty and its notes say why.
    """

    def __init__(self, tools: Toolbox, tag: str) -> None:
        self._tools, self._tag = tools, tag
        self._reports = Reports()
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[threading.Thread] = []
        self._problem = ""
        self._said = b""

    def __enter__(self) -> Monitor:
        try:
            program = self._tools.need(NAME)
            self._folder = tempfile.TemporaryDirectory(prefix="trnbench-")
            config = Path(self._folder.name) / "monitor.json"
            config.write_text(json.dumps(configuration(self._tag)))
            self._process = start([str(program), "-c", str(config)])
        except ToolError as error:
            self._problem = error.what
            return self
        for target in (self._read, self._listen):
            thread = threading.Thread(target=target, daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._process
        if process is not None:
            if kind is None and not self._reports.found:
                # The first report comes after one period; a short case may be done before.
                deadline = time.monotonic() + 2 * PERIOD_S
                while time.monotonic() < deadline and process.poll() is None and not self._reports.found:
                    time.sleep(0.02)
            code = process.poll()
            if code is not None:
                said = self._said.decode("utf-8", "replace").strip().splitlines()
                self._problem = f"{NAME} ended with exit code {code}" + (
                    f": {said[-1][:200]}" if said else ""
                )
            # Only the group is killed here: closing a pipe under a thread that reads it blocks.
            _kill(process)
            for thread in self._threads:
                thread.join(2.0)
            end(process)
            self._folder.cleanup()

    def watch(self) -> Watch:
        """Sums over what was reported; call it when the context is closed."""
        seen = summarise(self._reports.found)
        notes = [self._problem] if self._problem else []
        if not notes and not self._reports.found:
            notes.append(f"{NAME} reported nothing")
        if self._reports.unreadable:
            notes.append(f"{self._reports.unreadable} lines of {NAME} were no report")
        return msgspec.structs.replace(seen, notes=(*notes, *seen.notes))

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._reports.feed(line.decode("utf-8", "replace"))
        except (OSError, ValueError):
            return

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        try:
            while chunk := os.read(self._process.stderr.fileno(), 65536):
                self._said = (self._said + chunk)[-4096:]
        except (OSError, ValueError):
            return


def _kill(process: subprocess.Popen[bytes]) -> None:
    import signal
    from contextlib import suppress

    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class Reports:
    """JSON objects out of a stream of lines, one to a line or printed over several."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self.unreadable = 0
        self._pending = ""

    def feed(self, line: str) -> None:
        """Take the next line."""
        if line.startswith("{"):
            if self._pending:
                self.unreadable += 1  # it never ended
            self._pending = line
        elif self._pending:
            self._pending += line
        elif line.strip():
            self.unreadable += 1
            return
        if not self._pending or not line.rstrip().endswith("}"):
            return
        try:
            report = parse_json(self._pending, nan_is_null=True)
        except NotJson:
            if len(self._pending) > MAX_PENDING:
                self._pending, self.unreadable = "", self.unreadable + 1
            return
        self._pending = ""
        if isinstance(report, dict) and len(self.found) < MAX_REPORTS:
            self.found.append(report)
