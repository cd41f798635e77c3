"""A routine's copy is what would have been written, wherever it is copied to."""

import itertools

import pytest

from compiler.codegen.compile_units import cut
from compiler.codegen.llvm_ir import I64, Builder, Module, integer, keep_rolled, write_once

NAMES = itertools.count()
"""Names that no other routine has had in this process."""


def written(name, calls=""):
    """What writes a routine with a loop, an intrinsic and metadata, and one that it may call."""

    def write(module):
        if calls:
            write_once(module, calls, written(calls))
        function = module.function(name, I64, [(I64, "n")], linkage="internal", attributes="noinline nounwind")
        function.routine = name
        b, (n,) = Builder(function), function.arguments
        with b.loop(integer(0), n, carried=[integer(0)], name="step", metadata=keep_rolled(module)) as loop:
            loop.carry(b.smax(loop.carried[0], loop.index))
        b.ret(b.call(f"@{calls}", I64, loop.results) if calls else loop.results[0])

    return write


def units_of(name):
    return [unit.text for unit in cut(module_with(name)) if unit.routine]


def module_with(name, others=(), calls=""):
    module = Module()
    for other in others:
        write_once(module, other, written(other))
    write_once(module, name, written(name, calls))
    return module


def test_a_copy_is_compiled_from_the_same_text_wherever_it_stands():
    name, other = (f"routine{next(NAMES)}" for _ in range(2))
    first, again = units_of(name), units_of(name)
    assert first == again != []
    beside = [unit.text for unit in cut(module_with(name, [other])) if unit.routine == name]
    assert beside == first


def test_a_routine_is_written_once_in_a_process():
    name, calls = f"routine{next(NAMES)}", []

    def write(module):
        calls.append(module)
        written(name)(module)

    modules = [Module() for _ in range(3)]
    for module in modules:
        write_once(module, name, write)
    assert len(calls) == 1
    assert all([function.name for function in module.functions] == [name] for module in modules)
    assert all(function.module is module for module in modules for function in module.functions)


@pytest.mark.parametrize("order", [0, 1])
def test_what_a_routine_calls_comes_with_it_and_once(order):
    inner, outer, other = (f"routine{next(NAMES)}" for _ in range(3))
    module = Module()
    for name in (outer, other) if order else (other, outer):
        write_once(module, name, written(name, inner))
    assert sorted(function.name for function in module.functions) == sorted((inner, outer, other))


def test_a_copy_may_be_changed():
    name = f"routine{next(NAMES)}"
    changed, other = module_with(name), module_with(name)
    expected = str(other)
    changed.functions[0].lines.append("unreachable")
    changed.functions[0].cold = True
    assert str(other) == str(module_with(name)) == expected


def test_targets_have_texts_of_their_own():
    name, seen = f"routine{next(NAMES)}", []
    for features in ("avx2", "avx512f", "avx2"):
        module = Module(frozenset({features}))
        write_once(module, name, lambda given: (seen.append(given.features), written(name)(given)))
    assert seen == [frozenset({"avx2"}), frozenset({"avx512f"})]
