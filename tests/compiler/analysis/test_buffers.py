"""Buffer assignment, checked by walking the schedule again: nothing that is still needed is ever written over.

The checker plays a program step by step with symbolic contents: each kernel writes names into its bytes, and whoever
reads must find there the names that were written for him.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import compiler
from compiler import CompileOptions
from compiler.analysis import buffers
from compiler.analysis.buffers import Assignment, assign
from compiler.analysis.storage import Buffer, Storage, alignment_of
from compiler.generate import RandomChoices, Space, program
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, leaves
from compiler.pipeline import PIPELINES, run

SPACE = Space(
    frozenset(
        {"add", "sine", "dot", "reduce", "transpose", "pad", "while", "conditional", "call", "tuple", "reshape", "sort"}
    ),
    frozenset({"f32", "s32", "u8"}),
    most_instructions=20,
    empty_percent=2,
)


class Memory:
    """What lies where: for each byte the name of the value that was last written there."""

    def __init__(self) -> None:
        self.written: dict[tuple[Storage | int, int], object] = {}

    def cells(self, buffer: Buffer) -> Iterator[tuple[Storage | int, int]]:
        if buffer.storage is Storage.ARENA:
            yield from ((Storage.ARENA, buffer.offset + byte) for byte in range(buffer.size_bytes))
        elif buffer.storage is Storage.RESULT:
            yield from ((buffer.number, buffer.offset + byte) for byte in range(buffer.size_bytes))
        elif buffer.size_bytes:
            yield buffer.storage, id(buffer)

    def write(self, buffer: Buffer, name: object) -> None:
        for cell in self.cells(buffer):
            self.written[cell] = name

    def read(self, buffer: Buffer, name: object) -> None:
        for cell in self.cells(buffer):
            assert self.written.get(cell) == name, f"{name} was overwritten by {self.written.get(cell)} in {buffer}"


class Player:
    """Plays the schedule; `names` are what the leaves of each instruction are called."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.memory = Memory()
        self.count = 0

    def fresh(self, instruction: Instruction, number: int) -> str:
        self.count += 1
        return f"{instruction.name}{{{number}}}#{self.count}"

    def compute(self, instruction: Instruction) -> list[str]:
        names = []
        for number, buffer in enumerate(self.assignment.of[instruction]):
            names.append(self.fresh(instruction, number))
            self.memory.write(buffer, names[-1])
        return names

    def enter(self, loop: Instruction, given: Instruction, before: Sequence[str]) -> list[str]:
        """The state's names, copied from what is given; what lies there already must still be there."""
        of = self.assignment.of
        names = []
        for number, (buffer, source) in enumerate(zip(of[loop], of[given], strict=True)):
            kept = buffer is source
            names.append(before[number] if kept else self.fresh(loop, number))
            (self.memory.read if kept else self.memory.write)(buffer, names[-1])
        return names

    def read(self, instruction: Instruction, names: Sequence[str]) -> None:
        for buffer, name in zip(self.assignment.of[instruction], names, strict=True):
            self.memory.read(buffer, name)

    def play(self, computation: Computation, arguments: Sequence[Sequence[str]]) -> list[str]:
        names: dict[Instruction, list[str]] = {}
        for instruction in computation.instructions:
            if instruction.opcode == "parameter":
                names[instruction] = list(arguments[instruction.parameter_number])
            elif instruction.opcode in buffers.VIEWS:
                names[instruction] = self._view(instruction, names)
            else:
                names[instruction] = self._run(instruction, names)
        self.read(computation.root, names[computation.root])
        return names[computation.root]

    def _view(self, instruction: Instruction, names: dict[Instruction, list[str]]) -> list[str]:
        parts = [names[operand] for operand in instruction.operands]
        if instruction.opcode == "tuple":
            return [name for part in parts for name in part]
        if instruction.opcode != "get-tuple-element":
            return parts[0]
        of = self.assignment.of
        mine = of[instruction]
        theirs = of[instruction.operands[0]]
        start = next((n for n in range(len(theirs)) if theirs[n : n + len(mine)] == mine), 0)
        return parts[0][start : start + len(mine)]

    def _run(self, instruction: Instruction, names: dict[Instruction, list[str]]) -> list[str]:
        for operand in instruction.operands:
            self.read(operand, names[operand])
        arguments = [names[operand] for operand in instruction.operands]
        if instruction.opcode == "while":
            state = self.enter(instruction, instruction.operands[0], arguments[0])
            condition, body = instruction.attributes["condition"], instruction.attributes["body"]
            for _ in range(2):
                self.play(condition, [state])
                state = self.enter(instruction, body.root, self.play(body, [state]))
            return state
        if instruction.opcode == "conditional":
            for branch, argument in zip(buffers.branches(instruction), arguments[1:], strict=True):
                self.play(branch, [argument])
            return self.compute(instruction)
        return self.compute(instruction)


def assigned(module: Module) -> tuple[Module, Assignment]:
    run(module, PIPELINES["compile"], CompileOptions())
    return module, buffers.assign(module, {})


def any_operand(instruction: Instruction) -> list[tuple[int, Instruction]]:
    """As if every kernel read all before it wrote anything: any result may lie in any operand of its size."""
    arrays = [o for o in dict.fromkeys(instruction.operands) if isinstance(o.shape, ArrayShape)]
    return [
        (number, operand)
        for number, leaf in enumerate(leaves(instruction.shape))
        for operand in arrays
        if operand.shape.size_bytes == leaf.size_bytes
    ]


def reusing(module: Module, *, lend_results: bool = False) -> tuple[Module, Assignment]:
    run(module, PIPELINES["compile"], CompileOptions(fusion=False))
    assignment = buffers.lay_out(module, any_operand)
    buffers.complete(assignment, {}, lend_results=lend_results)
    return module, assignment


def play(module: Module, assignment: Assignment) -> None:
    player = Player(assignment)
    arguments = [player.compute(parameter) for parameter in module.entry.parameters]
    results = player.play(module.entry, arguments)
    player.read(module.entry.root, results)
    assert assignment.arena_bytes >= assignment.lower_bound_bytes


@pytest.mark.parametrize("seed", range(60))
def test_nothing_that_is_needed_is_written_over(seed: int) -> None:
    play(*assigned(program(RandomChoices(seed), SPACE)))


@pytest.mark.parametrize("seed", range(60))
def test_nothing_that_is_needed_is_written_over_by_results_in_place_of_operands(seed: int) -> None:
    play(*reusing(program(RandomChoices(seed), SPACE), lend_results=seed % 2 == 0))


DEAD = {
    "entry": "ENTRY e { x = f32[4] parameter(0) ROOT a = f32[4] sine(x) b = f32[4] cosine(a) }",
    "called": """HloModule m
    f { x = f32[4] parameter(0) ROOT a = f32[4] sine(x) b = f32[4] cosine(a) }
    ENTRY e { x = f32[4] parameter(0) y = f32[4] tanh(x) ROOT r = f32[4] call(y), to_apply=f }""",
}


@pytest.mark.parametrize("text", DEAD.values(), ids=DEAD)
def test_what_nobody_uses_behind_the_root_does_not_write_over_it(text: str) -> None:
    module = compiler.parse(text)
    assignment = buffers.lay_out(module, any_operand)
    buffers.complete(assignment, {})
    play(module, assignment)


CHAIN = """HloModule m
    ENTRY e { x = f32[64,64] parameter(0)
      a = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[64,64] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      c = f32[64,64] dot(b, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      d = f32[64,64] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT r = f32[64,64] dot(d, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""


def test_a_chain_needs_two_buffers() -> None:
    _, assignment = assigned(compiler.parse(CHAIN))
    assert assignment.arena_bytes == assignment.lower_bound_bytes == 2 * 64 * 64 * 4


def test_a_chain_whose_kernels_write_over_operands_needs_no_memory_but_the_result() -> None:
    module, assignment = reusing(compiler.parse(CHAIN))
    products = [i for i in module.entry.instructions if i.opcode == "dot"]
    assert len(products) == 5
    assert {assignment.of[i] for i in products} == {assignment.of[module.entry.root]}
    assert assignment.arena_bytes == 0


def test_what_is_read_later_is_not_written_over() -> None:
    text = CHAIN.replace("dot(d, x)", "dot(d, a)")
    module, assignment = reusing(compiler.parse(text))
    a, *others = (assignment.of[i] for i in module.entry.instructions if i.opcode == "dot")
    assert others[:-1] == [others[0]] * 3
    assert a not in others[:-1]


def test_values_lie_in_the_memory_of_a_result_until_it_is_written() -> None:
    module, assignment = assigned(compiler.parse(CHAIN))
    sizes = {i: 4096 for i in module.entry.instructions if i.opcode == "dot"}
    buffers.complete(assignment, sizes, lend_results=True)
    play(module, assignment)
    inside = [b for b in assignment.buffers if b.storage is Storage.RESULT]
    assert len(inside) > 1
    assert all(b.offset + b.size_bytes <= 64 * 64 * 4 for b in inside)
    assert assignment.arena_bytes < 2 * 64 * 64 * 4 + 4096


def test_the_checker_notices_a_buffer_that_is_used_twice() -> None:
    module, assignment = assigned(compiler.parse(CHAIN))
    for owned in assignment.of.values():
        for buffer in owned:
            buffer.offset = 0
    # A product may not be written where its factor lies... unless it reads first: keep the factor for one step more.
    root = module.entry.root
    first = next(i for i in module.entry.instructions if i.opcode == "dot")
    root.set_operands([root.operands[0], first])
    with pytest.raises(AssertionError, match="overwritten"):
        play(module, assignment)


@pytest.mark.slow
def test_arena_buffers_are_aligned_and_within_the_arena() -> None:
    for seed in range(20):
        _, assignment = assigned(program(RandomChoices(seed), SPACE))
        for buffer in (buffer for owned in assignment.of.values() for buffer in owned):
            if buffer.storage is Storage.ARENA:
                assert buffer.offset % alignment_of(buffer.size_bytes) == 0
                assert buffer.offset + buffer.size_bytes <= assignment.arena_bytes


def test_workspaces_overlap_nothing_that_their_kernel_touches() -> None:
    module = compiler.parse(CHAIN)
    run(module, PIPELINES["compile"], CompileOptions())
    sizes = {i: 4096 for i in module.entry.instructions if i.opcode == "dot"}
    assignment = buffers.assign(module, sizes)
    for instruction, workspace in assignment.workspaces.items():
        for touched in (instruction, *instruction.operands):
            assert not any(workspace.overlaps(buffer) for buffer in assignment.of[touched])


def test_two_callers_of_one_computation_are_refused() -> None:
    module = compiler.parse("""HloModule m
        b { p = f32[] parameter(0)  ROOT r = f32[] add(p, p) }
        ENTRY e { x = f32[] parameter(0)  c = pred[] parameter(1)
          ROOT r = f32[] conditional(c, x, x), true_computation=b, false_computation=b }""")
    with pytest.raises(compiler.UnsupportedError, match="two callers"):
        buffers.check_unique_callers(module)


LOOP = """HloModule m
cond {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT p = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  e = f32[64] exponential(x)
  r = f32[64] reverse(e), dimensions={0}
  t = f32[64] tanh(r)
  ROOT o = (s32[], f32[64]) tuple(j, t)
}
ENTRY e {
  x = f32[64] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[64]) tuple(z, x)
  w = (s32[], f32[64]) while(s), condition=cond, body=body
  ROOT r = f32[64] get-tuple-element(w), index=1
}
"""


def test_what_a_loop_only_reads_stays_where_it_is():
    text = LOOP.replace("f32[64])", "f32[64], f32[64])").replace("tuple(z, x)", "tuple(z, x, x)")
    text = text.replace("  t = f32[64] tanh(r)", "  k = f32[64] get-tuple-element(s), index=2\n  t = f32[64] add(r, k)")
    module = compiler.parse(text.replace("tuple(j, t)", "tuple(j, t, k)"))
    run(module, PIPELINES["compile"], CompileOptions())
    of = assign(module, {}).of
    loop = next(i for i in module.entry.instructions if i.opcode == "while")
    (given,) = of[module.entry.parameters[0]]

    assert [buffer is given for buffer in of[loop]] == [False, False, True]


def test_nothing_in_the_body_lies_where_the_predicate_is():
    module = compiler.parse(LOOP)
    run(module, PIPELINES["compile"], CompileOptions(fusion=False))
    of = assign(module, {}).of
    loop = next(i for i in module.entry.instructions if i.opcode == "while")
    (predicate,) = of[loop.attributes["condition"].root]
    body = [buffer for i in loop.attributes["body"].instructions for buffer in of[i]]

    assert body
    assert not any(buffer.overlaps(predicate) for buffer in body)
