"""The switches of `--assume`: below the options in `--help`, and what a run says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trnbench_emulator.compiler import Switch
    from trnbench_emulator.kernel_run.alternatives import Alternative
    from trnbench_emulator.kernel_run.result import KernelRun


class WithSwitches(click.Command):
    """A command whose `--help` ends with the switches of `--assume`."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from trnbench_emulator.compiler import SWITCHES

        super().format_epilog(ctx, formatter)
        with formatter.section("What the compiler is taken to do, switched off by --assume no-NAME"):
            formatter.write_dl([(each.name, _about(each)) for each in SWITCHES.values()])


def _about(switch: Switch) -> str:
    evidence = switch.evidence[0].upper() + switch.evidence[1:]
    return f"{switch.interface}: {switch.assumed}; else {switch.otherwise}. {evidence}."


def told(run: KernelRun) -> list[str]:
    """What was assumed, and what that is worth: a line for each that matters, one for the rest."""
    lines = []
    on = [f"{each.name} ({_times(each.times)})" for each in run.assumed if each.on]
    off = [each.name for each in run.assumed if not each.on]
    if on:
        lines.append(f"the compiler is taken to do: {', '.join(on)}")
    if off:
        lines.append(f"the compiler is not taken to do: {', '.join(off)}")
    lines += [worth(each) for each in run.alternatives if each.matters or each.problem]
    rest = [said(each.name) for each in run.alternatives if not each.matters and not each.problem]
    if rest:
        lines.append(f"within 10 % of this: {', '.join(rest)}")
    if run.not_compared:
        lines.append(f"what each is worth was left out: {run.not_compared}; --assume no-NAME tells")
    return lines


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def worth(of: Alternative) -> str:
    """`without hoisting: 4.31 ms (+38 %)`"""
    from trnbench.facts.format import show

    if of.problem:
        return f"{said(of.name)}: cannot be timed: {of.problem}"
    sign = "−" if of.slower < 0 else "+"
    return f"{said(of.name)}: {show(of.latency_s, 's')} ({sign}{abs(of.slower) * 100:.0f} %)"


def said(name: str) -> str:
    """ "no-hoisting" → "without hoisting", "hoisting" → "with hoisting"."""
    bare = name.removeprefix("no-")
    return f"with {bare}" if bare == name else f"without {bare}"
