"""Programs of any size, each with what one constant of the compiler decides about, and hardly anything else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import compiler

SUITES = Path(compiler.__file__).parents[1] / "suites"
_OPS = ("add", "multiply", "subtract", "maximum")


def entry(lines: Iterable[str], root: str, before: str = "") -> str:
    """A program of these lines, the last of which is `ROOT root`."""
    body = "\n  ".join([*lines, f"ROOT {root}"])
    return f"{before}\nENTRY main {{\n  {body}\n}}\n"


def chain(first: str, shape: str, count: int, name: str = "c") -> list[str]:
    """So many instructions of arithmetic, each of the last two; the last is called `name` and their number."""
    names = [first, first]
    lines = []
    for number in range(1, count + 1):
        lines.append(f"{name}{number} = {shape} {_OPS[number % len(_OPS)]}({names[-1]}, {names[-2]})")
        names.append(f"{name}{number}")
    return lines


def loop(body: Iterable[str], shape: str, result: str, iterations: int) -> str:
    """A loop over one array `x`, whose next value is `result`."""
    state = f"(s32[], {shape})"
    condition = (
        f"condition {{\n  s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        f"  n = s32[] constant({iterations})\n  ROOT less = pred[] compare(i, n), direction=LT\n}}"
    )
    lines = "\n  ".join(body)
    step = (
        f"body {{\n  s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        f"  one = s32[] constant(1)\n  next = s32[] add(i, one)\n  x = {shape} get-tuple-element(s), index=1\n"
        f"  {lines}\n  ROOT out = {state} tuple(next, {result})\n}}"
    )
    lines_of_entry = [f"x = {shape} parameter(0)", "zero = s32[] constant(0)", f"s = {state} tuple(zero, x)"]
    lines_of_entry.append(f"w = {state} while(s), condition=condition, body=body")
    return entry(lines_of_entry, f"y = {shape} get-tuple-element(w), index=1", f"{condition}\n{step}")


def concatenation(operands: int) -> str:
    """A square of a concatenation of so many arrays."""
    each = 65536 // operands
    lines = [f"p{n} = f32[{each}] parameter({n})" for n in range(operands)]
    whole = f"f32[{each * operands}]"
    names = ", ".join(f"p{n}" for n in range(operands))
    return entry([*lines, f"c = {whole} concatenate({names}), dimensions={{0}}"], f"y = {whole} multiply(c, c)")


def iterated_elements(instructions: int, elements: int = 256, iterations: int = 1000) -> str:
    """A loop over elements, with a body of so many instructions."""
    shape = f"f32[{elements}]"
    return loop(chain("x", shape, instructions), shape, f"c{instructions}", iterations)


def called_in_loop(instructions: int) -> str:
    """A loop whose body is a kernel of so many instructions, over few elements that exchange places."""
    body = ["r = f32[8] reverse(x), dimensions={0}", *chain("r", "f32[8]", instructions)]
    return loop(body, "f32[8]", f"c{instructions}", 1000)


def reversed_users(users: int) -> str:
    """So many kernels that read an array backwards."""
    row = "f32[256,256]"
    lines = [f"v = {row} parameter(0)", f"r = {row} reverse(v), dimensions={{0,1}}"]
    shapes = [f"f32[{2 + n},256,256]" for n in range(users)]
    for n, shape in enumerate(shapes):
        lines += [f"b{n} = {shape} broadcast(r), dimensions={{1,2}}", f"y{n} = {shape} multiply(b{n}, b{n})"]
    return entry(lines, f"out = ({', '.join(shapes)}) tuple({', '.join(f'y{n}' for n in range(users))})")


def arithmetic(instructions: int) -> str:
    """One chain of arithmetic."""
    shape = "f32[4096]"
    lines = [f"x = {shape} parameter(0)", *chain("x", shape, instructions)]
    return entry(lines, f"y = {shape} negate(c{instructions})")


def padded(instructions: int) -> str:
    """So many instructions of arithmetic on padded exponentials."""
    lines = ["x = f32[256,256] parameter(0)", "z = f32[] constant(1)", "e = f32[256,256] exponential(x)"]
    lines += ["p = f32[258,258] pad(e, z), padding=1_1x1_1", *chain("p", "f32[258,258]", instructions)]
    return entry(lines, f"y = f32[258,258] negate(c{instructions})")


_SUM = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}"
_MAX = "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] maximum(a, b)\n}"
_SCATTER = (
    "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1, to_apply=add"
)


def scattered(instructions: int) -> str:
    """Updates added up in an array, each computed by so many instructions."""
    lines = ["x = f32[1024] parameter(0)", "i = s32[16384,1] parameter(1)", "u = f32[16384] parameter(2)"]
    lines += chain("u", "f32[16384]", instructions)
    return entry(lines, f"y = f32[1024] scatter(x, i, c{instructions}), {_SCATTER}", _SUM)


def updates(count: int) -> str:
    """So many updates of an array of a quarter of their number."""
    lines = [
        f"x = f32[{count // 4}] parameter(0)",
        f"i = s32[{count},1] parameter(1)",
        f"u = f32[{count}] parameter(2)",
    ]
    return entry(lines, f"y = f32[{count // 4}] scatter(x, i, u), {_SCATTER}", _SUM)


def results(each: int) -> str:
    """Thirty-two results of one array, each of so many instructions of its own."""
    shape = "f32[65536]"
    lines = [f"x = {shape} parameter(0)"]
    for n in range(32):
        lines += [f"k{n} = f32[] constant({n}.5)", f"b{n} = {shape} broadcast(k{n}), dimensions={{}}"]
        lines += [f"f{n} = {shape} multiply(x, b{n})", *chain(f"f{n}", shape, each, f"d{n}_")]
    names = ", ".join(f"d{n}_{each}" for n in range(32))
    return entry(lines, f"out = ({', '.join([shape] * 32)}) tuple({names})")


def convolution(features: int, positions: int = 14) -> str:
    """A convolution of 3 x 3 with as many features going in as coming out."""
    image = f"f32[1,{positions},{positions},{features}]"
    lines = [f"x = {image} parameter(0)", f"w = f32[3,3,{features},{features}] parameter(1)"]
    return entry(lines, f"y = {image} convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f")


def product(rows: int, depth: int, columns: int, *, by_rows: bool = False) -> str:
    """A matrix product; `by_rows` if the right factor is transposed."""
    right = f"{columns},{depth}" if by_rows else f"{depth},{columns}"
    lines = [f"x = f32[{rows},{depth}] parameter(0)", f"w = f32[{right}] parameter(1)"]
    attributes = f"lhs_contracting_dims={{1}}, rhs_contracting_dims={{{int(by_rows)}}}"
    return entry(lines, f"y = f32[{rows},{columns}] dot(x, w), {attributes}")


def total(elements: int) -> str:
    """The sum of so many elements."""
    lines = [f"x = f32[{elements}] parameter(0)", "z = f32[] constant(0)"]
    return entry(lines, "y = f32[] reduce(x, z), dimensions={0}, to_apply=add", _SUM)


def column_sums(columns: int) -> str:
    """The sums of so many columns."""
    lines = [f"x = f32[256,{columns}] parameter(0)", "z = f32[] constant(0)"]
    return entry(lines, f"y = f32[{columns}] reduce(x, z), dimensions={{0}}, to_apply=add", _SUM)


def softmax(rows: int) -> str:
    """Softmax of rows of 64."""
    whole, row = f"f32[{rows},64]", f"f32[{rows}]"
    lines = [f"x = {whole} parameter(0)", "z = f32[] constant(0)", "least = f32[] constant(-inf)"]
    lines += [f"m = {row} reduce(x, least), dimensions={{1}}, to_apply=max"]
    lines += [f"mb = {whole} broadcast(m), dimensions={{0}}", f"d = {whole} subtract(x, mb)"]
    lines += [f"e = {whole} exponential(d)", f"s = {row} reduce(e, z), dimensions={{1}}, to_apply=add"]
    lines += [f"sb = {whole} broadcast(s), dimensions={{0}}"]
    return entry(lines, f"y = {whole} divide(e, sb)", f"{_SUM}\n{_MAX}")


def recurrent(rows: int, steps: int = 32) -> str:
    """A loop that multiplies so many rows at a time of an array by a matrix, and keeps their sum."""
    state = f"(s32[], f32[{rows},128], f32[{steps},{rows},128], f32[128,128])"
    read = [
        f"s = {state} parameter(0)",
        "i = s32[] get-tuple-element(s), index=0",
        f"a = f32[{rows},128] get-tuple-element(s), index=1",
        f"x = f32[{steps},{rows},128] get-tuple-element(s), index=2",
        "w = f32[128,128] get-tuple-element(s), index=3",
    ]
    body = [
        *read,
        "z = s32[] constant(0)",
        f"t = f32[1,{rows},128] dynamic-slice(x, i, z, z), dynamic_slice_sizes={{1,{rows},128}}",
        f"r = f32[{rows},128] reshape(t)",
        f"d = f32[{rows},128] dot(r, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
        f"sum = f32[{rows},128] add(a, d)",
        f"tanh = f32[{rows},128] tanh(sum)",
        "one = s32[] constant(1)",
        "next = s32[] add(i, one)",
        f"ROOT out = {state} tuple(next, tanh, x, w)",
    ]
    condition = [*read, f"n = s32[] constant({steps})", "ROOT less = pred[] compare(i, n), direction=LT"]
    functions = "\n".join(
        f"{name} {{\n  " + "\n  ".join(lines) + "\n}" for name, lines in (("condition", condition), ("body", body))
    )
    lines = [
        f"x = f32[{steps},{rows},128] parameter(0)",
        "w = f32[128,128] parameter(1)",
        f"a = f32[{rows},128] parameter(2)",
        "zero = s32[] constant(0)",
        f"s = {state} tuple(zero, a, x, w)",
        f"l = {state} while(s), condition=condition, body=body",
    ]
    return entry(lines, f"y = f32[{rows},128] get-tuple-element(l), index=1", functions)


def few_iterations(iterations: int) -> str:
    """A loop of so many iterations over elements of a large array."""
    body = ["k = f32[] constant(0.5)", "b = f32[65536] broadcast(k), dimensions={}", "m = f32[65536] multiply(x, b)"]
    return loop(body, "f32[65536]", "m", iterations)


def of_corpus(name: str) -> str:
    """A program of the suite `corpus`."""
    return (SUITES / "corpus" / f"{name}.hlo").read_text(encoding="utf-8")


def eigenvalues(size: int) -> str:
    """The eigenvalues and eigenvectors of a symmetric matrix, as JAX asks LAPACK for them."""
    square = f"f32[{size},{size}]"
    call = f'c = ({square}, f32[{size}], s32[]) custom-call(x), custom_call_target="lapack_ssyevd_ffi"'
    call += ", backend_config={mode = 86 : ui8, uplo = 76 : ui8}"
    return entry([f"x = {square} parameter(0)", call], f"y = {square} get-tuple-element(c), index=0")
