"""Rows of the messages name what exists, and no number twice."""

import pytest

from compiler.graph.schema import ENUMERATIONS, MESSAGES, SCALARS


def fields_of(message):
    return list(MESSAGES[message])


@pytest.mark.parametrize("message", MESSAGES)
def test_the_fields_of_a_message_have_numbers_of_their_own(message):
    numbers = [field.number for field in fields_of(message)]
    assert len(numbers) == len(set(numbers))
    assert all(0 < number < 1 << 29 and not 19000 <= number < 20000 for number in numbers)


@pytest.mark.parametrize("message", MESSAGES)
def test_fields_are_of_types_that_exist(message):
    assert {field.type for field in fields_of(message)} <= {*SCALARS, *MESSAGES, *ENUMERATIONS}


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_the_words_of_an_enumeration_have_numbers_of_their_own(name):
    numbers = list(ENUMERATIONS[name].values())
    assert len(numbers) == len(set(numbers))
    assert 0 in numbers
