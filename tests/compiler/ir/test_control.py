"""Every pass leaves control dependencies alone: what one names stays or has a stand-in, and waits as it did.

Each instruction of each program, in turn, waits for another, or is waited for, or both, with nothing else between them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from op_programs import EVALUATED, FORMS, program
from parts import every

import compiler
from compiler import pipeline
from compiler.ir.control import PREDECESSORS, predecessors
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.types import S32
from compiler.ops.build import build, constant
from compiler.pipeline import PASSES, PIPELINES

FILETESTS = Path(__file__).parents[2] / "filetests" / "passes"
OPTIONS = compiler.CompileOptions(verify_each=True)
PROGRAMS = {opcode: program(opcode) for opcode in EVALUATED}
PROGRAMS |= {name: text for name, text in FORMS.items() if "lapack" not in text}  # their loops take minutes
ANEW = {"device-expander", "dynamic-padder"}
"""Passes that write a whole program anew: values alone decide the order of what they write."""
FIRST, LAST = "waited_for", "waiting"


def tied(text: str, ties: Collection[str]) -> Iterator[tuple[str, Module]]:
    """The program once for each of its instructions and each tie."""
    for number, original in enumerate(compiler.parse(text).instructions()):
        for tie in ties if original.opcode != "parameter" else ():
            module = compiler.parse(text)
            instruction = list(module.instructions())[number]
            computation, where = instruction.computation, f"{tie}: {instruction!r}"
            if tie != "is waited for":
                _wait(instruction, _number(computation, FIRST))
            if tie != "waits":
                last = _number(computation, LAST)
                _wait(last, instruction)
                if computation is module.entry:
                    # Nobody needed it otherwise, so that nothing would wait any more.
                    computation.root = build(computation, "tuple", [computation.root, last])
                    module.attributes.pop("entry_computation_layout", None)
            computation.sort()
            compiler.verify(module, context=where)
            yield where, module


def _number(computation: Computation, name: str) -> Instruction:
    made = constant(computation, scalar_literal(len(name), S32))
    made.name = computation.unique_name(name)
    return made


def _wait(instruction: Instruction, other: Instruction) -> None:
    instruction.attributes[PREDECESSORS] = (other, *predecessors(instruction))


def assert_ordered(computation: Computation, where: str) -> None:
    """What was put last still waits for what was put first."""
    first, last = ({i for i in computation.instructions if i.name == name} for name in (FIRST, LAST))
    reached, pending = set(last), list(last)
    while pending:
        instruction = pending.pop()
        needed = {*instruction.operands, *predecessors(instruction)} - reached
        pending += needed
        reached |= needed
    assert not (first and last) or first <= reached, f"{where}:\n{compiler.to_text(computation.module)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
def test_every_pass_keeps_control_dependencies(name):
    for path in sorted((FILETESTS / name).glob("*.hlo")):
        for where, module in tied(path.read_text(encoding="utf-8"), ("waits", "is waited for", "stands between")):
            PASSES[name](module, Fuel(None, name))
            compiler.verify(module, context=f"{path.name}, {where}")
            for computation in module.computations if name not in ANEW else ():
                assert_ordered(computation, f"{path.name}, {where}")


@pytest.mark.slow
@pytest.mark.parametrize("tie", every(2, ["stands between", "is waited for"]))
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_pipeline_keeps_control_dependencies(name, tie):
    for where, module in tied(PROGRAMS[name], [tie]):
        pipeline.run(module, PIPELINES["compile"], OPTIONS)
        assert_ordered(module.entry, where)
