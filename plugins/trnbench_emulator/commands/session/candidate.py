"""One variant of a kernel, as a program asks about it: a line of JSON, or keywords in Python."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from trnbench.bounded import kinds
from trnbench.errors import BadInput, MissingFile, UsageError, quoted
from trnbench.record import Record
from trnbench_emulator.commands.nki import arguments as given
from trnbench_emulator.commands.nki.arguments import Argument
from trnbench_emulator.nki.dtype import dtype_of

EXAMPLE = '{"path": "kernel.py", "function": "matmul", "arguments": {"a": "512x512:bf16", "n": 3}}'


class Candidate(Record, kw_only=True, forbid_unknown_fields=True):
    """A kernel and what it is called with.

    `source` is a program's text, whose lines are said to be of `file`; or `path` is a file. `arguments` by
    name: a text as `--arg` takes it, "512x512:bf16", or a plain value. `inputs` is a function that returns
    them instead, with their values and in their order; results of a reference are then reshaped to the
    kernel's. `reference` is a NumPy function; both by the names that `--check` takes. `values` computes them
    without one. `grid` as `--grid`, `explain`: with waterfall, critical path and lines. `id` comes back
    with the answer.
    """

    id: str | int | float | None = None
    source: str = ""
    path: str = ""
    file: str = "candidate.py"
    function: str = ""
    arguments: dict[str, Any] = {}
    inputs: str = ""
    reference: str = ""
    instance: str = ""
    grid: str = ""
    cores: Literal["core", "logical-core", "device", "instance"] = "core"
    assume: tuple[str, ...] = ()
    values: bool = False
    seed: int = 0
    tolerance: float | None = None
    explain: bool = False

    def __post_init__(self) -> None:
        kinds.SEED.checked(self.seed, "seed")
        if self.tolerance is not None:
            kinds.TOLERANCE.checked(self.tolerance, "tolerance")

    def text(self) -> bytes:
        """The program. Raises `BadInput` where there is none, or two."""
        if bool(self.source) == bool(self.path) or not self.function:
            given_ = "both source and path" if self.source and self.path else "no source and no path"
            raise BadInput(
                f"a candidate has {given_}" if self.function else "a candidate names no function",
                cause="it is a source text or the path of a file, and the name of a function in it",
                try_=EXAMPLE,
            )
        if self.source:
            return self.source.encode(errors="surrogatepass")
        path = Path(self.path)
        try:
            if not (path.is_file() or path.is_dir()) and path.exists():
                raise OSError(None, "it is no file")  # a pipe or a device, which may have no end
            return path.read_bytes()
        except (OSError, ValueError) as error:
            raise MissingFile(
                f"{self.path} cannot be read: {getattr(error, 'strerror', error)}",
                cause=f"looked for it in {Path.cwd()}",
                try_="the path of a Python file, from that folder",
            ) from None

    @property
    def problem(self) -> bytes:
        """What variants have in common whose times rank them."""
        return msgspec.msgpack.encode(
            (self.instance, self.grid, self.cores, self.inputs, shown(self.arguments))
        )

    def digest(self, text: bytes) -> str:
        """Of all that an answer follows from, but for files that are imported."""
        plain = replace(self, id=None, source="", arguments=shown(self.arguments))
        files = [Path(ref.partition("::")[0]) for ref in (self.reference, self.inputs) if "::" in ref]
        texts = [text, *(file.read_bytes() for file in files if file.is_file())]
        return hashlib.sha256(msgspec.msgpack.encode((plain, texts))).hexdigest()

    def texts(self) -> dict[str, Argument]:
        """The arguments, read. Raises `UsageError`."""
        return {name: _argument(name, value) for name, value in self.arguments.items()}


def decoded(line: bytes) -> Candidate:
    """A line of JSON. Raises `BadInput`, with the place in it, and `UsageError` for a number out of range."""
    try:
        return msgspec.json.decode(line, type=Candidate)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadInput(
            f"{quoted(line[:400].decode(errors='replace'))} is no candidate",
            cause=str(error) or type(error).__name__,
            try_=EXAMPLE,
        ) from None


def candidate(**fields: Any) -> Candidate:
    """From keywords: arrays and `TensorSpec`s count by shape and data type.

    Raises `BadInput`, and `UsageError` for a number out of range.
    """
    arguments = fields.get("arguments") or {}
    if not isinstance(arguments, Mapping):
        raise BadInput("arguments are given by name", cause=f"they are a {type(arguments).__name__}")
    fields["arguments"] = shown(arguments)
    if isinstance(fields.get("path"), Path):
        fields["path"] = str(fields["path"])
    try:
        return msgspec.convert(fields, Candidate)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise BadInput("this is no candidate", cause=str(error), try_=EXAMPLE) from None


def shown(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors as `--arg` takes them."""
    return {name: _shown(value) for name, value in arguments.items()}


def _shown(value: Any) -> Any:
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        return value
    if not value.shape and hasattr(value, "item"):
        return value.item()
    return f"{'x'.join(map(str, value.shape))}:{dtype_of(value.dtype).name}"


def _argument(name: str, value: Any) -> Argument:
    if not name.isidentifier():
        raise UsageError(f"{quoted(name)} is no name of an argument", try_=EXAMPLE)
    if isinstance(value, str):
        return given.parse(f"{name}={value}")
    return Argument(name, value=_plain(value))


def _plain(value: Any) -> Any:
    """Lists of JSON are tuples: a kernel's arguments are remembered by their values."""
    return tuple(map(_plain, value)) if isinstance(value, list) else value
