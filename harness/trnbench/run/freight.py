"""Cases on their way to another process: a kernel that cannot be pickled travels by its name.

The formulas of a kernel are often functions inside functions, which pickle does not take. A kernel that
an installed plugin brings is there on the other side as well.
"""

from __future__ import annotations

import io
import pickle
from functools import cached_property
from typing import Any

from trnbench.kernels.kernel import Kernel


def dumps(value: Any) -> bytes:
    """`value` as bytes for `loads`. Raises what pickle raises for what cannot be sent."""
    file = io.BytesIO()
    _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def loads(data: bytes) -> Any:
    """What `dumps` was given; installed kernels are looked up."""
    return _Unpickler(io.BytesIO(data)).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self._named: dict[int, str | None] = {}

    def persistent_id(self, obj: Any) -> str | None:
        if not isinstance(obj, Kernel):
            return None
        if id(obj) not in self._named:
            self._named[id(obj)] = None if _plain(obj) else self._installed(obj)
        return self._named[id(obj)]

    def _installed(self, kernel: Kernel) -> str | None:
        """Its name, where the installed plugins bring the same one."""
        found = self._kernels.get(kernel.name)
        same = found is not None and (found.axes, found.implementations) == (
            kernel.axes,
            kernel.implementations,
        )
        return kernel.name if same else None

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        return _installed_kernels()


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: str) -> Kernel:
        return self._kernels[pid]

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        return _installed_kernels()


def _plain(kernel: Kernel) -> bool:
    try:
        pickle.dumps(kernel)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _installed_kernels() -> dict[str, Kernel]:
    from trnbench.registry import load_registry

    return load_registry().kernels
