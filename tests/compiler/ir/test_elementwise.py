"""A row is a whole record: what it takes, what it gives, and its function of the working type."""

import numpy as np
import pytest

import compiler
from compiler.diagnostics import ShapeError
from compiler.ir.elementwise import Row, kinds
from compiler.ir.types import PRED, Kind

ROW = Row("halve", 1, "Half of a number.", kinds(integer=lambda x: x // 2, real=lambda x: x / 2))


def instruction(type_, opcode="negate", dims="3"):
    return compiler.parse(
        f"ENTRY e {{ x = {type_}[{dims}] parameter(0) ROOT r = {type_}[{dims}] {opcode}(x) }}"
    ).entry.root


def test_an_integer_function_is_for_both_signs_unless_one_has_its_own():
    both, own = kinds(integer=abs), kinds(integer=abs, unsigned=int)
    assert both == {Kind.SIGNED: abs, Kind.UNSIGNED: abs}
    assert own == {Kind.SIGNED: abs, Kind.UNSIGNED: int}
    assert kinds() == {}


def test_a_row_takes_the_types_that_it_has_functions_for():
    assert ROW.op().infer(instruction("f32")) == instruction("f32").shape
    with pytest.raises(ShapeError, match="halve takes signed integers, unsigned integers, floats, not pred"):
        ROW.op().infer(instruction("pred", "not"))


def test_a_narrow_float_is_computed_wide_and_rounded_once():
    of_bf16 = instruction("bf16")
    values = np.array([1, 3, 5], of_bf16.array.element_type.dtype)
    third = Row("third", 1, "A third.", kinds(real=lambda x: x / x.dtype.type(3)))
    (result,) = [third.op().evaluate(of_bf16, [values], None)]
    assert result.dtype == values.dtype
    assert result.astype(float).tolist() == (values.astype(np.float64) / 3).astype(values.dtype).astype(float).tolist()


def test_a_result_may_be_of_another_type():
    odd = Row("odd", 1, "Whether it is odd.", kinds(integer=lambda x: x % 2 == 1), result=lambda _: PRED)
    assert str(odd.op().infer(instruction("s32"))) == "pred[3]"
    assert odd.op().evaluate(instruction("s32"), [np.array([1, 2, 3], np.int32)], None).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("other", "message"),
    [("f32[4]", "operands 0 and 1 of halves differ in dimensions"), ("f64[3]", "differ in element type")],
)
def test_operands_that_differ_are_refused(other, message):
    halves = Row("halves", 2, "Nothing.", kinds(real=max))
    text = f"ENTRY e {{ x = f32[3] parameter(0) y = {other} parameter(1) ROOT r = f32[3] add(x, y) }}"
    root = compiler.parse(text).entry.root
    root.opcode = "halves"
    with pytest.raises(ShapeError, match=message):
        halves.op().infer(root)
