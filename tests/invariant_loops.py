"""Programs of loops in which something is the same in every iteration: what it is, and where it stands.

What is computed of such a program is counted: elements that instructions make, or look at, times the iterations of the
loops that they stand in.  A clock would say the same of a quiet machine only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.analysis.work import work
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import TupleShape
from compiler.ops import Trait, having

ITERATIONS, INNER_ITERATIONS = 100, 5
N = 1024
_FREE = having(Trait.STRUCTURAL | Trait.MOVES | Trait.GENERATES) | {"copy"}

_NOTHING = Instruction("tuple", TupleShape(()))
"""A call of it is what an instruction takes however few its elements are, which says nothing of compiled code."""

_APPLIED = """sum { sum_a = f32[] parameter(0)  sum_b = f32[] parameter(1)  ROOT sum_c = f32[] add(sum_a, sum_b) }
less { less_a = f32[] parameter(0)  less_b = f32[] parameter(1)
  ROOT less_c = pred[] compare(less_a, less_b), direction=LT }
"""
_CHAIN = "\n".join(f"  k{i} = f32[N] multiply(k{i - 1}, a)  l{i} = f32[N] abs(k{i})" for i in range(1, 12))

VALUES: dict[str, str] = {
    "nothing": "v = f32[N] copy(a)",
    "function": "v = f32[N] sine(a)",
    "function of a number": "u = f32[1] slice(a), slice={[3:4]}  w = f32[] reshape(u)  e = f32[] exponential(w)"
    "  v = f32[N] broadcast(e), dimensions={}",
    "chain": f"k0 = f32[N] negate(a)\n{_CHAIN}\n  v = f32[N] add(k11, l5)",
    "sum": "z = f32[] constant(0)  q = f32[N] multiply(a, a)"
    "  r = f32[] reduce(q, z), dimensions={0}, to_apply=sum  v = f32[N] broadcast(r), dimensions={}",
    "product": "m = f32[32,32] reshape(a)  d = f32[32,32] dot(m, m), lhs_contracting_dims={0}, rhs_contracting_dims={1}"
    "  v = f32[N] reshape(d)",
    "sort": "v = f32[N] sort(a), dimensions={0}, to_apply=less",
    "running sum": "z = f32[] constant(0)  v = f32[N] reduce-window(a, z), window={size=64 pad=63_0}, to_apply=sum",
    "turned": "h = f32[1000] slice(a), slice={[24:1024]}  t = f32[24] slice(a), slice={[0:24]}"
    "  c = f32[N] concatenate(h, t), dimensions={0}  v = f32[N] tanh(c)",
    "table": "i0 = f32[N] iota(), iota_dimension=0  p = f32[N] cosine(i0)  v = f32[N] multiply(p, a)",
    "sum of numbers": "z = f32[] constant(0)  i0 = f32[N] iota(), iota_dimension=0  q = f32[N] multiply(i0, i0)"
    "  r = f32[] reduce(q, z), dimensions={0}, to_apply=sum  v = f32[N] broadcast(r), dimensions={}",
    "sum of one number": "z = f32[] constant(0)  o = f32[] constant(0.5)  q = f32[32,N] broadcast(o), dimensions={}"
    "  v = f32[N] reduce(q, z), dimensions={0}, to_apply=sum",
}
"""What makes v of a, neither of which changes; "nothing" is what any other value is compared with."""

_HEAD = {"i": "s32[]", "x": "f32[N]", "a": "f32[N]"}


def _loop(
    body: str,
    *,
    condition: str = "",
    ended: str = "",
    before: str = "",
    more: dict[str, tuple[str, str, str]] | None = None,
) -> str:
    """A program of a loop whose body makes y; `more` are pieces of its state: their shapes, first and next values."""
    more = more or {}
    shapes = {**_HEAD, **{name: shape for name, (shape, _, _) in more.items()}}
    state = f"({', '.join(shapes.values())})"
    taken = "\n".join(
        f"  {name} = {shape} get-tuple-element(s), index={number}"
        for number, (name, shape) in enumerate(shapes.items())
    )
    following = ", ".join(["next", "y", "a", *(after for _, _, after in more.values())])
    first = ", ".join(["zero", "x", "a", *(value for _, value, _ in more.values())])
    return f"""{_APPLIED}{before}
body {{ s = {state} parameter(0)
{taken}
  one = s32[] constant(1)  next = s32[] add(i, one)
  {body}
  ROOT n = {state} tuple({following}) }}
condition {{ s = {state} parameter(0)
{taken}
  limit = s32[] constant({ITERATIONS})  less_than = pred[] compare(i, limit), direction=LT
  {condition}
  ROOT on = pred[] and(less_than, {ended or "less_than"}) }}
ENTRY main {{ x = f32[N] parameter(0)  a = f32[N] parameter(1)  flag = pred[] parameter(2)
  zero = s32[] constant(0)  start = {state} tuple({first})
  loop = {state} while(start), condition=condition, body=body
  ROOT out = f32[N] get-tuple-element(loop), index=1 }}"""


def _given(value: str) -> str:
    """A computation that makes the value of its parameter."""
    return f"given {{ a = f32[N] parameter(0)\n {value}\n ROOT made = f32[N] abs(v) }}\n"


_PAIR = "(s32[], f32[N], f32[N])"
_INNER = f"""few {{ s = {_PAIR} parameter(0)  i = s32[] get-tuple-element(s), index=0
  limit = s32[] constant({INNER_ITERATIONS})  ROOT on = pred[] compare(i, limit), direction=LT }}
inner {{ s = {_PAIR} parameter(0)  i = s32[] get-tuple-element(s), index=0
  y = f32[N] get-tuple-element(s), index=1  a = f32[N] get-tuple-element(s), index=2
  one = s32[] constant(1)  next = s32[] add(i, one)
  VALUE  b = f32[N] add(y, v)  ROOT n = {_PAIR} tuple(next, b, a) }}
"""
_SUM = "y = f32[N] add(x, w)"


def _inner(value: str, first: str) -> str:
    start = f"start = {_PAIR} tuple(nought, {first}, a)  loop = {_PAIR} while(start), condition=few, body=inner"
    taken = "w = f32[N] get-tuple-element(loop), index=1"
    return _loop(f"nought = s32[] constant(0)  {start}  {taken}  {_SUM}", before=_INNER.replace("VALUE", value))


def _branches(value: str, predicate: str, more: dict[str, tuple[str, str, str]] | None = None) -> str:
    other = "other { a = f32[N] parameter(0)  ROOT n = f32[N] negate(a) }\n"
    body = f"{predicate}  w = f32[N] conditional(p, a, a), true_computation=given, false_computation=other  {_SUM}"
    return _loop(body, before=_given(value) + other, more=more)


def _unread(value: str) -> str:
    both = "(f32[N], f32[N])"
    given = f"two {{ a = f32[N] parameter(0)\n {value}\n ROOT vs = {both} tuple(v, a) }}\n"
    other = f"other {{ a = f32[N] parameter(0)  ROOT t = {both} tuple(a, a) }}\n"
    body = f"p = pred[] compare(i, one), direction=GT  t = {both} conditional(p, a, a), true_computation=two,"
    return _loop(
        f"{body} false_computation=other  w = f32[N] get-tuple-element(t), index=1  {_SUM}", before=given + other
    )


PLACES: dict[str, Callable[[str], str]] = {
    "body": lambda value: _loop(f"{value}  y = f32[N] add(x, v)"),
    "call": lambda value: _loop(f"w = f32[N] call(a), to_apply=given  {_SUM}", before=_given(value)),
    "call in a call": lambda value: _loop(
        f"w = f32[N] call(a), to_apply=outer  {_SUM}",
        before=_given(value) + "outer { b = f32[N] parameter(0)  ROOT c = f32[N] call(b), to_apply=given }\n",
    ),
    "fusion": lambda value: _loop(f"w = f32[N] fusion(a), kind=kLoop, calls=given  {_SUM}", before=_given(value)),
    "inner loop": lambda value: _inner(value, "x"),
    "the same inner loop": lambda value: _inner(value, "a"),
    "conditional": lambda value: _branches(value, "", {"p": ("pred[]", "flag", "p")}),
    "branch that is taken": lambda value: _branches(value, "p = pred[] constant(true)"),
    "branch that is not": lambda value: _branches(value, "p = pred[] constant(false)"),
    "result that nobody reads": _unread,
    "condition": lambda value: _loop(
        "y = f32[N] negate(x)",
        condition=f"{value}\n f = f32[1] slice(v), slice={{[0:1]}}  g = f32[] reshape(f)  top = f32[] constant(inf)"
        "  ended = pred[] compare(g, top), direction=NE",
        ended="ended",
    ),
    "piece that nobody reads": lambda value: _loop(
        f"{value}  y = f32[N] negate(x)  extra1 = f32[N] multiply(extra, v)", more={"extra": ("f32[N]", "x", "extra1")}
    ),
    "what is summed up and thrown away": lambda value: _loop(
        f"b = f32[N] add(a, extra)  y = f32[N] negate(x)\n {value.replace('(a', '(b').replace(' a)', ' b)')}"
        "  extra1 = f32[N] multiply(extra, v)",
        more={"extra": ("f32[N]", "x", "extra1")},
    ),
}
"""Where the value stands: programs, given what makes it."""


def program(value: str, place: str) -> str:
    """A program that makes that value in that place."""
    return PLACES[place](VALUES[value]).replace("N]", f"{N}]").replace("N,", f"{N},")


def counted(module: Module) -> float:
    """The elements that a program computes, each as often as its loops iterate."""
    known: dict[Computation, float] = {}
    for computation in module.computations:
        known[computation] = math.fsum(_counted(i, known) for i in computation.instructions)
    return known[module.entry]


def _counted(instruction: Instruction, known: dict[Computation, float]) -> float:
    called = [known[callee] for callee in instruction.called_computations()]
    if instruction.opcode == "while":
        return (INNER_ITERATIONS if _is_inner(instruction) else ITERATIONS) * sum(called)
    if instruction.opcode == "conditional":
        return max(called)
    if instruction.opcode in ("call", "fusion"):
        return sum(called)
    return 0.0 if instruction.opcode in _FREE else work(instruction, known) - work(_NOTHING, {})


def _is_inner(loop: Instruction) -> bool:
    """Whether what a condition compares with, itself or in a fusion, is an inner loop's trip count."""
    condition: Computation = loop.attributes["condition"]
    inside = [i for callee in condition.called_computations() for i in callee.instructions]
    known = [i.literal.array for i in (*condition.instructions, *inside) if i.opcode == "constant"]
    return any(array is not None and array.size == 1 and array.reshape(-1)[0] == INNER_ITERATIONS for array in known)
