"""The Neuron stack as a backend: the instance in front of the user, and nothing else."""

from __future__ import annotations

import itertools
import os
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import Case, Detection, Observation, Scope, TrnbenchError
from trnbench.generation import System, Systems
from trnbench_neuron.settings import UNVERIFIED, VARIABLES, Settings

if TYPE_CHECKING:
    from trnbench_neuron.host import Host
    from trnbench_neuron.identify import Known

_TAGS = itertools.count()


class NeuronBackend:
    """Measures on Trainium and Inferentia2 with NKI and nrtpy, collectives with nccom-test.

    `systems` are those that one of which this machine may be; they are read only where `neuron-ls` lists
    devices, or before the backend is sent to a machine that may have some.
    """

    name = "neuron"
    resource = "neuron_cores"  # by which Ray counts them
    variables = VARIABLES

    def __init__(self, systems: Systems, settings: Settings | None = None) -> None:
        self._systems: Systems | None = systems
        self._settings, self._sample_s = settings, 0.0
        self._known: Known | None = None
        self._host: Host | None = None
        self._floors: dict[str, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        # A worker process looks again: devices may be gone, and what it asks is quick.
        return {**vars(self), "_known": self._documented(), "_systems": None, "_host": None, "_floors": {}}

    def tuned(self, sample_s: float) -> NeuronBackend:
        """The same backend that samples each case for `sample_s` at most."""
        tuned = copy(self)
        tuned._sample_s = sample_s
        return tuned

    def detect(self) -> Detection:
        """Without `neuron-ls` this costs a look into PATH."""
        from trnbench_neuron.toolbox import LISTER, Toolbox, ToolError, absent

        try:
            Toolbox((self._settings or Settings.read()).tools).need(LISTER)
            return self._found().detection
        except ToolError as error:
            return absent(error)
        except Exception as error:  # promised never to raise, whatever the tools of another version do
            return Detection(
                available=False,
                why=f"looking for devices failed: {type(error).__name__}: {error}",
                try_="TRNBENCH_DEBUG=1 trnbench doctor",
                unverified=UNVERIFIED,
            )

    def environment(self) -> dict[str, Any]:
        return self._found().environment()

    def unsupported(self, case: Case, system: System) -> str:
        host = self._found()
        if system.name != host.match.instance:
            here = host.match.instance or "no instance that is documented"
            return f"this machine is {here}; a measured run is of the machine in front of you"
        if host.match.hosts > 1 and case.key.scope.rank > Scope.DEVICE.rank:
            return f"this is one of the {host.match.hosts} hosts of {system.name}: the others take no part"
        return host.cannot(case, system)

    def observe(self, case: Case, system: System) -> Observation:
        from tempfile import TemporaryDirectory

        from trnbench_neuron.collective_case import CollectiveObserving
        from trnbench_neuron.nki_case import KernelObserving
        from trnbench_neuron.observation import alone
        from trnbench_neuron.tool import failed

        host = self._found()
        together = "collective" in case.kernel.implementations
        kind = CollectiveObserving if together else KernelObserving
        tag = f"trnbench-{os.getpid()}-{next(_TAGS)}"
        with TemporaryDirectory(prefix="trnbench-neuron-") as folder:
            observing = kind(case, system, host, Path(folder), tag, self._floors, sample_s=self._sample_s)
            try:
                with alone():
                    return observing.observe()
            except TrnbenchError as error:
                return failed(error, observing.evidence(), observing.implementation)

    def _found(self) -> Host:
        if self._host is None:
            from trnbench_neuron.host import look

            self._host = look(self._settings or Settings.read(), self._documented)
        return self._host

    def _documented(self) -> Known:
        if self._known is None:
            from trnbench_neuron.identify import documented

            assert self._systems is not None, "what was sent to another process has read its systems"
            self._known = documented(self._systems)
        return self._known
