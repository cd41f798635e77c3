"""Loops over layers: what products read of the stacks that a loop slices, and updates, is what was there in their turn.

Products take slices where they lie, and results lie where operands lay; a loop that multiplies by a layer's weights,
reads what an earlier iteration left in another stack and writes it in the same iteration is where that could go wrong.
"""

import random

import numpy as np
import pytest
from parts import every

import compiler
from compiler import CompileOptions
from xlabench.cases import inputs
from xlabench.judging.judge import judge

SETTINGS = [CompileOptions(threads=2), CompileOptions(threads=1), CompileOptions(threads=2, fusion=False)]
ELEMENTWISE = ("add", "subtract", "maximum")


class Body:
    """The body of a loop, grown line by line; `values` are the matrices that it has."""

    def __init__(self, choices, rows, size, layers):
        self.choices = choices
        self.matrix, self.weights = f"f32[{rows},{size}]", f"f32[{size},{size}]"
        self.stacks = f"f32[{layers},{size},{size}]", f"f32[{layers},{rows},{size}]"
        self.state = f"(s32[], {self.matrix}, {self.stacks[0]}, {self.stacks[1]}, {self.matrix})"
        parts = zip(("i", "h", "w", "k", "c"), ("s32[]", self.matrix, *self.stacks, self.matrix), strict=True)
        self.lines = [f"p = {self.state} parameter(0)"]
        self.lines += [f"{name} = {kind} get-tuple-element(p), index={n}" for n, (name, kind) in enumerate(parts)]
        self.lines += ["z = s32[] constant(0)", "one = s32[] constant(1)"]
        self.lines += [f"off = s32[] constant({choices.randint(-2, 2)})", "j = s32[] add(i, off)"]
        self.values = ["h", "c"]

    def let(self, name, kind, text):
        self.lines.append(f"{name} = {kind} {text}")
        return name

    def sliced(self, name, stack, kind):
        """One layer of a stack, at the counter or near it, perhaps beyond the stack's ends."""
        sizes = kind[4:-1]
        self.let(
            f"{name}s", f"f32[1,{sizes}]", self.at(f"dynamic-slice({stack}, ") + f", dynamic_slice_sizes={{1,{sizes}}}"
        )
        return self.let(name, kind, f"reshape({name}s)")

    def at(self, call):
        return f"{call}{self.choices.choice('ij')}, z, z)"

    def any(self):
        return self.choices.choice(self.values)

    def product(self, name, of):
        side = self.choices.choice((0, 1))
        text = f"dot({of}, m), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{side}}}"
        self.values.append(self.let(name, self.matrix, text))

    def step(self, name):
        if self.choices.random() < 0.5:
            self.product(name, self.any())
        else:
            text = f"{self.choices.choice(ELEMENTWISE)}({self.any()}, {self.any()})"
            self.values.append(self.let(name, self.matrix, text))


def program(seed):
    """A loop over layers as text."""
    choices = random.Random(seed)
    rows, size, layers = choices.choice([1, 2, 5, 16, 33]), choices.choice([3, 8, 17, 48, 96]), choices.randint(1, 5)
    body = Body(choices, rows, size, layers)
    body.sliced("m", "w", body.weights)
    body.values.append(body.sliced("before", "k", body.matrix))
    for number in range(choices.randint(2, 6)):
        body.step(f"v{number}")
    body.let("wide", f"f32[1,{rows},{size}]", f"reshape({body.any()})")
    body.let("updated", body.stacks[1], body.at("dynamic-update-slice(k, wide, "))
    if choices.random() < 0.5:
        body.sliced("after", "updated", body.matrix)
        body.product("late", "after")
        body.values.append(body.let("later", body.matrix, f"add({body.any()}, late)"))
    body.let("next", body.matrix, f"tanh({body.any()})")
    body.let("count", "s32[]", "add(i, one)")
    lines = [*body.lines, f"ROOT t = {body.state} tuple(count, next, w, updated, {choices.choice(['next', 'h'])})"]
    results = f"({body.matrix}, {body.stacks[1]}, {body.matrix})"
    return f"""body {{ {" ".join(lines)} }}
    more {{ p = {body.state} parameter(0)  i = s32[] get-tuple-element(p), index=0
      last = s32[] constant({layers + choices.randint(0, 1)})  ROOT r = pred[] compare(i, last), direction=LT }}
    ENTRY main {{ h = {body.matrix} parameter(0)  w = {body.stacks[0]} parameter(1)  k = {body.stacks[1]} parameter(2)
      i = s32[] constant(0)  start = {body.state} tuple(i, h, w, k, h)
      end = {body.state} while(start), condition=more, body=body
      a = {body.matrix} get-tuple-element(end), index=1  b = {body.stacks[1]} get-tuple-element(end), index=3
      c = {body.matrix} get-tuple-element(end), index=4  ROOT all = {results} tuple(a, b, c) }}"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", every(3, range(40)))
def test_a_loop_over_layers_gives_what_the_reference_gives(seed):
    module = compiler.parse(program(seed))
    arrays = inputs.generate(module, seed)
    expected = compiler.interpret(module, *arrays)
    found = [[np.array(r) for r in compiler.compile(module, options=o)(*arrays)] for o in SETTINGS]
    for results in found:
        judgement = judge(module, arrays, expected, results)
        assert judgement.verdict in ("bitwise", "within", "undecided"), judgement.message
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*found[:2], strict=True))
