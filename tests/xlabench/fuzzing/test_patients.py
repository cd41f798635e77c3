"""The judge is tried on one operation at a time, all of them by turns, and on a case now and then."""

import pytest

from xlabench.fuzzing import patients


@pytest.mark.parametrize("number", [0, 1, 17, 1 << 40])
def test_an_operation_is_a_small_program_of_it_or_none(number):
    module = patients.operation(number)
    assert module is None or len(list(module.instructions())) < 40
    assert str(module) == str(patients.operation(number))


def test_different_numbers_are_different_operations():
    found = {str(patients.operation(number)) for number in range(30)}
    assert len(found) > 15
