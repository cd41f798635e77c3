"""Data types are numbers with names; what this table does not know stays what it is."""

import pytest

from compiler.graph.types import BY_NAME, INVALID, WORDS, DataType, of_element_type


@pytest.mark.parametrize("name", BY_NAME)
def test_a_type_has_a_name_a_word_and_a_reference(name):
    type_ = BY_NAME[name]
    assert str(type_) == name
    assert str(type_.reference) == f"{name}_ref"
    assert type_.reference.base == type_.base == type_
    assert type_.reference.reference == type_.reference
    assert {word for word, number in WORDS.items() if number == type_.number}
    assert type_.reference.element_type is type_.element_type


@pytest.mark.parametrize("name", [name for name, type_ in BY_NAME.items() if type_.element_type])
def test_an_element_type_holds_the_type_that_it_is_of(name):
    """Numbers that stand for others are held by the plain ones of as many bits."""
    plain = BY_NAME[name.removeprefix("q") if BY_NAME[name].is_quantized else name]
    assert of_element_type(BY_NAME[name].element_type) == plain


def test_what_nobody_knows_keeps_its_number():
    assert str(DataType(77)) == "type 77"
    assert str(DataType(177)) == "type 77_ref"
    assert DataType(77).element_type is None
    assert str(INVALID) == "no type"


def test_numbers_of_words_are_tensorflows():
    words = ("INVALID", "FLOAT", "BFLOAT16", "HALF", "FLOAT_REF")
    assert [WORDS[f"DT_{word}"] for word in words] == [0, 1, 14, 19, 101]
