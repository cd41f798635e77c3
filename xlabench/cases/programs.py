"""Read a program from a file, whatever form it has: every command takes its programs from here.

| form                                      | told by                                                          |
|-------------------------------------------|------------------------------------------------------------------|
| HLO text, one module or several           | everything that is none of the following                         |
| StableHLO or MHLO text, MLIR bytecode     | `module` or `func.func` at the start; bytecode's first four bytes |
| `HloModuleProto`, `HloProto` (`.hlo.pb`)  | the name `.pb`, or a first field of bytes among which NULs stand  |

Each may be compressed by gzip.  What is not HLO text is converted by jaxlib, in a worker of its own
(`xlabench.cases.frontends`), and is `Undecidable` where jaxlib is not installed.
"""

from __future__ import annotations

import gzip
import io
import re
import tempfile
import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import compiler
from xlabench.errors import BenchError, Undecidable
from xlabench.worker import Worker

_GZIP_MAGIC = b"\x1f\x8b"
_BYTECODE_MAGIC = b"ML\xefR"
_LARGEST = 1 << 30
_CHUNK = 1 << 20
_CONVERSION_S = 300.0
_HEAD = 4096
_COMMENTS = re.compile(rb"(?:\s++|//[^\n]*+\n)*")
_MLIR_START = re.compile(rb'module\b|func\.func\b|"builtin\.module"|#\w+\s*=|!\w+\s*=')
_MLIR_FUNCTION = re.compile(rb'\bfunc\.func\b|"func\.func"|\bfunc @')
_NOT_INSTALLED = "needs the packages jax and jaxlib, which are not installed; pip install 'xlabench[peers]'"


def read(path: Path, *, module: int | None = None) -> compiler.Module:
    """Read and verify a program; of several in one file, the one with the number given, from 1."""
    text = read_text(path)
    modules = compiler.parse_many(text, str(path))
    if module is None and len(modules) > 1:
        raise BenchError(f"{path}: holds {len(modules)} modules; choose one, from --module 1 to {len(modules)}")
    number = 1 if module is None else module
    if not 1 <= number <= len(modules):
        raise BenchError(f"{path}: there is no module {number}; it holds {len(modules)}")
    chosen: compiler.Module = modules[number - 1]
    compiler.verify(chosen, context=str(path))
    return chosen


def decoded(data: bytes) -> str:
    """HLO text from its bytes; in names, dumps hold some that are not UTF-8, which are kept as they are."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of HLO text, all that `decoded` was given."""
    return text.encode("utf-8", "surrogateescape")


def read_text(path: Path) -> str:
    """The program as HLO text, whatever form the file has."""
    data = _read(path)
    form = form_of(path, data)
    return decoded(data) if form == "hlo" else _converted(path, form, data)


def form_of(path: Path, data: bytes) -> str:
    """The form of a program, `hlo`, `mlir` or `proto`, by its content, or by its name where that does not say."""
    if data.startswith(_BYTECODE_MAGIC):
        return "mlir"
    suffixes = path.name.removesuffix(".gz")
    if suffixes.endswith(".pb") or (data.startswith(b"\n") and b"\0" in data[:_HEAD]):
        return "proto"
    start = _COMMENTS.match(data)
    if start is not None and _MLIR_START.match(data, start.end()) and _MLIR_FUNCTION.search(data):
        return "mlir"
    return "mlir" if suffixes.endswith((".mlir", ".stablehlo", ".mhlo")) else "hlo"


def from_jax(function: Callable[..., Any], *arguments: Any) -> compiler.Module:
    """The module that a JAX function lowers to for these arguments.

    Its parameters are the leaves of the arguments in order, its results those of what the function returns.  What JAX
    makes of 64-bit types is JAX's choice (`jax_enable_x64`).
    """
    _require_jax("a JAX function")
    module: compiler.Module = compiler.parse(import_module("xlabench.cases.frontends").of_jax(function, arguments))
    compiler.verify(module)
    return module


def _read(path: Path) -> bytes:
    """The bytes of a file, decompressed; more than a gibibyte is refused before it is held."""
    try:
        with path.open("rb") as file:
            data = _read_most(file)
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror}; give a file with a program") from error
    if data.startswith(_GZIP_MAGIC):
        data = _decompressed(path, data)
    if len(data) > _LARGEST:
        raise BenchError(f"{path}: holds more than {_LARGEST:,} bytes, the most that is read")
    return data


def _read_most(file: BinaryIO | gzip.GzipFile) -> bytes:
    """The bytes of a file up to a little over the limit, without asking for the memory beforehand."""
    data = bytearray()
    while len(data) <= _LARGEST and (chunk := file.read(_CHUNK)):
        data += chunk
    return bytes(data)


def _decompressed(path: Path, data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _read_most(file)
    except (OSError, EOFError, zlib.error) as error:
        raise BenchError(f"{path}: cannot be decompressed: {error}; get it again") from error


def _converted(path: Path, form: str, data: bytes) -> str:
    _require_jax(f"{path}: a program in the form {form!r}")
    with tempfile.TemporaryDirectory(prefix="xlabench-convert-") as folder, Worker() as worker:
        source, result = Path(folder) / "source", Path(folder) / "result"
        source.write_bytes(data)
        arguments = {"form": form, "source": str(source), "result": str(result)}
        outcome = worker.run("xlabench.cases.frontends:convert_job", arguments, timeout_s=_CONVERSION_S)
        if outcome.ending == "answered":
            return decoded(result.read_bytes())
    detail = "\n".join(filter(None, [outcome.message, outcome.output if outcome.ending == "died" else ""]))
    raise BenchError(f"{path}: jaxlib cannot convert it ({form}): {detail.strip()}")


def _require_jax(what: str) -> None:
    if find_spec("jax") is None or find_spec("jaxlib") is None:
        raise Undecidable(f"{what} {_NOT_INSTALLED}")
