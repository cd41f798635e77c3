"""Rows of the messages name what exists, and no number twice."""

import pytest
from message_tables import check_numbers, check_words

from compiler.graph.schema import ENUMERATIONS, MESSAGES, SCALARS


def fields_of(message):
    return list(MESSAGES[message])


@pytest.mark.parametrize("message", MESSAGES)
def test_the_fields_of_a_message_have_numbers_of_their_own(message):
    check_numbers(fields_of(message))


@pytest.mark.parametrize("message", MESSAGES)
def test_fields_are_of_types_that_exist(message):
    assert {field.type for field in fields_of(message)} <= {*SCALARS, *MESSAGES, *ENUMERATIONS}


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_the_words_of_an_enumeration_have_numbers_of_their_own(name):
    check_words(ENUMERATIONS[name])
