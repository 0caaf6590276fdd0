"""Importers: resolved, and given what is no result file, which they refuse in words."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.errors import PluginError, TrnbenchError
from trnbench.run.importing import read_runs
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject

_NO_RESULTS = {
    "an empty file": b"",
    "bytes that are no text": b"\x00\xff\xfe\x80" * 64,
    "a line of prose": b"this is no result file\n",
    "an empty JSON object": b"{}\n",
}


def importers(subject: Subject) -> Iterator[Finding | str]:
    """What is no result file of that kind may be refused with a `TrnbenchError`, and with nothing else."""
    for importer in subject.of_kind("importer"):
        yield f"importer {importer.name}"
        for words, data in _NO_RESULTS.items():
            try:
                read_runs(importer, data, words)
            except PluginError as error:
                yield Finding(
                    f"importer {importer.name}",
                    error.what,
                    "raise trnbench.TrnbenchError for what cannot be read; return a Run for what can",
                )
                break
            except TrnbenchError:
                continue
            else:
                yield Finding(
                    f"importer {importer.name}",
                    f"makes a run of {words}",
                    "raise trnbench.TrnbenchError for it",
                )
