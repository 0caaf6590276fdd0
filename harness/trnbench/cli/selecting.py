"""The options by which commands choose cases: `list`, `run` and whoever else plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.bundle import bundle
from trnbench.cli.names import (
    complete_axes,
    complete_axis_names,
    complete_dtypes,
    complete_families,
    complete_generations,
    complete_instances,
    complete_kernels,
    complete_scopes,
    complete_tags,
)

if TYPE_CHECKING:
    from trnbench.run.selection import Selection

_OPTIONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("--tag", "tags"), "TAG", "Kernels with this tag."),
    (("--family", "families"), "NAME", "Kernels of this family."),
    (("-i", "--instance", "instances"), "NAME", "Name, alias or glob; NAME:SIZE for clusters."),
    (("--generation", "generations"), "NAME", "Systems of this generation."),
    (("--dtype", "dtypes"), "NAME", "Data type; drops kernels without one."),
    (
        ("--scope", "scopes"),
        "SCOPE",
        "core, logical-core, device, instance, ultraserver, cluster, or system: the whole of each.",
    ),
    (
        ("-a", "--axis", "axes"),
        "NAME=VALUES",
        "Sweep an axis: size=1K,64K, 'size[pow2]=10:30:2' (2^10, 2^12, …) or 'size[range]=128:1024:128'; "
        "KERNEL.NAME=… for one kernel alone.",
    ),
    (("--zip", "zips"), "A,B", "These axes move together instead of crossing."),
    (("--exclude", "excludes"), "TERMS", "Leave out points, such as 'dtype=fp32,size>=8192'."),
)

_OFFERED = {
    "tags": complete_tags,
    "families": complete_families,
    "instances": complete_instances,
    "generations": complete_generations,
    "dtypes": complete_dtypes,
    "scopes": complete_scopes,
    "axes": complete_axes,
    "zips": complete_axis_names,
    "excludes": complete_axes,
}
"""What completion offers behind each of them."""

selection_options = bundle(
    click.argument("kernels", nargs=-1, metavar="[KERNEL]...", shell_complete=complete_kernels),
    click.option(
        "--shard",
        default="",
        metavar="I/N",
        help="Part I of N of the cases: 1/8 to 8/8 are all of them, each once.",
    ),
    click.option(
        "-k",
        "keyword",
        default="",
        metavar="EXPRESSION",
        help="Words with and, or, not: 'gemm and not fp32'.",
    ),
    *(
        click.option(*names, multiple=True, metavar=metavar, help=text, shell_complete=_OFFERED[names[-1]])
        for names, metavar, text in _OPTIONS
    ),
)
"""The argument KERNEL… and all that choose cases, for `selection_from`."""


def selection_from(**chosen: Any) -> Selection:
    """The selection that the parameters of `selection_options` mean."""
    from trnbench.run.selection import Selection

    return Selection.of(**chosen)
