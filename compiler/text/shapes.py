"""Shapes from text.  Each spelling is read once per module: programs repeat a few shapes many times."""

from __future__ import annotations

import re

from compiler.ir.shape import UNBOUNDED, ArrayShape, BufferShape, Layout, Shape, TupleShape, compatible, leaves
from compiler.ir.types import TYPES, ElementType
from compiler.text.lexer import NAME, SPACE, Scanner, pattern

_ARRAY = rf"[a-z][a-z0-9]*+\[[^\[\](){{}}]*+\](?:{SPACE}\{{{SPACE}[0-9:][^{{}}]*+\}})?"
_QUICK = re.compile(rf"{SPACE}((?:b\()?{_ARRAY}|\((?:[^()\"=]++|\([^()\"=]*+\))*\))")
_ELEMENT_TYPE = pattern(r"([A-Za-z_][A-Za-z0-9_]*+)(?=[ \t\r\n]*\[)")
_DIMENSION = pattern(r"(?:(\?)|(<=)?" + SPACE + r"(-?\d++)(?![\w.]))")
_LAYOUT = pattern(rf"\{{(?={SPACE}[0-9:\-])")
_BUFFER = pattern(rf"b{SPACE}\(")
_TILE_SIZE = pattern(r"(\*|-?\d++)")
_LEVEL_TYPE = pattern(r"([DCSH]\+?~?)")
_PROPERTY = pattern(rf"(SC|[DTLESPM#*])(?={SPACE}\()")
_BEGINS = pattern(rf"(?:\(|b{SPACE}\(|({NAME}){SPACE}\[)")

_LARGEST_SIZE = 1 << 63
"""One more than the greatest s64, which a dimension's size is."""


def at_shape(scanner: Scanner) -> bool:
    """Whether a shape comes next."""
    return _BEGINS.match(scanner.text, scanner.pos) is not None


def read_shape(scanner: Scanner) -> Shape:
    """A shape of any kind."""
    quick = _QUICK.match(scanner.text, scanner.pos)
    if quick is not None:
        known = scanner.shapes.get(quick[1])
        if known is not None:
            scanner.pos = quick.end()
            return known
    start = scanner.skip()
    shape = scanner.nested(lambda: _read(scanner), "a shape")
    return scanner.shapes.setdefault(scanner.text[start : scanner.pos], shape)


def agree(stated: Shape, actual: Shape) -> bool:
    """Whether two shapes are the same but for layouts and for which dimensions are dynamic."""
    return compatible(stated, actual) or _bounds(stated) == _bounds(actual)


def _bounds(shape: Shape) -> list[tuple[ElementType, tuple[int, ...]]]:
    return [(leaf.element_type, leaf.dims) for leaf in leaves(shape)]


def _read(scanner: Scanner) -> Shape:
    if scanner.at("("):
        return TupleShape(scanner.items("(", ")", lambda: read_shape(scanner)))
    if scanner.take(_BUFFER):
        start = scanner.skip()
        held = read_shape(scanner)
        if not isinstance(held, ArrayShape):
            scanner.fail("a buffer holds an array, not a tuple or another buffer", start)
        scanner.expect(")", "at the end of a buffer's shape")
        return BufferShape(held)
    return _read_array(scanner)


def _read_array(scanner: Scanner) -> ArrayShape:
    found = scanner.take(_ELEMENT_TYPE)
    if found is None:
        scanner.expected("a shape such as f32[2,3]")
    element_type = TYPES.get(found[1])
    if element_type is None:
        scanner.unknown("element type", found[1], TYPES, found.start(1))
    dimensions = scanner.items("[", "]", lambda: _read_dimension(scanner))
    dims = tuple(size for size, _ in dimensions)
    dynamic = tuple(is_dynamic for _, is_dynamic in dimensions)
    layout = _read_layout(scanner, len(dims)) if scanner.take(_LAYOUT) else None
    return ArrayShape(element_type, dims, dynamic if any(dynamic) else (), layout)


def _read_dimension(scanner: Scanner) -> tuple[int, bool]:
    found = scanner.take(_DIMENSION)
    if found is None:
        scanner.expected("a size, '<=' and a bound, or '?'")
    if found[1]:
        return UNBOUNDED, True
    size = int(found[3]) if len(found[3]) < 20 else _LARGEST_SIZE
    if not 0 <= size < _LARGEST_SIZE:
        scanner.fail("the size of a dimension must lie between 0 and 2^63 - 1", found.start(3), found.end(3))
    return size, found[2] is not None


def _read_layout(scanner: Scanner, rank: int) -> Layout:
    start = scanner.pos - 1
    order: tuple[int, ...] = ()
    if not scanner.at(":"):
        found = [scanner.integer()]
        while scanner.accept(","):
            found.append(scanner.integer())
        order = tuple(found)
    properties: dict[str, object] = {}
    if scanner.accept(":"):
        while (key := scanner.take(_PROPERTY)) is not None:
            field, read = _PROPERTIES[key[1]]
            if field in properties:
                scanner.fail(f"'{key[1]}' is written twice in this layout", key.start(1))
            properties[field] = read(scanner)
    if not scanner.accept("}"):
        scanner.expected("'}' or one of the layout properties D T L # * E S SC P M")
    if len(order) != rank:
        scanner.fail(f"the layout orders {len(order)} dimensions, but the shape has {rank}", start, scanner.pos)
    return Layout(order, **properties)  # type: ignore[arg-type]  # the table gives each field its type


def _read_number(scanner: Scanner) -> int:
    scanner.expect("(")
    value = scanner.integer()
    scanner.expect(")")
    return value


def _read_tiles(scanner: Scanner) -> tuple[tuple[int, ...], ...]:
    tiles = []
    while scanner.at("("):
        tiles.append(scanner.items("(", ")", lambda: _read_tile_size(scanner)))
    return tuple(tiles)


def _read_tile_size(scanner: Scanner) -> int:
    if scanner.accept("*"):
        return -1
    return scanner.integer("a tile size or '*'")


def _read_level_types(scanner: Scanner) -> tuple[str, ...]:
    def read() -> str:
        found = scanner.take(_LEVEL_TYPE)
        if found is None:
            scanner.expected("one of the dimension level types D, C, S and H")
        return found[1]

    return scanner.items("(", ")", read)


def _read_integer_type(scanner: Scanner) -> str:
    scanner.expect("(")
    word = scanner.word("an integer type")
    if word not in TYPES or not TYPES[word].is_integer:
        scanner.unknown("integer type", word, [name for name, known in TYPES.items() if known.is_integer])
    scanner.expect(")")
    return word


def _read_split_configs(scanner: Scanner) -> tuple[tuple[int, tuple[int, ...]], ...]:
    configs = []
    while scanner.accept("("):
        dimension = scanner.integer()
        configs.append((dimension, scanner.items(":", ")", scanner.integer)))
    return tuple(configs)


def _read_physical_shape(scanner: Scanner) -> Shape:
    scanner.expect("(")
    shape = read_shape(scanner)
    scanner.expect(")")
    return shape


_PROPERTIES = {
    "D": ("dim_level_types", _read_level_types),
    "T": ("tiles", _read_tiles),
    "L": ("tail_padding", _read_number),
    "#": ("index_type", _read_integer_type),
    "*": ("pointer_type", _read_integer_type),
    "E": ("element_size_bits", _read_number),
    "S": ("memory_space", _read_number),
    "SC": ("split_configs", _read_split_configs),
    "P": ("physical_shape", _read_physical_shape),
    "M": ("metadata_prefix_bytes", _read_number),
}
