"""Programs that are no HLO text: told by their content, and made HLO text by XLA's own converters.

| form       | what it is                                | told by                                                    |
|------------|-------------------------------------------|------------------------------------------------------------|
| `hlo`      | HLO text, one module or several           | everything that is none of the following                   |
| `mlir`     | StableHLO or MHLO, as text or as bytecode | `module` or `func.func` at the start; bytecode's four bytes |
| `exported` | what `jax.export` serialises              | a table in which MLIR bytecode stands                      |
| `proto`    | `HloModuleProto`, `HloProto` (`.hlo.pb`)  | a first field of bytes, among which NULs stand             |

Where the content does not say, as of a file in MLIR that is damaged or of an empty one, the ending of its name does.
The converters are jaxlib's, so that what is compiled here is what XLA itself would be given; they alone need it (the
extra `peers`).  They are C++ that may end the process on input nobody foresaw, so they run in a process of their
own, started by file, since it needs nothing of this package (`conversion.py`).
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from compiler.diagnostics import InputError, UnsupportedError
from compiler.frontends.exported import BYTECODE_MAGIC, note_of, read_exported

GZIP_MAGIC = b"\x1f\x8b"
LARGEST = 1 << 30
"""The most bytes of a program that are read, after decompression."""

_CONVERSION_S = 300.0
"""Seconds that jaxlib may take to convert a program, in a process of its own."""
_HEAD = 4096
"""Bytes of a file by which its format is told."""
_CHUNK = 1 << 20
"""Bytes that are unpacked at a time, so that a small archive does not fill memory before its size is known."""
_LAST_OUTPUT = 2000
"""Characters of what a failed conversion printed that the message ends with."""
_NOTE = "\n<unknown>:0: note: "  # MLIR's listing of the operation that the message is about
_COMMENTS = re.compile(rb"(?:\s++|//[^\n]*+\n)*")
_MLIR_START = re.compile(rb'module\b|func\.func\b|"builtin\.module"|#\w+\s*=|!\w+\s*=')
_MLIR_FUNCTION = re.compile(rb'\bfunc\.func\b|"func\.func"|\bfunc @')
_TEXT_START = re.compile(r'(?:\s++|//[^\n]*+\n)*(?:module\b|func\.func\b|"builtin\.module"|#\w+\s*=|!\w+\s*=)')
_MLIR_ENDINGS = (".mlir", ".stablehlo", ".mhlo")
_CONVERTER = Path(__file__).with_name("conversion.py")

Sizes = Sequence[tuple[int, ...]]
Shapes = Sizes | Callable[[], Sizes | None]
"""The sizes of a program's inputs, in order; or what says them when they are needed, None if nobody knows them."""
Opened = Callable[[Sequence[str], Sequence[Sequence[int | None] | None]], Sizes]
"""What gives the sizes of inputs of which some are open: by their names and what is stated, None for what is open."""


def form_of(data: bytes, filename: str = "") -> str:
    """The form of a program by its content, or by its file's name where that does not say (see the table above)."""
    if data.startswith(BYTECODE_MAGIC):
        return "mlir"
    if BYTECODE_MAGIC in data and read_exported(data) is not None:
        return "exported"
    name = filename.removesuffix(".gz")
    if name.endswith(".pb") or (data.startswith(b"\n") and b"\0" in data[:_HEAD]):
        return "proto"
    start = _COMMENTS.match(data)
    if start is not None and _MLIR_START.match(data, start.end()) and _MLIR_FUNCTION.search(data):
        return "mlir"
    return "mlir" if name.endswith(_MLIR_ENDINGS) else "hlo"


def hlo_text(
    source: str | bytes, *, filename: str = "<string>", shapes: Shapes | None = None, opened: Opened | None = None
) -> str:
    """HLO text from a program of any form, compressed by gzip or not; text that is HLO is given back as it is.

    Args:
        source: text, or the bytes of a file.
        filename: what messages, and the source lines of instructions, call the program.
        shapes: the sizes of its inputs, from which those follow that StableHLO left open (`tensor<?xf32>`).
        opened: asked for the sizes of inputs, named by their numbers, where some are open and `shapes` says nothing.

    Raises:
        InputError: it cannot be converted; or sizes are open, and `shapes` were not given or do not fit.
        UnsupportedError: jaxlib, which it needs, is not installed.
    """
    if isinstance(source, str):
        if _TEXT_START.match(source) is None:
            return source
        data = source.encode("utf-8", "surrogateescape")
        return source if form_of(data) == "hlo" else _converted("mlir", data, filename, shapes, opened)
    data = _decompressed(source, filename).removeprefix(codecs.BOM_UTF8)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{filename}: is text in UTF-16, as PowerShell's > writes it; save it in UTF-8")
    form = form_of(data, filename)
    return (
        data.decode("utf-8", "surrogateescape") if form == "hlo" else _converted(form, data, filename, shapes, opened)
    )


def lowered_text(stablehlo: bytes) -> str:
    """HLO text from StableHLO that this process has just made itself, and so converts without a process of its own.

    Raises:
        InputError: it cannot be converted.
    """
    _require_jaxlib("StableHLO")
    conversion = import_module("compiler.frontends.conversion")
    try:
        text: str = conversion.convert("mlir", stablehlo, None, {})
    except conversion.REFUSALS as error:
        raise InputError(f"jaxlib cannot convert it (mlir): {error}") from error
    return text


def read_program(path: Path, what: str = "a program") -> bytes:
    """The bytes of a program's file, or of what messages call it, which may be a pipe, decompressed if need be.

    Raises:
        InputError: it cannot be read or decompressed, or holds more than a gibibyte.
    """
    try:
        with path.open("rb") as file:
            data = _read_most(file)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path}: cannot be read: {reason}; give a file with {what}") from error
    return _decompressed(data, str(path))


def _decompressed(data: bytes, filename: str) -> bytes:
    if data.startswith(GZIP_MAGIC):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = _read_most(file)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{filename}: cannot be decompressed: {error}; get it again") from error
    if len(data) > LARGEST:
        raise InputError(f"{filename}: holds more than {LARGEST:,} bytes, the most that is read")
    return data


def _read_most(file: BinaryIO | gzip.GzipFile) -> bytes:
    """The bytes of a file up to a little over the limit, without asking for the memory beforehand."""
    data = bytearray()
    while len(data) <= LARGEST and (chunk := file.read(_CHUNK)):
        data += chunk
    return bytes(data)


def _converted(form: str, data: bytes, filename: str, shapes: Shapes | None, opened: Opened | None) -> str:
    _require_jaxlib(f"{filename}: a program in the form {form!r}", _if_a_graph(form, filename))
    sizes = shapes() if callable(shapes) else shapes
    try:
        return _convert(form, data, filename, None if sizes is None else tuple(map(tuple, sizes)))
    except _OpenSizesError as error:
        if opened is None:
            raise
        found = opened([str(number) for number in range(len(error.stated))], error.stated)
        return _convert(form, data, filename, tuple(map(tuple, found)))


class _OpenSizesError(InputError):
    """Nobody says the sizes that a program leaves open; `stated` is what it says itself."""

    def __init__(self, message: str, stated: Sequence[Sequence[int | None] | None]) -> None:
        super().__init__(message)
        self.stated = stated


@lru_cache(maxsize=1)  # who reads a file often asks for its text and then for its module
def _convert(form: str, data: bytes, filename: str, sizes: Sizes | None) -> str:
    details: dict[str, Any] = {"filename": filename}
    exported = read_exported(data) if form == "exported" else None
    if exported is not None:
        form, data = "mlir", exported.bytecode
        details["platforms"] = exported.platforms
        if note := note_of(exported):
            details["arguments"] = note
            if sizes is not None and len(sizes) == exported.arguments:
                sizes = [sizes[number] for number in exported.kept]
    with tempfile.TemporaryDirectory(prefix="hlo-frontends-") as name:
        folder = Path(name)
        (folder / "source").write_bytes(data)
        request = {"form": form, "shapes": sizes, "details": details}
        (folder / "request.json").write_text(json.dumps(request), encoding="ascii")
        problem = _run(folder)
        if not problem:
            return (folder / "result").read_bytes().decode("utf-8", "surrogateescape")
        message = f"{filename}: jaxlib cannot convert it ({form}): {problem}{_if_a_graph(form, filename)}"
        if (folder / "open.json").exists():
            raise _OpenSizesError(message, json.loads((folder / "open.json").read_text(encoding="ascii")))
    raise InputError(message)


def _run(folder: Path) -> str:
    """Convert in a process of its own; what came in the way, empty if nothing did."""
    command = [sys.executable, "-P", str(_CONVERTER), str(folder)]
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_CONVERSION_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it takes more than {_CONVERSION_S:g} s"
    refusal = folder / "refusal"
    if refusal.exists():
        return refusal.read_text(encoding="utf-8", errors="replace").partition(_NOTE)[0].strip()
    if done.returncode:
        said = (done.stdout + done.stderr).decode("utf-8", "replace")[-_LAST_OUTPUT:].strip()
        return f"its process ended with {done.returncode}\n{said}".strip()
    return ""


def _if_a_graph(form: str, filename: str) -> str:
    """What to do where a protocol buffer is none of XLA's but a graph of TensorFlow's, which nothing in it says."""
    if form != "proto":
        return ""
    beside = f"{Path(filename).name.removesuffix('.gz').removesuffix('.pb')}.config.pbtxt"
    return f"; if it is a graph of TensorFlow's, say what is fed and fetched in {beside} beside it"


def _require_jaxlib(what: str, otherwise: str = "") -> None:
    if find_spec("jaxlib") is None:
        reason = f"it needs the package jaxlib, which is not installed; pip install '.[peers]'{otherwise}"
        raise UnsupportedError(what, "this installation", reason)
