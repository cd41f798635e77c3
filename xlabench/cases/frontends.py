"""Other forms of a program, as HLO text: StableHLO, MHLO, XLA's protocol buffers, JAX functions.

The converters are jaxlib's own, so that what is read here is what XLA itself would be given.  They are C++ that may end
the process on input nobody foresaw, and take a second to load; that is why `xlabench.cases.programs` runs `convert_job`
in a worker, and why nobody imports this file before it is needed.

Wire format of the protocol buffers, as far as it must be known: `HloModuleProto` starts with its name (field 1) and
always holds an id or a program shape (fields 4 and up); `HloProto`, which XLA dumps, holds an `HloModuleProto` in field
1 and a buffer assignment in field 3, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.errors import JaxRuntimeError
from jaxlib import _hlo, _jax

from xlabench.errors import BenchError

_OPEN_SIZES = re.compile(r"tensor<[\dx]*\?")
_MODULE_FIELD = 1
_DUMP_FIELDS = frozenset({1, 2, 3})
_LENGTH_DELIMITED = 2
_FIXED_SIZES = {1: 8, 5: 4}


def of_mlir(data: bytes) -> str:
    """The HLO text of a StableHLO or MHLO module, as text or as MLIR bytecode."""
    source = data if data.startswith(b"ML\xefR") else data.decode()
    return _text(_jax.mlir.mlir_module_to_xla_computation(source, use_tuple_args=False, return_tuple=False))


def of_proto(data: bytes) -> str:
    """The HLO text of a serialised `HloModuleProto`, or of the `HloProto` of an XLA dump."""
    fields = list(_fields(data))
    if fields and {number for number, _ in fields} <= _DUMP_FIELDS:
        data = next((content for number, content in fields if number == _MODULE_FIELD), b"")
    return _print(_hlo.HloModule.from_serialized_hlo_module_proto(data))


def of_jax(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """The HLO text that a JAX function lowers to; a function that is not jitted keeps the arguments it does not use.

    The arguments settle the sizes that an exported function left open.
    """
    jitted = function if hasattr(function, "lower") else jax.jit(function, keep_unused=True)
    source = jitted.lower(*arguments).as_text().encode()
    try:
        return of_mlir(_jax.mlir.refine_polymorphic_shapes(source) if _OPEN_SIZES.search(source.decode()) else source)
    except (JaxRuntimeError, ValueError) as error:
        raise BenchError(f"jaxlib cannot convert what JAX lowers it to: {error}") from error


CONVERTERS: Mapping[str, Callable[[bytes], str]] = {"mlir": of_mlir, "proto": of_proto}
"""The converters by the name of the form, as `xlabench.cases.programs` knows it."""


def convert_job(arguments: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """A job for a worker: convert one file into another of HLO text."""
    say("convert")
    data = Path(arguments["source"]).read_bytes()
    try:
        text = CONVERTERS[arguments["form"]](data)
    except (JaxRuntimeError, ValueError) as error:
        raise BenchError(str(error)) from error
    Path(arguments["result"]).write_text(text, encoding="utf-8", errors="surrogateescape")
    return {}


def _text(computation: Any) -> str:
    return _print(computation.as_hlo_module())


def _print(module: Any) -> str:
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    text: str = module.to_string(options)
    return text


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message with the bytes of those that have a length; ends where the message makes no sense."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind, content = tag & 7, b""
        if kind == _LENGTH_DELIMITED:
            size, position = _varint(data, position)
            content = data[position : position + size]
            position += size
        elif kind in _FIXED_SIZES:
            position += _FIXED_SIZES[kind]
        elif kind == 0:
            _, position = _varint(data, position)
        else:
            return
        yield tag >> 3, content


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return value, position
