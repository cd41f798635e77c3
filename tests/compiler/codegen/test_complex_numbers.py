"""Complex numbers as pairs of values, with the arithmetic that formulas are written in."""

import ctypes
import itertools

import pytest

from compiler.codegen import llvm
from compiler.codegen.complex_numbers import Complex, add, component, component_type, pair, put_together, taken_apart
from compiler.codegen.llvm_ir import Builder, Module, Value

NUMBERS = [0j, 1 + 0j, -2j, 3 - 4j, -0.5 + 0.25j]


def computed(emit):
    """What a formula of two numbers gives."""
    module = Module()
    builder = Builder(module.function("f", "void", [("ptr", "at")]))
    cells = [builder.gep("double", Value("ptr", "%at"), Value("i64", str(number))) for number in range(4)]
    given = [builder.load("double", cell) for cell in cells]
    found = emit(builder, pair(builder, *given[:2]), pair(builder, *given[2:]))
    for number in (0, 1):
        builder.store(component(builder, found, number), cells[number])
    builder.ret()
    target = llvm.Target.host()
    library = llvm.Library(llvm.parse(str(module), target, 0), ("f",), target, 0)
    function = library.function("f", None, ctypes.c_void_p)

    def call(a, b):
        cells = (ctypes.c_double * 4)(a.real, a.imag, b.real, b.imag)
        function(ctypes.addressof(cells))
        return complex(*cells[:2]) if library else 0

    return call


FORMULAS = {
    "sum": (lambda a, b: a + b, lambda a, b: a + b),
    "difference": (lambda a, b: a - b, lambda a, b: a - b),
    "product": (lambda a, b: a * b, lambda a, b: a * b),
    "negative": (lambda a, _: -a, lambda a, _: -a),
    "with i": (lambda a, _: a.turned(), lambda a, _: a * 1j),
    "with -i": (lambda a, _: a.turned_back(), lambda a, _: a * -1j),
    "scaled": (lambda a, b: a.scaled(b.re), lambda a, b: complex(a.real * b.real, a.imag * b.real)),
    "real": (lambda a, _: a.real(2.5), lambda *_: 2.5 + 0j),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_pythons(name):
    formula, expected = FORMULAS[name]
    call = computed(lambda builder, *two: formula(*(Complex.of(builder, one) for one in two)).value)
    for a, b in itertools.product(NUMBERS, NUMBERS):
        assert call(a, b) == expected(a, b), (a, b)


def test_a_number_times_its_conjugate_has_no_imaginary_part():
    call = computed(lambda builder, a, b: (Complex.of(builder, a) * Complex.of(builder, b)).value)
    assert all(call(z, z.conjugate()).imag == 0 for z in [0.1 + 0.3j, 1e-8 + 7j, 1 / 3 + 2j / 3])


def test_quotients_are_close_and_do_not_overflow():
    call = computed(lambda builder, a, b: (Complex.of(builder, a) / Complex.of(builder, b)).value)
    for a, b in itertools.product(NUMBERS, NUMBERS[1:]):
        assert call(a, b) == pytest.approx(a / b, rel=1e-14, abs=1e-300)


def test_values_are_taken_apart_and_put_together():
    builder = Builder(Module().function("f", "void", []))
    scalar, both = Value("double", "1.0"), pair(builder, Value("float", "2.0"), Value("float", "3.0"))
    parts = taken_apart(builder, [scalar, both, scalar])
    assert [one.type for one in parts] == ["double", "float", "float", "double"]
    types = [one.type for one in (scalar, both, scalar)]
    assert [one.type for one in put_together(builder, parts, types)] == types
    assert component_type(both.type) == "float"
    assert put_together(builder, [], []) == taken_apart(builder, []) == []


def test_sums_of_values_are_sums_of_parts():
    assert computed(lambda builder, a, b: add(builder, a, b, ""))(1 + 2j, 3 - 5j) == 4 - 3j
