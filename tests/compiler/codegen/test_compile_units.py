"""Units of a module: what goes into one, that together they are the module, and that LLVM takes each of them."""

import ctypes
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import compiler
from compiler.codegen import compile_units, llvm, routines
from compiler.codegen.llvm_ir import Builder, Module, Value, integer, keep_rolled

TARGET = llvm.Target.host()
POINTER = ("ptr", "p")


def add_loop(module, name, *, vectors, trip_count=1000, value="1", attributes="noinline nounwind"):
    """A function that writes a value to every element of an array."""
    function = module.function(name, "void", [POINTER], linkage="internal", attributes=attributes)
    build = Builder(function)
    with build.loop(integer(0), integer(trip_count), step=4 if vectors else 1) as loop:
        element = Value("i32", value)
        stored = build.broadcast(element, 4) if vectors else element
        build.store(stored, build.gep("i32", function.arguments[0], loop.index), align=4)
    build.ret()
    return function


def add_caller(module, *callees, name="program"):
    function = module.function(name, "void", [POINTER])
    build = Builder(function)
    for callee in callees:
        build.call(f"@{callee.name}", "void", function.arguments)
    build.ret()
    return function


def names(unit):
    return [function.name for function in unit.functions]


def run(module, count=1000):
    sources = [
        llvm.Source(unit.text, unit.has_loops, unit.cold, bool(unit.routine)) for unit in compile_units.cut(module)
    ]
    library = llvm.Library(llvm.compile_all(sources, TARGET, 2, threads=2), ["program"], TARGET, 2)
    array = (ctypes.c_int32 * count)()
    library.function("program", None, ctypes.c_void_p)(ctypes.addressof(array))
    return list(array)


def test_only_loops_without_vectors_are_left_to_llvm():
    module = Module()
    scalar, vector = add_loop(module, "scalar", vectors=False), add_loop(module, "vector", vectors=True)
    caller = add_caller(module, scalar, vector)
    assert (scalar.scalar_loops, vector.scalar_loops, caller.scalar_loops) == (1, 0, 0)
    assert {unit.has_loops: names(unit) for unit in compile_units.cut(module)} == {
        True: ["scalar"],
        False: ["vector", "program"],
    }


@pytest.mark.skipif(not TARGET.triple.startswith("x86_64"), reason="what fast selection gives up on is x86's")
def test_only_code_that_no_pass_transforms_is_told_of_short_divisions():
    module = Module()
    functions = [add_loop(module, "scalar", vectors=False), add_loop(module, "vector", vectors=True)]
    cold = add_loop(module, "cold", vectors=True, value="2")
    cold.cold = True
    for function in (*functions, cold):
        function.lines.insert(1, "  %q = udiv i64 3, 2 ; 32 bits do")
    texts = {names(unit)[0]: unit.text for unit in compile_units.cut(module)}
    assert {name: "udiv i32" in text for name, text in texts.items()} == {
        "scalar": False,
        "vector": True,
        "cold": False,
    }


def test_cold_code_calls_others_by_their_names():
    module = Module()
    loop = add_loop(module, "loop", vectors=True)
    add_caller(module, loop).cold = True
    (cold,) = (unit for unit in compile_units.cut(module) if unit.cold)
    for level in (0, 3):
        code = llvm.assembly_text(llvm.Source(cold.text, has_loops=False, cold=True), TARGET, level)
        assert re.search(r"call\w*\s+loop", code), "an address in a register is what fast selection cannot do"
    assert run(module) == [1] * 1000


def test_cold_code_is_translated_quickly_and_by_itself():
    module = Module()
    kept = add_loop(module, "kept", vectors=False, attributes="noinline optnone nounwind")
    loop, vector = add_loop(module, "loop", vectors=False), add_loop(module, "vector", vectors=True)
    add_caller(module, kept, loop, vector).cold = True
    assert {(unit.has_loops, unit.cold): names(unit) for unit in compile_units.cut(module)} == {
        (True, False): ["loop"],
        (False, False): ["vector"],
        (False, True): ["kept", "program"],
    }
    (unit,) = compile_units.cut(module, optimise=False)
    assert unit.cold
    assert sorted(names(unit)) == ["kept", "loop", "program", "vector"]
    cold = llvm.Source("", has_loops=False, cold=True)
    assert (cold.level(3), llvm.Source("", has_loops=False).level(3)) == (0, 3)
    assert run(module) == [1] * 1000


def test_a_routine_is_compiled_once_a_process(monkeypatch):
    texts = []
    for others in range(2):
        module = Module()
        for number in range(others):
            add_loop(module, f"other{number}", vectors=False, trip_count=8)
        routine = add_loop(module, "routine", vectors=False)
        routine.routine = "alike"
        add_caller(module, routine)
        texts += [unit.text for unit in compile_units.cut(module) if unit.routine]
        assert run(module) == [1] * 1000
    assert texts[0] == texts[1]
    monkeypatch.setattr(routines, "_COMPILED", {})
    source = llvm.Source(texts[0], has_loops=True, is_routine=True)
    first, again = (llvm.compile_all([source], TARGET, 2, threads=1)[0] for _ in range(2))
    assert first is again
    assert llvm.compile_all([source], TARGET, 1, threads=1)[0] is not first


def test_a_nest_counts_once_and_a_loop_written_by_hand_too():
    module = Module()
    function = module.function("nest", "void", [POINTER])
    build = Builder(function)
    with build.loop(integer(0), integer(100)), build.loop(integer(0), integer(100)) as inner:
        build.store(inner.index, function.arguments[0])
    assert function.scalar_loops == 1
    again, done = build.new_label("again"), build.new_label("done")
    build.branch(again)
    build.begin(again)
    build.branch_if(build.compare("eq", build.load("i64", function.arguments[0]), integer(7)), done, again)
    build.begin(done)
    assert function.scalar_loops == 2


def test_a_loop_that_calls_something_for_its_effects_is_none_to_vectorise():
    function = Module().function("nest", "void", [POINTER])
    build = Builder(function)
    with build.loop(integer(0), integer(100)) as loop:
        build.copy_bytes(function.arguments[0], build.gep("i8", function.arguments[0], loop.index), integer(4))
    assert function.scalar_loops == 0


def test_parts_fill_up_and_call_one_another():
    module = Module()
    loops = [
        add_loop(module, f"loop{n}", vectors=n % 2 == 0, trip_count=100 * n, value=str(n)) for n in range(9, 0, -1)
    ]
    add_caller(module, *loops)
    cut = compile_units.cut(module)
    assert len(cut) > 2
    assert sorted(name for unit in cut for name in names(unit)) == sorted(f.name for f in module.functions)
    assert [unit.cost for unit in cut] == sorted((unit.cost for unit in cut), reverse=True)
    assert run(module) == [n for n in range(1, 10) for _ in range(100)] + [0] * 100


def test_equal_functions_are_compiled_once():
    module = Module()
    callers, same = [], [add_loop(module, f"same{n}", vectors=False) for n in range(3)]
    for number, callee in enumerate(same):
        callers.append(add_caller(module, callee, name=f"caller{number}"))
        callers[-1].attributes = "noinline nounwind"
    other = add_loop(module, "other", vectors=False, value="2")
    add_caller(module, other, *callers)
    cut = compile_units.cut(module)
    assert sorted(name for unit in cut for name in names(unit)) == ["caller0", "other", "program", "same0"]
    aliases = sorted(line for unit in cut for line in unit.text.splitlines() if " alias " in line)
    assert aliases == [
        f"@{kind}{number} = alias void (ptr), ptr @{kind}0" for kind in ("caller", "same") for number in (1, 2)
    ]
    assert run(module) == [1] * 1000


@pytest.mark.parametrize("metadata", ["", "unroll"])
def test_functions_with_other_metadata_are_not_equal(metadata):
    module = Module()
    for number in range(2):
        function = module.function(f"f{number}", "void", [POINTER])
        build = Builder(function)
        chosen = keep_rolled(module, scalar=bool(number and metadata))
        with build.loop(integer(0), integer(100), metadata=chosen) as loop:
            build.store(loop.index, function.arguments[0])
        build.ret()
    assert sum(len(unit.functions) for unit in compile_units.cut(module)) == (2 if metadata else 1)


def test_what_may_be_inlined_goes_with_each_caller():
    module = Module()
    helper = add_loop(module, "helper", vectors=False, attributes="nounwind")
    large = [add_loop(module, f"large{n}", vectors=False, trip_count=100 + n) for n in range(4)]
    for function in large:
        function.lines.insert(-1, f"  call void @{helper.name}(ptr %p)")
    add_caller(module, *large)
    holders = [unit for unit in compile_units.cut(module) if "helper" in names(unit)]
    assert len(holders) > 1
    assert all("define internal void @helper" in unit.text for unit in holders)
    assert run(module) == [1] * 1000


@pytest.mark.parametrize(("length", "definitions"), [(4, 2), (10_000, 1)])
def test_large_constants_are_defined_once(length, definitions):
    module = Module()
    data = "\\07" * length
    table = module.define_global("table", f'internal constant [{length} x i8] c"{data}", align 64')
    readers = [add_loop(module, f"reader{vectors}", vectors=vectors, trip_count=8) for vectors in (False, True)]
    for function in readers:
        function.lines.insert(-1, f"  %read{function.scalar_loops} = load i8, ptr {table.name}")
        function.lines.insert(-1, f"  store i8 %read{function.scalar_loops}, ptr %p")
    add_caller(module, *readers)
    texts = [unit.text for unit in compile_units.cut(module)]
    assert sum(f"constant [{length} x i8]" in text for text in texts) == definitions
    assert run(module, 8)[:2] == [7, 1]


def test_a_state_is_shared():
    module = Module()
    state = module.define_global("state", "internal global i32 5")
    writers = [add_loop(module, f"writer{vectors}", vectors=vectors, trip_count=8) for vectors in (False, True)]
    for number, function in enumerate(writers):
        function.lines[-1:] = [
            f"  %old = load i32, ptr {state.name}",
            f"  %new = add i32 %old, {number + 1}",
            f"  store i32 %new, ptr {state.name}",
            "  store i32 %new, ptr %p",
            "  ret void",
        ]
    add_caller(module, *writers)
    assert run(module, 8) == [8, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_compiles_and_can_be_looked_at(level):
    module = Module()
    add_caller(module, add_loop(module, "scalar", vectors=False))
    unit = compile_units.whole(module)
    source = llvm.Source(unit.text, unit.has_loops)
    assert (" x i32> " in llvm.optimised_text(source, TARGET, level)) == (level >= 2)
    assert "program" in llvm.assembly_text(source, TARGET, level)
    [code] = llvm.compile_all([source], TARGET, level, threads=2)
    assert code[:4] == b"\x7fELF"


def test_an_error_in_the_code_is_llvms_own_message():
    with pytest.raises(RuntimeError, match="expected"):
        llvm.compile_all([llvm.Source("nonsense", has_loops=False)] * 2, TARGET, 2, threads=2)


@pytest.mark.slow
def test_threads_compile_at_once():
    def compile_and_run(number):
        module = Module()
        loops = [add_loop(module, f"loop{n}", vectors=bool(n % 2), value=str(number)) for n in range(6)]
        for at, function in enumerate(loops):
            function.lines.insert(-1, f"  %unlike = add i32 {at}, 0")
        add_caller(module, *loops)
        return run(module)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(compile_and_run, range(24))) == [[number] * 1000 for number in range(24)]


@pytest.mark.parametrize("opt", [0, 1])
def test_every_kernel_can_be_found_whatever_the_level(opt):
    text = (
        "ENTRY main { x = f32[4,5] parameter(0) s = f32[4,5] sine(x) ROOT d = f32[5,4] transpose(s), dimensions={1,0} }"
    )
    options = compiler.CompileOptions(opt=opt, fusion=False)
    value = np.arange(20, dtype=np.float32).reshape(4, 5)
    (result,) = compiler.compile(text, options=options)(value)
    np.testing.assert_allclose(result, np.sin(value).T, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_every_constant_that_kernels_share_can_be_seen_from_other_parts():
    # Two loops look one table up, and what is between them fills a unit.
    between = "\n".join(f" c{k} = f32[300,{k + 2}] tanh(q{k})" for k in range(12))
    given = "\n".join(f" q{k} = f32[300,{k + 2}] parameter({k + 2})" for k in range(12))
    text = f"""ENTRY e {{ p = f16[300000] parameter(0) r = f16[300001] parameter(1)
{given} z = f16[] constant(2)
      b = f16[300000] broadcast(z), dimensions={{}} d = f16[300001] broadcast(z), dimensions={{}}
      x = f16[300000] atan2(p, b)
{between}
      y = f16[300001] atan2(r, d)
      ROOT t = (f16[300000], {", ".join(f"f32[300,{k + 2}]" for k in range(12))}, f16[300001])
        tuple(x, {", ".join(f"c{k}" for k in range(12))}, y) }}"""
    module = compiler.parse(text)
    executable = compiler.compile(module, options=compiler.CompileOptions(threads=1))
    assert len(executable.image.objects) > 2
    given = compiler.inputs.draw(module, 0)
    for expected, result in zip(compiler.interpret(module, *given)[::13], executable(*given)[::13], strict=True):
        np.testing.assert_array_equal(expected.view(np.uint16), result.view(np.uint16))
