"""What an opcode is, as facts that any pass, back end or tool may ask for: they stand in the opcode's record, once.

A trait says what is true of the language's op, on any machine.  What is true of *our* code for it, or of one machine,
as what it costs or which rule has a form on vectors, belongs to that code: as a table there, or as a narrowing of a
trait (`compiler.ops.narrowing`) that says why it holds for some of the opcodes only.
"""

from __future__ import annotations

import enum


class Trait(enum.Flag):
    """One fact about an opcode, or several together."""

    ELEMENTWISE = enum.auto()
    """Element i of the result depends on element i of each operand alone."""
    MOVES = enum.auto()
    """Each element of the result is an element of the first operand, or its bits; which one is a matter of indices."""
    GENERATES = enum.auto()
    """Each element of the result follows from its index alone; no array is read."""
    SELECTS = enum.auto()
    """Each element is one of several candidates; which one is found out for each."""
    VIEW = enum.auto()
    """The same elements in the same order: the result may lie in the memory of the operand."""
    IDENTITY = enum.auto()
    """The result is the first operand as it is: `f(x) = x`, or `f(x, y) = x`."""
    PARTIAL = enum.auto()
    """No more elements of the first operand are read than the result has."""
    INDEXED = enum.auto()
    """Where elements come from, or go, is said by the values of operands."""
    PRODUCT = enum.auto()
    """Sums of products, so many that kernels are built around them."""
    ALGORITHM = enum.auto()
    """Each element takes many steps that wait for one another, which implementations arrange as they like."""
    ACCUMULATES = enum.auto()
    """Elements are sums, or the like, of many terms, whose order the language leaves open."""
    ORDERS = enum.auto()
    """Elements go where their values say, compared with one another."""
    COMBINES = enum.auto()
    """A computation makes one value of two, over and over, in an order that the language leaves open."""

    EXACT = enum.auto()
    """No real number is rounded: each is an operand's, or one that the type has; computations that are called aside."""
    APPROXIMATE = enum.auto()
    """A function of real numbers that is right to a few units in the last place, not to the bit."""
    IEEE = enum.auto()
    """One of the basic operations of IEEE 754: its result is rounded once, correctly."""
    AMPLIFIES = enum.auto()
    """Roundings of operands, or on the way, may come out larger by any factor: what is computed is ill conditioned."""
    SIGNED_ZEROS = enum.auto()
    """Of real numbers zeros have one sign, which those of the operands give them: of elementwise ones."""
    EXPENSIVE = enum.auto()
    """An element takes many times what an addition takes, so it is not computed more often than needed."""

    COMMUTATIVE = enum.auto()
    """`f(x, y) = f(y, x)`."""
    ASSOCIATIVE = enum.auto()
    """`f(f(x, y), z) = f(x, f(y, z))`; of floats but for rounding."""
    IDEMPOTENT = enum.auto()
    """`f(x, x) = x`."""
    ODD = enum.auto()
    """`f(-x) = -f(x)`."""
    EVEN = enum.auto()
    """`f(-x) = f(x)`."""

    STRUCTURAL = enum.auto()
    """Nothing is computed: values are named, held together or taken apart."""
    TUPLES = enum.auto()
    """Values are held together, or taken apart: of the structural ones those whose value is made of others."""
    CONTROL = enum.auto()
    """Other computations are run, as often as values say: control flow."""
    CALLS = enum.auto()
    """One computation is run, once, on the operands."""
    ASYNC = enum.auto()
    """One of the parts that another op is cut into, so that other work can be done in between."""
    COLLECTIVE = enum.auto()
    """Devices exchange values."""
    TOKENS = enum.auto()
    """Takes or gives a token, which says what happens before what."""
    SIDE_EFFECT = enum.auto()
    """Must stay although nothing uses it, and must not be done twice."""
    RANDOM = enum.auto()
    """Two of them on the same operands are not one."""

    STRICT_TYPES = enum.auto()
    """Floats are reinterpreted or handed on as they are: their widths must match exactly, in mixed precision too."""
    STATED_SHAPE = enum.auto()
    """The shape of the result does not follow from operands and attributes, so the text must state it."""


NONE = Trait(0)
"""Nothing is said of an opcode but what its record says otherwise."""
