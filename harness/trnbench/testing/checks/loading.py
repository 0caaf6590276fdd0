"""It loads, every hook yields what it should, twice the same, and its commands can be imported."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject


def loading(subject: Subject) -> Iterator[Finding | str]:
    """Problems the registry met, slow imports, names that change, commands that do not import."""
    yield str(subject)
    brought = subject.brought
    for problem in subject.registry.problems_of(subject.loaded.origin):
        yield Finding(problem.object or str(subject), f"{problem.what}: {problem.cause}", problem.try_)
    if subject.loaded.slow:
        yield Finding(str(subject), subject.loaded.slow, 'name code by reference: "package.module:function"')
    names = [(each.kind, each.name) for each in brought]
    repeated = [
        (each.kind, each.name)
        for each in subject.registry.fresh().collect()
        if (each.origin.name, each.origin.distribution)
        == (subject.loaded.origin.name, subject.loaded.origin.distribution)
    ]
    if names != repeated:
        differing = sorted(set(names) ^ set(repeated)) or names
        yield Finding(
            str(subject),
            f"yields other things the second time: {', '.join(f'{kind} {name}' for kind, name in differing)}",
            "yield the same values in the same order whenever a hook is called",
        )
    yield from _commands(subject)


def _commands(subject: Subject) -> Iterator[Finding | str]:
    import click

    for entry in subject.commands:
        yield f"command {entry.name}"
        try:
            command = entry.load()
        except (Exception, SystemExit) as error:
            yield Finding(
                f"command {entry.name}",
                f"cannot be imported: {type(error).__name__}: {error}",
                f"python -c 'import {entry.value.partition(':')[0]}'",
            )
            continue
        if not isinstance(command, click.Command):
            yield Finding(
                f"command {entry.name}",
                f"{entry.value} is {type(command).__name__}, no click command",
                "decorate it with @click.command()",
            )
        elif not command.help:
            yield Finding(f"command {entry.name}", "has no help", "give the function a docstring")
