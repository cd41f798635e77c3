"""Every rule of the verifier is found broken where it is, and only there."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from compiler import verifier
from compiler.diagnostics import VerifyError
from compiler.ir.attributes import EntryLayout
from compiler.ir.devices import IotaDevices, ReplicaGroups, TileSharding
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, Layout, TupleShape
from compiler.ir.types import F32, S32
from compiler.text.parser import parse
from compiler.verifier import findings, verify

_TEXT = """HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e { x = f32[4] parameter(0) z = f32[] constant(0) n = f32[4] negate(x)
  ROOT r = f32[] reduce(n, z), dimensions={0}, to_apply=add }
"""


def _named(module: Module, name: str) -> Instruction:
    return next(instruction for instruction in module.instructions() if instruction.name == name)


def _no_entry(module: Module) -> None:
    module.entry = Computation("elsewhere")


def _same_name(module: Module) -> None:
    _named(module, "n").name = "x"


def _unknown_opcode(module: Module) -> None:
    _named(module, "n").opcode = "frobnicate"


def _missing_operand(module: Module) -> None:
    _named(module, "n").set_operands([])


def _missing_attribute(module: Module) -> None:
    del _named(module, "r").attributes["dimensions"]


def _strange_attribute(module: Module) -> None:
    _named(module, "n").attributes["padding"] = ()


def _wrong_order(module: Module) -> None:
    module.entry.instructions.reverse()


def _other_computation(module: Module) -> None:
    _named(module, "n").set_operands([_named(module, "a")])


def _lost_user(module: Module) -> None:
    _named(module, "x").users.clear()


def _root_elsewhere(module: Module) -> None:
    module.entry.root = _named(module, "s")


def _parameter_gap(module: Module) -> None:
    _named(module, "x").attributes["parameter_number"] = 1


def _wrong_shape(module: Module) -> None:
    _named(module, "n").shape = ArrayShape(S32, (4,))


def _wrong_callee(module: Module) -> None:
    module.computations[0].root.shape = ArrayShape(S32, ())


def _callee_elsewhere(module: Module) -> None:
    module.computations = [module.entry]


def _recursion(module: Module) -> None:
    _named(module, "s").attributes["to_apply"] = module.entry


def _wrong_layout(module: Module) -> None:
    module.attributes["entry_computation_layout"] = EntryLayout((ArrayShape(F32, (5,)),), ArrayShape(F32, ()))


def _doubled_dimension(module: Module) -> None:
    _named(module, "x").shape = ArrayShape(F32, (4,), layout=Layout((0, 0)))


def _absent_replica(module: Module) -> None:
    module.entry.instructions[-1].attributes["replica_groups"] = ReplicaGroups(((0, 1),))


def _too_few_tiles(module: Module) -> None:
    module.entry.instructions[-1].attributes["sharding"] = TileSharding(tiles=(2, 2), devices=IotaDevices((12,)))


def _stands_elsewhere(module: Module) -> None:
    _named(module, "n").parent = module.computations[0]


_BREAKS: list[tuple[str, Callable[[Module], None], str]] = [
    ("V1", _no_entry, "no entry computation"),
    ("V2", _same_name, "two instructions are named x"),
    ("V3", _unknown_opcode, "opcode frobnicate is not known"),
    ("V4", _missing_operand, "negate takes 1 operands, not 0"),
    ("V5", _missing_attribute, "reduce needs the attribute dimensions"),
    ("V5", _strange_attribute, "negate does not take the attribute padding; it takes none of its own"),
    ("V6", _wrong_order, "n, which reduce needs, comes later"),
    ("V6", _other_computation, "a, which negate needs, stands in another computation"),
    ("V7", _lost_user, r"users are recorded as \[\] but are \['n'\]"),
    ("V8", _root_elsewhere, "the root is not an instruction of the computation"),
    ("V9", _parameter_gap, r"must be numbered 0 to 0, not \[1\]"),
    ("V10", _wrong_shape, r"states s32\[4\], but negate gives f32\[4\]"),
    ("V10", _wrong_callee, r"states s32\[\], but add gives f32\[\]"),
    ("V11", _callee_elsewhere, "add, called by reduce, is not in the module"),
    ("V12", _recursion, "calls itself"),
    ("V13", _wrong_layout, r"says f32\[5\] of parameter 0, which is f32\[4\]"),
    ("V14", _doubled_dimension, "does not name each dimension once"),
    ("V15", _stands_elsewhere, "n says that it stands in add"),
    ("V16", _absent_replica, "its groups name replica 1 of 1"),
    ("V17", _too_few_tiles, "its sharding has 4 tiles for 12 devices"),
]


def test_a_valid_module_has_no_findings() -> None:
    assert findings(parse(_TEXT)) == []


@pytest.mark.parametrize(("rule", "change", "message"), _BREAKS)
def test_a_broken_rule_is_found(rule: str, change: Callable[[Module], None], message: str) -> None:
    module = parse(_TEXT)
    change(module)
    assert any(finding.rule == rule and re.search(message, finding.message) for finding in findings(module))


def test_every_rule_of_the_docstring_is_tested() -> None:
    stated = re.findall(r"^- (V\d+):", verifier.__doc__ or "", re.MULTILINE)
    assert stated == [f"V{number}" for number in range(1, len(stated) + 1)]
    assert {rule for rule, _, _ in _BREAKS} == set(stated)


def test_all_violations_are_reported_with_their_places() -> None:
    module = parse(_TEXT)
    _wrong_shape(module)
    _parameter_gap(module)
    with pytest.raises(
        VerifyError, match=r"(?s)after dce: invalid module, 3 violations.*e: .*V9.*e/n: .*V10"
    ) as caught:
        verify(module, "after dce")
    assert len(caught.value.findings) == 3


def test_a_valid_module_is_verified_without_printing_its_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    # A loop's tuple of hundreds, printed for each element that is taken of it, was nine tenths of the time.
    elements = ", ".join(["f32[]"] * 3)
    module = parse(f"ENTRY e {{ t = ({elements}) parameter(0) ROOT r = f32[] get-tuple-element(t), index=2 }}")
    monkeypatch.setattr(TupleShape, "__str__", lambda _: pytest.fail("a shape was printed"))
    assert findings(module) == []


@pytest.mark.slow
def test_a_long_chain_of_calls_is_checked_without_recursion() -> None:
    lines = ["f0 { a = f32[] parameter(0) ROOT r = f32[] negate(a) }"]
    lines += [f"f{i} {{ a = f32[] parameter(0) ROOT r = f32[] call(a), to_apply=f{i - 1} }}" for i in range(1, 3000)]
    entry = "ENTRY e { a = f32[] parameter(0) ROOT r = f32[] call(a), to_apply=f2999 }"
    assert findings(parse("\n".join(["HloModule m", *lines, entry]))) == []
