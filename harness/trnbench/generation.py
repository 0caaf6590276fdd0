"""What a plugin brings: a hardware generation, its instances, and the systems made of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trnbench.errors import PluginError, TopologyError, TrnbenchError, brief, counted
from trnbench.facts.fact import Assembly, FactBook, Scope
from trnbench.record import Record
from trnbench.reference import Ref, resolve

if TYPE_CHECKING:
    from trnbench.topology.figures import Figures
    from trnbench.topology.graph import Topology


class Instance(Record, kw_only=True):
    """A system that can be rented or racked; only names and references, nothing is read.

    Counts (devices, hosts) come from facts of subject `name`. `topology` is a builder
    `(system, **options) -> Topology`. A name that ends in "-ultracluster" style systems may be
    given a size after a colon ("trn1-ultracluster:64"); `sizable` says so and `resize` builds it.
    A kernel none of whose implementations is of a kind in `stack` is not planned on it.
    """

    name: str
    title: str
    scope: Scope  # instance, ultraserver or cluster
    device: str  # subject of device facts
    core: str  # subject of core facts
    topology: Ref
    aliases: tuple[str, ...] = ()
    parent: str = ""  # the instance it is made of: "trn1.32xlarge" for the UltraCluster
    sizable: bool = False
    default_size: int = 1  # how many parents, for sizable systems
    default: bool = True  # part of a run that selects nothing in particular
    stack: tuple[str, ...] = ("nki", "torch", "collective", "model")  # kinds of implementation it can run


class FormerPaths(Record, kw_only=True):
    """Paths that a generation of contract 1 to 3 gives by names of their own.

    `published_steps` and `untouched` are still read. The others held answers, which are in `answers` now.
    """

    published_steps: Path | None = None
    untouched: Path | None = None
    steps: Path | None = None
    public_kernels: Path | None = None
    bands: Path | None = None
    comparisons: Path | None = None
    graphs: Path | None = None
    products: Path | None = None

    @property
    def former(self) -> dict[str, str]:
        """Name of each that is given → what to give instead."""
        files = {"published_steps": "steps.toml", "untouched": "untouched.toml"}
        return {
            name: f'published=HERE / "published", with {files[name]} in it'
            if name in files
            else 'answers=HERE / "answers.json"'
            for name in FormerPaths.__struct_fields__
            if getattr(self, name) is not None
        }


class Generation(FormerPaths, frozen=True, kw_only=True):
    """One hardware generation. Paths are read and references resolved only when used.

    `base` names a generation whose costs are inherited (v4 from v3). `identify` references a function
    `() -> FactBook` for figures of the machine in front of us: no file can hold those.
    """

    name: str  # "trn2"
    title: str  # "Trainium2"
    order: int  # position in reports and comparisons
    facts: tuple[Path, ...]
    costs: Path | None = None
    published: Path | None = None  # a folder with points, steps and untouched points, or a file of points
    workloads: Path | None = None  # constants of a model's step, see docs/workloads.md
    answers: Path | None = None  # the model's, which a run would work out otherwise: docs/plugins.md
    base: str = ""
    instances: tuple[Instance, ...] = ()
    contract: int = 1  # version of the plugin contract it was written for
    identify: Ref = ""

    @property
    def points_file(self) -> Path | None:
        """Published measurements of kernels."""
        if self.published is None or not self.published.is_dir():
            return self.published
        return self._published("points.toml")

    @property
    def steps_file(self) -> Path | None:
        """Published steps of whole models."""
        return self.published_steps or self._published("steps.toml")

    @property
    def untouched_file(self) -> Path | None:
        """Points that the model had not seen before its rules changed, with errors of then."""
        return self.untouched or self._published("untouched.toml")

    def _published(self, name: str) -> Path | None:
        """A file of the folder, where it is there."""
        if self.published is None:
            return None
        path = self.published / name
        return path if path.is_file() else None


def assemblies(generation: Generation) -> list[Assembly]:
    """The parts of each instance, as the checker of facts asks for them."""
    return [
        Assembly(subject=each.name, scope=each.scope, device=each.device, core=each.core, parent=each.parent)
        for each in generation.instances
    ]


LARGEST_GRAPH = 2048
"""Instances of a graph that is drawn, checked or listed: the largest system of a document has 1,875."""


class System(Record, kw_only=True, dict=True):
    """An instance with its facts read: what plans, backends and judges work on."""

    instance: Instance
    generation: Generation
    book: FactBook
    costs: dict[str, Any]  # the generation's cost table, bases merged
    size: int = 1  # number of parents, for sizable systems
    plugin: str = ""

    def __repr__(self) -> str:
        parts = (
            counted(self.devices, "device"),
            counted(self.devices * self.cores_per_device, "core"),
            counted(self.hosts, "host"),
        )
        return brief(self, f"{self.name} of {self.generation.name}: {', '.join(parts)}")

    @property
    def name(self) -> str:
        suffix = f":{self.size}" if self.instance.sizable and self.size != self.instance.default_size else ""
        return self.instance.name + suffix

    def subject(self, scope: Scope) -> str:
        """The subject whose facts speak of `scope`: core, device, or the instance itself."""
        if scope in (Scope.ENGINE, Scope.CORE, Scope.LOGICAL_CORE):
            return self.instance.core
        if scope is Scope.DEVICE:
            return self.instance.device
        return self.instance.name

    @cached_property
    def devices(self) -> int:
        if self.instance.sizable:
            per_parent = self.book.value(self.instance.parent, "device_count")
            return int(per_parent or 1) * self.size
        return int(self.book.value(self.instance.name, "device_count") or 1)

    @cached_property
    def cores_per_device(self) -> int:
        return int(self.book.value(self.instance.device, "core_count") or 1)

    @cached_property
    def logical_cores(self) -> int:
        """Physical cores of the largest logical core (LNC); 1 where the documents know no other."""
        return int(max(self.costs.get("lnc", {}).get("values", (1,))))

    @cached_property
    def default_lnc(self) -> int:
        """Physical cores that the runtime makes a rank of; 1 where its costs do not say."""
        return int(self.costs.get("lnc", {}).get("default", 1))

    @cached_property
    def logical_cores_per_device(self) -> int:
        """Ranks that the runtime makes of a device by default; 1 where its costs know no logical cores."""
        return max(self.cores_per_device // self.default_lnc, 1) if "lnc" in self.costs else 1

    @property
    def figures(self) -> Figures:
        """Numbers for its topology: the instance's, then its parent's, then the device's."""
        from trnbench.topology.figures import Figures

        return Figures(self.book, (self.instance.name, self.instance.parent, self.instance.device))

    @cached_property
    def hosts(self) -> int:
        if self.instance.sizable:
            return self.size
        return int(self.book.value(self.instance.name, "host_count") or 1)

    def topology(self, **options: Any) -> Topology:
        """Built anew; raises `TopologyError` when the options make no graph, or one too large to read, and
        `PluginError` when its builder raises anything else or returns something else."""
        if self.size > LARGEST_GRAPH:
            raise TopologyError(
                f"the graph of {self.name} is not built",
                cause=f"graphs are drawn, checked and listed up to size {LARGEST_GRAPH:,}",
                try_=f"{self.instance.name}:{LARGEST_GRAPH}",
            )
        from trnbench.topology.graph import Topology

        build: Callable[..., Topology] = resolve(self.instance.topology)
        try:
            graph = build(self, **options)
        except TrnbenchError:
            raise
        except (Exception, SystemExit) as error:  # a plugin's code
            raise self._builder_error(build, f"raises {type(error).__name__}: {error}", error) from error
        if not isinstance(graph, Topology):
            raise self._builder_error(build, f"returns {type(graph).__name__}, no Topology")
        return graph

    def _builder_error(
        self, build: Callable[..., Topology], what: str, error: BaseException | None = None
    ) -> PluginError:
        """With the last line of the builder's own file that was reached, or its first."""
        from traceback import extract_tb

        code = getattr(build, "__code__", None)
        frames = extract_tb(error.__traceback__) if error else ()
        lines = [each.lineno for each in frames if code and each.filename == code.co_filename]
        place = f" ({code.co_filename}:{(lines or [code.co_firstlineno])[-1]})" if code else ""
        distribution = self.plugin.partition(" ")[0]
        return PluginError(
            f"the graph of {self.name} is not built: {self.instance.topology} {what}{place}",
            cause=f"a mistake in the topology builder of {self.plugin}",
            try_=f"correct it there, or leave the plugin out: --no-plugin {distribution}",
            distribution=distribution,
            object_=f"Instance {self.instance.name!r}",
        )

    def takes(self, option: str) -> bool:
        """Whether the builder of its graph has this option."""
        known = signature(resolve(self.instance.topology)).parameters
        return option in known or any(each.kind is each.VAR_KEYWORD for each in known.values())

    def lacks(self, requirement: str) -> str:
        """Empty when this system can do `requirement`, else the sentence why not.

        Requirements are written "dtype:fp8", "instruction:nc_matmul_mx", "hosts:2", "devices:2", or
        "ranks:2" of what runs on logical cores.
        `[cannot]` of the cost file gives the sentence for what the generation lacks; counts
        are compared with the system.
        """
        kind, _, feature = requirement.partition(":")
        have = {
            "devices": self.devices,
            "hosts": self.hosts,
            "cores": self.devices * self.cores_per_device,
            "ranks": self.devices * self.logical_cores_per_device,
        }
        if kind in have:
            if have[kind] >= int(feature):
                return ""
            return f"needs {feature} {kind}, {self.name} has {have[kind]}"
        return str(self.costs.get("cannot", {}).get(requirement, ""))

    def lacks_logical_cores(self) -> str:
        """Empty where several physical cores can be programmed as one, else the sentence why not."""
        if self.logical_cores > 1:
            return ""
        return self.lacks("feature:lnc2") or f"{self.name} has no logical cores: no document gives it an LNC"

    def fact(self, scope: Scope, metric: str, **criteria: Any) -> float | None:
        """A current value of this scope's subject, in base units, else None."""
        return self.book.value(self.subject(scope), metric, **criteria)


class Systems(Protocol):
    """Every system that the plugins of a run describe; nothing is read before it is asked for."""

    def instance_names(self) -> tuple[str, ...]:
        """In the order of the generations."""

    def system(self, name: str) -> System:
        """With its facts and costs read. Raises `TrnbenchError` for one that cannot be."""
