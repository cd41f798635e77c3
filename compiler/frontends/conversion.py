"""StableHLO, MHLO and XLA's protocol buffers, as HLO text: the only file of the compiler that imports jaxlib.

Run as a program with a folder, it reads `source` and `request.json` there and leaves `result`, or `refusal` with what
is wrong.  It imports nothing of this package, so that its process starts no slower than jaxlib does.

jaxlib's converter keeps neither of two things a program's text says: how many replicas and partitions it is for, which
the module's attributes do, and what an unnamed source is called.  Both are put in here.

Wire format of the protocol buffers, as far as it must be known: `HloModuleProto` starts with its name (field 1) and
always holds an id or a program shape (fields 4 and up); `HloProto`, which XLA dumps, holds an `HloModuleProto` in field
1 and a buffer assignment in field 3, and nothing else; `HloSnapshot` an `HloProto` in field 1, then the values of a
run; `HloUnoptimizedSnapshot` an `HloModuleProto` in field 1, then values.  The device assignment of a module says how
many replicas and partitions it is for, which jaxlib does not print.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxlib import _hlo, _jax
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

REFUSALS = (RuntimeError, ir.MLIRError, ValueError)
"""What a program that cannot be converted raises."""


class OpenSizesError(ValueError):
    """Sizes are open and no inputs say them; `stated` has those of each argument, None for what is open."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        types = ", ".join(str(argument.type) for argument in arguments)
        super().__init__(f"its sizes are open, main({types}): give inputs (--inputs FILE.npz), from which they follow")
        self.stated = [_stated(argument.type) for argument in arguments]


_ARTIFACT = b"ML\xefR\rStableHLO_v"
_COUNTS = {"mhlo.num_replicas": "replica_count", "mhlo.num_partitions": "num_partitions"}
_PLATFORM = "_platform_index"
_ATTRIBUTES, _ARGUMENTS = "frontend_attributes={", "exported_arguments"
_UNNAMED = ' source_file="-" ', '{source_file="-" '
_MODULE_FIELD = 1
"""`HloProto.hlo_module` (XLA, hlo.proto)."""
_DUMP_FIELDS = frozenset({1, 2, 3})
_SNAPSHOT_FIELDS = frozenset({1, 2, 3, 4})
_MESSAGE_BEGINS = b"\n"  # the tag of a first field that has a length, which no module's name begins with
_ASSIGNMENT_FIELD = 15
"""`HloModuleProto.device_assignment` (XLA, hlo.proto)."""
_ASSIGNED = {1: "replica_count", 2: "num_partitions"}
_LENGTH_DELIMITED = 2
"""The wire type of bytes, text and messages (protocol buffers, encoding)."""
_FIXED_SIZES = {1: 8, 5: 4}


def convert(form: str, data: bytes, shapes: Sequence[Sequence[int]] | None, details: Mapping[str, Any]) -> str:
    """The HLO text of a program, `mlir` or `proto`.

    Args:
        form: `mlir` is StableHLO or MHLO as text or bytecode; `proto` an `HloModuleProto`, or the `HloProto` of a dump.
        data: the program.
        shapes: the sizes of its inputs, for a program in which some are open.
        details: what the source is called (`filename`), the `platforms` that an export was lowered for, and which
            `arguments` of its function it kept, as the program's header is to say them.
    """
    if form == "proto":
        text, counts = _of_proto(data)
    else:
        text, counts = _of_mlir(data, shapes, details.get("platforms", ()))
    header, line, rest = text.partition("\n")
    if form == "mlir" and "filename" in details:
        named = json.dumps(details["filename"], ensure_ascii=False)
        for unnamed in _UNNAMED:
            rest = rest.replace(unnamed, unnamed.replace('"-"', named))
    header = f"{header}{''.join(f', {name}={count}' for name, count in counts.items())}"
    return f"{_noting(header, details['arguments']) if 'arguments' in details else header}{line}{rest}"


def _noting(header: str, arguments: str) -> str:
    """The header with a note of which arguments of an exported function the program takes."""
    note = f'{_ARGUMENTS}="{arguments}"'
    start = header.find(_ATTRIBUTES)
    if start < 0:
        return f"{header}, {_ATTRIBUTES}{note}}}"
    end = start + len(_ATTRIBUTES)
    return f"{header[:end]}{note}{'' if header.startswith('}', end) else ','}{header[end:]}"


def _of_mlir(
    data: bytes, shapes: Sequence[Sequence[int]] | None, platforms: Sequence[str]
) -> tuple[str, dict[str, int]]:
    with _context() as context:
        module = _parsed(context, data)
        counts = {
            name: module.operation.attributes[attribute].value
            for attribute, name in _COUNTS.items()
            if attribute in module.operation.attributes and module.operation.attributes[attribute].value != 1
        }
        main = _main(module)
        if main is not None:
            _settle_platform(main, platforms)
            if _settle_sizes(main, shapes):
                data = _jax.mlir.refine_polymorphic_shapes(_bytecode(module))
                module = ir.Module.parse(data)
        source = _bytecode(module)
    computation = _jax.mlir.mlir_module_to_xla_computation(source, use_tuple_args=False, return_tuple=False)
    return _print(computation.as_hlo_module()), counts


def _context() -> Any:
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for register in (
        stablehlo.register_dialect,
        chlo.register_dialect,
        mhlo.register_mhlo_dialect,
        sdy.register_dialect,
    ):
        register(context)
    return context


def _parsed(context: Any, data: bytes) -> Any:
    if data.startswith(_ARTIFACT):
        return stablehlo.deserialize_portable_artifact(context, data)
    return ir.Module.parse(data if data.startswith(b"ML\xefR") else data.decode())


def _bytecode(module: Any) -> bytes:
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def _main(module: Any) -> Any:
    """The function that a run calls, None where there is none: jaxlib says what is wrong then."""
    for function in module.body.operations:
        attributes = function.operation.attributes
        if function.operation.name == "func.func" and ir.StringAttr(attributes["sym_name"]).value == "main":
            return function if function.regions[0].blocks else None
    return None


def _settle_platform(main: Any, platforms: Sequence[str]) -> None:
    """Take the number of the platform, which what is lowered for several asks for, for that of CPUs or the first."""
    attributes = main.operation.attributes
    if "arg_attrs" not in attributes or not len(attributes["arg_attrs"]):
        return
    given = list(attributes["arg_attrs"])
    if "jax.global_constant" not in given[0] or given[0]["jax.global_constant"].value != _PLATFORM:
        return
    block = main.regions[0].blocks[0]
    argument = block.arguments[0]
    number = platforms.index("cpu") if "cpu" in platforms else 0
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        element = ir.RankedTensorType(argument.type).element_type
        value = ir.DenseElementsAttr.get_splat(argument.type, ir.IntegerAttr.get(element, number))
        argument.replace_all_uses_with(stablehlo.constant(value))
    block.erase_argument(0)
    attributes["arg_attrs"] = ir.ArrayAttr.get(given[1:])
    _retype(main)


def _settle_sizes(main: Any, shapes: Sequence[Sequence[int]] | None) -> bool:
    """Give the arguments whose sizes are open those of the inputs; whether there are any.

    A conversion from the type with sizes to that without stands between, as in JAX's own calls: the types of all that
    follows are made to fit by the refinement of shapes.
    """
    block = main.regions[0].blocks[0]
    arguments = list(block.arguments)
    if not any(map(_is_open, arguments)):
        return False
    if shapes is None:
        raise OpenSizesError(arguments)
    if len(shapes) != len(arguments):
        raise ValueError(f"main takes {len(arguments)} inputs, {len(shapes)} are given: give one for each")
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        for number, (argument, sizes) in enumerate(zip(arguments, shapes, strict=True)):
            if _is_open(argument):
                _settle(argument, number, sizes)
    _retype(main)
    return True


def _is_open(argument: Any) -> bool:
    """Whether a size is neither stated nor has a bound."""
    if not isinstance(argument.type, ir.RankedTensorType):
        return isinstance(argument.type, ir.UnrankedTensorType)
    return not argument.type.has_static_shape and argument.type.encoding is None


def _stated(kind: Any) -> list[int | None] | None:
    """The sizes of a type of arguments, None for each that is open."""
    if not isinstance(kind, ir.RankedTensorType):
        return None
    return [None if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis) for axis in range(kind.rank)]


def _settle(argument: Any, number: int, sizes: Sequence[int]) -> None:
    stated = argument.type
    fits = len(sizes) == stated.rank and all(
        stated.is_dynamic_dim(axis) or stated.get_dim_size(axis) == size for axis, size in enumerate(sizes)
    )
    if not fits:
        raise ValueError(f"input {number} has the sizes {list(sizes)}, and main takes {stated}: give one that fits")
    argument.set_type(ir.RankedTensorType.get(list(sizes), stated.element_type))
    converted = ir.Operation.create("stablehlo.convert", results=[stated], operands=[argument])
    argument.replace_all_uses_except(converted.results[0], converted)


def _retype(main: Any) -> None:
    """State the type that the function has by its arguments now."""
    results = main.operation.attributes["function_type"].value.results
    types = [argument.type for argument in main.regions[0].blocks[0].arguments]
    main.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))


class _Field(NamedTuple):
    """A field of a message: its number, the bytes of one that has a length, the value of a plain number."""

    number: int
    content: bytes
    value: int


def _of_proto(data: bytes) -> tuple[str, dict[str, int]]:
    fields = list(_fields(data))
    if (
        fields
        and {field.number for field in fields} <= _SNAPSHOT_FIELDS
        and fields[0].content.startswith(_MESSAGE_BEGINS)
    ):
        data = fields[0].content
        fields = list(_fields(data))
    if fields and {field.number for field in fields} <= _DUMP_FIELDS:
        data = next((content for number, content, _ in fields if number == _MODULE_FIELD), b"")
    counts = {
        _ASSIGNED[number]: count
        for field, assignment, _ in _fields(data)
        if field == _ASSIGNMENT_FIELD
        for number, _, count in _fields(assignment)
        if number in _ASSIGNED and count > 1
    }
    return _print(_hlo.HloModule.from_serialized_hlo_module_proto(data)), counts


def _print(module: Any) -> str:
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    text: str = module.to_string(options)
    return text


def _fields(data: bytes) -> Iterator[_Field]:
    """The fields of a message.

    It ends where the message makes no sense.
    """
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind, content, value = tag & 7, b"", 0
        if kind == _LENGTH_DELIMITED:
            size, position = _varint(data, position)
            content = data[position : position + size]
            position += size
        elif kind in _FIXED_SIZES:
            position += _FIXED_SIZES[kind]
        elif kind == 0:
            value, position = _varint(data, position)
        else:
            return
        yield _Field(tag >> 3, content, value)


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


def main(folder: Path) -> None:
    """Convert the program in a folder."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        text = convert(request["form"], (folder / "source").read_bytes(), request["shapes"], request["details"])
    except REFUSALS as error:
        if isinstance(error, OpenSizesError):
            (folder / "open.json").write_text(json.dumps(error.stated), encoding="ascii")
        (folder / "refusal").write_text(str(error), encoding="utf-8", errors="replace")
    else:
        (folder / "result").write_text(text, encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
